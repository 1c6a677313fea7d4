//! Taps of every INPUT: a day file, the journal of its plant, and a DBN file of it.

use std::{fs, io::Write as _};

use rustix::process::Signal;

use crate::{
    support::{Folder, Ran, nanotape, nanotape_fed, running::Running},
    tap::plants::numbers,
};

fn good(arguments: &[&str]) -> Ran {
    let ran = nanotape(arguments);
    assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
    ran
}

/// A day, a journal of all records of it with snapshots, and a DBN file of them.
struct Inputs {
    folder: Folder,
    day: String,
    journal: String,
    dbn: String,
}

impl Inputs {
    fn new(name: &str) -> Self {
        let folder = Folder::new(&format!("tap_inputs_{name}"));
        let made = folder.day(60_000, 40);
        let day = folder.path("20191230.itch50");
        fs::rename(made, &day).unwrap();
        let [ring, journal, dbn] = ["ring", "journal", "tap.dbn"].map(|name| folder.path(name));
        let run = ["run", "--input", &day, "--ring", &ring, "--capacity", "64MiB"];
        good(&[&run, ["--records", "all"].as_slice()].concat());
        good(&["journal", "record", &ring, &journal, "--segment", "1MiB"]);
        good(&["journal", "snapshot", &journal, "--share", "100"]);
        good(&["tap", &ring, "--from", "oldest", "-o", &dbn]);
        fs::remove_file(&ring).unwrap();
        Self { folder, day, journal, dbn }
    }

    fn all(&self) -> [&str; 3] {
        [&self.day, &self.journal, &self.dbn]
    }
}

/// The columns whose values differ: the receive time of each reading, and the numbers of a file.
const TS_RECV: usize = 3;
const SEQUENCE: usize = 0;

/// Rows of CSV without the columns that differ between readings. The stop in a DBN file has no time
/// of the exchange.
fn comparable(rows: &str) -> Vec<String> {
    let row = |row: &str| {
        let mut cells: Vec<_> = row.split(',').collect();
        (cells[SEQUENCE], cells[TS_RECV]) = ("", "");
        if cells[1] == "stop" {
            (cells[2], cells[4]) = ("", "");
        }
        cells.join(",")
    };
    rows.lines().map(row).collect()
}

fn tap(input: &str, options: &[&str]) -> Ran {
    good(&[&["tap", input, "--format", "csv"], options].concat())
}

#[test]
fn every_input_has_the_rows_of_its_day() {
    let inputs = Inputs::new("rows");
    let rows = tap(&inputs.journal, &[]).stdout;
    let expected = comparable(&rows);
    assert!(expected.len() > 90_000, "{}", expected.len());
    assert!(expected[1].contains("start") && expected.last().unwrap().contains("stop"));
    let of_day = tap(&inputs.day, &[]);
    // The numbers of a day file are those of the plant.
    let numbers_of = |rows: &str| -> Vec<String> {
        rows.lines().map(|row| row.split(',').next().unwrap().to_owned()).collect()
    };
    assert_eq!(numbers_of(&of_day.stdout), numbers_of(&rows));
    assert!(of_day.stderr.contains(" 0 lost in 0 gaps"), "{}", of_day.stderr);
    let packed = inputs.folder.path("packed");
    fs::write(&packed, zstd::encode_all(&*fs::read(&inputs.dbn).unwrap(), 1).unwrap()).unwrap();
    for input in [&inputs.day, &inputs.dbn, &packed] {
        assert!(comparable(&tap(input, &[]).stdout) == expected, "{input}");
    }
    // The first stock of an order.
    let symbol = rows.lines().find(|row| row.contains(",mbo,")).unwrap().split(',').nth(5).unwrap();
    let some = ["--symbols", symbol, "--records", "bbo,trades"];
    let selected = comparable(&tap(&inputs.journal, &some).stdout);
    assert!(selected.len() > 500 && selected.len() < expected.len() / 2, "{}", selected.len());
    for input in [&inputs.day, &inputs.dbn] {
        assert_eq!(comparable(&tap(input, &some).stdout), selected, "{input}");
    }
    for (input, options) in
        [(&inputs.day, &["--date", "2019-12-30"][..]), (&inputs.dbn, &[]), (&packed, &[])]
    {
        let arguments = [&["tap", "-", "--format", "csv"], options].concat();
        let ran = nanotape_fed(arguments, &fs::read(input).unwrap());
        assert_eq!((ran.status, comparable(&ran.stdout) == expected), (0, true), "{}", ran.stderr);
    }
    // The plant of the day has the digest of its records.
    let checked = tap(&inputs.day, &["--check-digest", "--records", "bbo"]);
    assert!(checked.stderr.contains("is that of the plant"), "{}", checked.stderr);
    // A record of the middle on.
    let middle = (rows.lines().count() / 2).to_string();
    let late = tap(&inputs.day, &["--from", &middle, "--count", "1000"]).stdout;
    let row = |row: &str| row.split(',').next().unwrap() == middle;
    let expected: Vec<_> = rows.lines().skip_while(|line| !row(line)).take(1_000).collect();
    assert_eq!(comparable(&late)[1..], comparable(&expected.join("\n")));
}

