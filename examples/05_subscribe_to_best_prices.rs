//! Read a plant: you will see the best prices of the given stocks each time they change, and what
//! was lost if the plant was too fast. It ends when the plant stops.
//!
//!     cargo run --release -p nanotape-examples --example 05_subscribe_to_best_prices [RING
//!     [SYMBOL...]]
//!
//! RING is a name (`equities` is /dev/shm/nanotape-equities) or a path; without symbols, all stocks
//! are printed. It waits up to a minute for a plant, such as that of `nanotape run`, and starts
//! with the oldest record in the ring.

use std::{error::Error, time::Duration};

use nanotape::{
    prelude::*,
    records::{Record, RecordKind},
    ring::Start,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let ring = arguments.next().unwrap_or("equities".to_owned());
    let symbols = arguments.map(|text| text.parse()).collect::<Result<Vec<Symbol>, _>>()?;

    let mut subscriber = Subscription::to(&ring)
        .symbols(symbols)
        .records([RecordKind::Bbo])
        .from(Start::Oldest)
        .wait(Duration::from_secs(60))
        .open()?;
    while let Some(event) = subscriber.next()? {
        match event {
            Event::Record(Delivery { symbol: Some(symbol), record: Record::Bbo(bbo), .. }) => {
                let [inside] = &bbo.levels;
                let (bid, offer) =
                    (side(inside.bid_px, inside.bid_sz), side(inside.ask_px, inside.ask_sz));
                println!("{symbol:<8}  {bid:>18}  {offer:>18}");
            }
            // Notices of the plant: start, stop, missing input, books that are not reliable.
            Event::Record(Delivery { record: Record::Notice(notice), .. }) => println!("{notice}"),
            Event::Record(_) => {}
            // Not an error: the plant never waits for a reader.
            Event::Lost(gap) => println!("{gap}"),
            Event::Healed(handover) => println!("{handover}"),
            Event::Reported { text, .. } => println!("{text}"),
        }
    }
    Ok(())
}

/// Shares and price of one side, or `-` without orders.
fn side(price: i64, shares: u32) -> String {
    if price == i64::MAX {
        return "-".to_owned();
    }
    // Prices have units of 1e-9; those of the exchange have 1e-4.
    format!("{shares} at {}.{:04}", price / 1_000_000_000, price / 100_000 % 10_000)
}
