//! The files of a machine, below a root, so that tests can describe any machine.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{CpuList, value};

/// A larger file is not one of the kernel's settings.
const MOST_BYTES: u64 = 1 << 20;

/// The folder of the kernel's clock sources.
pub const CLOCK_SOURCES: &str = "/sys/devices/system/clocksource/clocksource0";

/// The files of a machine.
#[derive(Clone, Debug)]
pub struct System {
    root: PathBuf,
}

impl Default for System {
    fn default() -> Self {
        Self::at(Path::new("/"))
    }
}

impl System {
    /// The machine with its files below `root`.
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Where a file of the machine is.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// The text of a file, such as `/proc/cmdline`, without space around it.
    pub fn read(&self, path: &str) -> Option<String> {
        self.read_or_error(path).ok()
    }

    /// The same, with the error of the system.
    pub fn read_or_error(&self, path: &str) -> io::Result<String> {
        let path = self.path(path);
        if fs::metadata(&path)?.len() > MOST_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let bytes = fs::read(path)?;
        Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    /// Whether there is a file or folder.
    pub fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// The names in a folder, sorted; empty if it cannot be read.
    pub fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(path)) else { return Vec::new() };
        let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// The names of the folders in a folder, sorted.
    pub fn folders(&self, path: &str) -> Vec<String> {
        let mut names = self.names(path);
        names.retain(|name| self.path(path).join(name).is_dir());
        names
    }

    /// The longest latency that programs permit all processors, in microseconds: the number that
    /// the device returns. Only root can read it.
    pub fn latency_limit_us(&self) -> Option<u64> {
        let bytes = fs::read(self.path("/dev/cpu_dma_latency")).ok()?;
        u64::try_from(i32::from_ne_bytes(bytes.try_into().ok()?)).ok()
    }

    /// Processors that are online; processor 0 if that cannot be read.
    pub fn online(&self) -> CpuList {
        self.online_if_known().unwrap_or_else(|| CpuList::of([0]))
    }

    /// Processors that are online.
    pub fn online_if_known(&self) -> Option<CpuList> {
        let list = CpuList::parse(&self.read("/sys/devices/system/cpu/online")?);
        list.filter(|list| !list.is_empty())
    }

    /// The hardware threads of the core of a processor, itself among them.
    pub fn siblings(&self, cpu: u32) -> Option<CpuList> {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        CpuList::parse(&self.read(&path)?)
    }

    /// The value of a word on the kernel's command line: `isolcpus=2-3` has `2-3`, a word without a
    /// value has an empty one.
    pub fn kernel_word(&self, name: &str) -> Option<String> {
        let line = self.read("/proc/cmdline")?;
        line.split_whitespace().rev().find_map(|word| match word.split_once('=') {
            Some((known, value)) if known == name => Some(value.to_owned()),
            None if word == name => Some(String::new()),
            _ => None,
        })
    }

    /// A value of the first processor in `/proc/cpuinfo`.
    pub fn processor_value(&self, key: &str) -> Option<String> {
        value(&self.read("/proc/cpuinfo")?, key).map(str::to_owned)
    }

    /// Whether the processor reports a feature; `None` if it reports no flags, as on Arm.
    pub fn has_flag(&self, flag: &str) -> Option<bool> {
        let flags = self.processor_value("flags")?;
        Some(flags.split_whitespace().any(|one| one == flag))
    }
}

/// A machine with these files, for as long as the first value is there.
#[cfg(test)]
pub(crate) fn machine(files: &[(&str, &str)]) -> (nanotape_harness::Scratch, System) {
    let root = nanotape_harness::Scratch::new("machine");
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder is made");
        fs::write(path, text).expect("a file is written");
    }
    let system = System::at(root.path());
    (root, system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_and_words_are_those_of_the_files() {
        let (_root, system) = machine(&[
            ("sys/devices/system/cpu/online", "0-3\n"),
            ("sys/devices/system/cpu/cpu1/topology/thread_siblings_list", "1,3\n"),
            ("proc/cmdline", "quiet isolcpus=1 nohz isolcpus=2-3\n"),
        ]);
        assert_eq!((system.online().count(), System::at(Path::new("/x")).online().count()), (4, 1));
        assert_eq!(system.siblings(1), Some(CpuList::of([1, 3])));
        assert_eq!(system.siblings(0), None);
        let word = |name| system.kernel_word(name);
        assert_eq!((word("isolcpus").as_deref(), word("nohz").as_deref()), (Some("2-3"), Some("")));
        assert_eq!(word("isol"), None);
        assert_eq!(system.names("/sys/devices/system/cpu"), ["cpu1", "online"]);
        assert_eq!(system.folders("/sys/devices/system/cpu"), ["cpu1"]);
    }
}
