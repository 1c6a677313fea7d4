//! Read a ring: you will see every message that is there and those that come, what was lost if the
//! writer was too quick, and how the writer ended.
//!
//!     cargo run --release -p nanotape-examples --example 04_subscribe [NAME]
//!
//! NAME is what 03_publish_on_the_ring was started with: start that one first, and this one as often
//! as you like.

use std::{error::Error, time::Duration};

use nanotape_ring::{Read, Start, Subscribe, WaitStrategy, Waiter, stream};
use nanotape_shm::OwnerState;

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).unwrap_or("example".to_owned());
    let path = nanotape_shm::named(&name)?;
    // The ring is mapped for reading only: the writer never notices who reads.
    let mut reader = stream::Reader::open(&path, Start::Oldest)?;

    // Looks a hundred times, offers the processor a hundred times, then sleeps between looks.
    let sleep = Duration::from_millis(1);
    let mut waiter = Waiter::new(WaitStrategy::Backoff { looks: 100, sleep });
    let mut buffer = vec![0; 16 << 10];
    let mut end = None;
    loop {
        match reader.try_read(&mut buffer)? {
            Read::Message(message) => {
                let payload = &buffer[..message.length as usize];
                let text = String::from_utf8_lossy(payload);
                println!("{:>6}  type {}  {text}", message.sequence, message.type_id);
                waiter.reset();
            }
            // Not an error: the writer waits for nobody.
            Read::Lapped(lapped) => println!("{lapped}"),
            Read::Empty => {
                if let Some(state) = end {
                    println!("the writer is {state}");
                    return Ok(());
                }
                // What it published before it ended is still there, and read first.
                let state = reader.region().owner().state;
                end = (waiter.idles() > 250 && state != OwnerState::Alive).then_some(state);
                waiter.idle();
            }
        }
    }
}
