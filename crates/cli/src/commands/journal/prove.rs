//! `nanotape journal prove`: processes against each other, and every excerpt accounted for.

pub(super) mod worker;

use std::{path::PathBuf, thread, time::Duration};

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::{Value, json};

use self::worker::{Job, ROLE};
use crate::{
    crew::{TICK, Timetable, Worker, wait_for_all},
    input::Progress,
    interrupt::Interrupt,
    output::{Format, Output, OutputArguments},
    rows::{Column, Rows},
    status::Status,
    values::{bytes, period, seconds},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape journal prove                      a minute, one appender, four tailers
  nanotape journal prove --excerpts 10000000 --tailers 8 --keep
  nanotape journal prove --seconds 600 --kill-appender-every 0.2 --kill-tailer-every 0.5

One process appends as fast as it can, excerpts of 0 to 1024 bytes, one by one, in place and in batches;
others read all of them under names of their own. Bytes and length of an excerpt follow from its number, so
that one that is torn is seen. A killed appender (SIGKILL) is followed by another, which tells whether
everything is there that the one before had committed; a killed tailer is followed by another of its name,
which goes on where that was. In the end every tailer must have read every excerpt once, and those that
were not killed must have the checksum that the excerpts should have.

Exit status: 0 it is so; 1 it is not; 2 the processes cannot be run.")]
pub(super) struct ProveCommand {
    /// How long to append
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    seconds: Duration,

    /// Append so many, however long that takes
    #[arg(long, value_name = "N", conflicts_with = "seconds", value_parser = clap::value_parser!(u64).range(1..))]
    excerpts: Option<u64>,

    /// Tailer processes
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=1000))]
    tailers: u64,

    /// Bytes of a segment
    #[arg(long, value_name = "BYTES", default_value = "16MiB", value_parser = bytes)]
    segment: usize,

    /// Sync every so many excerpts; 0 is never
    #[arg(long, value_name = "N", default_value_t = 0)]
    sync: u64,

    /// Kill the appender about so often, and start another
    #[arg(long, value_name = "SECONDS", value_parser = period)]
    kill_appender_every: Option<Duration>,

    /// Kill a tailer about so often, and start another of its name
    #[arg(long, value_name = "SECONDS", value_parser = period)]
    kill_tailer_every: Option<Duration>,

    /// Where to make the folder with the journal
    #[arg(long, value_name = "FOLDER", default_value = "/dev/shm")]
    folder: PathBuf,

    /// Leave the journal there, and say where it is
    #[arg(long)]
    keep: bool,

    /// Chooses excerpts, and when what is killed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    output: OutputArguments,
}

/// How long tailers may take for what is there when the appender is done, if they come no further.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn run(command: &ProveCommand) -> anyhow::Result<Status> {
    let format = command.output.format_or(Format::Text)?;
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
        Ok(Self {
            command,
            appender,
            appender_job,
            tailers,
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
        while !is_done && !interrupt.is_asked() {
            thread::sleep(TICK);
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

    fn conclude(self, seconds: f64) -> anyhow::Result<Outcome> {
        let Self { appender, mut tailers, .. } = self;
        let Some(counted) = appender.counted()? else { bail!("the appender did not end well") };
        let appended = counted["appended"].as_u64().unwrap_or(0);
        // The last excerpt stays: every tailer comes to it, or is stuck.
        let patience = PATIENCE + Duration::from_micros(appended * tailers.len() as u64);
        let mut workers: Vec<_> = tailers.iter_mut().map(|tailer| &mut tailer.worker).collect();
        wait_for_all(&mut workers, patience)?;
        let mut results = Vec::new();
        for Tailer { worker, kills, .. } in tailers {
            results.push(TailerResult { counted: worker.counted_by_now()?, kills });
        }
        Ok(Outcome {
            seconds,
            appended,
            checksum: counted["checksum"].as_u64().unwrap_or(0),
            appender_kills: self.appender_kills,
            tailer_kills: self.tailer_kills,
            tailers: results,
        })
    }
}

fn start(name: String, job: &Job) -> anyhow::Result<Worker> {
    Worker::start(name, ROLE, &job.to_text())
}

/// How it went.
struct Outcome {
    seconds: f64,
    appended: u64,
    checksum: u64,
    appender_kills: u64,
    tailer_kills: u64,
    tailers: Vec<TailerResult>,
}

struct TailerResult {
    /// Nothing of one that failed or never came to the end.
    counted: Option<Value>,
    kills: u64,
}

/// What each tailer counts, as it is called in its answer and in tables.
const COUNTS: [&str; 2] = ["read", "missing"];

impl TailerResult {
    fn count(&self, name: &str) -> u64 {
        self.counted.as_ref().and_then(|counted| counted[name].as_u64()).unwrap_or(0)
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
    fn is_good(&self) -> bool {
        self.tailers.iter().all(|tailer| tailer.is_good(self))
    }

    fn print(
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
            let verdict = match self.is_good() {
                true => "every tailer has read every excerpt once, whole and in order",
                false => "NOT every excerpt is accounted for",
            };
            writeln!(output, "{verdict}")?;
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
            rows.text(if tailer.counted.is_some() { "good" } else { "failed" });
            rows.end_row()?;
        }
        rows.finish()?;
        Ok(())
    }
}
