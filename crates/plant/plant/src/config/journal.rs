//! The journal of a plant, and the words for its settings.

use std::{path::PathBuf, str::FromStr, time::Duration};

use nanotape_journal::SyncPolicy;
use nanotape_types::units;
use serde::{Deserialize, Deserializer, de};

use super::{Roll, duration, octal, size};

/// The journal that the plant's recorder writes: the options of `nanotape journal record`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JournalConfig {
    /// The folder; created if missing.
    pub dir: PathBuf,
    /// Bytes of a segment.
    #[serde(deserialize_with = "size", rename = "segment", alias = "segment_bytes")]
    pub segment_bytes: usize,
    /// When a new segment begins before the last one is full.
    #[serde(deserialize_with = "roll")]
    pub roll: Roll,
    /// When excerpts are synced to the disk.
    #[serde(deserialize_with = "sync")]
    pub sync: SyncPolicy,
    /// Bytes ahead of the appender to bring into memory.
    #[serde(deserialize_with = "size", rename = "ahead", alias = "ahead_bytes")]
    pub ahead_bytes: usize,
    /// Whether segments in /dev/shm are in small pages.
    pub small_pages: bool,
    /// Permission bits of new files.
    #[serde(deserialize_with = "octal")]
    pub mode: u32,
    /// The processor to pin the recorder to.
    pub cpu: Option<u32>,
    /// Whether another process writes snapshots of the journal while it is recorded.
    pub snapshots: bool,
    /// The processor to pin that process to.
    pub snapshot_cpu: Option<u32>,
    /// What is compressed while the journal is recorded.
    pub compress: Compression,
    /// The oldest segments are removed until the files have at most this many bytes.
    #[serde(deserialize_with = "some_size")]
    pub keep: Option<u64>,
    /// Segments are removed if all of their excerpts are older than this.
    #[serde(deserialize_with = "some_duration")]
    pub older_than: Option<Duration>,
    /// Whether the plant waits when the recorder is half a ring behind. Otherwise messages that are
    /// overwritten before they are recorded are lost to the journal.
    pub wait: bool,
}

/// What is compressed while a journal is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// Nothing.
    #[default]
    Never,
    /// Each segment after the roll to the next one, and all snapshots but the newest.
    Rolled,
}

impl FromStr for Compression {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "never" => Ok(Self::Never),
            "rolled" => Ok(Self::Rolled),
            _ => Err("expected never or rolled".to_owned()),
        }
    }
}

impl JournalConfig {
    /// Whether a process compresses or prunes the journal while it is recorded.
    pub fn needs_upkeep(&self) -> bool {
        self.compress != Compression::Never || self.keep.is_some() || self.older_than.is_some()
    }
}

impl Default for JournalConfig {
    fn default() -> Self {
        Self {
            dir: PathBuf::new(),
            segment_bytes: 64 << 20,
            roll: Roll::default(),
            sync: SyncPolicy::Never,
            ahead_bytes: 8 << 20,
            small_pages: false,
            mode: 0o600,
            cpu: None,
            snapshots: false,
            snapshot_cpu: None,
            compress: Compression::Never,
            keep: None,
            older_than: None,
            wait: true,
        }
    }
}

fn some_size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    size(deserializer).map(|bytes| Some(bytes as u64))
}

fn some_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    duration(deserializer).map(Some)
}

fn roll<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Roll, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
}

fn sync<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SyncPolicy, D::Error> {
    parse_sync_policy(&String::deserialize(deserializer)?).map_err(de::Error::custom)
}

/// A sync policy: a word, a number of excerpts, or an interval.
pub fn parse_sync_policy(text: &str) -> Result<SyncPolicy, String> {
    match (text, text.parse::<u64>()) {
        ("never", _) => Ok(SyncPolicy::Never),
        ("batch", _) => Ok(SyncPolicy::Batch),
        (_, Ok(count)) if count > 0 => Ok(SyncPolicy::Excerpts(count)),
        _ => match units::duration(text) {
            Ok(time) if time >= Duration::from_millis(1) => Ok(SyncPolicy::Every(time)),
            _ => Err("expected never, batch, a number from 1, or an interval from 1ms".to_owned()),
        },
    }
}

/// A sync policy as [`parse_sync_policy`] reads it.
pub fn sync_policy_text(policy: SyncPolicy) -> String {
    match policy {
        SyncPolicy::Batch => "batch".to_owned(),
        SyncPolicy::Excerpts(count) => count.to_string(),
        SyncPolicy::Every(time) => format!("{}ns", time.as_nanos()),
        _ => "never".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_policy_is_a_word_a_number_or_a_time() {
        for (text, policy) in [
            ("never", SyncPolicy::Never),
            ("batch", SyncPolicy::Batch),
            ("64", SyncPolicy::Excerpts(64)),
            ("10ms", SyncPolicy::Every(Duration::from_millis(10))),
            ("1.5s", SyncPolicy::Every(Duration::from_millis(1_500))),
        ] {
            assert_eq!(parse_sync_policy(text), Ok(policy), "{text}");
            assert_eq!(parse_sync_policy(&sync_policy_text(policy)), Ok(policy), "{text}");
        }
        for bad in ["", "0", "0ms", "10us", "always"] {
            assert!(parse_sync_policy(bad).is_err(), "{bad}");
        }
    }
}
