//! Converts an event and its effect on the books to records on the ring, as in
//! `docs/formats/records.md`.
//!
//! Where: an [`Observer`] of a [`BookEngine`], between BOOK and RING.
//! Protocol: the records of one message are published together, so that readers see all or none of
//! them, even if the plant is killed. Their order: order events, the print, the inside. The last
//! record of each kind has `F_LAST`.
//! A plant that reads a file as fast as it can publishes the records of several messages together.
//! A plant that is recorded, or has named followers, waits when the slowest is half a ring behind.
//! Bounds: at most five records a message.
//! Cost: no allocation, lock or system call for messages about orders, and one lookup of a byte per
//! stock. The clock is read and the board updated once in [`CHECK_EVERY`] messages, or with each
//! message if they are paced. Messages about stocks and the market might allocate.

mod attending;
mod changes;
mod heap;
mod levels;
mod market;
mod orders;
mod outbox;
mod questions;
mod seams;
mod session;
mod waiting;

use std::{ops::ControlFlow, sync::Arc, time::Duration};

use dbn::Action;
use nanotape_board::{Board, BoardReader, Counts, Watch};
use nanotape_book::{Anomaly, Books, Order, OrderStore, Outcome, PriceLevels};
use nanotape_clock::{Clock, Stamp, Timeline};
use nanotape_engine::{BookEngine, Observer, RestoredStock};
use nanotape_market::{
    Damage, EventTime, MarketEvent, Modified, Position, SessionChange, Venue, What,
};
use nanotape_ring::{Publish, PublishError};
use nanotape_shm::RegionError;
use nanotape_tape::{LongWaits, Pacer};
use nanotape_trace::spans::{Switches, Tracer};
use nanotape_types::{BookEvent, LocateTable, StockLocate, Symbol};

use changes::Changes;
use outbox::Outbox;
pub(crate) use seams::SITES;
use seams::{Seam, Seams};
use session::Unreliable;

use crate::{
    ShutdownFlag,
    followers::Report,
    gate::Gate,
    records::{
        Common, Digests, Gap, Notice, PlantStart, PlantStop, PublisherInstrument, RecordKind,
        RecordKinds, StopReason,
    },
};

/// Messages per periodic check, if the speed is unlimited. Odd, so that the checks never
/// synchronise with batches.
pub const CHECK_EVERY: u32 = 15;

/// Periodic checks per message whose stages are timed, and per show of what is held back.
const CHECKS_A_SAMPLE: u32 = 17;

/// Receive times go back by more only if the machine's clock was set back.
const CLOCK_STEP_NS: u64 = 1_000_000_000;

/// Period of synchronising with the kernel's clock, which takes about ten microseconds: while
/// messages arrive, and while the plant is idle or has spans of receive times.
const ANCHOR_AT_WORK_NS: u64 = 60_000_000_000;
const ANCHOR_OFTEN_NS: u64 = 1_000_000_000;

/// The state of a stock: a byte, looked up with each message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum Stock {
    /// The symbol is not yet known.
    Unknown,
    Wanted,
    Unwanted,
    /// Wanted, but its book is unreliable.
    Tainted,
    /// Wanted, but messages of any stock are missing.
    Suspect,
}

