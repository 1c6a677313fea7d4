//! The loop of a tap: its end, and the numbers of its last line.

use std::{io, ops::ControlFlow, time::Duration};

use nanotape_answers::{InputKind, unlisted_run};
use nanotape_arguments::{
    errors::of_subscription,
    records::{conclude_day, require_read_symbols},
    regions::{of_region, recorder_sentence, state_sentence},
};
use nanotape_board::Waiting;
use nanotape_clock::Clock;
use nanotape_history::Runs;
use nanotape_plant::{
    Step,
    records::{Notice, Record, StopReason},
};
use nanotape_tap::{Event, SubscribeError, Subscriber};
use nanotape_tape::{Deadline, WriterState};
use nanotape_types::Symbol;

use super::{
    TapArguments, TapFormat, line_of,
    missing_end::{is_start, lacks_stop, no_stop, region_lost},
    printer::Printer,
    source::TapStart,
};
use crate::{
    progress::Progress,
    status::{BadData, Status, is_broken_pipe, note, warn},
};

/// The shortest wait for a message that is reported, and the least time between two reports.
const LONG_WAIT_NS: u64 = 5_000_000_000;
const BETWEEN_WAITS: Duration = Duration::from_secs(60);

/// Invalid records that get a line each; further ones are only counted for the status.
const BAD_LINES: u64 = 10;

/// A subscription whose records are printed.
pub(super) struct Tap {
    symbols: Vec<Symbol>,
    kind: InputKind,
    through_restarts: bool,
    fails_on_loss: bool,
    checks_digest: bool,
    /// Whether the span has an end before that of the run.
    has_until: bool,
    /// Whether it reads one run of a journal, not from a chosen record on.
    is_of_run: bool,
    /// `None`: what the plant waits for is not reported. Else when it is reported again.
    waits: Option<Waits>,
    subscriber: Subscriber,
    reading: Reading,
}

/// Reports what a plant waits for.
struct Waits {
    clock: Clock,
    /// No report before this is over.
    next: Deadline,
}

/// State of the printed records.
struct Reading {
    printer: Printer,
    /// Records that may still be written.
    left: u64,
    ends_with_stop: bool,
    /// Stops before this record belong to earlier runs than the one that a named tap joined.
    run_first: u64,
    /// The start of another run than the one that the tap began with.
    next_start: Option<u64>,
    /// Whether the last notice of the plant was its stop.
    is_stopped: bool,
    /// Whether the plant stopped because its ring or board was lost.
    is_region_lost: bool,
    counts: Counts,
    bad_records: u64,
    /// Whether the digest of the last stop was that of the plant; `None` if not compared.
    is_digest_same: Option<bool>,
    end: Option<End>,
    /// Whether a loss or an unreliable book ends the tap.
    is_strict: bool,
    /// Why the output failed, and the number of records read but not written.
    error: Option<(io::Error, u64)>,
}

/// The numbers of the last line.
struct Counts {
    /// The first sequence number to read.
    first: u64,
    /// The last sequence number that was read or lost.
    last: u64,
    written: u64,
    lost: u64,
    gaps: u64,
    /// Messages that came from the journal before the ring continued.
    healed: u64,
}

/// Why the tap ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Stopped,
    Gone(WriterState),
    /// The end of the span, or of the run.
    Complete,
    Enough,
    Interrupted,
    /// Refused by `--strict`.
    Refused,
}

impl Tap {
    pub(super) fn new(
        command: &TapArguments,
        kind: InputKind,
        format: TapFormat,
        subscriber: Subscriber,
        printer: Printer,
    ) -> Self {
        let first = subscriber.next_sequence();
        let reading = Reading {
            printer,
            left: command.count.unwrap_or(u64::MAX),
            ends_with_stop: !command.through_restarts,
            run_first: subscriber.run_first(),
            next_start: None,
            is_stopped: false,
            is_region_lost: false,
            counts: Counts { first, last: first - 1, written: 0, lost: 0, gaps: 0, healed: 0 },
            bad_records: 0,
            is_digest_same: None,
            end: None,
            is_strict: command.strict,
            error: None,
        };
        let TapArguments { symbols, through_restarts, fail_on_loss, check_digest, .. } = command;
        let (through_restarts, fails_on_loss) = (*through_restarts, *fail_on_loss);
        let (checks_digest, has_until) = (*check_digest, command.until.is_some());
        // Only people read text; a program reads the rows.
        let waits = (kind == InputKind::Ring && format == TapFormat::Text)
            .then(|| Waits { clock: Clock::monotonic(), next: Deadline::after(Duration::ZERO) });
        Self {
            symbols: symbols.list(),
            kind,
            through_restarts,
            fails_on_loss,
            checks_digest,
            has_until,
            is_of_run: kind == InputKind::Journal
                && !matches!(command.from, Some(TapStart::Start(_))),
            waits,
            subscriber,
            reading,
        }
    }

