//! Begin with what is so now, and go on with what happens: you will see the newest state of a
//! stock as the map of a plant has it, and then each trade after it, with the volume and the
//! average price so far.
//!
//!     cargo run --release -p nanotape-examples --example 15_begin_with_the_newest_state RING MAP
//!     SYMBOL
//!
//! RING and MAP are those of `nanotape run --ring RING --latest MAP`.

use std::{error::Error, time::Duration};

use nanotape::{prelude::*, records::Record};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or("expected RING MAP SYMBOL");
    let (ring, map, symbol) = (next()?, next()?, next()?.parse::<Symbol>()?);

    // The states may be of different moments. Each has the number of its last record, and a record
    // that is part of a state does not come again.
    let mut subscriber = Subscription::to(&ring)
        .with_latest(&map)
        .symbols([symbol])
        .wait(Duration::from_secs(5))
        .open()?;
    let copied = subscriber.latest().ok_or("it was opened with a map")?;
    let (mut volume, mut notional) = (0, 0);
    println!("{} stocks, up to record {}", copied.stocks.len(), copied.market.sequence());
    if let Some((_, state)) = copied.stocks.iter().find(|(of, _)| *of == symbol) {
        (volume, notional) = (state.volume(), state.notional());
        let (bid, offer) = (dollars(state.bid_price().into()), dollars(state.ask_price().into()));
        println!("{symbol} at record {}: {bid} to {offer}", state.sequence());
        println!("{volume} shares so far, reliable: {}", state.is_reliable());
    }
    while let Some(event) = subscriber.next()? {
        match event {
            Event::Record(Delivery { record: Record::Trade(trade), sequence, .. }) => {
                volume += u64::from(trade.size);
                notional += i128::from(trade.price) * i128::from(trade.size);
                let average = dollars(notional / i128::from(volume.max(1)));
                let price = dollars(trade.price.into());
                println!("{sequence}: {} at {price}; {volume} shares at {average}", trade.size);
            }
            Event::Lost(gap) => println!("{gap}"),
            _ => {}
        }
    }
    Ok(())
}

/// A price in units of 1e-9.
fn dollars(price: i128) -> String {
    if price == i64::MAX.into() { "-".to_owned() } else { format!("{:.4}", price as f64 / 1e9) }
}
