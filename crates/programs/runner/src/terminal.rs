//! The program on a pseudo-terminal.

use std::{
    fs::File,
    io::Read as _,
    os::unix::process::ExitStatusExt as _,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
};

use nanotape_harness::{BoundedChild as _, eventually, until_stopped};
use rustix::{
    process::{Pid, Signal, kill_process},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

/// A process whose output and standard error are one terminal.
#[derive(Debug)]
pub struct OnTerminal {
    process: Child,
    terminal: File,
    written: Arc<Mutex<Vec<u8>>>,
    reading: Option<JoinHandle<()>>,
}

impl OnTerminal {
    /// Starts `nanotape` on a terminal of this size.
    pub fn start(arguments: &[&str], rows: u16, columns: u16) -> Self {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
        let open = || File::options().read(true).write(true).open(&name).unwrap();
        let mut command = Command::new(crate::program());
        command.args(arguments).env("TERM", "xterm").stdin(Stdio::null());
        let terminal = File::from(terminal);
        let mut started = {
            let process = command.stdout(open()).stderr(open());
            let written = Arc::default();
            resize(&terminal, rows, columns);
            Self { process: process.spawn().unwrap(), terminal, written, reading: None }
        };
        // The process has the only open ends now: reading fails when it ends.
        drop(command);
        let (mut input, written) =
            (started.terminal.try_clone().unwrap(), Arc::clone(&started.written));
        started.reading = Some(thread::spawn(move || {
            let mut buffer = [0; 4_096];
            while let Ok(length @ 1..) = input.read(&mut buffer) {
                written.lock().unwrap().extend_from_slice(&buffer[..length]);
            }
        }));
        started
    }

    /// Changes the size of the terminal.
    pub fn resize(&self, rows: u16, columns: u16) {
        resize(&self.terminal, rows, columns);
    }

    /// Everything that was written to the terminal so far.
    pub fn written(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().unwrap()).into_owned()
    }

    /// Waits until the terminal shows this text, and returns everything so far.
    pub fn until(&mut self, text: &str) -> String {
        eventually(text, || {
            let is_there = self.written().contains(text);
            let has_ended = self.process.try_wait().unwrap().is_some();
            assert!(is_there || !has_ended, "{text:?}: {:?}", self.written());
            is_there
        });
        self.written()
    }

    /// Sends a signal to the process.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    /// Waits until a signal has stopped the process.
    pub fn until_stopped(&self) {
        until_stopped(self.process.id());
    }

    /// Waits for the end: the exit status, the signal that ended it, and everything written.
    pub fn end(&mut self) -> (Option<i32>, Option<i32>, String) {
        let status = self.process.bounded_wait("the program on the terminal");
        if let Some(reading) = self.reading.take() {
            reading.join().unwrap();
        }
        (status.code(), status.signal(), self.written())
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn resize(terminal: &File, ws_row: u16, ws_col: u16) {
    tcsetwinsize(terminal, Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
}
