//! One synthetic day in the protocols of several exchanges: the books of all end with the same
//! insides, levels and trades at the ends of events. Each decoder, the channels of captures, the
//! parts of changes and the books are the same market only if all of them are right.

use std::{
    collections::{BTreeMap, hash_map::DefaultHasher},
    hash::{Hash as _, Hasher as _},
    net::{Ipv4Addr, SocketAddrV4},
    ops::ControlFlow,
};

use nanotape_book::{DefaultBooks, Inside, Order, Outcome};
use nanotape_engine::{BookEngine, Observer};
use nanotape_feed::DaySource;
use nanotape_market::{Execution, MarketEvent, Position, Trade, What};
use nanotape_synth::{FeedProtocol, Market, MarketConfig, ProtocolConfig, ProtocolDay};
use nanotape_types::{Price, Side, Symbol};
use nanotape_wire::capture::{CaptureFormat, CaptureWriter, FrameWriter, LinkType};

/// Of 2019-12-30 in New York.
const MIDNIGHT_NS: u64 = 1_577_682_000_000_000_000;

fn config(seed: u64) -> MarketConfig {
    MarketConfig { messages: 40_000, symbols: 30, seed, ..MarketConfig::default() }
}

fn itch(seed: u64) -> DaySource {
    let mut bytes = Vec::new();
    Market::new(config(seed)).unwrap().write_to(&mut bytes).unwrap();
    let mut source = DaySource::memory("itch", bytes);
    source.set_day_begins(MIDNIGHT_NS);
    source
}

/// The day as a capture.
fn captured(seed: u64, protocol: FeedProtocol, has_line_b: bool) -> DaySource {
    let writer = CaptureWriter::new(CaptureFormat::Pcap, LinkType::ETHERNET, 1);
    let mut buffer = vec![0; 1 << 17];
    let length = writer.header(&mut buffer).unwrap();
    let mut bytes = buffer[..length].to_vec();
    let mut frame = vec![0; 1 << 16];
    let of_feed = ProtocolConfig { protocol, midnight_ns: MIDNIGHT_NS, units: 3, has_line_b };
    let mut day = ProtocolDay::new(&config(seed), of_feed);
    let mut write = |packet: nanotape_synth::FeedPacket<'_>| {
        let at = |host: u8, port: u16| SocketAddrV4::new(Ipv4Addr::new(239, 1, 1, host), port);
        let frames = FrameWriter {
            source: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1),
            destination: at(1 + packet.line as u8, 5_000 + packet.stream as u16),
            source_mac: [2; 6],
            vlans: &[],
            time_to_live: 1,
        };
        let length = frames.write(0, packet.payload, &mut frame).unwrap();
        let length = writer.packet(packet.ts_ns, 0, &frame[..length], &mut buffer).unwrap();
        bytes.extend_from_slice(&buffer[..length]);
        Ok(())
    };
    let (mut records, mut source) = (Vec::new(), Market::new(config(seed)).unwrap());
    while source.fill(&mut records) {
        day.add(&records, &mut write).unwrap();
        records.clear();
    }
    day.finish(&mut write).unwrap();
    let mut source = DaySource::memory(protocol.name(), bytes);
    source.set_day_begins(MIDNIGHT_NS);
    source
}

/// What a market shows of a stock: each with the time of its event.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Shown {
    insides: Vec<(u64, Inside)>,
    /// Hashes of all levels after each event that changed them.
    levels: Vec<(u64, u64)>,
    /// Shares and price.
    trades: Vec<(u64, u64, Price)>,
}

#[derive(Default)]
struct Watching {
    stocks: BTreeMap<Symbol, Shown>,
    reduced: Option<Order>,
    anomalies: u64,
}

impl Observer<DefaultBooks> for Watching {
    fn before(&mut self, _: &BookEngine<DefaultBooks>, _: Position, _: &MarketEvent) {
        self.reduced = None;
    }

    fn order_reduced(&mut self, order: &Order, _: u32) {
        self.reduced = Some(*order);
    }

