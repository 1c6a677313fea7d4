//! One line of the file of runs: its text with a checksum, and back.

use std::fmt::Write as _;

use nanotape_journal::checksum_bytes;
use nanotape_records::{RecordKinds, UNSTATED_PUBLISHER_ID};
use nanotape_types::{StockLocate, Symbol};

use super::Run;

/// The first line.
pub(super) const TITLE: &str = "nanotape runs 1";

/// A line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Line {
    /// A run begins; its names follow.
    Run(Run),
    /// A name of the last run.
    Stock { locate: StockLocate, symbol: Symbol },
}

impl Line {
    /// The text, with its checksum and line feed.
    pub(super) fn text(&self) -> String {
        let mut text = match self {
            Self::Run(run) => {
                let Run { first_sequence, started_ns, midnight_ns, date, kinds, .. } = run;
                let kinds = kinds.bits();
                let publisher = match run.publisher_id {
                    UNSTATED_PUBLISHER_ID => String::new(),
                    publisher_id => format!(" {publisher_id}"),
                };
                format!("run {first_sequence} {started_ns} {midnight_ns} {date} {kinds}{publisher}")
            }
            Self::Stock { locate, symbol } => format!("stock {} {}", locate.get(), name(*symbol)),
        };
        let sum = checksum_bytes(0, text.as_bytes());
        // Writing to a string cannot fail.
        let _ = writeln!(text, " {sum:08x}");
        text
    }

    /// The line of a text without its line feed; `None` if it is invalid.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let text = str::from_utf8(text).ok()?;
        let (content, sum) = text.rsplit_once(' ')?;
        if sum != format!("{:08x}", checksum_bytes(0, content.as_bytes())) {
            return None;
        }
        let mut words = content.split(' ');
        let line = match words.next()? {
            "run" => Self::Run(Run {
                first_sequence: words.next()?.parse().ok()?,
                started_ns: words.next()?.parse().ok()?,
                midnight_ns: words.next()?.parse().ok()?,
                date: words.next()?.parse().ok()?,
                kinds: RecordKinds::of_bits(words.next()?.parse().ok()?),
                publisher_id: match words.next() {
                    None => UNSTATED_PUBLISHER_ID,
                    Some(publisher_id) => publisher_id.parse().ok()?,
                },
                names: Vec::new(),
            }),
            "stock" => Self::Stock {
                locate: StockLocate::new(words.next()?.parse().ok()?),
                symbol: symbol(words.next()?)?,
            },
            _ => return None,
        };
        words.next().is_none().then_some(line)
    }
}

/// Whether an invalid line was that of a stock: it begins like one, or has its number of words and
/// is text, so that it cannot be what is left of a run.
pub(super) fn was_stock(text: &[u8]) -> bool {
    let is_text = text.iter().all(|byte| (b' '..=b'~').contains(byte));
    let spaces = text.iter().filter(|&&byte| byte == b' ').count();
    text.starts_with(b"stock ") || is_text && spaces == 3 && !text.starts_with(b"r")
}

/// A symbol in one word: as it is printed, or 16 hexadecimal digits if that would not be unique.
fn name(symbol: Symbol) -> String {
    let text = symbol.to_string();
    if text.parse() == Ok(symbol) { text } else { format!("{:016x}", word(symbol)) }
}

/// Symbols have at most 8 letters, so 16 digits are none.
fn symbol(text: &str) -> Option<Symbol> {
    match text.len() {
        16 => Some(Symbol::new(u64::from_str_radix(text, 16).ok()?.to_be_bytes())),
        _ => text.parse().ok(),
    }
}

fn word(symbol: Symbol) -> u64 {
    u64::from_be_bytes(symbol.as_bytes())
}
