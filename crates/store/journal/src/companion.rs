//! The files and folders beside the segments of a journal: one list for every command that lists,
//! verifies, prunes or copies a journal.
//!
//! Where: a name that is not in the list, and is not that of a segment, belongs to another program.
//! The journal itself reads only some of them; recorders and writers of snapshots have the others.

/// The name of the file that states which process appends.
pub(crate) const APPENDER: &str = "appender";

/// The name of the file that states which process compresses, prunes or repairs.
pub(crate) const UPKEEP: &str = "upkeep";

/// The folder of the regions of named tailers.
pub const TAILERS: &str = "tailers";

/// The folder for data that recovery and repair moved out of segments.
pub const QUARANTINE: &str = "cut";

/// The file in which a recorder notes the ring that is recorded. The journal ignores it.
pub const RECORDED_FROM: &str = "recorded-from";

/// The file in which a recorder stores the runs of plants and the names of their stocks. The
/// journal ignores it.
pub const RUNS: &str = "runs";

/// The folder of the snapshots of books. The journal ignores it.
pub const SNAPSHOTS: &str = "snapshots";

/// The file with the leaders that a replicated journal has had. The journal ignores it.
pub const EPOCHS: &str = "epochs";

/// The region with what a leader has stored about its followers. The journal ignores it.
pub const FOLLOWERS: &str = "followers";

/// The region with what a follower has stored about its leader. The journal ignores it.
pub const LEADER: &str = "leader";

/// The file in a journal that is a copy of another one. While it exists, an appender refuses the
/// journal.
pub const REPLICA: &str = "replica";

/// A file or folder beside the segments of a journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompanionFile {
    /// Its name in the folder of the journal.
    pub name: &'static str,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// What it is about.
    pub scope: CompanionScope,
}

/// What a companion file is about, which decides whether a copy of the journal needs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompanionScope {
    /// The excerpts: a copy of the journal needs it too, and pruning may make parts of it useless.
    Excerpts,
    /// The processes and readers of this machine: a copy has its own.
    Machine,
}

impl CompanionFile {
    /// All of them, in the order of `docs/formats/journal.md`.
    pub const ALL: &[Self] = &[
        Self::machine(APPENDER, false),
        Self::machine(UPKEEP, false),
        Self::machine(TAILERS, true),
        Self::machine(QUARANTINE, true),
        Self::of_excerpts(EPOCHS, false),
        Self::machine(FOLLOWERS, false),
        Self::machine(LEADER, false),
        Self::machine(REPLICA, false),
        Self::of_excerpts(RECORDED_FROM, false),
        Self::of_excerpts(RUNS, false),
        Self::of_excerpts(SNAPSHOTS, true),
    ];

    /// The companion file of this name, if there is one.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|companion| companion.name == name)
    }

    const fn machine(name: &'static str, is_folder: bool) -> Self {
        Self { name, is_folder, scope: CompanionScope::Machine }
    }

    const fn of_excerpts(name: &'static str, is_folder: bool) -> Self {
        Self { name, is_folder, scope: CompanionScope::Excerpts }
    }
}
