//! Whether the reader of a pipe keeps up: a write to a pipe returns before anything is read.

use std::{io, thread, time::Duration};

use nanotape_tape::Deadline;
use rustix::{
    fs::{FileType, fstat},
    io::ioctl_fionread,
};

/// How long a reader may take to read what is in the pipe.
const PATIENCE: Duration = Duration::from_millis(200);

/// The time between two checks.
const PAUSE: Duration = Duration::from_micros(200);

/// Waits until the reader of standard output has read what was written to it, for a short while and
/// only if it is a pipe. A write after that fails if the reader has exited: a command that stores
/// how far its output came learns so that the reader left a part in the pipe.
pub fn wait_for_reader() {
    let stdout = io::stdout();
    let is_pipe = fstat(&stdout).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_fifo());
    if !is_pipe {
        return;
    }
    let deadline = Deadline::after(PATIENCE);
    while ioctl_fionread(&stdout).is_ok_and(|unread| unread > 0) && !deadline.is_over() {
        thread::sleep(PAUSE);
    }
}
