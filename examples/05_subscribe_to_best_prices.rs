//! Read a plant: you will see the best prices of the stocks you name each time they change, and
//! what was lost if the plant was too quick. It ends when the plant stops.
//!
//!     cargo run --release -p nanotape-examples --example 05_subscribe_to_best_prices [RING
//!     [SYMBOL...]]
//!
//! RING is a name (`equities` is /dev/shm/nanotape-equities) or a path; without symbols it is all
//! stocks. It waits a minute for a plant, such as `nanotape run` makes, and starts with the oldest
//! record that is still there.

use std::{error::Error, time::Duration};

use nanotape_plant::{
    Delivery, Event, Subscription,
    records::{Record, RecordKind},
};
use nanotape_ring::Start;
use nanotape_types::Symbol;

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
            // What the plant reports of itself: start, stop, missing input, books that are not
            // reliable.
            Event::Record(Delivery { record: Record::Notice(notice), .. }) => println!("{notice}"),
            Event::Record(_) => {}
            // Not an error: the plant never waits for a reader.
            Event::Lost(gap) => println!("{gap}"),
        }
    }
    Ok(())
}

/// Shares and price of one side, or nothing if there is no order.
fn side(price: i64, shares: u32) -> String {
    if price == i64::MAX {
        return "-".to_owned();
    }
    // Prices are in units of 1e-9, and the exchange's of 1e-4.
    format!("{shares} at {}.{:04}", price / 1_000_000_000, price / 100_000 % 10_000)
}
