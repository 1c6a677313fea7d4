//! From the wire to a reaction: a packet sent over UDP on 127.0.0.1, and the records that a tap
//! reads.
//!
//! ```text
//! sender --- UDP ---> bare socket, or UdpReader         the time until the bytes are there
//! sender --- UDP ---> plant === ring ===> tap           the time until its last record is read
//! ```
//!
//! Protocol: the sender writes its clock into the time of each message of a packet, just before it
//! sends the packet. Records carry that time as `ts_event`, so a tap knows when their packet left.
//! Packets leave at a steady rate, whether or not the previous one has arrived. All processes spin.
//! If there are only two processors, the tap shares that of the sender, and both yield it to each
//! other; the plant always has its own.

use std::{
    fs, io,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket as BareSocket},
    thread,
    time::Duration,
};

use nanotape_clock::{Clock, Stamp};
use nanotape_exchange::transport::{Departure, SocketTransport, Transport as _};
use nanotape_feed::udp::{DatagramReceiver as _, UdpAddress, UdpOptions, UdpSocket};
use nanotape_live::LiveConfig;
use nanotape_plant::{
    PlantRun, PlantSource, ShutdownFlag,
    records::{Notice, Record, RecordKind},
};
use nanotape_ring::Start;
use nanotape_tap::{Event, Subscriber, Subscription};
use nanotape_wire::{framing::moldudp64::end_of_session, moldudp64::DownstreamHeader};

use super::{
    super::{Day, plant_variants::USUAL, publish},
    Feed,
    packets::{MOST_BYTES, SESSION, first_packets},
};
use crate::{
    engine::{
        Benchmark as _, Reading, Timeout, Times, Wait, Worker, Written,
        pace::Schedule,
        run_on,
        sample::{Sample, WARM_UP},
    },
    error::Error,
};

/// Who receives the packets, and who reacts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Receiving {
    /// A socket of the standard library.
    Bare,
    /// The reader of sockets that a plant uses.
    Reader,
    /// A plant; the sender itself is its tap, so that two processors suffice.
    PlantAndSender,
    /// A plant, with a tap in a third process.
    PlantAndTap,
}

impl Receiving {
    /// Processes besides the sender.
    pub(super) fn readers(self) -> usize {
        if self == Self::PlantAndTap { 2 } else { 1 }
    }
}

/// A file with the port of the receiver.
const PORT: &str = "port";

/// The clock's ticks in the time of a message: always less than a day of ns.
const TICKS: u64 = (1 << 46) - 1;

/// Where the time of every message begins, and its bytes.
const TIME: core::ops::Range<usize> = 5..11;

/// Bytes of the length before each message.
const LENGTH_BYTES: usize = 2;

/// Pause before the end of the session, and between its copies.
const PAUSE: Duration = Duration::from_millis(20);

/// Runs a process of a row.
pub(super) fn work(
    worker: &mut Worker<Feed>,
    day: &Day,
    receiving: Receiving,
) -> Result<Reading, Error> {
    match (worker.reader(), receiving) {
        (None, _) => send(worker, day, receiving),
        (Some(0), Receiving::Bare) => receive_bare(worker),
        (Some(0), Receiving::Reader) => receive(worker),
        (Some(0), _) => plant(worker, day),
        (Some(_), _) => tap(worker),
    }
}

/// How the sender and the tap wait: they yield if they share a processor.
fn wait(worker: &Worker<Feed>) -> Wait {
    let is_short = worker.other_cpus().len() < Feed::readers(worker.row);
    if is_short { Wait::Yield } else { Wait::Busy }
}

