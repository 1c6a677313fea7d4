//! Commands on the journal of a recorded plant, and on the DBN file of a tap, give the same answers
//! as on the day file.

use std::{fs, path::Path};

use crate::support::{Folder, Ran, nanotape, nanotape_fed};

fn good(arguments: &[&str]) -> Ran {
    let ran = nanotape(arguments);
    assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
    ran
}

/// A day, a journal of the records that a plant published from it, and a DBN file of them.
struct RecordedDay {
    day: String,
    journal: String,
    dbn: String,
}

fn recorded(folder: &Folder, records: &str) -> RecordedDay {
    let day = folder.path("2019-12-30.itch50");
    good(&["synth", "-o", &day, "--messages", "60000", "--symbols", "40"]);
    let (ring, journal) = (folder.path("ring"), folder.path("journal"));
    publish(&day, &ring, records);
    good(&["journal", "record", &ring, &journal]);
    let dbn = folder.path("tap.dbn");
    let tap = ["tap", &ring, "--from", "oldest", "--records", records, "-o", &dbn];
    good(&tap);
    RecordedDay { day, journal, dbn }
}

fn publish(day: &str, ring: &str, records: &str) {
    let run = ["run", "--input", day, "--ring", ring, "--capacity", "64MiB"];
    good(&[&run, ["--records", records].as_slice()].concat());
}

#[test]
fn every_input_answers_as_the_day_file_does() {
    let folder = Folder::new("recorded_answers");
    let RecordedDay { day, journal, dbn } = recorded(&folder, "all");
    let insides = good(&["inside", &day, "--format", "csv"]).stdout;
    assert!(insides.lines().count() > 10_000, "{}", insides.lines().count());
    let symbol = insides.lines().nth(1).and_then(|row| row.split(',').nth(1)).unwrap();
    // A name does not matter: the content is recognised.
    let (plain, packed) = (folder.path("any"), folder.path("tap.dbn.zst"));
    fs::copy(&dbn, &plain).unwrap();
    fs::write(&packed, zstd::encode_all(&*fs::read(&dbn).unwrap(), 1).unwrap()).unwrap();
    for input in [&journal, &dbn, &plain, &packed] {
        assert_eq!(good(&["inside", input, "--format", "csv"]).stdout, insides, "{input}");
        for command in [
            vec!["depth", "--symbols", symbol, "--levels", "5", "--format", "csv"],
            vec!["book", "--symbols", symbol, "--at", "12:00", "--format", "json"],
            vec!["book", "--symbols", symbol, "--at", "12:00", "--orders", "--format", "csv"],
            vec!["inside", "--symbols", symbol, "--format", "json"],
        ] {
            let of = |input: &str| good(&[&command[..1], &[input], &command[1..]].concat()).stdout;
            assert!(of(&day).lines().count() > 1, "{command:?}");
            assert_eq!(of(input), of(&day), "{command:?} of {input}");
        }
    }
    for stream in [&dbn, &packed] {
        let ran = nanotape_fed(["inside", "-", "--format", "csv"], &fs::read(stream).unwrap());
        assert_eq!((ran.status, ran.stdout == insides), (0, true), "{stream}: {}", ran.stderr);
    }
}

#[test]
fn statistics_of_records_are_those_of_the_day_but_for_what_records_lack() {
    let folder = Folder::new("recorded_statistics");
    let RecordedDay { day, journal, dbn } = recorded(&folder, "all");
    let figures = [
        "symbol",
        "inside_changes",
        "inside_per_ms_p999",
        "inside_gap_ns_p50",
        "bid_levels_p50",
        "ask_levels_max",
        "depth_ticks_p99",
        "crossed_ns",
        "unknown_reference",
    ];
    let of = |input: &str| -> (Vec<Vec<String>>, String) {
        let ran = good(&["stats", input, "--format", "csv"]);
        let mut rows = ran.stdout.lines().map(|row| row.split(',').collect::<Vec<_>>());
        let header = rows.next().unwrap();
        let places = figures.map(|name| header.iter().position(|field| *field == name).unwrap());
        let rows = rows.map(|row| places.map(|place| row[place].to_owned()).to_vec());
        let mut rows: Vec<_> = rows.collect();
        rows.sort();
        (rows, ran.stderr)
    };
    let (expected, reported) = of(&day);
    assert_eq!((expected.len(), reported.as_str()), (41, ""));
    for input in [&journal, &dbn] {
        let (rows, reported) = of(input);
        assert_eq!(rows, expected, "{input}");
        assert_eq!(reported.lines().count(), 1, "{reported}");
        assert!(reported.contains("broken trades are not subtracted"), "{reported}");
    }
}