/// Publishes the records of a plant.
#[derive(Debug)]
pub struct Publisher<W> {
    writer: W,
    board: Arc<Board>,
    /// The source of `ts_recv`.
    timeline: Timeline,
    kinds: RecordKinds,
    /// The selected symbols; empty selects all.
    symbols: Vec<Symbol>,
    stocks: LocateTable<Stock>,
    changes: Changes,
    /// The shares of the level that the current event changes, before it.
    level_before: u64,
    /// The publisher of the records, and no instrument.
    market: PublisherInstrument,
    midnight_ns: u64,
    ts_recv: u64,
    /// Why the records of all stocks are flagged, if they are.
    unreliable: Option<Unreliable>,
    /// Stocks with an order in the last snapshot that no book can have.
    refused_stocks: Vec<(StockLocate, Anomaly)>,
    /// Whether `ts_recv` comes from the source, and not from the clock.
    has_receive_times: bool,
    /// The last synchronisation with the kernel's clock. Not a time, since times might stand still.
    anchored: Stamp,
    counts: Counts,
    digests: Digests,
    /// Messages until the next [`at_countdown`](Self::at_countdown).
    countdown: u32,
    /// Messages from there to the next periodic check.
    until_check: u32,
    checks: u32,
    seams: Seams,
    /// Whether the next message needs a check before it is applied: one test instead of several.
    is_attentive: bool,
    /// `None` if messages are not paced.
    pacer: Option<Pacer>,
    /// The first message at or after this is not applied.
    until: Option<EventTime>,
    stop: ShutdownFlag,
    /// Checks that the ring and the board still exist.
    watch: Watch,
    /// `None` if the plant waits for no recorder and no follower.
    gate: Option<Box<Gate>>,
    /// Receives the lines for the operator.
    report: Report,
    /// The waits for messages that were reported.
    reported: LongWaits,
    reason: Option<StopReason>,
    /// Whether the source delivers all that it received, and is ended when it is idle only.
    ends_when_idle: bool,
    refused: Option<PublishError>,
    damaged: u64,
}

/// The parts of a publisher.
#[derive(Debug)]
pub(crate) struct Parts<W> {
    pub(crate) writer: W,
    pub(crate) board: Arc<Board>,
    pub(crate) clock: Clock,
    pub(crate) kinds: RecordKinds,
    pub(crate) symbols: Vec<Symbol>,
    /// DBN's number of the feed and the venue.
    pub(crate) publisher_id: u16,
    pub(crate) midnight_ns: u64,
    pub(crate) pacer: Option<Pacer>,
    pub(crate) until: Option<EventTime>,
    pub(crate) stop: ShutdownFlag,
    pub(crate) watch: Watch,
    pub(crate) tracer: Option<Tracer>,
    /// The kernel is queried about traced messages that take longer.
    pub(crate) ask_above: Duration,
    pub(crate) gate: Option<Gate>,
    pub(crate) report: Report,
}

impl<W: Publish> Publisher<W> {
    pub(crate) fn new(parts: Parts<W>) -> Self {
        let anchored = parts.clock.stamp();
        let seams = Seams::new(&parts.clock, parts.tracer, parts.ask_above);
        let mut publisher = Self {
            writer: parts.writer,
            board: parts.board,
            timeline: Timeline::new(parts.clock),
            kinds: parts.kinds,
            symbols: parts.symbols,
            stocks: LocateTable::filled(Stock::Unknown),
            changes: Changes::default(),
            level_before: 0,
            market: PublisherInstrument::none_of(parts.publisher_id),
            midnight_ns: parts.midnight_ns,
            ts_recv: 0,
            unreliable: None,
            refused_stocks: Vec::new(),
            has_receive_times: false,
            anchored,
            counts: Counts::default(),
            digests: Digests::default(),
            countdown: CHECK_EVERY,
            until_check: 0,
            checks: 0,
            seams,
            is_attentive: false,
            pacer: parts.pacer,
            until: parts.until,
            stop: parts.stop,
            watch: parts.watch,
            gate: parts.gate.map(Box::new),
            report: parts.report,
            reported: LongWaits::default(),
            reason: None,
            ends_when_idle: false,
            refused: None,
            damaged: 0,
        };
        publisher.is_attentive = publisher.is_always_attentive();
        publisher.read_clock();
        publisher
    }

    /// The ring's writer.
    pub fn writer(&self) -> &W {
        &self.writer
    }

    /// A reader of the plant's board.
    pub fn board(&self) -> BoardReader {
        self.board.reader()
    }

    /// The clock that `ts_recv` is from.
    pub fn clock(&self) -> &Clock {
        self.timeline.clock()
    }

    /// The switches of the plant's spans; `None` if it has none.
    pub(crate) fn trace_switches(&self) -> Option<Switches> {
        self.seams.switches()
    }

