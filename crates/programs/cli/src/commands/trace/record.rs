//! `nanotape trace record`: a flight recorder that writes what happened around slow messages.

use std::{
    path::{Path, PathBuf},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use nanotape_answers::Given;
use nanotape_arguments::threads::{self, of_trace};
use nanotape_clock::Clock;
use nanotape_tape::ShutdownFlag;
use nanotape_trace::{
    accounts::thread_run_ns,
    export::{self, Written},
    flight::{Condition, Count, FlightError, Options, Recorder, Snapshot, Summary},
};

use crate::{
    interrupt,
    output::{FileFormat, OutputArguments},
    status::{Status, note, warn},
    values::{bytes_text, duration, grouped, nanos},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape trace on equities
  nanotape trace record equities --above 20us -o slow.pftrace
  nanotape trace record equities --site plant.book=5us --copies 1 -o book.pftrace
  nanotape trace record equities --now -o last.json     what is there, also of a killed plant
  nanotape trace record equities --on-signal -o copy.pftrace    a copy whenever SIGUSR1 comes, as from
      kill -USR1 PID in another terminal

Keeps the last spans of every thread, and writes a copy of them when a message takes longer than --above
over all threads, or longer than --site in a stage, and with each SIGUSR1: the first line on standard
error has the number of the process. The first copy is FILE, the next ones FILE with -2, -3 and so on
before the suffix. The plant does nothing for it. Open the files in
https://ui.perfetto.dev, .json also in chrome://tracing.

A message of a paced plant waits until it is due, and --above counts the wait (plant.wait): use --site
there.

Memory is fixed at the start. A storm of slow messages makes at most --per-minute copies; every trigger is
counted. The recorder ends when it takes more than --cpu-limit of a processor, when the plant ends, after
--copies, or with Ctrl-C, and then reports its counts.

Exit status: 0 success; 1 the recorder turned itself off; 2 it cannot record, or cannot write.")]
pub(super) struct RecordCommand {
    /// Name or path of a ring, path of a thread's region, or number of a process
    #[arg(value_name = "NAME|PID")]
    target: Given,

    /// Copy when a message takes longer
    #[arg(long, value_name = "TIME", value_parser = duration)]
    above: Option<Duration>,

    /// Copy when a stage takes longer, as in plant.book=5us
    #[arg(long = "site", value_name = "SITE=TIME", value_parser = site)]
    sites: Vec<Condition>,

    /// Copy the spans that are there now, and end
    #[arg(long, conflicts_with_all = ["above", "sites", "copies", "on_signal"])]
    now: bool,

    /// Copy only when SIGUSR1 comes, if there is neither --above nor --site
    #[arg(long)]
    on_signal: bool,

    /// End after N copies
    #[arg(long, value_name = "N", value_parser = crate::values::count::<u64>(1..))]
    copies: Option<u64>,

    /// Spans of each thread to keep and to copy
    #[arg(long, value_name = "N", default_value_t = 16_384, value_parser = crate::values::count::<usize>(..))]
    spans: usize,

    /// How long a copy goes on after its trigger
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = duration)]
    after: Duration,

    /// Copies in each minute, in the long run
    #[arg(long, value_name = "N", default_value_t = 60)]
    per_minute: u32,

    /// Share of a processor above which the recorder turns itself off
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    cpu_limit: f64,

    #[command(flatten)]
    output: OutputArguments<TraceFormat>,
}

/// The format of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum TraceFormat {
    /// Perfetto's protobuf
    Perfetto,
    /// Chrome's trace events, for small copies
    Chrome,
}

impl TraceFormat {
    pub(super) fn exported(self) -> export::Format {
        match self {
            Self::Perfetto => export::Format::Perfetto,
            Self::Chrome => export::Format::Chrome,
        }
    }
}

impl FileFormat for TraceFormat {
    const SUFFIXES: &str = ".pftrace, .perfetto-trace or .json";

    fn of_suffix(suffix: &str) -> Option<Self> {
        let has = |format: &Self| format.exported().suffixes().contains(&suffix);
        [Self::Perfetto, Self::Chrome].into_iter().find(has)
    }
}

/// A poll that read fewer spans pauses afterwards.
const MANY: u64 = 4096;
const PAUSE: Duration = Duration::from_micros(50);