    fn after(
        &mut self,
        engine: &BookEngine<DefaultBooks>,
        _: Position,
        event: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        let locate = outcome.map_or(event.stock_locate, |outcome| outcome.stock_locate);
        let Some(symbol) = engine.directory().symbol(locate) else {
            return ControlFlow::Continue(());
        };
        let shown = self.stocks.entry(symbol).or_default();
        let time = event.time.map_or(0, |time| time.get());
        self.anomalies += u64::from(outcome.is_some_and(|outcome| outcome.anomaly.is_some()));
        match event.what {
            What::Execution(Execution { shares, price, is_printed: true, .. }) => {
                let price = price.or(self.reduced.map(|order| order.price)).unwrap();
                shown.trades.push((time, shares.get().into(), price));
            }
            What::Trade(Trade { shares, price, .. }) if shares.get() > 0 => {
                shown.trades.push((time, shares.get(), price));
            }
            _ => {}
        }
        let Some(outcome) = outcome.filter(|_| event.is_last) else {
            return ControlFlow::Continue(());
        };
        let book = engine.books().book(locate);
        if outcome.inside_changed {
            shown.insides.push((time, book.inside()));
        }
        let mut hasher = DefaultHasher::new();
        for side in Side::BOTH {
            book.depth(side).for_each(|level| (level.price, level.shares).hash(&mut hasher));
            side.hash(&mut hasher);
        }
        let hash = hasher.finish();
        if shown.levels.last().is_none_or(|(_, last)| *last != hash) {
            shown.levels.push((time, hash));
        }
        ControlFlow::Continue(())
    }
}

/// What a source shows, and whether its books have orders.
fn shown_by(mut source: DaySource) -> (BTreeMap<Symbol, Shown>, bool) {
    let mut engine = BookEngine::new(DefaultBooks::with_capacity(1 << 12));
    let mut watching = Watching::default();
    let name = source.name().to_owned();
    let report = engine.run(&mut source, &mut watching, |_| ()).unwrap();
    assert_eq!((watching.anomalies, report.damage.total()), (0, 0), "{name}");
    let mut stocks = watching.stocks;
    stocks.retain(|_, shown| !shown.levels.is_empty() || !shown.trades.is_empty());
    (stocks, engine.has_orders())
}

fn assert_same(itch: &BTreeMap<Symbol, Shown>, other: &BTreeMap<Symbol, Shown>, name: &str) {
    assert!(itch.keys().eq(other.keys()), "{name}");
    for (symbol, shown) in itch {
        let theirs = &other[symbol];
        let differs = |place: usize, what: &str| {
            panic!("{name}, {symbol}: {what} {place} differs: {shown:?} {theirs:?}")
        };
        let pairs = shown.insides.iter().zip(&theirs.insides);
        if let Some(place) = pairs.clone().position(|(one, two)| one != two) {
            panic!(
                "{name}, {symbol}: inside {place}: {:?}, expected {:?}",
                theirs.insides[place], shown.insides[place]
            );
        }
        if shown.insides.len() != theirs.insides.len() {
            differs(pairs.len(), "inside");
        }
        assert!(shown.levels == theirs.levels, "{name}, {symbol}: levels");
        assert_eq!(shown.trades, theirs.trades, "{name}, {symbol}");
    }
}

#[test]
fn a_day_shows_the_same_market_in_each_protocol() {
    for seed in [1, 2] {
        let (itch, has_orders) = shown_by(itch(seed));
        assert!(has_orders);
        let counts = itch.values().fold((0, 0, 0), |(insides, levels, trades), of| {
            let Shown { insides: a, levels: b, trades: c } = of;
            (insides + a.len(), levels + b.len(), trades + c.len())
        });
        assert!(counts.0 > 2_000 && counts.1 > 20_000 && counts.2 > 500, "{counts:?}");
        for (protocol, has_orders) in [
            (FeedProtocol::CboePitch, true),
            (FeedProtocol::IexDeepPlus, true),
            (FeedProtocol::IexDeep, false),
            (FeedProtocol::IexTops, false),
        ] {
            for has_line_b in [false, true] {
                let (mut other, of_orders) = shown_by(captured(seed, protocol, has_line_b));
                if protocol == FeedProtocol::IexTops {
                    // It has the best levels only.
                    for (symbol, shown) in &mut other {
                        shown.levels.clone_from(&itch[symbol].levels);
                    }
                }
                assert_same(&itch, &other, protocol.name());
                assert_eq!(of_orders, has_orders, "{protocol}");
            }
        }
    }
}
