//! Reads both feeds side by side, and estimates one window after another.
//!
//! The feed that is behind is read next, so that only the changes of about one window are kept. A
//! live feed does not wait, so it is read in every turn.

use std::time::Duration;

use nanotape_delay::{Combined, Combiner, Estimate, Estimator, NoEstimate, Series, Window};
use nanotape_tape::{Deadline, ShutdownFlag};

use super::{
    Attribute, DelayArguments,
    feed::{Doubt, Feed, Stocks},
    nanos_of,
    report::Report,
};

/// A live window that one feed does not complete is closed when the other is so far ahead.
const PATIENCE_NS: i64 = 5_000_000_000;

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
    estimator: Box<dyn Estimator>,
    /// The next window to be closed; `None` before the first change.
    next: Option<Window>,
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
        estimator: Box<dyn Estimator>,
    ) -> Self {
        Self {
            arguments,
            interrupt,
            first,
            second,
            stocks: Stocks::new(arguments.pool || arguments.is_by_number()),
            attributes,
            estimator,
            next: None,
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
            while let Some(window) = self.due() {
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
                let every_ns = self.every_ns();
                let from_ns = begin_ns.div_euclid(every_ns) * every_ns;
                *self.next.insert(Window::new(from_ns, self.window_ns()))
            }
        };
        // What lies after the last record of a feed says nothing.
        if window.from_ns > first.read_ns.min(second.read_ns) {
            return None;
        }
        let needed_ns = window.until_ns.saturating_add(self.max_lag_ns());
        let (first_ns, second_ns) = (self.first.read_ns(), self.second.read_ns());
        let is_passed = first_ns >= needed_ns && second_ns >= needed_ns;
        let is_overdue = self.arguments.follow
            && first_ns.max(second_ns) >= needed_ns.saturating_add(PATIENCE_NS);
        (is_passed || is_overdue).then_some(window)
    }

    fn close(&mut self, window: Window, report: &mut Report<'_>) -> anyhow::Result<()> {
        self.estimate(window);
        self.estimates.clear();
        self.estimates.extend(self.rows.iter().filter_map(|row| match row.outcome {
            Outcome::Estimate(estimate) => Some(estimate),
            _ => None,
        }));
        let combined: Option<Combined> = self.combiner.combine(&self.estimates);
        if !self.rows.is_empty() {
            report.window(window, &self.rows, combined, &self.stocks)?;
        }
        let next = Window::new(window.from_ns.saturating_add(self.every_ns()), self.window_ns());
        self.next = Some(next);
        let before_ns = next.from_ns.saturating_sub(self.max_lag_ns());
        for content in [&mut self.first.content, &mut self.second.content] {
            content.forget(before_ns, next.from_ns);
        }
        Ok(())
    }

    /// Fills the rows of a window.
    fn estimate(&mut self, window: Window) {
        let (first, second) = (&self.first.content, &self.second.content);
        let needed = window.widened(self.arguments.max_lag_ns());
        self.rows.clear();
        for &stock in &first.active {
            let Some(other) = second.stocks.get(stock) else { continue };
            let doubt = first.doubt(stock, window).or_else(|| second.doubt(stock, needed));
            for &attribute in &self.attributes {
                let one: &Series = &first.stocks[stock].attributes[attribute as usize];
                let other = &other.attributes[attribute as usize];
                if one.changes().within(window).is_empty() || other.changes().is_empty() {
                    continue;
                }
                let outcome = match doubt {
                    Some(doubt) => Outcome::LeftOut(doubt),
                    None => match self.estimator.estimate(one.changes(), other.changes(), window) {
                        Ok(estimate) => Outcome::Estimate(estimate),
                        Err(refused) => Outcome::Refused(refused),
                    },
                };
                self.rows.push(Row { stock, attribute, outcome });
            }
        }
    }

    fn window_ns(&self) -> i64 {
        nanos_of(self.arguments.window).max(1)
    }

    fn every_ns(&self) -> i64 {
        let every = self.arguments.every.unwrap_or(self.arguments.window);
        nanos_of(every).max(1)
    }

    fn max_lag_ns(&self) -> i64 {
        self.arguments.max_lag_ns()
    }
}
