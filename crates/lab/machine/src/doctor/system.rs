//! The configuration of the kernel, and the few facts that are not in files.

use std::{fs::File, io::Read as _, sync::OnceLock};

use flate2::read::GzDecoder;
use nanotape_clock::{Clock, Source, cross_core};
use nanotape_host::System;
use nix::sys::resource::{Resource, getrlimit};

use super::{CardTexts, network};

/// A larger text is not the configuration of a kernel.
const MOST_BYTES: u64 = 1 << 20;

/// The kernel's configuration, if it was built with it.
const CONFIGURATION: &str = "/proc/config.gz";

/// The configuration of a kernel, which is read when it is first needed.
#[derive(Debug, Default)]
pub(super) struct Configuration {
    /// Where it was read, and its text.
    read: OnceLock<Option<(String, String)>>,
}

/// Facts that are not in files.
#[derive(Clone, PartialEq, Debug)]
pub struct Facts {
    /// The name of the hypervisor; `None` if it is not known, `none` if there is none.
    pub hypervisor: Option<String>,
    /// The release of the kernel, such as `6.12.3-rt`.
    pub kernel: String,
    /// Whether the clock reads the time stamp counter; else why not.
    pub counter: Result<(), String>,
    /// Cost of an unfenced stamp in nanoseconds.
    pub stamp_ns: f64,
    /// The largest offset between two processors' clocks, with its bound, in nanoseconds.
    pub offset_ns: Option<f64>,
    /// The highest real-time priority that the limits allow; `None` without a limit.
    pub rtprio_limit: Option<u64>,
    /// Bytes that the limits allow to lock; `None` without a limit.
    pub memlock_limit: Option<u64>,
    /// What ethtool prints about the network cards; else why it prints nothing.
    pub ethtool: Result<Vec<CardTexts>, String>,
    /// Whether the process may use any priority, and lock any memory.
    pub is_privileged: bool,
}

impl Facts {
    /// The facts of this machine. Takes a moment: processors exchange stamps.
    pub fn of_this_machine(clock: &Clock, hypervisor: Option<String>) -> Self {
        let offsets = cross_core::measure(clock, cross_core::Effort::default());
        let offset = offsets.iter().map(|one| one.offset_nanos.abs()).reduce(f64::max);
        let limit = |resource: Resource| {
            let (soft, _) = getrlimit(resource).ok()?;
            (soft != u64::MAX).then_some(soft)
        };
        let name = rustix::system::uname();
        Self {
            hypervisor,
            kernel: name.release().to_string_lossy().into_owned(),
            counter: match clock.source() {
                Source::TimeStampCounter => Ok(()),
                _ => Err(clock.why().to_string()),
            },
            stamp_ns: clock.costs().unfenced_nanos,
            offset_ns: offset.filter(|offset| offset.is_finite()),
            rtprio_limit: limit(Resource::RLIMIT_RTPRIO),
            memlock_limit: limit(Resource::RLIMIT_MEMLOCK),
            ethtool: CardTexts::of_this_machine(&network::cards(&System::default())),
            is_privileged: rustix::process::geteuid().is_root(),
        }
    }
}

impl Configuration {
    /// Whether the kernel was built with an option, or has it as a module, and the file that shows
    /// it; `None` if its configuration cannot be read.
    pub(super) fn has(&self, system: &System, option: &str) -> Option<(&str, bool)> {
        let (source, text) = self.read.get_or_init(|| read(system)).as_ref()?;
        let value = |line: &str| line.strip_prefix(option)?.strip_prefix('=').map(str::to_owned);
        let has = text.lines().any(|line| value(line).is_some_and(|value| value != "n"));
        Some((source, has))
    }
}

fn read(system: &System) -> Option<(String, String)> {
    let path = system.path(CONFIGURATION);
    let unpacked = |file: File| {
        let mut text = String::new();
        let read = GzDecoder::new(file).take(MOST_BYTES).read_to_string(&mut text);
        read.is_ok().then_some(text)
    };
    if let Some(text) = File::open(path).ok().and_then(unpacked) {
        return Some((CONFIGURATION.to_owned(), text));
    }
    let release = system.read("/proc/sys/kernel/osrelease").unwrap_or_default();
    let paths = [format!("/boot/config-{release}"), format!("/lib/modules/{release}/config")];
    paths.into_iter().find_map(|path| system.read(&path).map(|text| (path, text)))
}
