//! `nanotape ring remove`: removes a ring whose writer is gone.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use clap::Args;
use nanotape_answers::Given;
use nanotape_arguments::regions::{ended, hint_for, kind_name, of_region, place, state_name};
use nanotape_board::{
    board_path, follower_names, follower_path, recorder_path, trace_names, trace_path,
};
use nanotape_ring::{slots, stream};
use nanotape_shm::Refusal;
use nanotape_trace::spans::spans_path;

use crate::{
    output::{Format, OutputArguments},
    record::Record,
    status::{Status, warn},
    values::bytes_text,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape ring remove quotes

Does not remove a ring whose writer is alive, or a file that is not a ring. Readers that have the ring
open can read on. The board of a plant, its spans, the progress of a recorder, and the positions of
named followers are removed with the ring, unless their process is alive. They are also removed if
the ring itself is gone.

Exit status: 0 the ring is removed; 1 it is removed, but a part cannot be, such as one of another
user; 2 it is not removed.")]
pub(super) struct RemoveCommand {
    /// Name or path of the ring
    #[arg(value_name = "NAME")]
    name: Given,

    #[command(flatten)]
    output: OutputArguments,
}

pub(super) fn run(command: &RemoveCommand) -> anyhow::Result<Status> {
    let path = place(&command.name)?;
    let format = command.output.format_or(Format::Text)?;
    let info = match nanotape_shm::inspect(&path) {
        Ok(info) => Some(info),
        // Its file was removed under the plant, by other means.
        Err(error) if *error.refusal() == Refusal::NotFound && has_parts(&path) => None,
        Err(error) if *error.refusal() == Refusal::NotFound => {
            let hint = hint_for(&path).unwrap_or_default();
            anyhow::bail!("{}: no such ring, nothing to remove{hint}", path.display())
        }
        Err(error) => return Err(of_region(&error)),
    };
    let kind = info.as_ref().and_then(|info| info.header).map(|header| header.spec.kind);
    // A damaged or half-created region has no kind; it can be removed, since no process can use it.
    if let Some(kind) = kind.filter(|kind| ![stream::KIND, slots::KIND].contains(kind)) {
        anyhow::bail!("{}: a region of kind {}, not a ring", path.display(), kind_name(kind));
    }
    let mut output = command.output.open()?;
    let remove = || nanotape_shm::remove(&path).map_err(|error| of_region(&error));
    let removed = info.map(|_| remove()).transpose()?;
    let mut beside = Beside::default();
    let board = beside.remove(board_path(&path), "board", BOARD);
    let recorder = beside.remove(recorder_path(&path), "progress of the recorder", RECORDER);
    let followers = follower_names(&path).into_iter().filter_map(|name| {
        let path = follower_path(&path, &name).ok()?;
        beside.remove(path, "position of a follower", FOLLOWER)
    });
    let followers: Vec<_> = followers.map(|path| path.display().to_string()).collect();
    let traces = trace_names(&path).into_iter().flat_map(|name| {
        let thread = trace_path(&path, &name);
        let spans = beside.remove(spans_path(&thread), "spans", SLOTS);
        [beside.remove(thread, "sites of a thread", TRACED), spans]
    });
    let traces: Vec<_> = traces.flatten().map(|path| path.display().to_string()).collect();
    let kind = kind.map(kind_name);
    let owner = removed.and_then(|removed| removed.owner);
    let file_bytes = removed.map(|removed| removed.file_bytes);
    let record = Record::default()
        .with("path", path.display().to_string())
        .with("kind", kind.clone())
        .with("file_bytes", file_bytes)
        .with("writer_state", owner.map(|owner| state_name(owner.state)))
        .with("writer_pid", owner.map(|owner| owner.pid))
        .with("board", board.as_ref().map(|board| board.display().to_string()))
        .with("recorder", recorder.as_ref().map(|recorder| recorder.display().to_string()))
        .with("followers", followers.clone())
        .with("traces", traces.clone())
        .with("left", beside.left.clone());
    record.write(&mut output, format, true, || {
        let what = kind.unwrap_or("damaged".to_owned());
        let writer = owner.map(|owner| {
            format!("; its last writer, process {}, {}", owner.pid, ended(owner.state))
        });
        let writer = writer.unwrap_or_default();
        let name = path.display();
        let mut text = match file_bytes.map(bytes_text) {
            Some(size) => format!("removed {name}: a {what} ring in a file of {size}{writer}\n"),
            None => format!("{name}: no such ring; what belonged to it is removed\n"),
        };
        if let Some(board) = &board {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "removed {}: its plant's board", board.display());
        }
        if let Some(recorder) = &recorder {
            let _ = writeln!(text, "removed {}: its recorder's progress", recorder.display());
        }
        for follower in &followers {
            let _ = writeln!(text, "removed {follower}: the position of a follower");
        }
        for trace in &traces {
            let _ = writeln!(text, "removed {trace}: the spans of a thread");
        }
        text
    })?;
    output.finish()?;
    Ok(if beside.left.is_empty() { Status::Good } else { Status::Bad })
}

/// Whether there are regions of a ring beside it.
fn has_parts(ring: &Path) -> bool {
    [board_path(ring), recorder_path(ring)].iter().any(|path| path.exists())
        || !follower_names(ring).is_empty()
        || !trace_names(ring).is_empty()
}

/// The regions beside a ring that is removed.
#[derive(Default)]
struct Beside {
    /// The paths of those that could not be removed, although no process uses them.
    left: Vec<String>,
}

impl Beside {
    /// Removes a region of this kind, if it exists and its owner is gone. A region that cannot be
    /// removed is reported.
    fn remove(&mut self, path: PathBuf, what: &str, kind: &str) -> Option<PathBuf> {
        let error = match nanotape_shm::inspect(&path) {
            // A damaged or half-created region has no kind, as with rings.
            Ok(info) => match info.header.map(|header| kind_name(header.spec.kind)) {
                Some(found) if found != kind => format!("a region of kind {found}, not {kind}"),
                _ => match nanotape_shm::remove(&path) {
                    Ok(_) => return Some(path),
                    Err(error) if matches!(error.refusal(), Refusal::OwnerAlive { .. }) => {
                        warn(format_args!("{what} not removed: {error}"));
                        return None;
                    }
                    Err(error) => error.refusal().to_string(),
                },
            },
            Err(error) if *error.refusal() == Refusal::NotFound => return None,
            Err(error) => error.refusal().to_string(),
        };
        warn(format_args!("{what} not removed: {}: {error}", path.display()));
        self.left.push(path.display().to_string());
        None
    }
}

/// The kinds of regions beside a ring, in the form of [`kind_name`].
const BOARD: &str = "BOARD";
const RECORDER: &str = "RECORDER";
const FOLLOWER: &str = "FOLLOWER";
const TRACED: &str = "TRACED";
const SLOTS: &str = "slots";
