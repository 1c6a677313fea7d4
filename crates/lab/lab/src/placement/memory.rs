//! Resident memory: pages are locked, and the stack is touched before it is timed.
//!
//! Locking future pages has a risk: if the limit on locked memory is small, the lock itself might
//! succeed and a later allocation fail, which ends the program. So it is requested only if there is
//! no limit, or none for this process.

use nanotape_host::status_mask;
use rustix::{
    io::Errno,
    mm::{MlockAllFlags, mlockall},
    process::{Resource, getrlimit},
};

/// The bit of CAP_IPC_LOCK, which lifts the limit.
const CAP_IPC_LOCK: u32 = 14;

/// Bytes of the stack to touch; small compared to a thread's default of 2 MiB.
const STACK_BYTES: usize = 256 * 1024;

/// The reason why memory was not locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error(
        "the limit is {limit_bytes} bytes, and allocations over it would fail (needs CAP_IPC_LOCK \
         or an unlimited memlock limit)"
    )]
    Limit { limit_bytes: u64 },
    #[error("{0}")]
    System(Errno),
}

/// Locks every page of this process, present and future.
pub(super) fn lock() -> Result<(), Refusal> {
    let capabilities = status_mask("CapEff").unwrap_or(0);
    check(getrlimit(Resource::Memlock).current, capabilities)?;
    mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE).map_err(Refusal::System)
}

fn check(limit_bytes: Option<u64>, capabilities: u64) -> Result<(), Refusal> {
    match limit_bytes {
        Some(limit_bytes) if capabilities & (1 << CAP_IPC_LOCK) == 0 => {
            Err(Refusal::Limit { limit_bytes })
        }
        _ => Ok(()),
    }
}

/// Brings the pages of the stack below this frame into memory before anything is timed.
#[inline(never)]
pub(super) fn touch_stack() {
    let mut bytes = [0_u8; STACK_BYTES];
    std::hint::black_box(&mut bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_refused_unless_the_process_is_above_it() {
        let (root, user) = (0x0000_01ff_feff_ffff, 0);
        assert_eq!(check(Some(8 << 20), user), Err(Refusal::Limit { limit_bytes: 8 << 20 }));
        assert_eq!(check(Some(8 << 20), root), Ok(()));
        assert_eq!(check(None, user), Ok(()));
    }
}
