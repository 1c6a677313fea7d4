//! `nanotape delay`: how much later a second feed shows what a first one shows.

mod feed;
mod lines;
mod matrix;
mod method;
mod report;
mod windows;
mod workers;

use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use feed::{Feed, OpenInput, Wants};
use lines::LineArguments;
use method::{Method, MethodArguments};
use nanotape_answers::{Given, Input, InputKind, InputOptions, RecordSpan, RunChoice};
use nanotape_arguments::{
    GroupArguments, SpanArguments, SymbolArguments, errors::of_input, records::join,
};
use nanotape_console::{
    interrupt,
    records::RecordArguments,
    status::{Status, note},
    values::{duration, nanos, nanos_text, period, some_duration},
};
use nanotape_delay::MatchSequence;
use nanotape_plant::{Moment, TradeDate, records::RecordKind};
use nanotape_ring::Start;
use nanotape_tap::Subscription;
use nanotape_tape::ShutdownFlag;
use report::{Report, Summary};
use serde_json::Value;
use windows::Windows;
use workers::Workers;

#[derive(Args, Debug)]
#[command(mut_arg("pieces", |pieces| pieces.hide(true)), after_help = "\
Examples:
  nanotape delay direct.itch50 consolidated.itch50 --date 2026-01-05
  nanotape delay a.pcap b.pcap --method match-sequence       two lines of one feed
  nanotape delay direct consolidated --follow --for 60       the rings of two plants, live
  nanotape delay direct.pcap other.pcap --symbols AAPL,MSFT --window 64ms -o delay.html
  nanotape delay --line-a 239.1.1.1:5001 --line-b 239.1.1.2:5002    two lines, message by message
  nanotape delay day.itch50 --matrix --from 09:30 --until 12:00     which stock leads which

An estimate is the delay of one attribute of one stock in one window, with an interval of 95 %. It is
positive if the second INPUT is later. A window in which the feeds say too little, or nothing certain, has no
estimate; one with a gap or an unreliable (tainted) book is left out. Both are counted. The line of a window
is the median over stocks and attributes. At the end come the trend, lasting shifts, and a table by stock.

match-value compares the times of equal values and needs nothing that the feeds share. match-sequence compares
messages of the same number and content, which only lines of one feed share. xcorr finds the peak of a correlation;
lead-lag compares the moves of two instruments.

Both INPUTs must have the time of one clock: the receive time of captures, journals, DBN files and rings of
one machine, or the exchange's time if one INPUT is a day file (--clock). docs/delay.md compares the methods
with known delays.

Exit status: 0 success; 1 an INPUT is damaged or lacks a part, or no window had an estimate; 2 wrong usage, or
a file that cannot be opened or written.")]
pub(crate) struct DelayArguments {
    /// The feed that others are compared with: a day file, a capture, the folder of a journal, a
    /// DBN file, or the name or path of a ring
    #[arg(value_name = "FIRST", required_unless_present = "line_a")]
    first: Option<Given>,

    /// The feed whose delay is estimated
    #[arg(value_name = "SECOND", required_unless_present_any = ["line_a", "matrix"])]
    second: Option<Given>,

    #[command(flatten)]
    span: SpanArguments,

    #[command(flatten)]
    symbols: SymbolArguments,

    #[command(flatten)]
    method: MethodArguments,

    /// What is compared [default: the prices and sizes of both sides]
    #[arg(long, value_name = "A,B", value_enum, value_delimiter = ',')]
    attributes: Vec<QuoteAttribute>,

    /// Estimate one delay of all stocks together, for stocks that change rarely
    #[arg(long, conflicts_with = "attributes")]
    pool: bool,

    /// Time between the beginnings of two windows [default: the length of a window]
    #[arg(long, value_name = "TIME", value_parser = some_duration)]
    every: Option<Duration>,

    /// Report a shift of the delay by more than this that lasts for five windows
    #[arg(long, value_name = "TIME", default_value = "20us", value_parser = duration)]
    shift: Duration,

    /// Keep the correlation of the windows at this moment for the page [default: that of the window
    /// with the most support]
    #[arg(long, value_name = "T")]
    show: Option<Moment>,

    /// Threads that estimate [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = nanotape_console::values::count::<usize>(1..=1_024))]
    threads: Option<usize>,

    /// End with status 1 if the delay shifted
    #[arg(long)]
    fail_on_shift: bool,

