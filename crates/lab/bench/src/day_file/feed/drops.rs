//! The rate of packets at which the kernel begins to drop: packets are sent at rising rates to a
//! plant on a socket of its own, until datagrams are missing.
//!
//! Protocol: a step is [`STEP_NS`] of packets at one rate, a pause in which the receiver empties
//! its buffer, and a heartbeat packet. The receiver then stores the kernel's count of drops, and
//! the number of the step, for the sender. The last step is the first with drops, the first that
//! the sender cannot send fast enough in [`TRIES`] tries, or that at which the day has no more
//! packets.

use core::time::Duration;
use std::thread;

use nanotape_feed::{
    session::{Line, NasdaqReceiver, PacketOrigin, SessionSettings},
    udp::{DatagramReceiver as _, UdpSocket},
};
use nanotape_live::Delivery;
use nanotape_market::{EventHandler, EventSource};
use nanotape_shm::Word;
use nanotape_wire::moldudp64::{DownstreamHeader, DownstreamHeaderFields};
use serde::{Deserialize, Serialize};

use super::{
    super::{Day, publish},
    Feed,
    packets::{SESSION, first_packets},
    wire::{Link, open_socket, show_port},
};
use crate::{
    engine::{Reading, Timeout, Wait, Worker, Written, pace::Schedule},
    error::Error,
};

/// Packets a second of the first step, and the factor from one step to the next.
const FIRST_RATE: f64 = 50_000.0;
const FACTOR: f64 = 1.15;

/// Length of a step.
const STEP_NS: f64 = 2e8;

/// Steps that one reading makes at most: the last one has 8 million packets a second.
const MOST_STEPS: i32 = 37;

/// Packets of a step that is not cut short by the end of the day.
const FEWEST: usize = 100;

/// A sender that reaches a smaller share of a rate is at its limit.
const LEAST_SHARE: f64 = 0.95;

/// Times that the sender tries a rate before that counts as its limit: something else may have used
/// its processor.
const TRIES: u32 = 3;

/// Pause in which the receiver empties its buffer.
const PAUSE: Duration = Duration::from_millis(50);

/// One rate.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Step {
    /// Packets a second that were due.
    pub(super) due_per_second: f64,
    /// Packets a second that were sent.
    pub(super) sent_per_second: f64,
    pub(super) packets: u64,
    /// Packets that the kernel dropped.
    pub(super) dropped: u64,
}

/// All rates of a reading.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Steps {
    pub(super) steps: Vec<Step>,
    /// The size of the kernel's receive buffer.
    pub(super) buffer_bytes: u64,
}

impl Steps {
    /// The highest rate that was sent without a drop.
    pub(super) fn without_drops(&self) -> Option<f64> {
        let sound = self.steps.iter().filter(|step| step.dropped == 0);
        sound.map(|step| step.sent_per_second).reduce(f64::max)
    }

    /// The rate at which packets were dropped, if the sender reached it.
    pub(super) fn with_drops(&self) -> Option<Step> {
        self.steps.iter().copied().find(|step| step.dropped > 0)
    }
}

/// Runs a process of the row.
pub(super) fn work(worker: &mut Worker<Feed>, day: &Day) -> Result<Reading, Error> {
    match worker.reader() {
        None => send(worker, day),
        Some(_) => receive(worker),
    }
}

/// The words that the receiver writes: 1 plus the finished steps, the drops, the buffer.
const STEPS: usize = 0;
const DROPS: usize = 1;
const BUFFER: usize = 2;

fn send(worker: &mut Worker<Feed>, day: &Day) -> Result<Reading, Error> {
    let packets = first_packets(&mut day.open()?, worker.job.options.most_packets())?;
    let mut link = Link::open(worker)?;
    let progress = worker.join_readers(1)?;
    worker.begin(&progress)?;
    let (clock, words) = (worker.clock, progress[0].words());
    let mut timeout = Timeout::new(clock, Wait::Yield);
    let mut rest = packets.iter();
    let (mut found, mut next, mut number) = (Steps::default(), 1, 0);
    let began = clock.stamp();
    let (mut step, mut failures) = (0, 0);
    while step < MOST_STEPS && failures < TRIES {
        let due_per_second = FIRST_RATE * FACTOR.powi(step);
        let schedule = Schedule::of_rate(&clock, due_per_second as u32);
        let (mut sent, most) = (0, (due_per_second * STEP_NS / 1e9) as u64);
        for packet in rest.by_ref().take(most as usize) {
            let due = schedule.due(sent);
            while clock.stamp_unfenced() < due {}
            link.send(packet.bytes)?;
            next = packet.next();
            sent += 1;
        }
        let nanos = clock.nanos_between(schedule.due(0), clock.stamp());
        number += sent;
        if sent < FEWEST as u64 {
            break;
        }
        let before = words[DROPS].load();
        finish_step(&mut link, next, &words[STEPS].load(), || words[STEPS].load(), &mut timeout)?;
        let dropped = words[DROPS].load() - before;
        let sent_per_second = sent as f64 * 1e9 / nanos as f64;
        found.steps.push(Step { due_per_second, sent_per_second, packets: sent, dropped });
        if dropped > 0 || sent < most {
            break;
        }
        match sent_per_second < LEAST_SHARE * due_per_second {
            true => failures += 1,
            false => (step, failures) = (step + 1, 0),
        }
    }
    found.buffer_bytes = words[BUFFER].load();
    let nanos = clock.nanos_between(began, clock.stamp());
    link.end(next)?;
    Ok(Reading {
        written: Written { messages: number, nanos },
        detail: serde_json::to_value(found).unwrap_or_default(),
        ..Reading::default()
    })
}

