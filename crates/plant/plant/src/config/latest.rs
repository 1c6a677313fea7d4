//! The map of the newest states of a plant's stocks.

use std::path::PathBuf;

use serde::Deserialize;

use super::octal;

/// Where the newest state of every stock is kept, by a process of its own.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LatestConfig {
    /// A name in /dev/shm, or a path.
    pub name: PathBuf,
    /// Stocks that a new map has room for.
    pub entries: u64,
    /// Permission bits of a new map.
    #[serde(deserialize_with = "octal")]
    pub mode: u32,
    /// The processor that the process is pinned to.
    pub cpu: Option<u32>,
}

impl Default for LatestConfig {
    fn default() -> Self {
        Self { name: PathBuf::new(), entries: 1 << 16, mode: 0o600, cpu: None }
    }
}
