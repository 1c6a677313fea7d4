//! Store messages in a journal: you will see it created or continued, a tailer that follows it
//! live, and the same excerpts found again by sequence number, by time, and backwards from the end.
//!
//!     cargo run --release -p nanotape-examples --example 06_append_and_tail [JOURNAL [EXCERPTS]]
//!
//! JOURNAL is a folder, created if necessary. Run the example twice: the sequence numbers continue.
//! `nanotape journal tail JOURNAL` prints the journal.

use std::{error::Error, path::PathBuf, thread};

use nanotape::{
    clock::Clock,
    journal::{Appender, AppenderOptions, JournalError, RollCycle, Start, Tail, Tailer},
    tape::{WaitStrategy, Waiter},
};

/// The type of these excerpts: the journal stores the number and does not interpret it.
const BID: u16 = 1;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let default = || std::env::temp_dir().join("nanotape-example-journal");
    let path = arguments.next().map_or_else(default, PathBuf::from);
    let count: u64 = arguments.next().map_or(Ok(1_000), |text| text.parse())?;

    let options = AppenderOptions {
        segment_bytes: 1 << 20,
        roll_cycle: RollCycle::Hour,
        ..AppenderOptions::default()
    };
    let mut appender = Appender::open(&path, &options)?;
    let first = appender.next_sequence();
    println!("{}: excerpt {first} is the next", path.display());

    // The tailer runs in another thread; another process works as well.
    let mut tailer = Tailer::open(&path, Start::Sequence(first))?;
    let follower = thread::spawn(move || follow(&mut tailer, count));
    let clock = Clock::calibrate();
    let mut middle = clock.utc(clock.stamp());
    for number in 0..count {
        let now = clock.utc(clock.stamp());
        if number == count / 2 {
            middle = now;
        }
        appender.append(BID, now.unix_ns(), format!("bid 100.{:02}", number % 100).as_bytes())?;
    }
    let (followed, last) = follower.join().map_err(|_| "the follower panicked")??;
    println!("followed {followed} excerpts live, the last one {last}");

    let mut tailer = Tailer::open(&path, Start::Time(middle))?;
    if let Tail::Excerpt(excerpt) = tailer.next()? {
        println!("the first one of the second half is {}", excerpt.sequence());
    }
    tailer.seek(Start::Newest)?;
    for _ in 0..3 {
        if let Tail::Excerpt(excerpt) = tailer.previous()? {
            let text = String::from_utf8(excerpt.to_vec())?;
            println!("backwards: {:>6}  {text}", excerpt.sequence());
        }
    }
    // If the appender is dropped or killed, everything committed stays. `close` also reports
    // whether its sync policy was fulfilled.
    appender.close()?;
    Ok(())
}

/// Reads `count` excerpts as they arrive; returns their number and the last sequence number.
fn follow(tailer: &mut Tailer, count: u64) -> Result<(u64, u64), JournalError> {
    let mut waiter = Waiter::new(WaitStrategy::Yield);
    let (mut seen, mut last) = (0, 0);
    while seen < count {
        match tailer.next()? {
            Tail::Excerpt(excerpt) => {
                (seen, last) = (seen + 1, excerpt.sequence());
                waiter.reset();
            }
            // Not an error: missing excerpts are reported once, with their numbers.
            Tail::Gap(gap) => println!("{} to {} are missing", gap.from, gap.to),
            // Nor is this: a power failure lost the excerpts that were read under these numbers.
            Tail::Reused(reused) => println!("{} to {} come again", reused.from, reused.to),
            Tail::Nothing => waiter.idle(),
        }
    }
    Ok((seen, last))
}
