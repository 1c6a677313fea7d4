//! The configuration of a market, and the reasons to reject one.

use core::{fmt, str::FromStr};

use nanotape_types::Symbol;
use thiserror::Error;

use super::universe::Universe;

/// Messages that every day has: six system events and the circuit breaker's levels.
const MESSAGES_PER_DAY: u64 = 7;

/// Messages that every stock has: directory, trading state, short sale test, two crosses.
const MESSAGES_PER_STOCK: u64 = 5;

/// The day to make. Equal configurations give equal bytes on every machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MarketConfig {
    /// The exact number of messages. At least [`MarketConfig::minimum_messages`].
    pub messages: u64,
    /// Number of stocks, with locates `1..=symbols`. At least 1.
    pub symbols: u16,
    /// Chooses the stocks, and together with `date` the events of the day.
    pub seed: u64,
    /// Chooses another day of the same stocks. ITCH messages contain no date; file names do.
    pub date: TradeDate,
}

impl MarketConfig {
    /// The fewest messages of a valid day of `symbols` stocks, without any orders.
    pub const fn minimum_messages(symbols: u16) -> u64 {
        MESSAGES_PER_DAY + MESSAGES_PER_STOCK * symbols as u64
    }

    /// The symbols of the stocks, in the order of their locates, from 1.
    pub fn stock_symbols(&self) -> Vec<Symbol> {
        Universe::new(self.symbols, self.seed).listings.iter().map(|stock| stock.symbol).collect()
    }

    /// Checks that a day can be made of this.
    pub(super) fn check(&self) -> Result<(), MarketError> {
        if self.symbols == 0 {
            return Err(MarketError::NoSymbols);
        }
        let (messages, symbols) = (self.messages, self.symbols);
        let minimum = Self::minimum_messages(symbols);
        if messages < minimum {
            return Err(MarketError::TooFewMessages { messages, symbols, minimum });
        }
        if messages > MAX_MESSAGES {
            return Err(MarketError::TooManyMessages { messages, maximum: MAX_MESSAGES });
        }
        Ok(())
    }
}

/// Keeps every order handle within 32 bits and every clock bin within a reasonable buffer: ten
/// times the busiest day so far.
const MAX_MESSAGES: u64 = 10_000_000_000;

/// Five million messages of 8,500 stocks, as in the demo.
impl Default for MarketConfig {
    fn default() -> Self {
        Self { messages: 5_000_000, symbols: 8_500, seed: 1, date: TradeDate::DEFAULT }
    }
}

/// Why a day cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum MarketError {
    /// A market needs stocks.
    #[error("a market needs at least one symbol")]
    NoSymbols,
    /// There is not enough room for the directory and the crosses.
    #[error(
        "{messages} messages are too few for {symbols} symbols: a day of that many needs at least \
         {minimum}"
    )]
    TooFewMessages {
        /// Messages requested.
        messages: u64,
        /// Stocks requested.
        symbols: u16,
        /// Messages that this many stocks need.
        minimum: u64,
    },
    /// More messages than the generator supports.
    #[error("{messages} messages are too many: at most {maximum} are possible")]
    TooManyMessages {
        /// Messages requested.
        messages: u64,
        /// The maximum.
        maximum: u64,
    },
}

/// A day of the calendar, `YYYY-MM-DD`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TradeDate {
    year: u16,
    month: u8,
    day: u8,
}

impl TradeDate {
    /// The day of the census that supplies the mix of messages.
    const DEFAULT: Self = Self { year: 2019, month: 12, day: 30 };

    /// The date, or `None` if the calendar has no such day or the year does not have four digits.
    pub fn new(year: u16, month: u8, day: u8) -> Option<Self> {
        let leap =
            year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let days = match month {
            1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
            4 | 6 | 9 | 11 => 30,
            2 if leap => 29,
            2 => 28,
            _ => return None,
        };
        let valid = (1000..=9999).contains(&year) && (1..=days).contains(&day);
        valid.then_some(Self { year, month, day })
    }

    /// The name of such a day among the public files: `12302019.NASDAQ_ITCH50`.
    pub fn file_name(self) -> String {
        format!("{:02}{:02}{:04}.NASDAQ_ITCH50", self.month, self.day, self.year)
    }

    /// A number that differs from date to date.
    pub(super) fn number(self) -> u64 {
        u64::from(self.year) * 10_000 + u64::from(self.month) * 100 + u64::from(self.day)
    }
}

impl Default for TradeDate {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for TradeDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// The text is not a date.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("expected a date such as 2019-12-30")]
pub struct ParseDateError;

impl FromStr for TradeDate {
    type Err = ParseDateError;

    fn from_str(text: &str) -> Result<Self, ParseDateError> {
        let mut parts = text.split('-');
        let mut number = |digits: usize| -> Result<u16, ParseDateError> {
            let part = parts.next().ok_or(ParseDateError)?;
            if part.len() != digits || !part.bytes().all(|b| b.is_ascii_digit()) {
                return Err(ParseDateError);
            }
            part.parse().map_err(|_| ParseDateError)
        };
        let (year, month, day) = (number(4)?, number(2)? as u8, number(2)? as u8);
        if parts.next().is_some() {
            return Err(ParseDateError);
        }
        Self::new(year, month, day).ok_or(ParseDateError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_print_parse_and_name_files() {
        let date: TradeDate = "2024-02-29".parse().unwrap();
        assert_eq!(date.to_string(), "2024-02-29");
        assert_eq!(date.file_name(), "02292024.NASDAQ_ITCH50");
        for text in
            ["", "2023-02-29", "2024-13-01", "2024-00-10", "24-01-01", "2024-1-1", "2024-01-01-"]
        {
            assert_eq!(text.parse::<TradeDate>(), Err(ParseDateError), "{text:?}");
        }
    }

    #[test]
    fn impossible_days_are_refused_with_what_they_need() {
        let config = MarketConfig { messages: 46, symbols: 8, ..MarketConfig::default() };
        let error = config.check().unwrap_err();
        assert_eq!(error, MarketError::TooFewMessages { messages: 46, symbols: 8, minimum: 47 });
        assert!(error.to_string().contains("47"));
        assert_eq!(MarketConfig { messages: 47, ..config }.check(), Ok(()));
        assert_eq!(MarketConfig { symbols: 0, ..config }.check(), Err(MarketError::NoSymbols));
    }
}
