//! `nanotape journal prove`: one appender and many tailers; every excerpt is accounted for.

use std::{
    fs::DirBuilder, iter::once, os::unix::fs::DirBuilderExt as _, path::PathBuf, thread,
    time::Duration,
};

use anyhow::{Context as _, bail};
use clap::Args;
use nanotape_console::{
    interrupt,
    output::{Format, OutputArguments},
    progress::Progress,
    status::Status,
    values::{bytes, bytes_text, duration, period, seconds},
};
use nanotape_tape::ShutdownFlag;
use serde_json::{Value, json};

use super::{
    Crew, JournalJob, Proof, Site, TICK, Timetable, number,
    watch::{LEAST_SEGMENTS, Watch},
    word,
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
    #[arg(long, value_name = "N", conflicts_with = "seconds", value_parser = nanotape_console::values::count::<u64>(1..))]
    excerpts: Option<u64>,

    /// Tailer processes
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = nanotape_console::values::count::<u64>(1..=1000))]
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
    /// Runs the proof and prints its result.
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
        let path = self.folder.join(Site::name());
        let private = DirBuilder::new().mode(0o700).create(&path);
        private.with_context(|| format!("cannot make {}", path.display()))?;
        let folder = Site { path, is_kept: self.keep };
        let proof = Run::start(self, &folder)?.go(&interrupt)?;
        drop(folder);
        proof.print(output, format)
    }
}

/// The running workers: the appender first, then the tailers.
struct Run<'a> {
    command: &'a JournalProveCommand,
    crew: Crew,
    watch: Watch,
    times: Timetable,
    journal: PathBuf,
}

const APPENDER: usize = 0;

impl<'a> Run<'a> {
    fn start(command: &'a JournalProveCommand, folder: &Site) -> anyhow::Result<Self> {
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
        // Tailers need an existing journal, so the appender starts first.
        let appender = once(("appender".to_owned(), job(None)));
        let tailer = |number| (format!("tailer {number}"), job(Some(number)));
        let crew = Crew::start(JournalJob::WORK, appender.chain((0..command.tailers).map(tailer)))?;
        let watch = Watch::new(&job(None), command.tailers, command.patience);
        let (times, journal) = (Timetable::new(command.seed), job(None).journal());
        Ok(Self { command, crew, watch, times, journal })
    }

    fn tailers(&self) -> usize {
        self.crew.members.len() - 1
    }

    fn go(mut self, interrupt: &ShutdownFlag) -> anyhow::Result<Proof> {
        let is_counted = self.command.excerpts.is_some();
        let steps = if is_counted { 0 } else { self.command.seconds.as_secs() };
        let progress = Progress::with_steps("seconds", steps);
        let (kill, kill_tailer) =
            (self.command.kill_appender_every, self.command.kill_tailer_every);
        let (mut kill_due, mut tailer_due) = (self.times.due(kill), self.times.due(kill_tailer));
        while !interrupt.is_requested() && !self.has_stuck_tailer() {
            thread::sleep(TICK);
            self.watch.check()?;
            progress.set(self.times.elapsed().as_secs());
            let now = self.times.elapsed();
            let is_done = match is_counted {
                true => self.crew.has_ended(APPENDER)?,
                false => now >= self.command.seconds,
            };
            if is_done {
                break;
            }
            // Tailers may end while the appender computes the expected checksum.
            for member in 0..self.crew.members.len() {
                self.crew.must_run(member, is_counted || member != APPENDER)?;
            }
            if now >= kill_due {
                self.crew.replace(APPENDER)?;
                self.crew.wait_until_ready(APPENDER).context("the next appender")?;
                kill_due = self.times.due(kill);
            }
            if now >= tailer_due {
                let tailer = self.times.rng.below(self.tailers());
                self.crew.replace(1 + tailer)?;
                tailer_due = self.times.due(kill_tailer);
            }
        }
        let seconds = self.times.elapsed().as_secs_f64();
        self.crew.stop();
        drop(progress);
        self.conclude(seconds)
    }

    /// Whether any tailer has excerpts to read and makes no progress.
    fn has_stuck_tailer(&self) -> bool {
        (0..self.tailers()).any(|number| self.watch.is_stuck(number))
    }

    /// Waits until `is_over`, while tailers read and free space.
    fn wait(
        &mut self,
        mut is_over: impl FnMut(&mut Self) -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        while !is_over(self)? {
            self.watch.check()?;
            thread::sleep(TICK);
        }
        Ok(())
    }

