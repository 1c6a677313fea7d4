//! What one process is told: in an environment variable, the folders as its arguments.

use std::path::PathBuf;

use nanotape_journal::{AppenderOptions, RollCycle, SyncPolicy, excerpt_bytes};

use super::{
    error::JournalBenchError,
    rows::{ROWS, Row, What},
};
use crate::sides::{Cpus, Seat, SideError};

/// What all readings have in common.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Messages of a reading, and the most of one with a schedule.
    pub messages: u64,
    /// How long a schedule is.
    pub seconds: u32,
    /// How often a reading waits for the disk.
    pub syncs: u32,
    /// Where journals are.
    pub folder: PathBuf,
    /// Where those are that wait for the disk.
    pub disk: PathBuf,
    /// Length of a segment.
    pub segment_bytes: u64,
    /// How far in front of the appender pages are brought in.
    pub ahead_bytes: u64,
    /// Whether segments in memory are asked for in large pages.
    pub large_pages: bool,
    /// Where the sides run.
    pub cpus: Cpus,
    /// Whether stamps are of the time stamp counter; else of the kernel's monotonic clock.
    pub counter: bool,
}

impl Settings {
    /// Messages, or syncs, of a reading of this row.
    pub fn amount(&self, row: &Row) -> u64 {
        match row.what {
            What::Tail { rate } => self.messages.min(u64::from(self.seconds) * u64::from(rate)),
            What::Sync { .. } | What::Fdatasync { .. } => self.syncs.into(),
            What::Line => self.messages.min(1_000_000),
            What::Append { .. } | What::Burst | What::Copy { .. } => self.messages,
        }
    }

    /// Where a reading of this row writes.
    pub(super) fn folder_of(&self, row: &Row) -> &PathBuf {
        if row.is_on_disk() { &self.disk } else { &self.folder }
    }

    /// Bytes that a reading of this row takes there at most.
    pub(super) fn needed_bytes(&self, row: &Row) -> u64 {
        let segment = self.segment_bytes.max(1);
        let excerpts = match row.what {
            What::Line => return 0,
            What::Sync { batch } | What::Fdatasync { batch } => self.amount(row) * u64::from(batch),
            _ => self.amount(row),
        };
        let bytes = (excerpts + 16) * excerpt_bytes(row.length) as u64;
        if !row.is_of_journal() {
            return bytes;
        }
        // The last segment, one that is ready, and what goes to headers and indexes.
        let ahead = self.ahead_bytes.max(if row.what == What::Burst { bytes } else { 0 });
        bytes + bytes / 16 + (2 + ahead / segment) * segment
    }
}

/// What one process does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Job {
    pub(super) row: &'static Row,
    pub(super) is_reader: bool,
    /// Messages, or syncs.
    pub(super) amount: u64,
    pub(super) segment_bytes: u64,
    pub(super) ahead_bytes: u64,
    pub(super) large_pages: bool,
    pub(super) cpu: u32,
    /// Whether it shares that processor with another process of the row.
    pub(super) shares: bool,
    pub(super) counter: bool,
    /// To meet in.
    pub(super) folder: PathBuf,
    /// To write in.
    pub(super) data: PathBuf,
}

impl Job {
    /// All processes of a row, the writer first.
    pub(super) fn all(
        row: &'static Row,
        settings: &Settings,
        folder: PathBuf,
        data: PathBuf,
    ) -> Vec<Self> {
        let shares = row.is_read() && !settings.cpus.are_two();
        let job = |is_reader, cpu| Self {
            row,
            is_reader,
            amount: settings.amount(row),
            segment_bytes: settings.segment_bytes,
            ahead_bytes: settings.ahead_bytes,
            large_pages: settings.large_pages,
            cpu,
            shares,
            counter: settings.counter,
            folder: folder.clone(),
            data: data.clone(),
        };
        let writer = job(false, settings.cpus.writer);
        let reader = row.is_read().then(|| job(true, settings.cpus.readers[0]));
        std::iter::once(writer).chain(reader).collect()
    }

    /// The value of the environment variable:
    /// `ROW PART AMOUNT SEGMENT_BYTES AHEAD_BYTES LARGE_PAGES CPU SHARES COUNTER`.
    pub(super) fn to_text(&self) -> String {
        let part = if self.is_reader { "reader" } else { "writer" };
        let Self { amount, segment_bytes, ahead_bytes, large_pages, cpu, shares, counter, .. } =
            self;
        let (name, sizes) = (self.row.name, format!("{segment_bytes} {ahead_bytes} {large_pages}"));
        format!("{name} {part} {amount} {sizes} {cpu} {shares} {counter}")
    }

