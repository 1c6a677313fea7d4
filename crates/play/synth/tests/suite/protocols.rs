//! The same day in each protocol shows the same books and trades, at the same times.
//!
//! Each protocol is read by the rules of its specification alone. The readers share naive books,
//! and nothing with the translator. A message of ITCH is an event: the levels that it changes are
//! compared with those that the messages of its event change in the other protocol.

mod books;
mod forms;
mod iex;
mod itch;
mod pitch;

use books::DayLog;
use nanotape_synth::{FeedPacket, FeedProtocol, Market, MarketConfig, ProtocolConfig, ProtocolDay};
use nanotape_wire::framing::binary_file::Records;

/// 2019-12-30 at midnight in New York.
const MIDNIGHT_NS: u64 = 1_577_682_000_000_000_000;

/// A packet that is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
struct OwnedPacket {
    ts_ns: u64,
    line: usize,
    stream: usize,
    payload: Vec<u8>,
}

fn market(seed: u64) -> MarketConfig {
    MarketConfig { messages: 60_000, symbols: 60, seed, ..MarketConfig::default() }
}

fn records(market: MarketConfig) -> Vec<u8> {
    let mut records = Vec::new();
    Market::new(market).unwrap().write_to(&mut records).unwrap();
    records
}

/// The packets of a day. Packets come in order of time.
fn packets(market: &MarketConfig, records: &[u8], config: ProtocolConfig) -> Vec<OwnedPacket> {
    let mut packets: Vec<OwnedPacket> = Vec::new();
    let mut take = |packet: FeedPacket<'_>| {
        let FeedPacket { ts_ns, line, stream, payload } = packet;
        assert!(payload.len() <= 1_400);
        assert!(packets.last().is_none_or(|last| last.ts_ns <= ts_ns), "packets are in order");
        packets.push(OwnedPacket { ts_ns, line, stream, payload: payload.to_vec() });
        Ok(())
    };
    let mut day = ProtocolDay::new(market, config);
    day.add(records, &mut take).unwrap();
    day.finish(&mut take).unwrap();
    packets
}

fn config(protocol: FeedProtocol) -> ProtocolConfig {
    ProtocolConfig { protocol, midnight_ns: MIDNIGHT_NS, units: 2, has_line_b: false }
}

/// Equal parts, one by one, so that a failure is short.
fn assert_same(name: &str, found: &DayLog, expected: &DayLog) {
    assert!(found.prints == expected.prints, "{name}: prints");
    assert!(found.breaks == expected.breaks, "{name}: breaks");
    for (symbol, rows) in &expected.levels {
        let empty = Vec::new();
        let own = found.levels.get(symbol).unwrap_or(&empty);
        let differs = rows.iter().zip(own).find(|(expected, found)| expected != found);
        assert_eq!(differs, None, "{name}: {symbol}");
        assert_eq!(own.len(), rows.len(), "{name}: {symbol}");
    }
    assert_eq!(found.levels.len(), expected.levels.len(), "{name}");
}

/// Other messages of some types, in order of time.
fn of_types(others: &[(u8, u64)], types: &[u8]) -> Vec<(u8, u64)> {
    let mut own: Vec<_> = others.iter().copied().filter(|row| types.contains(&row.0)).collect();
    own.sort_unstable_by_key(|&(tag, time)| (time, tag));
    own
}

#[test]
fn every_protocol_shows_the_same_books_and_trades_after_every_event() {
    for seed in [1, 2, 3] {
        let market = market(seed);
        let records = records(market);
        let (itch, others) = itch::read(&records);
        assert!(itch.levels.values().map(Vec::len).sum::<usize>() > 40_000);
        assert!(itch.breaks.len() > 1 && itch.prints.len() > 50);
        let packets = |protocol| packets(&market, &records, config(protocol));

        let (plus, plus_others) = iex::read_deep_plus(&packets(FeedProtocol::IexDeepPlus));
        // With the orders of each level, in order of priority.
        assert_same("DEEP+", &plus, &itch);
        assert_eq!(of_types(&plus_others, b"SRHhYQ"), of_types(&others, b"SRHhYQ"));

        let (deep, deep_others) = iex::read_deep(&packets(FeedProtocol::IexDeep));
        assert_same("DEEP", &deep, &itch.summed());
        assert_eq!(of_types(&deep_others, b"SRHhYQI"), of_types(&others, b"SRHhYQI"));

        let (tops, tops_others) = iex::read_tops(&packets(FeedProtocol::IexTops));
        assert_same("TOPS", &tops.best(), &itch.best());
        assert_eq!(of_types(&tops_others, b"SRHhYQI"), of_types(&others, b"SRHhYQI"));

        let pitch = pitch::read(&packets(FeedProtocol::CboePitch), 2);
        assert_same("PITCH", &pitch.log, &itch);
        assert_eq!(of_types(&pitch.others, b"I"), of_types(&others, b"I"));
        let times = |others, types| -> Vec<u64> {
            of_types(others, types).into_iter().map(|(_, time)| time).collect()
        };
        assert_eq!(times(&pitch.others, b"H"), times(&others, b"HhY"));
        assert!(pitch.kept > 50 && pitch.reused > 50);
        let types: Vec<u8> = pitch.types.keys().copied().collect();
        // The others are in `forms`.
        let common = [
            0x20, 0x22, 0x23, 0x24, 0x26, 0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2f, 0x31, 0x95,
            0x96, 0x97,
        ];
        assert!(common.iter().all(|tag| types.contains(tag)), "{types:02x?}");
    }
}

