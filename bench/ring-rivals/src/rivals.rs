//! What was compiled in: a file for each rival, and a row here for what the report says of it.

#[cfg(feature = "crossbeam-channel")]
mod crossbeam;
#[cfg(feature = "disruptor")]
mod disruptor;
#[cfg(feature = "iceoryx2")]
mod iceoryx2;
#[cfg(feature = "rtrb")]
mod rtrb;
#[cfg(feature = "unix-socket")]
mod unix_socket;

use crate::{Failure, options::Options, report::Run};

/// Slots of queues that have slots.
const SLOTS: usize = 65_536;

/// A row of the report. Every one of them loses nothing.
#[derive(Debug)]
pub(crate) struct Rival {
    pub(crate) name: &'static str,
    /// Whether it is between threads or between processes.
    pub(crate) scope: &'static str,
    pub(crate) queue: &'static str,
    pub(crate) most_readers: usize,
    /// None in the second process of a pair.
    pub(crate) run: fn(&Options) -> Result<Option<Run>, Failure>,
}

pub(crate) const ALL: &[Rival] = &[
    #[cfg(feature = "disruptor")]
    Rival {
        name: "disruptor",
        scope: "threads",
        queue: "65536 slots",
        most_readers: 64,
        run: disruptor::run,
    },
    #[cfg(feature = "rtrb")]
    Rival { name: "rtrb", scope: "threads", queue: "65536 slots", most_readers: 1, run: rtrb::run },
    #[cfg(feature = "crossbeam-channel")]
    Rival {
        name: "crossbeam-channel",
        scope: "threads",
        queue: "65536 slots",
        most_readers: 1,
        run: crossbeam::run,
    },
    #[cfg(feature = "iceoryx2")]
    Rival {
        name: "iceoryx2",
        scope: "processes",
        queue: "65536 samples",
        most_readers: 8,
        run: iceoryx2::run,
    },
    #[cfg(feature = "unix-socket")]
    Rival {
        name: "unix-socket",
        scope: "processes",
        queue: "8 MiB asked of the kernel",
        most_readers: 1,
        run: unix_socket::run,
    },
];

impl Rival {
    /// What the committed lock file says; the kernel's own rivals have its version.
    pub(crate) fn version(&self) -> String {
        let lock = include_str!("../Cargo.lock");
        let named = format!("name = \"{}\"\nversion = \"", self.name);
        let locked = lock.split_once(&named).and_then(|(_, rest)| rest.split_once('"'));
        match locked {
            Some((version, _)) => version.to_owned(),
            None => {
                let release = std::fs::read_to_string("/proc/sys/kernel/osrelease");
                format!("Linux {}", release.unwrap_or_default().trim())
            }
        }
    }
}
