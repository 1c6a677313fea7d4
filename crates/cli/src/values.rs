//! Values of rings and plants as they are typed and printed, beside those of the console.

pub(crate) use nanotape_console::values::{
    bytes, bytes_text, counted, duration, grouped, mode, nanos_text, seconds,
};
use nanotape_plant::{Pace, TradeDate};

/// A trade date from its number, as it is typed.
pub(crate) fn date_text(number: u32) -> String {
    TradeDate::of_number(number).map_or_else(|| number.to_string(), |date| date.to_string())
}

/// A pace from its thousandths, as it is typed.
pub(crate) fn pace_text(milli: u32) -> String {
    let pace = if milli == 0 { Pace::Max } else { Pace::Recorded { milli } };
    pace.to_string()
}