fn send(worker: &mut Worker<Feed>, day: &Day, receiving: Receiving) -> Result<Reading, Error> {
    let (rate, count) = (worker.job.options.rate, worker.job.options.packets());
    let packets = first_packets(&mut day.open()?, count)?;
    let mut link = Link::open(worker)?;
    let mut own_tap = match receiving {
        Receiving::PlantAndSender => Some(Tap::open(worker)?),
        _ => None,
    };
    let progress = worker.join_readers(receiving.readers())?;
    worker.begin(&progress)?;
    let (clock, mut timeout) = (worker.clock, Timeout::new(worker.clock, wait(worker)));
    let schedule = Schedule::of_rate(&clock, rate);
    let mut buffer = [0; MOST_BYTES];
    let (mut number, mut next) = (0, 1);
    for packet in packets.iter() {
        let bytes = &mut buffer[..packet.bytes.len()];
        bytes.copy_from_slice(packet.bytes);
        while clock.stamp() < schedule.due(number) {
            match &mut own_tap {
                Some(tap) => _ = tap.poll()?,
                None => timeout.idle(number)?,
            }
        }
        set_times(bytes, clock.stamp().ticks());
        link.send(bytes)?;
        (number, next) = (number + 1, packet.next());
    }
    let nanos = clock.nanos_between(schedule.due(0), clock.stamp());
    link.end(next)?;
    let written = Written { messages: number, nanos };
    let times = own_tap.map(|mut tap| tap.finish(&mut timeout)).transpose()?;
    Ok(Reading { written, times, ..Reading::default() })
}

/// Writes ticks into the time of each message of a packet.
fn set_times(packet: &mut [u8], ticks: u64) {
    let ticks = (ticks & TICKS).to_be_bytes();
    let mut rest = packet.get_mut(DownstreamHeader::LEN..).unwrap_or_default();
    while let Some((length, blocks)) = rest.split_first_chunk_mut::<LENGTH_BYTES>() {
        let length = usize::from(u16::from_be_bytes(*length));
        let Some((message, after)) = blocks.split_at_mut_checked(length) else { return };
        if let Some(time) = message.get_mut(TIME) {
            time.copy_from_slice(&ticks[2..]);
        }
        rest = after;
    }
}

/// The ticks in the time of the first message of a packet; `None` if it has no message.
fn time(packet: &[u8]) -> Option<u64> {
    let time = packet.get(DownstreamHeader::LEN + LENGTH_BYTES..)?.get(TIME)?;
    Some(time.iter().fold(0, |ticks, &byte| ticks << 8 | u64::from(byte)))
}

/// The way of packets to a receiver.
pub(super) struct Link {
    transport: SocketTransport,
    destination: SocketAddrV4,
}

impl Link {
    /// Waits until the receiver has its port.
    pub(super) fn open(worker: &Worker<Feed>) -> Result<Self, Error> {
        let port = worker.meet(|worker| {
            let text = fs::read_to_string(worker.path(PORT))?;
            text.parse().map_err(|_| io::Error::from(io::ErrorKind::InvalidData))
        });
        let port = port.map_err(Error::system("read the port of the receiver"))?;
        Ok(Self {
            transport: SocketTransport::open(Ipv4Addr::LOCALHOST, 0)?,
            destination: SocketAddrV4::new(Ipv4Addr::LOCALHOST, port),
        })
    }

    #[inline]
    pub(super) fn send(&mut self, payload: &[u8]) -> Result<(), Error> {
        let (source, destination) = (self.destination, self.destination);
        let departure = Departure { ts_ns: 0, source, destination, vlans: &[], payload };
        self.transport.send(departure).map_err(Error::system("send a packet"))
    }

    /// Ends the session. `next` is the number that the next message would have had.
    pub(super) fn end(&mut self, next: u64) -> Result<(), Error> {
        for _ in 0..5 {
            thread::sleep(PAUSE);
            self.send(&end_of_session(SESSION, next))?;
        }
        Ok(())
    }
}

/// Where receivers of packets bind.
pub(super) const ANY_PORT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);

/// Shows the port of a receiver to the sender.
pub(super) fn show_port(worker: &Worker<Feed>, port: u16) -> Result<(), Error> {
    let written = fs::write(worker.path(PORT), port.to_string());
    written.map_err(Error::system("write the port of the receiver"))
}

