//! Subscribes to the records of an input.

use nanotape_history::{Run, Runs, RunsError};
use nanotape_journal::ErrorKind;
use nanotape_plant::{Moment, TradeDate};
use nanotape_ring::Start;
use nanotape_tap::{Subscriber, Subscription};

use crate::{Input, InputError, InputKind, RunChoice, input::Source, span::unix_ns};

/// The part of an input whose records are read.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordSpan {
    /// The first record; `None`: that of the chosen run, of a ring that of the subscription.
    pub start: Option<Start>,
    /// From this moment on (inclusive). Not of a ring.
    pub from: Option<Moment>,
    /// Up to this moment (exclusive). Not of a ring.
    pub until: Option<Moment>,
}

impl Input {
    /// The trade date of a day, which its records need.
    pub fn require_date(&self) -> Result<(), InputError> {
        match &self.source {
            Source::Day(_, None) => Err(InputError::NoDate { name: self.day_name().to_owned() }),
            _ => Ok(()),
        }
    }

    fn day_name(&self) -> &str {
        match &self.source {
            Source::Day(source, _) => source.name(),
            _ => &self.name,
        }
    }

    /// Reads the records of the span with a subscription to the name of the input, which has the
    /// other options.
    pub fn records(
        mut self,
        mut subscription: Subscription,
        span: RecordSpan,
    ) -> Result<Subscriber, InputError> {
        self.find_run()?;
        let run = self.run_of_records(span)?;
        let start = match (span.start, &run) {
            (Some(start), _) => start,
            (None, Some((run, _))) => Start::Sequence(run.first_sequence),
            (None, None) => Start::Oldest,
        };
        // The subscription has its own start on a ring.
        if self.kind() != InputKind::Ring || span.start.is_some() {
            subscription = subscription.from(start);
        }
        if let Some((_, Some(next))) = run {
            subscription = subscription.until(next);
        }
        let midnight_ns = match &self.source {
            Source::Ring => None,
            Source::Journal(_) => run.as_ref().map(|(run, _)| run.midnight_ns),
            Source::Day(_, date) => date.map(TradeDate::midnight_ns),
            Source::Dbn(stream) => stream.start().map(|start| start.midnight_ns),
        };
        let at = |moment: Option<Moment>| {
            moment.map(|moment| unix_ns(moment, &self.name, midnight_ns)).transpose()
        };
        let (from, until) = (at(span.from)?, at(span.until)?);
        if from.zip(until).is_some_and(|(from, until)| from > until) {
            return Err(InputError::SpanIsReversed { name: self.name.to_string() });
        }
        if from.is_some() || until.is_some() {
            subscription = subscription.between(from, until);
        }
        self.require_date()?;
        Ok(match self.source {
            Source::Day(source, Some(date)) => subscription.open_day(*source, date)?,
            Source::Day(..) => unreachable!("a day without a date was refused"),
            Source::Dbn(stream) => subscription.open_dbn(*stream),
            Source::Ring | Source::Journal(_) => subscription.open()?,
        })
    }

    /// The run of a journal that is read, if it is known, with the first record of the next one.
    pub(crate) fn run_of_records(
        &self,
        span: RecordSpan,
    ) -> Result<Option<(Run, Option<u64>)>, InputError> {
        let Source::Journal(path) = &self.source else { return Ok(None) };
        let has_moment = span.from.is_some() || span.until.is_some();
        let is_of_run = has_moment || self.options.run.is_some();
        if span.start.is_some() && !is_of_run {
            return Ok(None);
        }
        let runs = match Runs::of_journal(path) {
            // A recorder that has not begun is waited for.
            Err(RunsError::Journal(error))
                if !is_of_run && *error.kind() == ErrorKind::NotFound =>
            {
                Runs::default()
            }
            runs => runs?,
        };
        let number =
            RunChoice::of(self.options.run, &path.display().to_string(), runs.len() as u64)?;
        let run = runs.iter().nth(number.wrapping_sub(1) as usize);
        Ok(run.map(|run| (run.clone(), runs.after(run))))
    }
}
