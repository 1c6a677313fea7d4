//! A hash of the executable, which shows whether two records are of one build.
//!
//! FNV-1a with 64 bits: a few lines, the same on every machine, and enough to distinguish builds.
//! It is not cryptographic: two files with the same hash can be constructed.

use std::{fs::File, io::Read, path::Path};

const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

/// `fnv1a64:` and sixteen digits, or None if the file cannot be read to its end.
pub(super) fn hash_of_file(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let mut buffer = vec![0; 64 * 1024];
    let mut hash = OFFSET_BASIS;
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(format!("fnv1a64:{hash:016x}")),
            length => hash = add(hash, buffer.get(..length)?),
        }
    }
}

fn add(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the reference of the hash's authors.
    #[test]
    fn known_hashes_come_out() {
        assert_eq!(add(OFFSET_BASIS, b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(add(OFFSET_BASIS, b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(add(OFFSET_BASIS, b"foobar"), 0x8594_4171_f739_67e8);
        assert_eq!(add(add(OFFSET_BASIS, b"foo"), b"bar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn this_program_has_a_hash_and_a_directory_has_none() {
        let exe = Path::new("/proc/self/exe");
        let hash = hash_of_file(exe).expect("the program can be read");
        assert_eq!(hash.len(), "fnv1a64:".len() + 16);
        assert_eq!(Some(hash), hash_of_file(exe));
        assert_eq!(hash_of_file(Path::new("/proc")), None);
    }
}
