//! Reads the whole journal forwards and backwards.

use nanotape_journal::{JournalError, Start, Tail, Tailer};

use crate::simulated::{disk::SimulatedDisk, history::Record};

/// Idle polls, each with a check of the disk, after which a test assumes the end.
pub(crate) const POLLS: usize = 4;

/// Reads until the tailer is idle for long. Missing numbers must be reported.
pub(crate) fn read_on(tailer: &mut Tailer<SimulatedDisk>) -> Result<Vec<Record>, JournalError> {
    let mut records: Vec<Record> = Vec::new();
    let (mut idle, mut gaps) = (0, 0);
    while idle < POLLS {
        let expected = tailer.next_sequence();
        match tailer.next()? {
            Tail::Excerpt(excerpt) => {
                // Before the first segment is active, a tailer does not know the next number.
                assert!(expected == 0 || excerpt.sequence() == expected, "numbers are consecutive");
                records.push(Record::of(&excerpt));
                (idle, gaps) = (0, 0);
            }
            Tail::Gap(gap) => {
                assert!(gap.from <= gap.to && (expected == 0 || gap.from == expected), "{gap:?}");
                gaps += 1;
                assert!(gaps < 4, "gaps without end: {gap:?}");
            }
            Tail::Reused(reused) => panic!("nothing was read before: {reused:?}"),
            Tail::Nothing => {
                idle += 1;
                tailer.recheck();
            }
        }
    }
    Ok(records)
}

/// Everything from the beginning.
pub(crate) fn read_all(disk: &SimulatedDisk) -> Result<Vec<Record>, JournalError> {
    read_on(&mut Tailer::open_on(disk.clone(), Start::Oldest)?)
}

/// All records from the end backwards, returned in the order of writing.
pub(crate) fn read_back(disk: &SimulatedDisk) -> Result<Vec<Record>, JournalError> {
    let mut tailer = Tailer::open_on(disk.clone(), Start::Newest)?;
    let mut records = Vec::new();
    loop {
        match tailer.previous()? {
            Tail::Excerpt(excerpt) => records.push(Record::of(&excerpt)),
            Tail::Gap(_) => {}
            Tail::Reused(reused) => panic!("{reused:?}"),
            Tail::Nothing => break,
        }
    }
    records.reverse();
    Ok(records)
}

/// The sequence numbers of records, for messages.
pub(crate) fn numbers(records: &[Record]) -> Vec<u64> {
    records.iter().map(|record| record.sequence).collect()
}
