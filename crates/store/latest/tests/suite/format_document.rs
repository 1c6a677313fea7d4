//! The format document is enough to read a map: this reader follows from it alone.

use std::collections::BTreeMap;

use nanotape_harness::{Random, Scratch};
use nanotape_latest::{LatestSpec, LatestWriter};
use nanotape_shm::{HEADER_BYTES, RegionOptions};

const DOCUMENT: &str = include_str!("../../../../../docs/formats/latest.md");

/// Continues a CRC-32C by bytes, bit by bit.
fn continued(sum: u32, bytes: &[u8]) -> u32 {
    let mut state = !sum;
    for byte in bytes {
        state ^= u32::from(*byte);
        for _ in 0..8 {
            state = state >> 1 ^ if state & 1 == 1 { 0x82f6_3b78 } else { 0 };
        }
    }
    !state
}

/// The sum of a version and words.
fn sum_of(version: u32, words: &[u64]) -> u32 {
    words.iter().fold(version, |sum, word| continued(sum, &word.to_ne_bytes()))
}

fn folded(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    product as u64 ^ (product >> 64) as u64
}

/// A map without writers, as the document describes it.
pub(crate) struct Naive {
    words: Vec<u64>,
    key_words: usize,
    entry_words: usize,
    in_group: usize,
    group_words: usize,
    groups: usize,
    first_group: usize,
}

impl Naive {
    pub(crate) fn read(bytes: &[u8], spec: LatestSpec) -> Self {
        let words = |bytes: &[u8]| -> Vec<u64> {
            bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap())).collect()
        };
        let words = words(&bytes[HEADER_BYTES..]);
        let entry_words = 1 + spec.key_words + spec.value_words;
        let fits = |lines: usize| ((lines * 8 - 2) / entry_words).min(8);
        let mut lines = 1;
        if fits(1) < 2 {
            let few: Vec<usize> = (1..=4).filter(|lines| fits(*lines) > 0).collect();
            let waste = |lines: &usize| *lines as f64 / fits(*lines) as f64;
            let least = few.iter().map(waste).reduce(f64::min).unwrap_or(0.0);
            let good = few.iter().find(|lines| waste(lines) <= 1.25 * least + 1e-9);
            lines = good.copied().unwrap_or((2 + entry_words).div_ceil(8));
        }
        let in_group = fits(lines);
        let slot_words = (10 + entry_words).div_ceil(16) * 16;
        Self {
            key_words: spec.key_words,
            entry_words,
            in_group,
            group_words: lines * 8,
            groups: (spec.entries as usize * 4).div_ceil(3).div_ceil(in_group),
            first_group: 16 + spec.writers as usize * slot_words,
            words,
        }
    }

    fn home(&self, key: &[u64]) -> usize {
        let seed = self.words[0];
        let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
        for word in key {
            state = folded(state ^ word, 0xbf58_476d_1ce4_e5b9);
        }
        let hash = folded(state ^ seed.rotate_left(32), 0x94d0_49bb_1331_11eb);
        ((u128::from(hash) * self.groups as u128) >> 64) as usize
    }

    /// Key, value and version of all entries in the order of the memory, and whether each has its
    /// sum.
    pub(crate) fn all(&self) -> Vec<(Vec<u64>, Vec<u64>, u32, bool)> {
        let mut all = Vec::new();
        for group in 0..self.groups {
            let at = self.first_group + group * self.group_words;
            for entry in (0..self.in_group).filter(|entry| self.words[at] >> (16 + entry) & 1 == 1)
            {
                let at = at + 2 + entry * self.entry_words;
                let (stamp, rest) = (self.words[at], &self.words[at + 1..at + self.entry_words]);
                let (key, value) = rest.split_at(self.key_words);
                let has_its_sum = stamp >> 32 == u64::from(sum_of(stamp as u32, rest));
                all.push((key.to_vec(), value.to_vec(), stamp as u32, has_its_sum));
            }
        }
        all
    }

    /// All entries, each with its version; checks the sums, and counts the keys that passed a
    /// group.
    fn entries(&self) -> BTreeMap<Vec<u64>, (Vec<u64>, u32)> {
        let mut found = BTreeMap::new();
        let mut passed = vec![0; self.groups];
        for group in 0..self.groups {
            let at = self.first_group + group * self.group_words;
            let lock = self.words[at];
            assert_eq!(lock & 0xffff, 0, "locked");
            for entry in (0..self.in_group).filter(|entry| lock >> (16 + entry) & 1 == 1) {
                let at = at + 2 + entry * self.entry_words;
                let (stamp, rest) = (self.words[at], &self.words[at + 1..at + self.entry_words]);
                let sum = sum_of(stamp as u32, rest);
                assert_eq!(stamp >> 32, u64::from(sum), "sum of {rest:?}");
                let (key, value) = rest.split_at(self.key_words);
                let mut before = self.home(key);
                while before != group {
                    passed[before] += 1;
                    before = (before + 1) % self.groups;
                }
                found.insert(key.to_vec(), (value.to_vec(), stamp as u32));
            }
        }
        for (group, passed) in passed.iter().enumerate() {
            let at = self.first_group + group * self.group_words + 1;
            assert_eq!(self.words[at], *passed, "passed of group {group}");
        }
        found
    }
}