#[test]
fn a_span_has_the_rows_of_its_times() {
    let inputs = Inputs::new("span");
    let rows = tap(&inputs.journal, &[]).stdout;
    let time = |row: &str| row.split(',').nth(4).unwrap().parse::<u64>().ok();
    let times: Vec<u64> = rows.lines().filter_map(time).collect();
    // Moments of records: the first one is inside, the last one is not.
    let (from, to) = (times[times.len() / 4 * 3], times[times.len() / 8 * 7]);
    let clock = |ns: u64| {
        let (s, n) = (ns / 1_000_000_000, ns % 1_000_000_000);
        format!("{:02}:{:02}:{:02}.{n:09}", s / 3600, s / 60 % 60, s % 60)
    };
    let midnight = 1_577_682_000_000_000_000;
    let expected = |from: u64, to: u64| {
        let is_inside = |row: &&str| time(row).is_some_and(|time| (from..to).contains(&time));
        let rows: Vec<_> = rows.lines().filter(is_inside).collect();
        comparable(&rows.join("\n"))
    };
    for input in inputs.all() {
        let both = tap(input, &["--from", &clock(from), "--until", &clock(to)]);
        assert_eq!(comparable(&both.stdout)[1..], expected(from, to), "{input}");
        let unix = [format!("@{}", midnight + from), format!("@{}", midnight + to)];
        let unix = tap(input, &["--from", &unix[0], "--until", &unix[1]]);
        assert_eq!(comparable(&unix.stdout), comparable(&both.stdout), "{input}");
        let late = tap(input, &["--from", &clock(from)]);
        let mut all = expected(from, u64::MAX);
        if input == inputs.dbn {
            // Its stop has no time, and so that of the record before it.
            assert!(late.stdout.lines().last().unwrap().contains(",stop,"));
        }
        assert_eq!(comparable(&late.stdout)[1..], all, "{input}");
        all = expected(0, to);
        let early = comparable(&tap(input, &["--until", &clock(to)]).stdout);
        assert!(early[1].contains("start"), "{}", early[1]);
        // The start has no time, and nothing came before it.
        assert_eq!(early[2..], all, "{input}");
        let none = tap(input, &["--from", &clock(to), "--until", &clock(to)]);
        assert_eq!(none.stdout.lines().count(), 1, "{input}");
    }
    // A journal is read from its snapshot on, and not from the start.
    let [last, first] = [&inputs.journal, &inputs.day].map(|input| {
        let ran = tap(input, &["--from", &clock(from), "--until", &clock(to)]);
        numbers(&ran.stderr)[0]
    });
    assert!(last < first / 2 + first / 4, "{last} of {first} messages");
}

