//! Two live lines of one feed: the difference of receive times of each message, by its number.
//!
//! The session arbitrates the lines as that of a plant does, so the counts of losses, duplicates
//! and gaps are those of a plant.

use std::{
    net::IpAddr,
    ops::{ControlFlow, Range},
    time::Duration,
};

use anyhow::{Context as _, bail};
use clap::Args;
use nanotape_arguments::{figures::with_figures, session};
use nanotape_board::health::session_figures;
use nanotape_clock::Clock;
use nanotape_console::{
    record::Record,
    status::Status,
    values::{grouped, period},
};
use nanotape_delay::{
    Combined, Feed as Side, MatchSequence, Observed, SequenceCounts, SequenceRing, Window,
};
use nanotape_lab::text::nanos as time_text;
use nanotape_live::{GroupAddress, Interface, LiveConfig, LiveSource, parse_ip};
use nanotape_market::{Damage, EventHandler, EventSource as _, MarketEvent, Origin, Position};
use nanotape_plant::TradeDate;
use nanotape_tape::{Deadline, ShutdownFlag};
use nanotape_trace::Histogram;
use serde_json::{Value, json};

use super::{
    Attribute, DelayArguments,
    feed::Stocks,
    report::{Report, Summary},
    windows::{Outcome, Row},
};

/// Numbers that are remembered: the most messages that a line can be behind the other.
const REMEMBERED: usize = 1 << 20;
/// Messages in a row whose numbers are far behind: a session with new numbers has begun.
const MOVED_AFTER: u64 = 1_024;
/// Messages between two reads of the clock.
const CHECK_EVERY: u64 = 256;
/// The quantiles of differences.
const QUANTILES: [(&str, f64); 5] =
    [("p0.1", 0.001), ("p1", 0.01), ("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999)];

#[derive(Args, Debug)]
#[command(next_help_heading = "Live lines")]
pub(super) struct LineArguments {
    /// Line A, instead of FIRST: a multicast group, or an address of this machine
    #[arg(long, value_name = "IP:PORT", requires = "line_b", conflicts_with = "first")]
    line_a: Option<GroupAddress>,

    /// Line B, which carries the same messages, instead of SECOND
    #[arg(long, value_name = "IP:PORT", requires = "line_a", conflicts_with = "second")]
    line_b: Option<GroupAddress>,

    /// Interface on which groups are joined, by its address or name [default: the choice of the
    /// kernel]
    #[arg(long, value_name = "IP|NAME", requires = "line_a", conflicts_with = "first")]
    interface: Option<Interface>,

    /// Only sender of line A's group that is received: source-specific multicast
    #[arg(long, value_name = "IP", requires = "line_a", conflicts_with = "first",
        value_parser = parse_ip)]
    source_a: Option<IpAddr>,

    /// Only sender of line B's group that is received
    #[arg(long, value_name = "IP", requires = "line_b", conflicts_with = "first",
        value_parser = parse_ip)]
    source_b: Option<IpAddr>,

    /// End when no message comes for this long [default: at the end of the session]
    #[arg(long, value_name = "SECONDS", requires = "line_a", conflicts_with = "first",
        value_parser = period)]
    silence: Option<Duration>,

    /// Poll the sockets without pause, for a processor of its own
    #[arg(long, requires = "line_a", conflicts_with = "first")]
    spin: bool,
}

impl LineArguments {
    pub(super) fn are_given(&self) -> bool {
        self.line_a.is_some()
    }

    fn config(&self) -> LiveConfig {
        LiveConfig {
            line_a: self.line_a.clone(),
            line_b: self.line_b.clone(),
            interface: self.interface.clone().unwrap_or_default(),
            source_a: self.source_a,
            source_b: self.source_b,
            spin: self.spin,
            ..LiveConfig::default()
        }
    }
}

