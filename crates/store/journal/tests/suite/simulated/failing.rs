//! One operation of the disk fails, or three in a row, at every operation of a history in turn.
//!
//! A failed append names the file and leaves nothing. Committed records stay readable. After the
//! fault everything works again, and a later crash takes nothing that was promised.

use nanotape_journal::{Appender, JournalError};

use crate::simulated::{
    dice::Dice,
    disk::SimulatedDisk,
    faults::{Fault, Faults},
    reading::{numbers, read_all},
    scenario::{Counts, End, Scenario},
};

const STEPS: u64 = 24;

/// Runs the same history with a fault at every operation in turn, until none is left; returns the
/// number of operations.
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
                // Only some histories do this, so that not all continue in the same way after the
                // fault.
                if Dice::new(salt).one_in(3) {
                    self.disk.kill(appender.take());
                }
            }
        }
        let came = self.disk.has_failed();
        // Faults end here.
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

    /// Checks that an error names the file, and that all committed records can be read.
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