    /// The error of the ring that refused a record, which ends a run.
    pub fn refused(&self) -> Option<PublishError> {
        self.refused
    }

    /// The ring or board that was removed, replaced or truncated, which ends a run.
    pub(crate) fn loss(&self) -> Option<&RegionError> {
        self.watch.loss()
    }

    /// The reason to end the run, if the publisher ends it.
    pub(crate) fn reason(&self) -> Option<StopReason> {
        self.reason
    }

    /// Receives the lines for the operator.
    pub(crate) fn report(&self) -> &Report {
        &self.report
    }

    /// Whom the plant waited for, and how long.
    pub(crate) fn gate(&self) -> Option<&Gate> {
        self.gate.as_deref()
    }

    /// Whether records may wait for those of the next messages, which in a file are there already.
    /// Readers then see the records of up to 255 messages together ([`CHECK_EVERY`] times
    /// [`CHECKS_A_SAMPLE`]), and their polls take a line from the plant once for all of them.
    pub(crate) fn set_holding(&mut self, holds: bool) {
        self.writer.set_holding(holds && self.pacer.is_none());
    }

    /// Publishes the start of the plant.
    pub(crate) fn begin(&mut self, start: PlantStart) {
        self.notice(&Notice::Start(start));
        self.board.show(&self.counts, start.started_ns);
        self.writer.heartbeat(start.started_ns);
    }

    /// Publishes the end of the plant, and stores the final counters.
    pub(crate) fn end(
        &mut self,
        reason: StopReason,
        anomalies: u64,
        cut: Option<Gap>,
    ) -> PlantStop {
        let now_ns = self.read_clock();
        if let Some(gap) = cut {
            self.damaged += 1;
            self.notice(&Notice::Gap(Gap { ts_recv: now_ns, ..gap }));
        }
        let records = self.counts.records.iter().sum::<u64>() + self.counts.notices + 1;
        let stop = PlantStop {
            ts_event: self.counts.ts_event,
            stopped_ns: now_ns,
            reason,
            messages: self.counts.messages.saturating_sub(self.counts.unread),
            records,
            damaged: self.damaged,
            anomalies,
            digest: self.digests.total(),
        };
        self.notice(&Notice::Stop(stop));
        self.board.show(&self.counts, now_ns);
        self.board.stop(&stop);
        self.writer.heartbeat(now_ns);
        stop
    }

    /// Reads the clock; records from now on have this time, unless the source has receive times.
    fn read_clock(&mut self) -> u64 {
        let now_ns = self.timeline.now_ns();
        if !self.has_receive_times {
            self.ts_recv = now_ns;
        }
        self.writer.set_time(now_ns);
        now_ns
    }

    /// Reports that the plant is alive even if it publishes nothing, and synchronises with the
    /// kernel's clock: over a whole day it might be adjusted.
    fn show_life(&mut self, now_ns: u64, anchor_ns: u64) {
        self.writer.heartbeat(now_ns);
        let clock = self.clock();
        let now = clock.stamp();
        if clock.nanos_between(self.anchored, now) > anchor_ns {
            self.timeline.follow(clock.re_anchored());
            self.anchored = now;
        }
    }

    /// Does the periodic work if it is due, and finds the next message that is traced.
    #[inline(never)]
    fn at_countdown(&mut self) -> ControlFlow<()> {
        self.countdown = match std::mem::take(&mut self.until_check) {
            0 => {
                self.check()?;
                CHECK_EVERY
            }
            left => left,
        };
        if self.seams.is_needed() {
            self.prepare();
        }
        ControlFlow::Continue(())
    }

