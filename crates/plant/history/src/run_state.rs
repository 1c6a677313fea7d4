//! The state of a run after one of its records: books, digests, and what is known to be missing.
//!
//! Where: a snapshot stores it, an audit compares it, and a search for the first difference of two
//! runs starts from it.
//! Protocol: all records of a run, in order, from its start record or from a snapshot on.

use nanotape_book::DefaultBooks;
use nanotape_records::{Digests, Notice, PlantStop, Record, RestoredCause, RestoredNotice};
use nanotape_tape::Gap;
use nanotape_types::{LocateTable, StockLocate};

use crate::{LocalBooks, Run};

/// The state of a run.
#[derive(Debug)]
pub struct RunState {
    /// The position in the run.
    pub moment: Moment,
    /// The books.
    pub books: LocalBooks,
    /// The digests of the records.
    pub digests: Digests,
    /// The number of the record that tainted a stock; 0 if none did.
    pub tainted: LocateTable<u64>,
    /// The stop record, if the run has ended.
    pub stop: Option<PlantStop>,
}

/// A position in a run: after which record, and what was lost before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Moment {
    /// The sequence number of the last record of the run that was applied; 0 before the first.
    pub sequence: u64,
    /// The largest exchange time of the records so far, ns since the UNIX epoch; 0 if none has one.
    pub ts_event: u64,
    /// The number of the last message in its day.
    pub message: u64,
    /// The sequence number of the start record of the run.
    pub first_sequence: u64,
    /// Start time of the run, ns since the UNIX epoch.
    pub started_ns: u64,
    /// The exchange's midnight of the trade date, ns since the UNIX epoch.
    pub midnight_ns: u64,
    /// How many times records were lost, or a part of the input was unreadable.
    pub losses: u64,
    /// The sequence number of the first loss; 0 without one.
    pub first_loss: u64,
}

impl RunState {
    /// The state before the first record of a run.
    pub fn before(run: &Run) -> Self {
        let moment = Moment {
            first_sequence: run.first_sequence,
            started_ns: run.started_ns,
            midnight_ns: run.midnight_ns,
            ..Moment::default()
        };
        let mut books = LocalBooks::new();
        books.begin(true);
        Self::at(moment, books)
    }

    /// A state with these books, without digests and taints.
    pub(crate) fn at(moment: Moment, books: LocalBooks) -> Self {
        let digests = Digests::default();
        Self { moment, books, digests, tainted: LocateTable::filled(0), stop: None }
    }

    /// Applies a record of the run.
    #[inline]
    pub fn take(&mut self, sequence: u64, type_id: u16, bytes: &[u8], record: &Record<'_>) {
        self.moment.sequence = sequence;
        self.digests.add_bytes(type_id, bytes);
        match record {
            Record::Mbo(order) => {
                let is_refused = self.books.apply(order);
                self.see(order.hd.ts_event, order.sequence);
                if is_refused || order.flags.is_maybe_bad_book() {
                    self.taint(order.hd.instrument_id, sequence);
                }
            }
            Record::Bbo(bbo) => self.see(bbo.hd.ts_event, bbo.sequence),
            Record::Trade(trade) => self.see(trade.hd.ts_event, trade.sequence),
            Record::Status(status) => self.see_time(status.hd.ts_event),
            Record::Definition(definition) => self.see_time(definition.hd.ts_event),
            Record::Imbalance(imbalance) => self.see_time(imbalance.hd.ts_event),
            Record::Notice(notice) => self.notice(sequence, notice),
            _ => {}
        }
    }

    /// Records of the run are missing.
    pub fn lose(&mut self, gap: &Gap) {
        self.lost_at(gap.from);
        self.moment.sequence = gap.to;
    }

    /// The stocks that have records, in order of their locates.
    pub fn stocks(&self) -> impl Iterator<Item = StockLocate> + '_ {
        StockLocate::all().filter(|&locate| {
            self.digests.of(locate) != 0
                || self.tainted[locate] != 0
                || !self.books.book(locate).is_empty()
        })
    }

    /// The books.
    pub fn all_books(&self) -> &DefaultBooks {
        self.books.all()
    }

    #[inline]
    fn see(&mut self, ts_event: u64, number: u32) {
        self.see_time(ts_event);
        let later = number.wrapping_sub(self.moment.message as u32);
        self.moment.message += u64::from(later);
    }

    #[inline]
    fn see_time(&mut self, ts_event: u64) {
        // A record without a time has the largest number.
        if ts_event != u64::MAX {
            self.moment.ts_event = self.moment.ts_event.max(ts_event);
        }
    }

    #[cold]
    fn notice(&mut self, sequence: u64, notice: &Notice) {
        match notice {
            Notice::Gap(_) => self.lost_at(sequence),
            Notice::Restored(restored) => self.restored(restored),
            Notice::Taint(taint) => {
                self.taint(taint.instrument_id, sequence);
                self.see_time(taint.ts_event);
            }
            Notice::Stop(stop) => self.stop = Some(*stop),
            Notice::Start(_) | Notice::SessionGap(_) | Notice::Suspect(_) => {}
        }
    }

    /// The books are those of the exchange again: what was missing came, or is in a snapshot.
    fn restored(&mut self, restored: &RestoredNotice) {
        match restored.cause {
            RestoredCause::Same | RestoredCause::Replaced => {
                if let Ok(locate) = u16::try_from(restored.instrument_id) {
                    self.tainted[StockLocate::new(locate)] = 0;
                }
            }
            RestoredCause::Snapshot => self.tainted = LocateTable::filled(0),
            _ => {}
        }
    }

    /// A stock is unreliable from this record on, if it was not before.
    fn taint(&mut self, instrument_id: u32, sequence: u64) {
        if let Ok(locate) = u16::try_from(instrument_id).map(StockLocate::new)
            && self.tainted[locate] == 0
        {
            self.tainted[locate] = sequence;
        }
    }

    fn lost_at(&mut self, sequence: u64) {
        self.moment.losses += 1;
        if self.moment.first_loss == 0 {
            self.moment.first_loss = sequence;
        }
        self.books.lose();
    }
}
