//! The words of the header that change: an owner enters itself and closes, and readers check its
//! state.
//!
//! Protocol: `docs/formats/region.md`. An owner enters with the lock. The process number is 0 while
//! the other facts change: a reader takes facts for those of one owner only if number and epoch are
//! the same before and after. The number alone would not do, because in containers every owner has
//! number 1. Failure: an owner that is killed while it enters leaves the number 0, which means not
//! known.

use super::{
    header::{EPOCH, OWNER, READY, live, state},
    owner::{Owner, OwnerState, Started},
};
use crate::word::{ReadWord, Word};

/// How often a reader asks again while owners come and go. Something that changes the words all the
/// time is no owner, and must not keep a reader for ever.
const TRIES: u32 = 1_000;

/// Enters a new owner, which holds the lock. Ended between any two stores, it leaves a region that
/// the next owner can take over: the state does not change before the last.
pub(super) fn enter(words: &[Word], epoch: u64, pid: u32, started: Started) {
    words[live::OWNER_PID].store(0);
    // SYNC(region.owner): pairs with the fence in front of a reader's second look at the number.
    OWNER.release_fence();
    words[live::OWNER_STARTED].store(started.unix_s());
    // SYNC(region.epoch): pairs with the loads of `epoch` and `owner`.
    words[live::EPOCH].publish(epoch, EPOCH);
    // SYNC(region.epoch): who sees a later store of this owner sees its epoch, if the reader's
    // fence is in front of its look.
    EPOCH.release_fence();
    // SYNC(region.owner): pairs with a reader's looks at the number.
    words[live::OWNER_PID].publish(u64::from(pid), OWNER);
    // SYNC(region.ready): pairs with the loads of the state.
    words[live::STATE].publish(state::READY, READY);
}

/// The owner says that it is done. It lets go of the lock after that.
pub(super) fn close(words: &[Word]) {
    // SYNC(region.ready): pairs with the loads of the state.
    words[live::STATE].publish(state::CLOSED, READY);
}

/// Counts owners.
#[inline]
pub(super) fn epoch(words: &[ReadWord]) -> u64 {
    // SYNC(region.epoch): pairs with the fence of an owner that entered: if what was loaded before
    // is its work, this is its epoch.
    EPOCH.acquire_fence();
    // SYNC(region.epoch): pairs with the store in `enter`.
    words[live::EPOCH].observe(EPOCH)
}

/// Whether an owner was ever entered: its creator was done.
#[cfg(any(test, not(nanotape_loom)))]
pub(super) fn is_ready(words: &[ReadWord]) -> bool {
    // SYNC(region.ready): pairs with the stores in `enter` and `close`.
    matches!(words[live::STATE].observe(READY), state::READY | state::CLOSED)
}

/// The latest owner and whether it lives. `is_held` asks for the lock; there is none on the heap.
pub(super) fn owner(words: &[ReadWord], is_held: impl Fn() -> Option<bool>) -> Owner {
    for _ in 0..TRIES {
        // SYNC(region.epoch): pairs with the store in `enter`.
        let epoch = words[live::EPOCH].observe(EPOCH);
        // SYNC(region.owner): pairs with the store in `enter`.
        let number = words[live::OWNER_PID].observe(OWNER);
        let started = words[live::OWNER_STARTED].load();
        // Before the state: an owner closes first and then lets go.
        let is_held = is_held();
        // SYNC(region.ready): pairs with the stores of the state. Its fence also keeps the loads
        // above in front of the second look.
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

/// While the number is 0 nothing is known of the process.
fn entered(state: OwnerState, number: u64, started_s: u64, epoch: u64) -> Owner {
    let pid = u32::try_from(number).unwrap_or(0);
    let started = Started::at_unix_s(if number == 0 { 0 } else { started_s });
    Owner { state, pid, started, epoch }
}
