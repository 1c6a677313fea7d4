//! Sends the lines of a day at its pace.
//!
//! Protocol, for each message: it goes into the history and to the packetiser of each line. Packets
//! that are complete wait for their due time, in the order of both lines together. A message can be
//! read by the servers when no line still holds it back.
//! Without a pace a packet does not wait, and its due time is the time that the transport gets.
//! Bounds: see [`Line`](crate::Line). One thread sends; only the clock and the transport make it
//! wait.

mod sending_line;

use std::{
    net::{Ipv4Addr, SocketAddrV4},
    ops::ControlFlow,
    thread,
    time::Duration,
};

use nanotape_clock::Clock;
use nanotape_feed::{Damage, DaySource, DaySummary, MessageHandler, Position, read_day};
use nanotape_tape::{LongWaits, Pacer, ShutdownFlag};
use nanotape_types::NanosSinceMidnight;
use nanotape_wire::itch50::Message;

use crate::{
    faithfulness::Faithfulness,
    history::{HistoryError, HistoryWriter},
    server::ExchangeError,
    transport::{Departure, Transport},
};

pub use sending_line::LineSummary;
pub(crate) use sending_line::SendingLine;

/// Time without sending after which a line sends a heartbeat.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// The longest sleep before the next check for a shutdown or a heartbeat.
const TURN: Duration = Duration::from_millis(20);

/// Messages between two updates of the history while nothing waits.
const PUBLISH_EVERY: u64 = 256;

/// Lines of a stream: they carry the same messages under the same numbers.
pub(crate) const LINES: usize = 2;

/// The sender of all lines.
#[derive(Debug)]
pub(crate) struct Sender<T> {
    /// Line A and line B of each stream.
    pub(crate) lines: Vec<SendingLine>,
    pub(crate) transport: T,
    /// Where packets come from.
    pub(crate) interface: Ipv4Addr,
    /// The midnight of the day, in nanoseconds since the UNIX epoch. Only a capture needs it.
    pub(crate) midnight_ns: u64,
    /// The messages for servers, of each stream; empty without servers.
    pub(crate) histories: Vec<HistoryWriter>,
    /// From this time on, the numbers begin again with 1.
    pub(crate) restart: Option<NanosSinceMidnight>,
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
    /// Messages of all streams.
    pub(crate) messages: u64,
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

    fn message(&mut self, position: Position, message: Message<'_>) -> ControlFlow<()> {
        let time = message.timestamp().map_or(self.outcome.time_ns, NanosSinceMidnight::get);
        if self.stop.is_requested() || self.until.is_some_and(|until| time >= until.get()) {
            return ControlFlow::Break(());
        }
        self.message_of(0, position.offset, message.as_bytes(), time)
    }

    /// Sends a message of a stream, which is at `offset` of the day. `Break` ends the sending.
    pub(crate) fn message_of(
        &mut self,
        stream: usize,
        offset: u64,
        message: &[u8],
        time_ns: u64,
    ) -> ControlFlow<()> {
        self.one(stream, offset, message, time_ns).unwrap_or_else(|error| {
            self.outcome.error = Some(error.into());
            ControlFlow::Break(())
        })
    }

    /// A pipe is silent: what is complete is sent.
    pub(crate) fn idle(&mut self) -> ControlFlow<()> {
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
        stream: usize,
        offset: u64,
        message: &[u8],
        time_ns: u64,
    ) -> Result<ControlFlow<()>, HistoryError> {
        if let Some(history) = self.histories.get_mut(stream) {
            history.push(offset, message)?;
        }
        let of_stream = stream * LINES..(stream + 1) * LINES;
        self.outcome.messages += 1;
        self.outcome.time_ns = self.outcome.time_ns.max(time_ns);
        if self.from.is_some_and(|from| time_ns < from.get()) {
            self.lines[of_stream].iter_mut().for_each(|line| line.skip(message));
            self.outcome.skipped += 1;
            self.publish_now_and_then()?;
            return Ok(ControlFlow::Continue(()));
        }
        // From the first message on that is sent, all are.
        self.from = None;
        if let Some(pacer) = &mut self.pacer {
            pacer.begin_at(time_ns, &self.clock);
        }
        if self.restart.take_if(|restart| restart.get() <= time_ns).is_some() {
            self.lines.iter_mut().for_each(SendingLine::restart);
        }
        self.lines[of_stream].iter_mut().for_each(|line| line.push(message, time_ns));
        let flow = self.send_until(self.outcome.time_ns);
        self.publish_now_and_then()?;
        Ok(flow)
    }

    /// Sends what is due up to this time of the exchange, each packet at its own time.
    fn send_until(&mut self, limit_ns: u64) -> ControlFlow<()> {
        loop {
            let next = self.lines.iter().enumerate().filter_map(|(index, sending)| {
                // A lost packet is announced too, and the history waits for its time.
                let announced = sending.announced.front().map(|packet| packet.due_ns);
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
            while let Some(packet) =
                sending.announced.pop_front_if(|packet| packet.due_ns <= due_ns)
            {
                (sending.next, sending.stream_offset) = (packet.next, packet.stream_offset);
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
        for (history, lines) in self.histories.iter_mut().zip(self.lines.chunks(LINES)) {
            let next = lines.iter().map(SendingLine::first_held_back).min();
            history.publish(next.unwrap_or(u64::MAX))?;
        }
        Ok(())
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
        let end = sending.packetiser.end_of_session().filter(|_| is_over);
        let packet = end.unwrap_or_else(|| {
            sending.packetiser.heartbeat(sending.next, sending.stream_offset, time_ns)
        });
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
    pub(crate) fn complete(&mut self) -> Result<(), ExchangeError> {
        self.require_no_error()?;
        self.lines.iter_mut().for_each(SendingLine::flush);
        let is_stopped = self.stop.is_requested() || self.send_until(u64::MAX).is_break();
        self.require_no_error()?;
        self.histories.iter_mut().try_for_each(|history| history.finish(!is_stopped))?;
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
