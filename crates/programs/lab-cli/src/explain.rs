//! `nanotape explain`: one row for each slow message of a plant, whose parts add up.

mod text;

use std::{collections::BTreeSet, time::Duration};

use anyhow::{Context as _, bail};
use clap::Args;
use nanotape_answers::Given;
use nanotape_arguments::{
    spans::{Next, Spans, is_recording, site_name},
    threads,
};
use nanotape_board::PLANT_THREAD;
use nanotape_clock::{Clock, Stamp};
use nanotape_console::{
    interrupt,
    records::{Columns, RecordArguments, RecordFormat, Records},
    status::{BadData, Status, warn},
    values::{count, duration, grouped, nanos, period},
};
use nanotape_lab::pages;
use nanotape_machine::{
    KernelTrace,
    doctor::System,
    explain::{Context, Explainer, Found, Options, Row},
    kernel_trace::{KernelEvents, Losses},
};
use nanotape_ring::Start;
use nanotape_tape::ShutdownFlag;
use nanotape_trace::{
    recording::{Entry, ThreadInfo},
    spans::Rate,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape trace on equities                  every message, and the kernel's counts behind slow ones
  nanotape explain equities --above 10us      each slow message as it comes, until Ctrl-C
  nanotape explain equities --for 60 -o slow.html
  nanotape explain spans/                     a recording of `nanotape trace collect`
  sudo nanotape explain equities --kernel     with the events of the kernel: which interrupt, which thread

The row of a message: what it waited for behind earlier messages, the usual time (the median) of its own
stages, each interruption by cause, and what remains. Their sum is the time from its arrival to the end of
its last stage. A message of a paced plant arrives when it is due, one of a live plant with its packet, and
one of a file that is read as fast as possible when the plant begins to decode it.

A plant queries the kernel after messages of more than `nanotape run --trace-ask-above` (5us), if the sites
kernel.* are on. At the end come the totals by cause, and the slowest messages with the stages that they
waited for. The spans of a plant that ended or was killed are explained as far as they are still there.

Exit status: 0 success; 1 spans are damaged; 2 there are none.")]
pub(crate) struct ExplainArguments {
    /// Name or path of a ring, path of a thread's region, number of a process, or folder of a
    /// recording of `nanotape trace collect`
    #[arg(value_name = "NAME|PID|RECORDING")]
    target: Given,

    /// Messages that take longer are slow
    #[arg(long, value_name = "TIME", default_value = "20us", value_parser = duration)]
    above: Duration,

    /// The thread, if it is not that of a plant
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,

    /// End after this time
    #[arg(long = "for", value_name = "SECONDS", value_parser = period)]
    lasts: Option<Duration>,

    /// Join with the events of the kernel; needs root
    #[arg(long)]
    kernel: bool,

    /// Rows to print; more are counted
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = count::<u64>(..))]
    rows: u64,

    /// The slowest messages to print at the end, with their stages
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = count::<usize>(..=1_000))]
    worst: usize,

    #[command(flatten)]
    output: RecordArguments,
}

/// The columns of CSV.
const COLUMNS: Columns = &[
    ("message", "/message"),
    ("arrival_ns", "/arrival_ns"),
    ("total_ns", "/total_ns"),
    ("waited_ns", "/waited_ns"),
    ("usual_ns", "/usual_ns"),
    ("unexplained_ns", "/unexplained_ns"),
    ("not_traced_ns", "/not_traced_ns"),
    ("residual_ns", "/residual_ns"),
    ("main", "/main"),
];

/// Time between two polls for new spans.
const POLL_EVERY: Duration = Duration::from_micros(200);

/// Spans between two reads of the clock.
const AT_ONCE: usize = 1 << 16;

/// Rows wait so long for the events of the kernel.
const EVENTS_EVERY_NS: u64 = 500_000_000;

/// Rows that wait for the events of the kernel.
const MOST_HELD: usize = 1 << 16;

pub(crate) fn run(arguments: &ExplainArguments) -> anyhow::Result<Status> {
    // The handler turns access to a truncated region into an error.
    nanotape_shm::guard_against_truncation().context("cannot install a handler for SIGBUS")?;
    let interrupt = interrupt::install()?;
    let is_recording = is_recording(&arguments.target);
    if !is_recording {
        require_spans(arguments)?;
    }
    let (thread, mut explainer) = learned(arguments)?;
    let clock = Clock::calibrate();
    let kernel = match arguments.kernel {
        true if is_recording => bail!("--kernel: the events of the time of a recording are gone"),
        true => Some(Kernel::start(&clock)?),
        false => None,
    };
    let mut report = Report {
        arguments,
        found: Found::keeping(arguments.worst),
        output: arguments.output.records_or(RecordFormat::Text, COLUMNS)?,
        printed: 0,
        kernel,
        damaged: None,
        thread,
    };
    report.head()?;
    let spans = Spans::open(&arguments.target, true)?;
    let read = report.follow(spans, &mut explainer, &clock, &interrupt);
    // What was explained stays printed.
    let damaged = report.damaged.take();
    report.end(&explainer)?;
    read?;
    match (damaged, explainer.seen().damaged) {
        (Some(line), _) => Err(BadData(line).into()),
        (None, 0) => Ok(Status::Good),
        (None, damaged) => {
            let (target, damaged) = (&arguments.target, grouped(damaged));
            Err(BadData(format!("{target}: {damaged} spans have times that no clock has")).into())
        }
    }
}

