//! A hub that takes events, keeps state and publishes results: you will see it killed while it
//! works and started again, until each fill has one result.
//!
//!     cargo run --release -p nanotape-examples --example 14_a_hub [FILLS POSITIONS]
//!
//! FILLS and POSITIONS are journals. Without them the program records fills, and runs and kills
//! itself as their hub. `schema/example-*.toml` define the messages: see docs/interfaces.md.

#[path = "hub/book.rs"]
mod book;

use std::{
    error::Error,
    path::Path,
    process::{Command, ExitCode},
    time::Duration,
};

use book::{Book, fills, positions};
use fills::{Fills, FillsWriter};
use nanotape::{
    interface::{Message, UtcNanos, WriteError},
    journal::{Appender, AppenderOptions, JournalError, Start, Tailer, TailerSource},
    tape::{Follow, Item},
    types::{Price4, StockLocate},
};
use positions::{Positions, PositionsWriter};

/// The hub at one fill.
struct Hub<'a> {
    book: &'a mut Book,
    results: PositionsWriter<'a, Appender>,
    cause: u64,
}

impl Fills for Hub<'_> {
    type Output = Result<(), WriteError<JournalError>>;

    /// Publishes one message, so a kill leaves the whole result or none. Only then the state
    /// changes.
    fn filled(&mut self, stock: StockLocate, shares: i32, price: Price4) -> Self::Output {
        let (fills, held, cash) = self.book.stocks.get(&stock).copied().unwrap_or_default();
        let (fills, held) = (fills + 1, held + i64::from(shares));
        // Of two factors below 2^32 a product fits; a sum of many may not, and then wraps.
        let cash = cash.wrapping_sub(i64::from(shares).wrapping_mul(i64::from(price.get())));
        self.results.changed(self.cause, stock, fills, held, cash)?;
        self.book.changed(self.cause, stock, fills, held, cash);
        Ok(())
    }

    fn day_ended(&mut self) -> Self::Output {
        let stocks = self.book.stocks.len() as u64;
        self.results.day_ended(self.cause, stocks)?;
        self.book.day_ended(self.cause, stocks);
        Ok(())
    }

    fn unknown(&mut self, message: &Message<'_>) -> Self::Output {
        eprintln!("fill {} is of a later version: it has no result", message.sequence);
        Ok(())
    }
}

/// Continues after the last fill that has a result, up to the end of the day.
fn run(fills: &Path, positions: &Path) -> Result<(), Box<dyn Error>> {
    let mut appender = Appender::open(positions, &AppenderOptions::default())?;
    let mut book = Book::default();
    let results = TailerSource::new(Tailer::open(positions, Start::Oldest)?);
    let mut results = Follow::new(results).until(appender.next_sequence());
    while let Some(Item::Message(result)) = results.next()? {
        positions::dispatch(&result, &mut book)
            .map_err(|error| format!("{}: {error}", positions.display()))?;
    }
    println!("continues after fill {}, with {} stocks", book.cause, book.stocks.len());
    let source = TailerSource::new(Tailer::open(fills, Start::Sequence(book.cause + 1))?);
    let mut source = Follow::new(source);
    while !book.is_closed {
        let Some(Item::Message(fill)) = source.next()? else {
            let (path, cause) = (fills.display(), book.cause);
            return Err(format!("{path}: fills after {cause} are missing").into());
        };
        // The time of a result is that of its fill, so that it is the same after a restart.
        let results = PositionsWriter::new(&mut appender, fill.ts.unwrap_or(UtcNanos::new(0)));
        let mut hub = Hub { book: &mut book, results, cause: fill.sequence };
        fills::dispatch(&fill, &mut hub)
            .map_err(|error| format!("{}: {error}", fills.display()))??;
    }
    println!("all {} fills have a result", book.cause);
    Ok(appender.close()?)
}

/// Records fills, and kills their hub until it has reached the end of the day.
fn demonstrate() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("nanotape-hub-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let (fills, positions) = (folder.join("fills"), folder.join("positions"));
    let mut appender = Appender::open(&fills, &AppenderOptions::default())?;
    let mut writer = FillsWriter::new(&mut appender, UtcNanos::new(0));
    for number in 1..20_000 {
        let (stock, price) = (StockLocate::new(number % 50), Price4::new(10_000));
        writer.at(UtcNanos::new(number.into())).filled(stock, 100, price)?;
    }
    writer.day_ended()?;
    appender.close()?;
    for life in 1.. {
        let mut hub = Command::new(std::env::current_exe()?).args([&fills, &positions]).spawn()?;
        std::thread::sleep(Duration::from_millis(20 * life));
        hub.kill()?; // SIGKILL: no code of the process runs after this
        let status = hub.wait()?;
        match status.code() {
            Some(0) => break,
            Some(_) => return Err(format!("the hub failed: {status}").into()),
            None => {}
        }
    }
    Ok(std::fs::remove_dir_all(&folder)?)
}

fn main() -> ExitCode {
    let result = match std::env::args_os().skip(1).collect::<Vec<_>>().as_slice() {
        [] => demonstrate(),
        [fills, positions] => run(fills.as_ref(), positions.as_ref()),
        _ => {
            eprintln!("14_a_hub: expected no arguments, or FILLS and POSITIONS");
            return ExitCode::from(2);
        }
    };
    if let Err(error) = result {
        eprintln!("14_a_hub: {error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