/// Receives the lines, and reports a window after the other.
pub(super) fn run(
    arguments: &DelayArguments,
    interrupt: &ShutdownFlag,
    report: Report<'_>,
) -> anyhow::Result<Status> {
    let config = arguments.lines.config();
    let clock = Clock::monotonic();
    // The date gives the exchange's times a day, and receive times have one.
    let date = arguments.date.or_else(|| TradeDate::of_time(clock.utc_ns()));
    let date = date.context("the clock is before 1970")?;
    let mut source = LiveSource::open(&config, date)?;
    let names: Vec<String> = source.addresses().map(|address| address.to_string()).collect();
    let [first, second] = &names[..] else { bail!("two lines are needed") };
    let mut lines = Lines::new(arguments, interrupt, report);
    let read = source.read(&mut lines, |_| ());
    lines.close();
    // What is still without a partner has none.
    lines.ring.begin_session();
    let Lines { ring, mut report, all, failed, .. } = lines;
    failed?;
    read?;
    let (counts, stat) = (ring.counts(), source.stat());
    let session: Vec<String> =
        session::report(stat).iter().map(|(name, text)| format!("{name:<16}{text}\n")).collect();
    let values = json!({
        "messages": counts_record(counts),
        "quantiles_ns": all.record_of(),
        "session": Value::from(with_figures(Record::default(), &session_figures(Some(stat)))),
    });
    report.extend(counts_text(counts, &all) + &session.concat(), values);
    let lacks = |line: usize| stat.lines.get(line).map_or(0, |line| line.counts.missing);
    let has = |line: usize| stat.lines.get(line).map_or(0, |line| line.counts.messages);
    report.end(Summary {
        names: [first, second],
        changes: [has(0), has(1)],
        losses: [lacks(0), lacks(1)],
        stocks: &Stocks::new(true),
        status: Status::Good,
    })
}

/// The differences of a window, and of all of them.
struct Lines<'a> {
    arguments: &'a DelayArguments,
    interrupt: &'a ShutdownFlag,
    deadline: Deadline,
    /// Until when a message must come.
    silence: Deadline,
    /// Whether a message came since the last read of the clock.
    has_come: bool,
    ring: SequenceRing,
    estimator: MatchSequence,
    window: Option<Window>,
    differences: Vec<Observed>,
    /// Messages of line A in the window.
    messages: usize,
    /// Messages in a row that were too late.
    late: u64,
    scratch: Vec<i64>,
    stocks: Stocks,
    all: Differences,
    report: Report<'a>,
    failed: anyhow::Result<()>,
}

impl<'a> Lines<'a> {
    fn new(arguments: &'a DelayArguments, interrupt: &'a ShutdownFlag, report: Report<'a>) -> Self {
        Self {
            arguments,
            interrupt,
            deadline: Deadline::after(arguments.lasts.unwrap_or(Duration::MAX)),
            silence: Deadline::after(arguments.lines.silence.unwrap_or(Duration::MAX)),
            has_come: false,
            ring: SequenceRing::with_capacity(REMEMBERED),
            estimator: MatchSequence::new(arguments.method.max_lag_ns()),
            window: None,
            differences: Vec::new(),
            messages: 0,
            late: 0,
            scratch: Vec::new(),
            stocks: Stocks::new(true),
            all: Differences::default(),
            report,
            failed: Ok(()),
        }
    }

    /// Reports the current window.
    fn close(&mut self) {
        let Some(window) = self.window else { return };
        let found = self.estimator.of_differences(&self.differences, self.messages, window);
        let outcome = found.map_or_else(Outcome::Refused, Outcome::Estimate);
        let combined = found.ok().map(|found| {
            self.scratch.clear();
            self.scratch.extend(self.differences.iter().map(|one| one.value));
            self.scratch.sort_unstable();
            let quantile = |share: f64| {
                let last = self.scratch.len() - 1;
                self.scratch[(share * last as f64).round() as usize] as f64
            };
            Combined {
                delay_ns: found.delay_ns,
                low_ns: found.low_ns,
                high_ns: found.high_ns,
                p05_ns: quantile(0.05),
                p95_ns: quantile(0.95),
                estimates: 1,
            }
        });
        let row = Row { stock: 0, attribute: Attribute::Number, outcome };
        let reported = self.report.window(window, &[row], combined, &self.stocks);
        if let Err(error) = reported {
            self.failed = Err(error);
        }
        self.differences.clear();
        self.messages = 0;
    }

    /// Closes the window that a time is after.
    #[inline]
    fn reach(&mut self, time_ns: i64) {
        if self.window.is_none_or(|window| time_ns >= window.until_ns) {
            self.close();
            let length_ns = self.arguments.window_ns();
            let from_ns = time_ns.div_euclid(length_ns) * length_ns;
            self.window = Some(Window::new(from_ns, length_ns));
        }
    }

