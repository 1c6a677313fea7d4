//! The followers of a journal, and why one is behind.

use std::{fmt::Write as _, path::Path};

use anyhow::bail;
use nanotape_arguments::{
    errors::of_journal, figures::with_figures, regions::of_region, text::size_text,
};
use nanotape_board::health::{
    Figure, FigureValue, Kind,
    figure::{about, flag, text, time, whole},
};
use nanotape_clock::UtcNanos;
use nanotape_journal::{FOLLOWERS, Folder, last_incarnation};
use nanotape_replication::{Presence, ReplicaRow, ReplicasReader};

use crate::{record::Record, values::nanos_text};

/// A follower that has sent nothing for so long is not known to be anywhere.
const SILENT_NS: u64 = 3_000_000_000;

/// A follower without progress for so long, although it lacks something, does not progress.
const STILL_NS: u64 = 1_000_000_000;

/// The states of a follower, the best first.
const STATES: [&str; 5] = ["live", "catches up", "expected", "gone", "unknown"];

/// The followers of a journal at one moment.
pub(super) struct Followers {
    rows: Vec<ReplicaRow>,
    /// The next number of the journal, and how fast it grows in bytes a second.
    next_sequence: u64,
    bytes_per_s: u64,
    now_ns: u64,
    is_served: bool,
    epoch: u64,
    /// That of the journal's last segment: positions of others do not count.
    incarnation: Option<u64>,
    deposed_by: u64,
}

impl Followers {
    /// `None` for a journal that was never served.
    pub(super) fn of(journal: &Path, next_sequence: u64) -> anyhow::Result<Option<Self>> {
        if !journal.join(FOLLOWERS).exists() {
            return Ok(None);
        }
        let reader = ReplicasReader::open(journal).map_err(|error| of_region(&error))?;
        let (_, bytes_per_s, _) = reader.journal();
        Ok(Some(Self {
            rows: reader.rows(),
            next_sequence,
            bytes_per_s,
            now_ns: UtcNanos::now().unix_ns(),
            is_served: reader.is_served(),
            epoch: reader.term().epoch,
            incarnation: last_incarnation(&Folder::new(journal, 0o600)).map_err(of_journal)?,
            deposed_by: reader.deposed_by(),
        }))
    }

    pub(super) fn records(&self) -> impl Iterator<Item = Record> {
        self.rows.iter().map(|row| {
            let offset = row.offset;
            with_figures(Record::default(), &self.figures_of(row))
                .with("offset_least_ns", offset.map(|offset| offset.least_ns))
                .with("offset_most_ns", offset.map(|offset| offset.most_ns))
                .with("why", self.why(row))
        })
    }

    /// What a collector receives.
    pub(super) fn figures(&self) -> Vec<Figure> {
        let rows = self.rows.iter().map(|row| self.figures_of(row)).collect();
        let served = "1 if a process serves the journal to followers.";
        let epoch = "The epoch of the leader; another one after each promotion.";
        let journal = vec![
            flag("journal_is_served", self.is_served).gauge(served),
            whole("journal_epoch", self.epoch).gauge(epoch),
        ];
        [about("journal", journal), vec![Figure::new("replicas", Some(FigureValue::Rows(rows)))]]
            .concat()
    }

    fn figures_of(&self, row: &ReplicaRow) -> Vec<Figure> {
        let is_known = self.is_known(row);
        let known = |number: u64| is_known.then_some(number);
        let state = FigureValue::State(self.state(row), &STATES);
        let bytes = "Bytes of excerpts that were sent in this connection.";
        let figures = vec![
            text("follower", Some(&row.name)).label(),
            Figure::new("state", Some(state)).metric(Kind::StateSet, "State of a follower."),
            time("since_ns", row.since_ns).gauge("Since when it is connected, gone or expected."),
            whole("next_sequence", known(row.next_sequence))
                .gauge("A follower has all excerpts before this number."),
            whole("behind", self.behind(row)).gauge("Excerpts that a follower lacks."),
            whole("on_disk", known(row.on_disk))
                .gauge("A follower has all excerpts before this number on its disk."),
            whole("sent_next", row.sent_next)
                .gauge("All excerpts before this number were sent to a follower."),
            flag("is_live", self.state(row) == STATES[0])
                .gauge("1 if a follower was sent everything."),
            whole("catch_ups", row.catch_ups)
                .counter("Times that a follower fell behind after it had everything."),
            whole("connections", row.connections).counter("Connections of a follower."),
            whole("sent_bytes", row.sent_bytes).gauge(bytes),
            whole("bytes_per_s", row.bytes_per_s),
            time("received_ns", row.received_ns)
                .gauge("When something came from a follower last.")
                .outside_json(),
            whole("sent_ns", row.sent_ns),
            whole("arrived_ns", row.arrived_ns),
        ];
        about("replica", figures)
    }