    /// Reads to the end and completes the output, also after damage.
    pub(super) fn run(mut self) -> anyhow::Result<Status> {
        let mut end = self.follow();
        if end.is_ok()
            && let Some(handover) = self.subscriber.finish_healing()
        {
            _ = self.reading.take(&Event::Healed(handover));
            if let Some((error, _)) = self.reading.error.take() {
                end = Err(error.into());
            }
        }
        let unlisted = end.as_ref().ok().and_then(|end| self.unlisted(*end));
        let missing = match unlisted {
            Some(start) => Some(unlisted_run(self.subscriber.ring(), start)),
            None => end.as_ref().ok().and_then(|end| self.missing(*end)),
        };
        if missing.is_some() && self.reading.is_strict {
            warn(missing.as_deref().unwrap_or_default());
            end = Ok(End::Refused);
        }
        let is_region_lost = self.reading.is_region_lost;
        let Self { symbols, kind, fails_on_loss, checks_digest, mut subscriber, reading, .. } =
            self;
        let Reading { printer, counts, bad_records, is_digest_same, .. } = reading;
        if end.as_ref().is_err_and(is_broken_pipe) {
            // The reader of the output has exited, so the counts are not printed.
            return end.map(|_| Status::Good);
        }
        if end.as_ref().is_ok_and(|end| *end == End::Refused) {
            // The output is dropped, and so its file is removed.
            drop(printer);
            warn(format_args!("{counts}"));
            let name = subscriber.ring().display();
            let line = "refused by --strict: a part is missing or a book is unreliable";
            return Err(BadData(format!("{name}: {line}")).into());
        }
        let left_out = printer.left_out();
        let finished = printer.finish(&subscriber);
        subscriber.written();
        match counts.lost {
            0 => note(format_args!("{counts}")),
            _ => warn(format_args!("{counts}")),
        }
        let end = end?;
        finished?;
        // A day that was not read to its end might have more damage.
        let is_day_bad = match subscriber.finish_day() {
            Some(ended) if end == End::Stopped => conclude_day(&subscriber, ended)? != Status::Good,
            _ => false,
        };
        let ring = subscriber.ring().display();
        if let End::Gone(state) = end {
            let is_silent = kind == InputKind::Dbn && state == WriterState::Closed;
            // It came after the end of the plant.
            let is_late = kind == InputKind::Ring && counts.last < counts.first;
            let hint = if is_late { "; --wait SECONDS waits for the next plant" } else { "" };
            let line = format!("{ring}: {}{hint}", writer_sentence(kind, state));
            match state {
                _ if is_silent => {}
                WriterState::Dead => warn(line),
                _ => note(line),
            }
        }
        if matches!(end, End::Stopped | End::Gone(_)) {
            require_read_symbols(&symbols, &subscriber)?;
        }
        let is_opening_bad = subscriber.opening().is_some_and(|opening| opening.losses > 0);
        let is_loss_bad = fails_on_loss && (counts.gaps > 0 || is_opening_bad);
        if is_loss_bad {
            // `nanotape convert`, which reads no ring, has no such option.
            let option = if kind == InputKind::Ring { " (--fail-on-loss)" } else { "" };
            warn(format_args!("{ring}: records lost: {}{option}", counts.lost));
        }
        if left_out > 0 {
            warn(format_args!(
                "{ring}: {} no place in a DBN file of one kind of record; --notices of nanotape tap \
                 keeps losses",
                if left_out == 1 {
                    "1 loss has".to_owned()
                } else {
                    format!("{left_out} losses have")
                }
            ));
        }
        if let Some(line) = &missing {
            warn(line);
        }
        let is_missing_bad =
            missing.is_some() && (fails_on_loss || is_region_lost || unlisted.is_some());
        let is_digest_bad = checks_digest && !report_digest(&ring.to_string(), is_digest_same);
        let is_dead = end == End::Gone(WriterState::Dead);
        let is_bad = is_dead || is_day_bad || bad_records > 0 || is_loss_bad || is_digest_bad;
        let is_bad = is_bad || left_out > 0 || is_missing_bad;
        Ok(if is_bad { Status::Bad } else { Status::Good })
    }

