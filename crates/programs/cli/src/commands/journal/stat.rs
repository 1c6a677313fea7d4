//! `nanotape journal stat`: the contents, the appender and the readers of a journal.

mod followers;

use std::{fmt::Write as _, io::Write as _, path::PathBuf};

use anyhow::bail;
use clap::{Args, ValueEnum};
use nanotape_arguments::{
    errors::of_journal,
    regions::state_name,
    text::{known_time_text, size_text},
};
use nanotape_board::health::{
    Dialect, Figure, exposition,
    figure::{about, time, whole},
};
use nanotape_history::{Runs, Snapshots};
use nanotape_journal::{KeptAs, SegmentStat, Stat, TailerInfo};
use nanotape_plant::TradeDate;

use followers::Followers;

use crate::{
    output::{FileFormat, Format, OutputArguments},
    record::Record,
    status::Status,
    values::{bytes_text, counted, nanos_text},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape journal stat quotes
  nanotape journal stat quotes --format json      a line per segment and tailer, and a summary
  nanotape journal stat quotes --format csv       the segments only
  nanotape journal stat quotes --why berlin       why this follower is behind, in one line
  nanotape journal stat quotes -o quotes.prom --force
                                                  its size and its followers, for node_exporter

Reads the headers and the end of each segment; `nanotape journal verify` checks all of it. Times are
those of the excerpts, in UTC. Nothing is written to the journal. A follower from which nothing came
for three seconds is at an unknown place.

Exit status: 0 success; 1 a segment is damaged; 2 there is no journal, or it cannot be opened.")]
pub(super) struct StatCommand {
    /// Folder of the journal
    #[arg(value_name = "JOURNAL")]
    path: PathBuf,

    /// Print only why this follower is behind
    #[arg(long, value_name = "FOLLOWER")]
    why: Option<String>,

    #[command(flatten)]
    output: OutputArguments<JournalStatFormat>,
}

/// How the state of a journal is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum JournalStatFormat {
    /// Human-readable
    Text,
    /// Comma-separated values with a header line
    Csv,
    /// One JSON object per line
    Json,
    /// Text format 0.0.4 of Prometheus, also for node_exporter
    Prometheus,
    /// OpenMetrics 1.0 text
    #[value(name = "openmetrics")]
    OpenMetrics,
}

impl FileFormat for JournalStatFormat {
    const SUFFIXES: &str = ".txt, .csv, .json, .prom or .om";

    fn of_suffix(suffix: &str) -> Option<Self> {
        match suffix {
            "prom" => Some(Self::Prometheus),
            "om" => Some(Self::OpenMetrics),
            _ => Format::of_suffix(suffix).map(|format| match format {
                Format::Text => Self::Text,
                Format::Csv => Self::Csv,
                Format::Json => Self::Json,
            }),
        }
    }
}

pub(super) fn run(command: &StatCommand) -> anyhow::Result<Status> {
    let (format, dialect) = match command.output.format_or(JournalStatFormat::Text)? {
        JournalStatFormat::Text => (Format::Text, None),
        JournalStatFormat::Csv => (Format::Csv, None),
        JournalStatFormat::Json => (Format::Json, None),
        JournalStatFormat::Prometheus => (Format::Text, Some(Dialect::Prometheus)),
        JournalStatFormat::OpenMetrics => (Format::Text, Some(Dialect::OpenMetrics)),
    };
    let stat = nanotape_journal::stat(&command.path).map_err(of_journal)?;
    let followers = Followers::of(&command.path, stat.next_sequence().unwrap_or(1))?;
    if let Some(name) = &command.why {
        let Some(followers) = followers else {
            bail!("{}: it was never served, so that it has no followers", command.path.display());
        };
        let why = followers.why_of(name)?;
        let mut output = command.output.open()?;
        output.write_all(why.as_bytes())?;
        output.finish()?;
        return Ok(Status::Good);
    }
    let past = Past::of(command);
    let mut output = command.output.open()?;
    if let Some(dialect) = dialect {
        let figures = [figures(&stat), followers.iter().flat_map(Followers::figures).collect()];
        let journal = command.path.display().to_string();
        let metrics = exposition(dialect, ("journal", &journal), &figures.concat());
        output.write_all(metrics.as_bytes())?;
    } else if format == Format::Text {
        let text = || text(command, &stat, &past, followers.as_ref());
        all(command, &stat, &past).write(&mut output, format, true, text)?;
    } else {
        for (number, segment) in stat.segments.iter().enumerate() {
            of_segment(segment).write(&mut output, format, number == 0, String::new)?;
        }
    }
    if format == Format::Json {
        for tailer in &stat.tailers {
            of_tailer(tailer, &stat).write(&mut output, format, false, String::new)?;
        }
        for record in followers.iter().flat_map(Followers::records) {
            record.write(&mut output, format, false, String::new)?;
        }
        all(command, &stat, &past).write(&mut output, format, false, String::new)?;
    }
    output.finish()?;
    let is_good = stat.segments.iter().all(|segment| segment.problem.is_none());
    Ok(if is_good { Status::Good } else { Status::Bad })
}

