//! Tailers that must come through: forwards, backwards, from before a crash to behind its recovery.

use nanotape_journal::{JournalError, Start, Tail, Tailer};

use crate::{dice::Dice, disk::SimulatedDisk, history::Record};

/// Looks at nothing, at each of which the tailer asks the disk, until that is taken for the end.
const LOOKS: usize = 4;

/// Reads until there was nothing for long. Numbers that are missing must be told.
pub(crate) fn read_on(tailer: &mut Tailer<SimulatedDisk>) -> Result<Vec<Record>, JournalError> {
    let mut records: Vec<Record> = Vec::new();
    let (mut idle, mut gaps) = (0, 0);
    while idle < LOOKS {
        let expected = tailer.next_sequence();
        match tailer.next()? {
            Tail::Excerpt(excerpt) => {
                // Before the first segment is active a tailer does not know what comes.
                assert!(expected == 0 || excerpt.sequence() == expected, "numbers are consecutive");
                records.push(Record::of(&excerpt));
                (idle, gaps) = (0, 0);
            }
            Tail::Gap(gap) => {
                assert!(gap.from <= gap.to && (expected == 0 || gap.from == expected), "{gap:?}");
                gaps += 1;
                assert!(gaps < 4, "gaps without end: {gap:?}");
            }
            Tail::Nothing => {
                idle += 1;
                tailer.ask();
            }
        }
    }
    Ok(records)
}

/// Everything from the beginning.
pub(crate) fn read_all(disk: &SimulatedDisk) -> Result<Vec<Record>, JournalError> {
    read_on(&mut Tailer::open_on(disk.clone(), Start::Beginning)?)
}

/// Everything from the end backwards, in the order in which it was written.
pub(crate) fn read_back(disk: &SimulatedDisk) -> Result<Vec<Record>, JournalError> {
    let mut tailer = Tailer::open_on(disk.clone(), Start::End)?;
    let mut records = Vec::new();
    loop {
        match tailer.previous()? {
            Tail::Excerpt(excerpt) => records.push(Record::of(&excerpt)),
            Tail::Gap(_) => {}
            Tail::Nothing => break,
        }
    }
    records.reverse();
    Ok(records)
}

/// Tailers opened before a recovery, at several places.
#[derive(Debug)]
pub(crate) struct Early(Vec<(Start, Tailer<SimulatedDisk>)>);

impl Early {
    /// Opens them where they can be opened, and lets each read what there is. Damage is allowed: nobody
    /// has put anything in order yet.
    pub(crate) fn open(disk: &SimulatedDisk, records: &[Record], dice: &mut Dice) -> Self {
        let some = records.get(dice.index(records.len())).map_or(1, |record| record.sequence);
        let mut early = Vec::new();
        for start in
            [Start::Beginning, Start::End, Start::Sequence(some), Start::Time(dice.below(20_000))]
        {
            let Ok(mut tailer) = Tailer::open_on(disk.clone(), start) else { continue };
            if !dice.one_in(4) {
                let _ = read_on(&mut tailer);
            }
            if dice.one_in(4) {
                for _ in 0..dice.below(20) {
                    let _ = tailer.previous();
                }
            }
            early.push((start, tailer));
        }
        Self(early)
    }

    /// All of them must come to the end without damage. They may still be where something was that the
    /// recovery took out: what they read was written once at the least.
    pub(crate) fn catch_up(&mut self, written: &[Record]) {
        for (start, tailer) in &mut self.0 {
            let read = read_on(tailer)
                .unwrap_or_else(|error| panic!("a tailer from before, {start:?}: {error}"));
            for record in &read {
                assert!(written.contains(record), "{start:?}: {} never was", record.sequence);
            }
        }
    }

    /// All of them must read exactly this now.
    pub(crate) fn read_new(&mut self, new: &[Record]) {
        for (start, tailer) in &mut self.0 {
            let read = read_on(tailer)
                .unwrap_or_else(|error| panic!("a tailer from before, {start:?}: {error}"));
            assert!(
                read == new,
                "a tailer from before, {start:?}, read {:?} of {:?}, is at {:?}",
                numbers(&read),
                numbers(new),
                tailer.position()
            );
        }
    }
}

/// The sequence numbers of records, for messages.
pub(crate) fn numbers(records: &[Record]) -> Vec<u64> {
    records.iter().map(|record| record.sequence).collect()
}