#[test]
fn each_run_of_a_journal_and_of_a_dbn_file_is_chosen() {
    let folder = Folder::new("tap_inputs_runs");
    let made = folder.day(5_000, 10);
    let day = folder.path("20191230.itch50");
    fs::rename(made, &day).unwrap();
    let [ring, journal, dbn] = ["ring", "journal", "tap.dbn"].map(|name| folder.path(name));
    let run = ["run", "--input", &day, "--ring", &ring, "--capacity", "16MiB", "--records", "all"];
    good(&[&run[..], &["--until", "10:00"]].concat());
    good(&run);
    good(&["journal", "record", &ring, &journal]);
    let stat = good(&["ring", "stat", &ring, "--interval", "0", "--format", "json"]).stdout;
    let stat: serde_json::Value = serde_json::from_str(&stat).unwrap();
    let records = (stat["next_sequence"].as_u64().unwrap() - 1).to_string();
    let through = ["tap", &ring, "--from", "oldest", "--through-restarts", "--count", &records];
    good(&[&through[..], &["-o", &dbn]].concat());
    let whole = comparable(&tap(&day, &[]).stdout);
    for input in [&journal, &dbn] {
        let last = comparable(&tap(input, &[]).stdout);
        assert_eq!(last[2..], whole[2..], "{input}");
        assert_eq!(comparable(&tap(input, &["--run", "2"]).stdout), last, "{input}");
        let first = comparable(&tap(input, &["--run", "1"]).stdout);
        // But for its stop.
        assert_eq!(first[1..first.len() - 1], whole[1..first.len() - 1], "{input}");
        assert!(first.last().unwrap().contains("time reached"), "{input}");
        let early = comparable(&tap(input, &["--run", "1", "--until", "09:00"]).stdout);
        assert_eq!(first[..early.len()], early, "{input}");
        let none = nanotape(["tap", input, "--run", "3"]);
        assert_eq!(none.status, 2, "{}", none.stderr);
        assert!(none.stderr.contains("--run 3 is not one of them"), "{}", none.stderr);
    }
}