/// Polls for one check whether the threads have ended.
const POLLS_A_CHECK: u64 = 64;

pub(super) fn run(command: &RecordCommand) -> anyhow::Result<Status> {
    let Some(file) = command.output.output.clone() else {
        bail!("no file for the copies: use -o FILE, as in -o slow.pftrace");
    };
    let format = command.output.format_or(TraceFormat::Perfetto)?;
    // Not only when the first message is slow, which might be hours later.
    if file.exists() && !command.output.force {
        bail!("{} exists; use --force to overwrite it", file.display());
    }
    let threads = threads::of_target(&command.target)?;
    let interrupt = interrupt::install()?;
    let paths: Vec<PathBuf> = threads.into_iter().map(|thread| thread.path).collect();
    let recorder =
        Recorder::open(&command.target, &paths, command.options()?).map_err(of_flight)?;
    let requested = interrupt::user_signal()?;
    note(format_args!(
        "recording; memory: {}; for a copy: kill -USR1 {}",
        bytes_text(recorder.bytes() as u64),
        std::process::id()
    ));
    let writer = Writer { file, format, force: command.output.force };
    let summary = record(command, recorder, &writer, (&interrupt, &requested))?;
    report(&summary);
    Ok(if summary.off.is_some() { Status::Bad } else { Status::Good })
}

impl RecordCommand {
    fn options(&self) -> anyhow::Result<Options> {
        let above = self.above.map(|time| Condition::Message { above_ns: nanos(time) });
        let conditions: Vec<Condition> = above.into_iter().chain(self.sites.clone()).collect();
        if conditions.is_empty() && !self.now && !self.on_signal {
            bail!("nothing to wait for: use --above TIME, --site SITE=TIME, --on-signal or --now");
        }
        Ok(Options {
            conditions,
            spans: self.spans,
            in_flight: self.spans,
            after_ns: nanos(self.after),
            per_minute: self.per_minute,
            cpu_limit: self.cpu_limit,
            ..Options::default()
        })
    }
}

/// Polls until the end, while another thread writes the copies.
fn record(
    command: &RecordCommand,
    mut recorder: Recorder,
    writer: &Writer,
    (interrupt, requested): (&ShutdownFlag, &AtomicBool),
) -> anyhow::Result<Summary> {
    let clock = Clock::monotonic();
    let began = clock.stamp();
    let (to_writer, copies) = mpsc::channel::<Snapshot>();
    let (from_writer, written) = mpsc::channel::<Snapshot>();
    thread::scope(|scope| {
        let writing = scope.spawn(move || {
            for (snapshot, number) in copies.into_iter().zip(1_u64..) {
                writer.write(&snapshot, number)?;
                // The recorder might have ended.
                let _ = from_writer.send(snapshot);
            }
            anyhow::Ok(())
        });
        let mut left = command.copies.unwrap_or(u64::MAX);
        let mut polls = 0_u64;
        while left > 0 && !writing.is_finished() {
            // Before the poll: what ended threads have written is read by then. Queries the kernel.
            let is_over = polls.is_multiple_of(POLLS_A_CHECK) && recorder.is_over();
            polls += 1;
            if requested.swap(false, Ordering::Relaxed) {
                recorder.request("SIGUSR1", clock.utc_ns());
            }
            let now_ns = clock.nanos_between(began, clock.stamp());
            let polled = recorder.poll(now_ns, thread_run_ns);
            if let Some(snapshot) = polled.snapshot {
                left -= 1;
                let _ = to_writer.send(snapshot);
            }
            while let Ok(snapshot) = written.try_recv() {
                recorder.give_back(snapshot);
            }
            let is_read = polled.read == 0;
            if recorder.off().is_some()
                || interrupt.is_requested()
                || is_read && (is_over || command.now)
            {
                break;
            }
            if polled.read < MANY {
                thread::sleep(PAUSE);
            }
        }
        if command.now {
            recorder.request("--now", clock.utc_ns());
        }
        if left > 0
            && let Some(snapshot) = recorder.finish()
        {
            let _ = to_writer.send(snapshot);
        }
        drop(to_writer);
        writing.join().map_err(|_| anyhow::anyhow!("the thread that writes copies panicked"))??;
        Ok(recorder.summary())
    })
}

