//! Replays of recordings: a day as lines without servers, or the datagrams of a capture.
//!
//! Protocol: a day goes through the same lines as that of an exchange. The datagrams of a capture
//! leave as they are, at the differences of their capture times, to the destinations in the capture
//! or to others. A transport that is not live gets everything without waiting, with its time. A
//! [longest wait](CaptureOptions::longest_wait) bounds what one wrong time can cost.
//! Bounds: nothing of a capture is kept but the block that is read.
//! Failure: damage is reported to the caller, and reading goes on where the next record is certain.

mod schedule;

use std::{
    net::{Ipv4Addr, SocketAddrV4},
    ops::ControlFlow,
    time::Duration,
};

use nanotape_clock::{Clock, Stamp};
use nanotape_feed::{
    Damage, DaySource, SourceError,
    capture::{CaptureChoice, Destinations, Group, Item, SessionName, read_items},
};
use nanotape_tape::{LongWaits, Pacer, ShutdownFlag};
use nanotape_types::NanosSinceMidnight;
pub use nanotape_wire::capture::{CaptureDamage, SkipReason};
use nanotape_wire::{
    capture::{CapturedPacket, Datagram, datagram},
    framing::{iextp::IexTp, moldudp64::MoldUdp64, numbered::PacketFraming},
};
use schedule::Schedule;

use crate::{
    faithfulness::Faithfulness,
    sender::wait_until,
    server::{self, ExchangeError, ExchangeOptions, ExchangeSummary, PATIENCE},
    transport::{Departure, Transport},
};

/// Sends the lines of a day to a transport, without servers. `midnight_ns` is the midnight of the
/// day in nanoseconds since the UNIX epoch, for the times of a capture. `stop` ends the sending
/// early. Calls `progress` once per block, and `on_damage` for bytes that do not follow the format.
pub fn replay_day<T: Transport>(
    options: &ExchangeOptions,
    (transport, midnight_ns): (T, u64),
    stop: ShutdownFlag,
    source: &mut DaySource,
    progress: impl FnMut(&DaySource),
    on_damage: impl FnMut(Damage),
) -> Result<ExchangeSummary, ExchangeError> {
    let mut sender = server::sender(options, transport, stop);
    sender.midnight_ns = midnight_ns;
    if T::IS_LIVE {
        source.set_patience(PATIENCE);
    } else {
        // A silent pipe must not change where packets end.
        sender.pacer = None;
    }
    let (day, sending_ns) = sender.day(source, progress, on_damage)?;
    sender.linger(options.linger)?;
    Ok(server::summary(sender, day, sending_ns))
}

/// What of a capture is sent, and where.
#[derive(Clone, Copy, Debug)]
pub struct CaptureOptions {
    /// The pace in thousandths of the recorded one; 0 is unlimited.
    pub pace_milli: u32,
    /// Where datagrams to the first and to the second destination in the capture go instead.
    pub lines: [Option<SocketAddrV4>; 2],
    /// Packets before this time of the first packet's day are not sent.
    pub from: Option<NanosSinceMidnight>,
    /// The sending ends before the first packet of this time or later.
    pub until: Option<NanosSinceMidnight>,
    /// Packets before this time of the first packet's day are not paced.
    pub pace_from: Option<NanosSinceMidnight>,
    /// The midnight of the day of a time, both in nanoseconds since the UNIX epoch.
    pub midnight_of: fn(u64) -> u64,
    /// Receives lines for an operator: until when nothing is sent.
    pub report: fn(&str),
    /// The longest wait for one packet; what was recorded above it is left out.
    pub longest_wait: Option<Duration>,
}

