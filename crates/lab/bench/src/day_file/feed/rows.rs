//! The rows of `nanotape lab bench feed`, in the order of the table, its columns, and its JSON.

use core::fmt::Write as _;

use nanotape_console::values::grouped;
use serde_json::{Value, json};

use super::{
    super::reading::DayReading,
    Feed,
    bursts::{Packed, SIZES, Size},
    drops::{Step, Steps},
    goals,
    packets::Shape,
    wire::Receiving,
};
use crate::engine::{
    Benchmark as _, Column, Goal, Measured, Reading, Row, Run, Section, Spread, table,
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

/// Every row.
pub(super) const ROWS: &[Row<Feed>] = &[
    Row { name: MESSAGE, section: &PACKETS, work: Work::Message },
    packets(PACKET, USUAL_PACKETS),
    packets("packet/single", Packed { shape: Shape::Single, ..USUAL_PACKETS }),
    packets("packet/one-line", Packed { lines: 1, ..USUAL_PACKETS }),
    packets("packet/unsequenced", Packed { lines: 1, is_sequenced: false, ..USUAL_PACKETS }),
    Row { name: DECODED, section: &LINES, work: Work::Decode },
    Row { name: ARBITRATED, section: &LINES, work: Work::Arbitrate },
    wire(PING, Receiving::Bare),
    wire("wire/reader", Receiving::Reader),
    wire("wire/own-tap", Receiving::PlantAndSender),
    wire("wire/tap", Receiving::PlantAndTap),
    Row { name: "drops", section: &DROPS, work: Work::Drops },
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

const PACKETS: Section<Feed> = Section {
    name: "packets",
    is_timed: true,
    title: |_| {
        "Packet bytes to published records: ns from handing over a packet to the records of its \
         last message; due: from its arrival"
            .to_owned()
    },
    columns: &[&Column::QUANTILES, &Column::LONGEST, &Column::DUE, END],
};

const LINES: Section<Feed> = Section {
    name: "lines",
    is_timed: true,
    title: |_| {
        "Arbitration and sequencing, without a plant: ns for a packet of either line".to_owned()
    },
    columns: &[&Column::NANOS, &ADDS, END],
};

const WIRE: Section<Feed> = Section {
    name: "wire",
    is_timed: true,
    title: |run| {
        format!(
            "Wire to reaction: ns from before a packet is sent to its bytes, or to its last record; \
             {} packets a second",
            grouped(run.options.rate.into())
        )
    },
    columns: &[&Column::QUANTILES, &Column::LONGEST, &ADDS, &[Column::OTHERS, SHARED]],
};

const DROPS: Section<Feed> = Section {
    name: "drops",
    is_timed: false,
    title: |_| "Drops of the kernel: thousand packets a second sent to a plant".to_owned(),
    columns: &[&[
        Column::new("without", 9, |row, _| thousands(without_drops(row).map(|one| one.median))),
        Column::new("lowest", 9, |row, _| thousands(without_drops(row).map(|one| one.lowest))),
        Column::new("highest", 9, |row, _| thousands(without_drops(row).map(|one| one.highest))),
        Column::new("dropping", 9, |row, _| thousands(with_drops(row).map(|one| one.median))),
        Column::new("", 0, |row, _| drops_text(row)),
    ]],
};

const ADDS: [Column<Feed>; 3] = [
    Column::new("adds", 8, |row, run| table::nanos(adds(row, run).map(|adds| adds.median))),
    Column::new("lowest", 8, |row, run| table::nanos(adds(row, run).map(|adds| adds.lowest))),
    Column::new("highest", 8, |row, run| table::nanos(adds(row, run).map(|adds| adds.highest))),
];

const END: &[Column<Feed>] = &[Column::OTHERS, Column::RATIO];

/// Column for a tap that shares its processor.
const SHARED: Column<Feed> = Column::new("", 0, |row, run| {
    let is_short = run.cpus.are_short_for(Feed::readers(row.row));
    if is_short { " processes share a processor".to_owned() } else { String::new() }
});

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

/// A rate in thousands.
fn thousands(rate: Option<f64>) -> String {
    rate.map_or("-".to_owned(), |rate| grouped((rate / 1e3).round() as u64))
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

/// The sizes of the packets of a row in one round.
fn sizes(reading: &Reading) -> Option<Vec<Size>> {
    serde_json::from_value(reading.detail.clone()).ok()
}

/// Times of packets by the number of their new messages: medians over rounds.
fn of_sizes(row: &Measured<Feed>) -> Vec<(Size, [Option<f64>; 3])> {
    let is_of_packets = matches!(row.row.work, Work::Packets(_));
    let rounds: Vec<_> = row.readings.iter().filter(|_| is_of_packets).filter_map(sizes).collect();
    let Some(first) = rounds.first() else { return Vec::new() };
    let median = |place: usize, time: fn(&Size) -> u64| {
        let times: Vec<f64> = rounds.iter().map(|sizes| time(&sizes[place]) as f64).collect();
        table::median(Spread::of(&times))
    };
    let with_times = |(place, size): (usize, &Size)| {
        let p50 = median(place, |size| size.times.p50_ns);
        let p99 = median(place, |size| size.times.p99_ns);
        (size.clone(), [p50, p99, median(place, |size| size.times.p999_ns)])
    };
    first.iter().enumerate().map(with_times).collect()
}

/// A table of the packets by the number of their new messages; empty if none were measured.
pub(super) fn sizes_text(run: &Run<Feed>) -> String {
    let mut text = String::new();
    let Some(row) = run.find(PACKET) else { return text };
    let _ = writeln!(text, "\nPackets of `{PACKET}` by their new messages: ns");
    let _ = write!(text, "  {:<20} {:>9} {:>9}", "messages", "packets", "messages");
    let _ = writeln!(text, " {:>9} {:>9} {:>9}", "p50", "p99", "p99.9");
    for (place, (size, times)) in of_sizes(row).into_iter().enumerate() {
        let name = match SIZES.get(place + 1) {
            Some(&next) if next == size.from + 1 => size.from.to_string(),
            Some(next) => format!("{} to {}", size.from, next - 1),
            None => format!("{} and more", size.from),
        };
        let _ = write!(text, "  {name:<20} {:>9}", grouped(size.packets));
        let _ = write!(text, " {:>9}", grouped(size.messages));
        for time in times {
            let _ = write!(text, " {:>9}", table::whole(time.filter(|_| size.packets > 0)));
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

/// Members of a row that only this table has.
pub(super) fn record(measured: &Measured<Feed>, run: &Run<Feed>) -> Value {
    let (row, options) = (measured.row, &run.options);
    let readers = Feed::readers(row);
    let adds = adds(measured, run);
    let ns = table::number(measured).filter(|_| row.section.is_timed);
    let is_wire = matches!(row.work, Work::Wire(_));
    let mut latency = table::latency(measured, |reading| reading.times.as_ref());
    if let Value::Object(latency) = &mut latency {
        latency.remove("p99.99_ns");
    }
    let sizes = of_sizes(measured);
    let sizes = sizes.iter().map(|(size, [p50, p99, p999])| {
        json!({
            "from_messages": size.from,
            "packets": size.packets,
            "messages": size.messages,
            "p50_ns": p50,
            "p99_ns": p99,
            "p99.9_ns": p999,
        })
    });
    let sizes: Vec<Value> = sizes.collect();
    let goals: Vec<Value> = goals::goals(measured, run).into_iter().map(Goal::to_json).collect();
    json!({
        "file": {
            "path": options.day.path().display().to_string(),
            "bytes": options.day.bytes,
            "messages": options.day.messages,
        },
        "orders": options.day.orders(),
        "rate_per_second": is_wire.then_some(options.rate),
        "seconds": is_wire.then_some(options.seconds),
        "cpus": {
            "first": run.cpus.writer,
            "others": (0..readers).map(|one| run.cpus.reader(one, readers).0).collect::<Vec<_>>(),
        },
        "share_processors": run.cpus.are_short_for(readers),
        "ns": table::median(ns),
        "ns_low": ns.map(|spread| spread.lowest),
        "ns_high": ns.map(|spread| spread.highest),
        "adds_ns": table::median(adds),
        "adds_ns_low": adds.map(|spread| spread.lowest),
        "adds_ns_high": adds.map(|spread| spread.highest),
        "packets": packets_counted(measured),
        "messages": measured.answer().to_json()["messages"],
        "latency": latency,
        "sizes": (!sizes.is_empty()).then_some(sizes),
        "drops": (row.work == Work::Drops).then(|| drops(measured)),
        "goals": (!goals.is_empty()).then_some(goals),
    })
}

/// The packets of one reading that were counted.
fn packets_counted(measured: &Measured<Feed>) -> Option<u64> {
    let reading = measured.readings.first()?;
    match measured.row.work {
        Work::Message => None,
        Work::Decode | Work::Arbitrate => {
            let DayReading { operations, .. } = reading.day;
            Some(operations)
        }
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
