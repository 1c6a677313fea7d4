//! `nanotape journal prove`: one appender and many tailers, and every excerpt accounted for.

use std::{path::PathBuf, thread, time::Duration};

use anyhow::{Context as _, bail};
use clap::Args;
use nanotape_console::{
    interrupt,
    output::{Format, OutputArguments},
    progress::Progress,
    rows::Column,
    status::Status,
    values::{bytes, bytes_text, duration, period, seconds},
};
use nanotape_tape::ShutdownFlag;
use serde_json::{Value, json};

use super::{
    Crew, JournalJob, Proof, TICK, Timetable,
    watch::{LEAST_SEGMENTS, Watch},
};

/// The arguments of `nanotape journal prove`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape journal prove                      a minute, one appender, four tailers
  nanotape journal prove --excerpts 10000000 --tailers 8 --keep
  nanotape journal prove --seconds 600 --kill-appender-every 0.2 --kill-tailer-every 0.5

One process appends as fast as it can: excerpts of 0 to 1,024 bytes, one by one, in place and in
batches. Tailer processes read all of them, each under its own name. Bytes and length of an
excerpt follow from its sequence number, so a torn excerpt is detected. A killed appender
(SIGKILL) is replaced by another, which checks that everything its predecessor committed is there.
A killed tailer is replaced by another of the same name, which resumes at the stored position. At
the end every tailer must have read every excerpt once, and every tailer that was not killed must
report the expected checksum.

A slow tailer is allowed: the command waits as long as it makes progress. A tailer that has
excerpts to read and makes no progress for --patience ends the run and counts as stuck, which
fails the check too. Excerpts are lost only if sequence numbers are missing or a tailer fails.

The files of the journal take at most --space. Segments that every tailer has read are removed,
and the appender waits for the slowest tailer. With --keep nothing is removed and the appender
does not wait: an excerpt takes about 100 bytes, and the appender may write some gigabytes a
second.

Exit status: 0 every excerpt is accounted for; 1 excerpts are lost, or a tailer is stuck; 2 the
processes cannot be started.")]
pub struct JournalProveCommand {
    /// How long to append
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    seconds: Duration,

    /// Append N excerpts, however long that takes
    #[arg(long, value_name = "N", conflicts_with = "seconds", value_parser = clap::value_parser!(u64).range(1..))]
    excerpts: Option<u64>,

    /// Tailer processes
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=1000))]
    tailers: u64,

    /// Bytes of a segment
    #[arg(long, value_name = "BYTES", default_value = "16MiB", value_parser = bytes)]
    segment: usize,

    /// Sync after every N excerpts; 0: never
    #[arg(long, value_name = "N", default_value_t = 0)]
    sync: u64,

    /// Kill the appender about every SECONDS, and start another
    #[arg(long, value_name = "SECONDS", value_parser = period)]
    kill_appender_every: Option<Duration>,

    /// Kill a tailer about every SECONDS, and start another of the same name
    #[arg(long, value_name = "SECONDS", value_parser = period)]
    kill_tailer_every: Option<Duration>,

    /// Folder in which to create the folder of the journal
    #[arg(long, value_name = "FOLDER", default_value = "/dev/shm")]
    folder: PathBuf,

    /// Most bytes for the journal, at least eight segments; not with --keep
    #[arg(long, value_name = "BYTES", default_value = "1GiB", value_parser = bytes, conflicts_with = "keep")]
    space: usize,

    /// A tailer counts as stuck if it has excerpts to read and stays at one for this long
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = period)]
    patience: Duration,

    /// Pause the first tailer for TIME after each excerpt (2ms)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    slow_tailer: Option<Duration>,

    /// Keep the whole journal and print its path
    #[arg(long)]
    keep: bool,

    /// Seed for the excerpts and for the times at which processes are killed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    output: OutputArguments,
}

