//! Sends the lines of a day at its pace.
//!
//! Protocol, for each message: it goes into the history and to the packetiser of each line. Packets
//! that are complete wait for their due time, in the order of both lines together. A message can be
//! read by the servers when no line still holds it back.
//! Without a pace a packet does not wait, and its due time is the time that the transport gets.
//! Bounds: see [`Line`]. One thread sends; nothing but the clock and the transport makes it wait.

use std::{
    collections::VecDeque,
    io,
    net::{Ipv4Addr, SocketAddrV4},
    ops::ControlFlow,
    thread,
    time::Duration,
};

use nanotape_clock::{Clock, Stamp};
use nanotape_feed::{Damage, DaySource, DaySummary, MessageHandler, Position, read_day};
use nanotape_tape::{LongWaits, Pacer, ShutdownFlag};
use nanotape_types::NanosSinceMidnight;
use nanotape_wire::itch50::Message;

use crate::{
    faithfulness::Faithfulness,
    history::{HistoryError, HistoryWriter},
    line::{Line, LineCounts},
    packetiser::Packetiser,
    server::ExchangeError,
    transport::{Departure, Transport},
};

/// Time without sending after which a line sends a heartbeat.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// The longest sleep before the next check for a shutdown or a heartbeat.
const TURN: Duration = Duration::from_millis(20);

/// Messages between two updates of the history while nothing waits.
const PUBLISH_EVERY: u64 = 256;

/// What became of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LineSummary {
    /// Packets and faults.
    pub counts: LineCounts,
    /// Packets that the system refused to send.
    pub send_errors: u64,
    /// The number of the first error.
    pub first_error: Option<i32>,
}

/// A line and where it goes; without a target it keeps the schedule only.
#[derive(Debug)]
pub(crate) struct SendingLine {
    pub(crate) packetiser: Packetiser,
    pub(crate) line: Line,
    pub(crate) target: Option<SocketAddrV4>,
    /// Due times of packets, and the number after each, until they are due.
    announced: VecDeque<(u64, u64)>,
    /// Number of the next message that the line sends.
    next: u64,
    last_sent: Stamp,
    send_errors: u64,
    first_error: Option<i32>,
}

impl SendingLine {
    pub(crate) fn new(
        packetiser: Packetiser,
        line: Line,
        target: Option<SocketAddrV4>,
        now: Stamp,
    ) -> Self {
        let next = packetiser.next();
        let announced = VecDeque::new();
        let (send_errors, first_error) = (0, None);
        Self { packetiser, line, target, announced, next, last_sent: now, send_errors, first_error }
    }

    /// What became of the line; nothing if it goes nowhere.
    pub(crate) fn summary(&self) -> LineSummary {
        if self.target.is_none() {
            return LineSummary::default();
        }
        let (send_errors, first_error) = (self.send_errors, self.first_error);
        LineSummary { counts: self.line.counts(), send_errors, first_error }
    }

    /// Gives a complete packet to the line.
    fn queue(line: &mut Line, announced: &mut VecDeque<(u64, u64)>, packet: crate::Outgoing<'_>) {
        announced.push_back((packet.due_ns, packet.first + u64::from(packet.count)));
        line.packet(packet);
    }

    fn push(&mut self, message: &[u8], time_ns: u64) {
        let Self { packetiser, line, announced, .. } = self;
        packetiser.push(message, time_ns, |packet| Self::queue(line, announced, packet));
    }

    fn skip(&mut self) {
        let Self { packetiser, line, announced, .. } = self;
        packetiser.skip(|packet| Self::queue(line, announced, packet));
        self.next = self.packetiser.next();
    }

    fn flush(&mut self) {
        let Self { packetiser, line, announced, .. } = self;
        packetiser.flush(|packet| Self::queue(line, announced, packet));
    }

    /// Number of the first message of a packet that is not due yet.
    fn first_held_back(&self) -> u64 {
        match self.announced.front() {
            Some(_) => self.next,
            None => self.packetiser.first_unsent(),
        }
    }

    fn count_error(&mut self, error: &io::Error) {
        self.send_errors += 1;
        self.first_error = self.first_error.or(error.raw_os_error());
    }
}

