//! What lies in shared memory beside the ring of a plant, and its readers: the board with counters
//! and symbols, the progress of the recorder, the positions of named followers, and the regions of
//! traced threads.
//!
//! Where: a plant writes the board, a recorder its progress, a follower its position; `nanotape
//! stat` reads all of them as one [`PlantHealth`](health::PlantHealth). `docs/formats/board.md`,
//! `recorder.md` and `follower.md` describe the words.
//! Failure: a reader trusts no word: any number might be wrong, and no offset depends on one.
#![forbid(unsafe_code)]

mod beside;
mod board;
mod follower;
pub mod health;
mod progress;
mod traced;
mod watch;

pub use board::{
    Board, BoardReader, BoardSpec, Counts, DAMAGES, LineStat, LiveStat, PlantStat, PlantState,
    Stage, Waiting, board_path, no_times,
};
#[doc(hidden)]
pub use board::{FIELDS, KIND, LAYOUT, TIMES};
#[doc(hidden)]
pub use follower::{FOLLOWER_FIELDS, FOLLOWER_KIND, FOLLOWER_LAYOUT};
pub use follower::{
    FollowerError, FollowerReader, FollowerStart, FollowerStat, NamedFollower, follower_names,
    follower_path, is_of_the_rings_user,
};
#[doc(hidden)]
pub use progress::{RECORDER_FIELDS, RECORDER_KIND, RECORDER_LAYOUT};
pub use progress::{RecorderProgress, RecorderReader, RecorderStat, RecorderState, recorder_path};
pub use traced::{PLANT_THREAD, trace_names, trace_path};
pub use watch::Watch;
