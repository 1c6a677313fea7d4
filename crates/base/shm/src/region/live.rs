//! The words of the header that change: an owner enters itself and closes, and readers check its
//! state.
//!
//! Protocol: `docs/formats/region.md`. An owner enters while it holds the lock. The process number
//! is 0 while the other values change: a reader accepts values as those of one owner only if number
//! and epoch are the same before and after. The number alone is not enough, because in containers
//! every owner has number 1.
//! Failure: an owner that is killed while it enters leaves the number 0, which means unknown.

use super::{
    header::{EPOCH, OWNER, READY, live, state},
    owner::{Owner, OwnerState, Started},
};
use crate::word::{ReadWord, Word};

/// Limit of retries of a reader while owners change. A program that keeps changing the words is not
/// an owner, and must not block a reader forever.
const TRIES: u32 = 1_000;

/// Enters a new owner, which holds the lock. If it ends between any two stores, the next owner can
/// take over: the state changes last.
pub(super) fn enter(words: &[Word], epoch: u64, pid: u32, started: Started) {
    words[live::OWNER_PID].store(0);
    // SYNC(region.owner): pairs with the fence before a reader's second load of the number.
    OWNER.release_fence();
    words[live::OWNER_STARTED].store(started.unix_s());
    // SYNC(region.epoch): pairs with the loads of `epoch` and `owner`.
    words[live::EPOCH].publish(epoch, EPOCH);
    // SYNC(region.epoch): a reader that sees a later store of this owner also sees its epoch, if
    // the reader's fence comes before its load.
    EPOCH.release_fence();
    // SYNC(region.owner): pairs with a reader's loads of the number.
    words[live::OWNER_PID].publish(u64::from(pid), OWNER);
    // SYNC(region.ready): pairs with the loads of the state.
    words[live::STATE].publish(state::READY, READY);
}

/// Marks the region as closed. The owner releases the lock after that.
pub(super) fn close(words: &[Word]) {
    // SYNC(region.ready): pairs with the loads of the state.
    words[live::STATE].publish(state::CLOSED, READY);
}

/// The number of the latest owner.
#[inline]
pub(super) fn epoch(words: &[ReadWord]) -> u64 {
    // SYNC(region.epoch): pairs with the fence of an owner that entered: if the caller loaded a
    // store of that owner before, this is its epoch.
    EPOCH.acquire_fence();
    // SYNC(region.epoch): pairs with the store in `enter`.
    words[live::EPOCH].observe(EPOCH)
}

/// Whether an owner was ever entered: the creator has finished.
#[cfg(any(test, not(nanotape_loom)))]
pub(super) fn is_ready(words: &[ReadWord]) -> bool {
    // SYNC(region.ready): pairs with the stores in `enter` and `close`.
    matches!(words[live::STATE].observe(READY), state::READY | state::CLOSED)
}

/// The latest owner and whether it is alive. `is_held` queries the lock; the heap has none.
pub(super) fn owner(words: &[ReadWord], is_held: impl Fn() -> Option<bool>) -> Owner {
    for _ in 0..TRIES {
        // SYNC(region.epoch): pairs with the store in `enter`.
        let epoch = words[live::EPOCH].observe(EPOCH);
        // SYNC(region.owner): pairs with the store in `enter`.
        let number = words[live::OWNER_PID].observe(OWNER);
        let started = words[live::OWNER_STARTED].load();
        // Before the state: an owner closes first and then releases the lock.
        let is_held = is_held();
        // SYNC(region.ready): pairs with the stores of the state. Its fence also keeps the loads
        // above before the second load.
        let is_closed = words[live::STATE].observe(READY) == state::CLOSED;
        let state = match (is_held.unwrap_or(!is_closed), is_closed) {
            (true, _) => OwnerState::Alive,
            (false, true) => OwnerState::Closed,
            (false, false) => OwnerState::Dead,
        };
        // SYNC(region.owner): pairs with the store in `enter`.
        let is_same = words[live::OWNER_PID].observe(OWNER) == number;
        if is_same && words[live::EPOCH].load() == epoch {
            return entered(state, number, started, epoch);
        }
    }
    entered(OwnerState::Alive, 0, 0, words[live::EPOCH].load())
}

/// While the number is 0 the process is unknown.
fn entered(state: OwnerState, number: u64, started_s: u64, epoch: u64) -> Owner {
    let pid = u32::try_from(number).unwrap_or(0);
    let started = Started::at_unix_s(if number == 0 { 0 } else { started_s });
    Owner { state, pid, started, epoch }
}
