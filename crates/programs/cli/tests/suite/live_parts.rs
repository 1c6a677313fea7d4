//! Packets, orders and a snapshot server of a live session, written out by a test: what the
//! simulated exchange never does.

use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket},
    thread,
};

use nanotape_plant::records::Record;
use nanotape_types::{
    Alpha, NanosSinceMidnight, OrderReferenceNumber, Price4, Shares, StockLocate, Symbol,
    TrackingNumber,
};
use nanotape_wire::{
    framing::moldudp64::PacketWriter,
    itch50::{AddOrderFields, BuySellIndicator},
};

use crate::support::live::Plant;

/// The session of the lines.
pub(crate) const SESSION: &str = "MONDAY";

/// An order of this number and size.
pub(crate) fn order(reference: u64, shares: u32) -> Vec<u8> {
    let fields = AddOrderFields {
        stock_locate: StockLocate::new(7),
        tracking_number: TrackingNumber::default(),
        timestamp: NanosSinceMidnight::new(40_000_000_000_000 + reference).unwrap(),
        order_reference_number: OrderReferenceNumber::new(reference),
        buy_sell_indicator: BuySellIndicator::Buy,
        shares: Shares::new(shares),
        stock: Symbol::new(*b"ZVZZT   "),
        price: Price4::new(1_000_000),
    };
    fields.encode().to_vec()
}

/// A packet of the session with these messages.
pub(crate) fn packet(first: u64, messages: &[Vec<u8>]) -> Vec<u8> {
    packet_of(SESSION, first, messages)
}

/// A packet of another session.
pub(crate) fn packet_of(session: &str, first: u64, messages: &[Vec<u8>]) -> Vec<u8> {
    let mut padded = [b' '; 10];
    padded[..session.len()].copy_from_slice(session.as_bytes());
    let mut buffer = vec![0; 65_507];
    let mut writer = PacketWriter::new(Alpha::new(padded), first, &mut buffer).unwrap();
    assert!(messages.iter().all(|message| writer.push(message)), "the packet is too long");
    writer.finish().to_vec()
}

/// The end of a session whose next message would have this number.
pub(crate) fn end_of_session(next: u64) -> Vec<u8> {
    end_of(SESSION, next)
}

/// The end of another session.
pub(crate) fn end_of(session: &str, next: u64) -> Vec<u8> {
    let mut packet = packet_of(session, next, &[]);
    packet[18..20].copy_from_slice(&[0xFF; 2]);
    packet
}

/// Sends a packet to line A of a plant.
pub(crate) fn send(plant: &Plant, packet: &[u8]) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    assert_eq!(socket.send_to(packet, &plant.lines[0]).unwrap(), packet.len());
}

/// The orders on the ring of a plant: their numbers and sizes.
pub(crate) fn orders(plant: &Plant) -> Vec<(u64, u32)> {
    let mut orders = Vec::new();
    plant.ring.read(|record| {
        if let Record::Mbo(order) = record {
            orders.push((order.order_id, order.size));
        }
    });
    orders
}

/// A GLIMPSE server that answers each login with a session, the number of its first message, the
/// messages, and the number of the message after the snapshot.
pub(crate) fn glimpse(
    listener: TcpListener,
    session: &str,
    first: u64,
    messages: &[Vec<u8>],
    next: u64,
) {
    let mut answer = soup(b'A', format!("{session:<10}{first:>20}").as_bytes());
    let end = format!("G{next:>20}").into_bytes();
    messages.iter().chain([&end]).for_each(|message| answer.extend(soup(b'S', message)));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut login = [0; 49];
            // The client closes the connection when it has what it needs.
            let _ = stream.read_exact(&mut login).and_then(|()| stream.write_all(&answer));
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
}

/// A packet of SoupBinTCP.
pub(crate) fn soup(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len() + 1).unwrap().to_be_bytes();
    [&length[..], &[kind], payload].concat()
}

/// A listener on a free port, and its address.
pub(crate) fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}