    fn flow(&self) -> ControlFlow<()> {
        let is_over = self.failed.is_err()
            || self.interrupt.is_requested()
            || self.deadline.is_over()
            || self.silence.is_over();
        if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl EventHandler for Lines<'_> {
    type Hint = ();

    fn event(&mut self, at: Position, _: &MarketEvent, _: impl Origin) -> ControlFlow<()> {
        // Lines that are never quiet end in time, too.
        let is_late = at.number.is_multiple_of(CHECK_EVERY) && self.deadline.is_over();
        match &self.failed {
            Ok(()) if !is_late && !self.interrupt.is_requested() => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }

    fn brought(&mut self, line: usize, numbers: Range<u64>, ts_recv_ns: u64) {
        let time_ns = i64::try_from(ts_recv_ns).unwrap_or(i64::MAX);
        self.reach(time_ns);
        let side = if line == 0 { Side::First } else { Side::Second };
        let late_before: u64 = self.ring.counts().late.iter().sum();
        self.messages += if line == 0 { (numbers.end - numbers.start) as usize } else { 0 };
        for number in numbers {
            if let Some(difference) = self.ring.note(side, number, time_ns) {
                self.differences.push(Observed { at_ns: time_ns, value: difference });
                self.all.record(difference);
            }
        }
        let late = self.ring.counts().late.iter().sum::<u64>() - late_before;
        self.late = if late == 0 { 0 } else { self.late + late };
        if self.late > MOVED_AFTER {
            self.late = 0;
            self.ring.begin_session();
        }
        self.has_come = true;
    }

    // Counted for its line.
    fn damage(&mut self, _: Damage) {}

    fn idle(&mut self) -> ControlFlow<()> {
        // A deadline makes a clock, which costs more than many packets.
        if std::mem::take(&mut self.has_come)
            && let Some(silence) = self.arguments.lines.silence
        {
            self.silence = Deadline::after(silence);
        }
        self.flow()
    }
}

/// Differences of any sign.
struct Differences {
    /// Line A was first, or both at once.
    above: Histogram,
    below: Histogram,
}

impl Default for Differences {
    fn default() -> Self {
        Self { above: Histogram::fine(), below: Histogram::fine() }
    }
}

impl Differences {
    #[inline]
    fn record(&mut self, difference: i64) {
        let side = if difference < 0 { &mut self.below } else { &mut self.above };
        side.record(difference.unsigned_abs());
    }

    /// `None` without differences.
    fn quantile(&self, share: f64) -> Option<f64> {
        let (below, above) = (self.below.count() as f64, self.above.count() as f64);
        let rank = share * (below + above);
        if below + above == 0.0 {
            None
        } else if rank < below {
            self.below.quantile(1.0 - rank / below).map(|size| -(size as f64))
        } else {
            self.above.quantile(((rank - below) / above).min(1.0)).map(|size| size as f64)
        }
    }

    fn record_of(&self) -> Value {
        let values = QUANTILES
            .iter()
            .map(|(name, share)| ((*name).to_owned(), self.quantile(*share).into()));
        Value::Object(values.collect())
    }
}

fn counts_text(counts: SequenceCounts, all: &Differences) -> String {
    let SequenceCounts { pairs, won: [first, second, tied], alone, repeated, late } = counts;
    let share = |part: u64| 100.0 * part as f64 / pairs.max(1) as f64;
    let quantiles: Vec<String> = QUANTILES
        .iter()
        .filter_map(|(name, share)| Some(format!("{name} {}", time_text(all.quantile(*share)?))))
        .collect();
    format!(
        "messages on both lines: {}; earlier on A {:.1}%, on B {:.1}%, at once {:.1}%\n\
         only on A {}, only on B {}; repeated {}, {}; too late {}, {}\n\
         B behind A, all messages: {}\n",
        grouped(pairs),
        share(first),
        share(second),
        share(tied),
        grouped(alone[0]),
        grouped(alone[1]),
        grouped(repeated[0]),
        grouped(repeated[1]),
        grouped(late[0]),
        grouped(late[1]),
        quantiles.join(", "),
    )
}

fn counts_record(counts: SequenceCounts) -> Value {
    json!({
        "pairs": counts.pairs,
        "earlier_on_first": counts.won[0],
        "earlier_on_second": counts.won[1],
        "at_once": counts.won[2],
        "only_on": counts.alone,
        "repeated": counts.repeated,
        "too_late": counts.late,
    })
}
