//! A synthetic day of a feed, and the books that it leads to.

use core::ops::ControlFlow;
use std::collections::BTreeMap;

use nanotape_book::{DefaultBooks, Order, OrderStore as _};
use nanotape_engine::{BookEngine, Observer};
use nanotape_feed::{Feed, FeedDecoder, capture::Carried, channels::ChannelFraming};
use nanotape_market::{MarketEvent, Position, SessionChange};
use nanotape_synth::{FeedProtocol, Market, MarketConfig, ProtocolConfig, ProtocolDay};
use nanotape_types::{OrderReferenceNumber, Side, Symbol};
use nanotape_wire::{
    framing::{
        numbered::PacketKind,
        pitch::{PitchUnit, UnitWriter},
    },
    pitch::{AddFlags, AddOrderLongFields, SideIndicator},
};

/// Midnight of 2019-12-30 in New York.
pub(super) const MIDNIGHT_NS: u64 = 1_577_682_000_000_000_000;

/// A packet of the day, of one channel.
#[derive(Clone, Debug)]
pub(super) struct DayPacket {
    pub(super) stream: usize,
    pub(super) first: u64,
    pub(super) bytes: Vec<u8>,
}

/// A day: the packets with messages, and the messages of each channel.
#[derive(Debug)]
pub(super) struct TestDay {
    pub(super) packets: Vec<DayPacket>,
    pub(super) messages: Vec<Vec<Vec<u8>>>,
    pub(super) carried: Vec<Carried>,
    pub(super) feed: Feed,
}

impl TestDay {
    /// A day of a framing.
    pub(super) fn of<F: ChannelFraming>(
        (protocol, feed): (FeedProtocol, Feed),
        units: u8,
        messages: u64,
    ) -> Self {
        let market = MarketConfig { messages, symbols: 12, ..MarketConfig::default() };
        let config =
            ProtocolConfig { protocol, midnight_ns: MIDNIGHT_NS, units, has_line_b: false };
        let mut day = Self {
            packets: Vec::new(),
            messages: vec![Vec::new(); usize::from(units)],
            carried: Vec::new(),
            feed,
        };
        let mut take = |packet: nanotape_synth::FeedPacket<'_>| {
            let decoded = F::decode(packet.payload).unwrap();
            if decoded.kind == PacketKind::Data {
                let (stream, first, bytes) =
                    (packet.stream, decoded.first, packet.payload.to_vec());
                day.messages[stream].extend(decoded.messages().map(|(_, bytes)| bytes.to_vec()));
                day.packets.push(DayPacket { stream, first, bytes });
                let carried = F::carried(decoded.session);
                if day.carried.len() == stream {
                    day.carried.push(carried);
                }
            }
            Ok(())
        };
        let mut of_day = ProtocolDay::new(&market, config);
        let (mut records, mut source) = (Vec::new(), Market::new(market).unwrap());
        while source.fill(&mut records) {
            of_day.add(&records, &mut take).unwrap();
            records.clear();
        }
        of_day.finish(&mut take).unwrap();
        assert_eq!(day.carried.len(), usize::from(units), "each channel has messages");
        day
    }
}

/// Books that take the messages of a channel one after the other, without any loss.
pub(super) struct Reference {
    decoder: FeedDecoder,
    pub(super) engine: BookEngine<DefaultBooks>,
    pub(super) done: usize,
    carried: Carried,
}

impl Reference {
    pub(super) fn new(day: &TestDay, stream: usize) -> Self {
        let decoder = FeedDecoder::begin(day.feed, MIDNIGHT_NS);
        let engine = BookEngine::new(DefaultBooks::with_capacity(1024));
        Self { decoder, engine, done: 0, carried: day.carried[stream] }
    }

