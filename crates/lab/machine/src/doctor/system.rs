//! The files of a machine, below a root, and the few facts that are not in files.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use flate2::read::GzDecoder;
use nanotape_clock::{Clock, Source, cross_core};
use nix::sys::resource::{Resource, getrlimit};

use super::{CardTexts, CpuList, network};

/// A larger file is not one of the kernel's settings.
const MOST_BYTES: u64 = 1 << 20;

/// The kernel's configuration, if it was built with it.
const CONFIGURATION: &str = "/proc/config.gz";

/// The files of a machine.
#[derive(Clone, Debug)]
pub struct System {
    root: PathBuf,
    /// The kernel's configuration and where it was read.
    configuration: Arc<OnceLock<Option<(String, String)>>>,
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

impl Default for System {
    fn default() -> Self {
        Self::at(Path::new("/"))
    }
}

impl System {
    /// The machine with its files below `root`.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned(), configuration: Arc::default() }
    }

    /// The text of a file, such as `/proc/cmdline`, without space around it.
    pub fn read(&self, path: &str) -> Option<String> {
        self.read_or_error(path).ok()
    }

    /// The same, with the error of the system.
    pub(super) fn read_or_error(&self, path: &str) -> io::Result<String> {
        let path = self.root.join(path.trim_start_matches('/'));
        if fs::metadata(&path)?.len() > MOST_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let bytes = fs::read(path)?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// Whether there is a file or folder.
    pub(super) fn has(&self, path: &str) -> bool {
        self.root.join(path.trim_start_matches('/')).exists()
    }

    /// The names in a folder, sorted; empty if it cannot be read.
    pub(super) fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.root.join(path.trim_start_matches('/'))) else {
            return Vec::new();
        };
        let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// The names of the folders in a folder, sorted.
    pub(super) fn folders(&self, path: &str) -> Vec<String> {
        let mut names = self.names(path);
        names.retain(|name| self.root.join(path.trim_start_matches('/')).join(name).is_dir());
        names
    }

    /// The longest latency that programs permit all processors, in microseconds: the number that
    /// the device returns. Only root can read it.
    pub(super) fn latency_limit_us(&self) -> Option<u64> {
        let bytes = fs::read(self.root.join("dev/cpu_dma_latency")).ok()?;
        u64::try_from(i32::from_ne_bytes(bytes.try_into().ok()?)).ok()
    }

    /// Processors that are online; processor 0 if that cannot be read.
    pub fn online(&self) -> CpuList {
        let list =
            self.read("/sys/devices/system/cpu/online").and_then(|text| CpuList::parse(&text));
        list.filter(|list| !list.is_empty()).unwrap_or_else(|| CpuList::of([0]))
    }

    /// The value of a word on the kernel's command line: `isolcpus=2-3` has `2-3`, a word without a
    /// value has an empty one.
    pub(super) fn kernel_word(&self, name: &str) -> Option<String> {
        let line = self.read("/proc/cmdline")?;
        line.split_whitespace().rev().find_map(|word| match word.split_once('=') {
            Some((known, value)) if known == name => Some(value.to_owned()),
            None if word == name => Some(String::new()),
            _ => None,
        })
    }

    /// Whether the kernel was built with an option, or has it as a module, and the file that shows
    /// it; `None` if its configuration cannot be read.
    pub(super) fn configured(&self, option: &str) -> Option<(&str, bool)> {
        let (source, text) =
            self.configuration.get_or_init(|| self.read_configuration()).as_ref()?;
        let value = |line: &str| line.strip_prefix(option)?.strip_prefix('=').map(str::to_owned);
        let has = text.lines().any(|line| value(line).is_some_and(|value| value != "n"));
        Some((source, has))
    }

    fn read_configuration(&self) -> Option<(String, String)> {
        let path = self.root.join(CONFIGURATION.trim_start_matches('/'));
        let unpacked = |file: File| {
            let mut text = String::new();
            let read = GzDecoder::new(file).take(MOST_BYTES).read_to_string(&mut text);
            read.is_ok().then_some(text)
        };
        if let Some(text) = File::open(path).ok().and_then(unpacked) {
            return Some((CONFIGURATION.to_owned(), text));
        }
        let release = self.read("/proc/sys/kernel/osrelease").unwrap_or_default();
        let paths = [format!("/boot/config-{release}"), format!("/lib/modules/{release}/config")];
        paths.into_iter().find_map(|path| self.read(&path).map(|text| (path, text)))
    }
}
