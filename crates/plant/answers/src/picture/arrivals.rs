//! Messages in time, at four scales: the day, its busiest minute, the busiest second of that, and
//! the busiest 10 ms of that.
//!
//! Which second is the busiest is known when its minute is over. So the seconds that are open, the
//! busiest one of the open minute, and the busiest one of the busiest minute keep their messages by
//! 10 us; nothing else does. All counts are exact.
//!
//! Times can be out of order by the skew of a venue, a second at most. So two seconds are open. A
//! message that is later than that counts for the day only, and is reported.

/// The seconds that are counted: those of four days. Times of messages have no bound.
pub const DAY_SECONDS: u64 = 4 * 86_400;

const SECOND_NS: u64 = 1_000_000_000;
const MINUTE_SECONDS: u64 = 60;

/// The finest bin of a second.
const FINE_NS: u64 = 10_000;
const FINE_BINS: usize = (SECOND_NS / FINE_NS) as usize;

/// The bins of the scale of a minute and of a second, in [`FINE_NS`].
const MINUTE_BIN: usize = 10_000;
const SECOND_BIN: usize = 100;

/// The finest scale has this many of the finest bins: 10 ms.
const FINEST_WINDOW: usize = 1_000;

/// Bins of the scale of the day, at most; they are as long as one of [`DAY_BINS`] says.
const MOST_DAY_BINS: u64 = 1_200;
const DAY_BINS: [u64; 11] = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900];

/// Messages in bins of equal length, of one window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scale {
    /// The beginning, in ns since midnight.
    pub begins_ns: u64,
    /// The length of a bin.
    pub bin_ns: u64,
    /// Messages in each bin.
    pub counts: Vec<u64>,
}

/// Messages in time.
#[derive(Default, Debug)]
pub struct Arrivals {
    /// By second of the day, up to the last one with a message.
    seconds: Vec<u64>,
    /// The latest second, and the one before it.
    open: [Second; 2],
    minute: Minute,
    busiest: Minute,
    /// Messages that are more than the open seconds behind an earlier one.
    late: u64,
}

/// The messages of a second in bins of [`FINE_NS`].
#[derive(Debug)]
struct Second {
    number: u64,
    messages: u64,
    bins: Vec<u32>,
    /// The bins with a message: a second of a few messages is emptied without all others.
    used: Vec<u32>,
}

/// The messages of a minute in bins of [`MINUTE_BIN`], and its busiest second.
#[derive(Debug)]
struct Minute {
    number: u64,
    messages: u64,
    bins: Vec<u64>,
    busiest: Second,
}

/// Whether a time of day is among those that are counted.
#[inline]
pub(super) fn is_in_time(nanos: u64) -> bool {
    nanos < DAY_SECONDS * SECOND_NS
}

/// Counts one in the second of a time.
#[inline]
pub(super) fn count_second(seconds: &mut Vec<u64>, nanos: u64) {
    let second = (nanos / SECOND_NS) as usize;
    if second >= seconds.len() {
        seconds.resize(second + 1, 0);
    }
    seconds[second] += 1;
}

impl Arrivals {
    /// Counts a message at a time that is [in time](is_in_time).
    #[inline]
    pub(super) fn message(&mut self, nanos: u64) {
        count_second(&mut self.seconds, nanos);
        let (second, within) = (nanos / SECOND_NS, nanos % SECOND_NS);
        let bin = (within / FINE_NS) as usize;
        if second > self.open[0].number {
            self.begin(second);
        }
        match &mut self.open {
            [latest, _] if latest.number == second => latest.add(bin),
            [_, before] if before.number == second => before.add(bin),
            _ => self.late += 1,
        }
    }

    /// Messages of each second of the day, up to the last one with a message.
    pub fn seconds(&self) -> &[u64] {
        &self.seconds
    }

    /// Messages that came more than a second after a later one: they are in the scale of the day
    /// only.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Counts the seconds that are open. Call once, after the last message.
    pub(super) fn finish(&mut self) {
        let [latest, before] = &mut self.open;
        self.minute.take(before, &mut self.busiest);
        self.minute.take(latest, &mut self.busiest);
        self.minute.end(&mut self.busiest);
    }

