//! SQLite as a journal: messages are rows of one table, in WAL mode. Prints one line of JSON.
//!
//! `journal-rivals MODE --synchronous off|normal|full --batch N --bytes N --messages N --cpus A,B
//! --folder FOLDER`, where MODE is `throughput` (nothing is timed but the whole) or `call` (each insert is
//! timed, with its commit where it ends a transaction).
//! Exit status: 0 good, 1 rows are missing or wrong, 2 usage or environment.

mod options;

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use options::Options;
use rusqlite::{Connection, params};
use rustix::thread::{CpuSet, sched_setaffinity};

type Failure = Box<dyn Error>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let options = match Options::parse(&words) {
        Ok(options) => options,
        Err(mistake) => {
            eprintln!("journal-rivals: {mistake}");
            return ExitCode::from(2);
        }
    };
    let place = Place::new(&options.folder);
    match place.and_then(|place| run(&options, &place.0)) {
        Ok(Some(line)) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Ok(None) => {
            eprintln!("sqlite: the table does not hold what was inserted");
            ExitCode::from(1)
        }
        Err(failure) => {
            eprintln!("sqlite: {failure}");
            ExitCode::from(2)
        }
    }
}

/// A folder that goes with the value.
struct Place(PathBuf);

impl Place {
    fn new(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(format!("journal-rivals-sqlite-{}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// None if what is in the table afterwards is not what was inserted.
fn run(options: &Options, place: &Path) -> Result<Option<String>, Failure> {
    let mut set = CpuSet::new();
    set.set(options.cpu);
    sched_setaffinity(None, &set)?;
    let connection = Connection::open(place.join("log.db"))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", &options.synchronous)?;
    connection.execute_batch(
        "CREATE TABLE log (sequence INTEGER PRIMARY KEY, type INTEGER, ts INTEGER, payload BLOB)",
    )?;
    let mut insert = connection.prepare("INSERT INTO log VALUES (?1, ?2, ?3, ?4)")?;
    let (mut begin, mut commit) = (connection.prepare("BEGIN")?, connection.prepare("COMMIT")?);
    let mut message = vec![0_u8; options.bytes];
    let mut calls: Vec<u64> = Vec::with_capacity(options.messages as usize);
    let start = Instant::now();
    for sequence in 1..=options.messages {
        fill(&mut message, sequence);
        let from = options.is_timed.then(Instant::now);
        // A single insert is a transaction of its own.
        if options.batch > 1 && sequence % options.batch == 1 {
            begin.execute([])?;
        }
        insert.execute(params![sequence as i64, 1, sequence as i64, &message])?;
        let is_last = sequence % options.batch == 0 || sequence == options.messages;
        if options.batch > 1 && is_last {
            commit.execute([])?;
        }
        if let Some(from) = from {
            calls.push(from.elapsed().as_nanos() as u64);
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    fill(&mut message, options.messages);
    let stored: (i64, Vec<u8>) = connection.query_row(
        "SELECT count(*), (SELECT payload FROM log ORDER BY sequence DESC LIMIT 1) FROM log",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    if stored != (options.messages as i64, message) {
        return Ok(None);
    }
    let rest = match options.is_timed {
        true => format!(",\"call_ns\":{}", percentiles(&mut calls)),
        false => format!(",\"messages_per_second\":{:.0}", options.messages as f64 / seconds),
    };
    let Options { synchronous, batch, bytes, messages, .. } = options;
    let mode = if options.is_timed { "call" } else { "throughput" };
    Ok(Some(format!(
        "{{\"name\":\"sqlite {synchronous} {batch}\",\"version\":\"{}\",\"mode\":\"{mode}\",\"scope\":\"one \
         thread\",\"message_bytes\":{bytes},\"messages\":{messages}{rest}}}",
        rusqlite::version()
    )))
}

/// The sequence number, and bytes that follow from it.
fn fill(message: &mut [u8], sequence: u64) {
    for (place, chunk) in message.chunks_mut(8).enumerate() {
        let word = sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ place as u64;
        chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
    }
}

/// Behind the first tenth; nearest rank, nothing interpolated.
fn percentiles(calls: &mut [u64]) -> String {
    let warm_up = calls.len() / 10;
    let calls = &mut calls[warm_up..];
    calls.sort_unstable();
    let at = |share: f64| {
        let rank = (calls.len() as f64 * share).ceil() as usize;
        calls.get(rank.max(1) - 1).copied().unwrap_or(0)
    };
    format!(
        "{{\"p50\":{},\"p90\":{},\"p99\":{},\"p99_9\":{},\"p99_99\":{},\"max\":{}}}",
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        at(0.9999),
        at(1.0)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_nearest_rank_behind_the_warm_up() {
        let mut calls: Vec<u64> = (0..1_000).map(|call| if call < 100 { 9_999 } else { call }).collect();
        let said = percentiles(&mut calls);
        assert!(said.starts_with("{\"p50\":549,\"p90\":909,\"p99\":990,"), "{said}");
        assert!(said.ends_with("\"max\":999}"), "{said}");
    }
}
