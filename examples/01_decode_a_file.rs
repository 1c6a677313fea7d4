//! Decode a day file: you will see its first messages field by field, one order with typed numbers,
//! and the number of messages of each type.
//!
//!     cargo run --release -p nanotape-examples --example 01_decode_a_file [FILE]
//!
//! FILE is an ITCH 5.0 day, plain, gzip or zstd. Without it, a small synthetic day is decoded.

use std::{collections::BTreeMap, error::Error, ops::ControlFlow, path::Path};

use nanotape::{
    feed::{Damage, DaySource, MessageHandler, Position, read_day},
    synth::{Market, MarketConfig},
    wire::itch50::Message,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut source = match std::env::args().nth(1) {
        Some(path) => DaySource::open(Path::new(&path))?,
        None => DaySource::memory("a synthetic day", small_day()?),
    };
    println!("{}", source.name());

    let mut census = Census::default();
    let summary = read_day(&mut source, &mut census, |_| ())?;

    println!("\nmessages by type");
    for (tag, (name, count)) in &census.by_type {
        println!("  {}  {count:>12}  {name}", tag.escape_ascii());
    }
    println!("\n{} messages in {} bytes; {}", summary.records, summary.bytes, summary.end);
    Ok(())
}

/// Receives each message: any type that implements `MessageHandler` works here.
#[derive(Default)]
struct Census {
    by_type: BTreeMap<u8, (&'static str, u64)>,
}

impl MessageHandler for Census {
    fn message(&mut self, position: Position, message: Message<'_>) -> ControlFlow<()> {
        // Any message can be printed without matching on its type.
        if position.number <= 4 {
            let mut line = String::new();
            let _ = message.write_text(&mut line);
            println!("{:>4} at byte {:>3}: {line}", position.number, position.offset);
        }
        let counted = self.by_type.entry(message.tag()).or_insert((message.name(), 0));
        counted.1 += 1;
        // The fields of one type: getters that cannot fail, in units that cannot be mixed up.
        if let Message::AddOrder(order) = message
            && counted.1 == 1
        {
            println!("\nthe first order, number {} in the file", position.number);
            println!("  time    {}", order.timestamp());
            println!("  stock   {} (locate {})", order.stock(), order.stock_locate());
            println!("  side    {:?}", order.buy_sell_indicator());
            println!("  shares  {}", order.shares());
            println!("  price   {}", order.price());
        }
        ControlFlow::Continue(())
    }

    fn damage(&mut self, damage: Damage) {
        // Bytes that do not follow the format are reported here, and reading continues.
        println!("damage: {damage}");
    }
}

/// 20,000 messages about 50 stocks, the same on every machine.
fn small_day() -> Result<Vec<u8>, Box<dyn Error>> {
    let config = MarketConfig { messages: 20_000, symbols: 50, ..MarketConfig::default() };
    let mut bytes = Vec::new();
    Market::new(config)?.write_to(&mut bytes)?;
    Ok(bytes)
}