    fn conclude(mut self, seconds: f64) -> anyhow::Result<Proof> {
        // The appender computes the expected checksum.
        self.wait(|run| run.crew.has_ended(APPENDER))?;
        // The last excerpt is not removed: every tailer reaches it or is stuck.
        self.wait(|run| {
            let mut is_over = true;
            for number in 0..run.tailers() {
                is_over &= run.crew.has_ended(1 + number)? || run.watch.is_stuck(number);
            }
            Ok(is_over)
        })?;
        let counted = self.crew.first_counted()?;
        let tailers = (0..self.tailers()).map(|number| self.row(number, &counted["checksum"]));
        let tailers = tailers.collect::<anyhow::Result<Vec<Value>>>()?;
        Ok(self.proof(seconds, &counted, tailers))
    }

    /// The row of a tailer.
    fn row(&mut self, number: usize, checksum: &Value) -> anyhow::Result<Value> {
        let member = 1 + number;
        let is_stuck = !self.crew.has_ended(member)?;
        let row = json!({
            "tailer": number,
            "kills": self.crew.members[member].kills,
            // For a tailer that failed: the excerpts it had read at the last check.
            "read": self.watch.next_sequence(number).saturating_sub(1),
            "missing": 0,
        });
        let mut row = self.crew.row(member, row)?;
        let own = row.as_object_mut().and_then(|row| row.remove("checksum"));
        // None if the tailer was killed.
        let own = own.filter(|own| !own.is_null());
        row["checksum_is_right"] = own.map(|own| own == *checksum).into();
        row["end"] = match row["ended"] == true {
            true => "good",
            false if is_stuck => "stuck",
            false => "failed",
        }
        .into();
        Ok(row)
    }

    fn proof(&self, seconds: f64, counted: &Value, tailers: Vec<Value>) -> Proof {
        let (command, appended) = (self.command, &counted["appended"]);
        let is_good = |tailer: &Value| {
            let is_right = &tailer["checksum_is_right"];
            tailer["end"] == "good"
                && tailer["read"] == *appended
                && tailer["missing"] == 0
                && (*is_right == true || (is_right.is_null() && tailer["kills"] != 0))
        };
        let are_good = tailers.iter().all(is_good);
        let verdict = if are_good {
            "every tailer read every excerpt once, whole and in order".to_owned()
        } else if tailers.iter().all(|tailer| tailer["end"] == "stuck" || is_good(tailer)) {
            let patience = command.patience.as_secs_f64();
            format!(
                "NOT every tailer reached the end: a stuck tailer made no progress for {patience} \
                 s. No excerpt is known to be lost"
            )
        } else {
            "NOT every excerpt is accounted for".to_owned()
        };
        let kills = self.crew.members.iter().map(|member| member.kills);
        let (appender_kills, tailer_kills) =
            (self.crew.members[APPENDER].kills, kills.skip(1).sum::<u64>());
        let checksum = format!("{:016x}", counted["checksum"].as_u64().unwrap_or(0));
        let peak_bytes = self.watch.peak_bytes();
        let journal = command.keep.then(|| self.journal.display().to_string());
        let kept = journal.as_ref().map(|journal| format!("the journal is {journal}\n"));
        let text = format!(
            "{appended} excerpts in {seconds:.1} s, checksum {checksum}; the appender was killed \
             {appender_kills} times, tailers {tailer_kills} times\n{verdict}\nthe journal took up \
             to {} MiB\n{}",
            peak_bytes.div_ceil(1 << 20),
            kept.unwrap_or_default(),
        );
        let record = json!({
            "seed": command.seed,
            "segment_bytes": command.segment,
            "sync_every": command.sync,
            "duration_s": seconds,
            "appended": appended,
            "checksum": checksum,
            "appender_kills": appender_kills,
            "tailer_kills": tailer_kills,
            "peak_bytes": peak_bytes,
            "journal": journal,
            "good": are_good,
            "tailers": tailers,
        });
        let columns = vec![
            number("tailer", 6, "Number of the tailer, from 0."),
            number("read", 12, "Excerpts that it read."),
            number("missing", 12, "Excerpts that were missing for it."),
            number("kills", 6, "How often it was killed."),
            word("checksum", 8, "right or WRONG. Absent if it was killed.", "checksum_is_right"),
            word("end", 0, "How it ended.", "end"),
        ];
        Proof { text, record, rows: "tailers", columns }
    }
}
