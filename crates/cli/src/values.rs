//! Values of rings and plants as they are typed and printed, beside those of the console.

pub(crate) use nanotape_console::values::{
    bytes, bytes_text, counted, duration, grouped, mode, nanos_text, period, seconds,
};
use nanotape_plant::{Pace, TradeDate};
use nanotape_ring::Start;

/// Where to begin to read a ring: `oldest`, `newest`, or a sequence number.
pub(crate) fn start(text: &str) -> Result<Start, String> {
    match (text, text.parse()) {
        ("oldest", _) => Ok(Start::Oldest),
        ("newest", _) => Ok(Start::Newest),
        (_, Ok(sequence)) if sequence > 0 => Ok(Start::Sequence(sequence)),
        _ => Err("expected oldest, newest, or a sequence number from 1".to_owned()),
    }
}

/// A trade date from its number, as it is typed.
pub(crate) fn date_text(number: u32) -> String {
    TradeDate::of_number(number).map_or_else(|| number.to_string(), |date| date.to_string())
}

/// A pace from its thousandths, as it is typed.
pub(crate) fn pace_text(milli: u32) -> String {
    let pace = if milli == 0 { Pace::Max } else { Pace::Recorded { milli } };
    pace.to_string()
}