impl JournalProveCommand {
    /// Lets processes loose, and prints what became of their excerpts.
    pub fn run(&self) -> anyhow::Result<Status> {
        let format = self.output.format_or(Format::Text)?;
        let least = LEAST_SEGMENTS * self.segment as u64;
        if !self.keep && (self.space as u64) < least {
            bail!(
                "--space {}: less than {LEAST_SEGMENTS} segments of {}; use at least {least}, or a \
                 smaller --segment",
                self.space,
                bytes_text(self.segment as u64)
            );
        }
        let interrupt = interrupt::install()?;
        let output = self.output.open()?;
        let folder = Folder::make(self)?;
        let outcome = Run::start(self, &folder)?.go(&interrupt)?;
        let journal = self.keep.then(|| folder.path.join("journal"));
        drop(folder);
        let is_good = outcome.is_good();
        outcome.proof(self, journal).print(output, format)?;
        Ok(if is_good { Status::Good } else { Status::Bad })
    }
}

/// A folder of its own; removed when dropped, unless it is to be kept.
struct Folder {
    path: PathBuf,
    is_kept: bool,
}

impl Folder {
    fn make(command: &JournalProveCommand) -> anyhow::Result<Self> {
        let path = command.folder.join(format!("nanotape-prove-{}", std::process::id()));
        std::fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self { path, is_kept: command.keep })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// Workers at work: the appender first, then the tailers.
struct Run<'a> {
    command: &'a JournalProveCommand,
    crew: Crew,
    watch: Watch,
    times: Timetable,
}

const APPENDER: usize = 0;

impl<'a> Run<'a> {
    fn start(command: &'a JournalProveCommand, folder: &Folder) -> anyhow::Result<Self> {
        let job = |tailer| JournalJob {
            path: folder.path.clone(),
            seed: command.seed,
            segment_bytes: command.segment as u64,
            sync: command.sync,
            excerpts: command.excerpts.unwrap_or(0),
            space: if command.keep { 0 } else { command.space as u64 },
            rest: command.slow_tailer.filter(|_| tailer == Some(0)).unwrap_or_default(),
            tailer,
        };
        let mut crew = Crew::new(JournalJob::WORK)?;
        crew.start("appender".to_owned(), &job(None))?;
        // Tailers begin with a journal that is there.
        crew.wait_until_ready(APPENDER)?;
        for number in 0..command.tailers {
            crew.start(format!("tailer {number}"), &job(Some(number)))?;
        }
        let watch = Watch::new(&job(None), command.tailers, command.patience);
        Ok(Self { command, crew, watch, times: Timetable::new(command.seed) })
    }

    fn tailers(&self) -> usize {
        self.crew.members.len() - 1
    }

    fn go(mut self, interrupt: &ShutdownFlag) -> anyhow::Result<Outcome> {
        let is_counted = self.command.excerpts.is_some();
        let steps = if is_counted { 0 } else { self.command.seconds.as_secs() };
        let progress = Progress::with_steps("seconds", steps);
        let (kill, kill_tailer) =
            (self.command.kill_appender_every, self.command.kill_tailer_every);
        let (mut kill_due, mut tailer_due) = (self.times.due(kill), self.times.due(kill_tailer));
        while !interrupt.is_requested() && !self.has_stuck_tailer() {
            thread::sleep(TICK);
            self.watch.look()?;
            progress.set(self.times.elapsed().as_secs());
            let now = self.times.elapsed();
            let is_done = match is_counted {
                true => self.crew.has_ended(APPENDER)?,
                false => now >= self.command.seconds,
            };
            if is_done {
                break;
            }
            // Tailers may be at the end while the appender adds up what they should have found.
            for member in 0..self.crew.members.len() {
                self.crew.must_run(member, is_counted || member != APPENDER)?;
            }
            if now >= kill_due {
                self.crew.replace(APPENDER)?;
                self.crew.wait_until_ready(APPENDER).context("the next appender")?;
                kill_due = self.times.due(kill);
            }
            if now >= tailer_due {
                let tailer = self.times.pick(self.tailers());
                self.crew.replace(1 + tailer)?;
                tailer_due = self.times.due(kill_tailer);
            }
        }
        let seconds = self.times.elapsed().as_secs_f64();
        self.crew.stop();
        drop(progress);
        self.conclude(seconds)
    }

    /// Whether a tailer has something to read and does not move.
    fn has_stuck_tailer(&self) -> bool {
        (0..self.tailers()).any(|number| self.watch.is_stuck(number))
    }

