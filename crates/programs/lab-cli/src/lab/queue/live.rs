//! `--live`: the queue of a running plant, from its ring, again and again.
//!
//! Bounds: one simulation, whose memory does not grow with the number of records. Results are
//! written and not kept. A reader that is slower than the plant loses records, which are counted.

use std::{thread, time::Duration};

use anyhow::bail;
use clap::Args;
use nanotape_clock::Clock;
use nanotape_console::{
    interrupt,
    records::RecordFormat,
    status::Status,
    values::{counted, duration, grouped, nanos},
};
use nanotape_plant::records::{Notice, Record};
use nanotape_queue::{Simulation, Source, record};
use nanotape_tap::{Event, Subscriber, Subscription};
use nanotape_tape::WriterState;
use serde_json::{Value, json};

use super::{Arrivals, COLUMNS, QueueCommand, text::Shown};

/// The pause of a reader that has read everything.
const PAUSE: Duration = Duration::from_millis(1);

/// Clears a terminal before the next table.
const CLEAR: &str = "\x1b[H\x1b[2J\x1b[3J";

#[derive(Args, Debug)]
pub(super) struct LiveArguments {
    /// Read the ring of a running plant, by its name or path, instead of an INPUT
    #[arg(long, value_name = "NAME", conflicts_with_all = [
        "bursts", "validate", "cores", "batch", "cost", "link", "from", "until", "run", "date",
        "strict", "groups",
    ])]
    live: Option<String>,

    /// Time between two tables of --live
    #[arg(long, value_name = "TIME", default_value = "1s", requires = "live", value_parser = every)]
    every: u64,
}

fn every(text: &str) -> Result<u64, String> {
    match duration(text).map(nanos) {
        Ok(ns @ 10_000_000..) => Ok(ns),
        _ => Err("expected a time of at least 10ms, such as 1s".to_owned()),
    }
}

impl LiveArguments {
    pub(super) fn is_any(&self) -> bool {
        self.live.is_some()
    }
}

/// What came so far.
struct Following {
    simulation: Simulation,
    arrivals: Arrivals,
    midnight_ns: u64,
    /// The message of the last record.
    message: Option<u32>,
    records: u64,
    lost: u64,
    is_over: bool,
}

impl QueueCommand {
    /// Follows the plant until it ends or a signal comes.
    pub(super) fn follow(&self, format: RecordFormat) -> anyhow::Result<Status> {
        if !matches!(format, RecordFormat::Text | RecordFormat::Json) {
            bail!("--live has no end, so it has no page and no CSV: use text or JSON");
        }
        if !self.input.name().is_standard() {
            bail!("--live reads a ring: give no INPUT");
        }
        let name = self.live.live.as_deref().unwrap_or_default();
        let shutdown = interrupt::install()?;
        let mut subscriber = Subscription::to(name).shutdown(&shutdown).open()?;
        let limits: Vec<u64> = self.below.iter().map(|below| below.limit_ns).collect();
        let mut following = Following {
            simulation: Simulation::new(&self.services(), &limits, self.window)?,
            arrivals: self.arrivals.unwrap_or(Arrivals::Event),
            midnight_ns: subscriber.midnight_ns().unwrap_or(0),
            message: None,
            records: 0,
            lost: 0,
            is_over: false,
        };
        let mut output = self.output.records_or(RecordFormat::Text, COLUMNS)?;
        let is_screen = self.output.is_terminal();
        let clock = Clock::calibrate();
        let mut shown = clock.stamp();
        loop {
            let passed = following.poll(&mut subscriber)?;
            let is_gone = passed == 0 && subscriber.writer() != WriterState::Alive;
            let is_over = following.is_over || is_gone || shutdown.is_requested();
            let now = clock.stamp();
            if is_over || clock.nanos_between(shown, now) >= self.live.every {
                shown = now;
                let (text, record) = self.state(name, &following);
                let clear = if is_screen { CLEAR } else { "" };
                output.passing(&format!("{clear}{text}"), &record)?;
            }
            if is_over {
                break;
            }
            if passed == 0 {
                thread::sleep(PAUSE);
            }
        }
        output.finish()?;
        Ok(Status::Good)
    }

    /// The table of what came so far.
    fn state(&self, name: &str, following: &Following) -> (String, Value) {
        let outcome = following.simulation.clone().finish();
        let answers = self.first_answers(&outcome);
        let at = self.shown(&outcome, &answers);
        let arrivals = match following.arrivals {
            Arrivals::Event => "event",
            Arrivals::Received => "received",
        };
        let source = Source { name, arrivals };
        let Following { records, lost, .. } = *following;
        let mut text = format!("{} read, {} lost\n", counted(records, "record"), grouped(lost));
        if outcome.messages > 0 {
            text.push_str(&Shown { source, outcome: &outcome, answers: &answers, at }.text(None));
            text.push('\n');
        }
        let mut record = record(source, &outcome, &answers, at);
        record["live"] = json!({ "records": records, "lost": lost });
        (text, record)
    }
}

impl Following {
    /// Reads what is there, at most one buffer. Returns the number of records, with lost ones.
    fn poll(&mut self, subscriber: &mut Subscriber) -> anyhow::Result<u64> {
        Ok(subscriber.poll(|event| match event {
            Event::Record(delivery) => match delivery.record {
                Record::Notice(Notice::Stop(_)) => self.is_over = true,
                Record::Notice(Notice::Start(start)) => self.midnight_ns = start.midnight_ns,
                Record::Notice(_) => {}
                record => self.arrive(&record),
            },
            Event::Lost(gap) => self.lost += gap.count(),
            Event::Healed(_) | Event::Reported { .. } => {}
        })?)
    }

    fn arrive(&mut self, record: &Record<'_>) {
        self.records += 1;
        let (ts_event, message) = match record {
            Record::Mbo(mbo) => (mbo.hd.ts_event, Some(mbo.sequence)),
            Record::Bbo(bbo) => (bbo.hd.ts_event, Some(bbo.sequence)),
            Record::Trade(trade) => (trade.hd.ts_event, Some(trade.sequence)),
            Record::Status(status) => (status.hd.ts_event, None),
            Record::Definition(definition) => (definition.hd.ts_event, None),
            Record::Imbalance(imbalance) => (imbalance.hd.ts_event, None),
            _ => return,
        };
        if message.is_some() && message == self.message {
            return;
        }
        self.message = message;
        let at_ns = match self.arrivals {
            Arrivals::Event => ts_event,
            Arrivals::Received => record.ts_recv().unwrap_or(ts_event),
        };
        self.simulation.arrive(at_ns.saturating_sub(self.midnight_ns));
    }
}
