//! What a person at a terminal sees: progress, reports in place, and what `--quiet` leaves out.

use std::fs;

use rustix::process::Signal;

use crate::support::{
    Folder, nanotape,
    plants::{DATE, Ring},
    running::Running,
    terminal::OnTerminal,
};

const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// Runs a command on a terminal to its end.
fn shown(arguments: &[&str]) -> String {
    let (status, _, written) = OnTerminal::start(arguments, 40, 120).end();
    assert_eq!(status, Some(0), "{written}");
    written
}

#[test]
fn progress_is_over_before_the_first_row_and_never_among_rows() {
    let folder = Folder::new("terminal-rows");
    let day = folder.day(60_000, 20);
    let expected = nanotape(["inside", &day, "--format", "text"]).stdout.replace('\n', "\r\n");
    let written = shown(&["inside", &day]);
    let (before, rows) = written.split_at(written.len() - expected.len());
    assert!(rows == expected, "the rows are at the end, and whole");
    // What comes before them is a bar that was cleared.
    assert!(before.is_empty() || before.ends_with("\r\x1b[2K"), "{before:?}");
    assert!(shown(&["inside", &day, "--no-progress"]) == expected);
    assert!(shown(&["-q", "inspect", &day, "--format", "csv"]).starts_with("message,offset,"));

    // To a file, the bar is the only output.
    let path = folder.path("rows.csv");
    let bar = shown(&["inside", &day, "-o", &path]);
    assert!(bar.contains("MiB") && bar.ends_with("\r\x1b[2K"), "{bar:?}");
    let records = folder.path("records.dbn");
    let bar = shown(&["convert", &day, "--date", DATE, "-o", &records]);
    assert!(bar.contains("MiB") && bar.contains("\r\x1b[2K"), "{bar:?}");
    for option in ["--no-progress", "--quiet"] {
        assert_eq!(shown(&["inside", &day, "-o", &path, "--force", option]), "", "{option}");
    }
}

#[test]
fn the_progress_of_a_paced_plant_is_the_time_of_day() {
    let (folder, ring) = (Folder::new("terminal-paced"), Ring::new("terminal-paced"));
    let day = folder.day(20_000, 20);
    let pace = ["--pace", "1x", "--pace-from", "10:00"];
    let command = ["run", "--input", &day, "--date", DATE, "--ring", ring.path()];
    let mut plant = OnTerminal::start(&[&command[..], &pace].concat(), 40, 120);
    plant.until("% exchange time 10:00:0");
    plant.signal(Signal::INT);
    let (status, _, written) = plant.end();
    assert_eq!(status, Some(0), "{written}");
    // The lines of the command are not among the bars.
    assert!(written.contains("\x1b[2Kstopped on request after "), "{written:?}");
}

