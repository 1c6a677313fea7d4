//! The events of an INPUT without books, for commands that need the times of messages only.

use std::ops::ControlFlow;

use nanotape_engine::{DamageLog, RunReport};
use nanotape_market::{Damage, EventHandler, EventSource as _, MarketEvent, Origin, Position};

use super::{Opened, Opening, Progress, Report};

/// Calls `event` with each event, with the time of its receipt in ns since the UNIX epoch, if the
/// input has those, and with the exchange's message, empty for records. `Break` ends the reading.
pub(crate) fn read_events(
    opening: Opening<'_>,
    event: impl FnMut(&MarketEvent, Option<u64>, &[u8]) -> ControlFlow<()>,
) -> anyhow::Result<Report> {
    let Opening { arguments, source, .. } = opening;
    let name = arguments.name();
    let mut handler = Events { event, received_ns: None, damage: DamageLog::default() };
    match source {
        Opened::Day(mut day) => {
            let progress = Progress::with_total(day.progress().total_bytes);
            let summary = day.read(&mut handler, |day| progress.set(day.progress().done_bytes))?;
            Ok(Report::Day(RunReport { summary, damage: handler.damage }))
        }
        Opened::Journal(mut run) => {
            let first = run.stream().next_sequence();
            // Damage before the end is found when it is read.
            let end = run.stream().end().unwrap_or(first);
            let progress = Progress::with_steps("messages", end.saturating_sub(first));
            let Ok(summary) = run.read(&mut handler, |run| {
                progress.set(run.stream().next_sequence().saturating_sub(first));
            });
            Report::of_journal(name, run.stream(), summary)
        }
        Opened::Dbn(mut run) => {
            let progress = Progress::with_total(run.stream().source().progress().total_bytes);
            let Ok(summary) = run.read(&mut handler, |run| {
                progress.set(run.stream().source().progress().done_bytes)
            });
            Report::of_dbn(run.stream().source().name(), summary, arguments.run.is_none())
        }
    }
}

struct Events<F> {
    event: F,
    received_ns: Option<u64>,
    damage: DamageLog,
}

impl<F: FnMut(&MarketEvent, Option<u64>, &[u8]) -> ControlFlow<()>> EventHandler for Events<F> {
    type Hint = ();

    #[inline(always)]
    fn event(&mut self, _: Position, event: &MarketEvent, origin: impl Origin) -> ControlFlow<()> {
        (self.event)(event, self.received_ns, origin.bytes())
    }

    fn received(&mut self, ts_recv_ns: u64) {
        self.received_ns = Some(ts_recv_ns);
    }

    fn damage(&mut self, damage: Damage) {
        self.damage.record(damage);
    }
}
