//! The quotes of a first feed.

use std::sync::Arc;

use nanotape_lab::Rng;
use nanotape_synth::{QuoteConfig, QuoteStream, QuoteUpdate};

/// The shortest and the longest gap between two updates in bursts of all lengths, in ns. In real
/// order flow of a busy stock, one gap in twenty is below 1 us, half are below 30 to 300 us, and
/// one in a hundred is above 200 ms.
const SHORTEST_NS: f64 = 1e3;

/// Where the quotes of a stock come from.
#[derive(Clone, Debug)]
pub enum Flow {
    /// Clusters with short gaps of one length.
    Clusters {
        /// Changes of the size of one side in a second.
        changes_per_s: f64,
    },
    /// Bursts of all lengths: each octave of gaps is as likely as the next.
    Bursts {
        /// Updates in a second.
        updates_per_s: f64,
    },
    /// Those of a day.
    Given(Arc<[QuoteUpdate]>),
}

impl Flow {
    /// The windows of a length that it has; `None` if there is no end.
    pub(super) fn windows(&self, window_ns: u64) -> Option<u32> {
        let Self::Given(updates) = self else { return None };
        let span_ns = updates.last()?.time_ns.saturating_sub(updates.first()?.time_ns);
        u32::try_from(span_ns / window_ns.max(1)).ok()
    }

    /// The updates of a span. Those of a day are all of them.
    pub(super) fn updates(&self, seed: u64, span_ns: u64) -> Arc<[QuoteUpdate]> {
        let stream = |updates_per_s| {
            QuoteStream::new(QuoteConfig { stocks: 1, updates_per_s, from_ns: 0, seed })
        };
        match self {
            // An update changes the shares of one of two sides.
            Self::Clusters { changes_per_s } => {
                stream(2.0 * changes_per_s).take_while(|update| update.time_ns < span_ns).collect()
            }
            Self::Bursts { updates_per_s } => {
                let longest_ns = longest_of(1e9 / updates_per_s);
                let mut random = Rng::new(seed);
                let mut time_ns = 0;
                let in_bursts = stream(*updates_per_s).map(|update| {
                    let share = random.below(1 << 30) as f64 / (1 << 30) as f64;
                    let gap_ns = SHORTEST_NS * (longest_ns / SHORTEST_NS).powf(share);
                    time_ns += gap_ns as u64;
                    QuoteUpdate { time_ns, ..update }
                });
                in_bursts.take_while(|update| update.time_ns < span_ns).collect()
            }
            Self::Given(updates) => Arc::clone(updates),
        }
    }
}

/// The longest of the gaps whose logarithms are uniform, from their mean.
fn longest_of(mean_ns: f64) -> f64 {
    let mean_of = |longest: f64| (longest - SHORTEST_NS) / (longest / SHORTEST_NS).ln();
    let (mut low, mut high) = (SHORTEST_NS * 1.001, 1e12);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if mean_of(middle) < mean_ns { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_have_their_rate_and_gaps_of_all_lengths() {
        let flow = Flow::Bursts { updates_per_s: 60.0 };
        let updates = flow.updates(3, 300_000_000_000);
        let rate = updates.len() as f64 / 300.0;
        assert!((rate / 60.0 - 1.0).abs() < 0.05, "{rate} a second");
        let gaps = || updates.windows(2).map(|pair| pair[1].time_ns - pair[0].time_ns);
        for (least, most, share) in [(0, 10_000, 0.19), (1_000_000, 10_000_000, 0.19)] {
            let within = gaps().filter(|gap| (least..most).contains(gap)).count();
            let found = within as f64 / updates.len() as f64;
            assert!((found - share).abs() < 0.02, "{found} from {least} to {most}");
        }
    }
}
