//! A named follower: a reader of a ring that shows its position to the plant.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use nanotape_journal::is_tailer_name;
use nanotape_shm::{OwnedRegion, Refusal, RegionError, RegionOptions, RegionSpec, Started, beside};
use nanotape_tape::Gap;

use super::layout::{self, KIND, LAYOUT, WORDS};

/// What the file name of a region has between that of its ring and the follower's name.
pub(super) const MARK: &str = ".follower.";

/// The position of a reader of a ring, in a region beside the ring. Dropping it ends the follower.
#[derive(Debug)]
pub struct NamedFollower {
    region: OwnedRegion,
    lost: u64,
}

/// The ring of a follower, and where it begins.
#[derive(Clone, Copy, Debug)]
pub struct FollowerStart<'a> {
    /// The ring.
    pub ring: &'a Path,
    /// Creation time of the ring's region.
    pub ring_created_ns: u64,
    /// The writer that is followed; `None`: every writer.
    pub writer_epoch: Option<u64>,
    /// The first message to read.
    pub next_sequence: u64,
    /// Its position in the ring, in bytes since the ring was created.
    pub position_bytes: u64,
}

/// Why a reader cannot be a named follower.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FollowerError {
    /// The name is invalid.
    #[error(
        "{name:?}: invalid follower name: use 1 to 100 letters, digits, dots, dashes and underscores, \
         and begin with a letter, a digit or an underscore"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// Another process has the name.
    #[error(
        "{}: process {pid}, started {started}, follows this ring as {name}: choose another name",
        ring.display()
    )]
    NameInUse {
        /// The ring.
        ring: PathBuf,
        /// The name.
        name: String,
        /// The process that has the name; 0 if unknown.
        pid: u32,
        /// Its start time.
        started: Started,
    },
    /// The ring belongs to another user.
    #[error(
        "{}: the ring is of user {owner}, and a plant waits only for followers of its own user: \
         leave the name out",
        ring.display()
    )]
    OfAnotherUser {
        /// The ring.
        ring: PathBuf,
        /// The user of the ring.
        owner: u32,
    },
    /// The input is not a ring.
    #[error("{}: only readers of a ring have a name", path.display())]
    NotARing {
        /// The input.
        path: PathBuf,
    },
    /// The region cannot be created.
    #[error(transparent)]
    Region(RegionError),
}

impl NamedFollower {
    /// Creates the region of a follower that has joined the ring and has read nothing. It replaces
    /// that of an earlier follower of the name, so the words of two followers are never mixed.
    pub fn begin(name: &str, start: &FollowerStart<'_>) -> Result<Self, FollowerError> {
        let path = follower_path(start.ring, name)?;
        let mut parameters = [0; 4];
        parameters[layout::RING_CREATED_NS] = start.ring_created_ns;
        parameters[layout::WRITER_EPOCH] = start.writer_epoch.unwrap_or(0);
        parameters[layout::FIRST_SEQUENCE] = start.next_sequence;
        let spec = RegionSpec { kind: KIND, layout: LAYOUT, parameters, words: WORDS };
        // The users that can read the ring can read who follows it.
        let mode = fs::metadata(start.ring).map_or(0o600, |ring| ring.mode() & 0o777 | 0o600);
        let options = RegionOptions { mode, ..RegionOptions::default() };
        let made = OwnedRegion::replace(&path, spec, &options, |words| {
            words[layout::NEXT_SEQUENCE].store(start.next_sequence);
            words[layout::POSITION].store(start.position_bytes);
        });
        let (region, _) = made.map_err(|error| match *error.refusal() {
            Refusal::OwnerAlive { pid, started } => FollowerError::NameInUse {
                ring: start.ring.to_owned(),
                name: name.to_owned(),
                pid,
                started,
            },
            _ => FollowerError::Region(error),
        })?;
        if let Err(owner) = is_of_the_rings_user(&path, start.ring) {
            drop(region);
            // It was never a follower, so it leaves nothing. If this fails, the file is harmless.
            let _ = nanotape_shm::remove(&path);
            return Err(FollowerError::OfAnotherUser { ring: start.ring.to_owned(), owner });
        }
        Ok(Self { region, lost: 0 })
    }

    /// Shows that everything before this message, at this position of the ring, was read. Two
    /// stores.
    #[inline]
    pub fn show(&self, next_sequence: u64, position_bytes: u64) {
        let words = self.region.words();
        words[layout::NEXT_SEQUENCE].store(next_sequence);
        words[layout::POSITION].store(position_bytes);
    }

    /// Shows messages that were overwritten before they were read.
    #[cold]
    pub fn lose(&mut self, gap: &Gap) {
        self.lost = self.lost.saturating_add(gap.count());
        let words = self.region.words();
        words[layout::LOST].store(self.lost);
        words[layout::LAST_LOST].store(gap.to);
    }
}

/// The path of the region of a follower of a ring: beside the ring.
pub fn follower_path(ring: &Path, name: &str) -> Result<PathBuf, FollowerError> {
    if !is_tailer_name(name) {
        return Err(FollowerError::Name { name: name.to_owned() });
    }
    Ok(beside(ring, &format!("{MARK}{name}")))
}

/// Whether the file of a region belongs to the user of its ring; otherwise the ring's user. In a
/// folder for all users, the followers of other users must not stop a plant.
pub fn is_of_the_rings_user(region: &Path, ring: &Path) -> Result<(), u32> {
    let user = |path: &Path| fs::metadata(path).map(|file| file.uid());
    match (user(region), user(ring)) {
        (Ok(user), Ok(owner)) if user != owner => Err(owner),
        _ => Ok(()),
    }
}