#[test]
fn an_input_without_order_records_is_refused_with_its_reason() {
    let folder = Folder::new("recorded_without_orders");
    let RecordedDay { journal, dbn, .. } = recorded(&folder, "bbo,trades,definitions");
    for input in [&journal, &dbn] {
        let rows = folder.path("rows.csv");
        let ran = nanotape(["inside", input, "-o", &rows]);
        assert_eq!(ran.status, 1, "{}", ran.stderr);
        assert!(ran.stderr.contains("books need"), "{}", ran.stderr);
        assert!(ran.stderr.contains("mbo records"), "{}", ran.stderr);
        assert!(!Path::new(&rows).exists());
    }
}

#[test]
fn the_last_run_is_read_unless_another_one_is_chosen() {
    let folder = Folder::new("recorded_runs");
    let (ring, journal, dbn) = (folder.path("ring"), folder.path("journal"), folder.path("t.dbn"));
    let day = folder.path("2019-12-30.itch50");
    good(&["synth", "-o", &day, "--messages", "20000", "--symbols", "40"]);
    let publish = ["run", "--input", &day, "--ring", &ring, "--capacity", "64MiB"];
    good(&[&publish, ["--until", "10:00"].as_slice()].concat());
    good(&publish);
    good(&["journal", "record", &ring, &journal]);
    let stat = good(&["ring", "stat", &ring, "--interval", "0", "--format", "json"]).stdout;
    let stat: serde_json::Value = serde_json::from_str(&stat).unwrap();
    let records = (stat["next_sequence"].as_u64().unwrap() - 1).to_string();
    let tap = ["tap", &ring, "--from", "oldest", "--through-restarts", "--count", &records];
    good(&[&tap, ["-o", &dbn].as_slice()].concat());

    // The page of the day has the note as well.
    let page = folder.path("day.html");
    good(&["stats", &journal, "-o", &page]);
    let note = "reading the last run; 1 earlier run can be read with --run N";
    assert!(fs::read_to_string(&page).unwrap().contains(note));

    let insides = good(&["inside", &day, "--format", "csv"]).stdout;
    for input in [&journal, &dbn] {
        let of = |more: &[&str]| nanotape([&["inside", input, "--format", "csv"], more].concat());
        let last = of(&[]);
        assert_eq!((last.status, last.stdout == insides), (0, true), "{input}: {}", last.stderr);
        assert_eq!(
            last.stderr,
            format!(
                "nanotape: {input}: reading the last run; 1 earlier run can be read with --run N\n"
            )
        );
        for run in ["last", "2"] {
            let ran = of(&["--run", run]);
            assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{input}");
            assert!(ran.stdout == insides, "{input}, run {run}");
        }
        let first = of(&["--run", "1"]);
        assert_eq!((first.status, first.stderr.as_str()), (0, ""), "{input}");
        assert!(insides.starts_with(&first.stdout) && first.stdout.len() < insides.len());
        let none = of(&["--run", "3"]);
        assert_eq!(none.status, 2);
        assert!(none.stderr.contains("has 2 runs, --run 3 is not one of them"), "{}", none.stderr);
    }
    // Standard input is read once, so its last run cannot be known.
    let bytes = fs::read(&dbn).unwrap();
    let ran = nanotape_fed(["inside", "-", "--format", "csv"], &bytes);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("another run starts; only the first one was read"),
        "{}",
        ran.stderr
    );
    let ran = nanotape_fed(["inside", "-", "--run", "2", "--format", "csv"], &bytes);
    assert_eq!((ran.status, ran.stdout == insides), (0, true), "{}", ran.stderr);
    for wrong in [["inside", &day, "--run", "1"], ["inside", "-", "--run", "last"]] {
        let ran = nanotape_fed(wrong, &bytes);
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains("--run"), "{}", ran.stderr);
    }
}

