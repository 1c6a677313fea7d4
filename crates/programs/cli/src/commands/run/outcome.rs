//! What `nanotape run` prints at the start and at the end of a plant.

use std::{
    fmt::Write as _,
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use nanotape_arguments::{
    figures::with_figures,
    regions::{came, state_name},
    text::size_text,
};
use nanotape_board::{BoardReader, LiveStat, health::session_figures};
use nanotape_feed::source::Compression;
use nanotape_plant::{
    Ended, Finished, FollowerState, FollowerSummary, FollowersSummary, Pace, PlantRun, PlantSource,
    RecordingSummary, TradeDate, records::RecordKind,
};
use nanotape_shm::Origin;
use serde_json::{Value, json};

use crate::{
    output::Format,
    record::Record,
    status::text_of,
    values::{counted, nanos_text},
};

/// The result of a run.
pub(super) struct Outcome {
    ended: Ended,
    /// The ring.
    path: String,
    /// The duration.
    nanos: u64,
    beginning: Record,
    kinds: Vec<(RecordKind, u64)>,
    session: Option<LiveStat>,
}

/// Where a plant publishes and which records. A CSV table has a row for each session, written at
/// its end.
pub(super) fn begun(
    plant: &PlantRun,
    format: Format,
    output: &mut Vec<u8>,
    name: Option<&str>,
) -> io::Result<()> {
    if format == Format::Csv {
        return Ok(());
    }
    let record = Record::default().with("event", "start").joined(named(name));
    record.joined(beginning(plant)).write(output, format, true, || {
        let name = name.map_or_else(String::new, |name| format!("{name}: "));
        format!(
            "{name}{}: {}; first message {}; trade date {}, pace {}, records {}\n",
            plant.ring().display(),
            came(plant.origin()),
            plant.first_sequence(),
            TradeDate::text_of(plant.start().date),
            Pace::of_milli(plant.start().pace_milli),
            plant.start().kinds,
        ) + &journal_size(plant)
    })
}

/// That a plant has failed, for programs: a person reads it on standard error.
pub(super) fn failed(
    (ring, name): (&Path, Option<&str>),
    error: &anyhow::Error,
    format: Format,
    output: &mut Vec<u8>,
) -> io::Result<()> {
    if format != Format::Json {
        return Ok(());
    }
    let record = Record::default()
        .with("event", "stop")
        .joined(named(name))
        .with("path", nanotape_shm::named(ring).unwrap_or_default().display().to_string())
        .with("reason", "failed")
        .with("error", text_of(error));
    record.write(output, format, true, String::new)
}

/// The name of a plant, if there are several.
fn named(name: Option<&str>) -> Record {
    name.map_or_else(Record::default, |name| Record::default().with("name", name))
}

/// A line about the bytes that a journal of this day will take; empty without a journal, and if the
/// size of the day is not known.
fn journal_size(plant: &PlantRun) -> String {
    let (Some(journal), Some(bytes)) = (plant.journal(), estimated_journal_bytes(plant)) else {
        return String::new();
    };
    format!(
        "{}: about {} for this day; with --journal-compress rolled, about half of that\n",
        journal.display(),
        size_text(bytes)
    )
}

/// Bytes of a journal of all records of a plain day file. Measured on synthetic days of 5 and of 50
/// million messages: 4.5 bytes for each byte of the day (docs/formats/journal.md).
fn estimated_journal_bytes(plant: &PlantRun) -> Option<u64> {
    let PlantSource::Day(source) = plant.source() else { return None };
    let mut first = [0; Compression::MAGIC_BYTES];
    File::open(source.name()).ok()?.read_exact(&mut first).ok()?;
    let bytes = source.progress().total_bytes?;
    (Compression::of(&first) == Compression::None).then(|| bytes.saturating_mul(9) / 2)
}

impl Outcome {
    pub(super) fn new(plant: &PlantRun, ended: Ended, nanos: u64) -> Self {
        let (beginning, kinds) = (beginning(plant), records_by_kind(plant));
        let path = plant.ring().display().to_string();
        Self { ended, path, nanos, beginning, kinds, session: plant.source().session().cloned() }
    }

    /// Writes the result. A plant without a journal, or whose recorder failed, has no recording.
    /// `name`: that of the plant, if there are several.
    pub(super) fn write(
        self,
        finished: &Finished,
        (format, is_first): (Format, bool),
        output: &mut Vec<u8>,
        name: Option<&str>,
    ) -> io::Result<()> {
        let recording = finished.recording.as_ref().ok().and_then(Option::as_ref);
        let followers = finished.followers.as_ref();
        let ending = self.ending().joined(of_recording(recording)).joined(of_followers(followers));
        let of_name = named(name);
        let name = name.map_or_else(String::new, |name| format!("{name}: "));
        let text = name + &self.text(recording, followers);
        let record = match format {
            Format::Csv => self.beginning.joined(ending),
            _ => {
                let record = Record::default().with("event", "stop").joined(of_name);
                record.with("path", self.path).joined(ending)
            }
        };
        record.write(output, format, is_first, || text)
    }

    fn rate(&self) -> Option<f64> {
        (self.nanos > 0).then(|| self.ended.stop.messages as f64 * 1e9 / self.nanos as f64)
    }

    fn ending(&self) -> Record {
        let Ended { stop, tainted_stocks, .. } = &self.ended;
        let record = Record::default()
            .with("reason", stop.reason.name())
            .with("messages", stop.messages)
            .with("records", stop.records);
        let by_kind = |record: Record, &(kind, count): &(RecordKind, u64)| {
            record.with(format!("{kind}_records"), count)
        };
        let record = self
            .kinds
            .iter()
            .fold(record, by_kind)
            .with("run_ns", self.nanos)
            .with("messages_per_second", self.rate().map(f64::round))
            .with("damaged", stop.damaged)
            .with("anomalies", stop.anomalies)
            .with("tainted_stocks", *tainted_stocks);
        with_figures(record, &session_figures(self.session.as_ref()))
    }

    fn text(
        &self,
        recording: Option<&RecordingSummary>,
        followers: Option<&FollowersSummary>,
    ) -> String {
        let stop = &self.ended.stop;
        let messages = counted(stop.messages, "message");
        let mut text = format!("{} after {}: {messages}", stop.reason, nanos_text(self.nanos));
        // Writing to a string cannot fail.
        if let Some(rate) = self.rate() {
            let _ = write!(text, " ({rate:.0} a second)");
        }
        let _ = write!(text, ", {}", counted(stop.records, "record"));
        let published = self.kinds.iter().filter(|&&(_, count)| count > 0);
        let published: Vec<_> = published.map(|&(kind, count)| kind_text(kind, count)).collect();
        if !published.is_empty() {
            let _ = write!(text, " ({})", published.join(", "));
        }
        text.push('\n');
        if let Some(RecordingSummary { journal, recorded, lost, waited_ns, .. }) = recording {
            let _ = writeln!(
                text,
                "{}: {} recorded, {lost} lost; waited {} for the recorder",
                journal.display(),
                counted(*recorded, "message"),
                nanos_text(*waited_ns)
            );
        }
        if let Some(FollowersSummary { followers, waited_ns, .. }) = followers {
            for FollowerSummary { name, state, read, missing, .. } in followers {
                let (read, end) = (counted(*read, "message"), end_of(*state));
                let _ = writeln!(text, "follower {name} {end}: {read} read, {missing} not read");
            }
            let _ = writeln!(text, "waited {} for followers", nanos_text(*waited_ns));
        }
        text
    }
}

/// `3 status records`: a number and `status` alone would read as an exit status.
fn kind_text(kind: RecordKind, count: u64) -> String {
    match kind {
        RecordKind::Status => counted(count, "status record"),
        kind => format!("{count} {kind}"),
    }
}

fn of_recording(recording: Option<&RecordingSummary>) -> Record {
    Record::default()
        .with("recorded", recording.map(|recording| recording.recorded))
        .with("lost", recording.map(|recording| recording.lost))
        .with("recorder_wait_ns", recording.map(|recording| recording.waited_ns))
}

fn of_followers(summary: Option<&FollowersSummary>) -> Record {
    let rows = summary.map(|summary| {
        let rows = summary.followers.iter().map(|follower| {
            json!({
                "name": follower.name,
                "state": follower.state.name(),
                "read": follower.read,
                "missing": follower.missing,
                "complete": follower.is_whole,
            })
        });
        Value::Array(rows.collect())
    });
    Record::default()
        .with("followers", rows)
        .with("follower_wait_ns", summary.map(|summary| summary.waited_ns))
}

/// How a follower is at the end of the run, as part of a sentence.
pub(super) fn end_of(state: FollowerState) -> &'static str {
    match state {
        FollowerState::Finished => "read to the end",
        FollowerState::Following => "has not finished",
        FollowerState::Ended => "ended early",
        FollowerState::Killed => "was killed or crashed",
    }
}

fn beginning(plant: &PlantRun) -> Record {
    let previous = match plant.origin() {
        Origin::Created => None,
        Origin::TakenOver { previous } => Some(previous),
    };
    let start = plant.start();
    Record::default()
        .with("path", plant.ring().display().to_string())
        .with("origin", if previous.is_some() { "taken over" } else { "created" })
        .with("previous_writer_state", previous.map(|owner| state_name(owner.state)))
        .with("previous_writer_pid", previous.map(|owner| owner.pid))
        .with("first_sequence", plant.first_sequence())
        .with("trade_date", TradeDate::text_of(start.date))
        .with("pace", Pace::of_milli(start.pace_milli).to_string())
        .with("kinds", start.kinds.to_string())
        .with("journal", plant.journal().map(|journal| journal.display().to_string()))
        .with("journal_estimated_bytes", plant.journal().and(estimated_journal_bytes(plant)))
}

/// Records by kind, read from the plant's board; empty if the board was removed.
fn records_by_kind(plant: &PlantRun) -> Vec<(RecordKind, u64)> {
    let Ok(board) = BoardReader::open(plant.ring()) else { return Vec::new() };
    RecordKind::ALL.into_iter().zip(board.sample().records).collect()
}
