//! The usual time of each stage: the median of all messages.

use nanotape_trace::Histogram;

/// Values between two reads of the median, which reads the whole histogram.
const REFRESH: u64 = 1024;

#[derive(Debug)]
pub(super) struct Medians {
    sites: Vec<(Histogram, Option<u64>)>,
}

impl Medians {
    pub(super) fn new(sites: usize) -> Self {
        Self { sites: vec![(Histogram::growing(8), None); sites] }
    }

    /// Takes the ticks of a stage.
    pub(super) fn learn(&mut self, site: usize, ticks: u64) {
        let Some((histogram, median)) = self.sites.get_mut(site) else { return };
        histogram.record(ticks);
        let count = histogram.count();
        if count.is_multiple_of(REFRESH) || count.is_power_of_two() {
            *median = histogram.quantile(0.5);
        }
    }

    /// The median in ticks; `None` if the stage did not occur.
    pub(super) fn of(&self, site: usize) -> Option<u64> {
        self.sites.get(site).and_then(|(_, median)| *median)
    }
}
