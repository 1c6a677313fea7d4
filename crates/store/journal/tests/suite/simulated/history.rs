//! Random histories of an appender, and the naive model of its journal: a vector of records.

use nanotape_journal::{
    Appender, AppenderOptions, ErrorKind, Excerpt, JournalError, RollCycle, SyncPolicy,
    excerpt_bytes,
};

use crate::simulated::{
    dice::Dice,
    disk::{Progress, SimulatedDisk},
};

/// A written record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    pub(crate) sequence: u64,
    pub(crate) type_id: u16,
    pub(crate) ts_ns: u64,
    pub(crate) payload: Vec<u8>,
}

impl Record {
    pub(crate) fn of(excerpt: &Excerpt<'_>) -> Self {
        Self {
            sequence: excerpt.sequence(),
            type_id: excerpt.type_id(),
            ts_ns: excerpt.ts_ns(),
            payload: excerpt.to_vec(),
        }
    }
}

/// The smallest segments, so that rolls are frequent, and no other thread.
pub(crate) fn options(sync: SyncPolicy, roll_cycle: RollCycle) -> AppenderOptions {
    AppenderOptions {
        segment_bytes: 1 << 16,
        roll_cycle,
        sync,
        has_pretoucher: false,
        ..AppenderOptions::default()
    }
}

/// Random settings.
pub(crate) fn any_options(dice: &mut Dice) -> AppenderOptions {
    let sync = match dice.below(6) {
        0 | 1 => SyncPolicy::Never,
        2 | 3 => SyncPolicy::Excerpts(1 + dice.below(9)),
        _ => SyncPolicy::Batch,
    };
    let cycle = if dice.one_in(3) { RollCycle::EveryNs(1000) } else { RollCycle::Size };
    options(sync, cycle)
}

/// The written records and their state. Before each step the disk gets the possible outcomes.
#[derive(Clone, Debug)]
pub(crate) struct History {
    pub(crate) records: Vec<Record>,
    /// How many of them must outlive a loss of power.
    pub(crate) promised: usize,
    pub(crate) options: AppenderOptions,
    now: u64,
    /// Always the same length: stale data then matches new data.
    uniform: Option<usize>,
    salt: u64,
}

impl History {
    pub(crate) fn new(options: AppenderOptions, dice: &mut Dice) -> Self {
        let (uniform, salt) = (dice.one_in(2).then_some(200), dice.number());
        Self { records: Vec::new(), promised: 0, options, now: 10_000, uniform, salt }
    }

    /// Gives all later records this length, in batches only if it is below 3000.
    pub(crate) fn make_uniform(&mut self, length: usize) {
        self.uniform = Some(length);
    }

    pub(crate) fn open(
        &self,
        disk: &SimulatedDisk,
    ) -> Result<Appender<SimulatedDisk>, JournalError> {
        Appender::open_on(disk.clone(), &self.options)
    }

    /// Updates the disk's progress before a step that might commit `in_flight` records.
    fn update_progress(&self, disk: &SimulatedDisk, in_flight: usize) {
        let committed = self.records.len() - in_flight;
        disk.set_progress(Progress { committed, promised: self.promised, in_flight });
    }

    /// Updates the disk's progress while no step is running.
    pub(crate) fn rest(&self, disk: &SimulatedDisk) {
        self.update_progress(disk, 0);
    }

    /// Cuts the model after a crash: `count` records exist, and might be on disk.
    pub(crate) fn cut_to(&mut self, count: usize, is_on_disk: bool) {
        self.records.truncate(count);
        self.promised = if is_on_disk { count } else { self.promised.min(count) };
    }

    fn length(&self, dice: &mut Dice) -> usize {
        if let Some(length) = self.uniform {
            dice.below(12);
            return length;
        }
        match dice.below(12) {
            0 => 3000 + dice.index(9000),
            1 => dice.index(9),
            2 => 40_000 + dice.index(10_000),
            _ => dice.index(300),
        }
    }

