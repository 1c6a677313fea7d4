//! The words of the region of a traced thread, as in `docs/formats/spans.md`.

use nanotape_shm::{RegionSpec, WORD_BYTES, Word, field};

use super::sites::{MAX_NAME_BYTES, MAX_SITES, SiteName, Sites};

/// The kind of region.
pub const KIND: [u8; 8] = *b"TRACED  ";

/// Changes whenever the meaning of a word changes.
pub const LAYOUT: u64 = u64::from_be_bytes(*b"traced 1");

// Parameters in the header, constant for a thread.
pub(super) const SITES: usize = 0;
/// Tells builds of a program apart, whose sites may differ.
pub(super) const BUILD: usize = 1;

pub(super) const TICKS_PER_SECOND: usize = 0;
pub(super) const ANCHOR_TICKS: usize = 1;
pub(super) const ANCHOR_UTC_NS: usize = 2;
/// The answer to the last request.
pub(super) const ANSWER: usize = 3;
/// The rate of all sites together.
pub(super) const RATE: usize = 4;
/// In lines of their own, which change only when a site is switched.
pub(super) const SWITCHES: usize = 8;
pub(super) const NAMES: usize = SWITCHES + MAX_SITES;
pub(super) const NAME_WORDS: usize = MAX_NAME_BYTES / WORD_BYTES;
pub(super) const WORDS: usize = NAMES + MAX_SITES * NAME_WORDS;

/// Offset and size in bytes and the name of each field.
pub const FIELDS: [(usize, usize, &str); 7] = [
    field(TICKS_PER_SECOND, 1, "ticks_per_second"),
    field(ANCHOR_TICKS, 1, "anchor_ticks"),
    field(ANCHOR_UTC_NS, 1, "anchor_utc_ns"),
    field(ANSWER, 1, "answer"),
    field(RATE, 1, "rate"),
    field(SWITCHES, MAX_SITES, "switches"),
    field(NAMES, MAX_SITES * NAME_WORDS, "names"),
];

pub(super) fn spec(sites: Sites, build: u64) -> RegionSpec {
    let mut parameters = [0; 4];
    parameters[SITES] = sites.names().len() as u64;
    parameters[BUILD] = build;
    RegionSpec { kind: KIND, layout: LAYOUT, parameters, words: WORDS }
}

/// Stores the names of the sites in a new region.
pub(super) fn store_names(words: &[Word], sites: Sites) {
    for (place, name) in sites.names().iter().enumerate() {
        let name = SiteName::of(name);
        let words = &words[NAMES + place * NAME_WORDS..][..NAME_WORDS];
        for (word, bytes) in words.iter().zip(name.bytes().as_chunks().0) {
            word.store(u64::from_le_bytes(*bytes));
        }
    }
}

/// The name of the site at a place; `None` if the words are no name.
pub(super) fn load_name(word: impl Fn(usize) -> u64, place: usize) -> Option<SiteName> {
    let first = NAMES + place * NAME_WORDS;
    let mut bytes = [0; MAX_NAME_BYTES];
    for (part, at) in bytes.as_chunks_mut().0.iter_mut().zip(first..) {
        *part = u64::to_le_bytes(word(at));
    }
    SiteName::from_bytes(bytes)
}