    pub(super) fn parse(
        text: &str,
        folder: PathBuf,
        data: PathBuf,
    ) -> Result<Self, JournalBenchError> {
        let role = || SideError::Role { role: text.to_owned() }.into();
        Self::of_words(text, folder, data).ok_or_else(role)
    }

    fn of_words(text: &str, folder: PathBuf, data: PathBuf) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        let &[row, part, amount, segment, ahead, large, cpu, shares, counter] = words.as_slice()
        else {
            return None;
        };
        Some(Self {
            row: ROWS.iter().find(|known| known.name == row)?,
            is_reader: match part {
                "writer" => false,
                "reader" => true,
                _ => return None,
            },
            amount: amount.parse().ok()?,
            segment_bytes: segment.parse().ok()?,
            ahead_bytes: ahead.parse().ok()?,
            large_pages: large.parse().ok()?,
            cpu: cpu.parse().ok()?,
            shares: shares.parse().ok()?,
            counter: counter.parse().ok()?,
            folder,
            data,
        })
    }

    /// The place to run in.
    pub(super) fn seat(&self) -> Seat {
        Seat {
            cpu: self.cpu,
            shares: self.shares,
            real_time_priority: None,
            counter: self.counter,
            folder: self.folder.clone(),
        }
    }

    /// Bytes that are to be in memory in front of the appender before a burst begins.
    pub(super) fn burst_bytes(&self) -> u64 {
        let bytes = (self.amount + 16) * excerpt_bytes(self.row.length) as u64;
        bytes + bytes / 16
    }

    /// How to append.
    pub(super) fn options(&self) -> AppenderOptions {
        let is_synced = matches!(self.row.what, What::Sync { .. });
        AppenderOptions {
            segment_bytes: self.segment_bytes,
            // Times of messages are their numbers here.
            roll_cycle: RollCycle::Size,
            sync: if is_synced { SyncPolicy::Batch } else { SyncPolicy::Never },
            ahead_bytes: match self.row.what {
                What::Burst => self.burst_bytes().max(self.ahead_bytes),
                _ => self.ahead_bytes,
            },
            large_pages: self.large_pages,
            // The next segment would be written to the disk while syncs are timed.
            has_helper: !is_synced,
            ..AppenderOptions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            messages: 1_000_000,
            seconds: 3,
            syncs: 100,
            folder: PathBuf::from("there"),
            disk: PathBuf::from("disk"),
            segment_bytes: 1 << 20,
            ahead_bytes: 2 << 20,
            large_pages: true,
            cpus: Cpus { writer: 1, readers: vec![2] },
            counter: true,
        }
    }

    #[test]
    fn a_job_is_the_same_after_it_was_told() {
        for row in ROWS {
            for job in Job::all(row, &settings(), "meet".into(), "data".into()) {
                let told = Job::parse(&job.to_text(), "meet".into(), "data".into()).unwrap();
                assert_eq!(told, job);
            }
        }
    }

    #[test]
    fn what_is_no_job_is_refused_with_its_text() {
        let good = Job::all(&ROWS[0], &settings(), "".into(), "".into())[0].to_text();
        for text in ["".to_owned(), good.replace("writer", "singer"), format!("{good} more")] {
            let error = Job::parse(&text, "".into(), "".into()).unwrap_err().to_string();
            assert_eq!(error, format!("{text:?} is no role of this version"));
        }
    }

    #[test]
    fn a_schedule_ends_with_its_time_or_with_the_messages() {
        let of = |name| {
            let row = ROWS.iter().find(|row| row.name == name).unwrap();
            (settings().amount(row), settings().needed_bytes(row))
        };
        assert_eq!(of("tail/73/100000").0, 300_000);
        assert_eq!(of("tail/73/1000000").0, 1_000_000);
        assert_eq!(of("sync/73/batch-32").0, 100);
        assert_eq!(of("limit/73/mapped"), (1_000_000, 104 * 1_000_016));
        assert!(of("append/73/throughput").1 > 104_000_000 + (4 << 20));
    }
}
