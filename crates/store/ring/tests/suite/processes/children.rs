//! The tasks of the processes of these tests.

use std::{path::Path, process::Command};

use nanotape_harness::Task;

use crate::processes::{
    frozen, killed_at_every_store, permissions,
    rings::{Ring, Slots, Stream},
    traffic,
};

/// The test that does the task of a process.
pub(crate) const CHILD: &str = "processes::children::child";

/// The task of a process: a role, and the ring.
pub(crate) fn task<R: Ring>(role: &str, path: &Path) -> Task {
    Task::new(&format!("{} {role}", R::NAME), path)
}

/// This program, as a process with one task for a ring.
pub(crate) fn command<R: Ring>(role: &str, path: &Path, number: u64, detail: &str) -> Command {
    task::<R>(role, path).number(number).detail(detail).command(CHILD)
}

/// Does the task of a process; does nothing in a normal test run.
#[test]
fn child() {
    let Some(task) = Task::of_this_process() else { return };
    match task.role.split_once(' ') {
        Some((Stream::NAME, role)) => act::<Stream>(role, &task),
        Some((Slots::NAME, role)) => act::<Slots>(role, &task),
        _ => panic!("no ring of {}", task.role),
    }
}

fn act<R: Ring>(role: &str, task: &Task) {
    match role {
        "operate and die" => killed_at_every_store::operate_and_die::<R>(task),
        "create and die" => killed_at_every_store::create_and_die::<R>(task),
        "take over" => killed_at_every_store::take_over::<R>(task),
        "report" => frozen::report::<R>(task),
        "write" => traffic::write::<R>(task),
        "follow" => traffic::follow::<R>(task),
        "try" => permissions::try_everything::<R>(task),
        other => panic!("no role {other}"),
    }
}
