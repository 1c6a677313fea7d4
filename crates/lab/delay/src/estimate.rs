//! What an estimator answers: a delay with its interval, or the reason why there is none.

use std::fmt::Debug;

use thiserror::Error;

use crate::{Changes, Window};

/// The share of intervals that contain the true delay, if the model of the estimator holds.
pub const CONFIDENCE: f64 = 0.95;

/// A delay of the second feed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// How much later the second feed shows what the first shows; negative if it is earlier.
    pub delay_ns: f64,
    /// The lower end of the interval of [`CONFIDENCE`].
    pub low_ns: f64,
    /// The upper end of it.
    pub high_ns: f64,
    /// The observations behind it: matched pairs, or changes of the side with fewer.
    pub support: usize,
    /// How well the feeds agree, from 0 to 1: the share of matched changes, or the correlation.
    pub quality: f64,
}

/// Why a window has no estimate.
#[derive(Clone, Copy, PartialEq, Debug, Error)]
pub enum NoEstimate {
    /// A feed changes too rarely in the window.
    #[error("{first} changes of the first feed, {second} of the second, {least} needed")]
    FewChanges {
        /// Changes of the first feed.
        first: usize,
        /// Changes of the second feed.
        second: usize,
        /// What the estimator needs of each.
        least: usize,
    },
    /// Too few changes of the feeds belong together.
    #[error("{matches} changes match, {least} needed")]
    FewMatches {
        /// Pairs at about the same delay.
        matches: usize,
        /// What the estimator needs.
        least: usize,
    },
    /// The matches come in too few bursts, each of which has one delay.
    #[error("the matches are {bursts} bursts, {least} needed")]
    FewBursts {
        /// Groups of matches that may share their delay.
        bursts: usize,
        /// What the estimator needs.
        least: usize,
    },
    /// The feeds do not resemble each other at any lag.
    #[error("the largest correlation is {correlation:.2}, {least:.2} needed")]
    WeakPeak {
        /// The largest correlation, from 0 to 1.
        correlation: f64,
        /// What the estimator needs.
        least: f64,
    },
    /// Another lag fits nearly as well.
    #[error("the best lag is {ratio:.2} times as good as the next, {least:.2} needed")]
    AmbiguousPeak {
        /// The best lag by the best of the others.
        ratio: f64,
        /// What the estimator needs.
        least: f64,
    },
    /// The best lag is the largest or smallest of those searched: the true one is beyond it.
    #[error("the best lag is at the end of the search, {lag_ns} ns")]
    AtTheEdge {
        /// That lag.
        lag_ns: i64,
    },
}

/// Estimates the delay of one attribute of one instrument. It keeps its memory between calls, so
/// that an estimate allocates nothing once the memory has grown to the size of a window.
pub trait Estimator: Debug + Send {
    /// Its name in options and tables, as in `match-value`.
    fn name(&self) -> &'static str;

    /// How much later `second` shows what `first` shows in the window.
    ///
    /// The window is one of the first feed. The changes may begin before it and end after it: the
    /// estimator finds those it needs, and for the second feed these are the window's, widened by
    /// the largest lag that it searches.
    ///
    /// # Errors
    ///
    /// [`NoEstimate`] if the window says too little, or nothing certain.
    fn estimate(
        &mut self,
        first: Changes<'_>,
        second: Changes<'_>,
        window: Window,
    ) -> Result<Estimate, NoEstimate>;

    /// How well each lag fits in the last window, for a picture: lags in ns, ascending, with a
    /// value that is larger where the feeds agree more. A method without lags appends nothing.
    fn curve(&mut self, points: &mut Vec<(f64, f64)>) {
        let _ = points;
    }
}

impl<E: Estimator + ?Sized> Estimator for Box<E> {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn estimate(
        &mut self,
        first: Changes<'_>,
        second: Changes<'_>,
        window: Window,
    ) -> Result<Estimate, NoEstimate> {
        (**self).estimate(first, second, window)
    }

    fn curve(&mut self, points: &mut Vec<(f64, f64)>) {
        (**self).curve(points);
    }
}
