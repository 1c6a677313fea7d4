//! The pages of a region: in huge pages or small, locked in memory or not, and the cause.

use std::fmt;

use rustix::io::Errno;

/// The file of the kernel's setting for huge pages in shared memory.
#[cfg(not(nanotape_loom))]
pub(crate) const SETTING: &str = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";

/// The results of the requests in [`RegionOptions`](crate::RegionOptions).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Residency {
    /// Huge pages.
    pub huge_pages: RegionPages,
    /// The memory node.
    pub node: RegionNode,
    /// Whether it is locked in memory.
    pub lock: PageLock,
}

/// The pages of a region.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum RegionPages {
    /// Huge pages were not requested.
    #[default]
    Small,
    /// The file system has huge pages only (hugetlbfs).
    FileSystem {
        /// Bytes of a page.
        page_bytes: u64,
    },
    /// Requested, and in use when the region was mapped.
    Granted {
        /// Size of the part in huge pages.
        kib: u64,
    },
    /// Requested, but the kernel provided none.
    NoneGiven {
        /// The kernel's setting for shared memory, if readable: the word in brackets.
        setting: Option<String>,
    },
    /// The kernel supports none for this file.
    Refused(Errno),
}

/// The memory node (NUMA) of a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum RegionNode {
    /// No node was requested.
    #[default]
    NotRequested,
    /// The machine has this node only, and the kernel does not bind memory.
    Only {
        /// The node.
        node: u32,
    },
    /// The kernel keeps the pages on this node.
    Bound {
        /// The node.
        node: u32,
        /// Bytes on it when the region was mapped; `None` if the kernel does not count them.
        bytes: Option<u64>,
        /// Bytes on other nodes: pages that other processes use are not moved.
        elsewhere_bytes: u64,
    },
}

/// Whether the pages of a region are locked in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum PageLock {
    /// Not requested.
    #[default]
    NotRequested,
    /// The pages are locked.
    Locked,
    /// The kernel refused.
    Refused {
        /// The cause.
        errno: Errno,
        /// The total that this process may lock (`RLIMIT_MEMLOCK`); `None` without a limit.
        limit_bytes: Option<u64>,
    },
}

impl fmt::Display for Residency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.huge_pages)?;
        if self.node != RegionNode::NotRequested {
            write!(f, ", {}", self.node)?;
        }
        write!(f, ", {}", self.lock)
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

impl fmt::Display for RegionNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NotRequested => f.write_str("on no particular node"),
            Self::Only { node } => write!(f, "on node {node}, the only one of this machine"),
            Self::Bound { node, bytes: None, .. } => write!(f, "bound to node {node}"),
            Self::Bound { node, bytes: Some(bytes), elsewhere_bytes } => {
                write!(f, "{} KiB on node {node}", bytes >> 10)?;
                if elsewhere_bytes > 0 {
                    write!(f, ", {} KiB on others (pages that", elsewhere_bytes >> 10)?;
                    f.write_str(" other processes use are not moved)")?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for PageLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRequested => f.write_str("not locked in memory"),
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