/// Sends the heartbeat after a step, and waits until the receiver has counted.
fn finish_step(
    link: &mut Link,
    next: u64,
    before: &u64,
    steps: impl Fn() -> u64,
    timeout: &mut Timeout,
) -> Result<(), Error> {
    thread::sleep(PAUSE);
    let fields =
        DownstreamHeaderFields { session: SESSION, sequence_number: next, message_count: 0 };
    link.send(&fields.encode())?;
    while steps() == *before {
        timeout.idle(*before)?;
    }
    Ok(())
}

fn receive(worker: &mut Worker<Feed>) -> Result<Reading, Error> {
    let mut run = publish::open(worker)?;
    let progress = worker.own_progress(0)?;
    let socket = open_socket()?;
    show_port(worker, socket.address().port())?;
    worker.ready()?;
    let words = progress.words();
    words[BUFFER].store(socket.buffer_bytes() as u64);
    words[STEPS].store(1);
    let (clock, timeout) = (worker.clock, worker.timeout(Wait::Pause));
    let mut timeline = nanotape_clock::Timeline::new(clock);
    let _ = run.read(&mut Socket { socket, words, timeout, now_ns: &mut || timeline.now_ns() })?;
    run.end();
    Ok(Reading::default())
}

/// Packets from a socket, with a count of drops after each step.
struct Socket<'w> {
    socket: UdpSocket,
    words: &'w [Word],
    timeout: Timeout,
    now_ns: &'w mut dyn FnMut() -> u64,
}

impl EventSource for Socket<'_> {
    type Summary = ();
    type Error = Error;

    fn read(&mut self, handler: &mut impl EventHandler, _: impl FnMut(&Self)) -> Result<(), Error> {
        let Self { socket, words, timeout, now_ns } = self;
        let drops = socket.kernel_drops()?;
        let settings = SessionSettings { lines: 1, join_ns: 0, ..SessionSettings::default() };
        let mut receiver = NasdaqReceiver::new(settings);
        let mut delivery = Delivery::new(handler, 0);
        let mut reader = socket.reader();
        let (mut is_over, mut received) = (false, 0);
        while !is_over {
            let now_ns = now_ns();
            let mut is_step_over = false;
            let count = reader.receive(|datagram| {
                let times = (datagram.ts_recv_ns.unwrap_or(now_ns), now_ns);
                let origin = PacketOrigin::Line(Line::A);
                receiver.packet(origin, times, datagram.bytes, &mut delivery);
                let is_empty = datagram.bytes.len() == DownstreamHeader::LEN;
                let is_end = is_empty && datagram.bytes.ends_with(&[0xff, 0xff]);
                is_over |= is_end;
                is_step_over |= is_empty && !is_end;
            })?;
            if receiver.deadline_ns() <= now_ns {
                receiver.tick(now_ns, &mut delivery);
            }
            received += count as u64;
            if is_step_over {
                let count = drops.count().map_err(Error::system("count dropped packets"))?;
                words[DROPS].store(count);
                words[STEPS].store(words[STEPS].load() + 1);
            }
            if count == 0 {
                timeout.idle(received)?;
            }
        }
        receiver.close(now_ns(), &mut delivery);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rates_are_the_last_before_drops_and_the_first_with_them() {
        let step = |sent_per_second, dropped| Step {
            due_per_second: sent_per_second,
            sent_per_second,
            packets: 1_000,
            dropped,
        };
        let steps = |steps: &[Step]| Steps { steps: steps.to_vec(), buffer_bytes: 1 };
        let found = steps(&[step(1e5, 0), step(2e5, 0), step(3e5, 7)]);
        assert_eq!(found.without_drops(), Some(2e5));
        assert_eq!(found.with_drops(), Some(step(3e5, 7)));
        assert_eq!(steps(&[step(1e5, 0)]).with_drops(), None);
        assert_eq!(steps(&[]).without_drops(), None);
    }
}
