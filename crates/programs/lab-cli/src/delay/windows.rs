//! Reads both feeds side by side, and estimates one window after another.
//!
//! The feed that is behind is read next, so that only the changes of about one window are kept. A
//! live feed does not wait, so it is read in every turn.

use std::time::Duration;

use nanotape_answers::unix_ns;
use nanotape_arguments::errors::of_input;
use nanotape_delay::{
    Combined, Combiner, Estimate, Estimator, GpuError, Job, NoEstimate, Series, Window,
};
use nanotape_tape::{Deadline, ShutdownFlag};

use super::{
    Attribute, DelayArguments,
    feed::{Doubt, Feed, Stocks},
    report::Report,
    workers::Workers,
};

/// A live window that only one feed has passed is closed after this time.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long live feeds without records are left alone.
const IDLE: Duration = Duration::from_micros(200);

/// The result of one attribute of one stock in a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) stock: usize,
    pub(super) attribute: Attribute,
    pub(super) outcome: Outcome,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome {
    Estimate(Estimate),
    Refused(NoEstimate),
    LeftOut(Doubt),
}

pub(super) struct Windows<'a> {
    arguments: &'a DelayArguments,
    interrupt: &'a ShutdownFlag,
    first: Feed,
    second: Feed,
    stocks: Stocks,
    attributes: Vec<Attribute>,
    workers: Workers,
    shown: Shown,
    /// The next window to be closed; `None` before the first change.
    next: Option<Window>,
    /// Until when a feed is waited for that has not passed the next window.
    waits: Option<Deadline>,
    rows: Vec<Row>,
    estimates: Vec<Estimate>,
    combiner: Combiner,
}

impl<'a> Windows<'a> {
    pub(super) fn new(
        arguments: &'a DelayArguments,
        interrupt: &'a ShutdownFlag,
        (first, second): (Feed, Feed),
        attributes: Vec<Attribute>,
        workers: Workers,
    ) -> Self {
        Self {
            arguments,
            interrupt,
            first,
            second,
            stocks: Stocks::new(arguments.pool || arguments.method.is_by_number()),
            attributes,
            workers,
            shown: Shown::default(),
            next: None,
            waits: None,
            rows: Vec::new(),
            estimates: Vec::new(),
            combiner: Combiner::default(),
        }
    }

    /// Reads until both feeds end, the time is over, or a stop is requested.
    pub(super) fn run(&mut self, report: &mut Report<'_>) -> anyhow::Result<()> {
        let deadline = Deadline::after(self.arguments.lasts.unwrap_or(Duration::MAX));
        let follows = self.arguments.follow;
        while !self.interrupt.is_requested() && !deadline.is_over() {
            let (first_ns, second_ns) = (self.first.read_ns(), self.second.read_ns());
            let mut has_read = false;
            for (feed, is_behind) in [
                (&mut self.first, first_ns <= second_ns),
                (&mut self.second, second_ns <= first_ns),
            ] {
                if feed.has_ended() || !(follows || is_behind) {
                    continue;
                }
                match feed.read(&mut self.stocks)? {
                    Some(read) => has_read |= read,
                    None => return Ok(()),
                }
            }
            // Two records can be millions of windows apart.
            while let Some(window) = self.due()
                && !self.interrupt.is_requested()
                && !deadline.is_over()
            {
                self.close(window, report)?;
            }
            if self.first.has_ended() && self.second.has_ended() {
                break;
            }
            if !has_read {
                self.interrupt.sleep(IDLE);
            }
        }
        Ok(())
    }

    /// The feeds after the last window.
    pub(super) fn feeds(&mut self) -> (&mut Feed, &mut Feed, &Stocks) {
        (&mut self.first, &mut self.second, &self.stocks)
    }

    /// The next window, if both feeds have passed it.
    fn due(&mut self) -> Option<Window> {
        let (first, second) = (&self.first.content, &self.second.content);
        let window = match self.next {
            Some(window) => window,
            None => {
                let begin_ns = first.first_ns?.max(second.first_ns?);
                let every_ns = self.arguments.every_ns();
                let from_ns = begin_ns.div_euclid(every_ns) * every_ns;
                *self.next.insert(Window::new(from_ns, self.arguments.window_ns()))
            }
        };
        // What lies after the last record of a feed says nothing.
        if window.from_ns > first.read_ns.min(second.read_ns) {
            return None;
        }
        let needed_ns = window.until_ns.saturating_add(self.arguments.method.max_lag_ns());
        let (first_ns, second_ns) = (self.first.read_ns(), self.second.read_ns());
        let is_passed = first_ns >= needed_ns && second_ns >= needed_ns;
        // A feed that stands still is waited for once.
        if is_passed {
            self.waits = None;
        }
        let is_overdue = self.arguments.follow
            && first_ns.max(second_ns) >= needed_ns
            && self.waits.get_or_insert_with(|| Deadline::after(PATIENCE)).is_over();
        (is_passed || is_overdue).then_some(window)
    }

