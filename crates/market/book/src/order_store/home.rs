//! The first slot that the open-addressing tables probe for a reference.
//!
//! The hash is fixed, without a seed. The exchange chooses the keys; hostile keys can make lookups
//! slow, not wrong.

/// 2^64 divided by the golden ratio: successive references land far apart.
pub(super) const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Maps to the upper bits of a product, as many as the size of a table has: the size is a power of
/// two.
#[derive(Clone, Copy, Debug)]
pub(super) struct Home {
    /// 64 minus the binary logarithm of the number of slots.
    shift: u32,
}

impl Home {
    /// For a table of `slots` slots: a power of two, at least 2.
    pub(super) fn of_slots(slots: usize) -> Self {
        debug_assert!(slots.is_power_of_two() && slots >= 2);
        Self { shift: 64 - slots.trailing_zeros() }
    }

    /// The slot of a reference.
    #[inline]
    pub(super) fn of(self, reference: u64) -> usize {
        (reference.wrapping_mul(MULTIPLIER) >> self.shift) as usize
    }
}
