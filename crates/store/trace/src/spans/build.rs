//! A number that distinguishes builds of a program.

use std::{fs::File, os::unix::fs::FileExt as _, sync::OnceLock};

/// Bytes of a sample of the executable, and samples.
const SAMPLE_BYTES: usize = 4096;
const SAMPLES: u64 = 64;

/// A number that differs between builds of this program; 0 if its executable cannot be read.
///
/// It is a hash of the length of the executable and of 64 samples of 4 KiB, among them its first
/// and last bytes. A change of the code moves symbols, strings or tables, so it changes samples.
/// Computed once, in about 0.1 ms.
pub fn build_of_this_program() -> u64 {
    static BUILD: OnceLock<u64> = OnceLock::new();
    *BUILD.get_or_init(|| File::open("/proc/self/exe").and_then(|file| hash(&file)).unwrap_or(0))
}

fn hash(file: &File) -> std::io::Result<u64> {
    let length = file.metadata()?.len();
    let last = length.saturating_sub(SAMPLE_BYTES as u64);
    let mut hash = mix(FNV_OFFSET, length);
    let mut sample = [0; SAMPLE_BYTES];
    for place in 0..SAMPLES {
        let at = u64::try_from(u128::from(last) * u128::from(place) / u128::from(SAMPLES - 1));
        let read = file.read_at(&mut sample, at.unwrap_or(last))?;
        for &bytes in sample[..read].as_chunks().0 {
            hash = mix(hash, u64::from_le_bytes(bytes));
        }
    }
    // 0 is for programs without a number.
    Ok(hash.max(1))
}

// The Fowler-Noll-Vo hash (FNV-1a), by words.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

fn mix(hash: u64, word: u64) -> u64 {
    // Rotated, because a multiplication alone never moves a high bit down.
    (hash ^ word).wrapping_mul(FNV_PRIME).rotate_left(23)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use nanotape_harness::Scratch;

    use super::*;

    fn hash_of(bytes: &[u8]) -> u64 {
        let scratch = Scratch::new("program");
        let mut file = File::create_new(scratch.path()).unwrap();
        file.write_all(bytes).unwrap();
        hash(&File::open(scratch.path()).unwrap()).unwrap()
    }

    #[test]
    fn programs_of_another_length_or_content_have_another_number() {
        let bytes = vec![7; 100_000];
        assert_eq!(hash_of(&bytes), hash_of(&bytes));
        let mut all = vec![hash_of(&bytes), hash_of(&bytes[1..]), hash_of(&[]), hash_of(&[7])];
        for changed in [0, 60_000, 99_999] {
            let mut other = bytes.clone();
            other[changed] = 8;
            all.push(hash_of(&other));
        }
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 7);
    }

    #[test]
    fn this_program_has_a_number() {
        assert_ne!(build_of_this_program(), 0);
        assert_eq!(build_of_this_program(), build_of_this_program());
    }
}
