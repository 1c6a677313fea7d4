//! Kill an appender with SIGKILL while it appends: you will see the progress it reported, what the
//! next appender found, and that everything committed is in the journal, once and in order.
//!
//!     cargo run --release -p nanotape-examples --example 07_recover_after_a_crash [JOURNAL]
//!
//! JOURNAL is a folder, created if necessary.

use std::{
    error::Error,
    io::{BufRead as _, BufReader, Write as _, stdout},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use nanotape::journal::{Appender, AppenderOptions, JournalError, Start, Tail, Tailer};

/// Number of lines of the appender to read before killing it.
const LINES: usize = 5_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let default = || std::env::temp_dir().join("nanotape-example-crash");
    let path = arguments.next().map_or_else(default, PathBuf::from);
    if arguments.next().is_some() {
        return Ok(append_until_killed(&path)?);
    }

    let mut child = Command::new(std::env::current_exe()?)
        .arg(&path)
        .arg("append")
        .stdout(Stdio::piped())
        .spawn()?;
    let mut reported = 0;
    for line in BufReader::new(child.stdout.take().ok_or("no pipe")?).lines().take(LINES) {
        reported = line?.parse()?;
    }
    child.kill()?; // SIGKILL: no code of the process runs after this
    println!(
        "the appender was killed, and had said that {reported} is committed: {}",
        child.wait()?
    );

    // Its lock ended with it: no waiting, and no file to remove by hand.
    let mut appender = Appender::open(&path, &AppenderOptions::default())?;
    let found = appender.recovery();
    println!("pruned {} bytes that were never committed", found.bytes_pruned);
    let next = appender.next_sequence();
    println!(
        "the next excerpt is {next}: {}",
        if next > reported { "nothing is lost" } else { "LOST" }
    );
    appender.append(1, next, b"first after the crash")?;

    let mut tailer = Tailer::open(&path, Start::Oldest)?;
    let (mut expected, mut count) = (tailer.next_sequence(), 0);
    loop {
        match tailer.next()? {
            Tail::Excerpt(excerpt) if excerpt.sequence() == expected => {
                (expected, count) = (expected + 1, count + 1);
            }
            Tail::Nothing => break,
            other => return Err(format!("expected excerpt {expected}, found {other:?}").into()),
        }
    }
    println!("read {count} excerpts, each once and in order");
    Ok(())
}

/// Appends as fast as possible, and prints a line after each append.
fn append_until_killed(path: &Path) -> Result<(), JournalError> {
    let mut appender = Appender::open(path, &AppenderOptions::default())?;
    loop {
        let next = appender.next_sequence();
        let sequence = appender.append(1, next, &[next as u8; 100])?;
        if writeln!(stdout(), "{sequence}").is_err() {
            return Ok(()); // the parent has closed the pipe
        }
    }
}
