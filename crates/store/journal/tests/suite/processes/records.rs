//! Records that carry a check of their content and the number of their writer.

use nanotape_harness::{bytes_of, mixed};
use nanotape_journal::{Excerpt, Start, Tail, Tailer};

/// Writers from this number on write longer records too.
const SHORT: u16 = 13;

/// The payload of a record, which follows from its number and its writer. The first writers have
/// short records, for tests that count stores.
pub(crate) fn payload(sequence: u64, writer: u16) -> Vec<u8> {
    let seed = mixed(mixed(sequence) ^ u64::from(writer));
    let most = match seed {
        _ if writer < SHORT => 70,
        _ if seed.is_multiple_of(50) => 9000,
        _ => 300,
    };
    let length = (seed % most) as usize;
    bytes_of(seed, length)
}

/// Checks that the excerpt has the type and payload of its writer.
pub(crate) fn check(excerpt: &Excerpt<'_>) {
    let expected = payload(excerpt.sequence(), excerpt.type_id());
    assert!(excerpt.to_vec() == expected, "{} is torn: {excerpt:?}", excerpt.sequence());
}

/// Reads all records; returns their writers. The records must be numbered from 1 without a gap.
pub(crate) fn read_all(path: &std::path::Path) -> Vec<u16> {
    let mut tailer = Tailer::open(path, Start::Oldest).unwrap();
    let (mut writers, mut idle) = (Vec::new(), 0);
    while idle < 2100 {
        match tailer.next().unwrap() {
            Tail::Excerpt(excerpt) => {
                check(&excerpt);
                writers.push(excerpt.type_id());
                assert_eq!(excerpt.sequence(), writers.len() as u64, "nothing lost, nothing twice");
                idle = 0;
            }
            Tail::Gap(gap) => panic!("{gap:?}"),
            Tail::Reused(reused) => panic!("{reused:?}"),
            Tail::Nothing => idle += 1,
        }
    }
    writers
}
