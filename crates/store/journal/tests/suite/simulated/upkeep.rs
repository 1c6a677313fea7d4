//! Compression, unpacking, pruning and repair between the steps of an appender, and crashes in
//! them.
//!
//! What must exist: a range of the written records. It begins at or before the first excerpt that
//! pruning had to keep, and ends at or after the last promised one. Readers with a bookmark come
//! through, and a repair finds nothing to do.

use nanotape_journal::{
    Action, Appender, CompressOptions, Done, PruneOptions, compress_on, prune_on, repair_on,
    uncompress_on, verify_on,
};

use crate::simulated::{
    disk::{Image, SimulatedDisk},
    history::Record,
    reading::{numbers, read_all, read_back},
    scenario::{Counts, End, Scenario},
};

impl Scenario {
    /// Runs some rounds of an appender with concurrent upkeep.
    pub(crate) fn run_with_upkeep(mut self) -> Counts {
        let mut pruned = 0;
        for _ in 0..1 + self.dice.below(4) {
            let end = if self.dice.one_in(3) { End::Death } else { End::PowerLoss };
            let image = self.write_with_upkeep(&mut pruned);
            self.recover_with_upkeep(image, end, pruned);
        }
        self.counts
    }

    /// Writes until the machine stops; `pruned` is the first number that had to be kept so far.
    fn write_with_upkeep(&mut self, pruned: &mut u64) -> Image {
        self.disk.watch();
        self.history.rest(&self.disk);
        let mut appender = Appender::open_on(self.disk.clone(), &self.history.options).unwrap();
        let steps = 5 + self.dice.below(60);
        for step in 0..steps {
            if step + 4 == steps {
                self.arm();
            }
            if self.dice.one_in(4) {
                self.keep_up(&mut appender, pruned);
            } else {
                self.history.step(&mut appender, &self.disk, &mut self.dice).unwrap();
            }
            if self.disk.has_crashed() {
                break;
            }
            if self.dice.one_in(20) {
                self.named.read_some(&self.disk, &mut self.dice);
            }
        }
        let image = self.disk.image();
        self.disk.kill(appender);
        image
    }

    /// One operation of upkeep. Only pruning changes what readers find.
    fn keep_up(&mut self, appender: &mut Appender<SimulatedDisk>, pruned: &mut u64) {
        self.history.rest(&self.disk);
        let keep_plain = self.dice.below(3);
        match self.dice.below(4) {
            0 | 1 => {
                let options = CompressOptions { keep_plain, ..CompressOptions::default() };
                compress_on(&self.disk, &options, |_, _| ()).unwrap();
            }
            2 => drop(uncompress_on(&self.disk, |_, _| ()).unwrap()),
            _ => {
                let next = appender.next_sequence();
                let before = next - self.dice.below(next.min(60));
                *pruned = before.max(*pruned);
                let options =
                    PruneOptions { before_sequence: Some(before), ..PruneOptions::default() };
                prune_on(&self.disk, &options, Vec::new()).unwrap();
            }
        }
    }

    fn recover_with_upkeep(&mut self, image: Image, end: End, pruned: u64) {
        let progress = image.progress;
        self.history.records.truncate(progress.committed + progress.in_flight);
        self.history.promised = progress.promised;
        self.restart(image, end);
        self.counts.crashes += 1;
        while self.dice.one_in(3) {
            // A recovery, or upkeep before it, that is also stopped.
            self.disk.set_progress(progress);
            self.arm();
            if self.dice.one_in(2) {
                let _ = compress_on(&self.disk, &CompressOptions::default(), |_, _| ());
            }
            let opened = self.history.open(&self.disk).unwrap();
            let image = self.disk.image();
            self.disk.kill(opened);
            self.restart(image, end);
            self.counts.in_recoveries += 1;
        }
        let least = match end {
            End::PowerLoss => progress.promised,
            End::Death => progress.committed,
        };
        self.history.rest(&self.disk);
        let mut appender = self.history.open(&self.disk).unwrap();
        let count = self.check_stretch(least, pruned, appender.next_sequence());
        self.counts.lost += (self.history.records.len() - count) as u64;
        self.history.cut_to(count, end == End::PowerLoss);
        let old = self.history.records.len();
        while self.history.records.len() < old + 3 {
            self.history.step(&mut appender, &self.disk, &mut self.dice).unwrap();
        }
        self.check_stretch(self.history.records.len(), pruned, appender.next_sequence());
        self.counts.records += 3;
        self.disk.kill(appender);
        self.check_healthy(pruned);
    }

    /// How many of the records exist at the end of the journal; all earlier missing ones were
    /// pruned.
    fn check_stretch(&self, least: usize, pruned: u64, next: u64) -> usize {
        let records = &self.history.records;
        let read = read_all(&self.disk).unwrap();
        // If no record is left, the appender's next number counts.
        let first = read.first().map_or(next, |record| record.sequence);
        let begin = records.partition_point(|record: &Record| record.sequence < first);
        let said = || format!("read {:?} of {:?}", numbers(&read), numbers(records));
        assert!(records[begin..].starts_with(&read), "{}", said());
        let end = begin + read.len();
        assert!(end >= least, "{least} must be there: {}", said());
        let lost = records[..begin].iter().any(|record| record.sequence >= pruned);
        assert!(!lost || read.is_empty(), "pruned before {pruned}: {}", said());
        assert_eq!(read_back(&self.disk).unwrap(), read, "backwards");
        end
    }

    /// Checks that the journal is valid, and that a repair changes nothing.
    fn check_healthy(&self, pruned: u64) {
        let verified = verify_on(&self.disk, |_, _| ()).unwrap();
        assert!(verified.is_clean(), "{:?}", verified.findings);
        let before = read_all(&self.disk).unwrap();
        let repaired = repair_on(&self.disk, false, |_, _| ()).unwrap();
        // A killed compression leaves a segment twice, and a loss of power can take hints of closed
        // ones.
        let is_left = |action: &Action| {
            action.path.extension().is_some_and(|suffix| suffix == "zst")
                || matches!(action.done, Done::Index { .. })
        };
        assert!(repaired.actions.iter().all(is_left), "{:?}", repaired.actions);
        assert_eq!(read_all(&self.disk).unwrap(), before, "pruned before {pruned}");
    }
}