/// The thread to explain: the one with the wanted name, or the only one. The name of a thread ends
/// with that of its file.
fn is_wanted(info: &ThreadInfo, arguments: &ExplainArguments) -> bool {
    let wanted = arguments.thread.as_deref().unwrap_or(PLANT_THREAD);
    info.name.rsplit(' ').next() == Some(wanted) || *info.name == *arguments.target
}

/// The thread, and an explainer that has learned the usual times from the spans that are there.
fn learned(arguments: &ExplainArguments) -> anyhow::Result<(ThreadInfo, Explainer)> {
    let mut spans = Spans::open(&arguments.target, false)?;
    let mut learned: Option<(usize, ThreadInfo, Explainer)> = None;
    loop {
        let (thread, span) = match spans.next_entry()? {
            Next::Nothing => break,
            Next::Entry(Entry::Span { thread, span, .. }) => (thread, span),
            Next::Entry(_) | Next::Damaged(_) => continue,
        };
        let info = spans.thread(thread);
        match &mut learned {
            Some((own, _, explainer)) if *own == thread => explainer.learn(&span),
            None if is_wanted(info, arguments) => {
                let mut explainer = explainer(info, arguments)?;
                explainer.learn(&span);
                learned = Some((thread, info.clone(), explainer));
            }
            _ => {}
        }
    }
    if let Some((_, info, explainer)) = learned {
        return Ok((info, explainer));
    }
    // A live thread whose first span is still to come.
    for thread in 0..spans.threads() {
        let info = spans.thread(thread);
        if is_wanted(info, arguments) {
            return Ok((info.clone(), explainer(info, arguments)?));
        }
    }
    let wanted = arguments.thread.as_deref().unwrap_or(PLANT_THREAD);
    let names: BTreeSet<&str> =
        (0..spans.threads()).map(|thread| spans.thread(thread).name.as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    bail!("no spans of a thread {wanted}: use --thread with the last word of {}", names.join(", "))
}

fn explainer(info: &ThreadInfo, arguments: &ExplainArguments) -> anyhow::Result<Explainer> {
    let sites: Vec<String> = (0..info.sites.len()).map(|site| site_name(info, site)).collect();
    let options = Options { above_ns: nanos(arguments.above), ..Options::default() };
    Explainer::new(&sites, info.timescale.ticks_per_second, options)
        .map_err(|error| BadData(format!("{}: {error}", info.name)).into())
}

/// Spans of a live thread are there, or will come.
fn require_spans(arguments: &ExplainArguments) -> anyhow::Result<()> {
    let is_off = |rate: Option<Rate>| rate.is_none_or(|rate| rate == Rate::Off);
    let is_some = |rate: Option<Rate>| rate.is_some_and(|rate| rate.count().unwrap_or(1) > 1);
    let (mut are_off, mut is_thinned) = (true, false);
    for thread in threads::of_target(&arguments.target)? {
        let reader = thread.open(Start::Newest)?;
        let sites = reader.sites();
        are_off &= reader.next_sequence() <= 1 && sites.iter().all(|site| is_off(site.rate));
        is_thinned |= sites.iter().any(|site| is_some(site.rate));
    }
    if are_off {
        bail!("{}: all sites are off: use nanotape trace on", arguments.target);
    }
    if is_thinned {
        warn("not every message is traced, so the time behind the others is \"not traced\"");
    }
    Ok(())
}

/// The events of the kernel, and the rows that wait for them.
struct Kernel {
    trace: KernelTrace,
    held: Vec<Row>,
    taken: Stamp,
    /// What was read and lost so far.
    losses: Losses,
}

impl Kernel {
    fn start(clock: &Clock) -> anyhow::Result<Self> {
        let cpus: Vec<u32> = System::default().online().iter().collect();
        let trace = KernelTrace::start(clock, &cpus).context("--kernel")?;
        Ok(Self { trace, held: Vec::new(), taken: clock.stamp(), losses: Losses::default() })
    }
}

/// Prints the rows as they come, and the totals at the end.
struct Report<'a> {
    arguments: &'a ExplainArguments,
    thread: ThreadInfo,
    found: Found,
    output: Records,
    printed: u64,
    kernel: Option<Kernel>,
    /// The first damage.
    damaged: Option<String>,
}

