//! Build order books: you will see the busiest stock's book at noon, five levels on each side, and
//! the queue at its best bid.
//!
//!     cargo run --release -p nanotape-examples --example 02_build_a_book [FILE [SYMBOL]]
//!
//! FILE is an ITCH 5.0 day, plain, gzip or zstd. Without it, a small synthetic day is used.

use std::{error::Error, ops::ControlFlow, path::Path};

use nanotape::{
    prelude::*,
    synth::{Market, MarketConfig},
    types::LocateTable,
};

const NOON: EventTime = EventTime::of_day(NanosSinceMidnight::from_hms(12, 0, 0));

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut source = match arguments.next() {
        Some(path) => DaySource::open(Path::new(&path))?,
        None => DaySource::memory("a synthetic day", small_day()?),
    };
    let symbol: Option<Symbol> = arguments.next().map(|text| text.parse()).transpose()?;

    // The engine applies each event of the day to the books of all stocks, then calls an observer.
    let mut engine = BookEngine::new(DefaultBooks::with_capacity(1 << 16));
    let mut morning = Morning { messages: LocateTable::filled(0) };
    let report = engine.run(&mut source, &mut morning, |_| ())?;
    println!("{}: {} messages, then {}", source.name(), report.summary.records, report.summary.end);

    let locate = match symbol {
        Some(symbol) => engine.directory().locate(symbol).ok_or("no such stock in this day")?,
        None => morning.busiest(),
    };
    let name = engine.directory().symbol(locate).ok_or("the stock has no name")?;
    let book = engine.books().book(locate);
    println!("\n{name} at noon: {:?}", book.inside().condition());
    let scale = book.price_scale();
    for side in Side::BOTH {
        println!("  {:<4} {:>12} {:>8} {:>6}", side.quote_name(), "price", "shares", "orders");
        for level in book.depth(side).take(5) {
            let price = scale.shown(level.price);
            println!("       {price:>12} {:>8} {:>6}", level.shares, level.orders);
        }
    }
    if let Some(bid) = book.best(Side::Buy) {
        println!("\nqueue at {}, next to be executed first", scale.shown(bid.price));
        for order in engine.books().queue(locate, Side::Buy, bid.price) {
            let position = engine.books().queue_position(order.reference).unwrap_or_default();
            let (reference, shares, ahead) = (order.reference, order.shares, position.shares_ahead);
            println!("  order {reference:>8}: {shares:>6} shares, {ahead:>6} ahead");
        }
    }
    // A book that an event did not fit is kept, but marked as unreliable.
    println!("\ntainted: {}", if book.is_tainted() { "yes" } else { "no" });
    Ok(())
}

/// Counts messages, and ends the run at noon.
struct Morning {
    messages: LocateTable<u64>,
}

impl Observer<DefaultBooks> for Morning {
    fn admit(&mut self, _: Position, event: &MarketEvent) -> ControlFlow<()> {
        match event.time {
            Some(time) if time > NOON => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    fn after(
        &mut self,
        _: &BookEngine<DefaultBooks>,
        _: Position,
        event: &MarketEvent,
        _: Option<Outcome>,
    ) -> ControlFlow<()> {
        self.messages[event.stock_locate] += 1;
        ControlFlow::Continue(())
    }
}

impl Morning {
    fn busiest(&self) -> StockLocate {
        let stocks = StockLocate::all().skip(1);
        stocks.max_by_key(|locate| self.messages[*locate]).unwrap_or_default()
    }
}

/// 20,000 messages about 50 stocks, the same on every machine.
fn small_day() -> Result<Vec<u8>, Box<dyn Error>> {
    let config = MarketConfig { messages: 20_000, symbols: 50, ..MarketConfig::default() };
    let mut bytes = Vec::new();
    Market::new(config)?.write_to(&mut bytes)?;
    Ok(bytes)
}
