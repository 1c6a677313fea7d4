//! Another user of the machine: a process of that user, and files that belong to it.

use std::{os::unix::process::CommandExt as _, process::Command};

use nanotape_harness::{Bounded as _, Scratch, copy_for_all_users, skipped};

use crate::Ran;

/// Another user: it owns what a test gives it.
pub const OTHER: u32 = 65_534;

/// Whether files can be given to another user; prints a notice if not.
pub fn can_give_files() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        skipped("only root can give a file to another user, or start a process of that user");
    }
    is_root
}

/// Runs a script of the shell, in which "$0" is the program and "$1" and so on the arguments.
pub fn shell(script: &str, arguments: &[&str]) -> Ran {
    let mut command = Command::new("sh");
    ran(command.args(["-c", script, crate::program()]).args(arguments))
}

/// The program, as the other user runs it.
#[derive(Debug)]
pub struct OtherUser(Scratch);

impl OtherUser {
    /// A copy of the program that every user can run.
    pub fn with_a_copy() -> Self {
        Self(copy_for_all_users(crate::program().as_ref()))
    }

    /// Runs `nanotape` with these arguments.
    pub fn nanotape(&self, arguments: &[&str]) -> Ran {
        let mut command = Command::new(self.0.path());
        ran(command.args(arguments).uid(OTHER).gid(OTHER).current_dir("/"))
    }

    /// Runs a script of the shell, as [`shell`] does.
    pub fn shell(&self, script: &str, arguments: &[&str]) -> Ran {
        let mut command = Command::new("sh");
        command.args(["-c", script, self.0.text()]).args(arguments);
        ran(command.uid(OTHER).gid(OTHER).current_dir("/"))
    }
}

fn ran(command: &mut Command) -> Ran {
    let output = command.bounded_output().unwrap();
    Ran {
        status: output.status.code().expect("ended by itself, not by a signal"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
