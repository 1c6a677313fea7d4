//! Readers that are open during a crash, and their view of the journal.
//!
//! A reader that gets every missing or reused range ends with exactly the contents of the journal
//! from its start; a reader that misses one does not. Some read before the next appender opens,
//! some come late, and one keeps a bookmark over every crash, as a named tailer does.

use nanotape_journal::{Bookmark, JournalError, Resumed, Start, Tail, Tailer};

use crate::simulated::{
    dice::Dice,
    disk::SimulatedDisk,
    history::Record,
    reading::{POLLS, numbers},
};

/// The records that a reader has read, without those that were reported as reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    records: Vec<Record>,
    /// The first number to read.
    from: u64,
    /// How many of the numbers that it had read were used again.
    pub(crate) reused: u64,
}

impl View {
    /// Removes records that are no longer in the journal.
    fn forget(&mut self, from: u64) {
        let before = self.records.len();
        self.records.retain(|record| record.sequence < from);
        self.reused += (before - self.records.len()) as u64;
        self.from = self.from.min(from);
    }

    /// Reads until it is idle for long.
    pub(crate) fn read_on(
        &mut self,
        tailer: &mut Tailer<SimulatedDisk>,
    ) -> Result<(), JournalError> {
        self.read(tailer, usize::MAX)
    }

    /// The same, with at most `most` excerpts.
    fn read(
        &mut self,
        tailer: &mut Tailer<SimulatedDisk>,
        most: usize,
    ) -> Result<(), JournalError> {
        let (mut idle, mut reported, mut left) = (0, 0, most);
        while idle < POLLS && left > 0 {
            let expected = tailer.next_sequence();
            match tailer.next()? {
                Tail::Excerpt(excerpt) => {
                    let record = Record::of(&excerpt);
                    // Before the first segment is active, a tailer does not know the next number.
                    let is_next = expected == 0 || record.sequence == expected;
                    assert!(is_next, "{} where {expected} is next", record.sequence);
                    self.records.push(record);
                    (idle, reported, left) = (0, 0, left - 1);
                }
                Tail::Gap(gap) => {
                    assert!(gap.from <= gap.to && (expected == 0 || gap.from == expected));
                    reported += 1;
                }
                Tail::Reused(reused) => {
                    assert!(reused.from <= reused.to && reused.to + 1 == expected, "{reused:?}");
                    self.forget(reused.from);
                    reported += 1;
                }
                Tail::Nothing => {
                    idle += 1;
                    tailer.recheck();
                }
            }
            assert!(reported < 5, "gaps without end");
        }
        Ok(())
    }

    /// Checks that it has read all records from its start.
    fn check(&self, what: &str, records: &[Record]) {
        let begin = records.partition_point(|record| record.sequence < self.from);
        let there = &records[begin..];
        assert!(
            self.records == there,
            "{what} believes in {:?}, there are {:?}",
            numbers(&self.records),
            numbers(there)
        );
    }
}

/// A tailer that was opened after a crash, before the next appender.
#[derive(Debug)]
struct Early {
    what: String,
    tailer: Tailer<SimulatedDisk>,
    view: View,
}

/// All tailers of that kind.
#[derive(Debug, Default)]
pub(crate) struct Readers(Vec<Early>);

impl Readers {
    /// Opens tailers where this is possible, and lets some read. Damage is allowed: no appender has
    /// recovered the journal yet.
    pub(crate) fn open(disk: &SimulatedDisk, records: &[Record], dice: &mut Dice) -> Self {
        let some = records.get(dice.index(records.len())).map_or(1, |record| record.sequence);
        let mut early = Vec::new();
        for start in [Start::Oldest, Start::Newest, Start::Sequence(some)] {
            for is_reader in [true, false] {
                let Ok(mut tailer) = Tailer::open_on(disk.clone(), start) else { continue };
                let from = tailer.next_sequence().max(1);
                let mut view = View { from, ..View::default() };
                let most = if dice.one_in(3) { dice.index(20) } else { usize::MAX };
                if is_reader && view.read(&mut tailer, most).is_err() {
                    // It stopped at damage, and might retry.
                    continue;
                }
                let what = format!("a tailer from before, {start:?}, {is_reader}");
                early.push(Early { what, tailer, view });
            }
        }
        Self(early)
    }

    /// Lets some of them poll while there is nothing new.
    pub(crate) fn poll(&mut self, dice: &mut Dice) {
        for early in &mut self.0 {
            if dice.one_in(2) {
                early.read();
            }
        }
    }

    /// Checks that each reads to the end and has the right view; returns how many numbers were
    /// reused.
    pub(crate) fn check(&mut self, records: &[Record]) -> u64 {
        let mut reused = 0;
        for early in &mut self.0 {
            early.read();
            early.view.check(&early.what, records);
            reused += early.view.reused;
        }
        reused
    }
}

impl Early {
    fn read(&mut self) {
        let read = self.view.read_on(&mut self.tailer);
        read.unwrap_or_else(|error| panic!("{}: {error}", self.what));
    }
}

/// A reader whose bookmark outlives every crash.
#[derive(Clone, Debug, Default)]
pub(crate) struct Named {
    /// The last bookmark, and the one before.
    kept: [(Bookmark, View); 2],
    pub(crate) resumed: u64,
}

impl Named {
    /// Reads some records, as a process that then ends or is killed.
    pub(crate) fn read_some(&mut self, disk: &SimulatedDisk, dice: &mut Dice) {
        let most = 1 + dice.index(40);
        let Ok((tailer, view)) = self.go_on(disk, most) else { return };
        // If the machine stopped meanwhile, nothing is kept.
        if !disk.has_crashed() {
            self.kept.swap(0, 1);
            self.kept[0] = (tailer.bookmark(), view);
        }
    }

    /// A loss of power can restore its earlier bookmark.
    pub(crate) fn lose_power(&mut self, dice: &mut Dice) {
        if dice.one_in(3) {
            self.kept[0] = self.kept[1].clone();
        }
    }

    /// Reads everything, and checks its view.
    pub(crate) fn check(&mut self, disk: &SimulatedDisk, records: &[Record]) {
        let read = self.go_on(disk, usize::MAX);
        let (tailer, view) = read.unwrap_or_else(|error| panic!("a bookmark: {error}"));
        view.check("a bookmark", records);
        self.kept.swap(0, 1);
        self.kept[0] = (tailer.bookmark(), view);
    }

    fn go_on(
        &mut self,
        disk: &SimulatedDisk,
        most: usize,
    ) -> Result<(Tailer<SimulatedDisk>, View), JournalError> {
        let (bookmark, mut view) = self.kept[0].clone();
        let mut tailer = Tailer::open_on(disk.clone(), Start::Oldest)?;
        match tailer.resume(&bookmark)? {
            Resumed::New | Resumed::At(_) => {}
            Resumed::Beyond { sequence, next: from } | Resumed::Reused { from, sequence } => {
                assert!(from < sequence && sequence == bookmark.next_sequence);
                view.forget(from);
                self.resumed += 1;
            }
        }
        view.from = 1;
        view.read(&mut tailer, most)?;
        Ok((tailer, view))
    }
}