    /// The time of a record [default: receive if both INPUTs have it, otherwise event]
    #[arg(long, value_name = "CLOCK", value_enum)]
    clock: Option<FeedClock>,

    /// Join rings with their next record, and read both without waiting for one another
    #[arg(long)]
    follow: bool,

    /// End after this time
    #[arg(long = "for", value_name = "SECONDS", value_parser = period)]
    lasts: Option<Duration>,

    /// Run of a plant in a journal or DBN file: a number from 1, or last [default: last]
    #[arg(long, value_name = "N")]
    run: Option<RunChoice>,

    /// Trade date of day files whose names have none, as in 2019-12-30
    #[arg(long, value_name = "DATE")]
    date: Option<TradeDate>,

    #[command(flatten)]
    groups: GroupArguments,

    /// Windows to print as text; more are counted
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = nanotape_console::values::count::<u64>(..))]
    rows: u64,

    #[command(flatten)]
    output: RecordArguments,

    #[command(flatten)]
    lines: LineArguments,
}

/// The time of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum FeedClock {
    /// When it was received (ts_recv)
    Receive,
    /// The exchange's time (ts_event)
    Event,
}

/// `--attributes`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum QuoteAttribute {
    /// Price of the best bid
    BidPrice,
    /// Shares at the best bid
    BidSize,
    /// Price of the best offer
    OfferPrice,
    /// Shares at the best offer
    OfferSize,
    /// The middle of both prices
    Mid,
}

/// What a series is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Attribute {
    BidPrice,
    BidSize,
    OfferPrice,
    OfferSize,
    Mid,
    /// The number of a message.
    Number,
    /// Any attribute of any stock.
    All,
}

impl Attribute {
    const COUNT: usize = 7;

    /// The attributes that a user does not choose otherwise.
    const USUAL: [Self; 4] = [Self::BidPrice, Self::BidSize, Self::OfferPrice, Self::OfferSize];

    fn name(self) -> &'static str {
        match self {
            Self::BidPrice => "bid-price",
            Self::BidSize => "bid-size",
            Self::OfferPrice => "offer-price",
            Self::OfferSize => "offer-size",
            Self::Mid => "mid",
            Self::Number => "message",
            Self::All => "all",
        }
    }

    fn is_of_a_stock(self) -> bool {
        !matches!(self, Self::Number | Self::All)
    }
}

impl From<QuoteAttribute> for Attribute {
    fn from(attribute: QuoteAttribute) -> Self {
        match attribute {
            QuoteAttribute::BidPrice => Self::BidPrice,
            QuoteAttribute::BidSize => Self::BidSize,
            QuoteAttribute::OfferPrice => Self::OfferPrice,
            QuoteAttribute::OfferSize => Self::OfferSize,
            QuoteAttribute::Mid => Self::Mid,
        }
    }
}

pub(crate) fn run(arguments: &DelayArguments) -> anyhow::Result<Status> {
    // The handler turns access to a truncated ring into an error.
    nanotape_shm::guard_against_truncation().context("cannot install a handler for SIGBUS")?;
    let interrupt = interrupt::install()?;
    if arguments.method.matrix {
        if arguments.method.method() != Method::LeadLag {
            bail!("--matrix is of leads: leave --method out, or give lead-lag");
        }
        return matrix::run(arguments, &interrupt);
    }
    let (Some(first_name), Some(second_name)) = (&arguments.first, &arguments.second) else {
        let report = Report::open(arguments, MatchSequence::NAME, FeedClock::Receive)?;
        return lines::run(arguments, &interrupt, report);
    };
    if first_name.is_standard() && second_name.is_standard() {
        bail!("standard input is one feed: give a file or a ring as the other");
    }
    let Some(first) = arguments.open(first_name, &interrupt)? else { return Ok(Status::Good) };
    let Some(second) = arguments.open(second_name, &interrupt)? else { return Ok(Status::Good) };
    let inputs = [(&**first_name, &first), (&**second_name, &second)];
    arguments.check_options([&first, &second])?;
    let clock = feed::clock_of(arguments.clock, inputs)?;
    let wants = Wants {
        numbers: arguments.method.is_by_number(),
        pools: arguments.pool,
        follows: arguments.follow,
    };
    let workers = Workers::new(&arguments.method, arguments.threads())?;
    let mut report = Report::open(arguments, workers.name(), clock)?;
    let mut first = Feed::new(first_name, first, clock, wants);
    first.show_progress();
    let feeds = (first, Feed::new(second_name, second, clock, wants));
    let attributes = arguments.chosen_attributes();
    let mut windows = Windows::new(arguments, &interrupt, feeds, attributes, workers);
    windows.run(&mut report)?;
    if interrupt.is_requested() && !arguments.follow {
        note("interrupted: the windows after this one are missing");
    }
    let (first, second, stocks) = windows.feeds();
    let symbols = &arguments.symbols.list();
    let statuses = [first.conclude(symbols)?, second.conclude(symbols)?];
    report.end(Summary {
        names: [first_name, second_name],
        changes: [first.content.changes, second.content.changes],
        losses: [first.content.losses, second.content.losses],
        stocks,
        status: if statuses.contains(&Status::Bad) { Status::Bad } else { Status::Good },
    })
}