fn kept_name(kept: KeptAs) -> &'static str {
    match kept {
        KeptAs::Plain => "plain",
        KeptAs::Packed => "compressed",
        KeptAs::Prepared => "prepared",
    }
}

/// What is beside the segments of a recorded plant.
struct Past {
    runs: Runs,
    /// Number of snapshots, and their bytes.
    snapshots: (usize, u64),
}

impl Past {
    /// Damaged files count as missing; `journal verify` reports them.
    fn of(command: &StatCommand) -> Self {
        let snapshots = Snapshots::list(&command.path);
        Self {
            runs: Runs::read_good(&command.path).unwrap_or_default(),
            snapshots: snapshots.map_or((0, 0), |all| (all.len(), all.bytes())),
        }
    }

    fn last_date(&self) -> Option<String> {
        self.runs.iter().last().map(|run| TradeDate::text_of(run.date))
    }
}

/// What a collector receives of the journal itself.
fn figures(stat: &Stat) -> Vec<Figure> {
    let figures = vec![
        whole("segments", stat.segments.len() as u64).gauge("Segments of the journal."),
        whole("file_bytes", stat.file_bytes()).gauge("Bytes of their files."),
        whole("first_sequence", stat.first_sequence()).gauge("The number of the oldest excerpt."),
        whole("next_sequence", stat.next_sequence()).gauge("The number of the next excerpt."),
        time("max_ts_ns", stat.max_ts_ns().unwrap_or(0)).gauge("The largest time of an excerpt."),
    ];
    about("journal", figures)
}

fn all(command: &StatCommand, stat: &Stat, past: &Past) -> Record {
    let owner = stat.appender;
    Record::default()
        .with("path", command.path.display().to_string())
        .with("journal", stat.journal.map(|journal| format!("{journal:#018x}")))
        .with("segment_bytes", stat.segment_bytes)
        .with("cycle_ns", stat.cycle_ns)
        .with("segments", stat.segments.len())
        .with("file_bytes", stat.file_bytes())
        .with("data_bytes", stat.data_bytes())
        .with("first_sequence", stat.first_sequence())
        .with("next_sequence", stat.next_sequence())
        .with("first_ts_ns", stat.first_ts_ns())
        .with("max_ts_ns", stat.max_ts_ns())
        .with("appender_state", owner.map(|owner| state_name(owner.state)))
        .with("appender_pid", owner.map(|owner| owner.pid))
        .with("appender_started_s", owner.map(|owner| owner.started.unix_s()))
        .with("tailers", stat.tailers.len())
        .with("runs", past.runs.len())
        .with("last_trade_date", past.last_date())
        .with("snapshots", past.snapshots.0)
        .with("snapshot_bytes", past.snapshots.1)
}

fn of_segment(segment: &SegmentStat) -> Record {
    Record::default()
        .with("segment", segment.number)
        .with("path", segment.path.display().to_string())
        .with("kept_as", kept_name(segment.kept_as))
        .with("file_bytes", segment.file_bytes)
        .with("data_bytes", segment.data_bytes)
        .with("first_sequence", segment.first_sequence)
        .with("next_sequence", segment.next_sequence)
        .with("first_ts_ns", segment.first_ts_ns)
        .with("max_ts_ns", segment.max_ts_ns)
        .with("cycle", segment.cycle.map(|(cycle, _)| cycle))
        .with("is_sealed", segment.is_sealed)
        .with("synced_bytes", segment.synced_bytes)
        .with("problem", segment.problem.as_ref().map(ToString::to_string))
}

fn of_tailer(tailer: &TailerInfo, stat: &Stat) -> Record {
    Record::default()
        .with("tailer", tailer.name.as_str())
        .with("next_sequence", tailer.refusal.is_none().then_some(tailer.next_sequence))
        .with("behind", behind(tailer, stat).filter(|_| tailer.refusal.is_none()))
        .with("moved_ns", tailer.moved_ns)
        .with("read", tailer.read)
        .with("state", tailer.owner.map(|owner| state_name(owner.state)))
        .with("pid", tailer.owner.map(|owner| owner.pid))
}