/// The sender of all lines.
#[derive(Debug)]
pub(crate) struct Sender<T> {
    pub(crate) lines: Vec<SendingLine>,
    pub(crate) transport: T,
    /// Where packets come from.
    pub(crate) interface: Ipv4Addr,
    /// The midnight of the day, in nanoseconds since the UNIX epoch. Only a capture needs it.
    pub(crate) midnight_ns: u64,
    /// The messages for servers; `None` without any.
    pub(crate) history: Option<HistoryWriter>,
    pub(crate) clock: Clock,
    pub(crate) pacer: Option<Pacer>,
    pub(crate) from: Option<NanosSinceMidnight>,
    pub(crate) until: Option<NanosSinceMidnight>,
    pub(crate) stop: ShutdownFlag,
    pub(crate) faithfulness: Faithfulness,
    pub(crate) outcome: Outcome,
    /// Receives the lines for an operator, and what it got of them.
    pub(crate) report: fn(&str),
    pub(crate) waits: LongWaits,
}

/// What the sender found besides the lines.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Messages before the first one that was sent.
    pub(crate) skipped: u64,
    /// The last time of a message.
    time_ns: u64,
    /// The first due time of a packet, and the last one.
    first_due_ns: Option<u64>,
    last_due_ns: u64,
    unpublished: u64,
    error: Option<ExchangeError>,
}

impl Outcome {
    /// Time of the day from the first packet to the last one.
    pub(crate) fn recorded_ns(&self) -> u64 {
        self.last_due_ns.saturating_sub(self.first_due_ns.unwrap_or(self.last_due_ns))
    }
}

/// The handler of a day's messages.
#[derive(Debug)]
struct Sending<'a, T, D> {
    sender: &'a mut Sender<T>,
    on_damage: D,
}

impl<T: Transport, D: FnMut(Damage)> MessageHandler for Sending<'_, T, D> {
    fn message(&mut self, position: Position, message: Message<'_>) -> ControlFlow<()> {
        self.sender.message(position, message)
    }

    fn damage(&mut self, damage: Damage) {
        (self.on_damage)(damage);
    }

    fn idle(&mut self) -> ControlFlow<()> {
        self.sender.idle()
    }
}

impl<T: Transport> Sender<T> {
    /// Sends the messages of a day, up to its end or to a requested shutdown. Returns how the
    /// reading ended, and how long the sending took.
    pub(crate) fn day(
        &mut self,
        source: &mut DaySource,
        progress: impl FnMut(&DaySource),
        on_damage: impl FnMut(Damage),
    ) -> Result<(DaySummary, u64), ExchangeError> {
        let began = self.clock.stamp();
        let day = read_day(source, &mut Sending { sender: self, on_damage }, progress)?;
        self.complete()?;
        Ok((day, self.clock.nanos_between(began, self.clock.stamp())))
    }

    /// Messages of the session so far.
    pub(crate) fn messages(&self) -> u64 {
        self.lines.first().map_or(0, |line| line.packetiser.next() - 1)
    }

    fn message(&mut self, position: Position, message: Message<'_>) -> ControlFlow<()> {
        let time = message.timestamp().map_or(self.outcome.time_ns, NanosSinceMidnight::get);
        if self.stop.is_requested() || self.until.is_some_and(|until| time >= until.get()) {
            return ControlFlow::Break(());
        }
        match self.one(position, message.as_bytes(), time) {
            Ok(flow) => flow,
            Err(error) => {
                self.outcome.error = Some(error.into());
                ControlFlow::Break(())
            }
        }
    }

    /// A pipe is silent: what is complete is sent.
    fn idle(&mut self) -> ControlFlow<()> {
        if self.stop.is_requested() {
            return ControlFlow::Break(());
        }
        self.lines.iter_mut().for_each(SendingLine::flush);
        let flow = self.send_until(u64::MAX);
        if let Err(error) = self.publish() {
            self.outcome.error = Some(error.into());
            return ControlFlow::Break(());
        }
        self.keep_alive(false);
        flow
    }

