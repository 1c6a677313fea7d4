//! Waits until followers have an excerpt.
//!
//! Protocol: the appender's process reads the region that the process which serves writes. An
//! acknowledgement counts only for the incarnation in which the excerpt was appended.
//! Failure: an error means that it is not known whether enough followers have the excerpt. It stays
//! in the journal, and a later commit covers it.
//! Cost: a wait makes no system call for [`SPINS`] loads, and then a few in each [`CHECK`].

use std::{
    hint::spin_loop,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use nanotape_clock::{Clock, Stamp};
use nanotape_shm::RegionError;

use crate::board::ReplicasReader;

/// Loads before the first read of the clock.
const SPINS: u32 = 2_000;

/// The time between two checks that make system calls.
const CHECK: Duration = Duration::from_millis(5);

/// Which followers must have an excerpt.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Quorum {
    /// None: a commit returns at once.
    #[default]
    None,
    /// Any one.
    One,
    /// All that were named to the process that serves, or have connected to it.
    All,
}

impl Quorum {
    /// Whether enough have an excerpt.
    fn is_met(self, have: usize, followers: usize) -> bool {
        match self {
            Self::None => true,
            Self::One => have > 0,
            Self::All => followers > 0 && have == followers,
        }
    }
}

/// What a commit waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommitPolicy {
    /// Which followers.
    pub quorum: Quorum,
    /// Whether they must have it on their disks, and not only in memory.
    pub on_disk: bool,
    /// The longest wait.
    pub at_most: Duration,
    /// The longest wait without any progress of the followers that are waited for.
    pub without_progress: Duration,
    /// Whether the wait spins on the processor, or sleeps for [`NAP`] between two loads.
    pub spins: bool,
}

/// A pause of a wait that sleeps.
pub const NAP: Duration = Duration::from_micros(50);

/// Why a commit does not know that followers have an excerpt.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// No process serves the journal.
    #[error(
        "{}: no process serves this journal, so that no follower can acknowledge excerpt {sequence}; \
         run `nanotape journal serve`",
        journal.display()
    )]
    NotServed {
        /// The journal.
        journal: PathBuf,
        /// The excerpt.
        sequence: u64,
    },
    /// The time is over.
    #[error(
        "excerpt {sequence} is on {have} of {followers} followers after {} ms: see `nanotape journal \
         stat --why`",
        waited.as_millis()
    )]
    TimedOut {
        /// The excerpt.
        sequence: u64,
        /// Followers that have it.
        have: usize,
        /// All of them.
        followers: usize,
        /// How long the commit waited.
        waited: Duration,
    },
    /// Followers have stopped.
    #[error(
        "excerpt {sequence} is on {have} of {followers} followers, and none of the others has \
         progressed for {} ms: see `nanotape journal stat --why`",
        waited.as_millis()
    )]
    NoProgress {
        /// The excerpt.
        sequence: u64,
        /// Followers that have it.
        have: usize,
        /// All of them.
        followers: usize,
        /// How long nothing moved.
        waited: Duration,
    },
    /// A later leader exists.
    #[error(
        "this leader was replaced by epoch {epoch}: end it, and replicate from the new one to get excerpt \
         {sequence} out of the way"
    )]
    Deposed {
        /// The later epoch.
        epoch: u64,
        /// The excerpt.
        sequence: u64,
    },
    /// The region of the followers.
    #[error(transparent)]
    Region(#[from] RegionError),
}

/// The commits of an appender.
#[derive(Debug)]
pub struct Committer {
    journal: PathBuf,
    policy: CommitPolicy,
    reader: Option<ReplicasReader>,
    clock: Clock,
}

impl Committer {
    /// Commits to a journal. A process must serve it at the first wait, and not before.
    pub fn new(journal: &Path, policy: CommitPolicy) -> Self {
        Self { journal: journal.to_owned(), policy, reader: None, clock: Clock::monotonic() }
    }

    /// Waits until the followers have an excerpt that was appended in an incarnation.
    #[inline]
    pub fn wait(&mut self, incarnation: u64, sequence: u64) -> Result<(), CommitError> {
        if self.policy.quorum == Quorum::None {
            return Ok(());
        }
        if self.policy.spins
            && let Some(reader) = &self.reader
        {
            for _ in 0..SPINS {
                if self.is_done(reader, incarnation, sequence) {
                    return Ok(());
                }
                spin_loop();
            }
        }
        self.wait_longer(incarnation, sequence)
    }

    #[inline]
    fn is_done(&self, reader: &ReplicasReader, incarnation: u64, sequence: u64) -> bool {
        let (have, followers) = self.have(reader, incarnation, sequence);
        self.policy.quorum.is_met(have, followers)
    }

    /// How many followers have an excerpt, of how many.
    #[inline]
    fn have(&self, reader: &ReplicasReader, incarnation: u64, sequence: u64) -> (usize, usize) {
        let followers = reader.count();
        let has = |follower: &usize| {
            reader.acknowledged(*follower, incarnation, self.policy.on_disk) > sequence
        };
        ((0..followers).filter(has).count(), followers)
    }

    #[cold]
    fn wait_longer(&mut self, incarnation: u64, sequence: u64) -> Result<(), CommitError> {
        let clock = self.clock;
        let started = clock.stamp();
        let (mut checked, mut moved, mut sum) = (started, started, 0);
        let between = |earlier: Stamp, later: Stamp| {
            Duration::from_nanos(clock.nanos_between(earlier, later))
        };
        loop {
            let now = clock.stamp();
            if self.reader.is_none() || between(checked, now) >= CHECK {
                checked = now;
                self.check(sequence, between(started, now))?;
            }
            if let Some(reader) = &self.reader {
                let (have, followers) = self.have(reader, incarnation, sequence);
                if self.policy.quorum.is_met(have, followers) {
                    return Ok(());
                }
                let numbers = (0..followers)
                    .map(|follower| reader.acknowledged(follower, incarnation, self.policy.on_disk))
                    .fold(0_u64, u64::wrapping_add);
                if numbers != sum {
                    (sum, moved) = (numbers, now);
                }
                let (waited, still) = (between(started, now), between(moved, now));
                if waited >= self.policy.at_most {
                    return Err(CommitError::TimedOut { sequence, have, followers, waited });
                }
                if still >= self.policy.without_progress {
                    let waited = still;
                    return Err(CommitError::NoProgress { sequence, have, followers, waited });
                }
            }
            match self.policy.spins {
                true => spin_loop(),
                false => thread::sleep(NAP),
            }
        }
    }

    /// Opens the region, or finds that its process ended; then another one may serve meanwhile.
    fn check(&mut self, sequence: u64, waited: Duration) -> Result<(), CommitError> {
        if let Some(reader) = &self.reader {
            let epoch = reader.deposed_by();
            if epoch > 0 {
                return Err(CommitError::Deposed { epoch, sequence });
            }
            if reader.is_served() {
                return Ok(());
            }
        }
        self.reader = match ReplicasReader::open(&self.journal) {
            Ok(reader) if reader.is_served() => Some(reader),
            Err(error) if error.is_bad_data() => return Err(error.into()),
            _ => None,
        };
        let bound = self.policy.at_most.min(self.policy.without_progress);
        if self.reader.is_none() && waited >= bound {
            return Err(CommitError::NotServed { journal: self.journal.clone(), sequence });
        }
        if self.reader.is_none() {
            thread::sleep(CHECK);
        }
        Ok(())
    }
}
