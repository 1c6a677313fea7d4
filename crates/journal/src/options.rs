//! The options of an appender.

use std::time::Duration;

use crate::{
    OptionsError,
    segment::layout::{Layout, MAX_SEGMENT_BYTES, MIN_SEGMENT_BYTES},
};

/// How an appender works. A journal that is there keeps the segments it has; these are for new
/// ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AppenderOptions {
    /// Length of a segment's file, a multiple of 4096. A segment that is full is followed by the
    /// next, whatever the cycle. The longest payload is a little less.
    pub segment_bytes: u64,
    /// When a new segment begins although the last one is not full.
    pub roll_cycle: RollCycle,
    /// When excerpts are forced to the disk.
    pub sync: SyncPolicy,
    /// How far in front of the appender pages are brought in, by a thread of its own, so that
    /// appending takes no page faults: what is written in some milliseconds at the highest rate.
    pub ahead_bytes: u64,
    /// Whether new segments on tmpfs are asked for in large pages, which come in half the time and
    /// whatever the system's setting for shared memory is. Where they would take longer they are
    /// left alone.
    pub large_pages: bool,
    /// Permission bits of the files, exactly these whatever the umask says. 0600 by default: who
    /// may read is for the operator to say.
    pub mode: u32,
    /// Whether threads of its own prepare the next segment, and sync at intervals if that is the
    /// policy. Without them the append that finds a segment full prepares the next one, and takes
    /// as long as that takes.
    pub has_pretoucher: bool,
}

impl Default for AppenderOptions {
    fn default() -> Self {
        Self {
            segment_bytes: 64 << 20,
            roll_cycle: RollCycle::Day,
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

/// When a new segment begins although the last one is not full. Cycles begin at multiples of their
/// length since the UNIX epoch, in UTC, of the times that excerpts are given.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum RollCycle {
    /// Never: by size only.
    Size,
    /// Every minute in which there is an excerpt.
    Minute,
    /// Every hour.
    Hour,
    /// Every day.
    #[default]
    Day,
    /// Every so many nanoseconds, not 0.
    EveryNs(u64),
}

impl RollCycle {
    /// Its length; 0 for none.
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

/// When excerpts are forced to the disk. What is lost when the appender is killed is the same for
/// all: nothing that was committed. What can be lost with the machine's power is what they differ
/// in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum SyncPolicy {
    /// Never, but for calls of `sync`: what the kernel has not written by itself can be lost, by
    /// default about half a minute of it.
    #[default]
    Never,
    /// So often, by a thread of its own, while there is something new: what was committed since can
    /// be lost. An append never waits. The next append returns the error of a sync that failed;
    /// every append returns an error if the thread ended, or if excerpts were lost from memory
    /// after a sync that failed.
    Every(Duration),
    /// When so many were committed, before the append of the last one returns: fewer can be lost.
    Excerpts(u64),
    /// Before an append, or the commit of a batch, returns: nothing that was returned for can be
    /// lost.
    Batch,
}

impl SyncPolicy {
    /// After how many excerpts an append syncs.
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