#[test]
fn a_damaged_day_and_a_dbn_file_of_it_have_the_loss() {
    let folder = Folder::new("tap_inputs_damaged");
    let made = folder.day(20_000, 20);
    let bytes = fs::read(&made).unwrap();
    let listed = good(&["inspect", &made, "--format", "csv"]).stdout;
    let offset = |row: usize| -> usize {
        listed.lines().nth(row).and_then(|row| row.split(',').nth(1)).unwrap().parse().unwrap()
    };
    let mut damaged = [&bytes[..offset(14_000)], &bytes[offset(15_000)..]].concat();
    damaged[offset(10_000)..offset(10_003)].fill(0xFF);
    let day = folder.write("20191230.itch50", &damaged);
    let ran = nanotape(["tap", &day, "--format", "csv"]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let has = |rows: &str, kind: &str| rows.lines().filter(|row| row.contains(kind)).count();
    assert!(has(&ran.stdout, ",gap,") == 1 && has(&ran.stdout, ",taint,") > 0, "{}", ran.stderr);
    let gap = format!("bytes skipped at offset {} of the input", offset(10_000));
    assert!(ran.stdout.contains(&gap) && ran.stderr.contains("tainted"), "{}", ran.stderr);
    let dbn = folder.path("tap.dbn");
    assert_eq!(nanotape(["tap", &day, "-o", &dbn]).status, 1);
    let again = tap(&dbn, &[]);
    assert_eq!(has(&again.stdout, ",loss,"), 1);
    assert!(again.stdout.contains(&gap), "{}", again.stderr);
    let taints = |rows: &str| {
        let rows: Vec<_> = rows.lines().filter(|row| row.contains(",taint,")).collect();
        comparable(&rows.join("\n"))
    };
    assert_eq!(taints(&again.stdout), taints(&ran.stdout));
    assert_eq!(nanotape(["tap", &dbn, "--fail-on-loss"]).status, 1);
    // A copy of a copy has everything.
    let copy = folder.path("copy.dbn");
    good(&["tap", &dbn, "-o", &copy]);
    assert_eq!(comparable(&tap(&copy, &[]).stdout), comparable(&again.stdout));
    // A file that ends before its run.
    let short = folder.path("short.dbn");
    good(&["tap", &day, "--count", "5000", "-o", &short]);
    let ran = nanotape(["tap", &short, "--format", "csv"]);
    assert_eq!((ran.status, ran.stdout.lines().count()), (1, 5_001));
    assert!(ran.stderr.contains("lacks the stop record of the run"), "{}", ran.stderr);
    let whole = fs::read(&dbn).unwrap();
    let cut = folder.write("cut.dbn", &whole[..whole.len() - 9]);
    let ran = nanotape(["tap", &cut, "--format", "csv"]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("the file ends inside record"), "{}", ran.stderr);
}

#[test]
fn a_tap_of_a_day_leaves_no_file_and_ends_on_request() {
    let folder = Folder::new("tap_inputs_ends");
    let day = fs::read(folder.day(20_000, 20)).unwrap();
    // A day on a pipe that stays open: the plant waits for the rest.
    let mut tap = Running::start_fed(&["tap", "-", "--date", "2019-12-30", "--format", "json"]);
    tap.input.as_mut().unwrap().write_all(&day[..day.len() / 2]).unwrap();
    assert_eq!(tap.read_json()["record"], "start");
    let maps = fs::read_to_string(format!("/proc/{}/maps", tap.process.id())).unwrap();
    assert!(!maps.contains("/dev/shm"), "{maps}");
    tap.signal(Signal::INT);
    let input = tap.input.take();
    let (status, rows, complained) = tap.end();
    drop(input);
    assert_eq!(status, Some(0), "{complained}");
    assert!(complained.contains("messages read"), "{complained}");
    assert!(rows.lines().all(|row| row.starts_with('{')), "whole rows");
}

#[test]
fn options_that_an_input_has_no_use_for_are_refused_in_one_line() {
    let folder = Folder::new("tap_inputs_refused");
    let made = folder.day(1_000, 5);
    let day = folder.path("20191230.itch50");
    fs::rename(made, &day).unwrap();
    let [ring, journal, dbn] = ["ring", "journal", "tap.dbn"].map(|name| folder.path(name));
    good(&["run", "--input", &day, "--ring", &ring]);
    good(&["journal", "record", &ring, &journal]);
    good(&["tap", &day, "-o", &dbn]);
    let output = folder.path("rows.csv");
    let refused = |input: &str, options: &[&str], expected: &str| {
        let arguments = [&["tap", input, "-o", &output], options].concat();
        let ran = nanotape(&arguments);
        assert_eq!(ran.status, 2, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{arguments:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        assert!(!fs::exists(&output).unwrap());
    };
    for option in [
        &["--wait", "1"][..],
        &["--heal", &journal],
        &["--rejoin", "newest"],
        &["--through-restarts"],
        &["--whole"],
        &["--from", "newest"],
    ] {
        refused(&day, option, "is a day file or a capture, to which --");
        refused(&dbn, option, "is a DBN file, to which --");
    }
    refused(&day, &["--run", "1"], "is a day file or a capture, to which --run does not apply");
    refused(&dbn, &["--check-digest"], "is a DBN file, to which --check-digest does not apply");
    refused(&journal, &["--rejoin", "newest"], "folder of a journal, to which --rejoin");
    for option in [&["--from", "10:00"][..], &["--until", "10:00"], &["--run", "1"]] {
        refused(&ring, option, "is a ring, to which --");
    }
    refused(&day, &["--from", "11:00", "--until", "10:00"], "the span ends before it begins");
    let undated = folder.path("day.itch50");
    fs::rename(&day, &undated).unwrap();
    refused(&undated, &[], "no trade date in the file name: give it, as in --date 2019-12-30");
    good(&["tap", &undated, "--date", "2019-12-30"]);
}
