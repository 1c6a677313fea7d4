//! Shared parts of the commands about journals: options of an appender, and errors.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use nanotape_journal::{AppenderOptions, ErrorKind, JournalError, Recovery, RollCycle, SyncPolicy};

use crate::{
    regions::of_region,
    status::{BadData, tell},
    values::{bytes, duration, mode},
};

/// Damage in the files is bad data; other errors belong to the environment.
pub(crate) fn of_journal(error: JournalError) -> anyhow::Error {
    match error.kind() {
        ErrorKind::Region(error) => of_region(error),
        ErrorKind::Damaged { .. } | ErrorKind::Packed { .. } => BadData(error.to_string()).into(),
        _ => anyhow::anyhow!("{error}"),
    }
}

/// The options of an appender.
#[derive(Args, Clone, Debug)]
pub(crate) struct AppenderArguments {
    /// Folder of the journal; created if missing
    #[arg(value_name = "JOURNAL")]
    pub(crate) journal: PathBuf,

    /// Bytes of a segment, a multiple of 4096
    #[arg(long, value_name = "BYTES", default_value = "64MiB", value_parser = bytes)]
    pub(crate) segment: usize,

    /// When to start a new segment although the last one is not full: size (never), minute, hour,
    /// day, or a period (15m)
    #[arg(long, value_name = "CYCLE", default_value = "day", value_parser = roll_cycle)]
    pub(crate) roll: RollCycle,

    /// When to sync excerpts to disk: never, batch (after each one), after a number of them, or at
    /// an interval (10ms)
    #[arg(long, value_name = "POLICY", default_value = "never", value_parser = sync_policy)]
    pub(crate) sync: SyncPolicy,

    /// Bytes ahead of the appender to bring into memory
    #[arg(long, value_name = "BYTES", default_value = "8MiB", value_parser = bytes)]
    pub(crate) ahead: usize,

    /// Do not use huge pages in /dev/shm
    #[arg(long)]
    pub(crate) small_pages: bool,

    /// Permissions of new files: 0600 is this user only, 0644 lets all users read
    #[arg(long, value_name = "OCTAL", default_value = "0600", value_parser = mode)]
    pub(crate) mode: u32,
}

impl AppenderArguments {
    pub(crate) fn options(&self) -> AppenderOptions {
        AppenderOptions {
            segment_bytes: self.segment as u64,
            roll_cycle: self.roll,
            sync: self.sync,
            ahead_bytes: self.ahead as u64,
            large_pages: !self.small_pages,
            mode: self.mode,
            ..AppenderOptions::default()
        }
    }
}

fn roll_cycle(text: &str) -> Result<RollCycle, String> {
    Ok(match text {
        "size" => RollCycle::Size,
        "minute" => RollCycle::Minute,
        "hour" => RollCycle::Hour,
        "day" => RollCycle::Day,
        _ => match duration(text).map(|time| u64::try_from(time.as_nanos())) {
            Ok(Ok(nanos)) if nanos > 0 => RollCycle::EveryNs(nanos),
            _ => return Err("expected size, minute, hour, day, or a period like 15m".to_owned()),
        },
    })
}

fn sync_policy(text: &str) -> Result<SyncPolicy, String> {
    match (text, text.parse::<u64>()) {
        ("never", _) => Ok(SyncPolicy::Never),
        ("batch", _) => Ok(SyncPolicy::Batch),
        (_, Ok(count)) if count > 0 => Ok(SyncPolicy::Excerpts(count)),
        _ => match duration(text) {
            Ok(time) if time >= Duration::from_millis(1) => Ok(SyncPolicy::Every(time)),
            _ => Err("expected never, batch, a number from 1, or an interval from 1ms".to_owned()),
        },
    }
}

/// Reports what an appender recovered, unless the journal ended normally.
pub(crate) fn tell_recovery(journal: &std::path::Path, recovery: &Recovery) {
    let journal = journal.display();
    if recovery.bytes_pruned > 0 {
        let bytes = recovery.bytes_pruned;
        tell(format_args!(
            "{journal}: the last appender did not commit its last {bytes} bytes; they were removed"
        ));
    }
    for cut in &recovery.quarantined {
        tell(format_args!(
            "{journal}: segment {}: the machine crashed before the bytes from offset {} on were on \
             disk; moved {} bytes to {}",
            cut.segment,
            cut.offset,
            cut.bytes,
            cut.path.display()
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_a_word_or_a_time() {
        assert_eq!(roll_cycle("size"), Ok(RollCycle::Size));
        assert_eq!(roll_cycle("hour"), Ok(RollCycle::Hour));
        assert_eq!(roll_cycle("100ms"), Ok(RollCycle::EveryNs(100_000_000)));
        for bad in ["", "0s", "week", "-1s"] {
            assert!(roll_cycle(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_sync_policy_is_a_word_a_number_or_a_time() {
        assert_eq!(sync_policy("never"), Ok(SyncPolicy::Never));
        assert_eq!(sync_policy("batch"), Ok(SyncPolicy::Batch));
        assert_eq!(sync_policy("64"), Ok(SyncPolicy::Excerpts(64)));
        assert_eq!(sync_policy("10ms"), Ok(SyncPolicy::Every(Duration::from_millis(10))));
        for bad in ["", "0", "0ms", "10us", "always"] {
            assert!(sync_policy(bad).is_err(), "{bad}");
        }
    }
}
