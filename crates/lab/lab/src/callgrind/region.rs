//! The function whose entry and exit start and stop counting in valgrind.
//!
//! Valgrind turns counting on or off at every entry and exit of a function of a given name, so a
//! nested region would turn it off. Hence two functions: the outer one checks whether the thread is
//! already in a region, and only the outermost call enters the function with the name.

use std::{cell::Cell, hint::black_box};

/// The name of [`counted_region`]'s inner function, for all its types, in both forms in which the
/// compiler writes names. It begins with the crate, so that a similar function of the program does
/// not match.
pub const COUNTED_REGION: &str = "nanotape_lab::callgrind::region::turns_counting_on_and_off*";

thread_local! {
    /// Whether this thread is in a region.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`; under [`count_instructions`](super::count_instructions) the instructions of the
/// calling thread in it count. Outside of valgrind it costs two calls, so it can stay in the code.
pub fn counted_region<R>(work: impl FnOnce() -> R) -> R {
    if INSIDE.replace(true) {
        return work();
    }
    let _leave = Leave;
    turns_counting_on_and_off(work)
}

/// Clears `INSIDE` on return and on unwinding.
struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        INSIDE.set(false);
    }
}

/// The result passes through `black_box`. Otherwise the optimiser could remove work with an unused
/// result, or turn the last call into a jump, which has no exit.
#[inline(never)]
fn turns_counting_on_and_off<R>(work: impl FnOnce() -> R) -> R {
    black_box(work())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_give_back_what_the_work_gives() {
        assert_eq!(counted_region(|| counted_region(|| 7) + 1), 8);
        assert!(!INSIDE.get());
    }

    #[test]
    fn a_panic_leaves_the_region() {
        let result = std::panic::catch_unwind(|| counted_region(|| panic!("on purpose")));
        assert!(result.is_err());
        assert!(!INSIDE.get());
    }
}
