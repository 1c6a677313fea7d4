//! The rows of `nanotape lab bench feed`, in the order of the table, its columns, and its JSON.

use core::fmt::Write as _;

use nanotape_console::values::grouped;
use serde_json::{Value, json};

use super::{
    Feed,
    bursts::{Packed, SIZES, Size},
    drops::{Step, Steps},
    packets::Shape,
    wire::Receiving,
};
use crate::engine::{
    Benchmark as _, Figure, Figures, Goal, Measured, Reading, Row, Run, Spread, Times, figures,
    form, sections,
    shared::{DUE, END, LONGEST, QUANTILES},
    table,
};

/// A message alone, without a packet: the base of packets.
pub(super) const MESSAGE: &str = "message";

/// The row that the goals of packets apply to.
pub(super) const PACKET: &str = "packet";

/// Packets without a receiver: the base of arbitration.
pub(super) const DECODED: &str = "lines/decoded";

/// Packets with a receiver.
pub(super) const ARBITRATED: &str = "lines/arbitrated";

/// The base of the way from the wire to a reaction.
pub(super) const PING: &str = "wire/ping";

/// A plant whose sender is its tap.
pub(super) const OWN_TAP: &str = "wire/own-tap";

/// A plant with a tap.
pub(super) const TAP: &str = "wire/tap";

/// Every row.
pub(super) const ROWS: &[Row<Feed>] = &[
    Row::new(MESSAGE, &PACKETS, Work::Message),
    packets(PACKET, USUAL_PACKETS),
    packets("packet/single", Packed { shape: Shape::Single, ..USUAL_PACKETS }),
    packets("packet/one-line", Packed { lines: 1, ..USUAL_PACKETS }),
    packets("packet/unsequenced", Packed { lines: 1, is_sequenced: false, ..USUAL_PACKETS }),
    Row::new(DECODED, &LINES, Work::Decode),
    Row::new(ARBITRATED, &LINES, Work::Arbitrate),
    wire(PING, Receiving::Bare),
    wire("wire/reader", Receiving::Reader),
    wire(OWN_TAP, Receiving::PlantAndSender),
    wire(TAP, Receiving::PlantAndTap),
    Row::new("drops", &DROPS, Work::Drops),
];

const USUAL_PACKETS: Packed = Packed { lines: 2, shape: Shape::Usual, is_sequenced: true };

/// What a row measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Work {
    /// A plant, one message at a time.
    Message,
    /// A plant, packet by packet.
    Packets(Packed),
    /// The packets of both lines, decoded.
    Decode,
    /// The packets of both lines, put in order.
    Arbitrate,
    /// Packets over a socket.
    Wire(Receiving),
    /// Packets over a socket, at rising rates.
    Drops,
}

sections! {
    Feed:
    PACKETS = "packets" times [QUANTILES, LONGEST, DUE, END] |_|
        "Packet bytes to published records: ns from handing over a packet to the records of its \
         last message; due: from its arrival";
    LINES = "lines" times [&["ns*", "adds_ns*"], END] |_|
        "Arbitration and sequencing, without a plant: ns for a packet of either line";
    WIRE = "wire" times [QUANTILES, LONGEST, &["adds_ns*", "others", "shared"]] |run|
        format!(
            "Wire to reaction: ns from before a packet is sent to its bytes, or to its last record; \
            {} packets a second",
            grouped(run.options.rate.into())
        );
    DROPS = "drops" rates [&["without*", "drops/with_per_second", "drops_text"]] |_|
        "Drops of the kernel: thousand packets a second sent to a plant";
}

