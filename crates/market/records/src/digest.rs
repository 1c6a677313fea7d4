//! A digest of the records of each stock: two runs that published the same records have the same
//! digests.
//!
//! Definition: a chain over the records of one instrument, in order. It covers the record type and
//! all words of a record except `ts_recv`, which differs from run to run. Starts and stops of
//! plants are not covered, nor are types that this version does not know. `docs/formats/records.md`
//! has the arithmetic. It finds differences, but does not resist an attacker.
//! Cost: about one multiplication for two words; the digests of all stocks take 512 KiB.

use nanotape_types::{LocateTable, StockLocate};

use crate::{FIRST_TYPE_ID, RecordKind};

/// Odd numbers without a pattern: the first digits of the fractional parts of square roots of
/// primes, as in FIPS 180-4.
const KEYS: [u64; 4] =
    [0x6a09_e667_f3bc_c909, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b, 0xa54f_f53a_5f1d_36f1];

/// The digests of the records of every instrument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Digests(LocateTable<u64>);

impl Default for Digests {
    fn default() -> Self {
        Self(LocateTable::filled(0))
    }
}

impl Digests {
    /// Adds a record in words; ignores types that are not covered.
    #[inline(always)]
    pub fn add(&mut self, type_id: u16, words: &[[u8; 8]]) {
        let (Some(skipped), Some(first)) = (receive_word(type_id), words.first()) else { return };
        // Records about the whole market, and instruments that are no stock locate, count for 0.
        let instrument = u32::from_le_bytes([first[4], first[5], first[6], first[7]]);
        let locate = StockLocate::new(u16::try_from(instrument).unwrap_or(0));
        self.0[locate] = fold(self.0[locate] ^ sum(type_id, skipped, words), KEYS[3]);
    }

    /// The same for a record of a known kind in words: the code of a publisher.
    #[inline(always)]
    pub fn add_words<const N: usize>(&mut self, kind: RecordKind, words: &[u64; N]) {
        let type_id = kind.type_id();
        let Some(skipped) = receive_word(type_id) else { return };
        let locate = StockLocate::new(u16::try_from(words[0] >> 32).unwrap_or(0));
        let mut sum = KEYS[0] ^ u64::from(type_id);
        for pair in 0..N.div_ceil(2) {
            let word = |at: usize| if at < N && at != skipped { words[at] } else { 0 };
            sum = next_sum(sum, pair, word(2 * pair), word(2 * pair + 1));
        }
        self.0[locate] = fold(self.0[locate] ^ sum, KEYS[3]);
    }

    /// The same for bytes; a last incomplete word is ignored.
    #[inline]
    pub fn add_bytes(&mut self, type_id: u16, bytes: &[u8]) {
        self.add(type_id, bytes.as_chunks().0);
    }

    /// The digest of one instrument; 0 without records.
    pub fn of(&self, locate: StockLocate) -> u64 {
        self.0[locate]
    }

    /// Continues from an earlier digest of an instrument.
    pub fn set(&mut self, locate: StockLocate, digest: u64) {
        self.0[locate] = digest;
    }

    /// The digest of all instruments together.
    pub fn total(&self) -> u64 {
        let with_records = self.0.iter().filter(|&(_, &digest)| digest != 0);
        with_records.fold(0, |total, (locate, &digest)| {
            fold(total ^ digest, KEYS[2] ^ u64::from(locate.get()))
        })
    }

    /// The instruments whose digests differ.
    pub fn different<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = StockLocate> + 'a {
        let pairs = self.0.iter().zip(other.0.iter());
        pairs.filter(|((_, ours), (_, theirs))| ours != theirs).map(|((locate, _), _)| locate)
    }
}

/// Whether digests cover records of this type.
pub fn is_covered(type_id: u16) -> bool {
    receive_word(type_id).is_some()
}

/// Whether two records of a type are the same, except for `ts_recv`.
pub fn is_same_record(type_id: u16, left: &[u8], right: &[u8]) -> bool {
    let Some(skipped) = receive_word(type_id) else { return left == right };
    let (from, to) = (8 * skipped, 8 * skipped + 8);
    if left.len() != right.len() || left.len() < to {
        return left == right;
    }
    left[..from] == right[..from] && left[to..] == right[to..]
}

/// The word with `ts_recv` of a record type; `None` if the type is not covered.
#[inline(always)]
fn receive_word(type_id: u16) -> Option<usize> {
    const MBO: u16 = RecordKind::Mbo.type_id();
    const BBO: u16 = RecordKind::Bbo.type_id();
    const TRADE: u16 = RecordKind::Trades.type_id();
    const GAP: u16 = FIRST_TYPE_ID;
    const TAINT: u16 = FIRST_TYPE_ID + 1;
    match type_id {
        MBO => Some(5),
        BBO | TRADE => Some(4),
        GAP | TAINT => Some(2),
        other => RecordKind::of_type_id(other).map(|_| 2),
    }
}