/// The datagrams to one destination, or to several.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DestinationSummary {
    /// The destination in the capture; `None` for several.
    pub captured: Option<SocketAddrV4>,
    /// Where the datagrams went; `None` for several.
    pub target: Option<SocketAddrV4>,
    /// Datagrams that were sent.
    pub packets: u64,
    /// Their messages, if they are packets of MoldUDP64 or IEX-TP.
    pub messages: u64,
    /// The bytes of their payloads.
    pub bytes: u64,
    /// Datagrams of other protocols, and malformed ones.
    pub not_numbered: u64,
    /// Datagrams that the system refused to send.
    pub send_errors: u64,
    /// The number of the first error.
    pub first_error: Option<i32>,
}

/// What was sent of a capture.
#[derive(Debug, Default)]
pub struct CaptureSummary {
    /// Packets that were read.
    pub packets: u64,
    /// Packets before [`CaptureOptions::from`].
    pub before: u64,
    /// Packets without a complete datagram, by [`SkipReason`].
    pub skipped: [u64; SkipReason::ALL.len()],
    /// The chosen groups without a datagram.
    pub absent: Vec<Group>,
    /// The chosen session, if no datagram has it.
    pub absent_session: Option<SessionName>,
    /// Datagrams that are not of the chosen groups or of the chosen session: they are not sent.
    pub others: Destinations,
    /// Datagrams to another machine, or to all machines: they are not sent to a network.
    pub withheld: u64,
    /// The destination of the first one.
    pub first_withheld: Option<SocketAddrV4>,
    /// Datagrams without a time: they leave with the one before.
    pub without_time: u64,
    /// Datagrams with an earlier time than one before them: they leave at once.
    pub out_of_order: u64,
    /// Waits that were longer than [`CaptureOptions::longest_wait`].
    pub shortened_waits: u64,
    /// The first destination, the second, and all others.
    pub destinations: [DestinationSummary; 3],
    /// The time between the first datagram and the last one, as recorded.
    pub recorded_ns: u64,
    /// The time between the first datagram and the last one, as sent.
    pub sending_ns: u64,
    /// The lateness of datagrams; without datagrams if there is no schedule.
    pub faithfulness: Faithfulness,
    /// The damage that ended the reading.
    pub end: Option<CaptureDamage>,
    /// Why the source ended early.
    pub fault: Option<SourceError>,
}