/// Format: docs/formats/lab-bench-feed.md.
pub(super) const FIGURES: Figures<Feed> = &[
    Figure::COMMON,
    Figure::SECTION,
    Figure::DAY,
    Figure::ORDERS,
    figures! {
        /// Due packets a second; only for `wire`
        "rate_per_second": "number or null" = |row, run| {
            is_wire(row).then_some(run.options.rate)
        };
        /// The duration of a reading; only for `wire`
        "seconds": "number or null" = |row, run| is_wire(row).then_some(run.options.seconds);
        /// Processors: `first` (number), of the plant or, in rows with a socket, of the sender;
        /// `others` (list of numbers, one for each other process). On two processors the tap of
        /// `wire/tap` is on that of the sender, whatever the list has
        "cpus": "object" = |row, run| {
            let others = run.cpus.of_readers(Feed::readers(row.row));
            json!({ "first": run.cpus.writer, "others": others })
        };
        /// Whether two processes of the row share a processor
        "share_processors": "true or false" = |row, run| {
            run.cpus.are_short_for(Feed::readers(row.row))
        };
        "shared": text ["" 0 words] = |row, run| {
            let is_short = run.cpus.are_short_for(Feed::readers(row.row));
            if is_short { " processes share a processor" } else { "" }
        };
        /// Counted packets of one reading: those with new messages in `packets`; those of both
        /// lines in `lines`; those after the first tenth in `wire`, for a plant only those with an
        /// order or inside record; all sent ones in `drops`. null for `message`
        "packets": "number or null" = |row, _| packets_counted(row);
        /// Messages of one reading; null for `wire` and `drops`
        "messages": "number or null" = |row, _| row.answer().messages;
        /// The main number of the row: p50 of packets or messages, or the time for one packet in
        /// `lines`. null for `drops`
        "ns": spread ["median" 8 nanos] = |row, _| {
            table::number(row).filter(|_| row.row.section.is_timed)
        };
        /// The main number minus that of `lines/decoded` or `wire/ping` in the same round; null for
        /// these two rows and in other sections
        "adds_ns": spread ["adds" 8 nanos] = |row, run| adds(row, run);
        /// For `packet` rows: the packets by the number of their new messages, see below
        "sizes": "list or null" = |row, _| Some(sizes(row)).filter(|sizes| !sizes.is_empty());
        "without": text_spread ["without" 9 thousands] = |row, _| without_drops(row);
        /// For the row `drops`
        "drops": "object or null" = |row, _| {
            (row.row.work == Work::Drops).then(|| drops(row))
        };
        /// The highest rate of a step without a drop, packets a second; the median over rounds
        "drops/without_per_second": "number or null";
        /// The rate of the step in which the kernel dropped packets; the median over the rounds in
        /// which it did. null if the sender reached its limit before
        "drops/with_per_second": "number or null" ["dropping" 9 thousands];
        /// Rounds in which the kernel dropped packets
        "drops/rounds_with_drops": "number";
        /// Size of the kernel's receive buffer; the smallest of all rounds
        "drops/buffer_bytes": "number";
        /// For each round its steps: `due_per_second`, `sent_per_second`, `packets` (sent),
        /// `dropped`
        "drops/steps": "list of lists";
        "drops_text": text ["" 0 words] = |row, _| drops_text(row);
        /// The goals of the row, or null if it has none: objects with `of` (`p50`, `p99`, `p99.9`
        /// or `adds`), `bound` (`at most`), `wanted` and `value` in ns, `met`, and `distance`, the
        /// difference as a share of the goal. They do not change the exit status. `wire/tap` has a
        /// goal only if each of its processes has a processor
        "goals": "list or null" = |row, run| {
            let goals: Vec<_> = Feed::goals(row, run).iter().map(Goal::to_json).collect();
            (!goals.is_empty()).then_some(goals)
        };
    },
    Figure::LATENCY,
    Figure::REVERSED,
    Figure::DUE,
    Figure::PAIR,
];

fn is_wire(row: &Measured<Feed>) -> bool {
    matches!(row.row.work, Work::Wire(_))
}

/// The difference to the base of the row, in rounds; `None` for the base itself and for packets,
/// whose distribution is another one than that of messages.
pub(super) fn adds(row: &Measured<Feed>, run: &Run<Feed>) -> Option<Spread> {
    let base = Feed::base(row.row).filter(|base| base.row != row.row.name)?;
    match row.row.work {
        Work::Packets(_) => None,
        _ => row.added(run.find(base.row)?),
    }
}

/// The steps of a reading of `drops`.
pub(super) fn steps(reading: &Reading) -> Option<Steps> {
    serde_json::from_value(reading.detail.clone()).ok()
}

fn without_drops(row: &Measured<Feed>) -> Option<Spread> {
    row.spread(|reading| steps(reading)?.without_drops())
}

fn with_drops(row: &Measured<Feed>) -> Option<Spread> {
    row.spread(|reading| Some(steps(reading)?.with_drops()?.sent_per_second))
}

fn drops_text(row: &Measured<Feed>) -> String {
    let all: Vec<Steps> = row.readings.iter().filter_map(steps).collect();
    let dropping = all.iter().filter(|steps| steps.with_drops().is_some()).count();
    let buffer = all.iter().map(|steps| steps.buffer_bytes).min().unwrap_or(0);
    format!(
        " the kernel dropped packets in {dropping} of {} rounds; buffer of {} bytes",
        all.len(),
        grouped(buffer)
    )
}

