//! The journal of a plant: its options, and what of the run it lacks at the end.

use std::{path::PathBuf, time::Duration};

use anyhow::bail;
use clap::Args;
use nanotape_journal::SyncPolicy;
use nanotape_plant::{
    RecordingError, RecordingSummary,
    config::{Compression, JournalConfig, Roll, parse_sync_policy},
};

use crate::{
    status::{BadData, warn},
    values::{bytes, duration, mode},
};

/// The options of the journal, which override those of the configuration.
#[derive(Args, Debug)]
pub(super) struct JournalArguments {
    /// Record everything in the journal in this folder
    #[arg(long, value_name = "DIR")]
    journal: Option<PathBuf>,

    /// Run the recorder on this processor only
    #[arg(help_heading = "Processors and memory", long, value_name = "N")]
    journal_cpu: Option<u32>,

    /// Bytes of a segment of the journal, a multiple of 4096 [default: 64MiB]
    #[arg(help_heading = "Journal", long, value_name = "BYTES", value_parser = bytes)]
    journal_segment: Option<usize>,

    /// When to start a new segment although the last one is not full: size (never), minute, hour,
    /// day, a period (15m), or the days of a time zone (day@America/New_York) [default: day]
    #[arg(help_heading = "Journal", long, value_name = "CYCLE")]
    journal_roll: Option<Roll>,

    /// When to sync the journal to disk: never, batch (after each excerpt), after a number of them,
    /// or at an interval (10ms) [default: never]
    #[arg(help_heading = "Journal", long, value_name = "POLICY", value_parser = parse_sync_policy)]
    journal_sync: Option<SyncPolicy>,

    /// Permissions of the files of the journal and of its snapshots: 0600 is this user only, 0644
    /// lets all users read [default: 0600]
    #[arg(help_heading = "Journal", long, value_name = "OCTAL", value_parser = mode)]
    journal_mode: Option<u32>,

    /// Compress while recording: never, or rolled (segments after their roll, and snapshots)
    #[arg(help_heading = "Journal", long, value_name = "WHAT")]
    journal_compress: Option<Compression>,

    /// Remove the oldest segments of the journal until all files together have at most BYTES
    #[arg(help_heading = "Journal", long, value_name = "BYTES", value_parser = bytes)]
    journal_keep: Option<usize>,

    /// Remove segments of the journal whose records are all older than AGE (30d)
    #[arg(help_heading = "Journal", long, value_name = "AGE", value_parser = duration)]
    journal_older_than: Option<Duration>,

    /// Also write snapshots of the books beside the journal, in one more process
    #[arg(long)]
    snapshots: bool,

    /// Write the snapshots on this processor only
    #[arg(help_heading = "Processors and memory", long, value_name = "N")]
    snapshot_cpu: Option<u32>,

    /// Never wait for the recorder
    #[arg(long)]
    no_wait: bool,
}

impl JournalArguments {
    /// Overrides the configuration with the options that were given.
    pub(super) fn override_journal(&self, config: &mut Option<JournalConfig>) {
        if let Some(dir) = &self.journal {
            config.get_or_insert_default().dir.clone_from(dir);
        }
        if let Some(journal) = config {
            journal.cpu = self.journal_cpu.or(journal.cpu);
            journal.segment_bytes = self.journal_segment.unwrap_or(journal.segment_bytes);
            if let Some(roll) = &self.journal_roll {
                journal.roll = roll.clone();
            }
            journal.sync = self.journal_sync.unwrap_or(journal.sync);
            journal.mode = self.journal_mode.unwrap_or(journal.mode);
            journal.compress = self.journal_compress.unwrap_or(journal.compress);
            journal.keep = self.journal_keep.map(|bytes| bytes as u64).or(journal.keep);
            journal.older_than = self.journal_older_than.or(journal.older_than);
            journal.wait &= !self.no_wait;
            journal.snapshots |= self.snapshots;
            journal.snapshot_cpu = self.snapshot_cpu.or(journal.snapshot_cpu);
        }
    }

    /// Refuses options of a journal that there is none for.
    pub(super) fn require_folder(&self, config: Option<&JournalConfig>) -> anyhow::Result<()> {
        let given = [
            ("--no-wait", self.no_wait),
            ("--journal-cpu", self.journal_cpu.is_some()),
            ("--journal-segment", self.journal_segment.is_some()),
            ("--journal-roll", self.journal_roll.is_some()),
            ("--journal-sync", self.journal_sync.is_some()),
            ("--journal-mode", self.journal_mode.is_some()),
            ("--journal-compress", self.journal_compress.is_some()),
            ("--journal-keep", self.journal_keep.is_some()),
            ("--journal-older-than", self.journal_older_than.is_some()),
            ("--snapshots", self.snapshots),
            ("--snapshot-cpu", self.snapshot_cpu.is_some()),
        ];
        match (config, given.iter().find(|(_, is_given)| *is_given)) {
            (Some(journal), _) if journal.dir.as_os_str().is_empty() => {
                bail!("no folder given for the journal: use --journal DIR, or dir in [journal]")
            }
            (None, Some((option, _))) => bail!("{option} has no effect without --journal DIR"),
            _ => Ok(()),
        }
    }
}

/// Reports what the journal and its snapshots lack of a run; returns whether that is nothing.
pub(super) fn is_whole(
    recording: Result<Option<RecordingSummary>, RecordingError>,
) -> anyhow::Result<bool> {
    let recording = recording.map_err(|error| match error {
        error @ (RecordingError::JournalGone(_)
        | RecordingError::ProgressLost { .. }
        | RecordingError::NoRoom { .. }) => BadData(error.to_string()).into(),
        error => anyhow::Error::from(error),
    })?;
    let Some(RecordingSummary { journal, lost, lacks_snapshots, .. }) = recording else {
        return Ok(true);
    };
    let journal = journal.display();
    if lost > 0 {
        warn(format_args!("{journal}: messages lost to the journal: {lost}"));
    }
    if lacks_snapshots {
        warn(format_args!(
            "{journal}: snapshots are missing; nanotape journal snapshot {journal} writes them"
        ));
    }
    Ok(lost == 0 && !lacks_snapshots)
}
