//! Time lost in slices of equal length.

use std::time::Duration;

/// The time of the gaps in each whole slice of a measurement of `watched_ns`, in ns. Gaps are
/// pairs of a begin and an end since the start, in order.
pub(super) fn lost_in_slices(watched_ns: u64, gaps: &[(u64, u64)], slice: Duration) -> Vec<f64> {
    let slice_ns = u64::try_from(slice.as_nanos()).unwrap_or(u64::MAX).max(1);
    let count = watched_ns / slice_ns;
    let mut lost = vec![0_u64; usize::try_from(count).unwrap_or(0)];
    for &(from, to) in gaps {
        let (first, last) = (from / slice_ns, to / slice_ns);
        for index in first..=last.min(count.saturating_sub(1)) {
            let (begin, end) = (index * slice_ns, (index + 1) * slice_ns);
            if let Some(lost) = usize::try_from(index).ok().and_then(|index| lost.get_mut(index)) {
                *lost += to.min(end).saturating_sub(from.max(begin));
            }
        }
    }
    lost.into_iter().map(|nanos| nanos as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLICE: Duration = Duration::from_nanos(100);

    #[test]
    fn a_gap_counts_in_every_slice_that_it_touches() {
        let gaps = [(10, 20), (50, 60), (90, 310), (399, 400)];
        assert_eq!(lost_in_slices(400, &gaps, SLICE), [30.0, 100.0, 100.0, 11.0]);
    }

    #[test]
    fn the_rest_after_the_last_whole_slice_does_not_count() {
        assert_eq!(lost_in_slices(250, &[(190, 250)], SLICE), [0.0, 10.0]);
        assert_eq!(lost_in_slices(99, &[(0, 99)], SLICE), [0.0; 0]);
        assert_eq!(lost_in_slices(100, &[(0, 500)], SLICE), [100.0]);
    }
}