    fn one(
        &mut self,
        position: Position,
        message: &[u8],
        time_ns: u64,
    ) -> Result<ControlFlow<()>, HistoryError> {
        if let Some(history) = &mut self.history {
            history.push(position.offset, message)?;
        }
        self.outcome.time_ns = self.outcome.time_ns.max(time_ns);
        if self.from.is_some_and(|from| time_ns < from.get()) {
            self.lines.iter_mut().for_each(SendingLine::skip);
            self.outcome.skipped += 1;
            self.publish_now_and_then()?;
            return Ok(ControlFlow::Continue(()));
        }
        // From the first message on that is sent, all are.
        self.from = None;
        if let Some(pacer) = &mut self.pacer {
            pacer.begin_at(time_ns, &self.clock);
        }
        self.lines.iter_mut().for_each(|line| line.push(message, time_ns));
        let flow = self.send_until(self.outcome.time_ns);
        self.publish_now_and_then()?;
        Ok(flow)
    }

    /// Sends what is due up to this time of the exchange, each packet at its own time.
    fn send_until(&mut self, limit_ns: u64) -> ControlFlow<()> {
        loop {
            let next = self.lines.iter().enumerate().filter_map(|(index, sending)| {
                // A lost packet is announced too, and the history waits for its time.
                let announced = sending.announced.front().map(|&(due_ns, _)| due_ns);
                let due = sending.line.next_due().into_iter().chain(announced).min()?;
                Some((due, index))
            });
            let Some((due_ns, index)) = next.min().filter(|&(due_ns, _)| due_ns <= limit_ns) else {
                return ControlFlow::Continue(());
            };
            self.wait_until(due_ns)?;
            self.outcome.first_due_ns.get_or_insert(due_ns);
            self.outcome.last_due_ns = self.outcome.last_due_ns.max(due_ns);
            let sending = &mut self.lines[index];
            while let Some(&(at_ns, next)) = sending.announced.front()
                && at_ns <= due_ns
            {
                sending.announced.pop_front();
                sending.next = next;
            }
            while let Some((due_ns, bytes)) = self.lines[index].line.take(due_ns) {
                self.send(index, due_ns, &bytes);
                self.lines[index].line.recycle(bytes);
                let is_sent = self.lines[index].target.is_some();
                if let Some(pacer) = self.pacer.filter(|_| is_sent) {
                    self.faithfulness.record(pacer.late_ns(due_ns, &self.clock));
                }
            }
            if self.outcome.error.is_some() {
                return ControlFlow::Break(());
            }
        }
    }

    /// Passes a packet to the transport.
    fn send(&mut self, line: usize, due_ns: u64, payload: &[u8]) {
        let sending = &mut self.lines[line];
        sending.last_sent = self.clock.stamp();
        let Some(destination) = sending.target else { return };
        let source = SocketAddrV4::new(self.interface, destination.port());
        let ts_ns = self.midnight_ns.saturating_add(due_ns);
        let departure = Departure { ts_ns, source, destination, vlans: &[], payload };
        match self.transport.send(departure) {
            Ok(()) => {}
            Err(error) if T::IS_LIVE => sending.count_error(&error),
            Err(error) => self.outcome.error = Some(ExchangeError::Capture(error)),
        }
    }

    /// Waits until the pace allows this time of the exchange. `Break` if a shutdown was requested.
    fn wait_until(&mut self, due_ns: u64) -> ControlFlow<()> {
        let Some(pacer) = self.pacer else { return ControlFlow::Continue(()) };
        let (clock, stop, mut is_begun) = (self.clock, self.stop.clone(), false);
        wait_until(&pacer, &clock, due_ns, &stop, |early| {
            if !is_begun {
                is_begun = true;
                if self.waits.begins(early, &clock) {
                    (self.report)(&LongWaits::text(due_ns, "exchange", early));
                }
                if let Err(error) = self.publish() {
                    self.outcome.error = Some(error.into());
                    return ControlFlow::Break(());
                }
            }
            self.keep_alive(false);
            ControlFlow::Continue(())
        })
    }

    fn publish_now_and_then(&mut self) -> Result<(), HistoryError> {
        self.outcome.unpublished += 1;
        if self.outcome.unpublished < PUBLISH_EVERY {
            return Ok(());
        }
        self.publish()
    }

