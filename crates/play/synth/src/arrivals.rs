//! Arrival times of messages: counts for each second of the day, then bursts within each second.
//!
//! Each second of the day gets a whole number of messages: the activity curve times noise. Within a
//! second, messages come in dense clusters with pauses between. One bin is special: the first
//! instants after the close, with more than two million messages a second. A smaller day has a
//! shorter peak, not a lower one.
//!
//! Bounds: one bin is in memory at a time.

use super::{
    calendar::{self, CLOSE, END_OF_MESSAGES, SECOND, START_OF_SYSTEM_HOURS},
    rng::Rng,
};

/// Share of the day's messages in the peak at the close.
const PEAK_SHARE: f64 = 0.012;
/// Mean distance of messages in the peak: 2.4 million a second.
const PEAK_GAP: u64 = 416;
/// The longest peak, for any size of day.
const PEAK_LENGTH_MAX: u64 = 60_000_000;

/// Gaps below this are hard for a feed handler; one gap in a hundred is.
const SHORT_GAP: u64 = 300;
/// Chance of such a gap inside a cluster.
const SHORT_IN_CLUSTER: f64 = 0.0125;
/// Chance of such a gap in the peak.
const SHORT_IN_PEAK: f64 = 0.12;
/// Chance that a message is followed by another of its cluster.
const CLUSTER_GOES_ON: f64 = 0.7;
/// The longest gap inside a cluster.
const CLUSTER_GAP_MAX: u64 = 60_000;

/// An interval of the day and the number of messages in it.
#[derive(Clone, Copy, Debug)]
struct Bin {
    start: u64,
    length: u64,
    count: u64,
}

/// The arrival time of one message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    /// Nanoseconds since midnight.
    pub(super) time: u64,
    /// Whether it closely follows the message before.
    pub(super) in_cluster: bool,
}

/// All slots of the day in order.
#[derive(Debug)]
pub(super) struct Arrivals {
    bins: Vec<Bin>,
    next_bin: usize,
    /// The current bin's slots, last first.
    slots: Vec<Slot>,
    rng: Rng,
}

impl Arrivals {
    /// Lays out exactly `count` slots between the start of system hours and the end of the day.
    pub(super) fn new(count: u64, mut rng: Rng) -> Self {
        let bins = lay_out(count, &mut rng);
        let mut arrivals = Self { bins, next_bin: 0, slots: Vec::new(), rng };
        arrivals.refill();
        arrivals
    }

    /// Number of slots before `time`, which must be a whole second.
    pub(super) fn count_before(&self, time: u64) -> u64 {
        self.bins.iter().take_while(|bin| bin.start < time).map(|bin| bin.count).sum()
    }

    /// The next slot, without taking it.
    #[inline]
    pub(super) fn peek(&self) -> Option<Slot> {
        self.slots.last().copied()
    }

    /// Moves on to the next slot.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.slots.pop();
        if self.slots.is_empty() {
            self.refill();
        }
    }

    fn refill(&mut self) {
        while self.slots.is_empty() && self.next_bin < self.bins.len() {
            let bin = self.bins[self.next_bin];
            self.next_bin += 1;
            fill(bin, &mut self.slots, &mut self.rng);
        }
    }
}

fn lay_out(count: u64, rng: &mut Rng) -> Vec<Bin> {
    let peak_length = ((count as f64 * PEAK_SHARE) as u64 * PEAK_GAP).min(PEAK_LENGTH_MAX);
    let peak_count = peak_length / PEAK_GAP;
    let seconds = START_OF_SYSTEM_HOURS / SECOND..END_OF_MESSAGES / SECOND;
    let weights: Vec<f64> = seconds
        .clone()
        .map(|second| {
            // Every second has noise, and one in two hundred is several times as busy.
            let noise = 0.5 + 0.5 * rng.exponential();
            let news = if rng.chance(0.005) { 3.0 } else { 1.0 };
            calendar::activity(second) * noise * news
        })
        .collect();
    let total: f64 = weights.iter().sum();
    let rest = (count - peak_count) as f64;
    let (mut bins, mut so_far, mut placed) = (Vec::with_capacity(weights.len() + 1), 0.0, 0);
    for (second, weight) in seconds.zip(weights) {
        so_far += weight;
        // Rounded to the nearest. Otherwise the messages of a very small day would all come after
        // the end of system hours, when only deletes are allowed.
        let until = ((rest * so_far / total + 0.5) as u64).min(count - peak_count);
        let (mut start, mut length) = (second * SECOND, SECOND);
        if start == CLOSE && peak_count > 0 {
            bins.push(Bin { start, length: peak_length, count: peak_count });
            start += peak_length;
            length -= peak_length;
        }
        bins.push(Bin { start, length, count: until - placed });
        placed = until;
    }
    debug_assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), count);
    bins
}

/// Places the messages of a bin. Each keeps a minimum distance from the one before, and the rest of
/// the bin is divided among the pauses.
fn fill(bin: Bin, slots: &mut Vec<Slot>, rng: &mut Rng) {
    let mean = bin.length / (bin.count + 1);
    let dense = mean < 4 * SHORT_GAP;
    let longest = mean.clamp(2 * SHORT_GAP, CLUSTER_GAP_MAX);
    let mut gaps: Vec<(u64, f64)> = Vec::with_capacity(bin.count as usize + 1);
    for place in 0..bin.count {
        let gap = if dense {
            let short = rng.chance(SHORT_IN_PEAK);
            if short {
                (rng.between(40, SHORT_GAP - 1), 0.0)
            } else {
                (SHORT_GAP, rng.exponential())
            }
        } else if place > 0 && rng.chance(CLUSTER_GOES_ON) {
            if rng.chance(SHORT_IN_CLUSTER) {
                (rng.between(40, SHORT_GAP - 1), 0.0)
            } else {
                (rng.log_uniform(SHORT_GAP, longest), 0.0)
            }
        } else {
            (SHORT_GAP, rng.exponential())
        };
        gaps.push(gap);
    }
    // The rest of the bin after its last message.
    gaps.push((0, rng.exponential()));
    let (least, pauses) =
        gaps.iter().fold((0, 0.0), |(l, p), &(least, pause)| (l + least, p + pause));
    let stretch = bin.length.saturating_sub(least) as f64 / pauses;
    // In a bin that is too full for its minimum distances, all shrink.
    let squeeze = if least > bin.length { bin.length as f64 / least as f64 } else { 1.0 };
    let mut since = 0.0;
    for &(least, pause) in &gaps[..bin.count as usize] {
        since += least as f64 * squeeze + pause * stretch;
        let time = bin.start + (since as u64).min(bin.length - 1);
        slots.push(Slot { time, in_cluster: pause == 0.0 });
    }
    slots.reverse();
}

#[cfg(test)]
mod tests {
    use super::{super::calendar::END_OF_SYSTEM_HOURS, *};

    #[test]
    fn every_slot_is_placed_once_and_in_order() {
        for count in [0, 1, 2, 3, 100, 12_345, 500_000] {
            let mut arrivals = Arrivals::new(count, Rng::new(count, 0));
            let before_end = arrivals.count_before(END_OF_SYSTEM_HOURS);
            let (mut seen, mut last, mut seen_before_end) = (0, START_OF_SYSTEM_HOURS, 0);
            while let Some(slot) = arrivals.peek() {
                assert!(slot.time >= last && slot.time < END_OF_MESSAGES);
                last = slot.time;
                seen += 1;
                seen_before_end += u64::from(slot.time < END_OF_SYSTEM_HOURS);
                arrivals.advance();
            }
            assert_eq!((seen, seen_before_end), (count, before_end));
        }
    }
}
