//! `nanotape journal prove`: processes against each other, and every excerpt accounted for.

mod outcome;
mod watch;
pub(super) mod worker;

use std::{path::PathBuf, thread, time::Duration};

use anyhow::{Context as _, bail};
use clap::Args;

use self::{
    outcome::{Outcome, TailerResult},
    watch::{LEAST_SEGMENTS, Watch},
    worker::{Job, ROLE},
};
use crate::{
    crew::{TICK, Timetable, Worker},
    input::Progress,
    interrupt::Interrupt,
    output::{Format, OutputArguments},
    status::Status,
    values::{bytes, bytes_text, duration, period, seconds},
};

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
pub(super) struct ProveCommand {
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

pub(super) fn run(command: &ProveCommand) -> anyhow::Result<Status> {
    let format = command.output.format_or(Format::Text)?;
    let least = LEAST_SEGMENTS * command.segment as u64;
    if !command.keep && (command.space as u64) < least {
        bail!(
            "--space {}: less than {LEAST_SEGMENTS} segments of {}; use at least {least}, or a smaller \
             --segment",
            command.space,
            bytes_text(command.segment as u64)
        );
    }
    let interrupt = Interrupt::install()?;
    let output = command.output.open()?;
    let place = Place::make(command)?;
    let result = Run::start(command, &place)?.go(&interrupt)?;
    let journal = command.keep.then(|| place.path.join("journal"));
    drop(place);
    result.print(command, journal, output, format)?;
    Ok(if result.is_good() { Status::Good } else { Status::Bad })
}

/// A folder of its own; removed when dropped, unless it is to be kept.
struct Place {
    path: PathBuf,
    is_kept: bool,
}

impl Place {
    fn make(command: &ProveCommand) -> anyhow::Result<Self> {
        let path = command.folder.join(format!("nanotape-prove-{}", std::process::id()));
        std::fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self { path, is_kept: command.keep })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// Workers at work.
struct Run<'a> {
    command: &'a ProveCommand,
    appender: Worker,
    appender_job: Job,
    tailers: Vec<Tailer>,
    watch: Watch,
    times: Timetable,
    appender_kills: u64,
    tailer_kills: u64,
}

struct Tailer {
    worker: Worker,
    job: Job,
    kills: u64,
}

impl<'a> Run<'a> {
    fn start(command: &'a ProveCommand, place: &Place) -> anyhow::Result<Self> {
        let job = |tailer| Job {
            path: place.path.clone(),
            seed: command.seed,
            segment_bytes: command.segment as u64,
            sync: command.sync,
            excerpts: command.excerpts.unwrap_or(0),
            space: if command.keep { 0 } else { command.space as u64 },
            rest: command.slow_tailer.filter(|_| tailer == Some(0)).unwrap_or_default(),
            tailer,
        };
        let appender_job = job(None);
        let mut appender = start("appender".to_owned(), &appender_job)?;
        // Tailers begin with a journal that is there.
        appender.wait_until_ready()?;
        let tailers = (0..command.tailers).map(|number| {
            let job = job(Some(number));
            Ok(Tailer { worker: start(format!("tailer {number}"), &job)?, job, kills: 0 })
        });
        let tailers = tailers.collect::<anyhow::Result<_>>()?;
        let times = Timetable::new(command.seed);
        let watch = Watch::new(&appender_job, command.tailers, command.patience);
        Ok(Self {
            command,
            appender,
            appender_job,
            tailers,
            watch,
            times,
            appender_kills: 0,
            tailer_kills: 0,
        })
    }