    fn next(&mut self, sequence: u64, type_id: u16, length: usize) -> Record {
        // No two records have the same bytes, so that lost ones can be searched for.
        self.salt = self.salt.wrapping_add(1);
        let mut dice = Dice::new(self.salt);
        let payload = dice.bytes(length);
        Record { sequence, type_id, ts_ns: self.now, payload }
    }

    /// One random step. The error is one of an append; uncommitted records are removed from the
    /// model.
    pub(crate) fn step(
        &mut self,
        appender: &mut Appender<SimulatedDisk>,
        disk: &SimulatedDisk,
        dice: &mut Dice,
    ) -> Result<(), JournalError> {
        self.now += dice.below(60);
        if dice.one_in(30) {
            self.now += 1500;
        }
        let outcome = match dice.below(24) {
            0..12 => {
                let length = self.length(dice);
                let record = self.next(appender.next_sequence(), 1, length);
                self.commits(disk, vec![record], |record| {
                    appender.append(1, record[0].ts_ns, &record[0].payload).map(drop)
                })
            }
            12..15 => {
                let length = self.length(dice);
                let record = self.next(appender.next_sequence(), 2, length);
                self.commits(disk, vec![record], |record| {
                    let payload = &record[0].payload;
                    let mut claim = appender.claim(2, record[0].ts_ns, payload.len())?;
                    claim.copy_from(payload);
                    claim.commit().map(drop)
                })
            }
            15 => {
                self.rest(disk);
                let length = self.length(dice);
                let mut claim = appender.claim(2, self.now, length)?;
                claim.copy_from(&dice.bytes(length));
                Ok(())
            }
            16..20 => {
                let is_committed = dice.below(3) > 0;
                self.batch(appender, disk, dice, is_committed)
            }
            20 => {
                let next = appender.next_sequence() + dice.below(20);
                appender.skip_to(next)
            }
            21 if dice.one_in(2) => {
                self.rest(disk);
                appender.roll()
            }
            _ if dice.one_in(6) => {
                self.rest(disk);
                appender.sync()?;
                self.promised = self.records.len();
                Ok(())
            }
            _ => Ok(()),
        };
        self.rest(disk);
        outcome
    }

    fn batch(
        &mut self,
        appender: &mut Appender<SimulatedDisk>,
        disk: &SimulatedDisk,
        dice: &mut Dice,
        is_committed: bool,
    ) -> Result<(), JournalError> {
        let first = appender.next_sequence();
        let count = dice.below(7);
        let lengths: Vec<usize> = (0..count).map(|_| self.length(dice) % 3000).collect();
        let numbered = (first..).zip(&lengths);
        let records: Vec<Record> =
            numbered.map(|(sequence, &length)| self.next(sequence, 3, length)).collect();
        let room = records.iter().map(|record| excerpt_bytes(record.payload.len())).sum();
        let now = self.now;
        let mut write = |records: &[Record], is_committed: bool| {
            let mut batch = appender.batch(now, room)?;
            for record in records {
                assert_eq!(batch.append(3, record.ts_ns, &record.payload)?, record.sequence);
            }
            if is_committed { batch.commit().map(drop) } else { Ok(()) }
        };
        if is_committed {
            return self.commits(disk, records, |records| write(records, true));
        }
        self.update_progress(disk, 0);
        write(&records, false)
    }

    /// Writes records, and notes the result.
    fn commits(
        &mut self,
        disk: &SimulatedDisk,
        records: Vec<Record>,
        write: impl FnOnce(&[Record]) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        let (before, count) = (self.records.len(), records.len());
        self.records.extend(records);
        self.update_progress(disk, count);
        let written = write(&self.records[before..]);
        match &written {
            // An empty batch promises nothing.
            Ok(()) if count == 0 => {}
            Ok(()) => {
                let unsure = match self.options.sync {
                    SyncPolicy::Batch => 0,
                    SyncPolicy::Excerpts(count) => usize::try_from(count - 1).unwrap(),
                    _ => usize::MAX,
                };
                let promised = self.records.len().saturating_sub(unsure);
                self.promised = self.promised.max(promised);
            }
            Err(error) if matches!(error.kind(), ErrorKind::NotOnDisk { .. }) => {}
            Err(_) => self.records.truncate(before),
        }
        written
    }
}
