//! `--every` and `--with`: which rows of books there are, and their columns; and what needs orders.

use std::time::Duration;

use anyhow::ensure;
use clap::{Args, ValueEnum};
use nanotape_answers::{MoreColumns, Session};

use crate::values::{duration, nanos};

#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct EveryArguments {
    /// Print a row for each stock and each multiple of PERIOD since midnight (100ms, 1s, 5m, 1h),
    /// instead of one for each change: the state after the last message up to that time
    #[arg(long, value_name = "PERIOD", value_parser = period)]
    every: Option<Duration>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct WithArguments {
    /// Add columns
    #[arg(long, value_name = "COLUMNS", value_enum, value_delimiter = ',')]
    with: Vec<More>,
}

/// Columns that are added on request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum More {
    /// The number of the message, for joins with the rows of other commands
    #[value(alias = "sequence")]
    Message,
    /// The number of orders at each price
    Orders,
    /// The time of receipt, of inputs that have it
    Receipt,
    /// Why a row may be wrong: it is behind a gap, or a message did not fit the book
    Reason,
}

impl WithArguments {
    pub(crate) fn more(&self) -> MoreColumns {
        let has = |column| self.with.contains(&column);
        MoreColumns {
            message: has(More::Message),
            orders: has(More::Orders),
            receipt: has(More::Receipt),
            reason: has(More::Reason),
        }
    }
}

impl EveryArguments {
    /// The period in ns, if there is one.
    pub(crate) fn period_ns(self) -> Option<u64> {
        self.every.map(nanos)
    }
}

/// Refuses an option that lists orders, for a feed that shows none.
pub(crate) fn require_orders(session: &Session, option: &str) -> anyhow::Result<()> {
    ensure!(
        session.engine.has_orders(),
        "{}: {option} needs orders, and the feed shows price levels only: leave it out",
        session.name
    );
    Ok(())
}

/// Parses a period that is not shorter than a microsecond.
fn period(text: &str) -> Result<Duration, String> {
    let period = duration(text)?;
    let is_long_enough = period >= Duration::from_micros(1);
    is_long_enough.then_some(period).ok_or_else(|| "expected at least 1us".to_owned())
}
