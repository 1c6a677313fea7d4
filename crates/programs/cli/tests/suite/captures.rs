//! Captures of a live session through the program: every command reads them as it reads the day.

use std::{fs, path::Path};

use crate::support::{
    Folder,
    capture::{BEGIN_NS, capture_of},
    nanotape, nanotape_fed,
};

/// Statistics up to the columns with the time that processing took.
fn without_times(csv: &str) -> Vec<Vec<&str>> {
    let count = csv.split(',').position(|name| name == "process_ns_p50").unwrap();
    csv.lines().map(|row| row.split(',').take(count).collect()).collect()
}

fn day(folder: &Folder) -> (String, Vec<u8>) {
    let path = folder.path("20191230.itch50");
    let made = nanotape(["synth", "-o", &path, "--messages", "30000", "--symbols", "40"]);
    assert_eq!(made.status, 0, "{made:?}");
    let bytes = fs::read(&path).unwrap();
    (path, bytes)
}

#[test]
fn every_command_reads_a_capture_as_the_day_that_was_sent() {
    let folder = Folder::new("captures");
    let (day, bytes) = day(&folder);
    let capture = folder.path("session.pcapng");
    fs::write(&capture, capture_of(&bytes, 0..0)).unwrap();
    let symbols = nanotape(["stats", &day, "--format", "csv"]).stdout;
    let symbol = symbols.lines().nth(2).unwrap().split(',').next().unwrap().to_owned();
    let commands: &[&[&str]] = &[
        &["inside", "INPUT", "--format", "csv"],
        &["stats", "INPUT", "--format", "csv"],
        &["book", "INPUT", "--symbols", &symbol, "--at", "11:00", "--orders", "--format", "csv"],
        &["depth", "INPUT", "--symbols", &symbol, "--levels", "3", "--format", "csv"],
        &["check", "INPUT"],
    ];
    for command in commands {
        let on = |input: &str| {
            let arguments = command.iter().map(|word| if *word == "INPUT" { input } else { word });
            nanotape(arguments.map(str::to_owned))
        };
        let (expected, found) = (on(&day), on(&capture));
        assert_eq!(found.status, 0, "{command:?}: {}", found.stderr);
        assert!(expected.stdout.len() > 20, "{command:?}: {expected:?}");
        match command[0] {
            // The report has the name of its input.
            "check" => {}
            "stats" => {
                assert_eq!(without_times(&found.stdout), without_times(&expected.stdout));
            }
            _ => assert!(found.stdout == expected.stdout, "{command:?}"),
        }
    }
    let piped = nanotape_fed(["inside", "-", "--format", "csv"], &fs::read(&capture).unwrap());
    assert_eq!(piped.stdout, nanotape(["inside", &day, "--format", "csv"]).stdout);
}

#[test]
fn a_tap_of_a_capture_has_its_times_and_its_trade_date() {
    let folder = Folder::new("capture-tap");
    let (day, bytes) = day(&folder);
    let capture = folder.path("session.pcapng");
    fs::write(&capture, capture_of(&bytes, 0..0)).unwrap();
    let on = |input: &str| nanotape(["tap", input, "--records", "mbo", "--format", "csv"]);
    let (expected, found) = (on(&day), on(&capture));
    assert_eq!(found.status, 0, "{}", found.stderr);
    let (header, rows) = found.stdout.split_once('\n').unwrap();
    let column = header.split(',').position(|name| name == "ts_recv").unwrap();
    let without = |row: &str| -> Vec<String> {
        let fields = row.split(',').enumerate().filter(|(place, _)| *place != column);
        fields.map(|(_, field)| field.to_owned()).collect()
    };
    assert!(rows.lines().count() > 10_000);
    assert!(rows.lines().map(without).eq(expected.stdout.lines().skip(1).map(without)));
    let first = rows.lines().find(|row| row.contains(",mbo,")).unwrap();
    let ts_recv: u64 = first.split(',').nth(column).unwrap().parse().unwrap();
    assert!((BEGIN_NS..BEGIN_NS + 1_000_000_000).contains(&ts_recv), "{ts_recv}");
}

#[test]
fn missing_messages_of_a_capture_are_reported_and_the_status_is_1() {
    let folder = Folder::new("capture-missing");
    let (_, bytes) = day(&folder);
    let capture = folder.path("20191230.pcapng");
    fs::write(&capture, capture_of(&bytes, 20_000..20_010)).unwrap();
    let found = nanotape(["stats", &capture, "--format", "csv"]);
    assert_eq!(found.status, 1, "{found:?}");
    assert!(found.stderr.contains("on no line"), "{}", found.stderr);
    let checked = nanotape(["check", &capture]);
    let verdict = checked.stdout.lines().last().unwrap();
    assert!(verdict.starts_with("BAD: ") && verdict.contains(" missing messages, "), "{verdict}");
    assert!(Path::new(&capture).exists());
}
