//! A day's packets handed to a plant one by one, with the spacing of the day's bursts.
//!
//! Where: the source of a plant, in place of sockets: [`NasdaqReceiver`], [`Delivery`] and engine
//! are connected as in `nanotape run --live`.
//! Protocol: a packet is due when it arrives in exchange time. Longer pauses than [`MOST_IDLE_NS`]
//! are shortened to it. A packet is copied into a receive buffer, as the kernel does, and is then
//! timed from its bytes to the records of its last message. If the packet before it takes longer,
//! it waits, and only the time since it was due includes that.
//! Cost: two fenced stamps a packet, which are in every time.

use core::{hint, ops::ControlFlow};

use nanotape_clock::{Clock, Stamp, Timeline};
use nanotape_feed::{
    DaySource, SourceError, handle_messages,
    session::{NasdaqReceiver, SessionSettings},
};
use nanotape_live::Delivery;
use nanotape_market::{EventHandler, EventSource};
use nanotape_trace::Histogram;
use nanotape_wire::framing::{moldudp64::MoldUdp64, numbered::PacketFraming as _};
use serde::{Deserialize, Serialize};

use super::{
    super::{Day, publish, reading::DayReading},
    Feed,
    packets::{MOST_BYTES, Packet, Packets, Shape, for_each_batch},
};
use crate::{
    engine::{Reading, Times, Worker, Written, sample::Sample},
    error::Error,
};

/// The longest pause between two packets.
pub(super) const MOST_IDLE_NS: u64 = 5_000;

/// The smallest numbers of new messages of the packets that are counted together.
pub(super) const SIZES: [u64; 6] = [1, 2, 3, 5, 9, 17];

/// Packets with about the same number of new messages.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Size {
    /// The smallest number of new messages.
    pub(super) from: u64,
    pub(super) packets: u64,
    pub(super) messages: u64,
    pub(super) times: Times,
}

/// Which packets a plant gets, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Packed {
    pub(super) lines: usize,
    pub(super) shape: Shape,
    /// Whether a receiver puts them in order. Otherwise they are decoded only.
    pub(super) is_sequenced: bool,
}

/// Runs a plant on the packets of the day.
pub(super) fn publish(
    worker: &mut Worker<Feed>,
    day: &Day,
    packed: Packed,
) -> Result<Reading, Error> {
    let mut run = publish::open(worker)?;
    worker.begin(&[])?;
    let mut bursts = Bursts::new(day.open()?, worker.clock, packed);
    let report = run.read(&mut bursts)?;
    let messages = run.end().messages;
    if let Some(first) = report.damage.first().first() {
        return Err(Error::found(worker.row.name, first));
    }
    let day = DayReading { answer: publish::answer(&run, messages), ..DayReading::default() };
    let records = run.next_sequence() - run.first_sequence();
    Ok(Reading {
        written: Written { messages: records, nanos: 0 },
        day,
        times: Some(bursts.times()),
        detail: serde_json::to_value(bursts.sizes()).unwrap_or_default(),
        ..Reading::default()
    })
}

/// The packets of a day with their spacing.
struct Bursts {
    source: DaySource,
    clock: Clock,
    packed: Packed,
    timing: Timing,
}

/// The times of packets with new messages.
struct Timing {
    /// Since the bytes were handed over.
    packets: Sample,
    /// Since the packet was due.
    due: Histogram,
    /// For each of [`SIZES`].
    sizes: [(u64, Histogram); SIZES.len()],
}

impl Bursts {
    fn new(source: DaySource, clock: Clock, packed: Packed) -> Self {
        let sizes = core::array::from_fn(|_| (0, Histogram::fine()));
        let timing = Timing { packets: Sample::new(), due: Histogram::fine(), sizes };
        Self { source, clock, packed, timing }
    }

    fn times(&self) -> Times {
        let Timing { packets, due, .. } = &self.timing;
        Times {
            due_p50_ns: due.quantile(0.5),
            due_p99_ns: due.quantile(0.99),
            ..packets.times(self.clock)
        }
    }

