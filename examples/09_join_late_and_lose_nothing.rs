//! Join a recorded plant in mid-day: you will see the book of a stock as it was at the last
//! snapshot, its best prices from then on, each return from the journal to the ring, and whether
//! everything was read.
//!
//!     cargo run --release -p nanotape-examples --example 09_join_late_and_lose_nothing RING
//!     JOURNAL SYMBOL
//!
//! RING is that of `nanotape run --ring RING --journal JOURNAL`; `nanotape journal snapshot JOURNAL
//! --follow` writes the snapshots.

use std::{error::Error, time::Duration};

use nanotape::{prelude::*, records::Record};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or("expected RING JOURNAL SYMBOL");
    let (ring, journal, symbol) = (next()?, next()?, next()?.parse::<Symbol>()?);

    let mut subscriber = Subscription::to(&ring)
        .symbols([symbol])
        .heal_from(journal, Duration::from_secs(10))
        .whole()
        .keep_books()
        .check_digests()
        .open()?;
    let (mut is_in_snapshot, mut last) = (true, String::new());
    while let Some(event) = subscriber.next()? {
        match event {
            // The orders of the snapshot come first: a clear, then adds with this flag.
            Event::Record(Delivery { record: Record::Mbo(order), books: Some(books), .. }) => {
                if order.flags.is_snapshot() && !order.flags.is_last() {
                    continue;
                }
                let what = if is_in_snapshot { "at the snapshot: " } else { "" };
                is_in_snapshot = false;
                let best = best(books, StockLocate::new(order.hd.instrument_id as u16));
                if best != last {
                    println!("{what}{best}");
                    last = best;
                }
            }
            Event::Record(Delivery { record: Record::Notice(notice), is_digest_same, .. }) => {
                println!("{notice}");
                if let Some(is_same) = is_digest_same {
                    println!("everything that the plant published was read: {is_same}");
                }
            }
            Event::Record(_) => {}
            // Only if the recorder is gone for longer than ten seconds.
            Event::Lost(gap) => println!("{gap}"),
            Event::Healed(handover) => println!("{handover}"),
            Event::Reported { text, .. } => println!("{text}"),
        }
    }
    Ok(())
}

/// The best bid and offer of a stock with their shares.
fn best(books: &LocalBooks, locate: StockLocate) -> String {
    let book = books.book(locate);
    let scale = book.price_scale();
    let [bid, offer] = Side::BOTH.map(|side| match book.best(side) {
        Some(quote) => format!("{} at {}", quote.shares.get(), scale.shown(quote.price)),
        None => "-".to_owned(),
    });
    format!("{bid:>18}  {offer:>18}")
}
