//! `nanotape lab queue`: the queue and the delays of an input, if each message took a constant
//! time.

mod bursts;
mod capacity;
mod costs;
mod links;
mod live;
mod receiver;
mod text;
mod validate;

use std::{ops::ControlFlow, path::PathBuf};

use anyhow::bail;
use clap::{Args, ValueEnum, builder::ArgPredicate::IsPresent};
use nanotape_answers::{InputKind, InputReport};
use nanotape_arguments::{InputArguments, SpanArguments, input::read_events, verdict::status_of};
use nanotape_console::{
    records::{Columns, RecordArguments, RecordFormat},
    status::{BadData, Status},
    values::{count, duration, nanos, share_of_percent},
};
use nanotape_lab::pages;
use nanotape_queue::{
    LANES, MAX_LIMITS, MAX_SERVICE_NS, Outcome, Question, Search, ServiceResult, Simulation,
    Source, default_services, receiver_record, record, service_record,
};
use nanotape_types::StockLocate;
use serde_json::Value;

use self::{
    capacity::RingCapacity,
    live::LiveArguments,
    receiver::ReceiverArguments,
    validate::{ValidateArguments, Validated},
};

#[derive(Args, Debug)]
#[command(mut_arg("input", |input| {
    // A plant is named by --live.
    input.required(false).required_unless_present("live").default_value_if("live", IsPresent, "-")
}))]
#[command(after_help = "\
Examples:
  nanotape lab queue day.gz
  nanotape lab queue day.gz --below p99.9=5us --below p100=1ms    the longest service times
  nanotape lab queue day.gz --at 400ns --ring 4096                 what a ring holds
  nanotape lab queue day.gz --cores 2 --ring 512 --cost A=300ns,E=500ns,other=200ns
  nanotape lab queue day.gz --batch 16 --batch-cost 200ns --cost other=60ns
  nanotape lab queue day.gz --link disk=200MB/s,2us --link follower=1Gbit/s,bytes=136
  nanotape lab queue day.gz --from 09:30 --until 16:00 --at 400ns -o queue.html
  nanotape lab queue day.gz --at 500ns --bursts bursts             inputs for benchmarks
  nanotape lab queue day.gz --validate                             predicted against measured
  nanotape lab queue day.gz --validate=09:30..09:30:05 --rounds 5 --speed 1.6
  nanotape lab queue --live equities --every 5s                    beside a running plant
  nanotape lab queue lines.pcap --arrivals received --window 1s --format json
  nanotape lab queue day.gz --service 250ns,500ns,1us --format csv

Messages are processed strictly one after another, each in the same time. For each of 60 times from
100 ns to 100 us the table has the delays of the messages (from the arrival to the end of the
processing), the largest queue (with the message in service), how the largest delay grows (1: as
the service time does), the window of the largest delay, the longest time without an idle moment,
and the windows whose messages need more time than the window has.

Messages with one timestamp arrive together. Exchange times have no network and no packets; the
receive times of a capture have both. Quantiles are at most 0.8% too high; all else is exact.

With --link each link gets what leaves the receiver: a message occupies it for its own time and for
its bytes at the rate.

With --cores, --batch, --link or --cost one receiver is simulated too, in one more reading: messages go to
the core of their stock (number of the stock modulo cores), and take the time of their type. A core
that is free takes up to --batch waiting messages; all of them end after --batch-cost and their own
times.

--validate replays messages through a real plant, with a ring in /dev/shm, on their recorded
schedule. It compares the delays with those that service times predict, which it measures on the
same messages with other due times; and those of messages that nothing interrupted. Each round
reads the input three times up to the part.

--live reads the ring of a plant from now on, and prints the table again and again until Ctrl-C or
the end of the plant. The records of one message count as one arrival.

--bursts writes burst-001.itch50 (the largest delay) and so on. A burst is what the receiver takes
without an idle moment, up to 65,536 messages of it.

For each --below and --ring the file is read again, up to four times, for the longest service time
in whole nanoseconds. Standard input is read once, so the answer is an interval.

Exit status: 0 success; 1 a part of the input is missing or damaged; 2 wrong usage, or a file that
cannot be read or written.")]
pub(crate) struct QueueCommand {
    #[command(flatten)]
    input: InputArguments,

    #[command(flatten)]
    span: SpanArguments,

    /// The times of arrival [default: received for a capture, otherwise event]
    #[arg(long, value_enum, value_name = "CLOCK")]
    arrivals: Option<Arrivals>,

    /// Times that a message takes, 1ns to 10ms, at most 60 [default: 60 from 100ns to 100us]
    #[arg(long, value_name = "TIMES", value_delimiter = ',', value_parser = service)]
    service: Vec<u64>,

    /// Find the longest service time with this quantile of the delays at or below a limit; can be
    /// given 4 times
    #[arg(long, value_name = "pN=TIME", default_value = "p99.99=10us", value_parser = below)]
    below: Vec<Below>,