#[test]
fn watching_refreshes_the_whole_report_in_place() {
    let (folder, ring) = (Folder::new("terminal-watch"), Ring::new("terminal-watch"));
    let day = folder.day(20_000, 20);
    let (mut plant, _) = Running::plant(&day, &ring, &["--pace-from", "10:00"]);
    let command = ["stat", ring.path(), "--watch", "--interval", "0.02"];
    for (signal, is_clean) in [(Signal::INT, true), (Signal::HUP, true)] {
        let mut watch = OnTerminal::start(&command, 60, 120);
        let first = watch.until("\x1b[J\x1b[H");
        let page = first.split("\x1b[H").nth(1).unwrap();
        assert!(first.starts_with(ENTER), "{first:?}");
        assert!(page.starts_with(&format!("\x1b[2K{}\r", ring.path())), "{page:?}");
        for line in ["plant           running", "live orders ", "  writer        alive"] {
            assert!(page.contains(line), "{line}: {page:?}");
        }
        // A smaller terminal: the next report has fewer and shorter lines.
        watch.resize(5, 10);
        let small = watch.until("\x1b[2K... ");
        let page = small.rsplit("\x1b[H").find(|page| page.contains("\x1b[2K... ")).unwrap();
        let lines: Vec<_> = page.trim_end_matches("\x1b[J").split("\r\r\n").collect();
        let width = |line: &&str| line.trim_start_matches("\x1b[2K").len();
        assert!(lines.len() == 5 && lines.iter().map(width).max() == Some(10), "{lines:?}");
        watch.resize(60, 120);
        watch.signal(signal);
        let (status, ended_by, written) = watch.end();
        assert_eq!((status, ended_by), (is_clean.then_some(0), None), "{written:?}");
        // The last report stays on the screen that was there before.
        let (_, after) = written.split_once(LEAVE).unwrap();
        let begins = format!("{}\r\nplant           running", ring.path());
        assert!(after.starts_with(&begins) && after.ends_with(" ago\r\n"), "{after:?}");
        assert!(!after.contains('\x1b'), "{after:?}");
    }

    // Stopped with Ctrl-Z, it gives the screen back, and takes it again.
    let mut watch = OnTerminal::start(&command, 60, 120);
    watch.until("\x1b[J\x1b[H");
    watch.signal(Signal::TSTP);
    watch.until(LEAVE);
    watch.until_stopped();
    watch.signal(Signal::CONT);
    watch.until(&format!("{LEAVE}{ENTER}\x1b[H"));
    plant.signal(Signal::TERM);
    assert_eq!(plant.end().0, Some(0));
    watch.until("stopped on request; process");
    watch.signal(Signal::TERM);
    assert_eq!(watch.end().0, Some(0));

    // An error is on the first screen too.
    let mut watch = OnTerminal::start(&command, 60, 120);
    watch.until("\x1b[J\x1b[H");
    let board = fs::File::options().write(true).open(ring.board()).unwrap();
    board.set_len(8).unwrap();
    let (status, _, written) = watch.end();
    let (_, after) = written.split_once(LEAVE).unwrap();
    assert!(status == Some(1) && after.starts_with("nanotape: "), "{status:?} {after:?}");
}

#[test]
fn quiet_leaves_out_information_and_keeps_warnings() {
    let (folder, ring) = (Folder::new("terminal-quiet"), Ring::new("terminal-quiet"));
    let day = folder.day(20_000, 20);
    let run = ["run", "--input", &day, "--date", DATE, "--ring", ring.path(), "-q"];
    assert_eq!(nanotape(run).status, 0);
    let tap = ["tap", ring.path(), "--from", "oldest", "--format", "csv"];
    let reported = nanotape(tap);
    assert!(reported.stderr.contains("0 lost in 0 gaps"), "{}", reported.stderr);
    let quiet = nanotape(tap.iter().chain(&["--quiet"]));
    assert_eq!((quiet.status, quiet.stderr.as_str()), (0, ""));
    assert!(quiet.stdout == reported.stdout);

    // A ring that lost records, and a damaged day.
    let small = ["--capacity", "64KiB", "--replace"];
    assert_eq!(nanotape(run.iter().chain(&small)).status, 0);
    let lapped = nanotape(tap.iter().chain(&["-q"]));
    assert!(lapped.stderr.contains(" lost in 1 gaps"), "{}", lapped.stderr);
    let bytes = fs::read(&day).unwrap();
    let cut = folder.write("cut.itch50", &bytes[..bytes.len() - 3]);
    let damaged = nanotape(["stats", &cut, "-q"]);
    assert_eq!(damaged.status, 1);
    assert!(damaged.stderr.contains("cut off in the record at offset"), "{}", damaged.stderr);
}

#[test]
fn every_command_has_the_global_options_under_a_heading() {
    let global = "\nGlobal options:\n  -q, --quiet\n";
    for command in [&["stats"][..], &["tap"], &["journal", "record"]] {
        let help = nanotape([command, &["--help"]].concat()).stdout;
        assert!(help.contains(global) && help.contains("--no-progress"), "{command:?}: {help}");
        assert_eq!(help.matches("--quiet").count(), 1, "{command:?}");
    }
}
