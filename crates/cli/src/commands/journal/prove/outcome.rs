//! What `journal prove` found, and how it is printed.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::ProveCommand;
use crate::{
    output::{Format, Output},
    rows::{Column, Rows},
};

/// How it went.
pub(super) struct Outcome {
    pub(super) seconds: f64,
    pub(super) appended: u64,
    pub(super) checksum: u64,
    pub(super) appender_kills: u64,
    pub(super) tailer_kills: u64,
    /// Bytes that the journal was seen to take at most.
    pub(super) peak_bytes: u64,
    pub(super) tailers: Vec<TailerResult>,
}

/// What became of a tailer.
pub(super) struct TailerResult {
    /// What it counted; nothing of one that failed or is stuck.
    pub(super) counted: Option<Value>,
    /// Whether it had something to read and did not move for too long.
    pub(super) is_stuck: bool,
    /// How many excerpts it had read when it was looked at last.
    pub(super) read: u64,
    pub(super) kills: u64,
}

/// What each tailer counts, as it is called in its answer and in tables.
const COUNTS: [&str; 2] = ["read", "missing"];

impl TailerResult {
    fn count(&self, name: &str) -> u64 {
        match &self.counted {
            Some(counted) => counted[name].as_u64().unwrap_or(0),
            None if name == "read" => self.read,
            None => 0,
        }
    }

    /// How it ended, in a word.
    fn end(&self) -> &'static str {
        match self.counted {
            Some(_) => "good",
            None if self.is_stuck => "stuck",
            None => "failed",
        }
    }

    /// Whether its checksum is that of all excerpts; nothing where it was killed and has none.
    fn has_checksum(&self, checksum: u64) -> Option<bool> {
        let own = self.counted.as_ref()?["checksum"].as_u64()?;
        Some(own == checksum)
    }

    fn is_good(&self, outcome: &Outcome) -> bool {
        self.counted.is_some()
            && self.count("read") == outcome.appended
            && self.count("missing") == 0
            && self.has_checksum(outcome.checksum) != Some(false)
            && (self.kills > 0 || self.has_checksum(outcome.checksum).is_some())
    }
}

impl Outcome {
    fn verdict(&self, command: &ProveCommand) -> String {
        if self.is_good() {
            return "every tailer read every excerpt once, whole and in order".to_owned();
        }
        let is_only_stuck = |tailer: &TailerResult| tailer.is_stuck || tailer.is_good(self);
        if !self.tailers.iter().all(is_only_stuck) {
            return "NOT every excerpt is accounted for".to_owned();
        }
        let patience = command.patience.as_secs_f64();
        format!(
            "NOT every tailer reached the end: a stuck tailer made no progress for {patience} s. No \
             excerpt is known to be lost"
        )
    }

    pub(super) fn is_good(&self) -> bool {
        self.tailers.iter().all(|tailer| tailer.is_good(self))
    }

    pub(super) fn print(
        &self,
        command: &ProveCommand,
        journal: Option<PathBuf>,
        mut output: Output,
        format: Format,
    ) -> anyhow::Result<()> {
        use std::io::Write as _;
        let journal = journal.map(|path| path.display().to_string());
        if format == Format::Json {
            let tailers = self.tailers.iter().enumerate().map(|(number, tailer)| {
                let mut row = json!({
                    "tailer": number,
                    "kills": tailer.kills,
                    "checksum_is_right": tailer.has_checksum(self.checksum),
                    "ended": tailer.counted.is_some(),
                    "end": tailer.end(),
                });
                for name in COUNTS {
                    row[name] = tailer.count(name).into();
                }
                row
            });
            let record = json!({
                "seed": command.seed,
                "segment_bytes": command.segment,
                "sync_every": command.sync,
                "duration_s": self.seconds,
                "appended": self.appended,
                "checksum": format!("{:016x}", self.checksum),
                "appender_kills": self.appender_kills,
                "tailer_kills": self.tailer_kills,
                "peak_bytes": self.peak_bytes,
                "journal": journal,
                "good": self.is_good(),
                "tailers": tailers.collect::<Vec<_>>(),
            });
            writeln!(output, "{record}")?;
            output.finish()?;
            return Ok(());
        }
        if format == Format::Text {
            writeln!(
                output,
                "{} excerpts in {:.1} s, checksum {:016x}; the appender was killed {} times, tailers {} \
                 times",
                self.appended, self.seconds, self.checksum, self.appender_kills, self.tailer_kills
            )?;
            writeln!(output, "{}", self.verdict(command))?;
            writeln!(output, "the journal took up to {} MiB", self.peak_bytes.div_ceil(1 << 20))?;
            if let Some(journal) = &journal {
                writeln!(output, "the journal is {journal}")?;
            }
            writeln!(output)?;
        }
        let mut columns = vec![Column::number("tailer", 6)];
        columns.extend(COUNTS.map(|name| Column::number(name, 12)));
        columns.push(Column::number("kills", 6));
        columns.push(Column::word("checksum", 8));
        columns.push(Column::word("end", 0));
        let mut rows = Rows::new(output, format, columns);
        for (number, tailer) in self.tailers.iter().enumerate() {
            rows.integer(number as u64);
            COUNTS.iter().for_each(|name| rows.integer(tailer.count(name)));
            rows.integer(tailer.kills);
            rows.text(match tailer.has_checksum(self.checksum) {
                Some(true) => "right",
                Some(false) => "WRONG",
                None => "",
            });
            rows.text(tailer.end());
            rows.end_row()?;
        }
        rows.finish()?;
        Ok(())
    }
}
