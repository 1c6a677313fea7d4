//! Every structure of the books can be selected, and gives the same answers.

use crate::support::{Folder, every_choice_of_structures, nanotape};

#[test]
fn every_command_answers_the_same_in_every_structure() {
    let folder = Folder::new("structures");
    let day = folder.day(30_000, 20);
    let symbol = first_symbol(&day);
    let commands: [&[&str]; 5] = [
        &["inside", &day, "--format", "csv"],
        &["depth", &day, "--symbols", &symbol, "--levels", "20", "--format", "csv"],
        &["check", &day, "--format", "csv"],
        &["book", &day, "--symbols", &symbol, "--at", "12:00", "--orders", "--format", "csv"],
        &["book", &day, "--symbols", &symbol, "--at", "12:00", "--levels", "5", "--format", "csv"],
    ];
    for command in commands {
        let mut expected = None;
        for structures in every_choice_of_structures() {
            let ran = nanotape(command.iter().chain(&structures));
            assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{command:?} {structures:?}");
            // The first choice has no options: the defaults of the command.
            let expected = expected.get_or_insert_with(|| ran.stdout.clone());
            assert!(expected.lines().count() > 5, "{command:?} shows something: {expected}");
            assert!(ran.stdout == *expected, "{command:?} {structures:?}");
        }
    }
}

/// Times differ, so the test compares only counts.
#[test]
fn statistics_and_demonstration_count_the_same_in_every_structure() {
    let folder = Folder::new("counts");
    let day = folder.day(20_000, 20);
    let demo = ["demo", "--messages", "20000", "--symbols", "20", "--format", "json"];
    let (mut of_stats, mut of_demo) = (None, None);
    for structures in every_choice_of_structures() {
        let stats = nanotape(["stats", &day, "--format", "json"].iter().chain(&structures));
        let row = first_row(&stats.stdout);
        let counts = ["messages", "inside_changes", "trades", "volume_shares", "depth_ticks_p99"]
            .map(|name| row[name].as_u64().unwrap());
        assert_eq!(counts, *of_stats.get_or_insert(counts), "{structures:?}");

        let demo = nanotape(demo.iter().chain(&structures));
        assert_eq!((demo.status, demo.stderr.as_str()), (0, ""), "{structures:?}");
        let row = first_row(&demo.stdout);
        let counts = ["messages", "inside_changes", "most_live_orders", "books_not_empty"]
            .map(|name| row[name].as_u64().unwrap());
        assert_eq!(counts, *of_demo.get_or_insert(counts), "{structures:?}");
    }
}

/// Options mean the same in every command: `--levels` is a number, `--orders` lists
/// orders, and structures have names of their own.
#[test]
fn an_option_for_structures_is_never_a_number_and_given_once() {
    let folder = Folder::new("structure-names");
    let day = folder.day(5_000, 5);
    let symbol = first_symbol(&day);
    let commands: [&[&str]; 6] = [
        &["inside", &day],
        &["check", &day],
        &["stats", &day],
        &["demo", "--messages", "5k", "--stocks", "5"],
        &["depth", &day, "--symbols", &symbol],
        &["book", &day, "--symbols", &symbol],
    ];
    for command in commands {
        let chosen = ["--level-structure", "sorted-map", "--order-structure", "hash-map"];
        let ran = nanotape(command.iter().chain(&chosen));
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{command:?} {chosen:?}");
        let twice = ["--level-structure", "packed", "--level-structure", "sorted-map"];
        for chosen in [&twice[..], &["--levels", "packed"], &["--orders", "hash-map"]] {
            let ran = nanotape(command.iter().chain(chosen));
            assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{command:?} {chosen:?}");
        }
    }
    for command in ["depth", "book"] {
        let ran = nanotape([command, &day, "--symbols", &symbol, "--levels", "0"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
        assert!(ran.stderr.contains("0 is not in 1..=") || ran.stderr.contains("at least 1"));
    }
}

#[test]
fn a_structure_that_there_is_not_is_refused_with_those_there_are() {
    for (command, option) in [
        ("inside", "--level-structure"),
        ("inside", "--order-structure"),
        ("demo", "--level-structure"),
        ("check", "--order-structure"),
        ("depth", "--level-structure"),
        ("book", "--order-structure"),
    ] {
        let mut arguments = vec![command, option, "treap"];
        match command {
            "demo" => {}
            "book" | "depth" => arguments.extend(["-", "--symbols", "A"]),
            _ => arguments.push("-"),
        }
        let ran = nanotape(&arguments);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{arguments:?}");
        for expected in ["'treap'", "possible values: "] {
            assert!(ran.stderr.contains(expected), "{arguments:?}: {}", ran.stderr);
        }
    }
    let ran = nanotape(["inside", "--help"]);
    assert!(ran.stdout.contains("tick-indexed") && ran.stdout.contains("open-addressing"));
}

fn first_row(json: &str) -> serde_json::Value {
    serde_json::from_str(json.lines().next().unwrap()).unwrap()
}

/// The busiest stock of a day: the first row after that of all stocks.
fn first_symbol(day: &str) -> String {
    let stats = nanotape(["stats", day, "--top", "1", "--format", "json"]).stdout;
    let row: serde_json::Value = serde_json::from_str(stats.lines().nth(1).unwrap()).unwrap();
    row["symbol"].as_str().unwrap().to_owned()
}