impl DelayArguments {
    fn open(&self, name: &Given, interrupt: &ShutdownFlag) -> anyhow::Result<Option<OpenInput>> {
        let capture = self.groups.choice();
        if !capture.pieces.is_empty() {
            bail!("{name}: delay takes no --piece: cat joins the files of a capture");
        }
        // A choice may be for the other INPUT.
        let options =
            InputOptions { run: self.run, date: self.date, capture, rings: true, lenient: true };
        let mut input = Input::open(name.clone(), options).map_err(of_input)?;
        let kind = input.kind();
        let has_receive_times = input.has_receive_times().map_err(of_input)?;
        let record = if self.method.is_by_number() { RecordKind::Mbo } else { RecordKind::Bbo };
        let subscription = Subscription::to(name)
            .symbols(self.symbols.list())
            .records([record])
            .shutdown(interrupt);
        let (from, until) = self.span.moments();
        let mut span = RecordSpan { from, until, ..RecordSpan::default() };
        if kind == InputKind::Ring {
            let start = if self.follow { Start::Newest } else { Start::Oldest };
            span = RecordSpan { start: Some(start), from, ..RecordSpan::default() };
        }
        let subscriber = join(input, subscription, span, Duration::ZERO)?;
        if subscriber.is_none() {
            note(format_args!("{name}: interrupted before a plant started"));
        }
        Ok(subscriber.map(|subscriber| OpenInput { kind, has_receive_times, subscriber }))
    }

    /// Refuses options that no INPUT has a use for.
    fn check_options(&self, inputs: [&OpenInput; 2]) -> anyhow::Result<()> {
        let is_any = |kinds: &[InputKind]| inputs.iter().any(|open| kinds.contains(&open.kind));
        if self.run.is_some() && !is_any(&[InputKind::Journal, InputKind::Dbn]) {
            bail!("--run is of journals and DBN files, and neither INPUT is one");
        }
        if self.follow && !is_any(&[InputKind::Ring]) {
            bail!("--follow is of rings, and neither INPUT is one");
        }
        Ok(())
    }

    fn chosen_attributes(&self) -> Vec<Attribute> {
        match (self.method.method(), self.attributes.as_slice()) {
            (Method::MatchSequence, _) => vec![Attribute::Number],
            _ if self.pool => vec![Attribute::All],
            // Moves of different instruments are compared, not their values.
            (Method::LeadLag, []) => vec![Attribute::Mid],
            (_, []) => Attribute::USUAL.to_vec(),
            (_, chosen) => chosen.iter().map(|&attribute| attribute.into()).collect(),
        }
    }

    fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or_else(cores)
    }

    fn window_ns(&self) -> i64 {
        nanos_of(self.method.window()).max(1)
    }

    fn every_ns(&self) -> i64 {
        self.every.map_or_else(|| self.window_ns(), nanos_of).max(1)
    }

    /// Whether the inputs have no end of their own.
    fn is_live(&self) -> bool {
        self.follow || self.lines.are_given()
    }

    /// The options, as they are typed.
    fn settings(&self) -> Value {
        let mut settings = self.method.settings();
        settings["shift"] = nanos_text(nanos(self.shift)).into();
        if let Some(every) = self.every {
            settings["every"] = nanos_text(nanos(every)).into();
        }
        settings
    }
}

/// Nanoseconds as times have them.
fn nanos_of(time: Duration) -> i64 {
    i64::try_from(nanos(time)).unwrap_or(i64::MAX)
}
