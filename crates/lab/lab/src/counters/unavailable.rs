//! The reasons why an event cannot be counted.

use std::{fs, io};

use rustix::io::Errno;

/// The reason, in terms that help to remove it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CountersUnavailable {
    /// The kernel supports the event, but no counter here does.
    #[error(
        "this machine gives no such hardware counter (without any it has no PMU, as many virtual \
         machines)"
    )]
    NoHardware,
    /// Not permitted by the kernel's setting.
    #[error("not permitted: kernel.perf_event_paranoid is {level} (or needs CAP_PERFMON)")]
    NotPermitted {
        /// The setting.
        level: i32,
    },
    /// Not permitted; the setting cannot be read.
    #[error(
        "not permitted, and kernel.perf_event_paranoid cannot be read (a container may forbid it)"
    )]
    Forbidden,
    /// The kernel was built without support.
    #[error("this kernel does not support performance events")]
    NotInKernel,
    /// The kernel rejects the event: in general, or in this group.
    #[error("the kernel rejects the event: {0}", source)]
    NotAccepted {
        /// Its error.
        source: Errno,
    },
    /// The processor does not describe its slots.
    #[error("this machine does not count pipeline slots")]
    NoTopdown,
    /// Any other error.
    #[error("cannot use the counters: {source}")]
    System {
        /// The error of the operating system.
        source: Errno,
    },
}

impl CountersUnavailable {
    pub(super) fn of(error: &io::Error) -> Self {
        Self::of_errno(error, fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok())
    }

    fn of_errno(error: &io::Error, paranoid: Option<String>) -> Self {
        // The library maps one error to its own: the kernel is older than the request.
        let source = Errno::from_io_error(error).unwrap_or(Errno::TOOBIG);
        match source {
            Errno::NOENT | Errno::NODEV | Errno::NXIO | Errno::OPNOTSUPP => Self::NoHardware,
            Errno::ACCESS | Errno::PERM => {
                match paranoid.and_then(|text| text.trim().parse().ok()) {
                    Some(level) => Self::NotPermitted { level },
                    None => Self::Forbidden,
                }
            }
            Errno::NOSYS => Self::NotInKernel,
            Errno::INVAL | Errno::NOSPC | Errno::TOOBIG => Self::NotAccepted { source },
            source => Self::System { source },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(errno: Errno, paranoid: Option<&str>) -> CountersUnavailable {
        CountersUnavailable::of_errno(&errno.into(), paranoid.map(str::to_owned))
    }

    #[test]
    fn errors_become_reasons() {
        assert_eq!(of(Errno::NOENT, None), CountersUnavailable::NoHardware);
        assert_eq!(
            of(Errno::ACCESS, Some("4\n")).to_string(),
            "not permitted: kernel.perf_event_paranoid is 4 (or needs CAP_PERFMON)"
        );
        assert_eq!(of(Errno::PERM, Some("high")), CountersUnavailable::Forbidden);
        assert_eq!(of(Errno::NOSYS, None), CountersUnavailable::NotInKernel);
        assert!(matches!(of(Errno::INVAL, None), CountersUnavailable::NotAccepted { .. }));
        assert!(matches!(of(Errno::MFILE, None), CountersUnavailable::System { .. }));
        let foreign = io::Error::new(io::ErrorKind::Unsupported, "options");
        let reason = CountersUnavailable::of_errno(&foreign, None);
        assert_eq!(reason, CountersUnavailable::NotAccepted { source: Errno::TOOBIG });
    }
}