    /// The scale of the day, in bins of whole seconds.
    pub fn day(&self) -> Option<Scale> {
        day_scale(&self.seconds, &self.seconds)
    }

    /// The busiest minute of the day, the busiest second of that minute, and the busiest 10 ms of
    /// that second: the first one of equals. `None` without messages.
    pub fn zoomed(&self) -> Option<[Scale; 3]> {
        let Minute { number, messages, bins, busiest } = &self.busiest;
        if *messages == 0 {
            return None;
        }
        let fine = &busiest.bins;
        let sums = |bins: &[u32], size: usize| -> Vec<u64> {
            bins.chunks(size).map(|bins| bins.iter().map(|&count| u64::from(count)).sum()).collect()
        };
        let windows = sums(fine, FINEST_WINDOW);
        let most = windows.iter().max().copied().unwrap_or_default();
        let window = windows.iter().position(|&count| count == most).unwrap_or_default();
        let first = window * FINEST_WINDOW;
        let second_ns = busiest.number * SECOND_NS;
        Some([
            Scale {
                begins_ns: number * MINUTE_SECONDS * SECOND_NS,
                bin_ns: MINUTE_BIN as u64 * FINE_NS,
                counts: bins.clone(),
            },
            Scale {
                begins_ns: second_ns,
                bin_ns: SECOND_BIN as u64 * FINE_NS,
                counts: sums(fine, SECOND_BIN),
            },
            Scale {
                begins_ns: second_ns + first as u64 * FINE_NS,
                bin_ns: FINE_NS,
                counts: sums(&fine[first..first + FINEST_WINDOW], 1),
            },
        ])
    }

    /// Opens a later second than the latest, and the one before it.
    #[cold]
    #[inline(never)]
    fn begin(&mut self, second: u64) {
        let [latest, before] = &mut self.open;
        self.minute.take(before, &mut self.busiest);
        if latest.number + 1 == second {
            core::mem::swap(latest, before);
        } else {
            self.minute.take(latest, &mut self.busiest);
            before.empty(second - 1);
        }
        latest.empty(second);
    }
}

/// Counts of seconds in the bins of the scale of a day, from the first to the last second of
/// `all` that has a message.
pub fn day_scale(all: &[u64], counts: &[u64]) -> Option<Scale> {
    let first = all.iter().position(|&count| count > 0)? as u64;
    let last = all.len() as u64 - 1;
    let fits = |bin: &u64| last / bin - first / bin < MOST_DAY_BINS;
    let bin = DAY_BINS.into_iter().find(fits).unwrap_or(DAY_BINS[DAY_BINS.len() - 1]);
    let sum = |place: u64| {
        let from = (place * bin).min(counts.len() as u64);
        let to = ((place + 1) * bin).min(counts.len() as u64);
        counts[from as usize..to as usize].iter().sum()
    };
    Some(Scale {
        begins_ns: first / bin * bin * SECOND_NS,
        bin_ns: bin * SECOND_NS,
        counts: (first / bin..=last / bin).map(sum).collect(),
    })
}

impl Default for Second {
    fn default() -> Self {
        Self { number: 0, messages: 0, bins: vec![0; FINE_BINS], used: Vec::new() }
    }
}

impl Second {
    #[inline]
    fn add(&mut self, bin: usize) {
        if self.bins[bin] == 0 {
            self.used.push(bin as u32);
        }
        self.bins[bin] = self.bins[bin].saturating_add(1);
        self.messages += 1;
    }

    fn empty(&mut self, number: u64) {
        for bin in self.used.drain(..) {
            self.bins[bin as usize] = 0;
        }
        (self.number, self.messages) = (number, 0);
    }
}

impl Default for Minute {
    fn default() -> Self {
        let bins = MINUTE_SECONDS as usize * FINE_BINS / MINUTE_BIN;
        Self { number: 0, messages: 0, bins: vec![0; bins], busiest: Second::default() }
    }
}

impl Minute {
    /// Takes a second that is over; the minute before it is over too if it is of another one.
    /// Seconds come in order.
    fn take(&mut self, second: &mut Second, busiest: &mut Self) {
        if second.messages == 0 {
            return;
        }
        let number = second.number / MINUTE_SECONDS;
        if number != self.number {
            self.end(busiest);
            self.number = number;
        }
        let first = (second.number % MINUTE_SECONDS) as usize * (FINE_BINS / MINUTE_BIN);
        for &bin in &second.used {
            let count = second.bins[bin as usize];
            self.bins[first + bin as usize / MINUTE_BIN] += u64::from(count);
        }
        self.messages += second.messages;
        if second.messages > self.busiest.messages {
            core::mem::swap(second, &mut self.busiest);
        }
        second.empty(0);
    }

