//! Restores the invalid header of a segment from its own words, from the headers of other segments,
//! and from its excerpts. The checksums of excerpts match only the right journal and number.

use nanotape_shm::ReadWord;

use super::Repair;
use crate::{
    disk::Disk,
    scan::first_good,
    segment::{
        excerpt,
        header::{Activation, Header},
        layout::{Layout, at},
        view::{Contents, View},
    },
};

/// The most common cycles of journals.
const USUAL_CYCLES_NS: [u64; 4] = [0, 60_000_000_000, 3_600_000_000_000, 86_400_000_000_000];

/// A header that is accepted as correct.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundHeader {
    pub(super) header: Header,
    /// Whether the segment already contains this header.
    pub(super) is_written: bool,
    /// Whether the segment has or had excerpts.
    pub(super) is_entered: bool,
}

impl<D: Disk> Repair<'_, D> {
    /// The header of segment `number`: its own if that is valid. `None` if it belongs to another
    /// journal or no candidate is valid.
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
        // Its own checksum matches, or its first excerpt is valid.
        let is_first = |header: &&Header| {
            header.check() == words[at::CHECK].load() || has_excerpt_first(header, words)
        };
        let is_later = |header: &&Header| first_good_in(header, words).is_some();
        let found = candidates.iter().find(is_first);
        let header = *found.or_else(|| candidates.iter().find(is_later))?;
        let is_entered = is_entered(&header, words);
        Some(FoundHeader { header, is_written: false, is_entered })
    }

    /// The possible headers: first those that match its own checksum.
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
        // A stable order: first those that match its own checksum, then those of other segments.
        found.sort_by_key(|header| {
            let is_known =
                |known: &Header| (known.layout, known.cycle_ns) == (header.layout, header.cycle_ns);
            (header.check() != own(at::CHECK), !self.known.iter().any(is_known))
        });
        found
    }
}

/// The view of the segment with this header.
fn view<'words>(header: &Header, words: &'words [ReadWord]) -> View<'words> {
    let words = header.layout.used(words);
    let seed = excerpt::seed(header.journal, header.number);
    let activation = Activation { first_sequence: 0, max_ts_before: 0, cycle: 0 };
    View { words, header: *header, activation, seed, is_checked: true }
}

/// The position of the first excerpt that is valid with this header.
pub(super) fn first_good_in(header: &Header, words: &[ReadWord]) -> Option<usize> {
    first_good(&view(header, words), header.layout.data)
}

fn has_excerpt_first(header: &Header, words: &[ReadWord]) -> bool {
    let found = view(header, words).read_at(header.layout.data);
    matches!(found, Ok(Contents::Excerpt(_) | Contents::End(_)))
}

/// Whether a segment has or had excerpts.
fn is_entered(header: &Header, words: &[ReadWord]) -> bool {
    words[at::ACTIVATION].load() != 0 || first_good_in(header, words).is_some()
}
