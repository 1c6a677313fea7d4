//! What a reader of another user may, and that it can do no harm.

use std::{
    fs::OpenOptions,
    os::unix::{fs::FileExt as _, process::CommandExt as _},
};

use nanotape_ring::{Publish as _, Read, RingMonitor, Start, Subscribe as _};
use nanotape_shm::RegionOptions;

use crate::processes::{
    Place,
    children::{Helper, Task, command_of, listen, say},
    rings::{Ring, SMALL, Slots, Stream, WAYS, Way, next, payload},
};

/// A user that nothing belongs to.
const NOBODY: u32 = 65_534;

const WRITER: u16 = 1;

fn outcome<T, E: std::fmt::Display>(result: Result<T, E>) -> String {
    result.map_or_else(|error| error.to_string(), |_| "fine".to_owned())
}

/// In a child of another user: says how everything went that it tried.
pub(crate) fn try_everything<R: Ring>(task: &Task<'_>) {
    let path = task.path;
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
    // The kernel's own door to this process's memory, which heeds no protection that the process
    // could have lifted itself: so it says whether this process could.
    let address = u64::from_str_radix(fields[0].split_once('-').unwrap().0, 16).unwrap();
    let memory = OpenOptions::new().write(true).open("/proc/self/mem").unwrap();
    let behind_the_header = address + 4096;
    say(memory.write_at(&[0xee; 8], behind_the_header).map_or("not written", |_| "written"));
    say(OpenOptions::new().write(true).open(path).map_or("not opened", |_| "opened"));
    say(std::fs::remove_file(path).map_or("not removed", |_| "removed"));
    listen();
    // What was published meanwhile arrives.
    while reader.next_sequence() <= 20 {
        let _ = next(&mut reader, Way::Read, |_| ()).unwrap();
    }
    say("read on");
}

fn other_user<R: Ring>(program: &std::path::Path) {
    for mode in [0o600, 0o644] {
        let place = Place::new(&format!("others-{}", R::NAME));
        let options = RegionOptions { mode, ..RegionOptions::default() };
        let (mut writer, _) = R::create(&place.0, SMALL, &options).unwrap();
        let mut publish = |count: u64| {
            for _ in 0..count {
                let sequence = writer.next_sequence();
                writer.publish(WRITER, &payload(sequence, WRITER, 30)).unwrap();
            }
        };
        publish(10);
        let before = std::fs::read(&place.0).unwrap();
        let mut command = command_of::<R>(program, "try", &place.0);
        command.uid(NOBODY).gid(NOBODY);
        let mut other = Helper::start(command);
        let path = place.0.display();
        let refused = |operation, advice| {
            format!(
                "{path}: permission denied: user 65534 cannot {operation} it, because it belongs \
                 to user 0 and has mode {mode:04o}; {advice}"
            )
        };
        let to_read =
            "its writer can allow reading with --mode 0640 (its group) or 0644 (all users)";
        let to_write = "run as that user, or use another name";
        assert_eq!(other.hear(), refused("write", to_write), "create");
        assert_eq!(other.hear(), refused("write", to_write), "replace");
        if mode == 0o600 {
            assert_eq!(other.hear(), refused("read", to_read), "observe");
            assert_eq!(other.hear(), refused("read", to_read), "read");
        } else {
            for expected in ["fine", "fine", "r--s", "not written", "not opened", "not removed"] {
                assert_eq!(other.hear(), expected);
            }
            assert_eq!(std::fs::read(&place.0).unwrap(), before, "no byte changed");
            publish(10);
            other.tell("go on");
            assert_eq!(other.hear(), "read on");
        }
        assert!(other.end().success());
        let mut own = R::open(&place.0, Start::Oldest).unwrap();
        assert_eq!(next(&mut own, Way::Read, |_| ()), Ok(Read::Message(())));
    }
}

#[test]
fn a_reader_of_another_user_may_what_the_mode_says_and_can_change_nothing() {
    if !rustix::process::geteuid().is_root() {
        crate::processes::skipped("only root can start a process of another user");
        return;
    }
    // Where the program itself is may be closed to others, so that they get a copy. Another process
    // makes it: a child that another thread starts meanwhile would inherit our open file, and then
    // the kernel does not run what somebody may still write.
    let program = std::env::temp_dir().join(format!("nanotape-ring-others-{}", std::process::id()));
    let copied = std::process::Command::new("cp")
        .arg(std::env::current_exe().unwrap())
        .arg(&program)
        .status();
    assert!(copied.unwrap().success());
    other_user::<Stream>(&program);
    other_user::<Slots>(&program);
    std::fs::remove_file(program).unwrap();
}
