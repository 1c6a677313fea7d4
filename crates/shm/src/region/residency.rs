//! Where the pages of a region are: in huge pages or small, locked in memory or not, and why not.

use std::fmt;

use rustix::io::Errno;

/// Where the kernel says whether shared memory may have huge pages.
#[cfg(not(nanotape_loom))]
pub(crate) const SETTING: &str = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";

/// What became of the wishes in [`RegionOptions`](crate::RegionOptions).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Residency {
    /// Huge pages.
    pub huge_pages: RegionPages,
    /// Kept in memory.
    pub lock: PageLock,
}

/// The pages that a region is in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum RegionPages {
    /// Nobody asked for huge ones.
    #[default]
    Small,
    /// The file system has huge pages only (hugetlbfs).
    FileSystem {
        /// Bytes of one.
        page_bytes: u64,
    },
    /// Asked for, and seen in use when the region was mapped.
    Granted {
        /// How much of the region is in them.
        kib: u64,
    },
    /// Asked for, and the kernel gave none.
    NoneGiven {
        /// The kernel's setting for shared memory, where it can be read: the word in brackets.
        setting: Option<String>,
    },
    /// The kernel knows none for this file.
    Refused(Errno),
}

/// Whether the pages of a region are kept in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum PageLock {
    /// Nobody asked.
    #[default]
    NotAsked,
    /// They are.
    Locked,
    /// The kernel refused.
    Refused {
        /// The reason given.
        errno: Errno,
        /// What this process may lock in all (`RLIMIT_MEMLOCK`); none where there is no limit.
        limit_bytes: Option<u64>,
    },
}

impl fmt::Display for Residency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.huge_pages, self.lock)
    }
}

impl fmt::Display for RegionPages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Small => f.write_str("small pages"),
            Self::FileSystem { page_bytes } => write!(f, "huge pages of {page_bytes} bytes"),
            Self::Granted { kib } => write!(f, "{kib} KiB in huge pages"),
            Self::NoneGiven { setting } => {
                f.write_str("small pages (the kernel provided no huge pages: ")?;
                if let Some(setting) = setting {
                    write!(f, "shmem_enabled in /sys/kernel/mm/transparent_hugepage/ is ")?;
                    write!(f, "{setting}, and ")?;
                }
                f.write_str("a file system gives them if mounted with huge=)")
            }
            Self::Refused(errno) => {
                write!(f, "small pages (huge pages are not available: {errno})")
            }
        }
    }
}

impl fmt::Display for PageLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAsked => f.write_str("not locked in memory"),
            Self::Locked => f.write_str("locked in memory"),
            Self::Refused { errno, limit_bytes: Some(limit) } => write!(
                f,
                "not locked in memory ({errno}; its limit is {limit} bytes: RLIMIT_MEMLOCK)"
            ),
            Self::Refused { errno, limit_bytes: None } => {
                write!(f, "not locked in memory ({errno})")
            }
        }
    }
}
