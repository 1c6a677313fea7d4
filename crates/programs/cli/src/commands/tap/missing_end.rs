//! Whether an input ended before the run of its plant did: the records after its last one are
//! missing, and no gap shows that.

use std::path::Path;

use nanotape_journal::{Tail, Tailer};
use nanotape_plant::records::{FIRST_TYPE_ID, Notice};
use nanotape_ring::Start;

/// Whether the record before this number is not the stop of a run. A journal without records has no
/// run.
pub(super) fn lacks_stop(journal: &Path, next: u64) -> bool {
    let last = next.saturating_sub(1);
    last > 0 && !matches!(notice(journal, last), Some(Notice::Stop(_)))
}

/// Whether the record of this number is the start of a run.
pub(super) fn is_start(journal: &Path, sequence: u64) -> bool {
    matches!(notice(journal, sequence), Some(Notice::Start(_)))
}

fn notice(journal: &Path, sequence: u64) -> Option<Notice> {
    let mut tailer = Tailer::open(journal, Start::Sequence(sequence)).ok()?;
    match tailer.next() {
        Ok(Tail::Excerpt(excerpt)) if excerpt.type_id() >= FIRST_TYPE_ID => {
            Notice::decode(excerpt.type_id(), &excerpt.to_vec())
        }
        _ => None,
    }
}

/// The line about a run without its end.
pub(super) fn no_stop(journal: &Path, last: u64) -> String {
    format!(
        "{}: the end of the run is missing: record {last}, the last one, is not the stop of its plant",
        journal.display()
    )
}

/// The line about a plant that stopped before its input ended.
pub(super) fn region_lost(ring: &Path) -> String {
    format!(
        "{}: the plant stopped because its ring or board was removed, replaced or truncated; the rest \
         of its input is missing",
        ring.display()
    )
}
