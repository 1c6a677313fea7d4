//! `nanotape lab bench feed`: the live feed, from the bytes of packets to records, and from the
//! wire to a reaction.
//!
//! ```text
//! day -> packets of two lines, in memory -> receiver -> books -> records on a ring
//! sender -> UDP on 127.0.0.1 -> plant -> ring -> tap
//! ```
//!
//! To add a row, add a line to `rows.rs`.

mod bursts;
mod drops;
mod lines;
mod packets;
mod rows;
mod wire;

use std::time::Duration;

use clap::Args;
use nanotape_console::records::Columns;
use serde::{Deserialize, Serialize};

use self::rows::{ARBITRATED, DECODED, FIGURES, MESSAGE, OWN_TAP, PACKET, PING, ROWS, TAP, Work};
use self::wire::Receiving;
use super::{Day, Pass, plant_variants::USUAL, publish, reading::heading};
use crate::{
    engine::{
        Base, Benchmark, Figures, Goal, Measured, Reading, Requested, RequestedCpus, Row, Run,
        Wanted, Worker, columns, command::slowest, goals, goals_text,
    },
    error::Error,
};

/// The live feed: which day, and how it is sent.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
#[command(after_help = "\
Examples:
  nanotape lab bench feed day.itch50                           the table
  nanotape lab bench feed day.itch50 --rounds 9 -o feed.json   more rounds, as one JSON list
  nanotape lab bench feed day.itch50 --only message,packet,lines
  nanotape lab bench feed day.itch50 --only wire --rate 100000 --seconds 10
  nanotape lab bench feed --list                               the names

`packet` cuts the day into the MoldUDP64 packets of two lines, which cut at different messages and
arrive up to 1 us late. Packets keep their spacing in the day, but pauses are at most 5 us. Each is
handed to a receiver, and is timed until the records of its last message are published on a ring,
as `nanotape run --live` does; packets without a new message are not counted. `due` is the time
since the packet arrived, which may be before the previous one is done. `message` is one message
at a time without packets and pauses, as `plant` in `nanotape lab bench plant`; `packet/single` has
a packet for each message. `packet/unsequenced` decodes the packets of one line without a receiver.

`lines` rows have no plant: `lines/arbitrated` takes the packets of both lines, `lines/decoded`
decodes them without a receiver. Times are per packet, of either line.

`wire` rows send packets over UDP on 127.0.0.1 at --rate. `wire/ping` is timed until another
process has the bytes from a bare socket; `wire/tap` until a tap in a third process has the last
record of the packet from a plant. In `wire/own-tap` the sender reads the records itself, so that
two processors suffice. All poll without pause. On two processors the sender and the tap of
`wire/tap` take turns on one.

`drops` sends packets at rising rates to a plant, until the kernel drops some.

In each round each row is measured once, in processes of its own and in a random order. Numbers are
medians over rounds. Compare numbers of one run only. Missed goals do not change the exit status.

Exit status: 0 success; 1 the file is damaged or empty, or rows differ in their results; 2 wrong
usage, or a file or socket that cannot be opened.")]
pub(crate) struct Feed {
    #[command(flatten)]
    day: Day,

    /// Packets a second in `wire` rows
    #[arg(long, value_name = "PER_SECOND", default_value_t = 20_000, value_parser = nanotape_console::values::count::<u32>(1..=1_000_000))]
    rate: u32,

    /// Seconds of a reading in `wire` rows, unless the day has fewer packets
    #[arg(long, value_name = "SECONDS", default_value_t = 3, value_parser = nanotape_console::values::whole::<u32>(1_000_000_000, 1..=3_600))]
    seconds: u32,

    /// Most packets of a reading in `drops`
    #[arg(long, value_name = "N", default_value_t = 4_000_000, value_parser = nanotape_console::values::count::<u32>(1_000..=100_000_000))]
    most_packets: u32,

    /// Run the plant on the first of these processors; in rows with a socket the sender is on the
    /// first, and the receiver or plant on the second [default: the last two allowed ones]
    #[arg(long, value_name = "FIRST,SECOND", value_parser = nanotape_console::values::two_cpus)]
    cpus: Option<(u32, u32)>,

    /// Use the real-time class SCHED_FIFO with this priority
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=49))]
    realtime: Option<u8>,
}

impl Feed {
    /// Packets of a reading in `wire` rows, unless the day has fewer.
    fn packets(&self) -> usize {
        self.rate as usize * self.seconds as usize
    }

    fn most_packets(&self) -> usize {
        self.most_packets as usize
    }
}