    fn sizes(&self) -> Vec<Size> {
        let sizes = SIZES.into_iter().zip(&self.timing.sizes);
        let size = |(from, (messages, nanos)): (u64, &(u64, Histogram))| Size {
            from,
            packets: nanos.count(),
            messages: *messages,
            times: Times::of(nanos, &self.clock),
        };
        sizes.map(size).collect()
    }

    /// Hands over all packets. `hand_over` gets a packet and the time, and returns the number of
    /// its new messages; `None` ends the day.
    fn play(
        &mut self,
        mut hand_over: impl FnMut(Packet<'_>, u64) -> Option<u64>,
    ) -> Result<(), SourceError> {
        let Self { source, clock, packed, timing } = self;
        let mut timeline = Timeline::new(*clock);
        for_each_batch(source, (packed.lines, packed.shape), |batch| {
            play_batch(batch, *clock, &mut timeline, timing, &mut hand_over)
        })
    }
}

fn play_batch(
    batch: &Packets,
    clock: Clock,
    timeline: &mut Timeline,
    timing: &mut Timing,
    hand_over: &mut impl FnMut(Packet<'_>, u64) -> Option<u64>,
) -> ControlFlow<()> {
    let ticks_per_ns = clock.rate().ticks_per_second / 1e9;
    let mut buffer = [0; MOST_BYTES];
    let mut arrived_ns = batch.iter().next().map_or(0, |packet| packet.arrives_ns);
    let (begin, mut due_ns) = (clock.stamp().ticks(), MOST_IDLE_NS);
    for packet in batch.iter() {
        due_ns += (packet.arrives_ns - arrived_ns).min(MOST_IDLE_NS);
        arrived_ns = packet.arrives_ns;
        let received = &mut buffer[..packet.bytes.len()];
        received.copy_from_slice(packet.bytes);
        let due = Stamp::from_ticks(begin + (due_ns as f64 * ticks_per_ns) as u64);
        while clock.stamp_unfenced() < due {
            hint::spin_loop();
        }
        let now_ns = timeline.now_ns();
        let bytes: &[u8] = hint::black_box(received);
        let began = clock.stamp_start();
        let handled = hand_over(Packet { bytes, ..packet }, now_ns);
        let ended = clock.stamp();
        match handled {
            None => return ControlFlow::Break(()),
            // All of its messages were known.
            Some(0) => {}
            Some(messages) => timing.add(&clock, (due, began, ended), messages),
        }
    }
    ControlFlow::Continue(())
}

impl Timing {
    fn add(&mut self, clock: &Clock, (due, began, ended): (Stamp, Stamp, Stamp), messages: u64) {
        self.packets.add(clock, began, ended);
        self.due.record(clock.nanos_between(due, ended));
        let size = SIZES.iter().rposition(|&from| messages >= from).unwrap_or(0);
        let (of_size, nanos) = &mut self.sizes[size];
        *of_size += messages;
        nanos.record(clock.nanos_between(began, ended));
    }
}

impl EventSource for Bursts {
    type Summary = ();
    type Error = SourceError;

    fn read(
        &mut self,
        handler: &mut impl EventHandler,
        _: impl FnMut(&Self),
    ) -> Result<(), SourceError> {
        if !self.packed.is_sequenced {
            return self.play(|packet, now_ns| {
                // The packets of this benchmark are sound; a wrong one would be missing in the
                // answer.
                let packet = MoldUdp64::decode(packet.bytes).ok()?;
                handler.received(now_ns);
                let messages = packet.messages().map(|(_, message)| message);
                let flow = handle_messages(packet.first, messages, handler);
                flow.is_continue().then_some(packet.count.into())
            });
        }
        let lines = self.packed.lines;
        let settings = SessionSettings { lines, join_ns: 0, ..SessionSettings::default() };
        let mut receiver = NasdaqReceiver::new(settings);
        let mut delivery = Delivery::new(handler, 0);
        self.play(|packet, now_ns| {
            let before = delivery.messages;
            receiver.packet(packet.origin(), (now_ns, now_ns), packet.bytes, &mut delivery);
            if receiver.deadline_ns() <= now_ns {
                receiver.tick(now_ns, &mut delivery);
            }
            delivery.flow.is_continue().then_some(delivery.messages - before)
        })
    }
}
