//! Checks a recorder beside a running plant: rebuilds the books from the journal, and compares them
//! and every record with what the plant publishes.
//!
//! Where: a process of its own (`nanotape audit`). It affects neither the plant nor the recorder.
//! Protocol: it follows the journal from the last snapshot before the oldest record of the ring.
//! Each record must be the one that the ring has under its number, as long as the ring has it.
//! After each message the books are those of the plant, so each inside that the plant published
//! must be theirs. At the stop, the digest of all records must be that of the plant.
//! Bounds: the ring is read as the journal grows. Records that the ring has overwritten by then are
//! counted, and not compared.

use std::{ops::ControlFlow, path::Path, time::Duration};

use dbn::Mbp1Msg;
use nanotape_history::LocalBooks;
use nanotape_records::{Notice, Record, encode::BestLevels};
use nanotape_ring::{RingError, RingSource, Start, stream};
use nanotape_tape::{Item, ShutdownFlag, Source as _, Step, Tape as _};
use nanotape_types::StockLocate;

use crate::{Delivery, Event, SubscribeError, Subscriber, Subscription, recorder::check_origin};

/// An audit in progress.
#[derive(Debug)]
pub struct Audit {
    journal: Subscriber,
    ring: RingSource<stream::Reader>,
    report: AuditReport,
    is_over: bool,
    /// The number of the records of the journal's snapshot, which come first; 0 without one.
    opening: Option<u64>,
}

/// What an audit has compared.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct AuditReport {
    /// Records of the journal that were read.
    pub records: u64,
    /// Records that are those of the ring.
    pub same_records: u64,
    /// Records that the ring had overwritten before they were compared.
    pub overwritten: u64,
    /// Insides that are those of the rebuilt books.
    pub same_insides: u64,
    /// Insides that were not compared, because the books lack lost records.
    pub unknown_insides: u64,
    /// Records that the journal lacks.
    pub lost: u64,
    /// Records that differ from the ring, and insides that differ from the books.
    pub differences: u64,
    /// The first difference.
    pub first_difference: Option<AuditDifference>,
    /// Whether the digest of the records is that of the plant, if the plant has stopped and all
    /// records of its run were read.
    pub is_digest_same: Option<bool>,
}

/// A record of the journal that differs from what the plant published.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AuditDifference {
    /// The ring has another record under the number.
    #[error("record {0} of the journal is not record {0} of the ring")]
    Record(u64),
    /// The books rebuilt from the journal have another inside.
    #[error("after record {0} the rebuilt book has another inside than the plant published")]
    Inside(u64),
}

impl Audit {
    /// Opens the journal of a ring at its last snapshot, and the ring. Waits up to `wait` for the
    /// recorder to begin.
    pub fn open(
        ring: &Path,
        journal: &Path,
        wait: Duration,
        shutdown: &ShutdownFlag,
    ) -> Result<Self, SubscribeError> {
        let reader = stream::Reader::open(ring, Start::Oldest).map_err(|error| match error {
            RingError::Region(error) => SubscribeError::Region(error),
            error => SubscribeError::Ring { path: ring.to_owned(), error: Box::new(error) },
        })?;
        let created_ns = nanotape_ring::Subscribe::region(&reader).created_ns();
        check_origin(journal, ring, created_ns)
            .map_err(|error| SubscribeError::Origin(Box::new(error)))?;
        let oldest = nanotape_ring::Subscribe::next_sequence(&reader);
        // A path with a slash is not the name of a ring.
        let folder = Path::new(".").join(journal);
        let folder = if journal.is_absolute() { journal.to_owned() } else { folder };
        let journal = Subscription::to(&folder)
            .wait(wait)
            .shutdown(shutdown)
            .keep_books()
            .check_digests()
            .whole_before(oldest)
            .open()?;
        let ring = RingSource::new(reader);
        let report = AuditReport::default();
        Ok(Self { journal, ring, report, is_over: false, opening: None })
    }

    /// One step: compares the available records, or waits for more. Returns `false` when the plant
    /// has stopped, or the recorder has closed the journal.
    pub fn step(&mut self) -> Result<bool, SubscribeError> {
        let Self { journal, ring, report, is_over, opening } = self;
        let step = journal.step(|event| {
            match event {
                // The orders of the snapshot of the journal have the number of its last record. A
                // plant that was restored also publishes orders of a snapshot, as records.
                Event::Record(Delivery { record: Record::Mbo(order), sequence, .. })
                    if order.flags.is_snapshot()
                        && *opening.get_or_insert(sequence) == sequence => {}
                Event::Record(delivery) => {
                    opening.get_or_insert(0);
                    report.compare(&delivery, ring);
                    *is_over = matches!(delivery.record, Record::Notice(Notice::Stop(_)));
                }
                Event::Lost(gap) => report.lost += gap.count(),
                Event::Healed(_) | Event::Reported { .. } => {}
            }
            if *is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(!*is_over && !matches!(step, Step::Gone(_) | Step::Shutdown | Step::Complete))
    }

    /// What was compared so far.
    pub fn report(&self) -> &AuditReport {
        &self.report
    }

    /// The sequence number of the next record.
    pub fn next_sequence(&self) -> u64 {
        self.journal.next_sequence()
    }
}

impl AuditReport {
    /// Whether nothing differs, and the digest, if it could be compared, is that of the plant.
    pub fn is_good(&self) -> bool {
        self.differences == 0 && self.lost == 0 && self.is_digest_same != Some(false)
    }

    fn compare(&mut self, delivery: &Delivery<'_>, ring: &mut RingSource<stream::Reader>) {
        self.records += 1;
        self.is_digest_same = delivery.is_digest_same.or(self.is_digest_same);
        match is_in_ring(delivery, ring) {
            Some(true) => self.same_records += 1,
            Some(false) => self.differ(AuditDifference::Record(delivery.sequence)),
            None => self.overwritten += 1,
        }
        if let (Record::Bbo(bbo), Some(books)) = (delivery.record, delivery.books) {
            match is_inside(bbo, books) {
                Some(true) => self.same_insides += 1,
                Some(false) => self.differ(AuditDifference::Inside(delivery.sequence)),
                None => self.unknown_insides += 1,
            }
        }
    }

    fn differ(&mut self, difference: AuditDifference) {
        self.differences += 1;
        self.first_difference = self.first_difference.or(Some(difference));
    }
}

/// Whether the ring has the record under its number; `None` if it has overwritten it.
fn is_in_ring(delivery: &Delivery<'_>, ring: &mut RingSource<stream::Reader>) -> Option<bool> {
    let sequence = delivery.sequence;
    while ring.next_sequence() <= sequence {
        let mut is_same = None;
        let polled = ring.poll_one(|item| {
            if let Item::Message(message) = item
                && message.sequence == sequence
            {
                is_same =
                    Some(message.type_id == delivery.type_id && message.payload == delivery.bytes);
            }
        });
        match polled {
            Ok(nanotape_tape::Progress::Nothing) => return Some(false),
            Ok(_) if is_same.is_some() => return is_same,
            Ok(_) => {}
            // Damage of the ring: its record is another one.
            Err(_) => return Some(false),
        }
    }
    None
}

/// Whether an inside is that of the books; `None` if the books lack records.
fn is_inside(bbo: &Mbp1Msg, books: &LocalBooks) -> Option<bool> {
    let locate = StockLocate::new(u16::try_from(bbo.hd.instrument_id).ok()?);
    if !books.is_whole() {
        return None;
    }
    let book = books.book(locate);
    let [published] = &bbo.levels;
    Some(*published == BestLevels::of(&book).pair())
}