    pub(super) fn text(&self, text: &mut String) {
        // Writing to a string cannot fail.
        let served = match (self.is_served, self.deposed_by) {
            (_, epoch @ 1..) => format!("this leader was replaced by epoch {epoch}"),
            (true, _) => format!("served, epoch {}", self.epoch),
            (false, _) => "not served now".to_owned(),
        };
        let _ = writeln!(text, "followers       {}, {served}", self.rows.len());
        if self.rows.is_empty() {
            return;
        }
        let header = ["follower", "state", "next", "on disk", "behind", "rate/s"];
        let [name, state, next, disk, behind, rate] = header;
        let width = self.rows.iter().map(|row| row.name.len()).fold(20, usize::max);
        let _ = writeln!(
            text,
            "\n{name:<width$} {state:<10} {next:>14} {disk:>14} {behind:>12} {rate:>10}  why"
        );
        for row in &self.rows {
            let or_unknown =
                |value: Option<u64>| value.map_or("unknown".to_owned(), |it| it.to_string());
            let is_known = self.is_known(row);
            let line = format!(
                "{:<width$} {:<10} {:>14} {:>14} {:>12} {:>10}  {}",
                row.name,
                self.state(row),
                or_unknown(is_known.then_some(row.next_sequence)),
                or_unknown(is_known.then_some(row.on_disk)),
                or_unknown(self.behind(row)),
                size_text(row.bytes_per_s),
                self.why(row)
            );
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }

    /// One line on why a follower is behind.
    pub(super) fn why_of(&self, name: &str) -> anyhow::Result<String> {
        match self.rows.iter().find(|row| row.name == name) {
            Some(row) => Ok(format!("{name}: {}\n", self.why(row))),
            None => {
                let names: Vec<&str> = self.rows.iter().map(|row| row.name.as_str()).collect();
                bail!("no follower is named {name}; there are: {}", names.join(", "))
            }
        }
    }

    /// Whether its position is known now.
    fn is_known(&self, row: &ReplicaRow) -> bool {
        let is_here = self.is_served && row.presence == Presence::Connected;
        let is_counted = self.incarnation == Some(row.incarnation);
        is_here && is_counted && !self.is_silent(row) && row.next_sequence > 0
    }

    fn is_silent(&self, row: &ReplicaRow) -> bool {
        self.now_ns.saturating_sub(row.received_ns) >= SILENT_NS
    }

    fn state(&self, row: &ReplicaRow) -> &'static str {
        let [live, catches_up, expected, gone, unknown] = STATES;
        match (self.is_served, row.presence) {
            (false, _) => unknown,
            (true, Presence::Expected) => expected,
            (true, Presence::Gone) => gone,
            // It was stopped, or the process that serves the journal was.
            (true, Presence::Connected) if self.is_silent(row) => unknown,
            (true, Presence::Connected) if row.is_live => live,
            (true, Presence::Connected) => catches_up,
        }
    }

    /// Numbers that it lacks.
    fn behind(&self, row: &ReplicaRow) -> Option<u64> {
        self.is_known(row).then(|| self.next_sequence.saturating_sub(row.next_sequence))
    }

    fn why(&self, row: &ReplicaRow) -> String {
        let ago = |ns: u64| nanos_text(self.now_ns.saturating_sub(ns) / 1_000_000 * 1_000_000);
        if !self.is_served {
            return "no process serves this journal now".to_owned();
        }
        match row.presence {
            Presence::Expected => return "it has not connected yet".to_owned(),
            Presence::Gone => return format!("gone for {}: {}", ago(row.since_ns), row.reason),
            Presence::Connected => {}
        }
        if !row.reason.is_empty() {
            return format!("it cannot go on: {}", row.reason);
        }
        if self.is_silent(row) {
            return format!("nothing came from it for {}", ago(row.received_ns));
        }
        let Some(behind) = self.behind(row) else {
            return "it has not stated that it has the last segment, or its incarnation".to_owned();
        };
        let unsent = self.next_sequence.saturating_sub(row.sent_next);
        let still_ns = self.now_ns.saturating_sub(row.progressed_ns);
        match (behind, unsent) {
            (0, _) => "not behind".to_owned(),
            (_, 0) if still_ns >= STILL_NS => format!(
                "it has not acknowledged anything for {}, although all was sent: it is stopped, or its \
                 disk is slow",
                ago(row.progressed_ns)
            ),
            (_, 0) => "the last excerpts are on their way".to_owned(),
            _ if still_ns >= STILL_NS => {
                format!(
                    "it takes nothing for {}: it or the network stopped",
                    ago(row.progressed_ns)
                )
            }
            _ => {
                let (link, journal) = (size_text(row.bytes_per_s), size_text(self.bytes_per_s));
                let verdict = match row.bytes_per_s > self.bytes_per_s {
                    true => "it catches up",
                    false => "it falls further behind",
                };
                format!("{verdict}: it gets {link}/s, the journal grows by {journal}/s")
            }
        }
    }
}
