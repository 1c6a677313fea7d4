//! `nanotape lab bench ring`: the rings between processes, compared with the limits of the machine.
//!
//! Every end of a ring is a process of its own, so that only the ring connects them. A message with
//! a wrong payload, or one that is neither read nor reported as lost, is a finding and ends the
//! run.
//!
//! To add a row, add a line to [`ROWS`].

mod designs;
mod limits;
mod message;
mod read;
mod rows;
pub(crate) mod timed;
mod work;
mod write;

use std::time::Duration;

use anyhow::ensure;
use clap::Args;
use nanotape_console::values::bytes;
use nanotape_console::{records::Columns, values::grouped};
use nanotape_ring::RingError;
use serde::{Deserialize, Serialize};

use self::{
    designs::fewest_messages,
    rows::{FIGURES, LINE, MEMCPY, ROWS, What, Work},
};
use crate::{
    engine::{
        Amount, Base, Benchmark, Figures, Reading, Requested, RequestedCpus, Row, Run, Worker,
        columns, command::slowest, message::SHORTEST, table,
    },
    error::Error,
};

/// The rings: what is published, and where.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
#[command(after_help = "\
Examples:
  nanotape lab bench ring                                        the table
  nanotape lab bench ring --rounds 9 -o ring.json                more rounds, as one JSON list
  nanotape lab bench ring --only stream,limit                    one of the rings, and the limits
  nanotape lab bench ring --only stream/latency,limit/line --rate 100000 --seconds 10
  nanotape lab bench ring --cpus 2,3 --realtime 20               on two quiet processors
  nanotape lab bench ring --list                                 the names

A writer and its readers are processes of their own, each on its processor, with the ring in
/dev/shm between them. In each round each row is measured once, in a random order. Every message
is checked; a message that is neither read nor reported as lost ends the run with status 1.
Compare numbers of one run only.

Numbers are medians over rounds, the longest time is that of all rounds. Ratios are taken within a
round, and are the medians of those: `1.31 x line` takes 1.31 times as long as the cache line that
two processors bounce, `0.62 x memcpy` reads 0.62 times as many messages as one processor copies.
Times are of every message after the first tenth. JSON is one list with an object for each row.

In `lossless` rows the benchmark keeps the writer from overtaking the reader. A ring's writer
never waits by itself: in the other rows of throughput a reader may lose messages, which are
counted.

Exit status: 0 success; 1 a wrong, missing or torn message; 2 wrong usage, or a ring or process
that cannot be created.")]
pub(crate) struct Ring {
    /// Seconds of each reading [default: 1]
    #[arg(long, value_name = "SECONDS", conflicts_with = "messages", value_parser = nanotape_console::values::whole::<u32>(1_000_000_000, 1..=3_600))]
    seconds: Option<u32>,

    /// Messages of each reading, instead of --seconds
    #[arg(long, value_name = "N", value_parser = nanotape_console::values::count::<u64>(100..=1 << 40))]
    messages: Option<u64>,

    /// Messages a second in the latency rows, whether or not the previous one has arrived
    #[arg(long, value_name = "PER_SECOND", default_value_t = 1_000_000, value_parser = nanotape_console::values::count::<u32>(1..=100_000_000))]
    rate: u32,

    /// Bytes of a message
    #[arg(long, value_name = "BYTES", default_value_t = 73, value_parser = nanotape_console::values::count::<u32>(SHORTEST as u64..=65_536))]
    length: u32,

    /// Size of a ring, a power of two
    #[arg(long, value_name = "BYTES", default_value = "8MiB", value_parser = capacity)]
    capacity: usize,

    /// Run writer and reader on these processors [default: the last two allowed ones]
    #[arg(long, value_name = "WRITER,READER", value_parser = nanotape_console::values::two_cpus)]
    cpus: Option<(u32, u32)>,

    /// Use the real-time class SCHED_FIFO with this priority
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=49))]
    realtime: Option<u8>,
}

/// Parses a size that is a power of two.
fn capacity(text: &str) -> Result<usize, String> {
    let capacity_bytes = bytes(text)?;
    match capacity_bytes {
        _ if !capacity_bytes.is_power_of_two() => {
            Err(RingError::Capacity { capacity_bytes }.to_string())
        }
        4_096..=0x10_0000_0000 => Ok(capacity_bytes),
        _ => Err("expected a power of two bytes, from 4KiB to 64GiB".to_owned()),
    }
}

impl Ring {
    /// Fewest messages that the smaller ring must hold.
    const FEWEST_MESSAGES: u64 = 256;

    fn amount(&self) -> Amount {
        self.messages.map_or(Amount::Seconds(self.seconds.unwrap_or(1)), Amount::Messages)
    }

    fn bytes(&self) -> usize {
        self.length as usize
    }

    /// Whether the rings hold enough messages.
    fn check(&self) -> anyhow::Result<()> {
        let (capacity, length) = (self.capacity, self.bytes());
        let (messages, fewest) = (fewest_messages(capacity, length), Self::FEWEST_MESSAGES);
        ensure!(
            messages >= fewest,
            "a ring of {capacity} bytes holds {messages} messages of {length} bytes; a measurement \
             needs at least {fewest}"
        );
        Ok(())
    }
}

impl Benchmark for Ring {
    const NAME: &'static str = "ring";
    const ROWS: &'static [Row<Self>] = ROWS;
    const NAME_WIDTH: usize = 36;
    const FIGURES: Figures<Self> = FIGURES;
    const COLUMNS: Columns = columns! {
        "name", "section", "written_per_second", "read_per_second", "lost_share", "batch_p50",
        "p50_ns" = "latency/p50_ns", "p90_ns" = "latency/p90_ns", "p99_ns" = "latency/p99_ns",
        "p99.9_ns" = "latency/p99.9_ns", "max_ns" = "latency/max_ns",
        "over_100us" = "latency/over_100us", "from_due_p50_ns" = "latency/from_due_p50_ns",
        "from_due_p99_ns" = "latency/from_due_p99_ns", "ratio", "ratio_to",
        "foreign" = "environment/foreign",
    };

