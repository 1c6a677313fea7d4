//! The windows of a series counted, and windows of all series together.

use nanotape_delay::{Combined, Combiner, Estimate, NoEstimate, Trend, Window, trend};

use super::super::windows::Outcome;

/// Share of the windows with enough changes that must have an estimate for one delay of all. Feeds
/// with nothing in common, or with a delay beyond the search, have one in up to 2 of 100 windows.
pub(super) const LEAST_SHARE: f64 = 0.05;
/// As many estimates or fewer must be half of the windows.
pub(super) const LEAST_OF_FEW: u64 = 2;
/// Spans of the plot over time: more windows are joined.
const MOST_SPANS: usize = 2_000;
/// Spans in memory, about 40 MiB.
const MOST_SPANS_KEPT: usize = 1 << 18;
/// Estimates of a series in memory, about 100 KiB.
const MOST_KEPT: usize = 2_048;

/// All series of a window.
pub(super) struct Span {
    pub(super) window: Window,
    pub(super) combined: Option<Combined>,
    pub(super) refused: u64,
    pub(super) left_out: u64,
}

/// The windows of an attribute of a stock. A run without an end has more estimates than memory:
/// every second one, every fourth and so on is kept then, for the quantiles.
pub(super) struct Total {
    /// Whether it is of all stocks and attributes.
    pub(super) is_all: bool,
    /// Times and estimates, each the first of `stride`.
    kept: Vec<(i64, Estimate)>,
    stride: u64,
    pub(super) estimates: u64,
    pub(super) refused: u64,
    /// Those of the refused windows that have too few changes.
    silent: u64,
    pub(super) left_out: [u64; 2],
}

impl Default for Total {
    fn default() -> Self {
        Self {
            is_all: false,
            kept: Vec::new(),
            stride: 1,
            estimates: 0,
            refused: 0,
            silent: 0,
            left_out: [0; 2],
        }
    }
}

impl Total {
    pub(super) fn add(&mut self, window: Window, outcome: &Outcome) {
        match outcome {
            Outcome::Estimate(estimate) => {
                if self.estimates.is_multiple_of(self.stride) {
                    self.kept.push((window.middle_ns(), *estimate));
                }
                self.estimates += 1;
                if self.kept.len() == MOST_KEPT {
                    self.thin(2);
                }
            }
            Outcome::Refused(_) => {
                self.refused += 1;
                self.silent += u64::from(says_nothing(outcome));
            }
            Outcome::LeftOut(doubt) => self.left_out[*doubt as usize] += 1,
        }
    }

    /// Keeps one in so many.
    fn thin(&mut self, by: u64) {
        let mut place = 0;
        self.kept.retain(|_| {
            place += 1;
            (place - 1_u64).is_multiple_of(by)
        });
        self.stride *= by;
    }

    pub(super) fn windows(&self) -> u64 {
        self.estimates + self.refused + self.left_out.iter().sum::<u64>()
    }

    /// Adds those of another series. Both count by their numbers: the strides become equal.
    pub(super) fn join(&mut self, other: &Self) {
        if self.stride < other.stride {
            self.thin(other.stride / self.stride);
        }
        let step = (self.stride / other.stride) as usize;
        self.kept.extend(other.kept.iter().step_by(step));
        self.estimates += other.estimates;
        self.refused += other.refused;
        self.silent += other.silent;
        for (own, other) in self.left_out.iter_mut().zip(other.left_out) {
            *own += other;
        }
    }

    /// The windows with enough changes for an estimate.
    pub(super) fn examined(&self) -> u64 {
        self.estimates + self.refused - self.silent
    }

    /// Whether so few windows have an estimate that chance can have given them.
    pub(super) fn is_rare(&self) -> bool {
        let (estimates, examined) = (self.estimates, self.examined());
        let is_rare = (estimates as f64) < LEAST_SHARE * examined as f64;
        // One by chance is more than its share of few windows.
        let is_few = self.is_all && estimates <= LEAST_OF_FEW && estimates * 2 < examined;
        estimates > 0 && (is_rare || is_few)
    }

    /// The median and the quantiles; `None` if estimates are rare.
    pub(super) fn combined(&self) -> Option<Combined> {
        if self.is_rare() {
            return None;
        }
        // Those of one window are neighbours, of whatever series.
        let mut kept = self.kept.clone();
        kept.sort_by_key(|(time_ns, _)| *time_ns);
        let combined = combined_of(&kept)?;
        Some(Combined { estimates: self.estimates as usize, ..combined })
    }

    pub(super) fn trend(&self) -> Option<Trend> {
        let points: Vec<_> =
            self.kept.iter().map(|(time_ns, estimate)| (*time_ns, estimate.delay_ns)).collect();
        trend(&points)
    }

