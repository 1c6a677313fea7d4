//! The windows of a series counted, and windows of all series together.

use nanotape_delay::{Combined, Combiner, Estimate, NoEstimate, Trend, Window, trend};

use super::super::windows::Outcome;

/// Spans of the plot over time: more windows are joined.
const MOST_SPANS: usize = 2_000;

/// All series of a window.
pub(super) struct Span {
    pub(super) window: Window,
    pub(super) combined: Option<Combined>,
    pub(super) refused: u64,
    pub(super) left_out: u64,
}

/// The windows of an attribute of a stock.
#[derive(Default)]
pub(super) struct Total {
    times_ns: Vec<i64>,
    pub(super) estimates: Vec<Estimate>,
    pub(super) refused: u64,
    pub(super) left_out: [u64; 2],
}

impl Total {
    pub(super) fn add(&mut self, window: Window, outcome: &Outcome) {
        match outcome {
            Outcome::Estimate(estimate) => {
                self.times_ns.push(window.middle_ns());
                self.estimates.push(*estimate);
            }
            Outcome::Refused(_) => self.refused += 1,
            Outcome::LeftOut(doubt) => self.left_out[*doubt as usize] += 1,
        }
    }

    pub(super) fn windows(&self) -> u64 {
        self.estimates.len() as u64 + self.refused + self.left_out.iter().sum::<u64>()
    }

    pub(super) fn join(&mut self, other: &Self) {
        self.times_ns.extend_from_slice(&other.times_ns);
        self.estimates.extend_from_slice(&other.estimates);
        self.refused += other.refused;
        for (own, other) in self.left_out.iter_mut().zip(other.left_out) {
            *own += other;
        }
    }
}

/// Successive windows joined into at most [`MOST_SPANS`] spans.
pub(super) fn joined(spans: &[Span]) -> Vec<Span> {
    let together = spans.len().div_ceil(MOST_SPANS).max(1);
    let joined = spans.chunks(together).map(|spans| {
        let delays: Vec<Estimate> =
            spans.iter().filter_map(|span| span.combined.map(of_combined)).collect();
        let estimates = spans.iter().filter_map(|span| span.combined).map(|at| at.estimates).sum();
        let combined = match spans {
            [only] => only.combined,
            _ => combined_of(&delays).map(|at| Combined { estimates, ..at }),
        };
        let window = Window {
            from_ns: spans[0].window.from_ns,
            until_ns: spans[spans.len() - 1].window.until_ns,
        };
        let (refused, left_out) =
            spans.iter().fold((0, 0), |sums, span| (sums.0 + span.refused, sums.1 + span.left_out));
        Span { window, combined, refused, left_out }
    });
    joined.collect()
}

pub(super) fn of_combined(at: Combined) -> Estimate {
    let Combined { delay_ns, low_ns, high_ns, estimates: support, .. } = at;
    Estimate { delay_ns, low_ns, high_ns, support, quality: 1.0 }
}

pub(super) fn combined_of(estimates: &[Estimate]) -> Option<Combined> {
    Combiner::default().combine(estimates)
}

pub(super) fn trend_of(total: &Total) -> Option<Trend> {
    let delays = total.estimates.iter().map(|estimate| estimate.delay_ns);
    let points: Vec<_> = total.times_ns.iter().copied().zip(delays).collect();
    trend(&points)
}

/// The median width of the intervals.
pub(super) fn width(estimates: &[Estimate]) -> f64 {
    let mut widths: Vec<f64> =
        estimates.iter().map(|estimate| estimate.high_ns - estimate.low_ns).collect();
    widths.sort_by(f64::total_cmp);
    widths.get(widths.len() / 2).copied().unwrap_or(0.0)
}

/// Whether a window has too few changes, as most windows of most stocks.
pub(super) fn says_nothing(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Refused(NoEstimate::FewChanges { .. }))
}

/// The kind of a refusal.
pub(super) fn reason(refused: &NoEstimate) -> &'static str {
    match refused {
        NoEstimate::FewChanges { .. } => "too few changes",
        NoEstimate::FewMatches { .. } => "too few matches",
        NoEstimate::WeakPeak { .. } => "the feeds do not resemble each other at any lag",
        NoEstimate::AmbiguousPeak { .. } => "another lag fits nearly as well",
        NoEstimate::AtTheEdge { .. } => {
            "the delay is at the end of the search or beyond (--max-lag)"
        }
    }
}