/// Sends the datagrams of a capture to a transport. `stop` ends the sending early. Calls `progress`
/// once per block, and `on_damage` for damage after which reading continues.
pub fn replay_capture<T: Transport>(
    options: CaptureOptions,
    transport: T,
    stop: ShutdownFlag,
    source: &mut DaySource,
    progress: impl FnMut(&DaySource),
    mut on_damage: impl FnMut(CaptureDamage),
) -> Result<CaptureSummary, ExchangeError> {
    source.set_patience(PATIENCE);
    let mut replay = CaptureReplay::new(options, transport, stop);
    source.choice().clone_into(&mut replay.choice);
    replay.choice.groups.clone_into(&mut replay.summary.absent);
    replay.summary.absent_session = replay.choice.session;
    let mut end = None;
    read_items(source, progress, |item| {
        match item {
            Item::Packet(packet) => return replay.packet(&packet),
            Item::Damage(damage) => on_damage(damage),
            Item::End(damage) => end = damage,
            Item::Idle => {}
        }
        let is_over = replay.stop.is_requested();
        Ok::<_, ExchangeError>(if is_over {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    })?;
    let mut summary = replay.summary;
    (summary.end, summary.fault) = (end, source.fault());
    Ok(summary)
}

/// The datagrams of a capture on their way to a transport.
struct CaptureReplay<T> {
    options: CaptureOptions,
    choice: CaptureChoice,
    transport: T,
    stop: ShutdownFlag,
    clock: Clock,
    pacer: Option<Pacer>,
    waits: LongWaits,
    /// The time that [`CaptureOptions::pace_from`] has in this capture.
    pace_from_ns: Option<u64>,
    /// The times that [`CaptureOptions::from`] and [`CaptureOptions::until`] have in this capture.
    span_ns: Option<(u64, u64)>,
    is_begun: bool,
    /// The first time of the datagrams, and the latest one.
    first_ns: u64,
    last_ns: u64,
    schedule: Schedule,
    /// When the current datagram is due.
    due_ns: u64,
    began: Stamp,
    summary: CaptureSummary,
}

impl<T: Transport> CaptureReplay<T> {
    fn new(options: CaptureOptions, transport: T, stop: ShutdownFlag) -> Self {
        let clock = Clock::calibrate();
        let longest_ns = options.longest_wait.filter(|_| T::IS_LIVE).map_or(u64::MAX, |longest| {
            let recorded = longest.as_nanos() * u128::from(options.pace_milli) / 1_000;
            u64::try_from(recorded).unwrap_or(u64::MAX)
        });
        Self {
            schedule: Schedule::new(longest_ns),
            due_ns: 0,
            options,
            choice: CaptureChoice::default(),
            transport,
            stop,
            clock,
            pacer: Pacer::new(options.pace_milli, 0).filter(|_| T::IS_LIVE),
            waits: LongWaits::default(),
            pace_from_ns: None,
            span_ns: None,
            is_begun: false,
            first_ns: 0,
            last_ns: 0,
            began: clock.stamp(),
            summary: CaptureSummary::default(),
        }
    }

    /// Sends the datagram of a packet. `Break` ends the reading.
    fn packet(&mut self, packet: &CapturedPacket<'_>) -> Result<ControlFlow<()>, ExchangeError> {
        let ts_ns = packet.ts_ns.unwrap_or(self.last_ns);
        let (from_ns, until_ns) = self.span_of(ts_ns);
        if ts_ns >= until_ns || self.stop.is_requested() {
            return Ok(ControlFlow::Break(()));
        }
        self.summary.packets += 1;
        // From the first packet on that is in time, all are sent.
        if !self.is_begun && ts_ns < from_ns {
            self.summary.before += 1;
            return Ok(ControlFlow::Continue(()));
        }
        let datagram = match datagram(packet.link_type, packet.bytes) {
            Ok(datagram) => datagram,
            Err(reason) => {
                self.summary.skipped[reason as usize] += 1;
                return Ok(ControlFlow::Continue(()));
            }
        };
        if !self.choice.has(datagram.destination, datagram.payload) {
            self.summary.others.count(datagram.destination);
            return Ok(ControlFlow::Continue(()));
        }
        self.summary.absent.retain(|group| !group.contains(datagram.destination));
        self.summary.absent_session = None;
        let (index, target) = self.target_of(datagram.destination);
        let is_chosen = self.options.lines.get(index).is_some_and(Option::is_some);
        if T::IS_LIVE && !is_chosen && !stays_near(*target.ip()) {
            self.summary.withheld += 1;
            self.summary.first_withheld.get_or_insert(target);
            return Ok(ControlFlow::Continue(()));
        }
        if self.wait(packet.ts_ns, ts_ns).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        self.send(index, target, ts_ns, &datagram)?;
        Ok(ControlFlow::Continue(()))
    }

    /// The span of time that is sent: the first time that is known decides the day.
    fn span_of(&mut self, ts_ns: u64) -> (u64, u64) {
        let CaptureOptions { from, until, midnight_of, .. } = self.options;
        if from.is_none() && until.is_none() {
            return (0, u64::MAX);
        }
        *self.span_ns.get_or_insert_with(|| {
            let midnight_ns = midnight_of(ts_ns);
            let at = |time: NanosSinceMidnight| midnight_ns.saturating_add(time.get());
            (from.map_or(0, at), until.map_or(u64::MAX, at))
        })
    }

    /// The index and the target of a destination in the capture.
    fn target_of(&mut self, captured: SocketAddrV4) -> (usize, SocketAddrV4) {
        let [first, second, _] = &mut self.summary.destinations;
        for (index, destination) in [first, second].into_iter().enumerate() {
            let is_new = destination.captured.is_none();
            if is_new || destination.captured == Some(captured) {
                let target = self.options.lines[index].unwrap_or(captured);
                (destination.captured, destination.target) = (Some(captured), Some(target));
                return (index, target);
            }
        }
        (2, captured)
    }

    /// Waits for the time of a datagram on the schedule.
    fn wait(&mut self, recorded: Option<u64>, ts_ns: u64) -> ControlFlow<()> {
        self.summary.without_time += u64::from(recorded.is_none());
        if !self.is_begun {
            (self.is_begun, self.first_ns, self.last_ns) = (true, ts_ns, ts_ns);
            self.began = self.clock.stamp();
        }
        self.summary.out_of_order += u64::from(ts_ns < self.last_ns);
        self.last_ns = self.last_ns.max(ts_ns);
        let (due_ns, is_shortened) = self.schedule.due(ts_ns);
        self.due_ns = due_ns;
        let CaptureOptions { midnight_of, pace_from, report, .. } = self.options;
        let Some(pacer) = &mut self.pacer else { return ControlFlow::Continue(()) };
        self.summary.shortened_waits += u64::from(is_shortened);
        let pace_from_ns = *self.pace_from_ns.get_or_insert_with(|| {
            pace_from.map_or(0, |from| midnight_of(ts_ns).saturating_add(from.get()))
        });
        if self.last_ns >= pace_from_ns {
            pacer.begin_at(due_ns, &self.clock);
        }
        let (waits, clock, last_ns, mut is_begun) =
            (&mut self.waits, &self.clock, self.last_ns, false);
        wait_until(pacer, clock, due_ns, &self.stop, |early| {
            if !std::mem::replace(&mut is_begun, true) && waits.begins(early, clock) {
                let time_of_day_ns = last_ns.saturating_sub(midnight_of(last_ns));
                report(&LongWaits::text(time_of_day_ns, "capture", early));
            }
            ControlFlow::Continue(())
        })
    }

    fn send(
        &mut self,
        index: usize,
        destination: SocketAddrV4,
        ts_ns: u64,
        datagram: &Datagram<'_>,
    ) -> Result<(), ExchangeError> {
        let Datagram { source, payload, .. } = *datagram;
        let vlans = datagram.vlans.as_slice();
        let departure = Departure { ts_ns, source, destination, vlans, payload };
        let sent = self.transport.send(departure);
        if let Some(pacer) = &self.pacer {
            self.summary.faithfulness.record(pacer.late_ns(self.due_ns, &self.clock));
        }
        self.summary.recorded_ns = self.last_ns - self.first_ns;
        self.summary.sending_ns = self.clock.nanos_between(self.began, self.clock.stamp());
        let counts = &mut self.summary.destinations[index];
        match sent {
            Ok(()) => {}
            Err(error) if T::IS_LIVE => {
                counts.send_errors += 1;
                counts.first_error = counts.first_error.or(error.raw_os_error());
                return Ok(());
            }
            Err(error) => return Err(ExchangeError::Capture(error)),
        }
        counts.packets += 1;
        counts.bytes += payload.len() as u64;
        match messages_of(payload) {
            Some(messages) => counts.messages += u64::from(messages),
            None => counts.not_numbered += 1,
        }
        Ok(())
    }
}

/// Whether a datagram of a capture can be sent to its destination: a group, or this machine. What
/// was sent to one machine when the capture was taken must not reach that machine again.
fn stays_near(address: Ipv4Addr) -> bool {
    address.is_multicast() || address.is_loopback()
}

/// The messages of a packet that numbers them.
fn messages_of(payload: &[u8]) -> Option<u16> {
    // A packet of IEX-TP begins with bytes that no session of MoldUDP64 has.
    let segment = IexTp::decode(payload).map(|segment| segment.count);
    segment.or_else(|_| MoldUdp64::decode(payload).map(|packet| packet.count)).ok()
}
