//! CRC-32C of words, computed in the memory that stores them.
//!
//! Where: the checksum of every excerpt, header and index entry of a journal, and of every frame of
//! a link. Libraries take bytes, but shared memory has no plain bytes.
//! Meaning: the sum of the words' bytes, low byte first, with the Castagnoli polynomial (RFC 3720
//! appendix B.4), starting from the sum of the preceding data. So a sum can be continued, and a sum
//! that starts from the name of a file is not valid in another file.
//! Cost: three cycles a word if the processor has the instruction (SSE 4.2), which is detected at
//! run time; otherwise eight table lookups a word. Each step of one sum depends on the step before.
//! Long runs of words are summed in three parallel lanes, at a little more than one cycle a word. A
//! carry-less multiplication (PCLMULQDQ) combines the lanes.

use crate::{ReadWord, WORD_BYTES, last_word};

/// The polynomial, lowest power in the highest bit.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// The sum of the three words of `front` and of `words`, continuing the sum `before`.
#[inline]
pub fn checksum(before: u32, front: [u64; 3], words: &[ReadWord]) -> u32 {
    !run(!before, front, words, ReadWord::load, None)
}

/// The same for bytes that will be copied into words: the last word is padded with zeros.
#[inline]
pub fn checksum_filled(before: u32, front: [u64; 3], bytes: &[u8]) -> u32 {
    let (whole, rest) = bytes.as_chunks::<WORD_BYTES>();
    let last = (!rest.is_empty()).then(|| last_word(bytes, rest.len()));
    !run(!before, front, whole, |chunk| u64::from_ne_bytes(*chunk), last)
}

/// The sum of words of this process, continuing the sum `before`.
#[inline]
pub fn checksum_words(before: u32, words: &[u64]) -> u32 {
    !run(!before, [], words, |word| *word, None)
}

/// The sum of plain bytes, continuing the sum `before`.
pub fn checksum_bytes(before: u32, bytes: &[u8]) -> u32 {
    let (whole, rest) = bytes.as_chunks::<WORD_BYTES>();
    let state = run(!before, [], whole, |chunk| u64::from_le_bytes(*chunk), None);
    !rest.iter().fold(state, |state, &byte| step_byte(state, byte))
}

/// Feeds all words into the state: `front`, then `words`, then `last`.
#[inline(always)]
fn run<T, const N: usize>(
    state: u32,
    front: [u64; N],
    words: &[T],
    load: impl Fn(&T) -> u64,
    last: Option<u64>,
) -> u32 {
    #[cfg(all(target_arch = "x86_64", not(any(miri, nanotape_loom))))]
    if is_x86_feature_detected!("sse4.2") {
        if words.len() >= LANES_FROM && is_x86_feature_detected!("pclmulqdq") {
            // SAFETY: the processor has both instructions, as was just checked.
            return unsafe { run_in_lanes(state, front, words, load, last) };
        }
        // SAFETY: the processor has the instruction, as was just checked.
        return unsafe { run_by_instruction(state, front, words, load, last) };
    }
    let state = front.into_iter().chain(words.iter().map(load)).fold(state, step);
    last.into_iter().fold(state, step)
}

#[cfg(all(target_arch = "x86_64", not(any(miri, nanotape_loom))))]
#[target_feature(enable = "sse4.2")]
fn run_by_instruction<T, const N: usize>(
    state: u32,
    front: [u64; N],
    words: &[T],
    load: impl Fn(&T) -> u64,
    last: Option<u64>,
) -> u32 {
    use core::arch::x86_64::_mm_crc32_u64;

    let mut state = u64::from(state);
    for word in front {
        state = _mm_crc32_u64(state, word);
    }
    for word in words {
        state = _mm_crc32_u64(state, load(word));
    }
    if let Some(word) = last {
        state = _mm_crc32_u64(state, word);
    }
    state as u32
}

/// The number of words from which lanes are faster than one sum.
#[cfg(all(target_arch = "x86_64", not(any(miri, nanotape_loom))))]
const LANES_FROM: usize = 18;

/// The most words of a lane before the lanes are combined.
#[cfg(all(target_arch = "x86_64", not(any(miri, nanotape_loom))))]
const LANE_WORDS: usize = 128;

