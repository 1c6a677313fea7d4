//! Best prices over venues. Pure: it has no clock and reads nothing. Prices of all venues are of
//! [`PriceScale::WIDE`](nanotape_types::PriceScale::WIDE).

use std::collections::HashMap;

use nanotape_book::{Inside, Quote};
use nanotape_types::{Price, Side, Symbol};

/// How many venues there can be.
pub const MOST_VENUES: usize = 64;

/// Some of the venues, by their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct VenueSet(u64);

impl VenueSet {
    /// The set with one more.
    #[must_use]
    pub fn with(self, venue: usize) -> Self {
        Self(self.0 | 1 << venue)
    }

    /// Whether the set has a venue.
    pub fn has(self, venue: usize) -> bool {
        self.0 >> venue & 1 == 1
    }

    /// Their numbers, in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..MOST_VENUES).filter(move |&venue| self.has(venue))
    }
}

/// The best price of one side, and the shares of all venues at it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConsolidatedQuote {
    /// Best price.
    pub price: Price,
    /// Displayed shares at it, of all venues.
    pub shares: u64,
    /// The venues that have the price.
    pub venues: VenueSet,
}

/// Best bid and best offer over venues; a side without a quote is `None`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ConsolidatedInside {
    /// Highest buying price.
    pub bid: Option<ConsolidatedQuote>,
    /// Lowest selling price.
    pub offer: Option<ConsolidatedQuote>,
}

/// The best prices of each stock at each venue, and over all of them.
#[derive(Debug)]
pub struct ConsolidatedBooks {
    /// The time of its last event for each venue that is stale.
    stale: Vec<Option<u64>>,
    /// Stocks by symbol, with numbers in the order of their first quotes.
    stocks: HashMap<Symbol, usize>,
    symbols: Vec<Symbol>,
    /// A stock's insides at all venues, one stock after the other.
    insides: Vec<Inside>,
    /// The consolidated insides of stocks.
    best: Vec<ConsolidatedInside>,
}

impl ConsolidatedBooks {
    /// Books of this many venues: 1 to [`MOST_VENUES`].
    pub fn new(venues: usize) -> Self {
        assert!((1..=MOST_VENUES).contains(&venues), "{venues} venues");
        Self {
            stale: vec![None; venues],
            stocks: HashMap::new(),
            symbols: Vec::new(),
            insides: Vec::new(),
            best: Vec::new(),
        }
    }

    /// Sets the inside of a stock at a venue. Returns the number of the stock if that changed its
    /// best price, the size at it, or the venues that have it.
    pub fn set(&mut self, venue: usize, symbol: Symbol, inside: Inside) -> Option<usize> {
        let Self { stocks, symbols, insides, best, stale } = self;
        let stock = *stocks.entry(symbol).or_insert_with(|| {
            symbols.push(symbol);
            insides.extend(stale.iter().map(|_| Inside::default()));
            best.push(ConsolidatedInside::default());
            best.len() - 1
        });
        self.insides[stock * self.stale.len() + venue] = inside;
        self.update(stock).then_some(stock)
    }

    /// Makes a venue stale since its last event, or not stale. Returns the stocks that have a quote
    /// there, in the order of their symbols.
    pub fn set_stale(&mut self, venue: usize, since_ns: Option<u64>) -> Vec<usize> {
        self.stale[venue] = since_ns;
        let venues = self.stale.len();
        let has_quote = |stock: &usize| self.insides[stock * venues + venue] != Inside::default();
        let mut stocks: Vec<_> = (0..self.symbols.len()).filter(has_quote).collect();
        stocks.sort_unstable_by_key(|&stock| self.symbols[stock]);
        for &stock in &stocks {
            self.update(stock);
        }
        stocks
    }

    /// For each venue the time of its last event, if it is stale.
    pub fn stale(&self) -> &[Option<u64>] {
        &self.stale
    }

    /// The symbol of a stock.
    pub fn symbol(&self, stock: usize) -> Symbol {
        self.symbols[stock]
    }

    /// The best bid and offer of a stock over all venues that are not stale.
    pub fn inside(&self, stock: usize) -> ConsolidatedInside {
        self.best[stock]
    }

    /// Computes the best prices of a stock. Returns whether they changed.
    fn update(&mut self, stock: usize) -> bool {
        let venues = self.stale.len();
        let insides = &self.insides[stock * venues..][..venues];
        let mut inside = ConsolidatedInside::default();
        for (venue, (at_venue, stale)) in insides.iter().zip(&self.stale).enumerate() {
            if stale.is_some() {
                continue;
            }
            improve(&mut inside.bid, at_venue.bid, venue, Side::Buy);
            improve(&mut inside.offer, at_venue.offer, venue, Side::Sell);
        }
        std::mem::replace(&mut self.best[stock], inside) != inside
    }
}

/// Adds the quote of a venue to the best one of its side.
fn improve(best: &mut Option<ConsolidatedQuote>, quote: Option<Quote>, venue: usize, side: Side) {
    let Some(Quote { price, shares }) = quote else { return };
    let shares = shares.get();
    match best {
        Some(best) if best.price == price => {
            best.shares = best.shares.saturating_add(shares);
            best.venues = best.venues.with(venue);
        }
        Some(best) if (best.price > price) == (side == Side::Buy) => {}
        _ => {
            let venues = VenueSet::default().with(venue);
            *best = Some(ConsolidatedQuote { price, shares, venues });
        }
    }
}