impl Report<'_> {
    fn context(&self) -> Context<'_> {
        Context {
            name: &self.thread.name,
            above_ns: nanos(self.arguments.above),
            timescale: self.thread.timescale,
        }
    }

    fn head(&mut self) -> anyhow::Result<()> {
        self.output.heading(&text::head(&self.thread.name, nanos(self.arguments.above)))
    }

    /// Explains what is there and what comes, until the thread ends or the time is over. A
    /// recording ends where it ends now.
    fn follow(
        &mut self,
        mut spans: Spans,
        explainer: &mut Explainer,
        clock: &Clock,
        interrupt: &ShutdownFlag,
    ) -> anyhow::Result<()> {
        let began = clock.stamp();
        let is_late = || {
            let lasted_ns = clock.nanos_between(began, clock.stamp());
            self.arguments.lasts.is_some_and(|lasts| lasted_ns > nanos(lasts))
        };
        let is_recording = is_recording(&self.arguments.target);
        loop {
            // A thread that ended before its spans were read has no more.
            let is_over =
                is_recording || !spans.is_alive() || interrupt.is_requested() || is_late();
            while self.some(&mut spans, explainer)? && !interrupt.is_requested() && !is_late() {}
            self.join_kernel(clock, is_over)?;
            if is_over {
                break;
            }
            interrupt.sleep(POLL_EVERY);
        }
        if let Some(row) = explainer.finish() {
            self.row(explainer, row)?;
        }
        self.join_kernel(clock, true)
    }

    /// Explains some of the spans that are there now; returns whether there might be more.
    fn some(&mut self, spans: &mut Spans, explainer: &mut Explainer) -> anyhow::Result<bool> {
        for _ in 0..AT_ONCE {
            match spans.next_entry()? {
                Next::Entry(Entry::Span { thread, span, .. }) if self.is_of(spans, thread) => {
                    if let Some(row) = explainer.add(&span) {
                        self.row(explainer, row)?;
                    }
                }
                Next::Entry(Entry::Lost { thread, count, .. }) if self.is_of(spans, thread) => {
                    explainer.lost(count);
                }
                Next::Entry(_) => {}
                Next::Damaged(line) => {
                    self.damaged.get_or_insert(line);
                }
                Next::Nothing => return Ok(false),
            }
        }
        Ok(true)
    }

    fn is_of(&self, spans: &Spans, thread: usize) -> bool {
        let info = spans.thread(thread);
        info.created_ns == self.thread.created_ns && info.pid == self.thread.pid
    }

    fn row(&mut self, explainer: &Explainer, mut row: Row) -> anyhow::Result<()> {
        if self.found.is_among_worst(&row) {
            explainer.trace(&mut row);
        }
        match &mut self.kernel {
            Some(kernel) if kernel.held.len() < MOST_HELD => {
                kernel.held.push(row);
                Ok(())
            }
            _ => self.explained(row),
        }
    }

    /// Joins the rows that wait with the events of the kernel, if there were enough of them.
    fn join_kernel(&mut self, clock: &Clock, is_over: bool) -> anyhow::Result<()> {
        let Some(kernel) = &mut self.kernel else { return Ok(()) };
        let now = clock.stamp();
        if !is_over && clock.nanos_between(kernel.taken, now) < EVENTS_EVERY_NS {
            return Ok(());
        }
        kernel.taken = now;
        let events: KernelEvents = kernel.trace.take().context("--kernel")?;
        kernel.losses = events.losses();
        for mut row in std::mem::take(&mut kernel.held) {
            row.refine(&events);
            self.explained(row)?;
        }
        Ok(())
    }

    fn explained(&mut self, row: Row) -> anyhow::Result<()> {
        if self.printed < self.arguments.rows {
            let text = text::row(&row, self.thread.timescale.utc_ns(row.gap.from));
            let record = self.context().row(&row);
            // A reader that has left gets no row, and the totals still follow.
            self.output.result(&text, record)?;
            self.printed += 1;
        }
        self.found.add(row);
        Ok(())
    }

    fn end(mut self, explainer: &Explainer) -> anyhow::Result<()> {
        let left = self.found.rows - self.printed;
        let (seen, events) = (explainer.seen(), self.kernel.as_ref().map(|kernel| kernel.losses));
        let record = self.context().found(&self.found, seen, events, explainer.medians());
        let text = text::end(&self.found, seen, events, left);
        // A line of CSV is a message.
        if self.arguments.output.format_or(RecordFormat::Text)? != RecordFormat::Csv {
            self.output.result(&text, record)?;
        }
        self.output.finish_with(pages::explain)?;
        Ok(())
    }
}
