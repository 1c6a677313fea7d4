//! `nanotape ring stat`: a ring's contents, its writer and its rate.

use std::{fmt::Write as _, path::Path, time::Duration};

use clap::Args;
use nanotape_answers::Given;
use nanotape_arguments::{
    figures::text_of,
    regions::{kind_name, of_region, of_ring, place, state_name},
};
use nanotape_board::health::FigureValue;
use nanotape_clock::{Clock, Stamp};
use nanotape_ring::{Capacity, RingMonitor, Stat};
use nanotape_shm::{OwnerState, RegionInfo};

use crate::{
    interrupt,
    output::{Format, OutputArguments},
    record::Record,
    status::Status,
    values::{bytes_text, seconds},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape ring stat quotes                   two readings, a second apart, for the rate
  nanotape ring stat quotes --interval 0      one reading, no rate
  nanotape ring stat quotes --watch           a line a second, until Ctrl-C or the writer's end
  nanotape ring stat quotes --count 10 --interval 0.5 --format csv

Nothing is written to the ring: its writer and its readers are not affected. An age compares this
machine's clock with the time that the writer stored; storing a time is optional.

Exit status: 0 success; 1 the ring is damaged; 2 it cannot be opened.")]
pub(super) struct StatCommand {
    /// Name or path of the ring
    #[arg(value_name = "NAME")]
    name: Given,

    /// Time between two readings; 0: one reading without a rate
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    interval: Duration,

    /// Print N reports, one per line
    #[arg(long, value_name = "N", value_parser = crate::values::count::<u64>(1..))]
    count: Option<u64>,

    /// Print one report per line while the writer is alive
    #[arg(long)]
    watch: bool,

    #[command(flatten)]
    output: OutputArguments,
}

/// The state of a ring at a time.
struct Reading {
    at: Stamp,
    stat: Stat,
}

pub(super) fn run(command: &StatCommand) -> anyhow::Result<Status> {
    let path = place(&command.name)?;
    let format = command.output.format_or(Format::Text)?;
    let clock = Clock::monotonic();
    let interrupt = interrupt::install()?;
    let observer = RingMonitor::open(&path).map_err(|error| of_ring(&path, &error))?;
    let info = nanotape_shm::inspect(&path).map_err(|error| of_region(&error))?;
    let read = || -> anyhow::Result<Reading> {
        let stat = observer.sample().map_err(|error| of_ring(&path, &error))?;
        if observer.region().is_lost() {
            observer.region().check().map_err(|error| of_region(&error))?;
        }
        Ok(Reading { at: clock.stamp(), stat })
    };
    let reports = match command.count {
        Some(count) => count,
        None if command.watch => u64::MAX,
        None => 1,
    };
    let in_lines = command.watch || command.count.is_some();
    let mut output = command.output.open()?;
    let mut before = read()?;
    for number in 0..reports {
        let has_rate = !command.interval.is_zero();
        if has_rate {
            interrupt.sleep(command.interval);
        }
        let now = if has_rate || number > 0 {
            read()?
        } else {
            Reading { at: before.at, stat: before.stat.clone() }
        };
        let report = Report { path: &path, info: &info, clock: &clock, before: &before, now: &now };
        let first = number == 0;
        report.record(has_rate).write(&mut output, format, first, || {
            if in_lines { report.line(has_rate, first) } else { report.text(has_rate) }
        })?;
        let is_over = command.watch && now.stat.owner.state != OwnerState::Alive;
        before = now;
        if is_over || interrupt.is_requested() {
            break;
        }
    }
    output.finish()?;
    Ok(Status::Good)
}

struct Report<'a> {
    path: &'a Path,
    info: &'a RegionInfo,
    clock: &'a Clock,
    before: &'a Reading,
    now: &'a Reading,
}

