//! Lines or other payloads of a file or of standard input. A thread reads them, so that a caller
//! with a timeout does not block while no line arrives.

use std::{
    fs::File,
    io::{self, BufReader},
    path::Path,
    sync::mpsc::{Receiver, RecvTimeoutError, sync_channel},
    thread,
    time::Duration,
};

use anyhow::Context as _;

use crate::framing::Framing;

/// Most lines to read ahead.
const LINES_AHEAD: usize = 1024;

/// Lines without their line ends.
pub(crate) struct Lines {
    name: String,
    receiver: Receiver<io::Result<Vec<u8>>>,
    number: u64,
}

/// The result of waiting for a line.
pub(crate) enum Line {
    Some(io::Result<Vec<u8>>),
    NotYet,
    End,
}

impl Lines {
    /// Starts to read; - is standard input.
    pub(crate) fn read(path: &Path, framing: Framing) -> anyhow::Result<Self> {
        let is_stdin = path.as_os_str() == "-";
        let input: Box<dyn io::Read + Send> = match is_stdin {
            true => Box::new(io::stdin()),
            false => Box::new(
                File::open(path).with_context(|| format!("cannot open {}", path.display()))?,
            ),
        };
        let (sender, receiver) = sync_channel(LINES_AHEAD);
        thread::spawn(move || {
            let mut input = BufReader::new(input);
            while let Some(line) = framing.read(&mut input).transpose() {
                let is_bad = line.is_err();
                // The receiver is gone: the command has ended.
                if sender.send(line).is_err() || is_bad {
                    return;
                }
            }
        });
        let name = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
        Ok(Self { name, receiver, number: 0 })
    }

    /// The next line, if it arrives within `patience`.
    pub(crate) fn next(&mut self, patience: Duration) -> Line {
        match self.receiver.recv_timeout(patience) {
            Ok(line) => {
                self.number += 1;
                Line::Some(line)
            }
            Err(RecvTimeoutError::Timeout) => Line::NotYet,
            Err(RecvTimeoutError::Disconnected) => Line::End,
        }
    }

    /// The number of the last returned line, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The name of the input in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}
