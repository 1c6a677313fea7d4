//! What one process is told: in an environment variable, the folder of the ring as its argument.

use std::path::PathBuf;

use super::{
    designs::fewest_messages,
    error::RingBenchError,
    rows::{ROWS, Row},
};
use crate::sides::{Amount, Cpus, Seat, SideError, message::SHORTEST};

/// What all readings have in common.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// How much is published.
    pub amount: Amount,
    /// Messages a second where each is timed one way.
    pub rate: u32,
    /// Bytes of a message.
    pub length: usize,
    /// Bytes of a ring.
    pub capacity_bytes: usize,
    /// Where the sides run.
    pub cpus: Cpus,
    /// Priority of the real-time class, if that is wanted.
    pub real_time_priority: Option<u8>,
    /// Whether stamps are of the time stamp counter; else of the kernel's monotonic clock.
    pub counter: bool,
}

impl Settings {
    /// Messages that the smaller ring must hold.
    pub const FEWEST_MESSAGES: u64 = 256;

    /// The shortest message that can be checked.
    pub const SHORTEST: usize = SHORTEST;

    /// Whether the rings hold enough messages.
    pub fn check(&self) -> Result<(), RingBenchError> {
        let &Self { capacity_bytes, length, .. } = self;
        let (messages, fewest) = (fewest_messages(capacity_bytes, length), Self::FEWEST_MESSAGES);
        if messages < fewest {
            return Err(RingBenchError::TooSmall { capacity_bytes, length, messages, fewest });
        }
        Ok(())
    }
}

/// Which side of a row a process plays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    Writer,
    /// One of the readers, from 0.
    Reader(usize),
}

/// What one process does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Job {
    pub(super) row: &'static Row,
    pub(super) part: Part,
    pub(super) amount: Amount,
    pub(super) rate: u32,
    pub(super) length: usize,
    pub(super) capacity_bytes: usize,
    pub(super) cpu: u32,
    /// Whether it shares that processor with another process of the row.
    pub(super) shares: bool,
    pub(super) real_time_priority: Option<u8>,
    pub(super) counter: bool,
    pub(super) folder: PathBuf,
}

impl Job {
    /// All processes of a row, the writer first.
    pub(super) fn all(row: &'static Row, settings: &Settings, folder: PathBuf) -> Vec<Self> {
        let &Settings { amount, rate, length, capacity_bytes, counter, .. } = settings;
        let readers = row.readers();
        let job = |part, (cpu, shares)| Self {
            row,
            part,
            amount,
            rate,
            length,
            capacity_bytes,
            cpu,
            shares,
            real_time_priority: settings.real_time_priority,
            counter,
            folder: folder.clone(),
        };
        let writer_shares = readers > 0 && !settings.cpus.are_two();
        let writer = job(Part::Writer, (settings.cpus.writer, writer_shares));
        let reader = |index| job(Part::Reader(index), settings.cpus.reader(index, readers));
        std::iter::once(writer).chain((0..readers).map(reader)).collect()
    }

    /// The value of the environment variable:
    /// `ROW PART AMOUNT RATE LENGTH CAPACITY CPU SHARES PRIORITY COUNTER`, `-` for none.
    pub(super) fn to_text(&self) -> String {
        let part = match self.part {
            Part::Writer => "writer".to_owned(),
            Part::Reader(index) => format!("reader:{index}"),
        };
        let amount = match self.amount {
            Amount::Seconds(seconds) => format!("seconds:{seconds}"),
            Amount::Messages(messages) => format!("messages:{messages}"),
        };
        let priority = self.real_time_priority.map_or("-".to_owned(), |n| n.to_string());
        let Self { rate, length, capacity_bytes, cpu, shares, counter, .. } = self;
        format!(
            "{} {part} {amount} {rate} {length} {capacity_bytes} {cpu} {shares} {priority} {counter}",
            self.row.name
        )
    }

    pub(super) fn parse(text: &str, folder: PathBuf) -> Result<Self, RingBenchError> {
        let role = || SideError::Role { role: text.to_owned() }.into();
        Self::of_words(text, folder).ok_or_else(role)
    }

    fn of_words(text: &str, folder: PathBuf) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        let &[row, part, amount, rate, length, capacity, cpu, shares, priority, counter] =
            words.as_slice()
        else {
            return None;
        };
        Some(Self {
            row: ROWS.iter().find(|known| known.name == row)?,
            part: match part.split_once(':') {
                None if part == "writer" => Part::Writer,
                Some(("reader", index)) => Part::Reader(index.parse().ok()?),
                _ => return None,
            },
            amount: match amount.split_once(':')? {
                ("seconds", seconds) => Amount::Seconds(seconds.parse().ok()?),
                ("messages", messages) => Amount::Messages(messages.parse().ok()?),
                _ => return None,
            },
            rate: rate.parse().ok()?,
            length: length.parse().ok()?,
            capacity_bytes: capacity.parse().ok()?,
            cpu: cpu.parse().ok()?,
            shares: shares.parse().ok()?,
            real_time_priority: match priority {
                "-" => None,
                priority => Some(priority.parse().ok()?),
            },
            counter: counter.parse().ok()?,
            folder,
        })
    }

    /// The place to run in.
    pub(super) fn seat(&self) -> Seat {
        Seat {
            cpu: self.cpu,
            shares: self.shares,
            real_time_priority: self.real_time_priority,
            counter: self.counter,
            folder: self.folder.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            amount: Amount::Messages(7),
            rate: 1_000,
            length: 73,
            capacity_bytes: 1 << 16,
            cpus: Cpus { writer: 1, readers: vec![2, 3] },
            real_time_priority: Some(20),
            counter: true,
        }
    }

    #[test]
    fn a_job_is_the_same_after_it_was_told() {
        for amount in [Amount::Seconds(2), Amount::Messages(1 << 40)] {
            for row in ROWS {
                let settings = Settings { amount, ..settings() };
                for job in Job::all(row, &settings, PathBuf::from("there")) {
                    let told = Job::parse(&job.to_text(), PathBuf::from("there")).unwrap();
                    assert_eq!(told, job);
                }
            }
        }
    }

    #[test]
    fn what_is_no_job_is_refused_with_its_text() {
        let good = Job::all(&ROWS[0], &settings(), PathBuf::new())[0].to_text();
        for text in ["".to_owned(), good.replace("writer", "singer"), format!("{good} more")] {
            let error = Job::parse(&text, PathBuf::new()).unwrap_err().to_string();
            assert_eq!(error, format!("{text:?} is no role of this version"));
        }
    }

    #[test]
    fn a_ring_for_a_handful_of_messages_is_refused() {
        assert!(settings().check().is_ok());
        let error = Settings { length: 4_096, ..settings() }.check().unwrap_err().to_string();
        assert!(error.starts_with("a ring of 65536 bytes holds 8 messages of 4096"), "{error}");
    }
}