    /// The median width of the intervals.
    pub(super) fn width(&self) -> f64 {
        let mut widths: Vec<f64> =
            self.kept.iter().map(|(_, estimate)| estimate.high_ns - estimate.low_ns).collect();
        widths.sort_by(f64::total_cmp);
        widths.get(widths.len() / 2).copied().unwrap_or(0.0)
    }
}

/// Successive spans joined into at most [`MOST_SPANS`].
pub(super) fn joined(spans: &[Span]) -> Vec<Span> {
    join_spans(spans, spans.len().div_ceil(MOST_SPANS).max(1))
}

/// Adds a span; when there are very many, neighbours are joined.
pub(super) fn push_span(spans: &mut Vec<Span>, span: Span) {
    spans.push(span);
    if spans.len() == MOST_SPANS_KEPT {
        *spans = join_spans(spans, 2);
    }
}

fn join_spans(spans: &[Span], together: usize) -> Vec<Span> {
    let joined = spans.chunks(together).map(|spans| {
        let delays: Vec<(i64, Estimate)> = spans
            .iter()
            .filter_map(|span| Some((span.window.middle_ns(), of_combined(span.combined?))))
            .collect();
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

fn of_combined(at: Combined) -> Estimate {
    let Combined { delay_ns, low_ns, high_ns, estimates: support, .. } = at;
    Estimate { delay_ns, low_ns, high_ns, support, quality: 1.0 }
}

fn combined_of(estimates: &[(i64, Estimate)]) -> Option<Combined> {
    Combiner::default().combine_windows(estimates)
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
        NoEstimate::FewBursts { .. } => "too few bursts of matches",
        NoEstimate::WeakPeak { .. } => "the feeds do not resemble each other at any lag",
        NoEstimate::AmbiguousPeak { .. } => "another lag fits nearly as well",
        NoEstimate::AtTheEdge { .. } => {
            "the delay is at the end of the search or beyond (--max-lag)"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(delay_ns: f64) -> Outcome {
        let (low_ns, high_ns) = (delay_ns - 1.0, delay_ns + 1.0);
        Outcome::Estimate(Estimate { delay_ns, low_ns, high_ns, support: 9, quality: 1.0 })
    }

    #[test]
    fn a_run_without_an_end_keeps_its_quantiles_in_bounded_memory() {
        let (mut long, mut short) = (Total::default(), Total::default());
        for window in 0..100_000_i64 {
            let window_of = Window::new(window * 1_000, 1_000);
            long.add(window_of, &outcome((window % 1_000) as f64));
            if window < 100 {
                short.add(window_of, &outcome(5_000.0));
            }
        }
        assert!(long.kept.len() < MOST_KEPT, "{}", long.kept.len());
        let combined = long.combined().unwrap();
        assert_eq!(combined.estimates, 100_000);
        assert!((combined.delay_ns - 500.0).abs() < 30.0, "{combined:?}");
        // One in a thousand is of the short one.
        long.join(&short);
        let combined = long.combined().unwrap();
        assert_eq!((combined.estimates, long.windows()), (100_100, 100_100));
        assert!((combined.delay_ns - 500.0).abs() < 30.0 && combined.p95_ns < 1_000.0);
    }

    #[test]
    fn estimates_of_hardly_any_window_have_no_common_delay() {
        let window = Window::new(0, 1_000);
        let refused = |refused| Outcome::Refused(refused);
        let mut total = Total::default();
        (0..5).for_each(|at| total.add(window, &outcome(f64::from(at))));
        for _ in 0..95 {
            total.add(window, &refused(NoEstimate::FewMatches { matches: 1, least: 5 }));
            // A window without changes says nothing against a delay.
            total.add(window, &refused(NoEstimate::FewChanges { first: 1, second: 1, least: 5 }));
        }
        assert_eq!((total.windows(), total.examined(), total.is_rare()), (195, 100, false));
        assert_eq!(total.combined().map(|at| at.delay_ns), Some(2.0));
        total.add(window, &refused(NoEstimate::AtTheEdge { lag_ns: 5 }));
        assert!(total.is_rare() && total.combined().is_none());
    }

    #[test]
    fn spans_are_joined_when_there_are_too_many() {
        let mut spans = Vec::new();
        for at in 0..MOST_SPANS_KEPT as i64 + 10 {
            let window = Window::new(at * 10, 10);
            push_span(&mut spans, Span { window, combined: None, refused: 1, left_out: 2 });
        }
        assert_eq!(spans.len(), MOST_SPANS_KEPT / 2 + 10);
        let shown = joined(&spans);
        let counts = shown.iter().map(|span| (span.refused, span.left_out));
        let (refused, left_out) = counts.fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        assert!(shown.len() <= MOST_SPANS);
        assert_eq!(
            (refused, left_out),
            (MOST_SPANS_KEPT as u64 + 10, 2 * (MOST_SPANS_KEPT as u64 + 10))
        );
        assert_eq!(shown.first().map(|span| span.window.from_ns), Some(0));
    }
}
