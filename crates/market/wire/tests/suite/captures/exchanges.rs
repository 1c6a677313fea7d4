//! Captures of IEX and Cboe: every message decodes, is known, and encodes to the same bytes.

use std::collections::BTreeMap;

use nanotape_types::{Decimal, Symbol};
use nanotape_wire::{
    capture::{Datagram, datagram},
    framing::{
        iextp::IexTp,
        numbered::{NumberedPacket, PacketFraming, PacketKind},
        pitch::{Pitch, UnitWriter},
    },
    iex_deep, iex_deep_plus, iex_tops, pitch,
};

use super::{Packet, packets, read, real_capture};

/// Passes each datagram, decoded, to `each`.
fn each_packet<F: PacketFraming>(
    packets: &[Packet],
    mut each: impl FnMut(&NumberedPacket<'_, F>, &Datagram<'_>),
) -> usize {
    for packet in packets {
        let datagram = datagram(packet.link_type, &packet.bytes).expect("a datagram");
        each(&F::decode(datagram.payload).expect("a packet"), &datagram);
    }
    packets.len()
}

/// Decodes a message of a protocol, encodes it again, and counts its type.
macro_rules! take {
    ($protocol:ident, $counts:expr, $message:expr) => {{
        let bytes: &[u8] = $message;
        let message = $protocol::Message::decode(bytes).expect("it decodes");
        assert!(!matches!(message, $protocol::Message::Unknown(_)), "{message:?}");
        let mut buffer = [0; 255];
        assert_eq!(message.encode(&mut buffer), Ok(bytes));
        *$counts.entry(message.tag()).or_insert(0) += 1;
        message
    }};
}

fn text_of(counts: &BTreeMap<u8, usize>, show: impl Fn(u8) -> String) -> String {
    let counts = counts.iter().map(|(tag, count)| format!("{}{count}", show(*tag)));
    counts.collect::<Vec<_>>().join(" ")
}

/// Displayed shares by price.
#[derive(Default)]
struct Levels {
    bids: BTreeMap<i64, u32>,
    offers: BTreeMap<i64, u32>,
}

fn set(levels: &mut BTreeMap<i64, u32>, price: Decimal<i64, 4>, shares: u32) {
    match shares {
        0 => levels.remove(&price.get()),
        shares => levels.insert(price.get(), shares),
    };
}

#[test]
fn a_book_of_iex_deep_is_never_crossed_when_an_event_is_complete() {
    let Some(file) = real_capture("iex_deep10_20231002.pcap.gz") else { return };
    let mut counts = BTreeMap::new();
    let mut books: BTreeMap<Symbol, Levels> = BTreeMap::new();
    let (mut complete, mut last) = (0, BTreeMap::new());
    let packet_count = each_packet::<IexTp>(&packets(&file), |packet, _| {
        assert_eq!(packet.session.message_protocol_id, iex_deep::MESSAGE_PROTOCOL_ID);
        for (_, bytes) in packet.messages() {
            let message = take!(iex_deep, counts, bytes);
            let time = message.timestamp().expect("every message has a time");
            // 2023-10-02.
            assert_eq!(time.get() / 86_400_000_000_000, 19_632);
            if let Some(symbol) = message.symbol() {
                let before = last.insert((message.tag(), symbol), time);
                assert!(before.is_none_or(|before| before <= time));
            }
            let (symbol, flags) = match message {
                iex_deep::Message::PriceLevelUpdateBuy(update) => {
                    let book = books.entry(update.symbol()).or_default();
                    set(&mut book.bids, update.price(), update.shares().get());
                    (update.symbol(), update.event_flags())
                }
                iex_deep::Message::PriceLevelUpdateSell(update) => {
                    let book = books.entry(update.symbol()).or_default();
                    set(&mut book.offers, update.price(), update.shares().get());
                    (update.symbol(), update.event_flags())
                }
                _ => continue,
            };
            let book = &books[&symbol];
            if flags.is_event_complete() {
                complete += 1;
                if let (Some((bid, _)), Some((offer, _))) =
                    (book.bids.last_key_value(), book.offers.first_key_value())
                {
                    assert!(bid < offer, "{symbol}: {bid} {offer}");
                }
            }
        }
    });
    let total: usize = counts.values().sum();
    assert_eq!((packet_count, total), (5_000, 48_325));
    let text = text_of(&counts, |tag| char::from(tag).to_string());
    assert_eq!(text, "51226 81526 D3 H11311 I11309 O11317 P11594 S2 T37");
    assert_eq!(complete, 2752);
}

#[test]
fn every_message_of_iex_deep_plus_is_known() {
    let Some(file) = real_capture("iex_deepplus_all_types.pcap") else { return };
    let mut counts = BTreeMap::new();
    let packet_count = each_packet::<IexTp>(&packets(&file), |packet, _| {
        assert_eq!(packet.session.message_protocol_id, iex_deep_plus::MESSAGE_PROTOCOL_ID);
        for (_, bytes) in packet.messages() {
            take!(iex_deep_plus, counts, bytes);
        }
    });
    let text = text_of(&counts, |tag| char::from(tag).to_string());
    assert_eq!((packet_count, counts.values().sum::<usize>()), (13, 447));
    assert_eq!(text, "B1 D1 E35 H97 I96 L3 M1 O101 P101 R1 S5 T4 a1");
}

#[test]
fn every_message_of_iex_tops_is_known() {
    let Some(file) = real_capture("iex_tops_example.pcap") else { return };
    // The file ends in its third packet.
    let capture = read(&file, &[usize::MAX]);
    assert!(capture.end.is_some());
    let mut counts = BTreeMap::new();
    let packet_count = each_packet::<IexTp>(&capture.packets, |packet, _| {
        assert_eq!(packet.session.message_protocol_id, iex_tops::MESSAGE_PROTOCOL_ID);
        for (_, bytes) in packet.messages() {
            take!(iex_tops, counts, bytes);
        }
    });
    let text = text_of(&counts, |tag| char::from(tag).to_string());
    assert_eq!((packet_count, text.as_str()), (2, "H13 O13 P13 Q13 S1"));
}

#[test]
fn units_of_pitch_are_numbered_with_one_gap() {
    let Some(file) = real_capture("mcastpitch_realtime_useq.pcap") else { return };
    let mut counts = BTreeMap::new();
    let (mut next, mut gaps, mut heartbeats) = (BTreeMap::new(), Vec::new(), 0);
    let packet_count = each_packet::<Pitch>(&packets(&file), |packet, datagram| {
        assert_eq!(packet.session.0, 1);
        let mut buffer = [0; 1472];
        let mut writer = UnitWriter::new(packet.session, packet.first, &mut buffer).unwrap();
        for (_, bytes) in packet.messages() {
            take!(pitch, counts, bytes);
            assert!(writer.push(bytes));
        }
        assert_eq!(writer.finish(), datagram.payload);
        heartbeats += usize::from(packet.kind == PacketKind::Heartbeat);
        let expected = next.insert(datagram.destination, packet.next()).unwrap_or(packet.first);
        if expected != packet.first {
            gaps.push((datagram.destination.to_string(), expected, packet.first));
        }
    });
    let text = text_of(&counts, |tag| format!("{tag:02x}x"));
    assert_eq!((packet_count, heartbeats), (739, 720));
    assert_eq!(text, "20x19 21x4 22x3 23x3 26x2 27x1 28x1 29x4 2ax2 2bx1");
    // The other group has heartbeats only.
    assert_eq!(gaps, [("239.39.62.190:32001".to_owned(), 1, 3)]);
}