#[test]
fn a_reader_written_from_the_document_reads_every_map() {
    let place = Scratch::new("latest-document");
    let mut random = Random::new(1);
    for (key_words, value_words) in [(1, 1), (2, 1), (1, 0), (1, 2), (3, 10), (4, 40)] {
        place.clear();
        let spec = LatestSpec { entries: 300, key_words, value_words, writers: 3, value_layout: 0 };
        let mut writer = LatestWriter::join(place.path(), spec, &RegionOptions::default()).unwrap();
        let mut expected = BTreeMap::new();
        for _ in 0..1_000 {
            let key = vec![random.below(300); key_words];
            let value: Vec<u64> = (0..value_words).map(|_| random.number()).collect();
            if random.below(4) == 0 {
                assert_eq!(writer.remove(&key).unwrap(), expected.remove(&key).is_some());
                continue;
            }
            let _ = writer.insert(&key, &value).unwrap();
            let version = expected.get(&key).map_or(1, |(_, version)| version + 1);
            expected.insert(key, (value, version));
        }
        drop(writer);
        let naive = Naive::read(&std::fs::read(place.path()).unwrap(), spec);
        assert_eq!(naive.entries(), expected);
    }
}

#[test]
fn the_document_states_the_kind_and_the_layout() {
    let kind = String::from_utf8(nanotape_latest::KIND.to_vec()).unwrap();
    let layout = String::from_utf8(nanotape_latest::LAYOUT.to_be_bytes().to_vec()).unwrap();
    assert!(DOCUMENT.contains(&format!("`{kind}`")) && DOCUMENT.contains(&format!("`{layout}`")));
}

#[test]
fn the_document_has_a_stamp() {
    let place = Scratch::new("latest-stamp");
    let spec = LatestSpec { writers: 1, ..crate::spec(1) };
    let mut writer = LatestWriter::join(place.path(), spec, &RegionOptions::default()).unwrap();
    let _ = writer.insert(&[7], &[9]).unwrap();
    let bytes = std::fs::read(place.path()).unwrap();
    let naive = Naive::read(&bytes, spec);
    let stamp = naive.words[naive.first_group + 2];
    assert!(DOCUMENT.contains(&format!("`{stamp:#018x}`")), "{stamp:#018x}");
}

/// The layout of a value, from the lines of its fields.
fn layout(version: u64, lines: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in lines.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    version << 48 | (hash >> 48 ^ hash & 0xffff_ffff_ffff)
}

#[test]
fn the_document_defines_the_layout_of_values() {
    let (_, rest) = DOCUMENT.split_once("```text\n").unwrap();
    let (example, _) = rest.split_once("\n```").unwrap();
    let found = layout(1, example);
    assert_eq!(crate::generated::quote_1::Quote::LAYOUTS, [found]);
    assert!(DOCUMENT.contains(&format!("`{found:#018x}`")), "{found:#018x}");
    // It is the fourth parameter of the region.
    let spec = LatestSpec { value_layout: found, ..crate::spec(1) };
    assert_eq!(spec.region().unwrap().parameters[3], found);
}
