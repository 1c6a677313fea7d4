//! Publish on a ring: you will see its path, whether it is new or taken over from an earlier
//! writer, and a line for each message. Any number of readers may attach and leave meanwhile.
//!
//!     cargo run --release -p nanotape-examples --example 03_publish_on_the_ring [NAME [MESSAGES]]
//!
//! NAME is a name (`quotes` is /dev/shm/nanotape-quotes) or a path. Run 04_subscribe beside it, or
//! `nanotape ring stat example`.

use std::{error::Error, thread::sleep, time::Duration};

use nanotape::{
    clock::Clock,
    ring::{Publish, stream},
    shm::{Origin, RegionOptions},
};

/// The type of these messages: the ring stores the number and does not interpret it.
const BID: u16 = 1;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = nanotape::shm::named(&arguments.next().unwrap_or("example".to_owned()))?;
    let messages: u64 = arguments.next().map_or(Ok(100), |text| text.parse())?;

    // 64 KiB of messages. Other users may read; with the default mode only this user may.
    let options = RegionOptions { mode: 0o644, ..RegionOptions::default() };
    let (mut writer, origin) = stream::Writer::create(&path, 64 << 10, &options)?;
    match origin {
        Origin::Created => println!("{}: created", path.display()),
        Origin::TakenOver { previous } => {
            println!("{}: taken over, its writer was {}", path.display(), previous.state);
        }
    }
    let clock = Clock::monotonic();
    for number in 0..messages {
        // The ring reads no clock; a writer that has read one sets the time.
        writer.set_time(clock.utc_ns());
        let bid = format!("bid 100.{:02}", number % 100);
        let sequence = writer.publish(BID, bid.as_bytes())?;
        println!("{sequence:>6}  {bid}");
        sleep(Duration::from_millis(10));
    }
    // On drop, the writer marks the ring as closed. The ring stays, and the next writer continues
    // it.
    Ok(())
}
