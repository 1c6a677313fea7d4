//! A whole valid day whose books show given quotes and nothing else.
//!
//! Each side of a stock has one order, which enters, is replaced, cancelled in part and deleted so
//! that the inside is the quote. Stocks, locates and the events of the day are those of the
//! synthetic market with the same configuration; trading is never halted.

use core::iter::Peekable;

use nanotape_types::{Side, Symbol};
use nanotape_wire::itch50::{EventCode, RegShoAction, TradingState};
use thiserror::Error;

use super::{
    MarketConfig,
    calendar::{END_OF_MESSAGES, SPIN, START_OF_SYSTEM_HOURS},
    order_flow::name,
    quotes::{Quote, QuoteUpdate},
    rng::Rng,
    session_events::MILESTONES,
    tape::Tape,
    universe::Universe,
};

/// Distance of the messages about stocks in the morning.
const SPIN_GAP: u64 = 10_000;

/// A symbol that the market does not have.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("the market has no stock {symbol}")]
pub struct UnknownSymbolError {
    /// The symbol.
    pub symbol: Symbol,
}

/// The one order of a side.
#[derive(Clone, Copy, Debug)]
struct Resting {
    reference: u64,
    price: u32,
    shares: u32,
}

/// A day in progress, as the records of a day file: two bytes of length, then a message.
///
/// ```
/// use nanotape_synth::{MarketConfig, QuoteConfig, QuoteDay, QuoteStream};
///
/// let market = MarketConfig { symbols: 3, ..MarketConfig::default() };
/// let from_ns = QuoteDay::OPENS_NS;
/// let quotes = QuoteConfig { stocks: 3, updates_per_s: 100.0, from_ns, seed: 1 };
/// let mut day = QuoteDay::new(&market, &[])?;
/// QuoteStream::new(quotes).take(1_000).for_each(|update| day.push(&update));
/// let mut bytes = Vec::new();
/// day.finish(&mut bytes);
/// assert_eq!((&bytes[..3], bytes[13]), (b"\x00\x0cS".as_slice(), b'O'));
/// # Ok::<(), nanotape_synth::UnknownSymbolError>(())
/// ```
#[derive(Debug)]
pub struct QuoteDay {
    tape: Tape,
    universe: Universe,
    /// Whether a stock is part of the day.
    listed: Vec<bool>,
    orders: Vec<[Option<Resting>; 2]>,
    events: Peekable<core::array::IntoIter<(u64, EventCode), 6>>,
    time: u64,
}

impl QuoteDay {
    /// When order entry opens, in nanoseconds since midnight: no quote is shown earlier.
    pub const OPENS_NS: u64 = START_OF_SYSTEM_HOURS;

    /// Begins the day of a market with these stocks, or with all of them if there are none. The
    /// number of messages of the configuration is without meaning.
    ///
    /// # Errors
    ///
    /// If the market does not have one of the stocks.
    pub fn new(market: &MarketConfig, symbols: &[Symbol]) -> Result<Self, UnknownSymbolError> {
        let universe = Universe::new(market.symbols, market.seed);
        let listings = &universe.listings;
        let mut listed = vec![symbols.is_empty(); listings.len()];
        for &symbol in symbols {
            match listings.binary_search_by_key(&symbol, |listing| listing.symbol) {
                Ok(stock) => listed[stock] = true,
                Err(_) => return Err(UnknownSymbolError { symbol }),
            }
        }
        let orders = vec![[None; 2]; listings.len()];
        let (tape, events) = (Tape::new(), MILESTONES.into_iter().peekable());
        let mut day = Self { tape, universe, listed, orders, events, time: 0 };
        day.advance(SPIN);
        day.spin(Rng::new(market.seed, 6));
        Ok(day)
    }

    /// The symbol of a stock that is part of the day.
    pub fn symbol(&self, stock: u16) -> Option<Symbol> {
        let listing = self.universe.listings.get(usize::from(stock))?;
        self.listed[usize::from(stock)].then_some(listing.symbol)
    }