    type Work = Work;
    type Pass = ();

    fn requested(&self) -> Requested {
        Requested { cpus: RequestedCpus::Two(self.cpus), real_time_priority: self.realtime }
    }

    fn prepare(run: &mut Run<Self>) -> anyhow::Result<()> {
        run.options.check()
    }

    fn readers(row: &Row<Self>) -> usize {
        match row.work.what {
            What::Readers(readers) => readers,
            What::Copy | What::Store => 0,
            _ => 1,
        }
    }

    fn longest(&self, _: &Row<Self>) -> Duration {
        match self.amount() {
            Amount::Seconds(seconds) => Duration::from_secs(seconds.into()),
            Amount::Messages(messages) => slowest(messages),
        }
    }

    fn work(worker: &mut Worker<Self>) -> Result<Reading, Error> {
        work::work(worker)
    }

    fn may_lose(row: &Row<Self>) -> bool {
        match row.work.what {
            What::Flow { paced, .. } => !paced,
            What::Readers(_) | What::OneWay => true,
            _ => false,
        }
    }

    /// The median time if messages are timed; the rate of the slowest reader if readers run at full
    /// speed; else the rate of the writer.
    fn number(row: &Row<Self>, reading: &Reading) -> Option<f64> {
        match row.work.what {
            What::OneWay | What::RoundTrip | What::Line { .. } => reading.p50_ns(),
            What::Flow { .. } => reading.read_per_second(),
            What::Readers(_) | What::Copy | What::Store => reading.written_per_second(),
        }
    }

    fn base(row: &Row<Self>) -> Option<Base> {
        Some(match (row.work.what, row.work.design) {
            (What::OneWay, _) => Base::half(LINE),
            (What::RoundTrip | What::Line { pause: true }, _) => Base::whole(LINE),
            (What::Flow { .. }, _) => Base::whole(MEMCPY),
            (What::Readers(_), Some("stream")) => Base::whole("stream/throughput/readers-1"),
            (What::Readers(_), _) => Base::whole("slots/throughput/readers-1"),
            (What::Line { pause: false } | What::Copy | What::Store, _) => return None,
        })
    }

    fn heading(run: &Run<Self>) -> String {
        let amount = match run.options.amount() {
            Amount::Seconds(seconds) => format!("{seconds} s"),
            Amount::Messages(messages) => format!("{} messages", grouped(messages)),
        };
        format!(
            "rings of {} bytes, messages of {} bytes, {} of {amount} each; writer on processor {}, \
             reader on processor {}",
            grouped(run.options.capacity as u64),
            run.options.length,
            table::rounds(run),
            run.cpus.writer,
            run.cpus.readers[0],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{
        Measured, Taken, Times, Written,
        test::{measured, run},
    };

    fn timed(name: &str, p50s: &[u64]) -> Measured<Ring> {
        let reading = |&p50_ns: &u64| Reading {
            times: Some(Times { p50_ns, ..Times::default() }),
            ..Reading::default()
        };
        measured(name, p50s.iter().map(reading))
    }

    #[test]
    fn ratios_are_of_the_same_round_and_one_way_is_half_a_round_trip() {
        let all = run(vec![
            timed(LINE, &[300, 100, 500]),
            timed("stream/latency", &[180, 90, 275]),
            timed("slots/round-trip", &[450, 160, 700]),
        ]);
        let ratio = all.measured[1].ratio(&all).unwrap();
        assert_eq!((ratio.value, ratio.to), (1.2, Base::half(LINE)));
        assert_eq!(all.measured[2].ratio(&all).unwrap().value, 1.5);
        assert_eq!(all.measured[0].ratio(&all), None);
        assert_eq!(all.measured[1].ratio(&run(all.measured[1..].to_vec())), None);
    }

    #[test]
    fn rates_are_of_the_slowest_reader_and_losses_of_all() {
        let taken = |messages, lost| Taken { messages, lost, nanos: 1_000, ..Taken::default() };
        let written = Written { messages: 100, nanos: 500 };
        let taken = vec![taken(100, 0), taken(50, 50)];
        let reading = Reading { written, taken, ..Reading::default() };
        let measured: Measured<Ring> = measured("stream/throughput/readers-2", [reading]);
        assert_eq!(measured.written_per_second().unwrap().median, 2e8);
        assert_eq!(measured.read_per_second().unwrap().median, 5e7);
        assert_eq!(rows::lost_share(&measured).unwrap().median, 0.25);
        assert_eq!(measured.by_round(), [2e8]);
    }

    #[test]
    fn a_ring_for_a_handful_of_messages_is_refused() {
        let options = run::<Ring>(Vec::new()).options;
        let small = Ring { capacity: 1 << 16, ..options };
        assert!(small.check().is_ok());
        let error = Ring { length: 4_096, ..small }.check().unwrap_err().to_string();
        assert!(error.starts_with("a ring of 65536 bytes holds 8 messages of 4096"), "{error}");
    }

    #[test]
    fn sizes_are_powers_of_two_with_their_unit() {
        for (text, bytes) in
            [("8MiB", 8 << 20), ("64k", 64 << 10), ("4096", 4096), ("1GiB", 1 << 30)]
        {
            assert_eq!(capacity(text).unwrap(), bytes, "{text}");
        }
        for text in ["", "MiB", "3MiB", "8MX", "2k", "99999999999999999999", "128GiB"] {
            assert!(capacity(text).is_err(), "{text}");
        }
    }
}
