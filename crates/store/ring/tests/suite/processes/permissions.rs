//! The permissions of a reader of another user, and that it cannot cause damage.

use std::{
    fs::OpenOptions,
    os::unix::{fs::FileExt as _, process::CommandExt as _},
};

use nanotape_harness::{Peer, Scratch, Task, copy_for_all_users, listen, say, skipped};
use nanotape_ring::{Publish as _, Read, RingMonitor, Start, Subscribe as _};
use nanotape_shm::RegionOptions;

use crate::processes::{
    children::{CHILD, task},
    rings::{Ring, SMALL, Slots, Stream, WAYS, Way, next, payload},
};

/// A user without files.
const NOBODY: u32 = 65_534;

const WRITER: u16 = 1;

fn outcome<T, E: std::fmt::Display>(result: Result<T, E>) -> String {
    result.map_or_else(|error| error.to_string(), |_| "fine".to_owned())
}

/// In a child of another user: reports the result of each attempt.
pub(crate) fn try_everything<R: Ring>(task: &Task) {
    let path = &task.path;
    say(outcome(R::create(path, SMALL, &RegionOptions::default())));
    say(outcome(R::replace(path, SMALL)));
    say(outcome(RingMonitor::open(path)));
    let mut reader = match R::open(path, Start::Oldest) {
        Ok(reader) => reader,
        Err(error) => return say(error),
    };
    for way in WAYS {
        assert_eq!(next(&mut reader, way, |_| ()), Ok(Read::Message(())));
        let start = Start::Sequence(1);
        reader.seek(start).unwrap();
    }
    say("fine");
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let name = path.to_str().unwrap();
    let mapping = maps.lines().find(|line| line.ends_with(name)).expect("it is mapped");
    let fields: Vec<&str> = mapping.split_whitespace().collect();
    say(fields[1]);
    // The kernel's access to this process's memory ignores protections that the process itself
    // could lift. So it shows whether this process could.
    let address = u64::from_str_radix(fields[0].split_once('-').unwrap().0, 16).unwrap();
    let memory = OpenOptions::new().write(true).open("/proc/self/mem").unwrap();
    let behind_the_header = address + 4096;
    say(memory.write_at(&[0xee; 8], behind_the_header).map_or("not written", |_| "written"));
    say(OpenOptions::new().write(true).open(path).map_or("not opened", |_| "opened"));
    say(std::fs::remove_file(path).map_or("not removed", |_| "removed"));
    listen();
    // Messages that were published meanwhile arrive.
    while reader.next_sequence() <= 20 {
        let _ = next(&mut reader, Way::Read, |_| ()).unwrap();
    }
    say("read on");
}

fn other_user<R: Ring>(program: &std::path::Path) {
    for mode in [0o600, 0o644] {
        let place = Scratch::new(&format!("others-{}", R::NAME)).open_to_all_users();
        let options = RegionOptions { mode, ..RegionOptions::default() };
        let (mut writer, _) = R::create(place.path(), SMALL, &options).unwrap();
        let mut publish = |count: u64| {
            for _ in 0..count {
                let sequence = writer.next_sequence();
                writer.publish(WRITER, &payload(sequence, WRITER, 30)).unwrap();
            }
        };
        publish(10);
        let before = std::fs::read(place.path()).unwrap();
        let mut command = task::<R>("try", place.path()).command_of(program, CHILD);
        command.uid(NOBODY).gid(NOBODY);
        let mut other = Peer::start(command);
        let path = place.path().display();
        let refused = |operation, advice| {
            format!(
                "{path}: permission denied: user 65534 cannot {operation} it, because it belongs \
                 to user 0 and has mode {mode:04o}; {advice}"
            )
        };
        let to_read =
            "its writer can allow reading with --mode 0640 (its group) or 0644 (all users)";
        let to_write = "run as that user, or use another name";
        assert_eq!(other.receive(), refused("write", to_write), "create");
        assert_eq!(other.receive(), refused("write", to_write), "replace");
        if mode == 0o600 {
            assert_eq!(other.receive(), refused("read", to_read), "observe");
            assert_eq!(other.receive(), refused("read", to_read), "read");
        } else {
            for expected in ["fine", "fine", "r--s", "not written", "not opened", "not removed"] {
                assert_eq!(other.receive(), expected);
            }
            assert_eq!(std::fs::read(place.path()).unwrap(), before, "no byte changed");
            publish(10);
            other.send("go on");
            assert_eq!(other.receive(), "read on");
        }
        assert!(other.end().success());
        let mut own = R::open(place.path(), Start::Oldest).unwrap();
        assert_eq!(next(&mut own, Way::Read, |_| ()), Ok(Read::Message(())));
    }
}

#[test]
fn a_reader_of_another_user_may_what_the_mode_says_and_can_change_nothing() {
    if !rustix::process::geteuid().is_root() {
        skipped("only root can start a process of another user");
        return;
    }
    let program = copy_for_all_users(&std::env::current_exe().unwrap());
    other_user::<Stream>(program.path());
    other_user::<Slots>(program.path());
}