    fn go(mut self, interrupt: &Interrupt) -> anyhow::Result<Outcome> {
        let is_counted = self.command.excerpts.is_some();
        let steps = if is_counted { 0 } else { self.command.seconds.as_secs() };
        let progress = Progress::with_steps("seconds", steps);
        let (kill, kill_tailer) =
            (self.command.kill_appender_every, self.command.kill_tailer_every);
        let (mut kill_due, mut tailer_due) = (self.times.due(kill), self.times.due(kill_tailer));
        let mut is_done = false;
        while !is_done && !interrupt.is_asked() && !self.has_stuck_tailer() {
            thread::sleep(TICK);
            self.watch.look()?;
            progress.set(self.times.elapsed().as_secs());
            let now = self.times.elapsed();
            is_done = match is_counted {
                true => self.appender.has_ended()?,
                false => now >= self.command.seconds,
            };
            if is_done {
                break;
            }
            if !is_counted {
                self.appender.must_run()?;
            }
            // They may be at the end while the appender adds up what they should have found.
            self.tailers.iter_mut().try_for_each(|tailer| tailer.worker.must_not_fail())?;
            if now >= kill_due {
                self.replace_appender()?;
                kill_due = self.times.due(kill);
            }
            if now >= tailer_due {
                self.replace_tailer()?;
                tailer_due = self.times.due(kill_tailer);
            }
        }
        let seconds = self.times.elapsed().as_secs_f64();
        if !self.appender.has_ended()? {
            self.appender.stop()?;
        }
        drop(progress);
        self.conclude(seconds)
    }

    /// Kills the appender wherever it is, and starts the next one at once.
    fn replace_appender(&mut self) -> anyhow::Result<()> {
        self.appender.kill()?;
        self.appender = start("appender".to_owned(), &self.appender_job)?;
        self.appender.wait_until_ready().context("the next appender")?;
        self.appender_kills += 1;
        Ok(())
    }

    fn replace_tailer(&mut self) -> anyhow::Result<()> {
        let number = (self.times.draw() % self.tailers.len() as u64) as usize;
        let tailer = &mut self.tailers[number];
        tailer.worker.kill()?;
        tailer.worker = start(format!("tailer {number}"), &tailer.job)?;
        tailer.kills += 1;
        self.tailer_kills += 1;
        Ok(())
    }

    /// Whether a tailer has something to read and does not move.
    fn has_stuck_tailer(&mut self) -> bool {
        (0..self.tailers.len()).any(|number| self.watch.is_stuck(number))
    }

    /// Waits until every tailer has ended, or is stuck.
    fn wait_for_tailers(&mut self) -> anyhow::Result<()> {
        loop {
            self.watch.look()?;
            let mut is_over = true;
            for (number, tailer) in self.tailers.iter_mut().enumerate() {
                is_over &= tailer.worker.has_ended()? || self.watch.is_stuck(number);
            }
            if is_over {
                return Ok(());
            }
            thread::sleep(TICK);
        }
    }

    /// Waits until the appender, which is to end, has added up what tailers should have found. They read and
    /// free space meanwhile.
    fn wait_for_appender(&mut self) -> anyhow::Result<()> {
        while !self.appender.has_ended()? {
            self.watch.look()?;
            thread::sleep(TICK);
        }
        Ok(())
    }

    fn conclude(mut self, seconds: f64) -> anyhow::Result<Outcome> {
        self.wait_for_appender()?;
        // The last excerpt stays: every tailer comes to it, or is stuck.
        self.wait_for_tailers()?;
        let Self { appender, tailers, watch, .. } = self;
        let Some(counted) = appender.counted()? else { bail!("the appender failed at its end") };
        let mut results = Vec::new();
        for (number, Tailer { mut worker, kills, .. }) in tailers.into_iter().enumerate() {
            let has_ended = worker.has_ended()?;
            results.push(TailerResult {
                counted: worker.counted_by_now()?,
                is_stuck: !has_ended,
                read: watch.next_sequence(number).saturating_sub(1),
                kills,
            });
        }
        Ok(Outcome {
            seconds,
            appended: counted["appended"].as_u64().unwrap_or(0),
            checksum: counted["checksum"].as_u64().unwrap_or(0),
            appender_kills: self.appender_kills,
            tailer_kills: self.tailer_kills,
            peak_bytes: watch.peak_bytes(),
            tailers: results,
        })
    }
}

fn start(name: String, job: &Job) -> anyhow::Result<Worker> {
    Worker::start(name, ROLE, &job.to_text())
}