    /// Periodic work: reads the clock, updates the board, checks for the end.
    fn check(&mut self) -> ControlFlow<()> {
        // Before the clock is read: no record has the time before a wait, and no stage its length.
        self.pass_gate()?;
        let now_ns = self.read_clock();
        self.board.show(&self.counts, now_ns);
        self.checks += 1;
        if self.checks >= CHECKS_A_SAMPLE {
            self.checks = 0;
            self.writer.show_held();
            // A receive time becomes a stamp by this anchor.
            let is_exact = self.has_receive_times && self.seams.is_needed();
            self.show_life(now_ns, if is_exact { ANCHOR_OFTEN_NS } else { ANCHOR_AT_WORK_NS });
            self.seams.sample();
            if self.pacer.is_none() && !self.has_receive_times {
                self.seams.mark(self.timeline.clock());
            }
        }
        self.seams.load_switches(self.timeline.clock());
        if self.refused.is_some()
            || !self.ends_when_idle && (self.is_to_end() || self.reason.is_some())
        {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    /// Whether the run ends before its input: an end was requested, also by a recorder that failed,
    /// or the ring or board was lost.
    #[inline]
    fn is_to_end(&mut self) -> bool {
        let reason = if self.watch.loss().is_some() {
            StopReason::RegionLost
        } else if self.stop.is_requested() {
            StopReason::Requested
        } else {
            return false;
        };
        self.reason = Some(reason);
        true
    }

    /// The common fields of the records of the last counted message.
    #[inline(always)]
    fn common(&self, locate: StockLocate) -> Common {
        Common {
            instrument: self.market.numbered(u32::from(locate.get())),
            ts_event: self.counts.ts_event,
            ts_recv: self.ts_recv,
            sequence: self.counts.messages as u32,
            flags: 0,
        }
    }

    /// Publishes a notice.
    #[cold]
    fn notice(&mut self, notice: &Notice) {
        let mut buffer = Notice::buffer();
        let bytes = notice.encode(self.market.publisher_id(), &mut buffer);
        self.digests.add_bytes(notice.type_id(), bytes);
        let published = self.writer.publish(notice.type_id(), bytes);
        self.writer.show_held();
        self.counts.notices += u64::from(published.is_ok());
        self.refused = self.refused.or(published.err());
    }

    /// Publishes one record.
    #[inline(always)]
    fn record<const N: usize>(&mut self, kind: RecordKind, words: [u64; N]) {
        let mut outbox = self.outbox();
        outbox.push(kind, words);
        outbox.publish();
    }

    /// Publishes a record with many fields.
    #[cold]
    fn rare_record(&mut self, kind: RecordKind, bytes: &[u8]) {
        self.digests.add_bytes(kind.type_id(), bytes);
        match self.writer.publish(kind.type_id(), bytes) {
            Ok(_) => self.counts.records[kind as usize] += 1,
            Err(error) => self.refused = Some(error),
        }
    }

    /// Collects the records of a message.
    #[inline(always)]
    fn outbox(&mut self) -> Outbox<'_, W> {
        let counts = (&mut self.counts, &mut self.digests);
        Outbox::new(&mut self.writer, counts, &mut self.refused)
    }
}

impl<W: Publish, L: PriceLevels, S: OrderStore> Observer<Books<L, S>> for Publisher<W> {
    const FINDS_HIDDEN_RECORDS: bool = true;