    /// Find the longest service time with which a ring of N messages drops none, and the speed of
    /// the input up to which that holds for the service time of the windows
    #[arg(long, value_name = "N", value_parser = count::<u64>(1..))]
    ring: Option<u64>,

    /// Length of the windows
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = window)]
    window: u64,

    /// Service time whose windows are shown [default: the longest one of the table that answers the
    /// first --below]
    #[arg(long, value_name = "TIME", value_parser = service)]
    at: Option<u64>,

    #[command(flatten)]
    receiver: ReceiverArguments,

    /// Write the 100 worst bursts at the service time of the windows to FOLDER, each as a day file
    #[arg(long, value_name = "FOLDER")]
    bursts: Option<PathBuf>,

    #[command(flatten)]
    validate: ValidateArguments,

    #[command(flatten)]
    live: LiveArguments,

    #[command(flatten)]
    output: RecordArguments,
}

/// `--below`: a quantile of the delays, and their limit.
#[derive(Clone, Copy, Debug)]
struct Below {
    quantile: f64,
    limit_ns: u64,
}

/// The clock of the arrivals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Arrivals {
    /// The exchange's time of each message
    Event,
    /// The receive time of each packet of a capture, or of each record
    Received,
}

fn service(text: &str) -> Result<u64, String> {
    match duration(text).map(nanos) {
        Ok(ns @ 1..=MAX_SERVICE_NS) => Ok(ns),
        _ => Err("expected a time from 1ns to 10ms, such as 412ns".to_owned()),
    }
}

fn window(text: &str) -> Result<u64, String> {
    match duration(text).map(nanos) {
        Ok(ns @ 1..) => Ok(ns),
        _ => Err("expected a time with its unit, such as 10s".to_owned()),
    }
}

fn below(text: &str) -> Result<Below, String> {
    let parts = text.strip_prefix('p').and_then(|rest| rest.split_once('='));
    let parsed = parts.and_then(|(percent, limit)| {
        let percent: f64 = percent.parse().ok()?;
        let limit_ns = nanos(duration(limit).ok()?);
        let is_valid = percent > 0.0 && percent <= 100.0 && limit_ns > 0;
        is_valid.then_some(Below { quantile: share_of_percent(percent), limit_ns })
    });
    parsed.ok_or_else(|| "expected a quantile and a limit, such as p99.99=10us".to_owned())
}

const COLUMNS: Columns = &[
    ("service_ns", "/service_ns"),
    ("p50_ns", "/quantiles/p50"),
    ("p99_ns", "/quantiles/p99"),
    ("p99.9_ns", "/quantiles/p99.9"),
    ("p99.99_ns", "/quantiles/p99.99"),
    ("p99.999_ns", "/quantiles/p99.999"),
    ("largest_delay_ns", "/largest_delay_ns"),
    ("largest_queue", "/largest_queue"),
    ("growth", "/growth"),
    ("worst_window_ns", "/worst_window_ns"),
    ("catch_up_ns", "/catch_up_ns"),
    ("utilisation", "/utilisation"),
    ("overloaded_windows", "/overloaded_windows"),
    ("ring_speed", "/ring_speed"),
];

pub(crate) fn run(command: &QueueCommand) -> anyhow::Result<Status> {
    if command.below.len() > MAX_LIMITS {
        bail!("--below is given {} times; use at most {MAX_LIMITS}", command.below.len());
    }
    let format = command.output.format_or(RecordFormat::Text)?;
    if command.live.is_any() {
        return command.follow(format);
    }
    command.require_readable_again(format)?;
    command.require_new_folder()?;
    command.require_messages(format)?;
    let services = command.services();
    let mut output = command.output.records_or(RecordFormat::Text, COLUMNS)?;
    let first = command.pass(&services)?;
    let name = command.input.name();
    let status = status_of(name, &first.report);
    command.input.require_whole(status)?;
    let outcome = &first.outcome;
    if outcome.messages == 0 {
        return Err(BadData(format!("{name}: no message with a time in the span")).into());
    }
    let answers = command.answers(outcome)?;
    let at = command.shown(outcome, &answers);
    let bursts = match outcome.services.get(at) {
        Some(service) => command.write_bursts(service.service_ns)?,
        None => Vec::new(),
    };
    if format == RecordFormat::Csv {
        for index in 0..outcome.services.len() {
            output.result("", service_record(outcome, &answers, index))?;
        }
    } else {
        let source = Source { name, arrivals: first.arrivals };
        let at_ns = outcome.services.get(at).map(|one| one.service_ns);
        let capacity = command.ring_capacity(&answers, at_ns)?;
        let shown = text::Shown { source, outcome, answers: &answers, at };
        let mut text = shown.text(capacity.as_ref());
        let mut record = record(source, outcome, &answers, at);
        record["capacity"] = capacity.as_ref().map_or(Value::Null, RingCapacity::record);
        text.push_str(&bursts::text(&bursts, command.ring));
        record["bursts"] = bursts.into();
        let receiver = command.receiver(at_ns)?;
        text.push_str(&receiver.as_ref().map_or_else(String::new, text::receiver));
        record["receiver"] = receiver.as_ref().map_or(Value::Null, receiver_record);
        let validated = command.validated(at_ns)?;
        text.push_str(&validated.as_ref().map_or_else(String::new, Validated::text));
        record["validation"] = validated.as_ref().map_or(Value::Null, Validated::record);
        output.result(&text, record)?;
    }
    output.finish_with(pages::queue)?;
    Ok(status)
}

