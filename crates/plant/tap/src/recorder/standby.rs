//! Opens a journal that another recorder may still have, for the recorder of a plant.
//!
//! A plant that was killed leaves its recorder, which drains the ring. The recorder of the next
//! plant waits for its end. `nanotape_plant::recording` has all cases.

use std::{path::Path, thread, time::Duration};

use nanotape_board::RecorderReader;
use nanotape_journal::{Appender, AppenderOptions, ErrorKind, JournalError};
use nanotape_ring::RingMonitor;
use nanotape_shm::{OwnerState, Refusal};
use nanotape_tape::Deadline;

/// Time between two attempts to open the journal.
const RETRY: Duration = Duration::from_millis(20);

/// How long the wait for another appender is not reported: the end of a recorder that drains.
const QUIET: Duration = Duration::from_secs(5);

/// Opens the journal as soon as no other process appends to it and the disk has room. `report` gets
/// the reason of a wait, once. Returns `None` if the wait is over without the journal: the ring has
/// no writer any more, and the other recorder has recorded all of it.
pub fn open_when_free(
    ring: &Path,
    journal: &Path,
    options: &AppenderOptions,
    mut report: impl FnMut(&JournalError),
) -> Result<Option<Appender>, JournalError> {
    let quiet = Deadline::after(QUIET);
    let mut is_reported = false;
    loop {
        let error = match Appender::open(journal, options) {
            Err(error) if error.is_full() || is_of_another_appender(&error) => error,
            opened => return opened.map(Some),
        };
        if !is_reported && (error.is_full() || quiet.is_over()) {
            report(&error);
            is_reported = true;
        }
        if is_recorded(ring, journal) {
            return Ok(None);
        }
        thread::sleep(RETRY);
    }
}

fn is_of_another_appender(error: &JournalError) -> bool {
    match error.kind() {
        ErrorKind::Region(error) => {
            matches!(error.refusal(), Refusal::OwnerAlive { .. } | Refusal::BeingCreated)
        }
        // An appender that dies loses its locks one after the other.
        ErrorKind::Locked => true,
        _ => false,
    }
}

/// Whether the writer of the ring is gone, and all messages are in the journal.
fn is_recorded(ring: &Path, journal: &Path) -> bool {
    let (Ok(monitor), Ok(reader)) = (RingMonitor::open(ring), RecorderReader::open(ring)) else {
        return false;
    };
    let Ok(seen) = monitor.sample() else { return false };
    let recorded = reader.sample();
    seen.owner.state != OwnerState::Alive
        && recorded.ring_created_ns == monitor.region().created_ns()
        && std::path::absolute(journal).is_ok_and(|journal| journal == recorded.journal)
        && recorded.next_sequence >= seen.next_sequence
}