impl Benchmark for Feed {
    const NAME: &'static str = "feed";
    const ROWS: &'static [Row<Self>] = ROWS;
    /// A plant stops when its ring is removed.
    const LEAVES_FOLDER: bool = false;
    const NAME_WIDTH: usize = 20;
    const FIGURES: Figures<Self> = FIGURES;
    const COLUMNS: Columns = columns! {
        "name", "section", "ns", "ns_low", "ns_high", "adds_ns", "adds_ns_low", "adds_ns_high",
        "p50_ns" = "latency/p50_ns", "p90_ns" = "latency/p90_ns", "p99_ns" = "latency/p99_ns",
        "p99.9_ns" = "latency/p99.9_ns", "max_ns" = "latency/max_ns",
        "over_100us" = "latency/over_100us", "from_due_p50_ns" = "latency/from_due_p50_ns",
        "from_due_p99_ns" = "latency/from_due_p99_ns",
        "packets_per_second" = "drops/without_per_second", "foreign" = "environment/foreign",
    };
    const GOALS: &'static [Wanted] = goals! {
        PACKET => "p50" = "latency/p50_ns", AtMost 250.0, 1.0 "ns p50" 1;
        PACKET => "p99" = "latency/p99_ns", AtMost 800.0, 1.0 "ns p99" 1;
        PACKET => "p99.9" = "latency/p99.9_ns", AtMost 1_200.0, 1.0 "ns p99.9" 1;
        ARBITRATED => "adds" = "adds_ns", AtMost 15.0, 1.0 "ns adds" 1;
        OWN_TAP => "adds" = "adds_ns", AtMost 1_000.0, 1.0 "ns adds" 1;
        TAP => "adds" = "adds_ns", AtMost 1_000.0, 1.0 "ns adds" 1;
    };

    type Work = Work;
    type Pass = ();

    fn day(&self) -> Option<&Day> {
        Some(&self.day)
    }

    fn requested(&self) -> Requested {
        Requested { cpus: RequestedCpus::Two(self.cpus), real_time_priority: self.realtime }
    }

    fn prepare(run: &mut Run<Self>) -> anyhow::Result<()> {
        let (cpu, cpus) = (run.cpu, run.cpus.clone());
        run.options.day.survey(cpu, &mut run.notes)?;
        if !cpus.are_two() {
            run.notes.push("sender and receiver share a processor".to_owned());
        } else if cpus.are_short_for(2) {
            run.notes.push(
                "wire/tap: three processes for two processors: the tap shares that of the sender, \
                 and both yield it to each other"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn readers(row: &Row<Self>) -> usize {
        match row.work {
            Work::Wire(receiving) => receiving.readers(),
            Work::Drops => 1,
            _ => 0,
        }
    }

    fn longest(&self, row: &Row<Self>) -> Duration {
        let seconds = match row.work {
            Work::Wire(_) => self.seconds,
            _ => 60,
        };
        slowest(self.day.operations()) + Duration::from_secs(seconds.into())
    }

    fn work(worker: &mut Worker<Self>) -> Result<Reading, Error> {
        let day = worker.job.options.day.clone();
        match worker.row.work {
            Work::Message => publish::publish(worker, USUAL, Pass::Single, None),
            Work::Packets(packed) => bursts::publish(worker, &day, packed),
            Work::Decode => {
                worker.begin(&[])?;
                lines::decode(&day, worker.clock)
            }
            Work::Arbitrate => {
                worker.begin(&[])?;
                lines::arbitrate(&day, worker.clock)
            }
            Work::Wire(receiving) => wire::work(worker, &day, receiving),
            Work::Drops => drops::work(worker, &day),
        }
    }

    /// The median of a packet or message, the time per packet, or packets a second.
    fn number(row: &Row<Self>, reading: &Reading) -> Option<f64> {
        match row.work {
            Work::Message | Work::Packets(_) | Work::Wire(_) => reading.p50_ns(),
            Work::Decode | Work::Arbitrate => Some(reading.day.processor_ns()),
            Work::Drops => rows::steps(reading)?.without_drops(),
        }
    }

    fn base(row: &Row<Self>) -> Option<Base> {
        match row.work {
            Work::Message | Work::Drops => None,
            Work::Packets(_) => Some(Base::whole(MESSAGE)),
            Work::Decode | Work::Arbitrate => Some(Base::whole(DECODED)),
            Work::Wire(_) => Some(Base::whole(PING)),
        }
    }

    fn goals(measured: &Measured<Self>, run: &Run<Self>) -> Vec<Goal> {
        // Beside its sender on one processor a tap shows the scheduler, and not the plant.
        let is_judged = match measured.row.work {
            Work::Wire(Receiving::PlantAndTap) => !run.cpus.are_short_for(2),
            Work::Wire(Receiving::PlantAndSender) => run.cpus.are_two(),
            _ => true,
        };
        let wanted = Self::GOALS.iter().filter(|_| is_judged);
        wanted.filter_map(|wanted| wanted.of(measured, run)).collect()
    }

    fn heading(run: &Run<Self>) -> String {
        let heading = heading(run, &run.options.day);
        let (first, second) = (run.cpus.writer, run.cpus.readers[0]);
        format!(
            "{heading}; processor {first}: plant, or sender; processor {second}: receiver of a sender"
        )
    }

    fn footing(run: &Run<Self>) -> String {
        rows::sizes_text(run) + &goals_text(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        day_file::DayReading,
        engine::{
            Times,
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
            let of_row =
                |row| Feed::goals(row, run).into_iter().map(move |goal| (row.row.name, goal));
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