    /// Lets the servers have every message that no line holds back.
    fn publish(&mut self) -> Result<(), HistoryError> {
        self.outcome.unpublished = 0;
        let next = self.lines.iter().map(SendingLine::first_held_back).min();
        self.history.as_mut().map_or(Ok(()), |history| history.publish(next.unwrap_or(u64::MAX)))
    }

    /// Sends a heartbeat, or an end of session, on each line that has been idle for a second.
    fn keep_alive(&mut self, is_over: bool) {
        let now = self.clock.stamp();
        let recorded = self.pacer.and_then(|pacer| pacer.recorded_now(&self.clock));
        let time_ns = recorded.unwrap_or(self.outcome.time_ns);
        let heartbeat_ns = HEARTBEAT.as_nanos() as u64;
        for line in 0..self.lines.len() {
            if self.clock.nanos_between(self.lines[line].last_sent, now) >= heartbeat_ns {
                self.send_idle(line, time_ns, is_over);
            }
        }
    }

    fn send_idle(&mut self, line: usize, time_ns: u64, is_over: bool) {
        let sending = &mut self.lines[line];
        let packet = if is_over {
            sending.packetiser.end_of_session()
        } else {
            sending.packetiser.heartbeat(sending.next)
        };
        match sending.line.idle_packet(time_ns, packet) {
            Some(packet) => self.send(line, time_ns, &packet),
            None => sending.last_sent = self.clock.stamp(),
        }
    }

    /// Sends heartbeats for this time, before the first message.
    pub(crate) fn stay_idle(&mut self, time: Duration) {
        self.idle_for(time, false);
    }

    /// Sends what is left of the day, and lets the servers have all of it.
    fn complete(&mut self) -> Result<(), ExchangeError> {
        self.require_no_error()?;
        self.lines.iter_mut().for_each(SendingLine::flush);
        let is_stopped = self.stop.is_requested() || self.send_until(u64::MAX).is_break();
        self.require_no_error()?;
        if let Some(history) = &mut self.history {
            history.finish(!is_stopped)?;
        }
        Ok(())
    }

    fn require_no_error(&mut self) -> Result<(), ExchangeError> {
        self.outcome.error.take().map_or(Ok(()), Err)
    }

    /// Sends the end of the session, again every second of `time`. A requested shutdown ends the
    /// lines without it, as a crash would.
    pub(crate) fn linger(&mut self, time: Duration) -> Result<(), ExchangeError> {
        if self.stop.is_requested() {
            return Ok(());
        }
        let time_ns = self.outcome.time_ns.max(self.outcome.last_due_ns);
        for line in 0..self.lines.len() {
            self.send_idle(line, time_ns, true);
        }
        self.idle_for(time, true);
        self.require_no_error()
    }

    fn idle_for(&mut self, time: Duration, is_over: bool) {
        let began = self.clock.stamp();
        let whole_ns = time.as_nanos();
        loop {
            let passed = u128::from(self.clock.nanos_between(began, self.clock.stamp()));
            let left_ns = whole_ns.saturating_sub(passed);
            if left_ns == 0 || self.stop.is_requested() {
                return;
            }
            self.keep_alive(is_over);
            thread::sleep(TURN.min(Duration::from_nanos(left_ns as u64)));
        }
    }
}

/// Waits until the pace allows a recorded time. Calls `idle` with the time that is left before each
/// sleep. `Break` if a shutdown was requested, or if `idle` ends the wait.
pub(crate) fn wait_until(
    pacer: &Pacer,
    clock: &Clock,
    due_ns: u64,
    stop: &ShutdownFlag,
    mut idle: impl FnMut(Duration) -> ControlFlow<()>,
) -> ControlFlow<()> {
    while let Some(early) = pacer.early(due_ns, clock) {
        if stop.is_requested() {
            return ControlFlow::Break(());
        }
        if early <= Pacer::SPIN {
            core::hint::spin_loop();
            continue;
        }
        idle(early)?;
        thread::sleep((early - Pacer::SPIN).min(TURN));
    }
    ControlFlow::Continue(())
}