/// The packets by the number of their new messages, with the medians over rounds of their times;
/// empty for other rows.
fn sizes(row: &Measured<Feed>) -> Vec<Value> {
    let is_of_packets = matches!(row.row.work, Work::Packets(_));
    let readings = row.readings.iter().filter(|_| is_of_packets);
    let rounds: Vec<Vec<Size>> =
        readings.filter_map(|one| serde_json::from_value(one.detail.clone()).ok()).collect();
    let of = |(place, size): (usize, &Size)| {
        let median = |time: fn(&Times) -> u64| {
            let times = rounds.iter().map(|sizes| time(&sizes[place].times) as f64);
            table::median(Spread::of(&times.collect::<Vec<_>>()))
        };
        json!({
            "from_messages": size.from,
            "packets": size.packets,
            "messages": size.messages,
            "p50_ns": median(|times| times.p50_ns),
            "p99_ns": median(|times| times.p99_ns),
            "p99.9_ns": median(|times| times.p999_ns),
        })
    };
    rounds.first().into_iter().flatten().enumerate().map(of).collect()
}

/// A table of the packets by the number of their new messages; empty if none were measured.
pub(super) fn sizes_text(run: &Run<Feed>) -> String {
    let mut text = String::new();
    let Some(row) = run.find(PACKET) else { return text };
    let _ = writeln!(text, "\nPackets of `{PACKET}` by their new messages: ns");
    let _ = write!(text, "  {:<20} {:>9} {:>9}", "messages", "packets", "messages");
    let _ = writeln!(text, " {:>9} {:>9} {:>9}", "p50", "p99", "p99.9");
    for (place, size) in sizes(row).into_iter().enumerate() {
        let from = size["from_messages"].as_u64().unwrap_or(0);
        let name = match SIZES.get(place + 1) {
            Some(&next) if next == from + 1 => from.to_string(),
            Some(next) => format!("{from} to {}", next - 1),
            None => format!("{from} and more"),
        };
        let _ = write!(text, "  {name:<20} {:>9}", form::count(&size["packets"]));
        let _ = write!(text, " {:>9}", form::count(&size["messages"]));
        for time in ["p50_ns", "p99_ns", "p99.9_ns"] {
            let time = if size["packets"] == 0 { &Value::Null } else { &size[time] };
            let _ = write!(text, " {:>9}", form::whole(time));
        }
        text.push('\n');
    }
    text
}

const fn packets(name: &'static str, packed: Packed) -> Row<Feed> {
    Row { name, section: &PACKETS, work: Work::Packets(packed) }
}

const fn wire(name: &'static str, receiving: Receiving) -> Row<Feed> {
    Row { name, section: &WIRE, work: Work::Wire(receiving) }
}

/// The packets of one reading that were counted.
fn packets_counted(measured: &Measured<Feed>) -> Option<u64> {
    let reading = measured.readings.first()?;
    match measured.row.work {
        Work::Message => None,
        Work::Decode | Work::Arbitrate => Some(reading.day.operations),
        Work::Packets(_) | Work::Wire(_) => reading.times.map(|times| times.count),
        Work::Drops => Some(reading.written.messages),
    }
}

fn drops(measured: &Measured<Feed>) -> Value {
    let all: Vec<Steps> = measured.readings.iter().filter_map(steps).collect();
    let dropping: Vec<Option<Step>> = all.iter().map(Steps::with_drops).collect();
    json!({
        "without_per_second": table::median(without_drops(measured)),
        "with_per_second": table::median(with_drops(measured)),
        "rounds_with_drops": dropping.iter().flatten().count(),
        "buffer_bytes": all.iter().map(|steps| steps.buffer_bytes).min(),
        "steps": all.iter().map(|steps| json!(steps.steps)).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::row::select;

    #[test]
    fn names_are_words_and_differ_and_a_part_selects_all_below_it() {
        for (place, row) in ROWS.iter().enumerate() {
            assert!(!row.name.contains([' ', ',']), "{}", row.name);
            assert!(ROWS[..place].iter().all(|other| other.name != row.name), "{}", row.name);
        }
        let names = |only: &str| -> Vec<&str> {
            select::<Feed>(&[only.to_owned()]).unwrap().iter().map(|row| row.name).collect()
        };
        assert_eq!(names("lines"), [DECODED, ARBITRATED]);
        assert_eq!(
            names("packet"),
            [PACKET, "packet/single", "packet/one-line", "packet/unsequenced"]
        );
    }
}