    #[inline(always)]
    fn admit(&mut self, at: Position, event: &MarketEvent) -> ControlFlow<()> {
        if self.is_attentive {
            self.attend(at, event.time.unwrap_or_default())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn venue(&mut self, venue: &'static Venue) {
        self.market = PublisherInstrument::none_of(venue.publisher_id);
    }

    #[inline(always)]
    fn before(&mut self, engine: &BookEngine<Books<L, S>>, _: Position, event: &MarketEvent) {
        if let What::Level(change) = event.what {
            self.before_level(engine, event.stock_locate, change);
        }
    }

    #[inline(always)]
    fn order_entered(&mut self, order: &Order) {
        self.changes.push(Action::Add, order, order.shares.get());
    }

    #[inline(always)]
    fn order_reduced(&mut self, order: &Order, shares: u32) {
        self.changes.push(Action::Cancel, order, shares);
    }

    #[inline(always)]
    fn after(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        at: Position,
        event: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        if self.is_attentive {
            self.pass(Seam::Applied, event.stock_locate.get().into());
        }
        self.counts.messages = at.number;
        self.counts.offset = at.offset;
        // A message of an unknown type has no readable time.
        if let Some(time) = event.time {
            self.counts.ts_event = time.get();
        }
        match outcome {
            Some(outcome) => {
                let reference = event.reference().unwrap_or_default();
                match event.what {
                    What::Execution(execution) => {
                        self.execution(engine, execution, outcome);
                    }
                    What::Order(BookEvent::Replace { replacement, .. }) => {
                        self.order(engine, reference, replacement, outcome);
                    }
                    What::Level(change) => self.level(engine, (change, event.is_last), outcome),
                    What::BookCleared => self.cleared_or_modified(engine, None, outcome),
                    What::OrderModified(Modified { reference, .. }) if !event.is_last => {
                        self.in_its_place(engine, (reference, 0), outcome);
                    }
                    What::OrderModified(change) => {
                        self.cleared_or_modified(engine, Some(change), outcome);
                    }
                    What::PriceOutOfRange(of) => {
                        let reference = of.unwrap_or_default();
                        self.order(engine, reference, reference, outcome);
                    }
                    _ => self.order(engine, reference, reference, outcome),
                }
                self.changes.clear();
            }
            None => self.about_no_order(engine, event),
        }
        if self.is_attentive {
            self.recorded(engine.books().orders().len());
        }
        self.countdown -= 1;
        if self.countdown == 0 { self.at_countdown() } else { ControlFlow::Continue(()) }
    }

    /// Records have the time of the packet instead of that of the last check.
    #[inline]
    fn received(&mut self, ts_recv_ns: u64) {
        // A kept packet was received before the one that brought what was missing.
        let is_earlier = self.ts_recv.wrapping_sub(ts_recv_ns) < CLOCK_STEP_NS;
        self.ts_recv = if is_earlier { self.ts_recv } else { ts_recv_ns };
        self.has_receive_times = true;
        self.seams.received(ts_recv_ns, self.timeline.clock());
    }

    #[inline]
    fn arrived(&mut self, ts_recv_ns: u64) {
        self.seams.arrived(ts_recv_ns, self.timeline.clock());
    }

    fn damage(&mut self, damage: Damage) {
        self.damaged += 1;
        self.board.damage(damage);
        if matches!(damage, Damage::Missing { .. }) && self.unreliable.is_none() {
            self.flag_all(Some(Unreliable::Loss));
        }
        // Any number of damaged parts may follow each other without a message. If the run is to
        // end, the next check ends it.
        let _ = self.pass_gate();
        let gap = Gap::of_damage(damage, self.read_clock(), self.counts.messages);
        self.notice(&Notice::Gap(gap));
        match damage {
            // Later ones were published ahead of them.
            Damage::Missing { first, next } if first <= self.counts.messages => {
                self.counts.unread += next.saturating_sub(first);
            }
            Damage::Missing { next, .. } => self.unread_to(next),
            _ => {}
        }
    }

    fn session(&mut self, change: &SessionChange) {
        self.session_changed(change);
    }

    #[cold]
    fn missed(
        &mut self,
        engine: &BookEngine<Books<L, S>>,
        at: Position,
        event: &MarketEvent,
    ) -> ControlFlow<()> {
        self.late(engine, at, event);
        self.pass_gate()
    }

    fn restoring(&mut self, engine: &BookEngine<Books<L, S>>, stock: &RestoredStock<'_>) {
        self.restoring_stock(engine, stock);
    }

    fn restored(&mut self, engine: &BookEngine<Books<L, S>>, stock: &RestoredStock<'_>) {
        self.stock_restored(engine, stock);
    }

    fn idle(&mut self) -> ControlFlow<()> {
        self.writer.show_held();
        let now_ns = self.read_clock();
        self.board.show(&self.counts, now_ns);
        self.show_life(now_ns, ANCHOR_OFTEN_NS);
        self.seams.mark(self.timeline.clock());
        if self.is_to_end() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[cfg(test)]
mod tests;
