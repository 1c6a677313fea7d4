//! The words of the region of a traced thread, as in `docs/formats/spans.md`.

use nanotape_shm::{Edge, ReadWord, RegionSpec, WORD_BYTES, Word, field};

use super::sites::{MAX_NAME_BYTES, MAX_SITES, SiteName};

/// The kind of region.
pub const KIND: [u8; 8] = *b"TRACED  ";

/// Changes whenever the meaning of a word changes.
pub const LAYOUT: u64 = u64::from_be_bytes(*b"traced 1");

// Parameters in the header, constant for a thread.
pub(super) const SITES: usize = 0;
/// Distinguishes builds of a program, whose sites may differ.
pub(super) const BUILD: usize = 1;
/// The creation time of the ring of the spans: distinguishes the rings of two starts of a thread.
pub(super) const RING_CREATED: usize = 2;

pub(super) const TICKS_PER_SECOND: usize = 0;
pub(super) const ANCHOR_TICKS: usize = 1;
pub(super) const ANCHOR_UTC_NS: usize = 2;
/// The answer to the last request.
pub(super) const ANSWER: usize = 3;
/// The rate of all sites together.
pub(super) const RATE: usize = 4;
/// How many sites have a name, from the first on.
pub(super) const NAMED: usize = 5;
/// In lines of their own, which change only when a site is switched.
pub(super) const SWITCHES: usize = 8;
pub(super) const NAMES: usize = SWITCHES + MAX_SITES;
pub(super) const NAME_WORDS: usize = MAX_NAME_BYTES / WORD_BYTES;
pub(super) const WORDS: usize = NAMES + MAX_SITES * NAME_WORDS;

/// The number of named sites, stored after the name of the last: a reader that sees it also sees
/// the names.
const NAME: Edge = Edge::new("traced.name");

/// Offset and size in bytes and the name of each field.
pub const FIELDS: [(usize, usize, &str); 8] = [
    field(TICKS_PER_SECOND, 1, "ticks_per_second"),
    field(ANCHOR_TICKS, 1, "anchor_ticks"),
    field(ANCHOR_UTC_NS, 1, "anchor_utc_ns"),
    field(ANSWER, 1, "answer"),
    field(RATE, 1, "rate"),
    field(NAMED, 1, "named"),
    field(SWITCHES, MAX_SITES, "switches"),
    field(NAMES, MAX_SITES * NAME_WORDS, "names"),
];

pub(super) fn spec(sites: usize, build: u64, ring_created_ns: u64) -> RegionSpec {
    let mut parameters = [0; 4];
    parameters[SITES] = sites as u64;
    parameters[BUILD] = build;
    parameters[RING_CREATED] = ring_created_ns;
    RegionSpec { kind: KIND, layout: LAYOUT, parameters, words: WORDS }
}

/// Stores the name of the next site. Names are never changed.
pub(super) fn store_name(words: &[Word], place: usize, name: &SiteName) {
    let of_name = &words[NAMES + place * NAME_WORDS..][..NAME_WORDS];
    for (word, bytes) in of_name.iter().zip(name.bytes().as_chunks().0) {
        word.store(u64::from_le_bytes(*bytes));
    }
    // SYNC(traced.name): the name before the number of names.
    words[NAMED].publish(place as u64 + 1, NAME);
}

/// How many sites of so many have a name.
pub(super) fn load_named(words: &[ReadWord], sites: u64) -> usize {
    // SYNC(traced.name): the number of names before the names.
    words[NAMED].observe(NAME).min(sites).min(MAX_SITES as u64) as usize
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