#[test]
fn each_unit_has_its_symbols_numbers_and_clock() {
    let market = market(4);
    let records = records(market);
    let (itch, _) = itch::read(&records);
    for units in [1, 7, 200] {
        let config = ProtocolConfig { units, ..config(FeedProtocol::CboePitch) };
        let pitch = pitch::read(&packets(&market, &records, config), units.into());
        assert_same("PITCH", &pitch.log, &itch);
        assert_eq!((pitch.types[&0x97], pitch.types[&0x2d]), (units.into(), units.into()));
    }
}

#[test]
fn a_stream_is_never_quiet_for_long() {
    let market = market(5);
    let records = records(market);
    for protocol in FeedProtocol::ALL {
        let packets = packets(&market, &records, config(protocol));
        for stream in 0..config(protocol).streams() {
            let own = packets.iter().filter(|packet| packet.stream == stream);
            let times: Vec<u64> = own.map(|packet| packet.ts_ns).collect();
            let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
            // A heartbeat waits for the messages of other units.
            assert!((1_000_000_000..2_000_000_000).contains(&longest), "{protocol}: {longest}");
            // From 03:00 to 20:05.
            assert!(times.len() > 61_000);
        }
    }
}

#[test]
fn line_b_repeats_line_a_later() {
    let market = market(6);
    let records = records(market);
    for protocol in FeedProtocol::ALL {
        let alone = packets(&market, &records, config(protocol));
        let both = ProtocolConfig { has_line_b: true, ..config(protocol) };
        let (a, b): (Vec<_>, Vec<_>) =
            packets(&market, &records, both).into_iter().partition(|packet| packet.line == 0);
        assert!(a == alone && b.len() == a.len());
        let later = b.into_iter().map(|packet| OwnedPacket {
            ts_ns: packet.ts_ns - 900,
            line: 0,
            ..packet
        });
        assert!(later.eq(a), "{protocol}");
    }
}

#[test]
fn a_day_taken_in_pieces_gives_the_same_packets() {
    let market = market(7);
    let records = records(market);
    for protocol in FeedProtocol::ALL {
        let (mut day, mut found) = (ProtocolDay::new(&market, config(protocol)), Vec::new());
        let mut take = |packet: FeedPacket<'_>| {
            found.push((packet.ts_ns, packet.stream, packet.payload.to_vec()));
            Ok(())
        };
        for record in Records::new(&records, 0) {
            let from = record.offset as usize;
            day.add(&records[from..from + 2 + record.bytes.len()], &mut take).unwrap();
        }
        day.finish(&mut take).unwrap();
        let whole = packets(&market, &records, config(protocol));
        let whole = whole.into_iter().map(|packet| (packet.ts_ns, packet.stream, packet.payload));
        assert!(whole.eq(found), "{protocol}");
    }
}

/// Records that are no messages, messages about unknown orders, and times that go back.
#[test]
fn odd_records_have_no_effect() {
    let market = market(8);
    let mut records = records(market);
    // Every order enters under another number than the one by which it leaves.
    let mut at = 0;
    while at < records.len() {
        let length = usize::from(u16::from_be_bytes([records[at], records[at + 1]]));
        match records[at + 2] {
            b'A' if at % 3 == 0 => records[at + 2 + 11] ^= 0x80,
            b'D' if at % 3 == 0 => records[at + 2] = 0,
            b'P' => records[at + 2 + 5..at + 2 + 11].fill(0xff),
            _ => {}
        }
        at += 2 + length;
    }
    for protocol in FeedProtocol::ALL {
        let mut day = ProtocolDay::new(&market, config(protocol));
        let mut count = 0;
        let mut take = |_: FeedPacket<'_>| {
            count += 1;
            Ok(())
        };
        day.add(&records, &mut take).unwrap();
        day.add(b"\0\0", &mut take).unwrap();
        day.add(b"\0\x05cut", &mut take).unwrap();
        day.finish(&mut take).unwrap();
        assert!(count > 100, "{protocol}");
    }
}

#[test]
fn an_error_of_the_taker_ends_the_day() {
    let market = market(9);
    let mut day = ProtocolDay::new(&market, config(FeedProtocol::IexTops));
    let error = day.add(&records(market), &mut |_| Err(std::io::ErrorKind::WriteZero.into()));
    assert_eq!(error.unwrap_err().kind(), std::io::ErrorKind::WriteZero);
}

/// FNV-1a over times, places and payloads.
fn digest(protocol: FeedProtocol, seed: u64) -> u64 {
    let market = MarketConfig { messages: 20_000, symbols: 30, seed, ..MarketConfig::default() };
    let both = ProtocolConfig { has_line_b: true, ..config(protocol) };
    let packets = packets(&market, &records(market), both);
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for OwnedPacket { ts_ns, line, stream, payload } in packets {
        let place = [line as u8, stream as u8];
        let bytes = ts_ns.to_le_bytes().into_iter().chain(place).chain(payload);
        hash = bytes.fold(hash, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    }
    hash
}

/// If this fails on one machine only, that machine computes differently. If it fails everywhere,
/// the packets have changed: check that this was intended, then write the new numbers.
#[test]
fn the_packets_are_the_same_on_every_machine() {
    let digests = FeedProtocol::ALL.map(|protocol| digest(protocol, 1));
    assert_eq!(
        digests,
        [6825628761259078333, 7567453107997179750, 17050559817237602592, 14506436246508976161]
    );
    assert_ne!(digest(FeedProtocol::IexTops, 2), digests[2]);
}
