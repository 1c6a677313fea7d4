//! Every command as a user runs it: output, formats, files, exit statuses.

use std::{collections::BTreeMap, fs};

use nanotape_harness::{Bounded as _, BoundedChild as _};
use nanotape_wire::framing::binary_file::Records;

use crate::support::{Folder, nanotape, nanotape_fed};

#[test]
fn the_demonstration_runs_a_day_and_finds_all_books_empty() {
    let ran = nanotape(["demo", "--messages", "200000", "--symbols", "300"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    for expected in [
        "200,000 messages, 300 stocks",
        "million messages a second",
        "p99.99",
        " ns for one reading of the clock (",
        "Busiest stocks",
        "all books are empty, as expected",
        "Where to go next",
    ] {
        assert!(ran.stdout.contains(expected), "{expected:?} in {}", ran.stdout);
    }
    let ran = nanotape(["demo", "--messages", "20000", "--symbols", "30", "--format", "json"]);
    let row: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(row["messages"], 20_000);
    assert_eq!(row["books_not_empty"], 0);
    assert!(row["process_ns_p999"].as_u64() >= row["process_ns_p50"].as_u64());
}

#[test]
fn a_synthetic_day_is_reproducible_and_valid() {
    let folder = Folder::new("synth");
    let day = folder.day(60_000, 200);
    let again =
        nanotape(["synth", "-o", &folder.path("again"), "--messages", "60000", "--symbols", "200"]);
    assert_eq!(again.status, 0);
    assert_eq!(fs::read(&day).unwrap(), fs::read(folder.path("again")).unwrap());
    let checked = nanotape(["check", &day]);
    assert_eq!((checked.status, checked.stderr.as_str()), (0, ""), "{}", checked.stdout);
    let lines: Vec<_> = checked.stdout.lines().skip(1).collect();
    let (verdict, rules) = lines.split_last().unwrap();
    assert_eq!(*verdict, "OK: 60,000 messages, no violation of the specification");
    for line in rules {
        assert_eq!(line.split_whitespace().nth(2), Some("0"), "{line}");
    }
    // Another seed gives another day.
    let other = folder.path("other");
    nanotape(["synth", "-o", &other, "--messages", "60000", "--symbols", "200", "--seed", "2"]);
    assert_ne!(fs::read(&day).unwrap(), fs::read(other).unwrap());
}

#[test]
fn every_way_to_hand_over_a_day_gives_the_same_rows() {
    let folder = Folder::new("ways");
    let day = folder.day(30_000, 50);
    let expected = nanotape(["inside", &day, "--format", "csv"]);
    assert_eq!(expected.status, 0);
    assert!(expected.stdout.starts_with("ts_ns,symbol,bid_price,bid_size,ask_price,ask_size\n"));
    assert!(expected.stdout.lines().count() > 1_000);
    for name in ["day.gz", "day.zst"] {
        let path = folder.path(name);
        nanotape(["synth", "-o", &path, "--messages", "30000", "--symbols", "50"]);
        assert!(fs::metadata(&path).unwrap().len() < fs::metadata(&day).unwrap().len() * 2 / 3);
        assert_eq!(nanotape(["inside", &path]).stdout, expected.stdout, "{name}");
        let piped = nanotape_fed(["inside", "-"], &fs::read(&path).unwrap());
        assert_eq!(piped.stdout, expected.stdout, "{name} through a pipe");
    }
    let piped = nanotape_fed(["inside", "-"], &fs::read(&day).unwrap());
    assert_eq!(piped.stdout, expected.stdout);
}

#[test]
fn the_suffix_chooses_the_format_and_only_force_overwrites() {
    let folder = Folder::new("suffix");
    let day = folder.day(10_000, 20);
    let csv = nanotape(["inside", &day, "--format", "csv"]).stdout;
    let json = nanotape(["inside", &day, "--format", "json"]).stdout;
    for (name, expected) in [("rows.csv", &csv), ("rows.json", &json), ("rows.csv.zst", &csv)] {
        let path = folder.path(name);
        let ran = nanotape(["inside", &day, "-o", &path]);
        assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""), "{name}");
        let content = fs::read(&path).unwrap();
        let content =
            if name.ends_with("zst") { zstd::decode_all(&content[..]).unwrap() } else { content };
        assert_eq!(String::from_utf8(content).unwrap(), **expected, "{name}");
    }
    let path = folder.path("rows.csv");
    let refused = nanotape(["inside", &day, "-o", &path]);
    assert_eq!(refused.status, 2);
    assert!(refused.stderr.contains("rows.csv exists; use --force to overwrite it"));
    assert_eq!(nanotape(["inside", &day, "-o", &path, "--force"]).status, 0);
    let unclear = nanotape(["inside", &day, "-o", &folder.path("rows.parquet")]);
    assert_eq!(unclear.status, 2);
    assert!(unclear.stderr.contains("unknown suffix; use "), "{}", unclear.stderr);
    // No command left a temporary file.
    let names: Vec<_> = fs::read_dir(folder.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(names.iter().all(|name| !name.contains("partial")), "{names:?}");
}

#[test]
fn inspect_prints_and_filters() {
    let folder = Folder::new("inspect");
    let day = folder.day(10_000, 20);
    let all = nanotape(["inspect", &day, "--format", "json"]);
    assert_eq!((all.status, all.stderr.as_str()), (0, ""));
    let messages: Vec<serde_json::Value> =
        all.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(messages.len(), 10_000);
    assert_eq!(messages[0]["type"], "S");
    assert_eq!(messages[0]["event_code"], "O");
    let mut by_type = BTreeMap::new();
    for message in &messages {
        *by_type.entry(message["type"].as_str().unwrap().to_owned()).or_insert(0) += 1;
    }
    let some = nanotape(["inspect", &day, "--type", "A,U", "--format", "csv"]).stdout;
    assert_eq!(some.lines().count(), 1 + by_type["A"] + by_type["U"]);
    let limited = nanotape(["inspect", &day, "--type", "A", "--count", "3"]).stdout;
    assert_eq!(limited.lines().count(), 3);
    assert!(limited.lines().all(|line| line.contains(" A AddOrder stock_locate=")), "{limited}");

    let add = messages.iter().find(|message| message["type"] == "A").unwrap();
    let offset = add["offset"].to_string();
    let at_offset = nanotape(["inspect", &day, "--offset", &offset, "--format", "json"]).stdout;
    assert_eq!(serde_json::from_str::<serde_json::Value>(&at_offset).unwrap(), *add);

    let symbol = add["stock"].as_str().unwrap();
    let of_stock = nanotape(["inspect", &day, "--symbols", symbol, "--format", "json"]).stdout;
    let locate = &add["stock_locate"];
    let expected = messages.iter().filter(|message| message["stock_locate"] == *locate).count();
    assert_eq!(of_stock.lines().count(), expected);

    let window =
        nanotape(["inspect", &day, "--from", "10:00", "--until", "10:30", "--format", "json"]);
    for line in window.stdout.lines() {
        let message: serde_json::Value = serde_json::from_str(line).unwrap();
        let seconds = message["timestamp"].as_u64().unwrap() / 1_000_000_000;
        assert!((36_000..=37_800).contains(&seconds), "{line}");
    }
    assert!(!window.stdout.is_empty());
}

#[test]
fn book_depth_and_orders_agree_at_every_moment() {
    let folder = Folder::new("book");
    let day = folder.day(40_000, 5);
    let stats = nanotape(["stats", &day, "--format", "csv"]).stdout;
    let symbol = stats.lines().nth(2).unwrap().split(',').next().unwrap().to_owned();
    let depth =
        nanotape(["depth", &day, "--symbols", &symbol, "--levels", "5", "--format", "csv"]).stdout;
    let header = "message,ts_ns,ask_price_1,ask_size_1,bid_price_1,bid_size_1,ask_price_2,";
    assert!(depth.starts_with(header), "{:?}", depth.lines().next());
    let rows: Vec<Vec<&str>> = depth.lines().skip(1).map(|row| row.split(',').collect()).collect();
    for pick in [rows.len() / 5, rows.len() / 2, rows.len() * 4 / 5] {
        // The last row with this timestamp.
        let time = rows[pick][1];
        let row = rows.iter().rfind(|row| row[1] == time).unwrap();
        let nanos: u64 = time.parse().unwrap();
        let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        let at =
            format!("{:02}:{:02}:{:02}.{rest:09}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        let book =
            nanotape(["book", &day, "--symbols", &symbol, "--at", &at, "--levels", "5"]).stdout;
        let mut lines = book.lines();
        assert_eq!(lines.next(), Some("side,price,size,orders"));
        let mut expected = [Vec::new(), Vec::new()];
        for level in row[2..].chunks(4) {
            expected[0].push(format!("bid,{},{}", level[2], level[3]));
            expected[1].push(format!("ask,{},{}", level[0], level[1]));
        }
        let expected: Vec<_> =
            expected.concat().into_iter().filter(|l| !l.ends_with(",,")).collect();
        let got: Vec<_> = lines.map(|line| line.rsplit_once(',').unwrap().0.to_owned()).collect();
        assert_eq!(got, expected, "at {at}");

        // The orders of a level add up to the level.
        let orders = nanotape([
            "book",
            &day,
            "--symbols",
            &symbol,
            "--at",
            &at,
            "--levels",
            "5",
            "--orders",
        ])
        .stdout;
        let mut lines = orders.lines();
        assert_eq!(
            lines.next(),
            Some("side,price,order_reference_number,size,orders_ahead,shares_ahead")
        );
        let mut levels: Vec<(String, u64, u64)> = Vec::new();
        for line in lines {
            let fields: Vec<_> = line.split(',').collect();
            let (key, size) =
                (format!("{},{}", fields[0], fields[1]), fields[3].parse::<u64>().unwrap());
            if levels.last().is_none_or(|(last, _, _)| *last != key) {
                levels.push((key, 0, 0));
            }
            let level = levels.last_mut().unwrap();
            assert_eq!(fields[4..], [level.2.to_string(), level.1.to_string()], "{line}");
            level.1 += size;
            level.2 += 1;
        }
        let added: Vec<_> =
            levels.iter().map(|(key, size, n)| format!("{key},{size},{n}")).collect();
        assert_eq!(added, book.lines().skip(1).collect::<Vec<_>>(), "at {at}");
    }
}

#[test]
fn stats_add_up() {
    let folder = Folder::new("stats");
    let day = folder.day(50_000, 60);
    let ran = nanotape(["stats", &day, "--format", "json"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let rows: Vec<serde_json::Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 61);
    assert_eq!(rows[0]["messages"], 50_000);
    let inside = nanotape(["inside", &day]).stdout.lines().count() as u64 - 1;
    assert_eq!(rows[0]["inside_changes"], inside);
    for figure in ["inside_changes", "trades", "volume_shares", "locked_ns", "crossed_ns"] {
        let sum: i64 = rows[1..].iter().map(|row| row[figure].as_i64().unwrap()).sum();
        assert_eq!(rows[0][figure], sum, "{figure}");
    }
    // The volume rule, computed from the messages.
    let messages = nanotape(["inspect", &day, "--type", "E,C,P,Q,B", "--format", "json"]).stdout;
    let (mut volume, mut counted) = (0, BTreeMap::new());
    for line in messages.lines() {
        let message: serde_json::Value = serde_json::from_str(line).unwrap();
        let number = message["match_number"].as_u64().unwrap();
        let shares = ["executed_shares", "shares"].iter().find_map(|name| message[*name].as_i64());
        match message["type"].as_str().unwrap() {
            "B" => volume -= counted.remove(&number).unwrap_or(0),
            "C" if message["printable"] != "Y" => {}
            _ => {
                volume += shares.unwrap();
                counted.insert(number, shares.unwrap());
            }
        }
    }
    assert_eq!(rows[0]["volume_shares"], volume);
    let text = nanotape(["stats", &day, "--top", "3"]).stdout;
    assert!(text.starts_with("50000 messages, 60 stocks\n"), "{text}");
    assert!(text.contains("includes one clock stamp of"), "{text}");
}

#[test]
fn wrong_usage_and_missing_things_are_distinguished() {
    let folder = Folder::new("usage");
    let day = folder.day(1_000, 5);
    for (arguments, status, expected) in [
        (vec!["frobnicate"], 2, "unrecognized subcommand"),
        (vec!["inside"], 2, "<INPUT>"),
        (vec!["inside", "no/such/file"], 2, "cannot open no/such/file"),
        (vec!["inside", "."], 2, ".: no journal: the folder has no segments; give the folder that"),
        (vec!["book", &day], 2, "--symbols"),
        (
            vec!["book", &day, "--symbols", "A", "--at", "9am"],
            2,
            "expected a time of day from 00:00 to 24:00",
        ),
        (vec!["book", &day, "--symbols", "TOOLONGSYMBOL"], 2, "expected a symbol of 1 to 8"),
        (vec!["book", &day, "--symbols", "NOSUCH"], 1, "symbols not found: NOSUCH"),
        (vec!["depth", &day, "--symbols", "NOSUCH"], 1, "symbols not found: NOSUCH"),
        (
            vec!["book", &day, "--symbols", "NOSUCH", "--at", "02:00"],
            1,
            "symbols not found: NOSUCH up to the end of the span; later messages were not read",
        ),
        (vec!["inside", &day, "--until", "24:01"], 2, "a time of day from 00:00 to 24:00"),
        (vec!["inspect", &day, "--until", "25:00"], 2, "a time of day from 00:00 to 24:00"),
        (vec!["inspect", &day, "--offset", "1"], 2, "offset 1: no record starts there"),
        (vec!["inspect", &day, "--offset", "0", "--type", "A"], 2, "cannot be used with"),
        (vec!["inside", &day, "--force"], 2, "--force applies to -o FILE"),
        (vec!["inside", &day, "--every", "10ns"], 2, "expected at least 1us"),
        (vec!["inspect", &day, "--count", "5 M"], 2, "a number such as 5000000, 5_000_000 or 5M"),
        (vec!["depth", &day, "--symbols", "A", "--levels", "0"], 2, "0 is not in 1..=1000"),
        (vec!["inside", &day, "--format", "xml"], 2, "invalid value 'xml'"),
        (vec!["synth", "-o", "-", "--messages", "10"], 2, "10 messages are too few"),
        (vec!["synth", "-o", &day], 2, "use --force to overwrite"),
        (vec!["synth", "-o", "/dev/full"], 2, "cannot write /dev/full: No space left on device"),
        (vec!["inspect", &day, "-o", "/dev/full"], 2, "cannot write /dev/full: No space left"),
        (
            vec!["inspect", &day, "-o", "no/such/folder/a.txt"],
            2,
            "cannot write no/such/folder/a.txt",
        ),
    ] {
        let ran = nanotape(&arguments);
        assert_eq!(ran.status, status, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{arguments:?}: {}", ran.stderr);
    }
    let ran = nanotape(["inspect", &day, "--count", "1k", "--format", "csv"]);
    assert_eq!((ran.status, ran.stdout.lines().count()), (0, 1_001), "{}", ran.stderr);
    for command in ["demo", "synth", "inspect", "check", "inside", "book", "depth", "diff", "stats"]
    {
        let help = nanotape([command, "--help"]);
        assert_eq!(help.status, 0);
        assert!(help.stdout.contains("Examples:\n  nanotape"), "{command}");
    }
}

/// A type that no message has is reported, and not answered with nothing.
#[test]
fn a_selected_type_that_no_message_has_is_reported() {
    let folder = Folder::new("no-type");
    let day = folder.day(2_000, 5);
    let unknown = format!(
        "nanotape: {day}: no message of type Z, which ITCH 5.0 does not have: its types are S, R, H,"
    );
    for (options, status, expected) in [
        (&["--type", "Z"][..], 1, unknown.as_str()),
        (&["--type", "A,Z"], 1, &unknown),
        (&["--type", "B"], 0, "no message of type B in the selected time"),
        (&["--type", "D", "--until", "03:30"], 0, "no message of type D in the selected time"),
        (&["--type", "A", "--from", "23:00"], 0, "no message of type A in the selected time"),
        (&["--from", "23:00"], 0, "no message is selected by all options"),
        // These find messages, or stop before the end of the day.
        (&["--type", "A"], 0, ""),
        (&["--type", "A,Z", "--count", "1"], 0, ""),
    ] {
        let ran = nanotape([&["inspect", &day], options].concat());
        assert_eq!(ran.status, status, "{options:?}: {}", ran.stderr);
        let lines = usize::from(!expected.is_empty());
        assert_eq!(ran.stderr.lines().count(), lines, "{options:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{options:?}: {}", ran.stderr);
    }
}

/// The reader of the output ended: what the rest of the input names is unknown.
#[test]
fn a_closed_pipe_is_no_reason_to_miss_a_symbol() {
    let folder = Folder::new("closed-pipe");
    let day = folder.day(200_000, 2);
    let listed = nanotape(["inspect", &day, "--type", "R", "--format", "csv"]).stdout;
    let rows: Vec<Vec<&str>> = listed.lines().map(|row| row.split(',').collect()).collect();
    let column = |name: &str| rows[0].iter().position(|other| *other == name).unwrap();
    let (early, late) = (rows[1][column("symbol")], rows[2][column("symbol")]);
    let locate: u16 = rows[2][column("stock_locate")].parse().unwrap();
    // The only message about the second stock is the last one of the day.
    let bytes = std::fs::read(&day).unwrap();
    let (mut others, mut of_late) = (Vec::new(), Vec::new());
    for record in Records::new(&bytes, 0) {
        let is_late = record.bytes[1..3] == locate.to_be_bytes();
        let is_entry = is_late && record.bytes[0] == b'R';
        let target = if is_entry { &mut of_late } else { &mut others };
        if is_entry || !is_late {
            target.extend((record.bytes.len() as u16).to_be_bytes());
            target.extend_from_slice(record.bytes);
        }
    }
    let day = folder.write("moved.itch50", &[others, of_late].concat());
    let symbols = format!("{early},{late}");
    for command in ["inside", "depth", "trades"] {
        let options: &[&str] = if command == "trades" { &["--format", "json"] } else { &[] };
        let arguments = [&[command, &day, "--symbols", &symbols], options].concat();
        let whole = nanotape(&arguments);
        assert_eq!((whole.status, whole.stderr.as_str()), (0, ""), "{command}");
        let mut process = std::process::Command::new(env!("CARGO_BIN_EXE_nanotape"))
            .args(&arguments)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(process.stdout.take());
        let output = process.bounded_wait_with_output(&arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{command}");
    }
}

/// The text after the options is wrapped once, at the width of the terminal: a line ends only where
/// the next word has no room.
#[test]
fn help_is_wrapped_once() {
    const WIDTH: usize = 70;
    for command in [
        vec!["run"],
        vec!["tap"],
        vec!["inside"],
        vec!["trades"],
        vec!["convert"],
        vec!["journal", "record"],
    ] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_nanotape"))
            .args(&command)
            .arg("--help")
            .env("COLUMNS", WIDTH.to_string())
            .bounded_output()
            .unwrap();
        let help = String::from_utf8(output.stdout).unwrap();
        let (_, after) = help.split_once("\nExamples:\n").unwrap();
        let lines: Vec<&str> = after.lines().collect();
        let mut wrapped = 0;
        for pair in lines.windows(2) {
            let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
            assert!(pair[0].len() <= WIDTH, "{command:?}: {}", pair[0]);
            // A heading, or the rest of an example that was wrapped.
            let is_heading = pair[0].ends_with(':') || !pair[0].contains(' ');
            if !is_prose(pair[0]) || !is_prose(pair[1]) || is_heading {
                continue;
            }
            let word = pair[1].split(' ').next().unwrap();
            let is_example = word.starts_with("--") || word.starts_with('|');
            if !is_example {
                let has_room = pair[0].len() + 1 + word.len() <= WIDTH;
                assert!(!has_room, "{command:?}: {:?} and {:?}", pair[0], pair[1]);
                wrapped += 1;
            }
        }
        assert!(wrapped > 2, "{command:?}: {after}");
    }
}