/// All words: those between `front` and `last` in three lanes, as long as there are enough for
/// three.
#[cfg(all(target_arch = "x86_64", not(any(miri, nanotape_loom))))]
#[target_feature(enable = "sse4.2,pclmulqdq")]
fn run_in_lanes<T, const N: usize>(
    state: u32,
    front: [u64; N],
    mut words: &[T],
    load: impl Fn(&T) -> u64,
    last: Option<u64>,
) -> u32 {
    use core::arch::x86_64::{
        _mm_clmulepi64_si128, _mm_crc32_u64, _mm_cvtsi64_si128, _mm_cvtsi128_si64,
    };

    // Advances a state over `words` words of zero: the product, and its remainder.
    let pass = |state: u64, words: usize| {
        let (state, power) =
            (_mm_cvtsi64_si128(state as i64), _mm_cvtsi64_si128(i64::from(POWERS[words])));
        let product = _mm_clmulepi64_si128::<0>(state, power);
        _mm_crc32_u64(0, _mm_cvtsi128_si64(product) as u64)
    };
    let mut state = u64::from(state);
    for word in front {
        state = _mm_crc32_u64(state, word);
    }
    while let lane @ 1.. = (words.len() / 3).min(LANE_WORDS) {
        let (first, behind) = words.split_at(lane);
        let (second, behind) = behind.split_at(lane);
        let (third, behind) = behind.split_at(lane);
        let mut states = (state, 0, 0);
        for ((one, two), three) in first.iter().zip(second).zip(third) {
            states.0 = _mm_crc32_u64(states.0, load(one));
            states.1 = _mm_crc32_u64(states.1, load(two));
            states.2 = _mm_crc32_u64(states.2, load(three));
        }
        state = pass(states.0, 2 * lane) ^ pass(states.1, lane) ^ states.2;
        words = behind;
    }
    run_by_instruction(state as u32, [], words, load, last)
}

/// `POWERS[n]`: the factor that advances a state over `n` words of zero, x to the power 64n - 33.
/// The product with a state has 63 bits, and adding a word to a state multiplies it by x to the 32.
#[cfg(all(target_arch = "x86_64", not(any(miri, nanotape_loom))))]
static POWERS: [u32; 2 * LANE_WORDS + 1] = powers();

#[cfg(all(target_arch = "x86_64", not(any(miri, nanotape_loom))))]
const fn powers() -> [u32; 2 * LANE_WORDS + 1] {
    let mut powers = [0; 2 * LANE_WORDS + 1];
    // x to the power 31: the lowest power is in the highest bit.
    let mut power: u32 = 1;
    let mut words = 1;
    while words < powers.len() {
        powers[words] = power;
        let mut bit = 0;
        while bit < 64 {
            power = if power & 1 == 1 { power >> 1 ^ POLYNOMIAL } else { power >> 1 };
            bit += 1;
        }
        words += 1;
    }
    powers
}

/// One word by tables, eight bytes at once.
fn step(state: u32, word: u64) -> u32 {
    let bytes = (word ^ u64::from(state)).to_le_bytes();
    let parts = bytes.iter().zip(TABLES.iter().rev());
    parts.fold(0, |state, (&byte, table)| state ^ table[usize::from(byte)])
}

fn step_byte(state: u32, byte: u8) -> u32 {
    state >> 8 ^ TABLES[0][usize::from(state as u8 ^ byte)]
}

/// `TABLES[n][b]`: the effect of byte `b` on the state, followed by `n` zero bytes.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut state = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            state = if state & 1 == 1 { state >> 1 ^ POLYNOMIAL } else { state >> 1 };
            bit += 1;
        }
        tables[0][byte] = state;
        byte += 1;
    }
    let mut behind = 1;
    while behind < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before: u32 = tables[behind - 1][byte];
            tables[behind][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        behind += 1;
    }
    tables
}

#[cfg(all(test, not(nanotape_loom)))]
mod tests {
    use crate::{Word, as_read_only, copy_into};
    use proptest::prelude::*;

    use super::*;

    /// The definition: a bit at a time.
    fn naive(before: u32, bytes: &[u8]) -> u32 {
        let mut state = !before;
        for &byte in bytes {
            state ^= u32::from(byte);
            for _ in 0..8 {
                state = if state & 1 == 1 { state >> 1 ^ POLYNOMIAL } else { state >> 1 };
            }
        }
        !state
    }

    #[test]
    fn the_check_values_that_are_published() {
        // RFC 3720 appendix B.4, and the usual check value of CRC-32C.
        let descending: Vec<u8> = (0..32).rev().collect();
        let ascending: Vec<u8> = (0..32).collect();
        for (bytes, expected) in [
            (&[0; 32][..], 0x8a91_36aa),
            (&[0xff; 32], 0x62a8_ab43),
            (&ascending, 0x46dd_794e),
            (&descending, 0x113f_db5c),
            (b"123456789", 0xe306_9283),
        ] {
            assert_eq!(checksum_bytes(0, bytes), expected, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn words_bytes_and_the_definition_agree(
            before: u32, front: [u64; 3], bytes in proptest::collection::vec(any::<u8>(), 0..4_000)
        ) {
            let words: Vec<Word> = (0..500).map(|_| Word::new(7)).collect();
            copy_into(&words, &bytes);
            let words = &as_read_only(&words)[..bytes.len().div_ceil(WORD_BYTES)];
            let mut all: Vec<u8> = front.iter().flat_map(|word| word.to_le_bytes()).collect();
            all.extend(words.iter().flat_map(|word| word.load().to_le_bytes()));
            let expected = naive(before, &all);
            prop_assert_eq!(checksum_filled(before, front, &bytes), expected);
            prop_assert_eq!(checksum(before, front, words), expected);
            prop_assert_eq!(checksum_bytes(before, &all), expected);
            prop_assert_eq!(checksum_bytes(before, &bytes), naive(before, &bytes));
            let loads = front.into_iter().chain(words.iter().map(ReadWord::load));
            prop_assert_eq!(!loads.fold(!before, step), expected, "by tables");
        }
    }
}
