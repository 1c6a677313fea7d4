//! An appender gives numbers back, and the machine stops meanwhile.
//!
//! What must exist after a stop: all excerpts below the number, and of the others a prefix. After a
//! whole rewind: the excerpts below it, and the others in `cut`. Readers from before it and
//! bookmarks learn which numbers they passed.

use nanotape_journal::{CompressOptions, ErrorKind, compress_on};

use crate::simulated::{
    disk::{Crash, Progress},
    history::Record,
    readers::Readers,
    scenario::{Counts, End, Scenario, which_are_in},
};

/// The first bytes of a file compressed with zstd.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

impl Scenario {
    /// Runs some rounds of an appender that gives numbers back.
    pub(crate) fn run_rewinds(mut self) -> Counts {
        for _ in 0..2 + self.dice.below(4) {
            self.rewind();
        }
        self.counts
    }

    fn rewind(&mut self) {
        self.disk.watch();
        self.history.rest(&self.disk);
        let mut appender = self.history.open(&self.disk).unwrap();
        for _ in 0..self.dice.below(40) {
            self.history.step(&mut appender, &self.disk, &mut self.dice).unwrap();
        }
        if self.dice.one_in(3) {
            compress_on(&self.disk, &CompressOptions::default(), |_, _| ()).unwrap();
        }
        self.named.read_some(&self.disk, &mut self.dice);
        let mut readers = Readers::open(&self.disk, &self.history.records, &mut self.dice);
        let next = appender.next_sequence();
        let to = next - self.dice.below(next.min(60));
        let records = &self.history.records;
        let kept = records.partition_point(|record: &Record| record.sequence < to);
        self.history.promised = self.history.promised.min(kept);
        self.disk.set_progress(Progress {
            committed: kept,
            promised: self.history.promised,
            in_flight: self.history.records.len() - kept,
        });
        if self.dice.one_in(2) {
            self.arm();
        }
        match appender.rewind_to(to) {
            // The journal begins later.
            Err(error) if matches!(error.kind(), ErrorKind::Sequence { .. }) => {
                assert!(to < next, "{error}");
                assert!(
                    self.history.records.first().is_none_or(|it| it.sequence > to),
                    "{to}: {error}"
                );
                self.disk.kill(appender);
                return;
            }
            taken => drop(taken.unwrap()),
        }
        if self.disk.has_crashed() {
            let image = self.disk.image();
            self.disk.kill(appender);
            self.is_partial = true;
            let end = if self.dice.one_in(3) { End::Death } else { End::PowerLoss };
            self.recover(image, end);
            self.is_partial = false;
            return;
        }
        self.disk.crash(Crash::AtStore(u64::MAX));
        assert_eq!(appender.next_sequence(), to);
        assert!(appender.durable() <= to);
        let taken = self.history.records.split_off(kept);
        let long: Vec<&Record> = taken.iter().filter(|record| record.payload.len() >= 16).collect();
        let contents = self.disk.contents();
        let found = which_are_in(&contents, &long);
        // Compressed segments are set aside as they are.
        let is_compressed = |(_, bytes): &(String, Vec<u8>)| bytes.starts_with(&ZSTD);
        let is_all = found.len() == long.len() || contents.iter().any(is_compressed);
        assert!(is_all, "of {} that were set aside: {found:?}", long.len());
        self.counts.cuts += taken.len() as u64;
        self.history.rest(&self.disk);
        readers.poll(&mut self.dice);
        while self.history.records.len() < kept + 3 {
            self.history.step(&mut appender, &self.disk, &mut self.dice).unwrap();
        }
        self.check_all();
        self.counts.reused += readers.check(&self.history.records);
        self.named.check(&self.disk, &self.history.records);
        self.counts.resumed = self.named.resumed;
        self.counts.records += 3;
        self.disk.kill(appender);
    }
}