/// The sum of one record, without the word `skipped`.
#[inline(always)]
fn sum(type_id: u16, skipped: usize, words: &[[u8; 8]]) -> u64 {
    let mut sum = KEYS[0] ^ u64::from(type_id);
    for (index, pair) in words.chunks(2).enumerate() {
        let word = |at: usize| match pair.get(at) {
            Some(&bytes) if 2 * index + at != skipped => u64::from_le_bytes(bytes),
            _ => 0,
        };
        sum = next_sum(sum, index, word(0), word(1));
    }
    sum
}

/// The sum with one more pair of words.
#[inline(always)]
fn next_sum(sum: u64, pair: usize, first: u64, second: u64) -> u64 {
    sum.wrapping_add(fold(first ^ KEYS[1], second ^ KEYS[pair % 4])).rotate_left(7)
}

/// Both halves of the product, combined.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        Common, Notice, PlantStart, Predecessor, PublisherInstrument, RecordKinds, Taint,
        encode::{BestLevels, Change, LAST, bytes, mbo, mbp1, trade},
    };

    const COMMON: Common = Common {
        instrument: PublisherInstrument::none_of(2).numbered(13),
        ts_event: 1,
        ts_recv: 2,
        sequence: 3,
        flags: 0,
    };

    #[test]
    fn the_time_of_receipt_is_not_covered_and_every_other_byte_is() {
        let kinds: [(RecordKind, Vec<[u8; 8]>, usize); 3] = [
            (RecordKind::Mbo, bytes(mbo(&COMMON, LAST, 7, Change::NONE)).to_vec(), 5),
            (
                RecordKind::Bbo,
                bytes(mbp1(&COMMON, LAST, Change::NONE, BestLevels::default())).to_vec(),
                4,
            ),
            (RecordKind::Trades, bytes(trade(&COMMON, LAST, Change::NONE)).to_vec(), 4),
        ];
        for (kind, words, receive) in kinds {
            let total = |words: &[[u8; 8]]| {
                let mut digests = Digests::default();
                digests.add(kind.type_id(), words);
                let mut by_words = Digests::default();
                let numbers = |at: usize| u64::from_le_bytes(words[at]);
                match words.len() {
                    6 => by_words.add_words(kind, &core::array::from_fn::<_, 6, _>(numbers)),
                    7 => by_words.add_words(kind, &core::array::from_fn::<_, 7, _>(numbers)),
                    _ => by_words.add_words(kind, &core::array::from_fn::<_, 10, _>(numbers)),
                }
                assert_eq!(digests, by_words);
                digests.total()
            };
            let before = total(&words);
            for word in 0..words.len() {
                for bit in 0..64 {
                    let mut changed = words.clone();
                    changed[word][bit / 8] ^= 1 << (bit % 8);
                    assert_eq!(total(&changed) == before, word == receive, "{kind} {word} {bit}");
                }
            }
        }
    }

    #[test]
    fn starts_are_not_covered_and_taints_are_without_their_time() {
        let digest = |notice: Notice| {
            let mut digests = Digests::default();
            digests.add_bytes(notice.type_id(), notice.encode(2, &mut Notice::buffer()));
            digests
        };
        let start = PlantStart {
            publisher_id: 2,
            started_ns: 1,
            midnight_ns: 2,
            date: 3,
            kinds: RecordKinds::ALL,
            predecessor: Predecessor::None,
            pace_milli: 0,
        };
        assert_eq!(digest(Notice::Start(start)), Digests::default());
        let taint = |ts_recv, message| {
            let (instrument_id, ts_event) = (13, 4);
            digest(Notice::Taint(Taint {
                instrument_id,
                ts_event,
                ts_recv,
                anomaly: None,
                message,
            }))
        };
        assert_ne!(taint(1, 1), Digests::default());
        assert_eq!(taint(1, 1), taint(2, 1));
        let locates: Vec<_> = taint(1, 1).different(&taint(1, 2)).collect();
        assert_eq!(locates, [StockLocate::new(13)]);
    }

    proptest! {
        #[test]
        fn any_bytes_of_any_type_are_taken(
            type_id in any::<u16>(), bytes in prop::collection::vec(any::<u8>(), 0..600)
        ) {
            let mut digests = Digests::default();
            digests.add_bytes(type_id, &bytes);
            let _ = digests.total();
        }

        #[test]
        fn the_order_of_records_of_one_stock_matters(first in any::<u64>(), second in any::<u64>()) {
            prop_assume!(first != second);
            let of = |orders: [u64; 2]| {
                let mut digests = Digests::default();
                for order in orders {
                    let words = bytes(mbo(&COMMON, LAST, order, Change::NONE));
                    digests.add(RecordKind::Mbo.type_id(), &words);
                }
                digests.total()
            };
            prop_assert_ne!(of([first, second]), of([second, first]));
        }
    }
}
