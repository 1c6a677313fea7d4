//! The roles of the child processes of these tests.

use std::{path::Path, process::Command};

use nanotape_harness::Task;
use nanotape_shm::{ReadableWords, WritableWords};

use crate::processes::{killed_at_every_store, killed_at_random, killed_while_reusing};

/// This program as a child process with one role.
pub(crate) fn command(role: &str, path: &Path, number: u64, detail: &str) -> Command {
    Task::new(role, path).number(number).detail(detail).command("processes::children::child")
}

/// Creates one number that a child stores and that outlives it.
pub(crate) fn make_word(path: &Path) {
    std::fs::write(path, [0; 8]).unwrap();
}

pub(crate) fn word_to_write(path: &Path) -> WritableWords {
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    WritableWords::map(&file, 1).unwrap()
}

pub(crate) fn read_word(path: &Path) -> u64 {
    let file = std::fs::File::open(path).unwrap();
    ReadableWords::map(&file, 1).unwrap().words()[0].load()
}

/// Runs the role of a child; does nothing in a normal run of the tests.
#[test]
fn child() {
    let Some(Task { role, path, number, detail }) = Task::of_this_process() else { return };
    match role.as_str() {
        "append" => killed_at_random::append(&path, number),
        "follow" => killed_at_random::follow(&path, &detail),
        "operate and die" => killed_at_every_store::operate_and_die(&path, number, &detail),
        "reuse and die" => killed_while_reusing::reuse_and_die(&path, number),
        "take over" => killed_at_every_store::take_over(&path, number),
        other => panic!("no role {other}"),
    }
}