    fn follow(&mut self) -> anyhow::Result<End> {
        if let Some(opening) = self.subscriber.opening().filter(|opening| !opening.is_whole()) {
            let ring = self.subscriber.ring().display();
            warn(format_args!("{ring}: the snapshot is not whole, {opening}"));
            if self.reading.is_strict {
                return Ok(End::Refused);
            }
        }
        self.report_wait();
        let progress = self.progress();
        loop {
            let step = self.step()?;
            if let (Some(progress), Some(board)) = (&progress, self.subscriber.board()) {
                progress.set(board.input_bytes().0);
            }
            if let Some(end) = self.reading.end {
                return Ok(end);
            }
            match step {
                Step::Idle => {
                    self.reading.printer.flush()?;
                    self.subscriber.written();
                }
                Step::Quiet => self.report_wait(),
                Step::Gone(WriterState::Dead) if self.reading.is_strict => {
                    let ring = self.subscriber.ring().display();
                    warn(format_args!("{ring}: {}", writer_sentence(self.kind, WriterState::Dead)));
                    return Ok(End::Refused);
                }
                Step::Gone(state) if !self.through_restarts => return Ok(End::Gone(state)),
                // A stop was already printed as a record.
                Step::Gone(state) if !self.reading.is_stopped => {
                    let ring = self.subscriber.ring().display();
                    warn(format_args!("{ring}: {}", writer_sentence(self.kind, state)));
                }
                Step::Complete => return Ok(End::Complete),
                Step::Shutdown => return Ok(End::Interrupted),
                _ => {}
            }
        }
    }

    /// The start of a run that the list of runs lacks: the run that was read is not the last one.
    fn unlisted(&self, end: End) -> Option<u64> {
        let (path, next) = (self.subscriber.ring(), self.subscriber.next_sequence());
        let is_next = self.is_of_run && end == End::Stopped && is_start(path, next);
        let start = self.reading.next_start.or(is_next.then_some(next));
        start.filter(|start| self.is_of_run && !Runs::lists(path, *start))
    }

    /// The line about an input that ended before its run did.
    fn missing(&self, end: End) -> Option<String> {
        let (path, next) = (self.subscriber.ring(), self.subscriber.next_sequence());
        let is_over = match end {
            End::Stopped if self.reading.is_region_lost => return Some(region_lost(path)),
            End::Gone(_) => true,
            End::Complete => !self.has_until || Runs::lists(path, next),
            _ => false,
        };
        let is_missing = self.kind == InputKind::Journal && is_over && lacks_stop(path, next);
        is_missing.then(|| no_stop(path, next - 1))
    }

    /// A bar for a day file, which has an end.
    fn progress(&self) -> Option<Progress> {
        let board = self.subscriber.board().filter(|_| self.kind == InputKind::Day)?;
        Some(Progress::with_total(board.input_bytes().1))
    }

    /// Reports what the plant waits for, if nothing comes for some time.
    fn report_wait(&mut self) {
        let Some(waits) = self.waits.as_mut().filter(|waits| waits.next.is_over()) else { return };
        let Some(board) = self.subscriber.board() else { return };
        let now_ns = waits.clock.utc_ns();
        let is_long = |waiting: &Waiting| match waiting {
            Waiting::Message { due_ns, .. } => due_ns.saturating_sub(now_ns) >= LONG_WAIT_NS,
            _ => true,
        };
        let Some(waiting) = board.waiting().filter(is_long) else { return };
        if self.subscriber.writer() != WriterState::Alive {
            return;
        }
        let text = waiting.text(board.run().midnight_ns, now_ns);
        warn(format_args!("{}: the plant is {text}", self.subscriber.ring().display()));
        waits.next = Deadline::after(BETWEEN_WAITS);
    }

    /// Waits for records and writes the selected ones.
    fn step(&mut self) -> anyhow::Result<Step> {
        let Self { subscriber, reading, .. } = self;
        let step = subscriber.step(|event| reading.take(&event));
        reading.counts.last = subscriber.next_sequence() - 1;
        if let Some((error, unwritten)) = reading.error.take() {
            reading.counts.last -= unwritten;
            return Err(error.into());
        }
        // Records before damage are written too.
        reading.printer.write(subscriber)?;
        match step {
            // One record is invalid; the records around it are valid.
            Err(error @ SubscribeError::Record { .. }) => {
                reading.bad_records += 1;
                if reading.bad_records <= BAD_LINES {
                    warn(format_args!("{error}"));
                }
                Ok(Step::Read)
            }
            // A removed or replaced ring has no plant to follow.
            Err(SubscribeError::Region(error)) => {
                Err(BadData(of_region(&error).to_string()).into())
            }
            step => step.map_err(of_subscription),
        }
    }
}

