//! The books of random moments, from the journal: the path of `nanotape book JOURNAL --at T`.

use core::ops::ControlFlow;
use std::path::Path;

use nanotape_book::DefaultBooks;
use nanotape_engine::{BookEngine, Observer};
use nanotape_history::{JournalRun, RecordedError, RecordedRun, RunSpan, Runs};
use nanotape_market::{MarketEvent, Position};
use nanotape_plant::orders_of;
use nanotape_types::StockLocate;
use serde_json::json;

use super::{
    Replay,
    moments::{Answer, Moment, Moments},
};
use crate::{
    engine::{Reading, Times, Worker},
    error::Error,
};

/// Times every moment, one after the other, and checks each answer after its time was taken.
pub(super) fn measure(worker: &mut Worker<Replay>, is_of_all: bool) -> Result<Reading, Error> {
    let kept = worker.job.options.kept()?.clone();
    let moments = Moments::load(&kept.moments)?;
    let moments = if is_of_all { moments.of_all } else { moments.of_stocks };
    worker.begin(&[])?;
    let clock = worker.clock;
    let (mut all, mut slowest, mut of_snapshots) = (Vec::new(), (0, None), 0_u64);
    for moment in &moments {
        let began = clock.stamp_start();
        let found = Found::at(&kept.journal, moment)?;
        let nanos = clock.nanos_between(began, clock.stamp());
        found.check(moment)?;
        all.push(nanos);
        of_snapshots += u64::from(found.is_of_snapshot);
        if nanos >= slowest.0 {
            slowest = (nanos, Some(moment));
        }
    }
    let slowest = slowest.1.map(|moment| {
        json!({
            "symbol": moment.stock.as_ref().map(|(_, symbol)| symbol),
            "time": moment.time_text(),
        })
    });
    let detail = json!({ "from_snapshot": of_snapshots, "slowest": slowest });
    Ok(Reading { times: Some(times(all)), detail, ..Reading::default() })
}

/// The quantiles of some times. Each is one of the times.
fn times(mut all: Vec<u64>) -> Times {
    all.sort_unstable();
    let at = |percent: usize| {
        let rank = (all.len() * percent).div_ceil(100).max(1);
        all.get(rank - 1).copied().unwrap_or(0)
    };
    let (count, max_ns) = (all.len() as u64, at(100));
    Times { count, p50_ns: at(50), p90_ns: at(90), p99_ns: at(99), max_ns, ..Times::default() }
}

/// The books of a moment.
struct Found {
    engine: BookEngine<DefaultBooks>,
    is_of_snapshot: bool,
    /// Losses that the journal reports.
    losses: u64,
}

impl Found {
    /// Opens the journal and reads the books.
    fn at(journal: &Path, moment: &Moment) -> Result<Self, Error> {
        let mut engine = BookEngine::new(DefaultBooks::with_capacity(orders_of(journal)));
        let runs = Runs::of_journal(journal)?;
        let Some(run) = runs.iter().last() else {
            return Err(Error::found(journal.display(), "it has no run of a plant"));
        };
        let at_ns = run.midnight_ns.saturating_add(moment.at);
        let symbol = moment.stock.as_ref().and_then(|(_, symbol)| symbol.parse().ok());
        let span = RunSpan {
            books_at_ns: Some(at_ns),
            until_ns: at_ns,
            symbols: symbol.into_iter().collect(),
        };
        let stream = JournalRun::open(journal, &runs, Some(run), &span)?;
        let is_of_snapshot = stream.snapshot().is_some();
        let mut recorded = RecordedRun::of_run(stream, Some(run.clone()));
        let Ok(report) = engine.run(&mut recorded, &mut Until(at_ns), |_| ());
        let (summary, fault) = report.summary;
        match fault {
            Some(RecordedError::Stream(error)) => Err(error.into()),
            Some(fault) => Err(Error::found(journal.display(), fault)),
            None => Ok(Self { engine, is_of_snapshot, losses: summary.total_losses }),
        }
    }

    /// Compares the books with those of the day file.
    fn check(&self, moment: &Moment) -> Result<(), Error> {
        let stock = moment.stock.as_ref().map(|(locate, _)| StockLocate::new(*locate));
        let found = Answer::of(self.engine.books(), stock);
        if (found, self.losses) == (moment.answer, 0) {
            return Ok(());
        }
        let symbol = moment.stock.as_ref().map_or("all stocks", |(_, symbol)| symbol);
        let subject = format!("{symbol} at {}", moment.time_text());
        let found = format!(
            "the journal has {found} and {} losses, the day file has {}",
            self.losses, moment.answer
        );
        Err(Error::found(subject, found))
    }
}

/// Ends the reading at the first event after a time in ns since the UNIX epoch.
struct Until(u64);

impl<B> Observer<B> for Until {
    #[inline]
    fn admit(&mut self, _: Position, event: &MarketEvent) -> ControlFlow<()> {
        if event.time.is_some_and(|time| time.get() > self.0) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_measured_times() {
        let of = |all: Vec<u64>| {
            let Times { count, p50_ns, p90_ns, p99_ns, max_ns, .. } = times(all);
            (count, p50_ns, p90_ns, p99_ns, max_ns)
        };
        assert_eq!(of((1..=100).rev().collect()), (100, 50, 90, 99, 100));
        assert_eq!(of(vec![7, 3, 5]), (3, 5, 7, 7, 7));
        assert_eq!(of(vec![4]), (1, 4, 4, 4, 4));
        assert_eq!(of(Vec::new()), (0, 0, 0, 0, 0));
    }

    #[test]
    fn a_book_that_differs_from_that_of_the_file_is_a_finding() {
        let found = |losses| Found {
            engine: BookEngine::new(DefaultBooks::with_capacity(16)),
            is_of_snapshot: true,
            losses,
        };
        let (stock, at) = (Some((1, "AAPL".to_owned())), 34_200_000_000_005);
        let empty = Moment { stock, at, answer: Answer::default() };
        assert!(found(0).check(&empty).is_ok());
        let error = found(1).check(&empty).unwrap_err();
        assert!(error.is_finding(), "{error}");
        let full = serde_json::json!({ "levels": 1, "orders": 2, "shares": 300, "digest": 7 });
        let moment = Moment { answer: serde_json::from_value(full).unwrap(), ..empty };
        let error = found(0).check(&moment).unwrap_err();
        let expected = "AAPL at 09:30:00.000000005: the journal has 0 levels, 0 orders, 0 shares, \
                        digest 0000000000000000 and 0 losses, the day file has 1 levels, 2 orders, \
                        300 shares, digest 0000000000000007";
        assert_eq!(error.to_string(), expected);
        assert!(error.is_finding());
    }
}
