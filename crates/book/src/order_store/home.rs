//! Where the tables with open addressing look for a reference first.
//!
//! The hash is fixed and not seeded. The keys come from an exchange; somebody who can choose them
//! can make look-ups slow, not wrong.

/// 2^64 divided by the golden ratio: successive references land far apart.
pub(super) const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The upper bits of a product, as many as a table's size has: its size is a power of two.
#[derive(Clone, Copy, Debug)]
pub(super) struct Home {
    /// 64 minus the binary logarithm of the number of slots.
    shift: u32,
}

impl Home {
    /// In a table of so many slots: a power of two, and at least 2.
    pub(super) fn of_slots(slots: usize) -> Self {
        debug_assert!(slots.is_power_of_two() && slots >= 2);
        Self { shift: 64 - slots.trailing_zeros() }
    }

    /// The slot, below their number.
    #[inline]
    pub(super) fn of(self, reference: u64) -> usize {
        (reference.wrapping_mul(MULTIPLIER) >> self.shift) as usize
    }
}