/// Sequence numbers between a tailer and the end.
fn behind(tailer: &TailerInfo, stat: &Stat) -> Option<u64> {
    let first = stat.first_sequence().unwrap_or(1);
    Some(stat.next_sequence()?.saturating_sub(tailer.next_sequence.max(first)))
}

fn text(command: &StatCommand, stat: &Stat, past: &Past, followers: Option<&Followers>) -> String {
    let mut text = format!("{}\n", command.path.display());
    // Writing to a string cannot fail.
    if let (Some(bytes), Some(cycle)) = (stat.segment_bytes, stat.cycle_ns) {
        let cycle = match cycle {
            0 => "by size only".to_owned(),
            cycle => format!("by size and every {}", nanos_text(cycle)),
        };
        let _ = writeln!(
            text,
            "segments        {} of {}, rolled {cycle}",
            stat.segments.len(),
            bytes_text(bytes)
        );
    }
    let (file, data) = (size_text(stat.file_bytes()), size_text(stat.data_bytes()));
    let _ = writeln!(text, "bytes           {file} in files, {data} before compression");
    let excerpts = match (stat.first_sequence(), stat.next_sequence()) {
        (Some(first), Some(next)) if next > first => format!("{first} to {}", next - 1),
        (_, Some(next)) => format!("none; the next is {next}"),
        _ => "none yet".to_owned(),
    };
    let _ = writeln!(text, "excerpts        {excerpts}");
    if stat.first_ts_ns().is_some() {
        let (first, last) =
            (known_time_text(stat.first_ts_ns()), known_time_text(stat.max_ts_ns()));
        let _ = writeln!(text, "times           {first} to {last}");
    }
    let appender = match stat.appender {
        None => "none yet".to_owned(),
        Some(owner) => format!(
            "{}: process {}, started {}, epoch {}",
            state_name(owner.state),
            owner.pid,
            owner.started,
            owner.epoch
        ),
    };
    let _ = writeln!(text, "appender        {appender}");
    if let Some(date) = past.last_date() {
        let (count, bytes) = past.snapshots;
        let runs = counted(past.runs.len() as u64, "run");
        let _ = writeln!(text, "plant           {runs}, the last of trade date {date}");
        let _ = writeln!(text, "snapshots       {count}, {}", size_text(bytes));
    }
    if let Some(followers) = followers {
        followers.text(&mut text);
    }
    tailers_text(&mut text, stat);
    segments_text(&mut text, stat);
    text
}

fn tailers_text(text: &mut String, stat: &Stat) {
    let _ = writeln!(text, "named tailers   {}", stat.tailers.len());
    if stat.tailers.is_empty() {
        return;
    }
    let _ =
        writeln!(text, "\n{:<20} {:>14} {:>12}  {:<6}  moved", "tailer", "next", "behind", "state");
    for tailer in &stat.tailers {
        let behind = behind(tailer, stat).map(|behind| behind.to_string()).unwrap_or_default();
        let moved = known_time_text(Some(tailer.moved_ns).filter(|moved| *moved > 0));
        let _ = writeln!(
            text,
            "{:<20} {:>14} {behind:>12}  {:<6}  {moved}",
            tailer.name.escape_default().to_string(),
            tailer.next_sequence,
            tailer.owner.map_or("", |owner| state_name(owner.state))
        );
    }
}

fn segments_text(text: &mut String, stat: &Stat) {
    let _ = writeln!(
        text,
        "\n{:>10}  {:<10} {:>10} {:>10} {:>14} {:>14}  {:<7}  up to",
        "segment", "kept", "file", "data", "first", "next", "on disk"
    );
    for segment in &stat.segments {
        let number = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
        let on_disk = match (segment.is_sealed, segment.synced_bytes) {
            (true, _) => "all".to_owned(),
            (false, 0) => "unknown".to_owned(),
            (false, bytes) => size_text(bytes),
        };
        let last = match &segment.problem {
            Some(problem) => problem.to_string(),
            None => known_time_text(segment.max_ts_ns),
        };
        let row = format!(
            "{:>10}  {:<10} {:>10} {:>10} {:>14} {:>14}  {on_disk:<7}  {last}",
            segment.number,
            kept_name(segment.kept_as),
            size_text(segment.file_bytes),
            segment.data_bytes.map(size_text).unwrap_or_default(),
            number(segment.first_sequence),
            number(segment.next_sequence),
        );
        let _ = writeln!(text, "{}", row.trim_end());
    }
}
