//! A map beside a naive one, with threads, and with processes that are killed before every store.

#![cfg(not(nanotape_loom))]
#![allow(missing_docs, reason = "tests")]

mod beside_a_naive_map;
mod format_document;
mod full;
mod generated;
mod hostile;
mod killed;
mod processes;
mod repair;
mod replacement;
mod scan;
mod threads;
mod values;

use nanotape_harness::Random;
use nanotape_latest::LatestSpec;

/// A map of so many entries of one word each.
pub(crate) fn spec(entries: u64) -> LatestSpec {
    LatestSpec { entries, key_words: 1, value_words: 1, writers: 4, value_layout: 0 }
}

/// A map of so many entries, whose keys and values have any number of words.
pub(crate) fn any_widths(entries: u64, random: &mut Random) -> LatestSpec {
    LatestSpec {
        entries,
        key_words: 1 + random.index(2),
        value_words: random.index(4),
        writers: 3,
        value_layout: 0,
    }
}
