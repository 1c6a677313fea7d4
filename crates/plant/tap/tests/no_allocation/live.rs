//! The way of a live packet, from its socket to published records, does not allocate once the
//! tables have their final size: reader, receiver of two lines, delivery, books, publisher.
//!
//! Line A loses packets, and line B comes later, so messages are also kept and then delivered.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket as Sender};

use nanotape_book::DefaultBooks;
use nanotape_engine::BookEngine;
use nanotape_feed::{
    market_event,
    session::{Line, NasdaqReceiver, PacketOrigin, SessionSettings},
    udp::{
        Datagram, DatagramReceiver as _, UdpAddress, UdpError, UdpOptions, UdpReader, UdpSocket,
    },
};
use nanotape_harness::{allocations, check_the_counter};
use nanotape_live::Delivery;
use nanotape_market::{EventHandler, EventSource};
use nanotape_plant::{
    Publisher,
    records::{RecordKind, RecordKinds},
};
use nanotape_synth::{Market, MarketConfig};
use nanotape_types::Alpha;
use nanotape_wire::{
    framing::{binary_file::Records, moldudp64::PacketWriter},
    itch50::Message,
};

const MESSAGES: u64 = 200_000;

/// Live orders to reserve memory for: more than the day has.
const ORDERS: usize = 1 << 16;

const SESSION: Alpha<10> = Alpha::new(*b"LIVE      ");

/// Messages of a packet at most, on line A and on line B.
const CUTS: [usize; 2] = [7, 4];

/// Line A loses one packet in so many.
const LOST: usize = 50;

/// Packets by which line B is later than line A.
const LATER: usize = 5;

/// Packets that are sent before they are read.
const TOGETHER: usize = 16;

/// A packet of a line.
type Packet = (Line, Vec<u8>);

/// The packets of both lines with these messages, of which the first has number `first`.
fn packets(messages: &[&[u8]], first: u64) -> Vec<Packet> {
    let mut timed = Vec::new();
    for (line, cut) in [Line::A, Line::B].into_iter().zip(CUTS) {
        for (place, together) in messages.chunks(cut).enumerate() {
            let (mut buffer, number) = ([0; 1_400], first + (place * cut) as u64);
            let mut writer = PacketWriter::new(SESSION, number, &mut buffer).unwrap();
            assert!(together.iter().all(|message| writer.push(message)));
            let is_late = if line == Line::B { LATER * CUTS[0] } else { 0 };
            let is_lost = line == Line::A && place % LOST == LOST / 2;
            if !is_lost {
                timed.push((place * cut + is_late, (line, writer.finish().to_vec())));
            }
        }
    }
    timed.sort_by_key(|(time, _)| *time);
    timed.into_iter().map(|(_, packet)| packet).collect()
}

/// Two lines over sockets: first some packets that are not counted, then the counted ones.
struct Lines {
    warm: Vec<Packet>,
    counted: Vec<Packet>,
    allocations: u64,
    /// Counted messages that were missing for a while.
    overtaken: u64,
}

impl Lines {
    fn deliver(
        packets: &[Packet],
        sockets: &[UdpSocket],
        readers: &mut [UdpReader<'_>],
        sender: &Sender,
        now_ns: &mut u64,
        (receiver, delivery): (&mut NasdaqReceiver, &mut Delivery<'_, impl EventHandler>),
    ) {
        for together in packets.chunks(TOGETHER) {
            for (line, bytes) in together {
                let to = sockets[line.index()].address();
                assert_eq!(sender.send_to(bytes, to).unwrap(), bytes.len());
            }
            let mut count = 0;
            for (index, reader) in readers.iter_mut().enumerate() {
                let origin = PacketOrigin::Line(Line::new(index).unwrap());
                let mut visit = |datagram: Datagram<'_>| {
                    let ts_recv_ns = datagram.ts_recv_ns.unwrap();
                    *now_ns = ts_recv_ns.max(*now_ns);
                    receiver.packet(origin, (ts_recv_ns, *now_ns), datagram.bytes, delivery);
                };
                // One datagram, then a batch.
                count += reader.receive(&mut visit).unwrap();
                count += reader.receive(&mut visit).unwrap();
            }
            assert_eq!(count, together.len());
            if receiver.deadline_ns() <= *now_ns {
                receiver.tick(*now_ns, delivery);
            }
        }
    }
}

impl EventSource for Lines {
    type Summary = (u64, u64);
    type Error = UdpError;

    fn read(
        &mut self,
        handler: &mut impl EventHandler,
        _: impl FnMut(&Self),
    ) -> Result<(u64, u64), UdpError> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let at = UdpAddress { address, interface: 0, sender: None };
        let open = || UdpSocket::open(&at, &UdpOptions::default());
        let sockets = [open()?, open()?];
        let mut readers = [sockets[0].reader(), sockets[1].reader()];
        let sender = Sender::bind(address).unwrap();
        let mut receiver = NasdaqReceiver::new(SessionSettings {
            join_ns: 0,
            // Longer than this thread can be without a processor.
            hold_ns: 60_000_000_000,
            ..SessionSettings::default()
        });
        let mut delivery = Delivery::new(handler, 0);
        let mut now_ns = 0;
        let session = (&mut receiver, &mut delivery);
        Self::deliver(&self.warm, &sockets, &mut readers, &sender, &mut now_ns, session);
        let (before, overtaken) = (allocations(), receiver.overtaken());
        let session = (&mut receiver, &mut delivery);
        Self::deliver(&self.counted, &sockets, &mut readers, &sender, &mut now_ns, session);
        self.allocations = allocations() - before;
        self.overtaken = receiver.overtaken() - overtaken;
        Ok((delivery.messages, delivery.missing))
    }
}

#[test]
fn a_live_packet_allocates_nothing() {
    let config = MarketConfig { messages: MESSAGES, symbols: 500, ..MarketConfig::default() };
    let mut day = Vec::new();
    Market::new(config).unwrap().write_to(&mut day).unwrap();
    let all: Vec<&[u8]> = Records::new(&day, 0).map(|record| record.bytes).collect();
    let is_of_an_order = |bytes: &&&[u8]| {
        Message::decode(bytes).is_ok_and(|message| market_event(&message).book_event().is_some())
    };
    let orders: Vec<&[u8]> = all.iter().filter(is_of_an_order).copied().collect();
    let mut lines = Lines {
        warm: packets(&all, 1),
        counted: packets(&orders, 1 + all.len() as u64),
        allocations: 0,
        overtaken: 0,
    };
    let mut engine = BookEngine::new(DefaultBooks::with_capacity(ORDERS));
    let mut publisher = Publisher::on_heap(1 << 20, RecordKinds::ALL, 0).unwrap();
    let report = engine.run(&mut lines, &mut publisher, |_| ()).unwrap();
    assert_eq!(report.summary, ((all.len() + orders.len()) as u64, 0));
    assert_eq!(report.damage.total(), 0);
    let (packets, kept) = (lines.counted.len(), lines.overtaken);
    println!("{} allocations in {packets} packets, {kept} messages late", lines.allocations);
    assert!(packets > 10_000 && kept > 1_000);
    assert_eq!(lines.allocations, 0);
    let stat = publisher.board().sample();
    assert_eq!(stat.anomalies.iter().sum::<u64>(), 0, "the day fits its books");
    assert!(stat.records[RecordKind::Mbo as usize] > MESSAGES);
    check_the_counter();
}
