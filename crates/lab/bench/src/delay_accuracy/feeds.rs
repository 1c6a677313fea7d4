//! Two feeds of a scenario, and what is true about them.

use std::collections::BTreeMap;

use nanotape_delay::Series;
use nanotape_synth::{
    Fate, Quote, QuoteUpdate, SecondFeed, SecondFeedSpec, ShownUpdate, SpecError,
};

use super::{Flow, Scenario};

/// Draws of the noise that are behind a truth.
const DRAWS: u64 = 100;
/// The seeds of these draws are apart from those of the runs.
const APART: u64 = 1 << 40;

/// A first and a second feed.
pub(super) struct Feeds {
    /// Prices and sizes of both sides; of clusters the size of the best bid only.
    values: Vec<[Series; 2]>,
    /// Numbers of the updates.
    numbers: Vec<[Series; 2]>,
}

impl Feeds {
    pub(super) fn new(
        scenario: &Scenario,
        updates: &[QuoteUpdate],
        seed: u64,
    ) -> Result<Self, SpecError> {
        let other = match (&scenario.flow, scenario.is_unrelated) {
            (flow, true) => {
                let span_ns = updates.last().map_or(0, |update| update.time_ns + 1);
                flow.updates(seed.wrapping_add(APART / 2), span_ns)
            }
            (_, false) => updates.into(),
        };
        let mut feed = second_feed(scenario, updates, seed)?;
        let mut shown: Vec<ShownUpdate> = Vec::new();
        let mut numbers = [Series::new(), Series::new()];
        for (update, number) in other.iter().zip(1..) {
            numbers[0].push(update.time_ns as i64, number);
            if let Fate::Shown { delay_ns, .. } = feed.push(update, &mut shown) {
                numbers[1].push(update.time_ns as i64 + delay_ns, number);
            }
        }
        feed.finish(&mut shown);
        let first = series_of(updates.iter().copied());
        let second = series_of(shown.iter().map(|shown| shown.update));
        let values = first.into_iter().zip(second).map(|(first, second)| [first, second]);
        let all = if matches!(scenario.flow, Flow::Clusters { .. }) { 1 } else { 4 };
        Ok(Self { values: values.take(all).collect(), numbers: vec![numbers] })
    }

    pub(super) fn series(&self, is_by_number: bool) -> &[[Series; 2]] {
        if is_by_number { &self.numbers } else { &self.values }
    }
}

fn second_feed(
    scenario: &Scenario,
    updates: &[QuoteUpdate],
    seed: u64,
) -> Result<SecondFeed, SpecError> {
    let spec: SecondFeedSpec = scenario.feed.parse()?;
    Ok(SecondFeed::new(spec, seed, updates.first().map_or(0, |first| first.time_ns)))
}

/// The sizes and prices of both sides, each change with the attributes that change with it.
fn series_of(updates: impl Iterator<Item = QuoteUpdate>) -> [Series; 4] {
    let mut series = [const { None }; 4].map(|_: Option<()>| Series::new());
    let mut before = None;
    for QuoteUpdate { time_ns, quote, .. } in updates {
        let Quote { bid_price, bid_shares, offer_price, offer_shares } = quote;
        let values = [bid_shares, bid_price, offer_shares, offer_price].map(i64::from);
        let is_new = |at: usize| before.is_none_or(|before: [i64; 4]| before[at] != values[at]);
        let mark = (0..4).map(|at| u8::from(is_new(at)) << at).sum();
        for (series, value) in series.iter_mut().zip(values) {
            series.push_marked(time_ns as i64, value, mark);
        }
        before = Some(values);
    }
    series
}

/// The delays of updates over many draws of the noise.
#[derive(Clone)]
pub(super) struct Truths {
    /// Time and delay.
    delays: std::sync::Arc<[(i64, i64)]>,
    from_ns: i64,
    until_ns: i64,
}

impl Truths {
    pub(super) fn new(
        scenario: &Scenario,
        updates: &[QuoteUpdate],
        seed: u64,
    ) -> Result<Self, SpecError> {
        let (mut delays, mut shown) = (Vec::new(), Vec::new());
        for draw in 1..=DRAWS {
            let seed = seed.wrapping_add(draw.wrapping_mul(APART));
            let mut feed = second_feed(scenario, updates, seed)?;
            for update in updates {
                shown.clear();
                if let Fate::Shown { delay_ns, .. } = feed.push(update, &mut shown) {
                    delays.push((update.time_ns as i64, delay_ns));
                }
            }
        }
        let ends = updates.first().zip(updates.last());
        let (from_ns, until_ns) =
            ends.map_or((0, 0), |(first, last)| (first.time_ns as i64, last.time_ns as i64));
        Ok(Self { delays: delays.into(), from_ns, until_ns })
    }

    /// The median delay of each window, by its first moment. The first window has what was before
    /// the feeds began, and the last one may be cut.
    pub(super) fn of_windows(&self, window_ns: u64) -> BTreeMap<i64, f64> {
        let window_ns = window_ns as i64;
        let mut windows: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for &(time_ns, delay_ns) in &*self.delays {
            let from_ns = time_ns.div_euclid(window_ns) * window_ns;
            if from_ns > self.from_ns && from_ns + window_ns <= self.until_ns {
                windows.entry(from_ns).or_default().push(delay_ns);
            }
        }
        let median = |mut delays: Vec<i64>| {
            let middle = delays.len() / 2;
            *delays.select_nth_unstable(middle).1 as f64
        };
        windows.into_iter().map(|(from_ns, delays)| (from_ns, median(delays))).collect()
    }
}