    /// Waits until `is_over`, while tailers read and free space.
    fn wait(
        &mut self,
        mut is_over: impl FnMut(&mut Self) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        while !is_over(self)? {
            self.watch.look()?;
            thread::sleep(TICK);
        }
        Ok(())
    }

    fn conclude(mut self, seconds: f64) -> anyhow::Result<Outcome> {
        // It adds up what tailers should have found.
        self.wait(|run| run.crew.has_ended(APPENDER))?;
        // The last excerpt stays: every tailer comes to it, or is stuck.
        self.wait(|run| {
            let mut is_over = true;
            for number in 0..run.tailers() {
                is_over &= run.crew.has_ended(1 + number)? || run.watch.is_stuck(number);
            }
            Ok(is_over)
        })?;
        let Some(counted) = self.crew.counted(APPENDER)? else {
            bail!("the appender failed at its end")
        };
        let mut tailers = Vec::new();
        for number in 0..self.tailers() {
            tailers.push(TailerResult {
                is_stuck: !self.crew.has_ended(1 + number)?,
                counted: self.crew.counted(1 + number)?,
                read: self.watch.next_sequence(number).saturating_sub(1),
                kills: self.crew.members[1 + number].kills,
            });
        }
        Ok(Outcome {
            seconds,
            appended: counted["appended"].as_u64().unwrap_or(0),
            checksum: counted["checksum"].as_u64().unwrap_or(0),
            appender_kills: self.crew.members[APPENDER].kills,
            tailer_kills: tailers.iter().map(|tailer| tailer.kills).sum(),
            peak_bytes: self.watch.peak_bytes(),
            tailers,
        })
    }
}

/// How it went.
struct Outcome {
    seconds: f64,
    appended: u64,
    checksum: u64,
    appender_kills: u64,
    tailer_kills: u64,
    /// Bytes that the journal was seen to take at most.
    peak_bytes: u64,
    tailers: Vec<TailerResult>,
}

/// What became of a tailer.
struct TailerResult {
    /// What it counted; nothing of one that failed or is stuck.
    counted: Option<Value>,
    /// Whether it had something to read and did not move for too long.
    is_stuck: bool,
    /// How many excerpts it had read when it was looked at last.
    read: u64,
    kills: u64,
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
    fn verdict(&self, command: &JournalProveCommand) -> String {
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

    fn is_good(&self) -> bool {
        self.tailers.iter().all(|tailer| tailer.is_good(self))
    }

    fn proof(&self, command: &JournalProveCommand, journal: Option<PathBuf>) -> Proof {
        let journal = journal.map(|path| path.display().to_string());
        let tailers = self.tailers.iter().enumerate();
        let records = tailers.clone().map(|(number, tailer)| {
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
            "tailers": records.collect::<Vec<_>>(),
        });
        let text = format!(
            "{} excerpts in {:.1} s, checksum {:016x}; the appender was killed {} times, tailers {} \
             times\n{}\nthe journal took up to {} MiB\n{}",
            self.appended,
            self.seconds,
            self.checksum,
            self.appender_kills,
            self.tailer_kills,
            self.verdict(command),
            self.peak_bytes.div_ceil(1 << 20),
            journal.map_or(String::new(), |journal| format!("the journal is {journal}\n")),
        );
        let mut columns = vec![Column::number("tailer", 6)];
        columns.extend(COUNTS.map(|name| Column::number(name, 12)));
        columns.push(Column::number("kills", 6));
        columns.push(Column::word("checksum", 8));
        columns.push(Column::word("end", 0));
        let rows = tailers.map(|(number, tailer)| {
            let mut row = vec![number.to_string()];
            row.extend(COUNTS.map(|name| tailer.count(name).to_string()));
            row.push(tailer.kills.to_string());
            let checksum = match tailer.has_checksum(self.checksum) {
                Some(true) => "right",
                Some(false) => "WRONG",
                None => "",
            };
            row.extend([checksum, tailer.end()].map(str::to_owned));
            row
        });
        Proof { text, columns, rows: rows.collect(), record }
    }
}
