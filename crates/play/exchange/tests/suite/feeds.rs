//! Days in the protocols of other exchanges over real sockets on 127.0.0.1.

mod books;
mod client;
mod gap;
mod hostile;
mod lines;
mod spin;

use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket},
    thread::{self, JoinHandle},
    time::Duration,
};

use nanotape_exchange::{
    feeds::{FeedAddresses, FeedExchangeOptions, FeedSummary, SimulatedFeed},
    server::ExchangeOptions,
};
use nanotape_feed::DaySource;
use nanotape_harness::Scratch;
use nanotape_synth::{FeedProtocol, MarketConfig, ProtocolConfig, ProtocolDay};
use nanotape_tape::ShutdownFlag;
use nanotape_types::{StockLocate, TrackingNumber};
use nanotape_wire::{
    framing::{
        binary_file::{Record, Records},
        iextp::IexTp,
        numbered::{NumberedPacket, PacketFraming, PacketKind},
        pitch::Pitch,
    },
    itch50,
};

/// Midnight of 2019-12-30 in New York.
pub(super) const MIDNIGHT_NS: u64 = 1_577_682_000_000_000_000;

/// The messages of a stream by number.
pub(super) type Messages = BTreeMap<u64, Vec<u8>>;

/// Options of a feed that sends the day in three seconds.
pub(super) fn options(protocol: FeedProtocol, units: u8) -> FeedExchangeOptions {
    FeedExchangeOptions {
        lines: ExchangeOptions {
            pace_milli: 20_000_000,
            linger: Duration::from_millis(300),
            ..ExchangeOptions::default()
        },
        protocol,
        units,
        midnight_ns: MIDNIGHT_NS,
        logins: Vec::new(),
        gap: None,
        spin: None,
    }
}

/// The messages of each stream of a day, as the synthetic market makes them. The last one of a day
/// that is sent until a moment has that time.
pub(super) fn translated(day: &[u8], options: &FeedExchangeOptions) -> Vec<Messages> {
    let FeedExchangeOptions { protocol, units, midnight_ns, .. } = *options;
    let config = ProtocolConfig { protocol, midnight_ns, units, has_line_b: false };
    let mut streams = vec![Messages::new(); config.streams()];
    let mut take = |packet: nanotape_synth::FeedPacket<'_>| {
        let messages = messages_of(protocol, packet.payload).unwrap().1;
        streams[packet.stream].extend(messages);
        Ok(())
    };
    let mut translation = ProtocolDay::new(&MarketConfig::default(), config);
    match options.lines.until {
        None => translation.add(day, &mut take).unwrap(),
        Some(until) => {
            let is_before = |record: &Record<'_>| {
                let message = itch50::Message::decode(record.bytes).unwrap();
                message.timestamp().unwrap() < until
            };
            let end = itch50::SystemEventFields {
                stock_locate: StockLocate::default(),
                tracking_number: TrackingNumber::default(),
                timestamp: until,
                event_code: itch50::EventCode::EndOfMessages,
            };
            let end = end.encode();
            let sent = Records::new(day, 0).take_while(is_before).map(|record| record.bytes);
            for message in sent.chain([&end[..]]) {
                let length = (message.len() as u16).to_be_bytes();
                translation.add(&[&length, message].concat(), &mut take).unwrap();
            }
        }
    }
    translation.finish(&mut take).unwrap();
    streams
}

/// Kind and messages of a packet.
pub(super) type Contents = (PacketKind, Vec<(u64, Vec<u8>)>);

/// The contents of a packet; `None` if it is malformed.
pub(super) fn messages_of(protocol: FeedProtocol, bytes: &[u8]) -> Option<Contents> {
    fn of<F: PacketFraming>(packet: NumberedPacket<'_, F>) -> Contents {
        let messages = packet.messages().map(|(number, message)| (number, message.to_vec()));
        (packet.kind, messages.collect())
    }
    match protocol {
        FeedProtocol::CboePitch => Pitch::decode(bytes).ok().map(of),
        _ => IexTp::decode(bytes).ok().map(of),
    }
}

/// Sockets on ports that follow each other, and the address of the first.
pub(super) fn consecutive(count: u16) -> (Vec<UdpSocket>, SocketAddrV4) {
    let bind = |port| UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).ok();
    loop {
        let Some(first) = bind(0) else { continue };
        let SocketAddr::V4(address) = first.local_addr().unwrap() else { panic!("not IPv4") };
        let further = (1..count).map(|further| bind(address.port().checked_add(further)?));
        let sockets = std::iter::once(Some(first)).chain(further);
        if let Some(sockets) = sockets.collect::<Option<Vec<_>>>() {
            return (sockets, address);
        }
    }
}

/// The packets that arrive at sockets until a flag is set and nothing more comes.
pub(super) struct Receiver {
    threads: Vec<JoinHandle<Vec<Vec<u8>>>>,
    end: ShutdownFlag,
}

impl Receiver {
    /// Receivers on consecutive ports, and the address of the first.
    pub(super) fn start(count: u16) -> (Self, SocketAddrV4) {
        let (sockets, address) = consecutive(count);
        let end = ShutdownFlag::new();
        let receive = |socket: UdpSocket| {
            let end = end.clone();
            socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
            thread::spawn(move || {
                let (mut packets, mut buffer) = (Vec::new(), [0; 2_048]);
                loop {
                    let is_over = end.is_requested();
                    match socket.recv(&mut buffer) {
                        Ok(length) => packets.push(buffer[..length].to_vec()),
                        Err(_) if is_over => return packets,
                        Err(_) => {}
                    }
                }
            })
        };
        (Self { threads: sockets.into_iter().map(receive).collect(), end }, address)
    }

    /// The packets of each socket.
    pub(super) fn packets(self) -> Vec<Vec<Vec<u8>>> {
        self.end.request();
        self.threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    }
}

/// A feed that runs in a thread.
pub(super) struct Running {
    pub(super) addresses: FeedAddresses,
    pub(super) stop: ShutdownFlag,
    thread: JoinHandle<FeedSummary>,
    _folder: Scratch,
}

impl Running {
    /// Starts the feed of a day.
    pub(super) fn start(day: &[u8], options: FeedExchangeOptions) -> Self {
        let folder = Scratch::folder("feeds");
        let path = folder.join("day.itch50");
        std::fs::write(&path, day).unwrap();
        let stop = ShutdownFlag::new();
        let feed = SimulatedFeed::open(options, folder.path(), stop.clone()).unwrap();
        let addresses = feed.addresses().clone();
        let mut source = DaySource::open(&path).unwrap();
        let run = move || feed.run(&mut source, |_| (), |damage| panic!("{damage}")).unwrap();
        Self { addresses, stop, thread: thread::spawn(run), _folder: folder }
    }

    pub(super) fn summary(self) -> FeedSummary {
        self.thread.join().unwrap()
    }
}

pub(super) fn loopback() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}
