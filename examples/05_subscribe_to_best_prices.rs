//! Read a plant: you will see the best prices of the stocks you name each time they change, what was
//! lost if the plant was too quick, which books are not to be trusted, and how the plant ended.
//!
//!     cargo run --release -p nanotape-examples --example 05_subscribe_to_best_prices [RING [SYMBOL...]]
//!
//! RING is a name (`equities` is /dev/shm/nanotape-equities) or a path; without symbols it is all
//! stocks. It waits a minute for a plant, such as `nanotape run` makes, and begins with the oldest
//! record that is still there.

use std::{error::Error, ops::ControlFlow, time::Duration};

use nanotape_plant::{
    Delivery, Event, Subscription, TradeDate,
    records::{Notice, Record, RecordKind},
};
use nanotape_ring::{Start, WaitStrategy, Waiter};
use nanotape_shm::OwnerState;
use nanotape_types::Symbol;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let ring = arguments.next().unwrap_or("equities".to_owned());
    let symbols = arguments.map(|text| text.parse()).collect::<Result<Vec<Symbol>, _>>()?;

    // What is not wanted is left out here: the plant does nothing for a subscriber.
    let mut subscriber = Subscription::to(&ring)
        .symbols(symbols)
        .records([RecordKind::Bbo])
        .from(Start::Oldest)
        .wait(Duration::from_secs(60))
        .open()?;
    let mut waiter = Waiter::new(WaitStrategy::Sleep(Duration::from_millis(1)));
    let mut end = None;
    loop {
        let mut flow = ControlFlow::Continue(());
        let read = subscriber.poll(|event| match event {
            Event::Record(delivery) if flow.is_continue() => flow = show(&delivery),
            Event::Record(_) => {}
            // Not an error: the plant waits for nobody.
            Event::Lost(lapped) => println!("{lapped}"),
        })?;
        if flow.is_break() {
            return Ok(());
        }
        if read > 0 {
            waiter.reset();
            continue;
        }
        if let Some(state) = end {
            println!("no stop, and the plant is {state}");
            return Ok(());
        }
        // A plant that was killed says nothing. What it published before is still there, and read first.
        let state = subscriber.writer();
        end = (waiter.idles() > 250 && state != OwnerState::Alive).then_some(state);
        waiter.idle();
    }
}

/// Prints a record; `Break` after the last one.
fn show(delivery: &Delivery<'_>) -> ControlFlow<()> {
    let symbol = delivery.symbol.map_or("?".to_owned(), |symbol| symbol.to_string());
    match delivery.record {
        Record::Bbo(bbo) => {
            let [inside] = &bbo.levels;
            let (bid, offer) =
                (side(inside.bid_px, inside.bid_sz), side(inside.ask_px, inside.ask_sz));
            let doubt = if bbo.flags.is_maybe_bad_book() { "  do not trust it" } else { "" };
            println!("{symbol:<8}  {bid:>18}  {offer:>18}{doubt}");
        }
        // A plant begins, perhaps after another: nothing that was said before is true any more.
        Record::Notice(Notice::Start(start)) => {
            let date = TradeDate::of_number(start.date);
            println!("the plant begins{}", date.map_or("".into(), |date| format!(" with {date}")));
        }
        Record::Notice(Notice::Taint(taint)) => {
            println!(
                "{symbol:<8}  its book is not to be trusted from message {} on",
                taint.message
            );
        }
        Record::Notice(Notice::Gap(gap)) => println!("input is missing at byte {}", gap.offset),
        Record::Notice(Notice::Stop(stop)) => {
            println!("the plant ended: {}, {} messages", stop.reason.name(), stop.messages);
            return ControlFlow::Break(());
        }
        _ => {}
    }
    ControlFlow::Continue(())
}

/// Shares and price of one side, or nothing if nobody is there.
fn side(price: i64, shares: u32) -> String {
    if price == i64::MAX {
        return "-".to_owned();
    }
    // Prices are in units of 1e-9, and the exchange's of 1e-4.
    format!("{shares} at {}.{:04}", price / 1_000_000_000, price / 100_000 % 10_000)
}
