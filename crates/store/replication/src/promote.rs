//! Makes a leader of a copy, by hand.
//!
//! Protocol: the epoch of the copy increases by one, and an appender can open it. Its next excerpt
//! begins another incarnation, so that followers find where the old leader's excerpts end.

use std::path::{Path, PathBuf};

use nanotape_clock::UtcNanos;
use nanotape_journal::{Folder, JournalError, REPLICA, Replica};
use nanotape_shm::RegionError;

use crate::{LeaderStatus, Term, TermEntry, Terms, TermsError, last_leader};

/// What a promotion does, or did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Promotion {
    /// The term of the new leader.
    pub term: Term,
    /// The number of its next excerpt.
    pub next_sequence: u64,
    /// What the copy knew of the old leader; `None` if nothing.
    pub leader: Option<LeaderStatus>,
}

impl Promotion {
    /// How many excerpts of the old leader are known to be missing that some follower had
    /// acknowledged, and how many that none had. Others can be missing that the copy never knew of.
    pub fn missing(&self) -> (u64, u64) {
        let Some(LeaderStatus { next_sequence, acknowledged, .. }) = self.leader else {
            return (0, 0);
        };
        let acknowledged = acknowledged.max(self.next_sequence);
        let next = next_sequence.max(acknowledged);
        (acknowledged - self.next_sequence, next - acknowledged)
    }
}

/// Why a copy was not promoted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PromoteError {
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// It is no copy.
    #[error("{}: not a copy: an appender can open it, and it can be served", path.display())]
    NotACopy {
        /// The journal.
        path: PathBuf,
    },
    /// Its leaders.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// The region of its leader.
    #[error(transparent)]
    Region(#[from] RegionError),
}

/// Promotes a copy that no process writes, or only states what that would do. The name is that of
/// the new leader.
pub fn promote(
    journal: &Path,
    name: &str,
    mode: u32,
    only_states: bool,
) -> Result<Promotion, PromoteError> {
    let stat = nanotape_journal::stat(journal)?;
    if !journal.join(REPLICA).exists() {
        return Err(PromoteError::NotACopy { path: journal.to_owned() });
    }
    let disk = Folder::new(journal, mode);
    let mut terms = Terms::read(&disk)?;
    let leader = last_leader(journal)?;
    let term = terms.next();
    if only_states {
        let next_sequence = stat.next_sequence().unwrap_or(1);
        return Ok(Promotion { term, next_sequence, leader });
    }
    let replica = Replica::open(journal, mode)?;
    let next_sequence = replica.state().next_sequence;
    let promotion = Promotion { term, next_sequence, leader };
    let (ts, name) = (UtcNanos::now(), name.to_owned());
    let entry = TermEntry { term: promotion.term, from_sequence: next_sequence, ts, name };
    // First: a copy that is a leader without its epoch would not fence the old one.
    terms.add(&disk, entry)?;
    replica.promote()?;
    Ok(promotion)
}
