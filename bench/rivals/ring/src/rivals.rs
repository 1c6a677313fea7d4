//! The compiled rivals: a file for each, and a row here for the report.

#[cfg(feature = "bcast")]
mod bcast;
#[cfg(feature = "crossbeam-channel")]
mod crossbeam;
#[cfg(feature = "disruptor")]
mod disruptor;
#[cfg(feature = "iceoryx2")]
mod iceoryx2;
#[cfg(feature = "ringfire")]
mod ringfire;
#[cfg(feature = "rtrb")]
mod rtrb;
#[cfg(feature = "unix-socket")]
mod unix_socket;

use rivals_measure::Failure;

use crate::{options::Options, report::Run};

/// Slots of queues that have slots.
const SLOTS: usize = 65_536;

/// Runs one mode. Returns `None` in a reader's process.
type Program = fn(&Options) -> Result<Option<Run>, Failure>;

/// A rival as the report shows it.
#[derive(Debug)]
pub(crate) struct Rival {
    pub(crate) name: &'static str,
    /// The crate in the lock file.
    package: &'static str,
    /// Whether the two sides are threads or processes.
    pub(crate) scope: &'static str,
    /// What happens to a message that a slow reader has not read.
    pub(crate) delivery: &'static str,
    pub(crate) queue: &'static str,
    pub(crate) most_readers: u64,
    pub(crate) run: Program,
}

pub(crate) const ALL: &[Rival] = &[
    #[cfg(feature = "ringfire")]
    Rival::new("ringfire", "processes", "65536 slots", 8, ringfire::run_single).lossy("ringfire"),
    #[cfg(feature = "ringfire")]
    Rival::new("ringfire-batch", "processes", "65536 slots", 8, ringfire::run_batch)
        .lossy("ringfire"),
    #[cfg(feature = "bcast")]
    Rival::new("bcast", "processes", "8 MiB", 8, bcast::run_single).lossy("bcast"),
    #[cfg(feature = "bcast")]
    Rival::new("bcast-batch", "processes", "8 MiB", 8, bcast::run_batch).lossy("bcast"),
    #[cfg(feature = "bcast")]
    Rival::new("bcast-bulk", "processes", "8 MiB", 8, bcast::run_bulk).lossy("bcast"),
    #[cfg(feature = "disruptor")]
    Rival::new("disruptor", "threads", "65536 slots", 64, disruptor::run),
    #[cfg(feature = "rtrb")]
    Rival::new("rtrb", "threads", "65536 slots", 1, rtrb::run),
    #[cfg(feature = "crossbeam-channel")]
    Rival::new("crossbeam-channel", "threads", "65536 slots", 1, crossbeam::run),
    #[cfg(feature = "iceoryx2")]
    Rival::new("iceoryx2", "processes", "65536 samples", 8, iceoryx2::run),
    #[cfg(feature = "unix-socket")]
    Rival::new("unix-socket", "processes", "8 MiB requested", 1, unix_socket::run),
];

impl Rival {
    /// A lossless rival, whose crate has its name.
    pub(crate) const fn new(
        name: &'static str,
        scope: &'static str,
        queue: &'static str,
        most_readers: u64,
        run: Program,
    ) -> Self {
        Self { name, package: name, scope, delivery: "lossless", queue, most_readers, run }
    }

    /// A way to read the ring of this crate. Its writer never waits, so at full speed
    /// [`crate::broadcast`] makes it wait.
    pub(crate) const fn lossy(self, package: &'static str) -> Self {
        Self { package, delivery: "lossy, paced here", ..self }
    }

    /// The version in the committed lock file, or that of the kernel if the rival is part of it.
    pub(crate) fn version(&self) -> String {
        let kernel = || std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let version = rivals_measure::locked_version(self.package).map(str::to_owned);
        version.unwrap_or_else(|| format!("Linux {}", kernel().trim()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_manifest() {
        let manifest = include_str!("../Cargo.toml");
        for rival in ALL {
            let wanted = format!("{} = {{ version = ", rival.package);
            let line = manifest.lines().find(|line| line.starts_with(&wanted));
            let version = format!("\"={}\"", rival.version());
            assert!(line.is_none_or(|line| line.contains(&version)), "{version}");
        }
    }
}
