//! A history that a crash interrupts, and the checks after it; repeatedly on one journal.

use std::{
    collections::{BTreeSet, HashMap},
    ops::Range,
};

use nanotape_journal::{Appender, Recovery};

use crate::simulated::{
    dice::Dice,
    disk::{Crash, Image, SimulatedDisk, Tear},
    history::{History, Record, any_options},
    readers::{Named, Readers},
    reading::{numbers, read_all, read_back},
};

/// How a machine stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    PowerLoss,
    Death,
}

/// Totals of a campaign.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) crashes: u64,
    pub(crate) in_recoveries: u64,
    pub(crate) records: u64,
    pub(crate) lost: u64,
    pub(crate) cuts: u64,
    pub(crate) pruned_bytes: u64,
    pub(crate) checked_bytes: u64,
    /// Numbers that readers had read and that were reported as reused.
    pub(crate) reused: u64,
    /// Bookmarks whose numbers were used again.
    pub(crate) resumed: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.crashes += other.crashes;
        self.in_recoveries += other.in_recoveries;
        self.records += other.records;
        self.lost += other.lost;
        self.cuts += other.cuts;
        self.pruned_bytes += other.pruned_bytes;
        self.checked_bytes += other.checked_bytes;
        self.reused += other.reused;
        self.resumed += other.resumed;
    }
}

/// One journal through several crashes.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) dice: Dice,
    pub(crate) history: History,
    pub(crate) disk: SimulatedDisk,
    boot: u64,
    pub(crate) named: Named,
    /// Whether a process can be killed between losses of power.
    pub(crate) is_mixed: bool,
    /// The least number of records after a recovery, for readers from before it.
    pub(crate) least_after: usize,
    /// The tear of every loss of power, if it is fixed; then nothing is written back before a sync.
    pub(crate) tear: Option<Tear>,
    /// Whether a part of what was in flight may exist, as of records that are taken back.
    pub(crate) is_partial: bool,
    /// Data that recoveries moved out and reported: names and lengths. It must stay.
    kept: Vec<(String, u64)>,
    pub(crate) counts: Counts,
}

/// The records whose complete payload is in some file. Payloads begin at whole words.
pub(crate) fn which_are_in(contents: &[(String, Vec<u8>)], records: &[&Record]) -> BTreeSet<u64> {
    let first = |bytes: &[u8]| u64::from_ne_bytes(*bytes.first_chunk().unwrap());
    let wanted: HashMap<u64, &Record> =
        records.iter().map(|record| (first(&record.payload), *record)).collect();
    let mut found = BTreeSet::new();
    for (_, bytes) in contents {
        for (at, word) in bytes.as_chunks::<8>().0.iter().enumerate() {
            if let Some(record) = wanted.get(&u64::from_ne_bytes(*word))
                && bytes[at * 8..].starts_with(&record.payload)
            {
                found.insert(record.sequence);
            }
        }
    }
    found
}