    fn close(&mut self, window: Window, report: &mut Report<'_>) -> anyhow::Result<()> {
        if let (None, Some(moment)) = (self.shown.at_ns, self.arguments.show) {
            let at =
                unix_ns(moment, &self.first.name, self.first.midnight_ns()).map_err(of_input)?;
            self.shown.at_ns = Some(i64::try_from(at).unwrap_or(i64::MAX));
        }
        self.estimate(window, report)?;
        self.estimates.clear();
        self.estimates.extend(self.rows.iter().filter_map(|row| match row.outcome {
            Outcome::Estimate(estimate) => Some(estimate),
            _ => None,
        }));
        let combined: Option<Combined> = self.combiner.combine(&self.estimates);
        if !self.rows.is_empty() {
            report.window(window, &self.rows, combined, &self.stocks)?;
        }
        let next = Window::new(
            window.from_ns.saturating_add(self.arguments.every_ns()),
            self.arguments.window_ns(),
        );
        self.next = Some(next);
        let before_ns = next.from_ns.saturating_sub(self.arguments.method.max_lag_ns());
        for content in [&mut self.first.content, &mut self.second.content] {
            content.forget(before_ns, next.from_ns);
        }
        Ok(())
    }

    /// Fills the rows of a window.
    fn estimate(&mut self, window: Window, report: &mut Report<'_>) -> Result<(), GpuError> {
        let (first, second) = (&self.first.content, &self.second.content);
        let needed = window.widened(self.arguments.method.max_lag_ns());
        self.rows.clear();
        let (mut jobs, mut places) = (Vec::new(), Vec::new());
        for &stock in &first.active {
            let Some(other) = second.stocks.get(stock) else { continue };
            let doubt = first.doubt(stock, window).or_else(|| second.doubt(stock, needed));
            for &attribute in &self.attributes {
                let one: &Series = &first.stocks[stock].attributes[attribute as usize];
                let other = &other.attributes[attribute as usize];
                if one.changes().within(window).is_empty() || other.changes().is_empty() {
                    continue;
                }
                match doubt {
                    Some(doubt) => {
                        let outcome = Outcome::LeftOut(doubt);
                        self.rows.push(Row { stock, attribute, outcome });
                    }
                    None => {
                        places.push((stock, attribute));
                        jobs.push(Job { first: one.changes(), second: other.changes(), window });
                    }
                }
            }
        }
        let answers = self.workers.estimate(&jobs)?;
        let rows = places.iter().zip(answers).map(|(&(stock, attribute), answer)| {
            let outcome = answer.map_or_else(Outcome::Refused, Outcome::Estimate);
            Row { stock, attribute, outcome }
        });
        let from = self.rows.len();
        self.rows.extend(rows);
        if report.has_curves() {
            self.shown.update(&jobs, &self.rows[from..], self.workers.one(), |row, curve| {
                report.curve(window, row, &self.stocks, curve);
            });
        }
        Ok(())
    }
}

/// The windows whose correlation is kept for the page.
#[derive(Default)]
struct Shown {
    /// The requested moment, in ns.
    at_ns: Option<i64>,
    /// The largest support so far, without such a moment.
    most: usize,
    points: Vec<(f64, f64)>,
}

impl Shown {
    fn update(
        &mut self,
        jobs: &[Job<'_>],
        rows: &[Row],
        estimator: &mut dyn Estimator,
        mut keep: impl FnMut(&Row, &[(f64, f64)]),
    ) {
        for (job, row) in jobs.iter().zip(rows) {
            let is_shown = match self.at_ns {
                Some(at_ns) => (job.window.from_ns..job.window.until_ns).contains(&at_ns),
                None => matches!(row.outcome, Outcome::Estimate(at) if at.support > self.most),
            };
            if !is_shown {
                continue;
            }
            if let Outcome::Estimate(at) = row.outcome {
                self.most = self.most.max(at.support);
            }
            // Other windows came after it on the same estimator.
            let _ = estimator.estimate(job.first, job.second, job.window);
            self.points.clear();
            estimator.curve(&mut self.points);
            if !self.points.is_empty() {
                keep(row, &self.points);
            }
        }
    }
}