impl Report<'_> {
    /// Messages per second between two readings, if time has passed between them.
    fn rate(&self, has_rate: bool) -> Option<f64> {
        let nanos = self.clock.nanos_between(self.before.at, self.now.at);
        let messages = self.now.stat.next_sequence.saturating_sub(self.before.stat.next_sequence);
        (has_rate && nanos > 0).then(|| messages as f64 * 1e9 / nanos as f64)
    }

    /// The age of a time that the writer stored.
    fn age_ns(&self, utc_ns: u64) -> Option<i64> {
        let then = i64::try_from(utc_ns).ok().filter(|&then| then > 0)?;
        Some(self.clock.utc(self.now.at).get().saturating_sub(then))
    }

    fn held(&self) -> u64 {
        self.now.stat.next_sequence.saturating_sub(self.now.stat.oldest_sequence)
    }

    fn record(&self, has_rate: bool) -> Record {
        let Stat { capacity, owner, oldest_sequence, next_sequence, .. } = self.now.stat;
        let (kind, capacity_bytes, slots, max_length) = match capacity {
            Capacity::Stream { capacity_bytes } => ("stream", Some(capacity_bytes), None, None),
            Capacity::Slots { slots, max_length } => ("slots", None, Some(slots), Some(max_length)),
        };
        let known = |value: u64| (value != 0).then_some(value);
        let rounded = |rate: f64| (rate * 10.0).round() / 10.0;
        Record::default()
            .with("path", self.path.display().to_string())
            .with("kind", kind)
            .with("capacity_bytes", capacity_bytes)
            .with("capacity_slots", slots)
            .with("max_length_bytes", max_length)
            .with("file_bytes", self.info.file_bytes)
            .with("mode", format!("{:04o}", self.info.mode))
            .with("user", self.info.user)
            .with("writer_state", state_name(owner.state))
            .with("writer_pid", known(u64::from(owner.pid)))
            .with("writer_started_s", known(owner.started.unix_s()))
            .with("writer_epoch", owner.epoch)
            .with("oldest_sequence", oldest_sequence)
            .with("next_sequence", next_sequence)
            .with("messages_held", self.held())
            .with("rate_per_second", self.rate(has_rate).map(rounded))
            .with("last_message_age_ns", self.age_ns(self.now.stat.ts_publish_ns))
            .with("heartbeat_age_ns", self.age_ns(self.now.stat.heartbeat_ns))
    }

    fn text(&self, has_rate: bool) -> String {
        let Stat { capacity, owner, oldest_sequence, next_sequence, .. } = self.now.stat;
        let kind = kind_name(self.info.header.map_or([0; 8], |header| header.spec.kind));
        let size = match capacity {
            Capacity::Stream { capacity_bytes } => bytes_text(capacity_bytes),
            Capacity::Slots { slots, max_length } => format!("{slots} of {max_length} bytes"),
        };
        let mut text = format!("{}\n", self.path.display());
        let info = self.info;
        let _ = writeln!(text, "kind            {kind}, {size}");
        let _ = writeln!(text, "file            mode {:04o}, user {}", info.mode, info.user);
        let _ = writeln!(
            text,
            "writer          {}: process {}, started {}, epoch {}",
            state_name(owner.state),
            owner.pid,
            owner.started,
            owner.epoch
        );
        let held = match self.held() {
            0 => "none".to_owned(),
            held => format!("{held}: {oldest_sequence} to {}", next_sequence - 1),
        };
        let _ = writeln!(text, "messages held   {held}");
        let _ = writeln!(text, "next message    {next_sequence}");
        if let Some(rate) = self.rate(has_rate) {
            let _ = writeln!(text, "rate            {rate:.1} messages a second");
        }
        let _ = writeln!(text, "last message    {}", self.age_text(self.now.stat.ts_publish_ns));
        let _ = writeln!(text, "heartbeat       {}", self.age_text(self.now.stat.heartbeat_ns));
        text
    }

    fn age_text(&self, utc_ns: u64) -> String {
        match self.age_ns(utc_ns) {
            None => "unknown: the writer stored no time".to_owned(),
            age => text_of(&FigureValue::Age(utc_ns, age)),
        }
    }

    /// One report as a line.
    fn line(&self, has_rate: bool, first: bool) -> String {
        let mut text = String::new();
        if first {
            let _ = writeln!(
                text,
                "{:>16} {:>16} {:>10} {:>14}  {:<6}  last message",
                "oldest", "next", "held", "rate_per_s", "writer"
            );
        }
        let rate = self.rate(has_rate).map(|rate| format!("{rate:.1}")).unwrap_or_default();
        let Stat { owner, oldest_sequence, next_sequence, ts_publish_ns, .. } = self.now.stat;
        let _ = writeln!(
            text,
            "{oldest_sequence:>16} {next_sequence:>16} {:>10} {rate:>14}  {:<6}  {}",
            self.held(),
            state_name(owner.state),
            self.age_text(ts_publish_ns)
        );
        text
    }
}
