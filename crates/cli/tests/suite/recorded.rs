//! Commands on the journal of a recorded plant give the same answers as on the day file.

use crate::support::{Folder, Ran, nanotape};

fn good(arguments: &[&str]) -> Ran {
    let ran = nanotape(arguments);
    assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
    ran
}

/// A day, and a journal of the records that a plant published from it.
fn recorded(folder: &Folder, records: &str) -> (String, String) {
    let (day, ring) = (folder.path("2019-12-30.itch50"), folder.path("ring"));
    let journal = folder.path("journal");
    good(&["synth", "-o", &day, "--messages", "60000", "--symbols", "40"]);
    let run = ["run", "--input", &day, "--ring", &ring, "--capacity", "64MiB"];
    good(&[&run, ["--records", records].as_slice()].concat());
    good(&["journal", "record", &ring, &journal]);
    (day, journal)
}

#[test]
fn a_journal_answers_as_the_day_file_does() {
    let folder = Folder::new("recorded_answers");
    let (day, journal) = recorded(&folder, "all");
    let insides = good(&["inside", &day, "--format", "csv"]).stdout;
    assert!(insides.lines().count() > 10_000, "{}", insides.lines().count());
    assert_eq!(good(&["inside", &journal, "--format", "csv"]).stdout, insides);

    let symbol = insides.lines().nth(1).and_then(|row| row.split(',').nth(1)).unwrap();
    for command in [
        vec!["depth", "--symbol", symbol, "--levels", "5", "--format", "csv"],
        vec!["book", "--symbol", symbol, "--at", "12:00", "--format", "json"],
        vec!["book", "--symbol", symbol, "--at", "12:00", "--orders", "--format", "csv"],
        vec!["inside", "--symbols", symbol, "--levels", "sorted-map", "--format", "json"],
    ] {
        let of = |input: &str| good(&[&command[..1], &[input], &command[1..]].concat()).stdout;
        assert!(of(&day).lines().count() > 1, "{command:?}");
        assert_eq!(of(&journal), of(&day), "{command:?}");
    }
}

#[test]
fn a_journal_without_order_records_is_refused_with_its_reason() {
    let folder = Folder::new("recorded_without_orders");
    let (_, journal) = recorded(&folder, "bbo,trades,definitions");
    let ran = nanotape(["inside", &journal]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("books need mbo records"), "{}", ran.stderr);
}

#[test]
fn what_a_journal_lacks_is_printed_and_makes_the_status_1() {
    let folder = Folder::new("recorded_lossy");
    let (day, ring) = (folder.path("2019-12-30.itch50"), folder.path("ring"));
    let journal = folder.path("journal");
    good(&["synth", "-o", &day, "--messages", "60000", "--symbols", "40"]);
    good(&["run", "--input", &day, "--ring", &ring, "--capacity", "64MiB"]);
    good(&["run", "--input", &day, "--ring", &ring, "--capacity", "64MiB"]);
    good(&["journal", "record", &ring, &journal]);
    let ran = nanotape(["inside", &journal, "--format", "csv"]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("another run of a plant starts"), "{}", ran.stderr);
    assert_eq!(ran.stdout, good(&["inside", &day, "--format", "csv"]).stdout);
}

#[test]
fn a_command_that_needs_a_day_file_refuses_a_folder() {
    let folder = Folder::new("recorded_refused");
    for command in ["check", "stats", "inspect"] {
        let ran = nanotape([command, &folder.path("")]);
        assert_eq!(ran.status, 2, "{command}: {}", ran.stderr);
        assert!(ran.stderr.contains("this command needs a day file"), "{}", ran.stderr);
    }
}
