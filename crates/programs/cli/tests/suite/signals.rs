//! Signals: no command leaves an unfinished file, and those that end cleanly complete theirs.

use std::{
    fs,
    io::Write as _,
    os::unix::process::ExitStatusExt as _,
    process::{Child, Command, Stdio},
};

use nanotape_harness::{BoundedChild as _, eventually};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{
    Folder,
    plants::{DATE, Ring},
    running::Running,
};

const SIGNALS: [Signal; 3] = [Signal::INT, Signal::TERM, Signal::HUP];

/// A process with an open standard input.
struct Waiting(Child);

impl Waiting {
    /// Starts the program, and gives it these bytes.
    fn start(arguments: &[&str], input: &[u8]) -> Self {
        Self::of(Command::new(env!("CARGO_BIN_EXE_nanotape")).args(arguments), input)
    }

    /// The same for a program that ignores a signal from its start.
    fn ignoring(signal: &str, arguments: &[&str], input: &[u8]) -> Self {
        let script = format!("trap '' {signal}; exec \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_nanotape")]).args(arguments);
        Self::of(&mut command, input)
    }

    fn of(command: &mut Command, input: &[u8]) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        process.stdin.as_mut().unwrap().write_all(input).unwrap();
        Self(process)
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// The exit status and the signal that ended it. Its input stays open: at its end the command
    /// could finish before it receives the signal.
    fn end(&mut self) -> (Option<i32>, Option<i32>) {
        let input = self.0.stdin.take();
        let status = self.0.bounded_wait("the command");
        drop(input);
        (status.code(), status.signal())
    }

    fn is_running(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn names(folder: &Folder) -> Vec<String> {
    let files = fs::read_dir(folder.path("")).unwrap();
    files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
}

fn until_it_writes(folder: &Folder, waiting: &mut Waiting) {
    eventually("an unfinished file", || {
        assert!(waiting.is_running(), "it ended before it wrote");
        names(folder).iter().any(|name| name.ends_with(".partial"))
    });
}

#[test]
fn a_signal_ends_a_command_without_an_unfinished_file() {
    let inputs = Folder::new("signals-day");
    let day = fs::read(inputs.day(20_000, 20)).unwrap();
    let folder = Folder::new("signals");
    let path = |name: &str| folder.path(name);
    let (rows, packed) = (path("rows.csv"), path("rows.json.zst"));
    let synthetic = path("day.itch50.gz");
    let commands = [
        vec!["inside", "-", "-o", &rows],
        vec!["inside", "-", "-o", &packed],
        vec!["inspect", "-", "-o", &packed],
        vec!["check", "-", "-o", &rows],
        vec!["synth", "--messages", "2000000000", "-o", &synthetic],
    ];
    for command in &commands {
        for signal in SIGNALS {
            let input = if command.contains(&"-") { &day[..300_000] } else { b"" };
            let mut waiting = Waiting::start(command, input);
            until_it_writes(&folder, &mut waiting);
            waiting.signal(signal);
            assert_eq!(waiting.end(), (None, Some(signal.as_raw())), "{command:?}");
            assert_eq!(names(&folder), [""; 0], "{command:?} {signal:?}");
        }
    }
}

#[test]
fn a_second_signal_while_a_command_ends_leaves_no_unfinished_file() {
    let inputs = Folder::new("signals-second-day");
    let day = fs::read(inputs.day(20_000, 20)).unwrap();
    let folder = Folder::new("signals-second");
    let capture = folder.path("day.pcap");
    let command = ["replay", "-", "--date", DATE, "-o", &capture];
    for (first, second) in
        [(Signal::INT, Signal::INT), (Signal::TERM, Signal::HUP), (Signal::HUP, Signal::TERM)]
    {
        // It waits for input, so that it cannot end after the first signal.
        let mut waiting = Waiting::start(&command, &day[..300_000]);
        until_it_writes(&folder, &mut waiting);
        waiting.signal(first);
        // Two signals of one kind are one until the first has been received.
        eventually("the end by the second signal", || {
            waiting.signal(second);
            !waiting.is_running()
        });
        // Of two signals that arrive together either can be the second.
        let (_, ended_by) = waiting.end();
        assert!([first, second].map(|signal| Some(signal.as_raw())).contains(&ended_by));
        assert_eq!(names(&folder), [""; 0]);
    }
}

#[test]
fn a_signal_that_was_ignored_at_the_start_stays_ignored() {
    let inputs = Folder::new("signals-ignored-day");
    let day = fs::read(inputs.day(20_000, 20)).unwrap();
    let folder = Folder::new("signals-ignored");
    let rows = folder.path("rows.csv");
    for (name, signal) in [("HUP", Signal::HUP), ("INT", Signal::INT)] {
        let mut waiting = Waiting::ignoring(name, &["inside", "-", "-o", &rows], &day[..300_000]);
        until_it_writes(&folder, &mut waiting);
        waiting.signal(signal);
        // It reads on, to the end of its input.
        let mut input = waiting.0.stdin.take().unwrap();
        input.write_all(&day[300_000..]).unwrap();
        drop(input);
        assert_eq!(waiting.end(), (Some(0), None), "{name}");
        assert_eq!(names(&folder), ["rows.csv"]);
        fs::remove_file(&rows).unwrap();
    }
}

#[test]
fn a_hangup_ends_a_plant_and_its_tap_cleanly_unless_it_is_ignored() {
    let (folder, ring) = (Folder::new("signals-hangup"), Ring::new("signals-hangup"));
    let day = folder.day(20_000, 20);
    let (mut plant, _) = Running::plant(&day, &ring, &["--pace-from", "10:00"]);
    let (rows, kept) = (folder.path("rows.csv"), folder.path("kept.csv"));
    let arguments = ["tap", ring.path(), "--from", "oldest", "-o", &kept];
    let mut ignoring = Waiting::ignoring("HUP", &arguments, b"");
    // Before the other tap, whose file would be taken for its own.
    until_it_writes(&folder, &mut ignoring);
    ignoring.signal(Signal::HUP);
    let mut tap = Running::start(&["tap", ring.path(), "--from", "oldest", "-o", &rows]);
    let is_partial = |name: &String| name.starts_with(".rows.csv");
    eventually("the rows", || {
        let partial = names(&folder).into_iter().find(is_partial);
        partial.is_some_and(|name| fs::metadata(folder.path(&name)).unwrap().len() > 10_000)
    });
    tap.signal(Signal::HUP);
    let (status, _, complained) = tap.end();
    assert_eq!(status, Some(0), "{complained}");
    assert!(fs::read(&rows).unwrap().ends_with(b"\n"));
    plant.signal(Signal::HUP);
    let (status, ended, _) = plant.end();
    assert_eq!(status, Some(0));
    assert!(ended.contains("\"event\":\"stop\""), "{ended}");
    // The other tap was there until the plant ended.
    assert_eq!(ignoring.end(), (Some(0), None));
    assert!(fs::read_to_string(&kept).unwrap().contains(",stop,"));
    assert!(names(&folder).iter().all(|name| !name.ends_with(".partial")));
}