/// Writes the copies.
struct Writer {
    file: PathBuf,
    format: TraceFormat,
    force: bool,
}

impl Writer {
    fn write(&self, snapshot: &Snapshot, number: u64) -> anyhow::Result<()> {
        let path = numbered(&self.file, number);
        let format = Some(self.format);
        let arguments = OutputArguments { output: Some(path.clone()), force: self.force, format };
        let mut output = arguments.open()?;
        let recording = snapshot.recording();
        let written = export::write(&recording, self.format.exported(), &mut output);
        let Written { spans, .. } =
            written.with_context(|| format!("cannot write {}", path.display()))?;
        output.finish()?;
        let why = recording.instants.first().map_or("the end", |instant| instant.text.as_str());
        let more = snapshot.triggers().len().saturating_sub(1);
        let more = if more > 0 { format!(", and {more} more triggers") } else { String::new() };
        note(format_args!("{}: {} spans; {why}{more}", path.display(), grouped(spans)));
        Ok(())
    }
}

/// The file of a copy: `slow.pftrace`, `slow-2.pftrace` and so on.
fn numbered(file: &Path, number: u64) -> PathBuf {
    if number <= 1 {
        return file.to_owned();
    }
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or("trace");
    let (stem, suffix) = name.split_once('.').unwrap_or((name, ""));
    let dot = if suffix.is_empty() { "" } else { "." };
    file.with_file_name(format!("{stem}-{number}{dot}{suffix}"))
}

/// Reports what was triggered, copied and dropped.
fn report(summary: &Summary) {
    let line = |what: &dyn std::fmt::Display, count: Count| {
        if count.fired > 0 {
            note(format_args!(
                "{what}: {} triggers, {} copied, {} in the copy of another, {} dropped",
                grouped(count.fired),
                grouped(count.copied),
                grouped(count.shared),
                grouped(count.dropped),
            ));
        }
    };
    for (condition, count) in &summary.conditions {
        line(condition, *count);
    }
    line(&"requests", summary.requests);
    line(&"lost spans", summary.losses);
    for thread in &summary.threads {
        let (read, lost) = (grouped(thread.read), grouped(thread.lost));
        note(format_args!("{}: {read} spans read, {lost} lost", thread.name));
        if thread.damaged > 0 {
            warn(format_args!("{}: {} spans are damaged", thread.name, grouped(thread.damaged)));
        }
        if let Some(error) = &thread.failed {
            warn(format_args!("{}: {error}", thread.name));
        }
    }
    note(format_args!("{} copies", grouped(summary.copies)));
    if let Some(off) = &summary.off {
        warn(off);
    }
}

/// `SITE=TIME`.
fn site(text: &str) -> Result<Condition, String> {
    let expected = || format!("expected SITE=TIME, as in plant.book=5us, not {text:?}");
    let (site, time) = text.split_once('=').ok_or_else(expected)?;
    let above = duration(time).map_err(|_| expected())?;
    let above_ns = u64::try_from(above.as_nanos()).map_err(|_| expected())?;
    Ok(Condition::Site { site: site.to_owned(), above_ns })
}

fn of_flight(error: FlightError) -> anyhow::Error {
    match error {
        FlightError::Thread(error) => of_trace(error),
        error => anyhow::anyhow!("{error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_have_numbers_before_their_suffix() {
        for (number, expected) in [(1, "a/slow.pftrace.gz"), (2, "a/slow-2.pftrace.gz")] {
            assert_eq!(numbered(Path::new("a/slow.pftrace.gz"), number), Path::new(expected));
        }
        assert_eq!(numbered(Path::new("slow"), 3), Path::new("slow-3"));
    }

    #[test]
    fn a_condition_of_a_site_has_a_time() {
        let condition = Condition::Site { site: "plant.book".to_owned(), above_ns: 5_000 };
        assert_eq!(site("plant.book=5us"), Ok(condition));
        for wrong in ["plant.book", "plant.book=", "plant.book=fast"] {
            assert!(site(wrong).unwrap_err().starts_with("expected SITE=TIME"), "{wrong}");
        }
    }
}