fn receive_bare(worker: &mut Worker<Feed>) -> Result<Reading, Error> {
    let failed = || Error::system("open a socket");
    let socket = BareSocket::bind(ANY_PORT).map_err(failed())?;
    socket.set_nonblocking(true).map_err(failed())?;
    let port = socket.local_addr().map_err(failed())?.port();
    let mut buffer = [0; MOST_BYTES];
    await_packets(worker, port, |clock, reactions| match socket.recv(&mut buffer) {
        Ok(length) => {
            let now = clock.stamp();
            Ok(Some(reactions.packet(&buffer[..length], now)))
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(Error::system("receive a packet")(error)),
    })
}

fn receive(worker: &mut Worker<Feed>) -> Result<Reading, Error> {
    let socket = open_socket()?;
    let mut reader = socket.reader();
    let port = socket.address().port();
    await_packets(worker, port, |clock, reactions| {
        let mut is_over = None;
        reader.receive(|datagram| {
            let now = clock.stamp();
            let ends = reactions.packet(datagram.bytes, now);
            is_over = Some(ends || is_over == Some(true));
        })?;
        Ok(is_over)
    })
}

/// A socket as a plant opens it.
pub(super) fn open_socket() -> Result<UdpSocket, Error> {
    let at = UdpAddress { address: ANY_PORT.into(), interface: 0, sender: None };
    Ok(UdpSocket::open(&at, &UdpOptions::default())?)
}

/// Polls a socket until the session ends. `poll` returns whether it has ended; `None` without a
/// packet.
fn await_packets(
    worker: &mut Worker<Feed>,
    port: u16,
    mut poll: impl FnMut(&Clock, &mut Reactions) -> Result<Option<bool>, Error>,
) -> Result<Reading, Error> {
    let progress = worker.own_progress(0)?;
    show_port(worker, port)?;
    worker.ready()?;
    progress.words()[0].store(1);
    let mut reactions = Reactions::of(worker);
    let (clock, mut timeout) = (worker.clock, worker.timeout(Wait::Busy));
    loop {
        match poll(&clock, &mut reactions)? {
            Some(true) => return Ok(reactions.finish().into()),
            Some(false) => {}
            None => timeout.idle(reactions.seen)?,
        }
    }
}

fn plant(worker: &mut Worker<Feed>, day: &Day) -> Result<Reading, Error> {
    let mut config = publish::config(day, USUAL, &worker.path(publish::RING));
    let live = LiveConfig {
        line_a: Some(SocketAddr::from(ANY_PORT).into()),
        spin: true,
        ..LiveConfig::default()
    };
    config.input.live = Some(live);
    let progress = worker.own_progress(0)?;
    let mut run = PlantRun::open(&config, ShutdownFlag::new())?;
    let port = match run.source() {
        PlantSource::Live(source) => source.addresses().next().map(|address| address.port()),
        _ => None,
    };
    show_port(worker, port.unwrap_or(0))?;
    worker.ready()?;
    progress.words()[0].store(1);
    run.run(|_| ())?;
    Ok(Reading::default())
}

fn tap(worker: &mut Worker<Feed>) -> Result<Reading, Error> {
    let wait = wait(worker);
    if wait == Wait::Yield {
        // Beside the sender, not beside the plant.
        run_on(worker.other_cpus());
    }
    let progress = worker.own_progress(1)?;
    let mut tap = Tap::open(worker)?;
    worker.ready()?;
    progress.words()[0].store(1);
    let times = tap.finish(&mut Timeout::new(worker.clock, wait))?;
    Ok(times.into())
}

/// A reader of a plant's records.
struct Tap {
    subscriber: Subscriber,
    clock: Clock,
    midnight_ns: u64,
    reactions: Reactions,
    is_over: bool,
}

impl Tap {
    fn open(worker: &Worker<Feed>) -> Result<Self, Error> {
        let subscriber = Subscription::to(&worker.path(publish::RING).display().to_string())
            .records([RecordKind::Mbo, RecordKind::Bbo])
            .from(Start::Oldest)
            .wait(publish::LONGEST_START)
            .open()?;
        let reactions = Reactions::of(worker);
        let (clock, midnight_ns) = (worker.clock, 0);
        Ok(Self { subscriber, clock, midnight_ns, reactions, is_over: false })
    }

    /// Reads the records that are there; returns their number.
    fn poll(&mut self) -> Result<u64, Error> {
        let Self { subscriber, clock, midnight_ns, reactions, is_over } = self;
        Ok(subscriber.poll(|event| {
            let Event::Record(delivery) = event else { return };
            let ts_event = match delivery.record {
                Record::Mbo(mbo) => mbo.hd.ts_event,
                Record::Bbo(bbo) => bbo.hd.ts_event,
                Record::Notice(Notice::Start(start)) => {
                    *midnight_ns = start.midnight_ns;
                    return;
                }
                Record::Notice(Notice::Stop(_)) => {
                    *is_over = true;
                    return;
                }
                _ => return,
            };
            reactions.record(ts_event.wrapping_sub(*midnight_ns), clock.stamp());
        })?)
    }

    /// Reads until the plant stops.
    fn finish(&mut self, timeout: &mut Timeout) -> Result<Times, Error> {
        while !self.is_over {
            if self.poll()? == 0 {
                timeout.idle(self.reactions.seen)?;
            }
        }
        Ok(self.reactions.finish())
    }
}

/// Times from the departure of a packet to what it caused, without the first tenth.
struct Reactions {
    sample: Sample,
    clock: Clock,
    /// Packets so far, and those that do not count.
    seen: u64,
    warm_up: u64,
    /// The packet whose records are read: when it left, and when the last record was read.
    current: Option<(u64, Stamp)>,
}

impl Reactions {
    fn of(worker: &Worker<Feed>) -> Self {
        let warm_up = (worker.job.options.packets() as f64 * WARM_UP) as u64;
        Self { sample: Sample::new(), clock: worker.clock, seen: 0, warm_up, current: None }
    }

    /// A packet came; returns whether it is the end of the session.
    #[inline]
    fn packet(&mut self, bytes: &[u8], now: Stamp) -> bool {
        match time(bytes) {
            Some(left) => {
                self.add(left, now);
                false
            }
            None => true,
        }
    }

    /// A record of a packet was read.
    #[inline]
    fn record(&mut self, left: u64, now: Stamp) {
        if let Some((before, at)) = self.current.filter(|(before, _)| *before != left) {
            self.add(before, at);
        }
        self.current = Some((left, now));
    }

    #[inline]
    fn add(&mut self, left: u64, now: Stamp) {
        self.seen += 1;
        if self.seen > self.warm_up {
            // The upper bits are those of the present.
            let ticks = now.ticks().wrapping_sub(left) & TICKS;
            let left = Stamp::from_ticks(now.ticks().wrapping_sub(ticks));
            self.sample.add(&self.clock, left, now);
        }
    }

    fn finish(&mut self) -> Times {
        if let Some((left, at)) = self.current.take() {
            self.add(left, at);
        }
        self.sample.times(self.clock)
    }
}

#[cfg(test)]
mod tests {
    use nanotape_wire::framing::moldudp64::PacketWriter;

    use super::*;

    #[test]
    fn the_time_of_a_packet_is_in_all_of_its_messages() {
        let mut buffer = [0; 200];
        let mut writer = PacketWriter::new(SESSION, 1, &mut buffer).unwrap();
        assert!(writer.push(&[0xff; 12]) && writer.push(&[0; 36]) && writer.push(&[7; 3]));
        let mut packet = writer.finish().to_vec();
        let before = packet.clone();
        set_times(&mut packet, 0xffff_1234_5678_9abc);
        assert_eq!(time(&packet), Some(0x1234_5678_9abc));
        let second = DownstreamHeader::LEN + 2 + 12;
        assert_eq!(packet[second + 2 + 5..second + 2 + 11], [0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc]);
        let changed = packet.iter().zip(&before).filter(|(one, other)| one != other).count();
        assert_eq!(changed, 12);
        assert_eq!(time(&end_of_session(SESSION, 9)), None);
    }

    #[test]
    fn a_packet_counts_when_its_last_record_was_read() {
        let clock = Clock::monotonic();
        let mut reactions =
            Reactions { sample: Sample::new(), clock, seen: 0, warm_up: 1, current: None };
        let at = |ticks: u64| Stamp::from_ticks(TICKS + 1 + ticks);
        for (left, now) in [(0, 10), (0, 20), (100, 130), (100, 160), (200, 250)] {
            reactions.record(left, at(now));
        }
        let times = reactions.finish();
        let nanos = |ticks| clock.nanos_between(at(0), at(ticks));
        assert_eq!((times.count, times.max_ns), (2, nanos(60)));
        assert_eq!(times.p50_ns, nanos(50));
    }
}
