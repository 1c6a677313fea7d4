//! Shared parts of the commands about journals: options of an appender, and errors.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use nanotape_journal::{AppenderOptions, Recovery, SyncPolicy};
use nanotape_plant::config::{Roll, parse_sync_policy};

use crate::{
    status::warn,
    values::{bytes, mode},
};

/// The options of an appender.
#[derive(Args, Clone, Debug)]
pub(crate) struct AppenderArguments {
    /// Folder of the journal; created if missing, with those above it
    #[arg(value_name = "JOURNAL")]
    pub(crate) journal: PathBuf,

    /// Bytes of a segment, a multiple of 4096
    #[arg(long, value_name = "BYTES", default_value = "64MiB", value_parser = bytes)]
    pub(crate) segment: usize,

    /// When to start a new segment although the last one is not full: size (never), minute, hour,
    /// day, a period (15m), or the days of a time zone (day@America/New_York)
    #[arg(long, value_name = "CYCLE", default_value = "day")]
    pub(crate) roll: Roll,

    /// When to sync excerpts to disk: never, batch (after each one), after a number of them, or at
    /// an interval (10ms)
    #[arg(long, value_name = "POLICY", default_value = "never", value_parser = parse_sync_policy)]
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
            roll_cycle: self.roll.cycle(),
            roll_times: self.roll.times(),
            sync: self.sync,
            ahead_bytes: self.ahead as u64,
            large_pages: !self.small_pages,
            mode: self.mode,
            ..AppenderOptions::default()
        }
    }
}

/// Creates the folders above that of a journal, which its appender creates.
pub(crate) fn make_parents(journal: &Path) {
    if let Some(parent) = journal.parent() {
        // If this fails, so does the appender, with a message that names the folder.
        let _ = fs::create_dir_all(parent);
    }
}

/// Reports what an appender recovered, unless the journal ended normally.
pub(crate) fn report_recovery(journal: &Path, recovery: &Recovery) {
    let journal = journal.display();
    if recovery.bytes_pruned > 0 {
        let bytes = recovery.bytes_pruned;
        warn(format_args!(
            "{journal}: the last appender did not commit its last {bytes} bytes; they were removed"
        ));
    }
    for cut in &recovery.quarantined {
        warn(format_args!(
            "{journal}: segment {}: the machine crashed before the bytes from offset {} on were on \
             disk; moved {} bytes to {}",
            cut.segment,
            cut.offset,
            cut.bytes,
            cut.path.display()
        ));
    }
}
