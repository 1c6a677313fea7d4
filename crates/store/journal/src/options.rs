//! The options of an appender.

use std::{sync::Arc, time::Duration};

use crate::{
    OptionsError,
    segment::layout::{Layout, MAX_SEGMENT_BYTES, MIN_SEGMENT_BYTES},
};

/// The settings of an appender. Existing segments of a journal stay unchanged; new ones get these
/// settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AppenderOptions {
    /// Length of a segment's file, a multiple of 4096. A segment that is full is followed by the
    /// next, whatever the cycle. The longest payload is a little less.
    pub segment_bytes: u64,
    /// When a new segment begins before the last one is full.
    pub roll_cycle: RollCycle,
    /// Further times at which a new segment begins. They are not stored: every appender of a
    /// journal has to give them again.
    pub roll_times: RollTimes,
    /// When excerpts are forced to the disk.
    pub sync: SyncPolicy,
    /// Bytes ahead of the appender that a thread brings into memory, so that appends take no page
    /// faults. Should cover what is written in some milliseconds at the highest rate.
    /// Prepared segments take at most a quarter of the files that the process can have open.
    pub ahead_bytes: u64,
    /// Whether to request large pages for new segments on tmpfs. These are allocated in half the
    /// time, whatever the system's setting for shared memory. Not used where they would take
    /// longer.
    pub large_pages: bool,
    /// Permission bits of the files, exactly these whatever the umask. 0600 by default: the
    /// operator decides which users can read.
    pub mode: u32,
    /// Whether threads prepare the next segment, and sync at intervals if that is the policy.
    /// Without them, an append that finds its segment full also creates the next one, and waits for
    /// that.
    pub has_pretoucher: bool,
}

impl Default for AppenderOptions {
    fn default() -> Self {
        Self {
            segment_bytes: 64 << 20,
            roll_cycle: RollCycle::Day,
            roll_times: RollTimes::default(),
            sync: SyncPolicy::Never,
            ahead_bytes: 8 << 20,
            large_pages: true,
            mode: 0o600,
            has_pretoucher: true,
        }
    }
}

impl AppenderOptions {
    /// The layout of new segments, if all options are valid.
    pub(crate) fn layout(&self) -> Result<Layout, OptionsError> {
        let bytes = self.segment_bytes;
        let (min, max) = (MIN_SEGMENT_BYTES, MAX_SEGMENT_BYTES);
        let layout = Layout::new(bytes, Layout::usual_block_bytes(bytes))
            .ok_or(OptionsError::SegmentBytes { bytes, min, max })?;
        if self.roll_cycle == RollCycle::EveryNs(0) {
            return Err(OptionsError::NoCycle);
        }
        if matches!(self.sync, SyncPolicy::Every(_)) && !self.has_pretoucher {
            return Err(OptionsError::NoPretoucher);
        }
        if matches!(self.sync, SyncPolicy::Excerpts(0) | SyncPolicy::Every(Duration::ZERO)) {
            return Err(OptionsError::SyncNothing);
        }
        Ok(layout)
    }
}

/// When a new segment begins before the last one is full. Cycles use the times of excerpts. They
/// begin at multiples of their length since the UNIX epoch, in UTC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum RollCycle {
    /// Never: by size only.
    Size,
    /// Every minute that has an excerpt.
    Minute,
    /// Every hour.
    Hour,
    /// Every day.
    #[default]
    Day,
    /// Every given number of nanoseconds, not 0.
    EveryNs(u64),
}

impl RollCycle {
    /// The length of the cycle; 0 without cycles.
    pub fn length_ns(self) -> u64 {
        const SECOND_NS: u64 = 1_000_000_000;
        match self {
            Self::Size => 0,
            Self::Minute => 60 * SECOND_NS,
            Self::Hour => 3_600 * SECOND_NS,
            Self::Day => 86_400 * SECOND_NS,
            Self::EveryNs(length) => length,
        }
    }
}

/// Times at which a new segment begins, in ns since the UNIX epoch: for cycles of no fixed length,
/// such as the days of a time zone that changes its clocks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RollTimes(Arc<[u64]>);

impl RollTimes {
    /// These times, in any order. After the last one, no segment begins because of its time.
    pub fn new(times: impl IntoIterator<Item = u64>) -> Self {
        let mut times: Vec<u64> = times.into_iter().collect();
        times.sort_unstable();
        Self(times.into())
    }

    /// The last time of the period that contains `ts_ns`.
    pub(crate) fn last_ns(&self, ts_ns: u64) -> u64 {
        let next = self.0.partition_point(|&begin| begin <= ts_ns);
        self.0.get(next).map_or(u64::MAX, |&begin| begin - 1)
    }
}

/// When excerpts are forced to the disk. If the appender is killed, no policy loses anything that
/// was committed. The policies differ in what a loss of power can lose.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum SyncPolicy {
    /// Never, except for calls of `sync`. Data that the kernel has not written by itself can be
    /// lost, by default about half a minute of it.
    #[default]
    Never,
    /// At this interval, by a thread, while there is something new. Excerpts committed since the
    /// last sync can be lost. An append never waits. The next append returns the error of a failed
    /// sync. Every append returns an error if the thread ended, or if excerpts were lost from
    /// memory after a failed sync.
    Every(Duration),
    /// After this many excerpts, before the append of the last one returns: fewer can be lost.
    Excerpts(u64),
    /// Before an append, or the commit of a batch, returns: nothing can be lost after that.
    Batch,
}

impl SyncPolicy {
    /// The number of excerpts after which an append syncs.
    pub(crate) fn excerpts(self) -> u64 {
        match self {
            Self::Never | Self::Every(_) => u64::MAX,
            Self::Excerpts(count) => count,
            Self::Batch => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_ends_before_the_next_time() {
        let times = RollTimes::new([300, 100, 100]);
        for (ts_ns, last_ns) in [(0, 99), (99, 99), (100, 299), (299, 299), (300, u64::MAX)] {
            assert_eq!(times.last_ns(ts_ns), last_ns, "{ts_ns}");
        }
        assert_eq!(RollTimes::default().last_ns(7), u64::MAX);
        assert_eq!(RollTimes::new([0]).last_ns(0), u64::MAX);
    }

    #[test]
    fn what_cannot_be_is_refused_and_said_why() {
        let refused = |options: AppenderOptions| options.layout().err();
        let usual = AppenderOptions::default;
        assert_eq!(refused(usual()), None);
        let bytes = 4096 + 1;
        let (min, max) = (MIN_SEGMENT_BYTES, MAX_SEGMENT_BYTES);
        let uneven = AppenderOptions { segment_bytes: bytes, ..usual() };
        assert_eq!(refused(uneven), Some(OptionsError::SegmentBytes { bytes, min, max }));
        let no_cycle = AppenderOptions { roll_cycle: RollCycle::EveryNs(0), ..usual() };
        assert_eq!(refused(no_cycle), Some(OptionsError::NoCycle));
        let sync = SyncPolicy::Every(Duration::from_millis(5));
        assert_eq!(refused(AppenderOptions { sync, ..usual() }), None);
        let alone = AppenderOptions { sync, has_pretoucher: false, ..usual() };
        assert_eq!(refused(alone), Some(OptionsError::NoPretoucher));
        for sync in [SyncPolicy::Excerpts(0), SyncPolicy::Every(Duration::ZERO)] {
            let nothing = AppenderOptions { sync, ..usual() };
            assert_eq!(refused(nothing), Some(OptionsError::SyncNothing));
        }
    }
}