impl Scenario {
    pub(crate) fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let options = any_options(&mut dice);
        let history = History::new(options, &mut dice);
        let disk = SimulatedDisk::new(dice.number());
        Self {
            dice,
            history,
            disk,
            boot: 1,
            named: Named::default(),
            is_mixed: false,
            least_after: 3,
            tear: None,
            is_partial: false,
            kept: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Runs some rounds. `end` is how the machine stops; `None`: random.
    pub(crate) fn run(mut self, end: Option<End>) -> Counts {
        self.is_mixed = end != Some(End::Death);
        for _ in 0..1 + self.dice.below(4) {
            let end = end.unwrap_or(if self.dice.one_in(3) { End::Death } else { End::PowerLoss });
            let image = self.write();
            self.recover(image, end);
        }
        self.counts
    }

    /// Arms a crash that comes soon.
    pub(crate) fn arm(&mut self) {
        let crash = if self.dice.one_in(2) {
            let most = [8, 60, 1000][self.dice.index(3)];
            Crash::AtStore(self.dice.below(most))
        } else {
            Crash::AtOperation(self.dice.below(12))
        };
        self.disk.crash(crash);
    }

    /// Writes until the machine stops.
    fn write(&mut self) -> Image {
        self.disk.watch();
        self.history.rest(&self.disk);
        let steps = self.dice.below(70);
        if steps == 0 {
            self.arm();
        }
        let mut appender = self.history.open(&self.disk).unwrap();
        for step in 0..steps {
            if step + 3 == steps {
                self.arm();
            }
            self.history.step(&mut appender, &self.disk, &mut self.dice).unwrap();
            if self.disk.has_crashed() {
                break;
            }
            if self.dice.one_in(20) {
                self.named.read_some(&self.disk, &mut self.dice);
            }
            if self.disk.has_crashed() {
                break;
            }
            if self.dice.one_in(40) {
                appender = self.reopen(appender);
            }
        }
        let image = self.disk.image();
        self.disk.kill(appender);
        image
    }

    /// Ends an appender in some way and opens another one.
    fn reopen(&mut self, appender: Appender<SimulatedDisk>) -> Appender<SimulatedDisk> {
        let promises = !matches!(self.history.options.sync, nanotape_journal::SyncPolicy::Never);
        match self.dice.below(3) {
            0 => {
                appender.close().unwrap();
                if promises {
                    self.history.promised = self.history.records.len();
                }
            }
            1 => drop(appender),
            _ => self.disk.kill(appender),
        }
        if self.dice.one_in(3) {
            let mut options = any_options(&mut self.dice);
            options.segment_bytes = if self.dice.one_in(3) { 1 << 17 } else { 1 << 16 };
            self.history.options = options;
        }
        self.history.rest(&self.disk);
        self.history.open(&self.disk).unwrap()
    }

    pub(crate) fn restart(&mut self, image: Image, end: End) {
        self.disk = match end {
            End::PowerLoss => {
                self.boot += 1;
                self.named.lose_power(&mut self.dice);
                match self.tear {
                    Some(tear) => image.torn(tear, &mut self.dice, self.boot),
                    None => image.after_power_loss(&mut self.dice, self.boot),
                }
            }
            End::Death => image.after_death(&mut self.dice, self.boot),
        };
        if self.tear.is_some() {
            self.disk.be_lazy();
        }
        self.disk.watch();
    }

    /// Opens the remains of a crash, and checks everything that was promised.
    pub(crate) fn recover(&mut self, image: Image, end: End) {
        let progress = image.progress;
        self.history.records.truncate(progress.committed + progress.in_flight);
        self.history.promised = progress.promised;
        self.restart(image, end);
        self.counts.crashes += 1;
        let mut worst = end;
        // The recovery can be stopped too.
        while self.dice.one_in(3) {
            self.disk.set_progress(progress);
            self.arm();
            let opened = self.history.open(&self.disk).unwrap();
            let image = self.disk.image();
            self.disk.kill(opened);
            let again = if self.is_mixed && self.dice.one_in(2) { End::Death } else { end };
            if again == End::PowerLoss {
                worst = again;
            }
            self.restart(image, again);
            self.counts.in_recoveries += 1;
        }
        let end = worst;
        let least = match end {
            End::PowerLoss => progress.promised,
            End::Death => progress.committed,
        };
        let before = self.disk.contents();
        let mut readers = Readers::open(&self.disk, &self.history.records, &mut self.dice);
        if self.dice.one_in(3) {
            self.named.read_some(&self.disk, &mut self.dice);
        }
        self.history.rest(&self.disk);
        let mut appender = self.history.open(&self.disk).unwrap();
        let count = self.check_what_is_there(least, end, progress.in_flight);
        self.check_cuts(appender.recovery().clone(), &before, count..progress.committed);
        self.counts.lost += (self.history.records.len() - count) as u64;
        readers.poll(&mut self.dice);
        self.history.cut_to(count, end == End::PowerLoss);

        // Continues, for old and new readers.
        let old = self.history.records.len();
        while self.history.records.len() < old + self.least_after {
            self.history.step(&mut appender, &self.disk, &mut self.dice).unwrap();
        }
        self.check_all();
        self.counts.reused += readers.check(&self.history.records);
        self.named.check(&self.disk, &self.history.records);
        self.counts.resumed = self.named.resumed;
        self.counts.records += (self.history.records.len() - old) as u64;
        self.disk.kill(appender);
    }

    /// The number of existing records: a prefix that includes all that must exist.
    fn check_what_is_there(&self, least: usize, end: End, in_flight: usize) -> usize {
        let records = &self.history.records;
        let read = read_all(&self.disk).unwrap();
        assert!(
            records.starts_with(&read),
            "{end:?}: read {:?} of {:?}",
            numbers(&read),
            numbers(records)
        );
        assert!(read.len() >= least, "{end:?}: {} of {least} are there", read.len());
        if end == End::Death && !self.is_partial {
            let committed = records.len() - in_flight;
            let is_whole = read.len() == committed || read.len() == records.len();
            assert!(
                is_whole,
                "a part of a batch: {} of {committed}..{}",
                read.len(),
                records.len()
            );
        }
        read.len()
    }

    /// Moved data is at the reported path, and no existing data is lost.
    fn check_cuts(&mut self, report: Recovery, before: &[(String, Vec<u8>)], lost: Range<usize>) {
        let contents = self.disk.contents();
        for (name, bytes) in &self.kept {
            let found = contents.iter().find(|(other, _)| other == name);
            let length = found.map(|(_, found)| found.len() as u64);
            assert_eq!(length, Some(*bytes), "{name} was taken out before, and is gone");
        }
        self.counts.pruned_bytes += report.bytes_pruned;
        self.counts.checked_bytes += report.bytes_checked;
        for cut in &report.quarantined {
            self.counts.cuts += 1;
            let name = cut.path.strip_prefix("/simulated").unwrap().to_str().unwrap();
            let found = contents.iter().find(|(other, _)| other == name);
            let (_, bytes) = found.unwrap_or_else(|| panic!("{name} is not there"));
            assert_eq!(bytes.len() as u64, cut.bytes, "{name}");
            self.kept.push((name.to_owned(), cut.bytes));
        }
        let lost = self.history.records.get(lost).unwrap_or_default();
        let long: Vec<&Record> = lost.iter().filter(|record| record.payload.len() >= 16).collect();
        if !long.is_empty() {
            let (before, after) = (which_are_in(before, &long), which_are_in(&contents, &long));
            assert!(before.is_subset(&after), "of {before:?} that were cut there are {after:?}");
        }
    }

    pub(crate) fn check_all(&self) {
        let records = &self.history.records;
        let read = read_all(&self.disk).unwrap();
        assert!(read == *records, "read {:?} of {:?}", numbers(&read), numbers(records));
        let back = read_back(&self.disk).unwrap();
        assert!(back == *records, "backwards {:?} of {:?}", numbers(&back), numbers(records));
    }
}
