//! Keep messages for good: you will see a journal being made or gone on with, a tailer following it
//! live, and then the same excerpts found again by sequence number, by time, and backwards from the
//! end.
//!
//!     cargo run --release -p nanotape-examples --example 06_append_and_tail [JOURNAL [EXCERPTS]]
//!
//! JOURNAL is a folder, made if it is not there. Run it twice: the numbers go on. Look at it with
//! `nanotape journal tail JOURNAL`.

use std::{error::Error, path::PathBuf, thread};

use nanotape_clock::Clock;
use nanotape_journal::{Appender, AppenderOptions, JournalError, RollCycle, Start, Tail, Tailer};
use nanotape_tape::{WaitStrategy, Waiter};

/// What these excerpts are: the journal keeps the number and does not look at it.
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

    // A tailer in another thread; it might as well be another process.
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
    // Dropped or killed, the appender leaves everything that it committed; closed, it says if it
    // could not do what its sync policy promises.
    appender.close()?;
    Ok(())
}

/// Reads so many excerpts as they come; returns how many, and the number of the last one.
fn follow(tailer: &mut Tailer, count: u64) -> Result<(u64, u64), JournalError> {
    let mut waiter = Waiter::new(WaitStrategy::Yield);
    let (mut seen, mut last) = (0, 0);
    while seen < count {
        match tailer.next()? {
            Tail::Excerpt(excerpt) => {
                (seen, last) = (seen + 1, excerpt.sequence());
                waiter.reset();
            }
            // Not an error: what is missing is told, once, with its numbers.
            Tail::Gap(gap) => println!("{} to {} are missing", gap.from, gap.to),
            // Nor is this: a loss of power took what was read under these numbers.
            Tail::Reused(reused) => println!("{} to {} come again", reused.from, reused.to),
            Tail::Nothing => waiter.idle(),
        }
    }
    Ok((seen, last))
}
