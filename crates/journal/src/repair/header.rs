//! Restores the invalid header of a segment: from its own words, from the headers of other
//! segments, and from the excerpts, whose checksums match only the right journal and number.

use nanotape_shm::ReadWord;

use super::Repair;
use crate::{
    disk::Disk,
    scan::first_good,
    segment::{
        excerpt,
        header::{Activation, Header},
        layout::{Layout, at},
        view::{Look, View},
    },
};

/// Cycles that journals have most.
const USUAL_CYCLES_NS: [u64; 4] = [0, 60_000_000_000, 3_600_000_000_000, 86_400_000_000_000];

/// A header that is believed.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundHeader {
    pub(super) header: Header,
    /// Whether it is there as it must be.
    pub(super) is_written: bool,
    /// Whether there are excerpts in the segment, or were.
    pub(super) is_entered: bool,
}

impl<D: Disk> Repair<'_, D> {
    /// The header of the segment of this number, from its own words if it checks; nothing where it
    /// is of another journal, or nothing in it checks.
    pub(super) fn find_header(&self, number: u64, words: &[ReadWord]) -> Option<FoundHeader> {
        if words.len() < at::INDEX {
            return None;
        }
        if let Ok(header) = Header::load(words) {
            let is_own = header.number == number
                && self.journal.is_none_or(|journal| journal == header.journal);
            let is_entered = is_own && is_entered(&header, words);
            return is_own.then_some(FoundHeader { header, is_written: true, is_entered });
        }
        let candidates = self.candidates(number, words);
        // What it says of itself, or what its excerpts say.
        let is_first = |header: &&Header| {
            header.check() == words[at::CHECK].load() || has_excerpt_first(header, words)
        };
        let is_later = |header: &&Header| first_good_in(header, words).is_some();
        let found = candidates.iter().find(is_first);
        let header = *found.or_else(|| candidates.iter().find(is_later))?;
        let is_entered = is_entered(&header, words);
        Some(FoundHeader { header, is_written: false, is_entered })
    }

    /// The headers that it may have had: first those that its own sum is of.
    fn candidates(&self, number: u64, words: &[ReadWord]) -> Vec<Header> {
        let own = |at: usize| words[at].load();
        let all = |from: fn(&Header) -> u64, others: &[u64]| {
            let mut values: Vec<u64> = self.known.iter().map(from).collect();
            values.extend(others);
            values.sort_unstable();
            values.dedup();
            values
        };
        let file_bytes = (words.len() as u64 * 8).next_multiple_of(4096);
        let segments =
            all(|known| known.layout.segment_bytes(), &[own(at::SEGMENT_BYTES), file_bytes]);
        let blocks = all(|known| known.layout.block_bytes(), &[own(at::BLOCK_BYTES)]);
        let mut cycles = all(|known| known.cycle_ns, &[own(at::CYCLE)]);
        cycles.extend(USUAL_CYCLES_NS);
        let journal = self.journal.unwrap_or_else(|| own(at::JOURNAL));
        let created_ns = own(at::CREATED);
        let mut found = Vec::new();
        for &segment_bytes in &segments {
            for block_bytes in
                blocks.iter().copied().chain([Layout::usual_block_bytes(segment_bytes)])
            {
                let Some(layout) = Layout::new(segment_bytes, block_bytes) else { continue };
                for &cycle_ns in &cycles {
                    found.push(Header { journal, number, layout, cycle_ns, created_ns });
                }
            }
        }
        // A stable order: those of its own sum, then those that other segments have too.
        found.sort_by_key(|header| {
            let is_known =
                |known: &Header| (known.layout, known.cycle_ns) == (header.layout, header.cycle_ns);
            (header.check() != own(at::CHECK), !self.known.iter().any(is_known))
        });
        found
    }
}

/// The segment as it would be seen with this header.
fn view<'words>(header: &Header, words: &'words [ReadWord]) -> View<'words> {
    let words = header.layout.used(words);
    let seed = excerpt::seed(header.journal, header.number);
    let activation = Activation { first_sequence: 0, max_ts_before: 0, cycle: 0 };
    View { words, header: *header, activation, seed, is_checked: true }
}

/// Where the first excerpt is that checks with this header.
pub(super) fn first_good_in(header: &Header, words: &[ReadWord]) -> Option<usize> {
    first_good(&view(header, words), header.layout.data)
}

fn has_excerpt_first(header: &Header, words: &[ReadWord]) -> bool {
    let found = view(header, words).look(header.layout.data);
    matches!(found, Ok(Look::Excerpt(_) | Look::End(_)))
}

/// Whether there are excerpts in a segment, or were.
fn is_entered(header: &Header, words: &[ReadWord]) -> bool {
    words[at::ACTIVATION].load() != 0 || first_good_in(header, words).is_some()
}
