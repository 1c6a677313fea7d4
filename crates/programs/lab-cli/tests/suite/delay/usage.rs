//! Formats, files, and requests that are refused.

use std::fs;

use super::{Days, MARKET, MINUTES};
use crate::support::{Folder, nanotape, nanotape_fed};

#[test]
fn every_format_is_what_it_says_and_files_are_kept_unless_forced() {
    let days = Days::new("delay-formats", "delay=350us,jitter=20us", &MARKET);
    let some = [&["--window", "10s", "--pool"], &MINUTES[..]].concat();
    let ran = days.delay(&[&some[..], &["--format", "csv"]].concat());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let header = "from_ns,until_ns,symbol,attribute,delay_ns,low_ns,high_ns,support,quality,\
                  refused,left_out";
    assert_eq!(ran.stdout.lines().next(), Some(header));
    assert_eq!(ran.stdout.lines().count(), 61);
    let text = days.delay(&[&some[..], &["--rows", "5"]].concat());
    assert_eq!(text.status, 0);
    for line in ["windows of 10.0 s", "\n... and 55 windows more (--rows)", "\nshifts: 0\n"] {
        assert!(text.stdout.contains(line), "{line}: {}", text.stdout);
    }
    let page = days.folder.path("delay.html");
    let to_page = [&some[..], &["-o", &page]].concat();
    assert_eq!(days.delay(&to_page).status, 0);
    let written = fs::read_to_string(&page).unwrap();
    assert!(written.starts_with("<!doctype html>") && written.contains("b_20191230.itch50"));
    let ran = days.delay(&to_page);
    let expected = format!("nanotape: {page} exists; use --force to overwrite it\n");
    assert_eq!((ran.status, ran.stderr), (2, expected));
    assert_eq!(days.delay(&[&to_page[..], &["--force"]].concat()).status, 0);
    assert_eq!(fs::read_to_string(&page).unwrap(), written, "the same again");
    // One input is standard input.
    let bytes = fs::read(&days.first).unwrap();
    let date = ["--date", "2019-12-30", "--format", "csv"];
    let piped = [&["delay", "-", &days.second], &some[..], &date].concat();
    let csv = days.delay(&[&some[..], &["--format", "csv"]].concat()).stdout;
    let ran = nanotape_fed(piped, &bytes);
    assert_eq!((ran.status, ran.stdout == csv), (0, true), "{}", ran.stderr);
}

#[test]
fn wrong_requests_are_refused() {
    let folder = Folder::new("delay-wrong");
    let day = folder.path("a_20191230.itch50");
    let synth = ["synth", "-o", &day, "--messages", "2000", "--symbols", "5"];
    assert_eq!(nanotape(synth).status, 0);
    let absent = folder.path("absent_20191230.itch50");
    // Those that the command finds itself are one line.
    for (arguments, expected) in [
        (vec!["-", "-"], "standard input is one feed: give a file or a ring as the other"),
        (vec![&day, &absent], "absent_20191230.itch50"),
        (vec!["no-such-ring", &day], "no plant started"),
        (vec![&day, &day, "--clock", "receive"], "has no receive times: use --clock event"),
        (vec![&day, &day, "--matrix", "--clock", "receive"], "has no receive times"),
        (
            vec![&day, &day, "--method", "xcorr", "--window", "100m"],
            "--window: 6000000000000 ns: expected",
        ),
        (vec![&day, &day, "-o", "delay.xyz"], "unknown suffix"),
        (vec![&day, &day, "--run", "1"], "--run is of journals and DBN files"),
        (vec![&day, "--matrix", "--run", "1"], "--run is of journals and DBN files"),
        (vec![&day, &day, "--follow"], "--follow is of rings"),
        (vec![&day, &day, "--piece", &day], "delay takes no --piece: cat joins the files"),
        (vec![&day, "--matrix", "--method", "xcorr"], "--matrix is of leads"),
    ] {
        let ran = nanotape([&["delay"], &arguments[..]].concat());
        assert_eq!(ran.status, 2, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{arguments:?}: {}", ran.stderr);
    }
    let lines = ["--line-a", "127.0.0.1:1", "--line-b", "127.0.0.1:2"];
    for (arguments, expected) in [
        (vec![day.as_str()], "<SECOND>"),
        (vec![], "<FIRST>"),
        (lines[..2].to_vec(), "--line-b <IP:PORT>"),
        ([&lines[..], &[&day, &day]].concat(), "cannot be used with"),
        (vec![&day, &day, "--silence", "3"], "cannot be used with"),
        (vec![&day, "--matrix", "--follow"], "cannot be used with"),
        (vec![&day, &day, "--pool", "--attributes", "mid"], "cannot be used with"),
        (vec![&day, &day, "--method", "guess"], "match-value, match-sequence"),
        (
            vec![&day, &day, "--method", "xcorr", "--grid", "50ns"],
            "expected a time from 100ns to 1ms",
        ),
        (vec![&day, &day, "--window", "5"], "expected a duration such as"),
        (vec![&day, "--matrix", "--rate", "1.5"], "expected a number between 0 and 1"),
    ] {
        let ran = nanotape([&["delay"], &arguments[..]].concat());
        assert_eq!(ran.status, 2, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{arguments:?}: {}", ran.stderr);
    }
    // Too few messages for any estimate: all is said, with the status of a failed check.
    let ran = nanotape(["delay", &day, &day, "--max-lag", "10us"]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.starts_with("nanotape: no window has an estimate: try "), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1);
    let ran = nanotape(["delay", &day, &day, "--symbols", "NOSUCH"]);
    assert!(ran.status == 1 && ran.stderr.contains("NOSUCH"), "{}", ran.stderr);
}

#[test]
fn an_address_of_a_line_has_a_port() {
    let ran = nanotape(["delay", "--line-a", "239.1.1.1", "--line-b", "239.1.1.2:5001"]);
    let expected = "expected an address and a port";
    assert!(ran.status == 2 && ran.stderr.contains(expected), "{}", ran.stderr);
}