#[test]
fn a_gap_and_a_taint_of_the_plant_are_reported_with_their_message() {
    let folder = Folder::new("recorded_lossy");
    let (whole, day) = (folder.day(30_000, 20), folder.path("2019-12-30.itch50"));
    let bytes = fs::read(&whole).unwrap();
    let listed = good(&["inspect", &whole, "--format", "csv"]).stdout;
    let offset = |row: usize| -> usize {
        listed.lines().nth(row).and_then(|row| row.split(',').nth(1)).unwrap().parse().unwrap()
    };
    // Without a thousand messages in the middle, and with the bytes of others overwritten.
    let mut damaged = [&bytes[..offset(14_000)], &bytes[offset(15_000)..]].concat();
    damaged[offset(10_000)..offset(10_003)].fill(0xFF);
    fs::write(&day, damaged).unwrap();
    let (ring, journal, dbn) = (folder.path("ring"), folder.path("journal"), folder.path("t.dbn"));
    let run = nanotape(["run", "--input", &day, "--ring", &ring, "--capacity", "64MiB"]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    good(&["journal", "record", &ring, &journal]);
    good(&["tap", &ring, "--from", "oldest", "--records", "all", "-o", &dbn]);
    let expected = nanotape(["inside", &day, "--format", "csv"]);
    assert_eq!(expected.status, 1);
    for input in [&journal, &dbn] {
        let ran = nanotape(["inside", input, "--format", "csv"]);
        assert_eq!((ran.status, ran.stdout == expected.stdout), (1, true), "{}", ran.stderr);
        let gap = format!("bytes skipped at offset {} of the input, after message", offset(10_000));
        assert!(ran.stderr.contains(&gap), "{input}: {}", ran.stderr);
        let taint =
            ran.stderr.lines().find(|line| line.contains("(tainted) in the records")).unwrap();
        assert!(taint.contains(", the first one of ") && taint.contains(" by message "), "{taint}");
        // Neither the gap nor the taint is in a span that ends before them.
        let early = nanotape(["inside", input, "--until", "09:00", "--strict", "--format", "csv"]);
        assert_eq!((early.status, early.stderr.as_str()), (0, ""), "{input}");
        assert!(early.stdout.lines().count() > 10);
        let output = folder.path("rows.csv");
        let strict = nanotape(["inside", input, "--strict", "-o", &output]);
        assert_eq!(strict.status, 1);
        assert!(strict.stderr.contains("refused by --strict"), "{}", strict.stderr);
        assert!(!Path::new(&output).exists());
    }
}

#[test]
fn a_run_whose_start_was_not_recorded_says_so() {
    let folder = Folder::new("recorded_late");
    let day = folder.path("2019-12-30.itch50");
    let (ring, journal) = (folder.path("ring"), folder.path("journal"));
    good(&["synth", "-o", &day, "--messages", "30000", "--symbols", "20"]);
    good(&["run", "--input", &day, "--ring", &ring, "--capacity", "1MiB"]);
    good(&["journal", "record", &ring, &journal]);
    let ran = nanotape(["inside", &journal, "--format", "csv"]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("the journal lacks the start of the run"), "{}", ran.stderr);
    // The names and the midnight are those that the recorder stored.
    let row = ran.stdout.lines().nth(1).unwrap();
    let [time, symbol] = [0, 1].map(|field| row.split(',').nth(field).unwrap());
    let hours = time.parse::<u64>().unwrap() / 3_600_000_000_000;
    assert!((4..20).contains(&hours), "{row}");
    good(&["inside", &day, "--symbols", symbol, "--until", "05:00"]);
}

#[test]
fn a_command_that_needs_a_day_file_refuses_other_inputs() {
    let folder = Folder::new("recorded_refused");
    let dbn = folder.write("day.itch50", b"DBN\x03");
    for command in ["check", "inspect"] {
        for input in [&folder.path(""), &dbn] {
            let ran = nanotape([command, input]);
            assert_eq!(ran.status, 2, "{command}: {}", ran.stderr);
            let needed = "this command needs the messages of a day file or a capture";
            assert!(ran.stderr.contains(needed), "{}", ran.stderr);
        }
    }
}