/// One reading of the input.
struct Pass {
    outcome: Outcome,
    report: InputReport,
    /// The name of the clock that was used.
    arrivals: &'static str,
}

impl QueueCommand {
    /// The service times of the table, ascending, with that of `--at`.
    fn services(&self) -> Vec<u64> {
        let mut services =
            if self.service.is_empty() { default_services() } else { self.service.clone() };
        services.sort_unstable();
        services.dedup();
        if let Some(at) = self.at
            && !services.contains(&at)
        {
            // A full table loses the one next to it.
            let nearest = (0..services.len()).min_by_key(|&index| services[index].abs_diff(at));
            match nearest {
                Some(index) if services.len() == LANES => services[index] = at,
                _ => services.push(at),
            }
            services.sort_unstable();
        }
        services
    }

    fn pass(&self, services: &[u64]) -> anyhow::Result<Pass> {
        let limits: Vec<u64> = self.below.iter().map(|below| below.limit_ns).collect();
        let mut simulation = Simulation::new(services, &limits, self.window)?;
        let (report, arrivals) = self.read_arrivals(|at_ns, _, _| simulation.arrive(at_ns))?;
        Ok(Pass { outcome: simulation.finish(), report, arrivals })
    }

    /// Calls `arrive` with the arrival, the instrument and the bytes of each message of the span.
    /// Returns the name of the clock, too.
    fn read_arrivals(
        &self,
        mut arrive: impl FnMut(u64, StockLocate, &[u8]),
    ) -> anyhow::Result<(InputReport, &'static str)> {
        let opening = self.input.open(self.span.into(), &[])?;
        let (from, to) = opening.bounds;
        let midnight_ns = opening.midnight_ns.unwrap_or(0);
        // A plant that reads a file receives it as fast as it can.
        let of_records = (opening.kind() != InputKind::Day).then_some(Arrivals::Event);
        let arrivals = self.arrivals.or(of_records);
        let (mut is_received, mut lacks_receive_times) = (false, false);
        let report = read_events(opening, |event, received_ns, bytes| {
            let Some(time) = event.time.map(|time| time.get()) else {
                return ControlFlow::Continue(());
            };
            if time >= to {
                return ControlFlow::Break(());
            }
            if time < from {
                return ControlFlow::Continue(());
            }
            match (arrivals, received_ns) {
                (Some(Arrivals::Event), _) | (None, None) => {
                    arrive(time, event.stock_locate, bytes)
                }
                (_, Some(received_ns)) => {
                    is_received = true;
                    arrive(received_ns.saturating_sub(midnight_ns), event.stock_locate, bytes);
                }
                (Some(Arrivals::Received), None) => {
                    lacks_receive_times = true;
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        })?;
        if lacks_receive_times {
            bail!("{}: has no receive times; use --arrivals event", self.input.name());
        }
        Ok((report, if is_received { "received" } else { "event" }))
    }

    /// What is known after one reading.
    fn first_answers(&self, outcome: &Outcome) -> Vec<(Question, Search)> {
        let first = |question| {
            let mut search = Search::new();
            search.learn(&question, &outcome.services);
            (question, search)
        };
        self.questions().map(first).collect()
    }

    fn questions(&self) -> impl Iterator<Item = Question> {
        let delays = self.below.iter().enumerate().map(|(limit, below)| {
            let &Below { quantile, limit_ns } = below;
            Question::Delay { quantile, limit_ns, limit }
        });
        delays.chain(self.ring.map(|messages| Question::Ring { messages }))
    }

    /// Reads the input until each question has its answer, or not again if it cannot be read again.
    fn answers(&self, outcome: &Outcome) -> anyhow::Result<Vec<(Question, Search)>> {
        let mut answers: Vec<_> =
            self.questions().map(|question| (question, Search::new())).collect();
        // Every reading has the results of all questions.
        let mut learn = |services: &[ServiceResult]| {
            for (question, search) in &mut answers {
                search.learn(question, services);
            }
            let mut next = answers.iter().map(|(_, search)| search.next());
            next.find(|services| !services.is_empty())
        };
        let mut next = learn(&outcome.services);
        while let Some(services) = next.filter(|_| !self.input.is_read_once()) {
            next = learn(&self.pass(&services)?.outcome.services);
        }
        Ok(answers)
    }

    /// The index of the service time whose windows are shown.
    fn shown(&self, outcome: &Outcome, answers: &[(Question, Search)]) -> usize {
        let longest_good_ns = answers.first().map_or(0, |(_, search)| search.good_ns);
        let wanted = self.at.unwrap_or(longest_good_ns);
        outcome.services.iter().rposition(|service| service.service_ns <= wanted).unwrap_or(0)
    }
}
