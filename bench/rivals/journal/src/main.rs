//! SQLite as a journal: messages are rows of one table, in WAL mode. Prints one line of JSON.
//!
//! `rivals-journal MODE [--synchronous off|normal|full] [--batch N] [--bytes N] [--messages N]
//! [--cpus A,B] [--folder FOLDER]`, where MODE is `throughput` (only the whole run is timed) or
//! `call` (each insert is timed, together with its commit if it ends a transaction).
//! Exit status: 0 good, 1 rows are missing or wrong, 2 usage or environment.
#![forbid(unsafe_code)]

use std::{fs, path::PathBuf, process::ExitCode};

use clap::{Parser, ValueEnum, value_parser};
use nanotape_clock::Clock;
use rivals_measure::{
    Cpus, Failure, Percentiles, Wrong, finish,
    message::fill,
    scratch::{self, Scratch},
};
use rusqlite::{Connection, params};
use serde::Serialize;
use serde_json::json;

#[derive(Clone, Copy, PartialEq, Debug, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    /// Only the whole run is timed.
    Throughput,
    /// Each insert is timed, together with its commit if it ends a transaction.
    Call,
}

/// SQLite as a journal: prints one line of JSON.
#[derive(Debug, Parser)]
#[command(name = "rivals-journal")]
struct Options {
    mode: Mode,
    /// SQLite's setting of this name.
    #[arg(long, default_value = "off", value_parser = ["off", "normal", "full"])]
    synchronous: String,
    /// Inserts in one transaction.
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u64).range(1..))]
    batch: u64,
    /// The length of a message.
    #[arg(long, default_value_t = 73, value_parser = value_parser!(u16).range(24..))]
    bytes: u16,
    #[arg(long, default_value_t = 100_000, value_parser = value_parser!(u64).range(1..))]
    messages: u64,
    #[command(flatten)]
    cpus: Cpus,
    /// Where the table is created.
    #[arg(long, default_value = "/dev/shm")]
    folder: PathBuf,
}

fn main() -> ExitCode {
    finish("sqlite", run(&Options::parse()).map(Some))
}

fn run(options: &Options) -> Result<String, Failure> {
    let folder = options.folder.join(scratch::prefix() + "sqlite");
    let _files = Scratch(vec![options.folder.clone()]);
    fs::create_dir(&folder)?;
    options.cpus.pin_writer()?;
    let connection = Connection::open(folder.join("log.db"))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", &options.synchronous)?;
    connection.execute_batch(
        "CREATE TABLE log (sequence INTEGER PRIMARY KEY, type INTEGER, ts INTEGER, payload BLOB)",
    )?;
    let (seconds, mut calls) = insert(&connection, options)?;
    check(&connection, options)?;
    let Options { mode, synchronous, batch, bytes, messages, .. } = options;
    let mut line = json!({
        "name": format!("sqlite {synchronous} {batch}"),
        "version": rusqlite::version(),
        "mode": mode,
        "scope": "one thread",
        "message_bytes": bytes,
        "messages": messages,
    });
    if *mode == Mode::Call {
        line["call_ns"] = json!(after_warm_up(&mut calls));
    } else {
        line["messages_per_second"] = ((*messages as f64 / seconds).round() as u64).into();
    }
    Ok(line.to_string())
}

/// Inserts all messages. Returns the seconds of all, and the nanoseconds of each if calls are
/// timed.
fn insert(connection: &Connection, options: &Options) -> Result<(f64, Vec<u64>), rusqlite::Error> {
    let clock = Clock::calibrate();
    let mut insert = connection.prepare("INSERT INTO log VALUES (?1, ?2, ?3, ?4)")?;
    let (mut begin, mut commit) = (connection.prepare("BEGIN")?, connection.prepare("COMMIT")?);
    let mut message = vec![0_u8; usize::from(options.bytes)];
    let mut calls = Vec::with_capacity(options.messages as usize);
    let start = clock.stamp_start();
    for sequence in 1..=options.messages {
        fill(&mut message, sequence);
        let from = (options.mode == Mode::Call).then(|| clock.stamp_start());
        // SQLite makes a single insert a transaction of its own.
        if options.batch > 1 && sequence % options.batch == 1 {
            begin.execute([])?;
        }
        insert.execute(params![sequence as i64, 1, sequence as i64, &message])?;
        let is_last = sequence % options.batch == 0 || sequence == options.messages;
        if options.batch > 1 && is_last {
            commit.execute([])?;
        }
        if let Some(from) = from {
            calls.push(clock.nanos_between(from, clock.stamp()));
        }
    }
    Ok((clock.nanos_between(start, clock.stamp()) as f64 / 1e9, calls))
}

/// The first tenth is left out.
fn after_warm_up(calls: &mut [u64]) -> Percentiles {
    let warm_up = calls.len() / 10;
    Percentiles::of(&mut calls[warm_up..], |nanos| nanos)
}

/// Fails unless the table has every row, and the last row has the last message.
fn check(connection: &Connection, options: &Options) -> Result<(), Failure> {
    let mut message = vec![0_u8; usize::from(options.bytes)];
    fill(&mut message, options.messages);
    let stored: (i64, Vec<u8>) = connection.query_row(
        "SELECT count(*), (SELECT payload FROM log ORDER BY sequence DESC LIMIT 1) FROM log",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    match stored == (options.messages as i64, message) {
        true => Ok(()),
        false => Err(Wrong("the table does not hold what was inserted".to_owned()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_tenth_of_the_calls_is_left_out() {
        let mut calls: Vec<u64> = (0..1_000).map(|call| call.max(100)).collect();
        calls[..100].fill(9_999);
        let mut rest: Vec<u64> = (100..1_000).collect();
        assert_eq!(after_warm_up(&mut calls), Percentiles::of(&mut rest, |nanos| nanos));
    }
    #[test]
    fn options_are_taken_and_mistakes_named() {
        let parsed = |words: &str| Options::try_parse_from(words.split(' '));
        let options = parsed("rivals-journal call --synchronous full --batch 1000").unwrap();
        assert_eq!((options.mode, options.batch, options.bytes), (Mode::Call, 1_000, 73));
        assert_eq!(options.synchronous, "full");
        for (words, what) in [
            ("rivals-journal", "<MODE>"),
            ("rivals-journal tail", "tail"),
            ("rivals-journal call --batch 0", "0 is not in 1.."),
            ("rivals-journal call --batch", "a value is required"),
            ("rivals-journal call --synchronous extra", "extra"),
            ("rivals-journal call --bytes 8", "8 is not in 24.."),
        ] {
            assert!(parsed(words).unwrap_err().to_string().contains(what), "{words}");
        }
    }
}
