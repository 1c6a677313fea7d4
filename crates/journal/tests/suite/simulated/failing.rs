//! One operation of the disk fails, or three in a row, at every place of a history in turn.
//!
//! An append that fails says where and leaves nothing; what was committed can be read all the time;
//! once the fault is over everything goes on; and a crash behind it takes nothing that was
//! promised.

use nanotape_journal::{Appender, JournalError};

use crate::simulated::{
    dice::Dice,
    disk::SimulatedDisk,
    faults::{Fault, Faults},
    reading::{numbers, read_all},
    scenario::{Counts, End, Scenario},
};

const STEPS: u64 = 24;

/// The same history with a fault at every operation in turn, until none comes any more; returns how
/// many places there were.
pub(crate) fn at_every_operation(seed: u64, fault: Fault, count: u64, counts: &mut Counts) -> u64 {
    for first in 1.. {
        let scenario = Scenario::new(seed);
        let (came, more) =
            scenario.run_with(Faults::at(first, count, fault), first).unwrap_or_else(|error| {
                panic!("{fault:?} at operation {first}, {count} of them: {error}")
            });
        counts.add(&more);
        if !came {
            return first - 1;
        }
    }
    unreachable!("the loop ends after the last operation")
}

impl Scenario {
    fn run_with(mut self, faults: Faults, salt: u64) -> Result<(bool, Counts), JournalError> {
        self.disk.watch();
        self.disk.set_faults(faults);
        let mut appender = None;
        for _ in 0..STEPS {
            if let Err(error) = self.step(&mut appender) {
                self.check_error(&error);
                // The fault is only one history's: what comes behind it is not the same for all of
                // them.
                if Dice::new(salt).one_in(3) {
                    self.disk.kill(appender.take());
                }
            }
        }
        let came = self.disk.has_failed();
        // It goes on now.
        self.disk.set_faults(Faults::default());
        for _ in 0..3 {
            self.step(&mut appender)?;
        }
        self.history.rest(&self.disk);
        let image = self.disk.image();
        self.disk.kill(appender);
        let end = if salt.is_multiple_of(4) { End::Death } else { End::PowerLoss };
        self.recover(image, end);
        Ok((came, self.counts))
    }

    fn step(&mut self, appender: &mut Option<Appender<SimulatedDisk>>) -> Result<(), JournalError> {
        match appender {
            Some(_) if self.dice.one_in(15) => {
                self.disk.kill(appender.take());
                Ok(())
            }
            Some(open) => self.history.step(open, &self.disk, &mut self.dice),
            None => {
                *appender = Some(self.history.open(&self.disk)?);
                Ok(())
            }
        }
    }

    /// It says which file, and all that is committed can be read.
    fn check_error(&self, error: &JournalError) {
        assert!(error.path().starts_with("/simulated"), "{error}");
        let said = error.to_string();
        assert!(said.contains("/simulated") && !said.contains('\n'), "{said}");
        let records = &self.history.records;
        let faults = self.disk.set_faults(Faults::default());
        let read = read_all(&self.disk);
        self.disk.set_faults(faults);
        match read {
            Ok(read) => {
                assert!(read == *records, "{said}: {:?} of {:?}", numbers(&read), numbers(records));
            }
            Err(error) => assert!(records.is_empty(), "{said}, and then {error}"),
        }
    }
}
