//! The group of a key: a hash with a seed of the map.
//!
//! Each word is multiplied into the state to 128 bits, whose halves are folded. Without the
//! seed, keys of one group cannot be chosen. A process that reads the map has the seed: keys that
//! it chooses are in groups that are far away, but all of them fit.

use nanotape_shm::ReadWord;

const FIRST: u64 = 0x9e37_79b9_7f4a_7c15;
const SECOND: u64 = 0xbf58_476d_1ce4_e5b9;
const THIRD: u64 = 0x94d0_49bb_1331_11eb;

/// Words of keys that are compared without a branch for each.
const SHORT: usize = 4;

#[inline(always)]
fn folded(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    (product >> 64) as u64 ^ product as u64
}

/// The hash of a key.
#[inline(always)]
pub(crate) fn hash(seed: u64, key: &[u64]) -> u64 {
    let state = key.iter().fold(seed ^ FIRST, |state, word| folded(state ^ word, SECOND));
    folded(state ^ seed.rotate_left(32), THIRD)
}

/// Whether these words are the key.
#[inline(always)]
pub(crate) fn is_key(words: &[ReadWord], key: &[u64]) -> bool {
    let differs = |(word, expected): (&ReadWord, &u64)| word.load() ^ expected;
    if key.len() <= SHORT {
        return words.iter().zip(key).map(differs).fold(0, |all, one| all | one) == 0;
    }
    words.iter().zip(key).map(differs).all(|one| one == 0)
}

/// The group of a hash: all are equally likely.
#[inline(always)]
pub(crate) fn group_of(hash: u64, groups: usize) -> usize {
    ((u128::from(hash) * groups as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_a_row_are_in_all_groups_alike_whatever_the_seed() {
        for seed in [0, 1, u64::MAX, 0x1234_5678_9abc_def0] {
            let mut counts = vec![0_u32; 100];
            for key in 0..100_000_u64 {
                counts[group_of(hash(seed, &[key << 7]), 100)] += 1;
            }
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            assert!(*least > 850 && *most < 1_150, "{least} to {most}");
        }
    }
}
