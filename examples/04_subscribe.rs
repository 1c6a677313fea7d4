//! Read a ring: you will see every message that is in it and each new one, what was lost if the
//! writer was too fast, and how the writer ended.
//!
//!     cargo run --release -p nanotape-examples --example 04_subscribe [NAME]
//!
//! NAME is the argument of 03_publish_on_the_ring: start that example first, and this one any
//! number of times.

use std::error::Error;

use nanotape::{
    ring::{RingSource, Start},
    tape::{Follow, Item, Tape as _},
};

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).unwrap_or("example".to_owned());
    // The ring is mapped read-only, so readers cannot disturb the writer.
    let source = RingSource::open(&nanotape::shm::named(&name)?, Start::Oldest)?;
    let mut follow = Follow::new(source);
    // Ends when the writer has ended, after its last message.
    while let Some(item) = follow.next()? {
        match item {
            Item::Message(message) => {
                let text = String::from_utf8_lossy(message.payload);
                println!("{:>6}  type {}  {text}", message.sequence, message.type_id);
            }
            // Not an error: the writer never waits for a reader.
            Item::Gap(gap) => println!("{gap}"),
            Item::Reused(_) => {}
        }
    }
    println!("the writer is {}", follow.tape().writer().state);
    Ok(())
}