impl Reading {
    #[inline]
    fn take(&mut self, event: &Event<'_>) -> ControlFlow<()> {
        if self.is_strict && is_bad(event) {
            warn(line_of(event).trim_start());
            self.end = Some(End::Refused);
            self.count_loss(event);
            return ControlFlow::Break(());
        }
        match event {
            Event::Record(delivery) => {
                if let Record::Notice(notice) = delivery.record {
                    self.is_digest_same = delivery.is_digest_same.or(self.is_digest_same);
                    self.apply_notice(&notice, delivery.sequence);
                }
                match self.printer.print(event) {
                    Ok(true) => {
                        (self.counts.written, self.left) = (self.counts.written + 1, self.left - 1)
                    }
                    Ok(false) => {}
                    Err(error) => self.error = Some((error, 1)),
                }
                if self.left == 0 {
                    self.end = Some(End::Enough);
                }
            }
            Event::Lost(gap) => {
                self.count_loss(&Event::Lost(*gap));
                self.error = self.printer.print(event).err().map(|error| (error, 0));
            }
            Event::Healed(handover) => {
                self.counts.healed += handover.records;
                self.error = self.printer.print(event).err().map(|error| (error, 0));
            }
            Event::Reported { .. } => {
                self.count_loss(event);
                self.error = self.printer.print(event).err().map(|error| (error, 0));
            }
        }
        let is_over = self.end.is_some() || self.error.is_some();
        if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    #[cold]
    fn count_loss(&mut self, event: &Event<'_>) {
        if let Event::Lost(gap) = event {
            self.counts.lost += gap.count();
        }
        self.counts.gaps += u64::from(matches!(event, Event::Lost(_) | Event::Reported { .. }));
    }

    #[cold]
    fn apply_notice(&mut self, notice: &Notice, sequence: u64) {
        match notice {
            Notice::Start(_) => {
                self.is_stopped = false;
                let is_next = sequence > self.counts.first;
                self.next_start = self.next_start.or(is_next.then_some(sequence));
            }
            Notice::Stop(stop) => {
                self.is_stopped = true;
                self.is_region_lost = stop.reason == StopReason::RegionLost;
                if self.ends_with_stop && sequence >= self.run_first {
                    self.end = Some(End::Stopped);
                }
            }
            _ => {}
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { first, last, written, lost, gaps, healed } = self;
        let read = last + 1 - first - lost;
        write!(
            f,
            "{read} messages read, {written} records written, {lost} lost in {gaps} gaps; last \
             sequence number {last}"
        )?;
        if *healed > 0 {
            write!(f, "; {healed} messages came from the journal")?;
        }
        Ok(())
    }
}

/// Whether an event is a loss, or reports an unreliable book.
#[inline]
fn is_bad(event: &Event<'_>) -> bool {
    match event {
        Event::Lost(_) | Event::Reported { .. } => true,
        Event::Healed(_) => false,
        Event::Record(delivery) => match delivery.record {
            Record::Notice(notice) => matches!(notice, Notice::Gap(_) | Notice::Taint(_)),
            Record::Mbo(order) => order.flags.is_maybe_bad_book(),
            Record::Bbo(bbo) => bbo.flags.is_maybe_bad_book(),
            Record::Trade(trade) => trade.flags.is_maybe_bad_book(),
            _ => false,
        },
    }
}

/// Prints the result of the comparison of digests; returns whether they are the same.
fn report_digest(name: &str, is_same: Option<bool>) -> bool {
    let result = match is_same {
        Some(true) => "the digest of the records is that of the plant",
        Some(false) => "the digest of the records differs from that of the plant",
        None => "the digests were not compared: that needs every record of a run, up to its stop",
    };
    match is_same {
        Some(true) => note(format_args!("{name}: {result}")),
        _ => warn(format_args!("{name}: {result}")),
    }
    is_same == Some(true)
}

/// The state of the writer of the INPUT.
fn writer_sentence(kind: InputKind, state: WriterState) -> &'static str {
    match state {
        _ if kind == InputKind::Dbn => "the file lacks the stop record of the run",
        WriterState::Alive if kind == InputKind::Ring => {
            "another plant took the ring over; use --through-restarts to go on with it"
        }
        _ if kind == InputKind::Journal => recorder_sentence(state),
        _ => state_sentence(state),
    }
}
