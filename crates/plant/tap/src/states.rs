//! The newest state of every stock, in a map that all processes of the machine read: what
//! `nanotape run --latest` keeps.
//!
//! Where: [`LatestKeeper`](crate::LatestKeeper) is a process of its own behind a plant, which
//! reads the ring and, where it was too slow, the journal.
//! [`Subscription::with_latest`](crate::Subscription::with_latest) begins with the map and goes on
//! with the records after it.
//! Layout: `docs/formats/stock-state.md` has the values. A key is two words: the publisher as DBN
//! numbers it, and the eight letters of a symbol, padded with spaces. The symbol `*` is the market
//! as a whole.
//! Protocol: the keeper writes each changed stock, with the number of its last record, and then
//! the entry of the market with the number up to which everything is written. So a reader that
//! copies the market's entry first and the stocks after it has of every stock at least the records
//! up to that number. It goes on with the next one, and leaves out what a stock has already. A
//! stock that gets another key has both for a moment; the market's entry counts such changes
//! before the old key leaves.
//! Failure: a keeper that was killed goes on in the same way, and counts nothing twice. What it
//! could not read stays in [`doubts`](StockState::doubts) of every stock, up to the next run.

pub mod doubt;
mod generated {
    pub(super) mod stock_state;
}

use std::{cmp::Reverse, path::Path};

pub use generated::stock_state::StockState;
use nanotape_latest::{LatestError, LatestReader, LatestSpec};
use nanotape_types::Symbol;

/// Words of a key.
pub const STOCK_KEY_WORDS: usize = 2;

/// Words of a state.
pub(crate) const WORDS: usize = StockState::<()>::WORDS;

/// The state of a stock, copied.
pub type StockWords = [u64; WORDS];

/// Keys that a map of stocks has room for, if it is not configured: the stock locates of a plant.
pub const STOCKS: u64 = 1 << 16;

/// Writers of such a map at the same time: keepers of several plants, and tools.
const WRITERS: u32 = 16;

/// The symbol of the market as a whole: no stock has it.
pub const WHOLE_MARKET: Symbol = Symbol::new(*b"*       ");

/// The map for so many stocks, with room for the market and for the second key of a stock.
pub fn stock_map(stocks: u64) -> LatestSpec {
    let entries = stocks.saturating_add(2);
    LatestSpec::of_values::<StockState<()>>(entries, STOCK_KEY_WORDS, WRITERS)
}

/// The key of a stock.
pub fn stock_key(publisher: u16, symbol: Symbol) -> [u64; STOCK_KEY_WORDS] {
    [publisher.into(), u64::from_le_bytes(symbol.as_bytes())]
}

/// The symbol in a key of this publisher.
pub(crate) fn symbol_of(key: &[u64], publisher: u16) -> Option<Symbol> {
    let [of, symbol] = key else { return None };
    (*of == u64::from(publisher)).then(|| Symbol::new(symbol.to_le_bytes()))
}

impl<W: AsRef<[u64]>> StockState<W> {
    /// The sum of price times shares of all trades, in 1e-9 of the currency.
    pub fn notional(&self) -> i128 {
        i128::from(self.notional_high()) << 64 | i128::from(self.notional_low())
    }

    /// The volume-weighted average price of all trades, in 1e-9 of the currency, rounded toward 0;
    /// `None` without a trade.
    pub fn vwap(&self) -> Option<i64> {
        let volume = i128::from(self.volume());
        self.notional().checked_div(volume).and_then(|price| price.try_into().ok())
    }

    /// Whether there is no [doubt](doubt).
    pub fn is_reliable(&self) -> bool {
        self.doubts() == 0
    }
}

/// A copy of the states of a publisher: the market, and the stocks, each at its own number.
#[derive(Clone, Debug)]
pub struct CopiedStocks {
    /// The market as a whole.
    pub market: StockState<StockWords>,
    /// The stocks, by their locates.
    pub stocks: Vec<(Symbol, StockState<StockWords>)>,
}

/// Why a map of stocks cannot be copied.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// The map cannot be read.
    #[error(transparent)]
    Latest(#[from] LatestError),
    /// A map of other keys.
    #[error("is a map of other keys: expected {STOCK_KEY_WORDS} words, a publisher and a symbol")]
    OtherKeys,
    /// No keeper has written the map.
    #[error("has no entry of the market: no keeper has begun (nanotape run --latest)")]
    Empty,
}

impl CopyError {
    /// Whether the content is bad, rather than a name or a permission.
    pub fn is_bad_data(&self) -> bool {
        match self {
            Self::Latest(error) => error.is_bad_data(),
            Self::OtherKeys | Self::Empty => false,
        }
    }
}

/// The state of the market of a publisher as a whole, from the map at a path.
pub fn read_market(path: &Path, publisher: u16) -> Result<StockState<StockWords>, CopyError> {
    let reader = LatestReader::open(path)?;
    check_values(&reader)?;
    market_of(&reader, publisher)
}

/// Refuses a map of other values.
pub fn require_stock_map(path: &Path) -> Result<(), CopyError> {
    check_values(&LatestReader::open(path)?)
}

fn check_values(reader: &LatestReader) -> Result<(), CopyError> {
    reader.expect::<StockState<()>>()?;
    match reader.spec().key_words {
        STOCK_KEY_WORDS => Ok(()),
        _ => Err(CopyError::OtherKeys),
    }
}

fn market_of(reader: &LatestReader, publisher: u16) -> Result<StockState<StockWords>, CopyError> {
    let mut words = [0; WORDS];
    let key = stock_key(publisher, WHOLE_MARKET);
    reader.get(&key, &mut words)?.ok_or(CopyError::Empty)?;
    Ok(StockState::of(words))
}

impl CopiedStocks {
    /// Copies the states of a publisher from the map at a path.
    pub fn read(path: &Path, publisher: u16) -> Result<Self, CopyError> {
        Self::of(&LatestReader::open(path)?, publisher)
    }

    /// Copies the states of a publisher from a map. Repeats it while a new run begins, or if a
    /// stock got another key meanwhile.
    pub fn of(reader: &LatestReader, publisher: u16) -> Result<Self, CopyError> {
        let mut copied = Self::with_old_keys(reader, publisher)?;
        copied.stocks.sort_by_key(|(key, state)| {
            let is_number = key.as_bytes()[0] == b'#';
            (state.instrument_id(), Reverse(state.sequence()), is_number)
        });
        copied.stocks.dedup_by_key(|(_, state)| state.instrument_id());
        Ok(copied)
    }

    /// The same, with the old entry of a stock that gets another key.
    pub(crate) fn with_old_keys(reader: &LatestReader, publisher: u16) -> Result<Self, CopyError> {
        check_values(reader)?;
        let market = || market_of(reader, publisher);
        loop {
            // The number first: every entry that is copied after it has at least its records.
            let first = market()?;
            let began =
                |market: &StockState<StockWords>| (market.started_ns(), market.key_changes());
            let mut stocks = Vec::new();
            reader.for_each(|key, value, _| {
                let symbol = symbol_of(key, publisher).filter(|symbol| *symbol != WHOLE_MARKET);
                let (Some(symbol), Ok(words)) = (symbol, value.try_into()) else { return };
                let state = StockState::<StockWords>::of(words);
                if state.started_ns() == first.started_ns() {
                    stocks.push((symbol, state));
                }
            })?;
            if began(&market()?) == began(&first) {
                return Ok(Self { market: first, stocks });
            }
        }
    }

    /// The number of the next record: the entries have every one before it.
    pub fn next_sequence(&self) -> u64 {
        self.market.sequence() + 1
    }
}
