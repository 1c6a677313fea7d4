//! `nanotape ring remove`: removes a ring whose writer is gone.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use clap::Args;
use nanotape_plant::board::board_path;
use nanotape_ring::{slots, stream};
use nanotape_shm::Refusal;

use crate::{
    output::{Format, OutputArguments},
    record::Record,
    regions::{ended, kind_name, of_region, place, state_name},
    status::{Status, tell},
    values::bytes_text,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape ring remove quotes

Does not remove a ring whose writer is alive, or a file that is not a ring. Readers that have the ring
open can read on. The board of a plant is removed with its ring.

Exit status: 0 the ring is removed; 2 it is not.")]
pub(super) struct RemoveCommand {
    /// Name or path of the ring
    #[arg(value_name = "NAME")]
    name: String,

    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &RemoveCommand) -> anyhow::Result<Status> {
    let path = place(&command.name)?;
    let format = command.output.format_or(Format::Text)?;
    let info = nanotape_shm::inspect(&path).map_err(|error| of_region(&error))?;
    let kind = info.header.map(|header| header.spec.kind);
    // A damaged or half-created region has no kind; it can be removed, since no process can use it.
    if let Some(kind) = kind.filter(|kind| ![stream::KIND, slots::KIND].contains(kind)) {
        anyhow::bail!("{}: a region of kind {}, not a ring", path.display(), kind_name(kind));
    }
    let mut output = command.output.open()?;
    let removed = nanotape_shm::remove(&path).map_err(|error| of_region(&error))?;
    let board = remove_board(&path);
    let kind = kind.map(kind_name);
    let owner = removed.owner;
    let record = Record::default()
        .with("path", path.display().to_string())
        .with("kind", kind.clone())
        .with("file_bytes", removed.file_bytes)
        .with("writer_state", owner.map(|owner| state_name(owner.state)))
        .with("writer_pid", owner.map(|owner| owner.pid))
        .with("board", board.as_ref().map(|board| board.display().to_string()));
    record.write(&mut output, format, true, || {
        let what = kind.unwrap_or("damaged".to_owned());
        let size = bytes_text(removed.file_bytes);
        let writer = owner.map(|owner| {
            format!("; its last writer, process {}, {}", owner.pid, ended(owner.state))
        });
        let writer = writer.unwrap_or_default();
        let mut text =
            format!("removed {}: a {what} ring in a file of {size}{writer}\n", path.display());
        if let Some(board) = &board {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "removed {}: its plant's board", board.display());
        }
        text
    })?;
    output.finish()?;
    Ok(Status::Good)
}

/// Removes the board beside a ring, if it exists and its plant is gone. A board that cannot be
/// removed is reported; the command still succeeds, because the ring is removed.
fn remove_board(ring: &Path) -> Option<PathBuf> {
    let board = board_path(ring);
    let is_board = match nanotape_shm::inspect(&board) {
        // A damaged or half-created region has no kind, as with rings.
        Ok(info) => info.header.is_none_or(|header| kind_name(header.spec.kind) == BOARD),
        Err(error) if *error.refusal() == Refusal::NotFound => return None,
        Err(_) => false,
    };
    if !is_board {
        return None;
    }
    match nanotape_shm::remove(&board) {
        Ok(_) => Some(board),
        Err(error) => {
            tell(format_args!("board not removed: {error}"));
            None
        }
    }
}

/// The kind of a board, in the form of [`kind_name`].
const BOARD: &str = "BOARD";