    /// Messages so far.
    pub fn messages(&self) -> u64 {
        self.tape.written()
    }

    /// Makes the inside of a stock the quote, with at most one message for each side. A time before
    /// that of the last update, or before order entry opens, counts as that time; the update of a
    /// stock that is not part of the day has no effect.
    pub fn push(&mut self, update: &QuoteUpdate) {
        let QuoteUpdate { time_ns, stock, quote } = *update;
        if self.symbol(stock).is_none() {
            return;
        }
        self.advance(time_ns.max(START_OF_SYSTEM_HOURS));
        // The side that moves away from the other goes first, so that they never meet.
        let offer = self.orders[usize::from(stock)][Side::Sell as usize];
        let bid_is_free = offer.is_none_or(|offer| quote.bid_price < offer.price);
        if bid_is_free {
            self.set_bid(stock, quote);
        }
        let Quote { offer_price, offer_shares, .. } = quote;
        self.set(stock, Side::Sell, (offer_price, offer_shares));
        if !bid_is_free {
            self.set_bid(stock, quote);
        }
    }

    /// Appends the messages since the last call, whole ones.
    pub fn drain(&mut self, bytes: &mut Vec<u8>) {
        bytes.append(&mut self.tape.bytes);
    }

    /// Ends the day with empty books, and appends its last messages.
    pub fn finish(mut self, bytes: &mut Vec<u8>) {
        self.advance(END_OF_MESSAGES - 1);
        for stock in 0..self.orders.len() {
            for side in Side::BOTH {
                self.set(stock as u16, side, (0, 0));
            }
        }
        self.tape.set_time(self.time.max(END_OF_MESSAGES));
        for (_, code) in self.events.by_ref() {
            self.tape.event(code);
        }
        self.drain(bytes);
    }

    /// Directory, trading state and short sale test of each stock.
    fn spin(&mut self, mut rng: Rng) {
        let mut time = SPIN;
        for (stock, listing) in self.universe.listings.iter().enumerate() {
            if !self.listed[stock] {
                continue;
            }
            let about = name(stock, listing);
            self.tape.set_time(time + SPIN_GAP);
            self.tape.directory(about, listing, &mut rng, false);
            self.tape.set_time(time + 2 * SPIN_GAP);
            self.tape.trading_state(about, TradingState::Trading, *b"    ");
            time += 3 * SPIN_GAP;
            self.tape.set_time(time);
            self.tape.short_sale_test(about, RegShoAction::NoPriceTest);
        }
        self.time = time;
    }

    /// Moves on to a time, with the events before it. The last one waits for the end of the day.
    fn advance(&mut self, time: u64) {
        self.time = self.time.max(time);
        let until = self.time.min(END_OF_MESSAGES - 1);
        while let Some((time, code)) = self.events.next_if(|(time, _)| *time <= until) {
            self.tape.set_time(time);
            self.tape.event(code);
        }
        self.tape.set_time(self.time);
    }

    fn set_bid(&mut self, stock: u16, quote: Quote) {
        self.set(stock, Side::Buy, (quote.bid_price, quote.bid_shares));
    }

    fn set(&mut self, stock: u16, side: Side, (price, shares): (u32, u32)) {
        let own = &mut self.orders[usize::from(stock)][side as usize];
        let listing = &self.universe.listings[usize::from(stock)];
        let about = name(usize::from(stock), listing);
        let resting = |reference| Some(Resting { reference, price, shares });
        *own = match *own {
            None if shares == 0 => None,
            None => resting(self.tape.add(about, (side, price, shares), None)),
            Some(order) if shares == 0 => {
                self.tape.delete(about, order.reference);
                None
            }
            Some(order) if order.price == price && shares <= order.shares => {
                if shares < order.shares {
                    self.tape.cancel(about, order.reference, order.shares - shares);
                }
                resting(order.reference)
            }
            Some(order) => resting(self.tape.replace(about, order.reference, (price, shares))),
        };
    }
}
