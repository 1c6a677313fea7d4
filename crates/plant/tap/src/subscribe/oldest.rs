//! Where a reader of a journal begins that wants the oldest record: with the first record of the
//! run of the oldest one that is left. What is missing between the two is a loss, which the first
//! poll reports.

use std::path::Path;

use nanotape_board::BoardReader;
use nanotape_history::Runs;
use nanotape_journal::{ErrorKind, JournalError, Tail, Tailer};
use nanotape_records::{FIRST_TYPE_ID, Notice};
use nanotape_ring::{Start, Subscribe as _, stream};

use super::{Failed, SubscribeError};

/// The first record of the run of the oldest record that the journal or the ring has. `None` if
/// there is no record.
pub(super) fn first_of_oldest(
    journal: &Path,
    ring: Option<(&stream::Reader, &BoardReader)>,
) -> Result<Option<u64>, SubscribeError> {
    let in_journal = oldest_in(journal).map_err(SubscribeError::Journal)?;
    let in_ring = match ring {
        None => None,
        Some((reader, _)) => {
            let mut probe = reader.clone();
            probe.seek(Start::Oldest).map_err(|error| Failed::Ring(error).on(journal))?;
            Some(probe.next_sequence())
        }
    };
    let (oldest, is_start) = match (in_journal, in_ring) {
        (None, None) => return Ok(None),
        (None, Some(in_ring)) => (in_ring, false),
        (Some((oldest, _)), Some(in_ring)) if in_ring < oldest => (in_ring, false),
        (Some(found), _) => found,
    };
    if is_start {
        return Ok(Some(oldest));
    }
    let of_board = ring.map(|(_, board)| board.first_sequence()).filter(|&first| first <= oldest);
    let runs = Runs::read_good(journal).unwrap_or_default();
    let of_runs = runs.of_sequence(oldest).map(|run| run.first_sequence);
    // Without either, the numbers of the ring began with 1.
    Ok(Some(of_board.max(of_runs).unwrap_or(1).max(1)))
}

/// The number of the oldest record of a journal, and whether it is the start of a run.
fn oldest_in(journal: &Path) -> Result<Option<(u64, bool)>, JournalError> {
    let mut tailer = match Tailer::open(journal, Start::Oldest) {
        // The recorder has not begun.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound) => return Ok(None),
        opened => opened?,
    };
    let first = tailer.next_sequence();
    Ok(match tailer.next()? {
        Tail::Nothing => None,
        Tail::Excerpt(excerpt) => {
            let is_record = excerpt.type_id() >= FIRST_TYPE_ID;
            let notice = is_record.then(|| Notice::decode(excerpt.type_id(), &excerpt.to_vec()));
            let is_start = matches!(notice.flatten(), Some(Notice::Start(_)));
            Some((excerpt.sequence(), is_start))
        }
        Tail::Gap(_) | Tail::Reused(_) => Some((first.max(1), false)),
    })
}
