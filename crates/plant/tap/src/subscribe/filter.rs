//! Selects records by stock and kind, message by message, and reads the records that the selection
//! depends on.

use std::ops::ControlFlow;

use nanotape_history::LocalBooks;
use nanotape_records::{
    BadRecord, Digests, FIRST_TYPE_ID, Header, Notice, Record, RecordBuffer, RecordKind,
    RecordKinds,
};
use nanotape_tape::{Gap, Message, Step};
use nanotape_types::{StockLocate, Symbol};

use super::{Delivery, Event, behind::Included, window::Window};
use crate::symbols::SymbolTable;

/// The selection, and the state that it depends on.
#[derive(Debug)]
pub(super) struct SubscriptionFilter {
    pub(super) kinds: RecordKinds,
    pub(super) symbols: SymbolTable,
    pub(super) books: Option<LocalBooks>,
    pub(super) buffer: RecordBuffer,
    pub(super) digests: Option<CheckedDigests>,
    /// `None` delivers everything.
    pub(super) window: Option<Window>,
    /// The exchange's midnight of the current run, if it is known.
    pub(super) midnight_ns: Option<u64>,
    /// What the states that the subscriber began with include.
    pub(super) included: Option<Included>,
    /// Whether a record of a run without names was reported.
    pub(super) is_unnamed_reported: bool,
}

/// The digests of all messages since the start of the run, if they are checked.
#[derive(Debug, Default)]
pub(super) struct CheckedDigests {
    pub(super) digests: Digests,
    /// Whether every message of the run was added.
    pub(super) is_whole: bool,
}

