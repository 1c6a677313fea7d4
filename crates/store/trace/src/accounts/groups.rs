//! The time in which the control groups of a thread had used up their share of the processors.
//!
//! ```text
//!   /proc/thread-self/cgroup      /proc/self/mountinfo
//!     3:cpu,cpuacct:/a/b            ... /sys/fs/cgroup/cpu ... - cgroup ... cpu,cpuacct
//!     0::/a/b                       ... /sys/fs/cgroup ... - cgroup2 ...
//!             each group from /a/b up to the root: cpu.stat
//!               throttled_time 123 (ns, version 1)   throttled_usec 123 (version 2)
//! ```
//!
//! A group above may have the limit: all of them count. Each counts only its own limit.
//! Bounds: [`MOST_GROUPS`] files are open; a thread that is moved to another group later keeps
//! those of the first one.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use nanotape_host::processor_groups;

const MOST_GROUPS: usize = 16;

/// The files of a thread's groups.
#[derive(Debug)]
pub(super) struct Groups {
    files: Vec<File>,
}

impl Groups {
    /// Those of the calling thread.
    pub(super) fn open() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let (groups, mounts) = (read("/proc/thread-self/cgroup"), read("/proc/self/mountinfo"));
        let files = folders(&groups, &mounts).into_iter().filter_map(|folder| {
            let file = File::open(folder.join("cpu.stat")).ok()?;
            throttled_in(&file).map(|_| file)
        });
        Self { files: files.take(MOST_GROUPS).collect() }
    }

    /// Whether a group of the thread counts it; else why not.
    pub(super) fn are_counted(&self) -> Result<(), &'static str> {
        const NONE: &str = "no control group of this thread has a cpu.stat with throttled time";
        if self.files.is_empty() { Err(NONE) } else { Ok(()) }
    }

    /// Since the groups were made, in nanoseconds; `None` if no group counts it.
    pub(super) fn throttled_ns(&self) -> Option<u64> {
        let times = self.files.iter().filter_map(throttled_in);
        times.reduce(u64::saturating_add)
    }
}

/// The folders of a thread's group and of those above it, in the hierarchies that have processors.
fn folders(groups: &str, mounts: &str) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for (controllers, path) in processor_groups(groups) {
        let is_second = controllers.is_empty();
        for line in mounts.lines() {
            let Some((root, point)) = mount_of(line, is_second) else { continue };
            // A mount may show a part of the hierarchy; a group outside of it has no folder here.
            let Ok(below) = Path::new(path).strip_prefix(root) else { continue };
            let own = Path::new(point).join(below);
            let above = own.ancestors().take_while(|folder| folder.starts_with(point));
            folders.extend(above.map(Path::to_owned));
            break;
        }
    }
    folders
}

/// Which part of a hierarchy is mounted, and where, if it is the one that has processors.
fn mount_of(line: &str, is_second: bool) -> Option<(&str, &str)> {
    let (mount, system) = line.split_once(" - ")?;
    let mut mount = mount.split(' ').skip(3);
    let (root, point) = (mount.next()?, mount.next()?);
    let mut system = system.split(' ');
    let (kind, options) = (system.next()?, system.nth(1).unwrap_or_default());
    let is_it = match is_second {
        true => kind == "cgroup2",
        false => kind == "cgroup" && options.split(',').any(|option| option == "cpu"),
    };
    is_it.then_some((root, point))
}

/// The time in a file `cpu.stat`, in nanoseconds.
fn throttled_in(file: &File) -> Option<u64> {
    let mut text = [0_u8; 1_024];
    let length = file.read_at(&mut text, 0).ok()?;
    time_in(str::from_utf8(text.get(..length)?).ok()?)
}

fn time_in(stat: &str) -> Option<u64> {
    stat.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        let value: u64 = value.trim().parse().ok()?;
        match name {
            "throttled_time" => Some(value),
            "throttled_usec" => Some(value.saturating_mul(1_000)),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "30 24 0:26 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
        31 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
        32 24 0:28 /pods /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    fn found(groups: &str) -> Vec<String> {
        let found = folders(groups, MOUNTS);
        found.iter().map(|folder| folder.display().to_string()).collect()
    }

    #[test]
    fn the_group_and_those_above_it_count() {
        let first = found("4:memory:/x\n3:cpu,cpuacct:/a/b\n");
        let expected = ["/sys/fs/cgroup/cpu/a/b", "/sys/fs/cgroup/cpu/a", "/sys/fs/cgroup/cpu"];
        assert_eq!(first, expected);
        assert_eq!(found("0::/pods/b"), ["/sys/fs/cgroup/unified/b", "/sys/fs/cgroup/unified"]);
        // Not in the part that is mounted.
        for none in ["0::/other", "2:cpuset:/a", "", "rubbish", "::"] {
            assert_eq!(found(none), [""; 0], "{none}");
        }
    }

    #[test]
    fn both_versions_count_in_nanoseconds() {
        let first = "nr_periods 7\nnr_throttled 2\nthrottled_time 1234\nnr_bursts 0\n";
        let second = "usage_usec 5\nnr_periods 7\nnr_throttled 2\nthrottled_usec 1234\n";
        assert_eq!((time_in(first), time_in(second)), (Some(1_234), Some(1_234_000)));
        for none in ["", "usage_usec 5\n", "throttled_time x\n", "throttled_usec\n"] {
            assert_eq!(time_in(none), None);
        }
    }
}