    /// Ends the minute: it is the busiest one if it has more messages than that.
    fn end(&mut self, busiest: &mut Self) {
        if self.messages > busiest.messages {
            core::mem::swap(self, busiest);
        }
        self.messages = 0;
        self.bins.fill(0);
        self.busiest.empty(0);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use nanotape_harness::Random;

    use super::*;

    /// The first window of a length with the most of these times, and those in it.
    fn busiest(times: &[u64], length: u64) -> (u64, Vec<u64>) {
        let mut windows: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        times.iter().for_each(|time| windows.entry(time / length).or_default().push(*time));
        let most = windows.values().map(Vec::len).max().unwrap();
        windows.into_iter().find(|(_, times)| times.len() == most).unwrap()
    }

    fn scale(begins_ns: u64, bin_ns: u64, bins: usize, times: &[u64]) -> Scale {
        let mut counts = vec![0; bins];
        times.iter().for_each(|time| counts[((time - begins_ns) / bin_ns) as usize] += 1);
        Scale { begins_ns, bin_ns, counts }
    }

    #[test]
    fn scales_of_times_that_are_out_of_order_are_those_of_sorted_ones() {
        let mut random = Random::new(11);
        for round in 0..40_u64 {
            let mut arrivals = Arrivals::default();
            let (mut now, mut latest) = (round * 977 * SECOND_NS, 0);
            let (mut times, mut late) = (Vec::new(), 0);
            for _ in 0..4_000 {
                // Quiet times, ordinary ones, and bursts.
                let longest = [100 * SECOND_NS, SECOND_NS, 90_000][random.index(3)];
                now += random.below(longest);
                let behind = if random.index(500) == 0 { 5 * SECOND_NS } else { SECOND_NS };
                let time = now.saturating_sub(random.below(behind));
                latest = latest.max(time / SECOND_NS);
                arrivals.message(time);
                if time / SECOND_NS + 1 < latest {
                    late += 1;
                } else {
                    times.push(time);
                }
            }
            arrivals.finish();
            assert_eq!((arrivals.late(), arrivals.seconds().iter().sum()), (late, 4_000_u64));
            let (minute, in_minute) = busiest(&times, 60 * SECOND_NS);
            let (second, in_second) = busiest(&in_minute, SECOND_NS);
            let (window, in_window) = busiest(&in_second, SECOND_NS / 100);
            let expected = [
                scale(minute * 60 * SECOND_NS, SECOND_NS / 10, 600, &in_minute),
                scale(second * SECOND_NS, SECOND_NS / 1_000, 1_000, &in_second),
                scale(window * SECOND_NS / 100, 10_000, 1_000, &in_window),
            ];
            assert_eq!(arrivals.zoomed().as_ref(), Some(&expected), "round {round}");
        }
    }

    #[test]
    fn a_day_without_messages_has_no_scales() {
        let mut arrivals = Arrivals::default();
        arrivals.finish();
        assert_eq!((arrivals.day(), arrivals.zoomed()), (None, None));
    }

    #[test]
    fn the_bins_of_a_day_are_as_many_as_fit() {
        let mut seconds = vec![0; DAY_SECONDS as usize];
        for (first, last, bin, bins) in [
            (0, 0, 1, 1),
            (34_200, 35_399, 1, 1_200),
            (34_200, 35_400, 2, 601),
            (14_400, 72_000, 60, 961),
            (0, DAY_SECONDS - 1, 300, 1_152),
        ] {
            seconds.fill(0);
            (seconds[first as usize], seconds[last as usize]) = (3, 3);
            let scale = day_scale(&seconds[..=last as usize], &seconds).unwrap();
            assert_eq!((scale.bin_ns, scale.counts.len()), (bin * SECOND_NS, bins));
            assert_eq!(scale.counts.iter().sum::<u64>(), if first == last { 3 } else { 6 });
        }
    }
}
