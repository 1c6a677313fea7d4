//! The first of sixteen numbers that is greater than another: all are compared at once.
//!
//! Where: BOOK finds a price among the best levels of a side with it, at least once a message.
//! Why: the compiler makes vectors of comparisons that are counted, but then counts the bits of
//! their result one by one. The target of the programs, any x86-64, has no instruction for that.
//! It has one for the lowest bit.

/// How many numbers are compared.
pub const COMPARED: usize = 16;

/// The index of the first number that is greater than `limit`; [`COMPARED`] if none is.
#[inline(always)]
pub fn first_greater(numbers: &[i32; COMPARED], limit: i32) -> usize {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        // SAFETY: the function needs SSE2, which every x86-64 processor has.
        unsafe { first_greater_in_vectors(numbers, limit) }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    first_greater_one_by_one(numbers, limit)
}

/// For the x86-64 target: 14 instructions.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "sse2")]
#[inline]
fn first_greater_in_vectors(numbers: &[i32; COMPARED], limit: i32) -> usize {
    use core::arch::x86_64::{
        _mm_cmpgt_epi32, _mm_movemask_epi8, _mm_packs_epi16, _mm_packs_epi32, _mm_set1_epi32,
        _mm_setr_epi32,
    };
    let limits = _mm_set1_epi32(limit);
    let (vectors, _) = numbers.as_chunks::<4>();
    let greater = |index: usize| {
        let [a, b, c, d] = vectors[index];
        _mm_cmpgt_epi32(_mm_setr_epi32(a, b, c, d), limits)
    };
    // All ones or zero: packing with saturation keeps both.
    let lower = _mm_packs_epi32(greater(0), greater(1));
    let upper = _mm_packs_epi32(greater(2), greater(3));
    let bits = _mm_movemask_epi8(_mm_packs_epi16(lower, upper));
    (bits | 1 << COMPARED).trailing_zeros() as usize
}

/// For all other targets; without a branch on the numbers.
#[cfg(any(test, not(target_arch = "x86_64"), miri))]
#[inline]
fn first_greater_one_by_one(numbers: &[i32; COMPARED], limit: i32) -> usize {
    let from_last = numbers.iter().enumerate().rev();
    from_last.fold(COMPARED, |first, (index, &number)| if number > limit { index } else { first })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn agrees(numbers: [i32; COMPARED], limit: i32) {
        let expected = numbers.iter().position(|&number| number > limit).unwrap_or(COMPARED);
        assert_eq!(first_greater(&numbers, limit), expected, "{numbers:?}, {limit}");
        assert_eq!(first_greater_one_by_one(&numbers, limit), expected, "{numbers:?}, {limit}");
    }

    #[test]
    fn each_place_of_the_first_greater_number_is_found() {
        for place in 0..=COMPARED {
            for (small, limit, great) in [(i32::MIN, i32::MIN, i32::MAX), (-1, 0, 1), (7, 7, 8)] {
                let numbers = core::array::from_fn(|at| if at < place { small } else { great });
                agrees(numbers, limit);
                // The numbers need no order.
                let only = core::array::from_fn(|at| if at == place { great } else { small });
                agrees(only, limit);
            }
        }
    }

    proptest! {
        #[test]
        fn any_numbers_and_any_limit_have_the_answer_of_a_plain_search(
            numbers in any::<[i32; COMPARED]>(),
            near in prop::array::uniform16(-2..3),
            limit in any::<i32>(),
        ) {
            agrees(numbers, limit);
            numbers.iter().for_each(|&number| agrees(numbers, number));
            agrees(near, 0);
            let mut sorted = numbers;
            sorted.sort_unstable();
            agrees(sorted, limit);
            sorted.iter().for_each(|&number| agrees(sorted, number));
        }
    }
}