    /// Takes the messages up to this many.
    pub(super) fn advance(&mut self, messages: &[Vec<u8>], to: usize) {
        assert!(to >= self.done, "the books are at {}, not at {to}", self.done);
        let these = messages[self.done..to].iter().map(Vec::as_slice);
        let first = self.done as u64 + 1;
        let mut observer = ();
        let mut handler = self.engine.live(&mut observer);
        let flow = self.decoder.messages(self.carried, first, these, &mut handler);
        assert!(flow.is_continue());
        self.done = to;
    }

    /// The messages of an image of these books: a time, and the orders.
    pub(super) fn image(&self) -> Vec<Vec<u8>> {
        let mut messages = vec![[&[6, 0x20][..], &40_000_u32.to_le_bytes()].concat()];
        for (symbol, reference, order) in queued(&self.engine) {
            let mut letters = [b' '; 6];
            letters.copy_from_slice(&symbol.as_bytes()[..6]);
            let side = match order.side {
                Side::Buy => SideIndicator::Buy,
                Side::Sell => SideIndicator::Sell,
            };
            let fields = AddOrderLongFields {
                time_offset: nanotape_types::NanosOffset::new(0),
                order_reference_number: reference,
                side_indicator: side,
                shares: order.shares,
                symbol: nanotape_types::Alpha::new(letters),
                price: nanotape_types::Decimal::new(
                    nanotape_types::PriceScale::WIDE.ten_thousandths(order.price),
                ),
                add_flags: AddFlags::new(1),
            };
            messages.push(fields.encode().to_vec());
        }
        messages
    }
}

/// The live orders with their symbols, each level in queue order.
pub(super) fn queued(
    engine: &BookEngine<DefaultBooks>,
) -> Vec<(Symbol, OrderReferenceNumber, Order)> {
    let orders = engine.books().by_queue(engine.books().orders().iter().collect());
    let named = orders.into_iter().map(|(reference, order)| {
        (engine.directory().symbol(order.stock_locate).unwrap(), reference, order)
    });
    named.collect()
}

/// An order without what depends on the place of its book: reference number, side, price, shares.
type PlainOrder = (u64, bool, u32, u32);

/// The orders of each symbol.
pub(super) type OrdersBySymbol = BTreeMap<[u8; 8], Vec<PlainOrder>>;

/// The books by symbol, each level in queue order.
pub(super) fn books(engine: &BookEngine<DefaultBooks>) -> OrdersBySymbol {
    let mut books = OrdersBySymbol::new();
    for (symbol, reference, order) in queued(engine) {
        let plain =
            (reference.get(), order.side == Side::Buy, order.price.code(), order.shares.get());
        books.entry(symbol.as_bytes()).or_default().push(plain);
    }
    books
}

/// Checks the numbers of events, and keeps the changes of the session.
#[derive(Debug, Default)]
pub(super) struct Watcher {
    last: u64,
    pub(super) messages: u64,
    pub(super) changes: Vec<SessionChange>,
    pub(super) missing: u64,
}

impl<B> Observer<B> for Watcher {
    fn admit(&mut self, at: Position, _: &MarketEvent) -> ControlFlow<()> {
        assert!(at.number >= self.last, "{} after {}", at.number, self.last);
        self.messages += u64::from(at.number > self.last);
        self.last = at.number;
        ControlFlow::Continue(())
    }

    fn damage(&mut self, damage: nanotape_market::Damage) {
        if let nanotape_market::Damage::Missing { first, next } = damage {
            self.missing += next - first;
        }
    }

    fn session(&mut self, change: &SessionChange) {
        self.changes.push(change.clone());
    }
}

/// A unit with these messages, of which the first has this number; 0 for none.
pub(super) fn unit(unit: u8, first: u64, messages: &[Vec<u8>]) -> Vec<u8> {
    let mut buffer = [0; 1_400];
    let mut writer = UnitWriter::new(PitchUnit(unit), first, &mut buffer).unwrap();
    assert!(messages.iter().all(|message| writer.push(message)));
    writer.finish().to_vec()
}
