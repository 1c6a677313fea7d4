//! The function between whose entry and exit valgrind counts.
//!
//! Valgrind turns counting on or off at every entry and exit of a function of a given name, so a
//! region inside a region would turn it off. Hence two functions: the outer one knows whether it is
//! inside already, and only the outermost call goes through the one with the name.

use std::{cell::Cell, hint::black_box};

/// The name of [`counted_region`]'s inner function, for every type it is made for, in both ways the
/// compiler writes names. It begins with the crate, so that a function of the program that is
/// called similarly does not match.
pub const COUNTED_REGION: &str = "nanotape_lab::callgrind::region::turns_counting_on_and_off*";

thread_local! {
    /// Whether this thread is in a region.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`; under [`count_instructions`](super::count_instructions) its instructions count,
/// those of the calling thread. Outside of valgrind it costs two calls, so it may stay where it is.
pub fn counted_region<R>(work: impl FnOnce() -> R) -> R {
    if INSIDE.replace(true) {
        return work();
    }
    let _leave = Leave;
    turns_counting_on_and_off(work)
}

/// On unwinding too.
struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        INSIDE.set(false);
    }
}

/// The result passes a place that the optimiser cannot see into: work whose result nobody looks at
/// would be left out, and a call in last position would become a jump, which has no exit.
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
