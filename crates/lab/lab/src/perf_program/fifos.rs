//! The two fifos of perf: one for commands, one for answers.
//!
//! Both are opened for reading and writing. So opening never waits for perf, and a command that is
//! sent before perf reads is kept. Reading does not wait either.

use std::{
    ffi::OsString,
    fs::{File, OpenOptions},
    io::{ErrorKind, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use rustix::fs::{CWD, Mode, OFlags, mkfifoat};

use super::PerfUnavailable;

/// An answer of perf, which also sends the zero byte that ends its string.
const ANSWER: &[u8] = b"ack\n";

/// The ends of this process.
#[derive(Debug)]
pub(super) struct Fifos {
    control_path: PathBuf,
    answer_path: PathBuf,
    control: File,
    answer: File,
    /// The received part of an answer.
    received: Vec<u8>,
}

impl Fifos {
    pub(super) fn create(directory: &Path) -> Result<Self, PerfUnavailable> {
        let (control_path, answer_path) = (directory.join("control"), directory.join("answer"));
        Ok(Self {
            control: make(&control_path)?,
            answer: make(&answer_path)?,
            control_path,
            answer_path,
            received: Vec::new(),
        })
    }

    /// The argument for perf's command line.
    pub(super) fn control_argument(&self) -> OsString {
        let mut argument = OsString::from("--control=fifo:");
        argument.push(&self.control_path);
        argument.push(",");
        argument.push(&self.answer_path);
        argument
    }

    pub(super) fn send(&mut self, command: &str) -> Result<(), PerfUnavailable> {
        self.control
            .write_all(format!("{command}\n").as_bytes())
            .map_err(|source| PerfUnavailable::Fifo { path: self.control_path.clone(), source })
    }

    /// Whether an answer has arrived; removes it.
    pub(super) fn take_answer(&mut self) -> Result<bool, PerfUnavailable> {
        let mut buffer = [0; 64];
        match self.answer.read(&mut buffer) {
            Ok(length) => {
                let bytes = buffer.get(..length).unwrap_or_default();
                self.received.extend(bytes.iter().filter(|&&byte| byte != 0));
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(source) => {
                return Err(PerfUnavailable::Fifo { path: self.answer_path.clone(), source });
            }
        }
        let come = self.received.starts_with(ANSWER);
        if come {
            self.received.drain(..ANSWER.len());
        }
        Ok(come)
    }
}

fn make(path: &Path) -> Result<File, PerfUnavailable> {
    let failed = |source| PerfUnavailable::Fifo { path: path.to_owned(), source };
    mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR).map_err(|errno| failed(errno.into()))?;
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf_program::private_directory::PrivateDirectory;

    #[test]
    fn answers_come_in_pieces_and_with_zero_bytes() {
        let directory = PrivateDirectory::create().expect("a directory");
        let mut fifos = Fifos::create(directory.path()).expect("fifos");
        let mut perf =
            OpenOptions::new().write(true).open(&fifos.answer_path).expect("opens at once");
        assert!(!fifos.take_answer().expect("nothing yet"));
        perf.write_all(b"ac").expect("written");
        assert!(!fifos.take_answer().expect("half"));
        perf.write_all(b"k\n\0ack\n\0").expect("written");
        assert!(fifos.take_answer().expect("the first"));
        assert!(fifos.take_answer().expect("the second"));
        assert!(!fifos.take_answer().expect("no more"));
    }

    #[test]
    fn a_command_waits_for_its_reader() {
        let directory = PrivateDirectory::create().expect("a directory");
        let mut fifos = Fifos::create(directory.path()).expect("fifos");
        fifos.send("enable").expect("sent");
        let mut perf = File::open(&fifos.control_path).expect("opens");
        let mut buffer = [0; 7];
        perf.read_exact(&mut buffer).expect("it was kept");
        assert_eq!(&buffer, b"enable\n");
    }
}
