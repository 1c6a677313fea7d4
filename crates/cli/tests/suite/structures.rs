//! Every structure of the books can be selected, and gives the same answers.

use crate::support::{Folder, every_choice_of_structures, nanotape};

#[test]
fn every_command_answers_the_same_in_every_structure() {
    let folder = Folder::new("structures");
    let day = folder.day(30_000, 20);
    let symbol = first_symbol(&day);
    let commands: [&[&str]; 5] = [
        &["inside", &day, "--format", "csv"],
        &["depth", &day, "--symbol", &symbol, "--levels", "20", "--format", "csv"],
        &["check", &day, "--format", "csv"],
        &["book", &day, "--symbol", &symbol, "--at", "12:00", "--orders", "--format", "csv"],
        &["book", &day, "--symbol", &symbol, "--at", "12:00", "--levels", "5", "--format", "csv"],
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

/// Both options have a short and a long name; in `book`, `--orders` lists orders.
#[test]
fn every_name_of_an_option_is_understood() {
    let folder = Folder::new("structure-names");
    let day = folder.day(5_000, 5);
    let symbol = first_symbol(&day);
    let commands: [(&[&str], &str); 6] = [
        (&["inside", &day], "--orders"),
        (&["check", &day], "--orders"),
        (&["stats", &day], "--orders"),
        (&["demo", "--messages", "5000", "--symbols", "5"], "--orders"),
        (&["depth", &day, "--symbol", &symbol], "--orders"),
        (&["book", &day, "--symbol", &symbol], "--order-structure"),
    ];
    for (command, orders) in commands {
        for (levels, orders) in [("--levels", orders), ("--level-structure", "--order-structure")] {
            let chosen = [levels, "sorted-map", orders, "hash-map"];
            let ran = nanotape(command.iter().chain(&chosen));
            assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{command:?} {chosen:?}");
        }
        // At most one structure of each kind, under either name.
        let twice = ["--levels", "packed", "--levels", "sorted-map"];
        let mixed = ["--levels", "packed", "--level-structure", "sorted-map"];
        for chosen in [twice, mixed] {
            let ran = nanotape(command.iter().chain(&chosen));
            assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{command:?} {chosen:?}");
        }
    }
}

/// In commands that show levels, `--levels` takes a number and a structure, in any order.
#[test]
fn levels_are_a_number_a_name_or_one_of_each() {
    let folder = Folder::new("levels");
    let day = folder.day(5_000, 5);
    let symbol = first_symbol(&day);
    for command in ["depth", "book"] {
        let at = if command == "book" { vec!["--at", "12:00"] } else { vec![] };
        let run = |levels: &[&str]| {
            let base = [command, &day, "--symbols", &symbol, "--format", "csv"];
            nanotape(base.iter().chain(&at).chain(levels))
        };
        let two = run(&["--levels", "2"]);
        assert_eq!(two.status, 0, "{}", two.stderr);
        assert!(two.stdout.lines().count() > 3 && two.stdout != run(&[]).stdout);
        for levels in [
            ["--levels", "2", "--levels", "sorted-map"],
            ["--levels", "best-first", "--levels", "2"],
            ["--levels", "2", "--level-structure", "tick-indexed"],
        ] {
            let ran = run(&levels);
            assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{command} {levels:?}");
            assert!(ran.stdout == two.stdout, "{command} {levels:?}");
        }
        let ran = run(&["--levels", "2", "--levels", "3"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
        assert!(ran.stderr.contains("--levels 2 and --levels 3"), "{}", ran.stderr);
        let ran = run(&["--levels", "0"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
        assert!(ran.stderr.contains("0 is not in 1..="), "{}", ran.stderr);
    }
}

#[test]
fn a_structure_that_there_is_not_is_refused_with_those_there_are() {
    for (command, option) in [
        ("inside", "--levels"),
        ("inside", "--orders"),
        ("demo", "--levels"),
        ("check", "--order-structure"),
        ("depth", "--levels"),
        ("depth", "--level-structure"),
        ("depth", "--orders"),
        ("book", "--levels"),
        ("book", "--order-structure"),
    ] {
        let mut arguments = vec![command, option, "treap"];
        match command {
            "demo" => {}
            "book" | "depth" => arguments.extend(["-", "--symbol", "A"]),
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
