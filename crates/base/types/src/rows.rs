//! Rows of typed cells: what an answer is, independent of how it is printed or stored.
//!
//! An answer declares its [`Column`]s once, with kind, unit and meaning, and gives each row as
//! [`Cell`]s to a [`Sink`]. A sink writes text, CSV, JSON, a table of a library, or a web page.

use std::{borrow::Cow, fmt, io::Write as _, ops::ControlFlow};

use crate::{Symbol, book_price::NANOS, write_price4};

/// A column of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name, the same in every format.
    pub name: Cow<'static, str>,
    /// What its cells are.
    pub kind: Kind,
    /// The unit of its numbers; empty if they have none.
    pub unit: &'static str,
    /// What a cell says, and when it is absent.
    pub doc: Cow<'static, str>,
    /// Characters that most cells need in text.
    pub width: usize,
}

/// What the cells of a column are. Any cell can be absent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A whole number that is not negative.
    U64,
    /// A whole number.
    I64,
    /// A decimal number that is not exact.
    F64,
    /// A price in units of 1e-4.
    Price,
    /// A price in units of 1e-9.
    Price9,
    /// Nanoseconds since the exchange's midnight.
    Time,
    /// Nanoseconds since the UNIX epoch.
    UnixTime,
    /// A text, such as a symbol.
    Text,
    /// True or false.
    Flag,
}

impl Kind {
    /// Its name, in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::U64 => "unsigned",
            Self::I64 => "signed",
            Self::F64 => "decimal",
            Self::Price | Self::Price9 => "price",
            Self::Time => "time of day",
            Self::UnixTime => "time",
            Self::Text => "text",
            Self::Flag => "true or false",
        }
    }
}

impl Column {
    /// A column without a unit.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        kind: Kind,
        width: usize,
        doc: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { name: name.into(), kind, unit: "", doc: doc.into(), width }
    }

    /// The same column with a unit.
    #[must_use]
    pub fn of(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }
}

/// The value of a column in one row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Cell<'a> {
    /// The row has no value, or it is unknown.
    Absent,
    /// Rows of this kind do not have the column.
    Skipped,
    /// Of [`Kind::U64`].
    U64(u64),
    /// Of [`Kind::I64`].
    I64(i64),
    /// Of [`Kind::F64`].
    F64(f64),
    /// Of [`Kind::Price`], in units of 0.0001, less than 10^11 of them.
    Price(u64),
    /// Of [`Kind::Price9`].
    Price9(i64),
    /// Of [`Kind::Time`].
    Time(u64),
    /// Of [`Kind::UnixTime`].
    UnixTime(u64),
    /// Of [`Kind::Text`].
    Text(&'a str),
    /// A letter of [`Kind::Text`]; any byte.
    Letter(u8),
    /// The name of a stock, of [`Kind::Text`].
    Stock(StockName),
    /// Of [`Kind::Flag`].
    Flag(bool),
}

impl Cell<'_> {
    /// A number, or nothing.
    #[inline]
    pub fn u64(value: Option<u64>) -> Self {
        value.map_or(Self::Absent, Self::U64)
    }

    /// A price in units of 0.0001, or nothing.
    #[inline]
    pub fn price(value: Option<u64>) -> Self {
        value.map_or(Self::Absent, Self::Price)
    }

    /// A time of day, or nothing.
    #[inline]
    pub fn time(nanos: Option<u64>) -> Self {
        nanos.map_or(Self::Absent, Self::Time)
    }
}

/// Takes the rows of an answer.
pub trait Sink {
    /// Takes a row, with a cell for each column in order. `Break` ends the answer.
    fn row(&mut self, cells: &[Cell<'_>]) -> ControlFlow<()>;
}

impl<F: FnMut(&[Cell<'_>]) -> ControlFlow<()>> Sink for F {
    fn row(&mut self, cells: &[Cell<'_>]) -> ControlFlow<()> {
        self(cells)
    }
}

/// The name of a stock in an answer: its symbol, or `#13` if no message has named it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StockName {
    symbol: Option<Symbol>,
    instrument_id: u32,
}

impl StockName {
    /// The name for the instrument number of a record, or the stock locate of a message.
    pub fn new(symbol: Option<Symbol>, instrument_id: u32) -> Self {
        Self { symbol, instrument_id }
    }

    /// The instrument number of records, or the stock locate of messages.
    #[inline]
    pub fn instrument_id(self) -> u32 {
        self.instrument_id
    }

    /// The symbol, if a message named the stock.
    #[inline]
    pub fn symbol(self) -> Option<Symbol> {
        self.symbol
    }
}

/// Printing it does not allocate, so that it can be printed per row.
impl fmt::Display for StockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.symbol {
            Some(symbol) => symbol.fmt(f),
            None => write!(f, "#{}", self.instrument_id),
        }
    }
}

/// Bytes of a letter come from shared memory: one that could control a terminal becomes a question
/// mark.
pub fn printable_letter(letter: u8) -> u8 {
    if letter.is_ascii_graphic() { letter } else { b'?' }
}

/// Units of 1e-4 that need no more than twelve characters.
const MOST_UNITS: u64 = 100_000_000_000;

/// Appends a price in units of 1e-9 as a decimal, with four places, or more if it needs them.
#[inline]
pub fn write_price9(buffer: &mut Vec<u8>, price: i64) {
    match u64::try_from(price / NANOS) {
        Ok(units) if price % NANOS == 0 && units < MOST_UNITS => {
            buffer.extend_from_slice(write_price4(units, &mut [0; 12]).as_bytes());
        }
        _ => write_long_price(buffer, price),
    }
}

#[cold]
fn write_long_price(buffer: &mut Vec<u8>, price: i64) {
    const SCALE: u64 = 1_000_000_000;
    let sign = if price < 0 { "-" } else { "" };
    let (whole, fraction) = (price.unsigned_abs() / SCALE, price.unsigned_abs() % SCALE);
    // Writing to memory cannot fail.
    let _ = write!(buffer, "{sign}{whole}.{fraction:09}");
    let zeros = buffer.iter().rev().take(5).take_while(|&&digit| digit == b'0').count();
    buffer.truncate(buffer.len() - zeros);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_have_four_places_or_as_many_as_they_need() {
        for (price, text) in [
            (0, "0.0000"),
            (189_950_000_000, "189.9500"),
            (100_000, "0.0001"),
            (1, "0.000000001"),
            (123_456_780, "0.12345678"),
            (-1_500_000_000, "-1.5000"),
            (429_496_729_500_000, "429496.7295"),
            (429_496_729_600_000, "429496.7296"),
            (9_999_999_999_900_000, "9999999.9999"),
            (10_000_000_000_000_000, "10000000.0000"),
            (i64::MIN, "-9223372036.854775808"),
        ] {
            let mut buffer = b"x".to_vec();
            write_price9(&mut buffer, price);
            assert_eq!(String::from_utf8(buffer).unwrap(), format!("x{text}"));
        }
    }
}
