//! The rows of `nanotape lab bench trace`, one line each, in the order of the table.

use nanotape_trace::spans::Rate;

use super::{Trace, copies, spread, sum, takes};
use crate::engine::{Figure, Figures, Row, figures, sections, table, table::latency};

pub(super) const BEYOND_STAMP: &str = "span/beyond-stamp";
pub(super) const BARE_BEYOND: &str = "bare/beyond-stamp";
pub(super) const ONE_IN_16: &str = "plant/one-in-16";
pub(super) const ON: &str = "plant/on";
pub(super) const COPIES: &str = "recorder/copies";

pub(super) const ROWS: &[Row<Trace>] = &[
    // Each `again` compares equal programs: their difference is the noise of this machine.
    call("span/again", true, Call::Nothing, Call::Nothing),
    call("span/stamp", true, Call::Nothing, Call::Stamp),
    call("span/off", true, Call::Nothing, Call::End(Spans::Off)),
    call("span/one-in-16", true, Call::Nothing, Call::End(Spans::OneIn16)),
    call("span/on", true, Call::Nothing, Call::End(Spans::On)),
    call(BEYOND_STAMP, true, Call::Stamp, Call::End(Spans::On)),
    call("bare/stamp", false, Call::Nothing, Call::Stamp),
    call("bare/off", false, Call::Nothing, Call::End(Spans::Off)),
    call("bare/on", false, Call::Nothing, Call::End(Spans::On)),
    call(BARE_BEYOND, false, Call::Stamp, Call::End(Spans::On)),
    plant("plant/again", Spans::Off),
    plant(ONE_IN_16, Spans::OneIn16),
    plant(ON, Spans::On),
    recorder("recorder/again", Mode::Absent),
    recorder("recorder/busy", Mode::Busy),
    recorder("recorder/reads", Mode::Reads),
    recorder(COPIES, Mode::Copies),
];

/// What a row compares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// Two loops, with or without work in their turns.
    Calls { has_work: bool, base: Call, own: Call },
    /// A plant with these spans, and with all off.
    Plant(Spans),
    /// A plant with all spans on beside such a process, and alone.
    Recorder(Mode),
}

/// What a turn of a loop does after its work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Call {
    /// Nothing.
    Nothing,
    /// Takes an unfenced stamp.
    Stamp,
    /// Ends a stage.
    End(Spans),
}

/// Which messages have spans.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Spans {
    Off,
    OneIn16,
    On,
}

/// What the process beside a plant does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// It sleeps.
    Absent,
    /// It computes, and touches nothing of the plant.
    Busy,
    /// It reads the spans, as a flight recorder that waits for a slow message.
    Reads,
    /// It also makes copies, one after the other.
    Copies,
}

impl Spans {
    pub(super) fn rate(self) -> Rate {
        match self {
            Self::Off => Rate::Off,
            Self::OneIn16 => Rate::OneIn { exponent: 4 },
            Self::On => Rate::ALL,
        }
    }
}

impl What {
    /// What the row is compared with.
    pub(super) fn beside(self) -> &'static str {
        match self {
            Self::Calls { base: Call::Stamp, .. } => "stamp",
            Self::Calls { has_work: true, .. } => "work",
            Self::Calls { .. } => "nothing",
            Self::Plant(_) => "off",
            Self::Recorder(_) => "alone",
        }
    }
}

sections! {
    Trace:
    CALLS = "span" times [BESIDE] |_| "A stage, and a span at its end: ns a turn of a loop";
    PLANTS = "plant" times [BESIDE, &["takes_share"]] |_|
        "A plant at full speed, five sites: processor time for a message, in ns";
    RECORDERS = "recorder" times [BESIDE, &["copies"]] |_|
        "A plant with all spans on, one message at a time, and a process beside it: ns of p99.9";
}

const BESIDE: &[&str] = &["ns*", "beside", "adds_ns*"];

/// Format: docs/formats/lab-bench-trace.md.
pub(super) const FIGURES: Figures<Trace> = &[
    Figure::COMMON,
    Figure::DAY,
    Figure::CPUS,
    figures! {
        /// The part of the table
        "section": "text" = |row, _| row.row.section.name;
        /// The row's own side: ns of a turn of the loop, ns of processor time of a message of the
        /// plant, or the quantile 99.9% of the time of a message
        "ns": spread ["median" 8 nanos] = |row, _| table::number(row);
        /// The other side: `work`, `nothing` or `stamp` (loops), `off` (a plant whose sites are
        /// off), `alone` (a plant without a process beside it)
        "beside": "text" ["beside" 8 words] = |row, _| row.row.work.beside();
        /// The same as `ns` for the other side; the median over rounds
        "beside_ns": "number" = |row, _| table::median(spread(row, "base_ns"));
        /// The difference. For `recorder` that of the two quantiles of a round
        "adds_ns": spread ["adds" 8 nanos] = |row, _| spread(row, "adds_ns");
        /// The same, round by round
        "adds_ns_by_round": "list of numbers" = |row, _| {
            row.numbers(|reading| reading.detail["adds_ns"].as_f64())
        };
        /// For `plant`: the share of the messages a second that the difference takes, from 0 to 1
        "takes_share": spread ["rate" 8 loss] = |row, _| takes(row);
        /// Pairs of all rounds
        "pairs": "number" = |row, _| sum(row, "pairs");
        /// For `recorder`: copies that were made and exported in all rounds
        "copies": "number or null" ["copies" 8 any] = |row, _| {
            matches!(row.row.work, What::Recorder(_)).then(|| copies(row))
        };
        /// For `recorder`: times on the side alone, with the members of `latency`
        "latency_alone": "object or null" = |row, _| {
            latency(row, |reading| reading.calls.as_ref())
        };
        /// For `plant` and `recorder`: `messages`, `inside_changes`, `orders_left`, `anomalies`, as
        /// in [lab-bench-plant.md](lab-bench-plant.md). All rows must agree
        "answer": "object or null" = |row, _| {
            (!matches!(row.row.work, What::Calls { .. })).then(|| row.answer().to_json())
        };
    },
    Figure::LATENCY,
    Figure::P9999,
    Figure::GOALS,
];

const fn call(name: &'static str, has_work: bool, base: Call, own: Call) -> Row<Trace> {
    Row { name, section: &CALLS, work: What::Calls { has_work, base, own } }
}

const fn plant(name: &'static str, spans: Spans) -> Row<Trace> {
    Row { name, section: &PLANTS, work: What::Plant(spans) }
}

const fn recorder(name: &'static str, mode: Mode) -> Row<Trace> {
    Row { name, section: &RECORDERS, work: What::Recorder(mode) }
}
