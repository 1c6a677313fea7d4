//! The tasks of the processes of these tests.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use nanotape_harness::{Peer, Task, listen, say};
use nanotape_shm::{Origin, OwnedRegion, RegionOptions, SharedRegion, WriterSlot, kill_points};

use crate::{KIND, create, fill, spec};

/// The test that does the task of a process.
pub(crate) const CHILD: &str = "children::child";

/// Starts this program as a process with one task for a region.
pub(crate) fn start(role: &str, path: &Path, number: u64) -> Peer {
    start_as(Task::new(role, path).number(number).command(CHILD))
}

/// Like [`start`], with a given command. Its panics are part of the tests, and are not shown.
pub(crate) fn start_as(mut command: Command) -> Peer {
    command.stderr(Stdio::null());
    Peer::start(command)
}

/// Does the task of a process; does nothing in a normal test run.
#[test]
fn child() {
    let Some(Task { role, path, number, .. }) = Task::of_this_process() else { return };
    let path = path.as_path();
    match role.as_str() {
        "own" => own(path),
        "race" => {
            say("waiting");
            listen();
            own(path);
        }
        "half" => {
            let options = RegionOptions::default();
            let _ = OwnedRegion::create(path, spec(), &options, |_| {
                say("creating");
                listen();
            });
        }
        "create and die" => {
            kill_points::arm(number);
            let outcome = create(path);
            say(format!("survived {} stores", kill_points::disarm()));
            std::mem::forget(outcome);
        }
        "take over and die" => {
            kill_points::arm(number);
            let options = RegionOptions::default();
            let outcome = OwnedRegion::take_over(path, KIND, spec().layout, &options);
            say(format!("survived {} stores", kill_points::disarm()));
            std::mem::forget(outcome);
        }
        "close and die" => {
            let (region, _) = create(path).unwrap();
            kill_points::arm(number);
            region.close();
            say(format!("survived {} stores", kill_points::disarm()));
        }
        "join" => {
            let (region, is_new) = crate::join(path).unwrap();
            let slot = region.take_slot(1..=u32::try_from(number).unwrap()).unwrap();
            let how = if is_new { "created" } else { "joined" };
            say(format!("{how} {}", slot.as_ref().map_or(0, WriterSlot::number)));
            listen();
        }
        "join and die" => {
            kill_points::arm(number);
            let outcome = crate::join(path);
            say(format!("survived {} stores", kill_points::disarm()));
            std::mem::forget(outcome);
        }
        "panic" => {
            let (_region, _) = create(path).unwrap();
            panic!("as a bug in a writer would");
        }
        "try" => try_everything(path),
        "guarded" => crate::bus_guard::read_what_was_cut(path, true, say),
        "unguarded" => crate::bus_guard::read_what_was_cut(path, false, say),
        other => panic!("no role {other}"),
    }
}

/// Creates a region, reports the result, and follows commands.
fn own(path: &Path) {
    match create(path) {
        Ok((region, origin)) => {
            say(match origin {
                Origin::Created => "created",
                Origin::TakenOver { .. } => "took over",
            });
            match listen().as_str() {
                "close" => region.close(),
                _ => std::mem::forget(region),
            }
        }
        Err(error) => say(format!("refused {error}")),
    }
}

/// As another user: reports the result of each operation.
fn try_everything(path: &Path) {
    fn outcome<T>(result: Result<T, nanotape_shm::RegionError>) -> String {
        result.map_or_else(|error| error.to_string(), |_| "fine".to_owned())
    }
    say(outcome(SharedRegion::open(path, KIND)));
    say(outcome(create(path)));
    say(outcome(nanotape_shm::inspect(path)));
    say(outcome(nanotape_shm::remove(path)));
    let none = rustix::process::Rlimit { current: Some(4096), maximum: Some(4096) };
    rustix::process::setrlimit(rustix::process::Resource::Memlock, none).unwrap();
    let own = path.with_extension("own");
    let options = RegionOptions { lock: true, ..RegionOptions::default() };
    match OwnedRegion::create(&own, spec(), &options, fill) {
        Ok((region, _)) => say(region.residency()),
        Err(error) => say(error),
    }
    say(outcome(nanotape_shm::remove(&own)));
    rustix::process::setrlimit(rustix::process::Resource::Fsize, none).unwrap();
    say(outcome(create(&own)).replace(own.to_str().unwrap(), "own"));
}