impl SubscriptionFilter {
    /// Updates symbols and books, then passes the message to `visit` if it is wanted.
    #[inline]
    pub(super) fn deliver(
        &mut self,
        message: &Message<'_>,
        visit: &mut impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, BadRecord> {
        const UNWANTED: Result<ControlFlow<()>, BadRecord> = Ok(ControlFlow::Continue(()));
        let Message { sequence, type_id, payload: bytes, .. } = *message;
        let kind = RecordKind::of_type_id(type_id);
        if self.window.is_some() && self.is_over_at(sequence, bytes, visit) {
            return Ok(ControlFlow::Break(()));
        }
        if let Some(checked) = &mut self.digests {
            checked.digests.add_bytes(type_id, bytes);
        }
        if !self.is_read(kind, type_id) {
            return UNWANTED;
        }
        let instrument = Header::of(bytes).map_or(0, |header| header.instrument_id);
        // Stock 0 does not exist: records about the whole market go to every subscriber.
        let locate = u16::try_from(instrument).ok().map(StockLocate::new);
        let locate = locate.filter(|locate| locate.get() != 0);
        let is_definition = kind == Some(RecordKind::Definitions);
        if !is_definition && !self.symbols.is_wanted(locate, sequence) {
            let is_unknown = self.symbols.has_lost_names(locate, sequence);
            return Ok(if is_unknown { self.unnamed(sequence, visit) } else { UNWANTED? });
        }
        let Some(record) = self.buffer.decode(sequence, type_id, bytes)? else { return UNWANTED };
        match record {
            Record::Notice(Notice::Start(start)) => {
                self.is_unnamed_reported = false;
                self.symbols.begin(sequence, &start);
                self.midnight_ns = Some(start.midnight_ns);
                if let Some(books) = &mut self.books {
                    books.begin(start.kinds.has(RecordKind::Mbo));
                }
                if let Some(checked) = &mut self.digests {
                    *checked = CheckedDigests { is_whole: true, ..CheckedDigests::default() };
                }
            }
            Record::Mbo(mbo) => {
                if let Some(books) = &mut self.books {
                    let _ = books.apply(mbo);
                }
            }
            Record::Definition(definition) => {
                if let Some(locate) = locate {
                    self.symbols.learn(locate, definition);
                }
                if !self.symbols.is_wanted(locate, sequence) {
                    return UNWANTED;
                }
            }
            _ => {}
        }
        let is_inside = self.window.as_ref().is_none_or(Window::is_inside);
        if self.included.is_some() && Included::includes(&mut self.included, locate, sequence) {
            return UNWANTED;
        }
        if is_inside && kind.is_none_or(|kind| self.kinds.has(kind)) {
            let symbol = locate.and_then(|locate| self.symbols.symbol(locate, sequence));
            let books = self.books.as_ref();
            let is_digest_same = match (&self.digests, &record) {
                (Some(checked), Record::Notice(Notice::Stop(stop))) if checked.is_whole => {
                    Some(checked.digests.total() == stop.digest)
                }
                _ => None,
            };
            let midnight_ns = self.midnight_ns;
            let delivery = Delivery {
                sequence,
                type_id,
                symbol,
                record,
                bytes,
                midnight_ns,
                books,
                is_digest_same,
            };
            return Ok(visit(Event::Record(delivery)));
        }
        UNWANTED
    }

    /// Reports the first record of which it is unknown whether its stock is selected.
    #[cold]
    fn unnamed(
        &mut self,
        sequence: u64,
        visit: &mut impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let text = "the names of the stocks of this run are gone, so that its records cannot be \
                    selected by symbol: read all stocks, or the journal";
        let is_inside = self.is_loss_inside(None);
        if !is_inside || std::mem::replace(&mut self.is_unnamed_reported, true) {
            return ControlFlow::Continue(());
        }
        visit(Event::Reported { sequence, text })
    }

    /// Moves the window to a record, and reports a loss just before the window. Returns whether the
    /// window has ended.
    #[inline(never)]
    fn is_over_at(
        &mut self,
        sequence: u64,
        bytes: &[u8],
        visit: &mut impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> bool {
        let Some(window) = &mut self.window else { return false };
        window.move_to(sequence, bytes);
        if let Some(gap) = window.take_before() {
            // A visitor that stops gets one record more.
            let _ = visit(Event::Lost(gap));
        }
        window.is_over()
    }

    /// The result of a step, which ends the reading if the window has ended.
    pub(super) fn end_of(&self, step: Step) -> Step {
        if self.window.as_ref().is_some_and(Window::is_over) { Step::Complete } else { step }
    }

    /// Whether a loss is inside the window. One before the window is kept.
    #[cold]
    pub(super) fn is_loss_inside(&mut self, lost: Option<&Gap>) -> bool {
        let Some(window) = &mut self.window else { return true };
        let is_inside = window.is_inside();
        if let Some(lost) = lost.filter(|_| !is_inside) {
            window.keep(lost);
        }
        is_inside
    }

    /// Messages were lost: there might be orders or the start of a plant among them.
    #[cold]
    pub(super) fn lose(&mut self, lost: &Gap) {
        if let Some(checked) = &mut self.digests {
            checked.is_whole = false;
        }
        let is_same_run = self.symbols.lose(lost);
        self.midnight_ns = self.symbols.midnight_ns(lost.to + 1);
        if let Some(books) = &mut self.books {
            if !is_same_run {
                books.begin(true);
            }
            books.lose();
        }
    }

    /// The file has the symbol of a stock.
    #[cold]
    pub(super) fn name(&mut self, locate: StockLocate, symbol: Symbol) {
        self.symbols.know(locate, symbol);
    }

    /// A message was unreadable: it might be an order.
    #[cold]
    pub(super) fn lose_one(&mut self) {
        if let Some(checked) = &mut self.digests {
            checked.is_whole = false;
        }
        if let Some(books) = &mut self.books {
            books.lose();
        }
    }

    /// Whether messages of this kind must be read: they are wanted, contain names, or change books.
    #[inline]
    fn is_read(&self, kind: Option<RecordKind>, type_id: u16) -> bool {
        match kind {
            Some(RecordKind::Definitions) => true,
            Some(RecordKind::Mbo) => self.kinds.has(RecordKind::Mbo) || self.books.is_some(),
            Some(kind) => self.kinds.has(kind),
            None => type_id >= FIRST_TYPE_ID,
        }
    }
}
