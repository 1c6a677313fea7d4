//! Records that say whether they are whole, and who wrote them.

use nanotape_journal::{Excerpt, Start, Tail, Tailer};

/// Spreads every bit of a number over all bits.
pub(crate) fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Writers from this number on write longer records too.
const SHORT: u16 = 13;

/// What the record of this number holds that a writer made: all of it follows from the two. Those of the
/// first writers are short, for tests that count stores.
pub(crate) fn payload(sequence: u64, writer: u16) -> Vec<u8> {
    let seed = mixed(mixed(sequence) ^ u64::from(writer));
    let most = match seed {
        _ if writer < SHORT => 70,
        _ if seed.is_multiple_of(50) => 9000,
        _ => 300,
    };
    let length = (seed % most) as usize;
    let words = (0..length.div_ceil(8) as u64).map(|index| mixed(seed.wrapping_add(index)));
    let mut bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    bytes.truncate(length);
    bytes
}

/// Its type is the writer's number, and it is whole.
pub(crate) fn check(excerpt: &Excerpt<'_>) {
    let expected = payload(excerpt.sequence(), excerpt.type_id());
    assert!(excerpt.to_vec() == expected, "{} is torn: {excerpt:?}", excerpt.sequence());
}

/// Reads everything from the beginning: the writer of each record, which are numbered from 1 without a gap.
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
