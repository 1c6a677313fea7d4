//! The goals of the live feed, and the numbers it reached.

use super::{
    Feed,
    rows::{ARBITRATED, PACKET, Work, adds},
    wire::Receiving,
};
use crate::engine::{Bound, Goal, Measured, Run, Unit, goals_text, table};

/// Limits of the times of packets.
const MOST_NS: [(&str, f64); 3] = [("p50", 250.0), ("p99", 800.0), ("p99.9", 1_200.0)];

/// Limit of the time that arbitration and sequencing add to a packet.
const MOST_ARBITRATION_NS: f64 = 15.0;

/// Limit of the time from the wire to a reaction, beyond that of a ping.
const MOST_REACTION_NS: f64 = 1_000.0;

/// The goals of a row that were measured.
pub(super) fn goals(measured: &Measured<Feed>, run: &Run<Feed>) -> Vec<Goal> {
    let goal = |of, most, value| Goal { of, bound: Bound::AtMost(most), value };
    let added = || adds(measured, run).map(|added| added.median);
    if measured.row.name == PACKET {
        let time = |name: &str| match name {
            "p50" => measured.time_ns(|times| Some(times.p50_ns)),
            "p99" => measured.time_ns(|times| Some(times.p99_ns)),
            _ => measured.time_ns(|times| Some(times.p999_ns)),
        };
        let times = MOST_NS.into_iter();
        return times
            .filter_map(|(of, most)| Some(goal(of, most, table::median(time(of))?)))
            .collect();
    }
    let most = match measured.row.work {
        _ if measured.row.name == ARBITRATED => MOST_ARBITRATION_NS,
        // Beside its sender on one processor a tap shows the scheduler, and not the plant.
        Work::Wire(Receiving::PlantAndTap) if !run.cpus.are_short_for(2) => MOST_REACTION_NS,
        Work::Wire(Receiving::PlantAndSender) if run.cpus.are_two() => MOST_REACTION_NS,
        _ => return Vec::new(),
    };
    added().map(|added| goal("adds", most, added)).into_iter().collect()
}

/// The goals that were reached, and the distance to the others.
pub(super) fn text(run: &Run<Feed>) -> String {
    let unit = |goal: &Goal| Unit::new(1.0, format!("ns {}", goal.of), 1);
    let of_row =
        |row| goals(row, run).into_iter().map(move |goal| (row.row.name, goal, unit(&goal)));
    goals_text(&run.measured.iter().flat_map(of_row).collect::<Vec<_>>(), 20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        day_file::DayReading,
        engine::{
            Reading, Times,
            test::{measured, run},
        },
    };

    fn timed(p50_ns: u64, p99_ns: u64, p999_ns: u64) -> Reading {
        let times = Some(Times { count: 1, p50_ns, p99_ns, p999_ns, ..Times::default() });
        Reading { times, ..Reading::default() }
    }

    fn per_packet(processor_nanos: u64) -> Reading {
        let day = DayReading { processor_nanos, operations: 10, ..DayReading::default() };
        Reading { day, ..Reading::default() }
    }

    #[test]
    fn goals_are_of_packets_and_of_what_receiver_and_plant_add() {
        let mut all = run::<Feed>(vec![
            measured("packet", [timed(250, 801, 1_000)]),
            measured("packet/one-line", [timed(250, 801, 1_000)]),
            measured("lines/decoded", [per_packet(200)]),
            measured("lines/arbitrated", [per_packet(360)]),
            measured("wire/ping", [timed(2_000, 1, 1)]),
            measured("wire/own-tap", [timed(2_900, 1, 1)]),
            measured("wire/tap", [timed(3_001, 1, 1)]),
        ]);
        (all.cpus.writer, all.cpus.readers) = (0, vec![1, 2]);
        let found = |run: &Run<Feed>| -> Vec<_> {
            let of_row = |row| goals(row, run).into_iter().map(move |goal| (row.row.name, goal));
            let all = run.measured.iter().flat_map(of_row);
            all.map(|(row, goal)| (row, goal.of, goal.value, goal.is_met())).collect()
        };
        let expected = [
            ("packet", "p50", 250.0, true),
            ("packet", "p99", 801.0, false),
            ("packet", "p99.9", 1_000.0, true),
            ("lines/arbitrated", "adds", 16.0, false),
            ("wire/own-tap", "adds", 900.0, true),
            ("wire/tap", "adds", 1_001.0, false),
        ];
        assert_eq!(found(&all), expected);
        all.cpus.readers = vec![1];
        assert_eq!(found(&all), expected[..5], "no goal for processes that share a processor");
        all.measured.retain(|row| row.row.name != "wire/ping");
        assert_eq!(found(&all), expected[..4]);
    }
}
