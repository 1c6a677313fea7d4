//! Values as typed, and names of columns and options: durations, moments and selections of stocks
//! have the same forms in every command.

use std::{collections::BTreeSet, fs};

use crate::support::{Folder, nanotape};
use nanotape_answers::{Table, TableOptions};

/// The names that the value of an option has in the help if it is a duration.
const DURATIONS: [&str; 7] =
    ["TIME", "DURATION", "PERIOD", "AGE", "SECONDS", "MILLISECONDS", "MICROSECONDS"];

/// Options whose value has such a name and is no duration.
const OTHERS: [&str; 2] = ["--ts-recv", "--by"];

/// Visits each command: its words, and its help.
fn visit(command: &[String], seen: &mut BTreeSet<(Vec<String>, String)>) {
    let help = nanotape(command.iter().map(String::as_str).chain(["--help"])).stdout;
    let (_, commands) = help.split_once("\nCommands:\n").unwrap_or_default();
    for line in commands.lines().take_while(|line| !line.is_empty()) {
        let name = line.split_whitespace().next().unwrap_or_default();
        let is_name = line.starts_with("  ") && !line.starts_with("   ") && name != "help";
        if is_name {
            visit(&[command, &[name.to_owned()]].concat(), seen);
        }
    }
    for line in help.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let option = words.iter().find(|word| word.starts_with("--"));
        let value = words.iter().find_map(|word| word.strip_prefix('<')?.strip_suffix('>'));
        if let (true, Some(option), Some(value)) =
            (line.trim_start().starts_with('-'), option, value)
            && DURATIONS.contains(&value)
            && !OTHERS.contains(option)
        {
            seen.insert((command.to_vec(), (*option).to_owned()));
        }
    }
}

/// The value is parsed when the next option begins, before the unknown one.
fn said(command: &[String], option: &str, value: &str) -> String {
    let words = command.iter().map(String::as_str);
    let ran = nanotape(words.chain([option, value, "--quiet", "--no-such-option"]));
    assert_eq!(ran.status, 2, "{command:?} {option} {value}: {}", ran.stderr);
    ran.stderr
}

#[test]
fn every_option_that_takes_a_duration_takes_the_same_forms() {
    let mut options = BTreeSet::new();
    visit(&[], &mut options);
    assert!(options.len() > 40, "{options:?}");
    for (command, option) in &options {
        // An option with limits says them; none may refuse the form.
        for value in ["500ms", "1h", "1.5m", "30ns"] {
            let said = said(command, option, value);
            let is_form = !said.contains("invalid value")
                || said.contains(" from ")
                || said.contains("at least")
                || said.contains("is not in ")
                || said.contains("not a multiple");
            assert!(is_form, "{command:?} {option} {value}: {said}");
            let is_known = !said.contains(" such as ") || !said.contains(&format!("not {value:?}"));
            assert!(is_known, "{command:?} {option} {value}: {said}");
        }
        for value in ["five", "1w"] {
            let said = said(command, option, value);
            assert!(said.contains("invalid value"), "{command:?} {option} {value}: {said}");
        }
    }
}

#[test]
fn stocks_are_selected_by_name_pattern_and_file() {
    let folder = Folder::new("values-symbols");
    let day = folder.day(20_000, 40);
    let all = nanotape(["stats", &day, "--format", "csv"]).stdout;
    let symbols: Vec<&str> =
        all.lines().skip(2).map(|row| row.split(',').next().unwrap()).collect();
    let first = &symbols[0][..1];
    let mut expected: Vec<_> =
        symbols.iter().filter(|symbol| symbol.starts_with(first)).copied().collect();
    expected.sort_unstable();
    let pattern = format!("{first}*");
    let list = folder.write("list", expected.join("\n").as_bytes());
    let of = |command: &[&str], selected: &str| {
        let ran = nanotape([command, &["--symbols", selected, "--format", "csv"]].concat());
        assert_eq!(ran.status, 0, "{command:?} {selected}: {}", ran.stderr);
        // The start and the stop of a tap's plant have their own times.
        let rows = ran.stdout.lines().filter(|row| command[0] != "tap" || row.contains(",mbo,"));
        rows.map(|row| format!("{row}\n")).collect::<String>()
    };
    let named = expected.join(",");
    for command in [
        &["inside", &day][..],
        &["depth", &day, "--levels", "1"],
        &["trades", &day],
        &["book", &day, "--at", "11:00"],
        &["inspect", &day],
        &["tap", &day, "--date", "2019-12-30", "--ts-recv", "event"],
    ] {
        // A pattern that selects one stock has its symbol in rows, too.
        let both = format!("{named},{}", expected[0]);
        let rows = of(command, if command[0] == "book" { &named } else { &both });
        assert_eq!(of(command, &format!("@{list}")).lines().count(), rows.lines().count());
        if command[0] != "book" || expected.len() > 1 {
            assert_eq!(of(command, &pattern), rows, "{command:?}");
        }
    }
    let ring = folder.path("ring");
    let run = ["run", "--input", &day, "--date", "2019-12-30", "--ring", &ring];
    assert_eq!(nanotape([&run[..], &["--symbols", &pattern]].concat()).status, 0);
    let rows = of(&["tap", &ring, "--from", "oldest", "--records", "mbo"], &pattern);
    assert!(rows.lines().count() > 10);
    for (arguments, status, expected) in [
        (vec!["inside", &day, "--symbols", "@no/such"], 2, "cannot read no/such".to_owned()),
        (vec!["inside", &day, "--symbols", "A,,B"], 2, "expected a symbol of 1 to 8".to_owned()),
        (vec!["inside", &day, "--symbols", "0*"], 1, "symbols not found: 0*\n".to_owned()),
        (
            vec!["diff", &day, "10:00", "11:00", "--symbols", "A*"],
            2,
            "--symbols A*: diff needs each symbol, and takes no pattern".to_owned(),
        ),
    ] {
        let ran = nanotape(&arguments);
        assert!(ran.status == status && ran.stderr.contains(&expected), "{}", ran.stderr);
    }
    let empty = folder.write("empty", b"\n");
    let ran = nanotape(["inside", &day, "--symbols", &format!("@{empty}")]);
    assert!(ran.status == 2 && ran.stderr.contains(": has no symbol"), "{}", ran.stderr);
}

#[test]
fn a_misspelt_symbol_is_answered_with_the_nearest_one() {
    let folder = Folder::new("values-nearest");
    let day = folder.day(5_000, 3);
    let all = nanotape(["stats", &day, "--format", "csv"]).stdout;
    let symbol = all.lines().nth(2).and_then(|row| row.split(',').next()).unwrap();
    let wrong = symbol.to_lowercase();
    let expected = format!("symbols not found: {wrong} (did you mean {symbol}?)");
    for command in [
        &["book", &day][..],
        &["inside", &day],
        &["stats", &day],
        &["tap", &day, "--date", "2019-12-30"],
        &["run", "--input", &day, "--date", "2019-12-30", "--ring", &folder.path("ring")],
    ] {
        let ran = nanotape([command, &["--symbols", &wrong]].concat());
        assert_eq!(ran.status, 1, "{command:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(&expected), "{command:?}: {}", ran.stderr);
    }
    // `--symbol` is in the help, too.
    assert!(nanotape(["inside", "--help"]).stdout.contains("[alias: --symbol]"));
}

/// Rows of the three tables about one message are joined by its number.
#[test]
fn inside_depth_and_trades_join_by_the_number_of_the_message() {
    let folder = Folder::new("values-join");
    let day = folder.day(20_000, 1);
    let all = nanotape(["stats", &day, "--format", "csv"]).stdout;
    let symbol = all.lines().nth(2).and_then(|row| row.split(',').next()).unwrap();
    let rows = |arguments: &[&str]| -> Vec<Vec<String>> {
        let ran = nanotape([arguments, &["--symbols", symbol, "--format", "csv"]].concat());
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{arguments:?}");
        ran.stdout.lines().map(|row| row.split(',').map(str::to_owned).collect()).collect()
    };
    let inside = rows(&["inside", &day, "--with", "message,orders"]);
    let names = "message,ts_ns,symbol,bid_price,bid_size,bid_orders,ask_price,ask_size,ask_orders";
    assert_eq!(inside[0].join(","), names);
    assert_eq!(rows(&["inside", &day, "--with", "sequence,orders"]), inside);
    let depth = rows(&["depth", &day, "--levels", "1", "--with", "orders"]);
    let names =
        "message,ts_ns,ask_price_1,ask_size_1,ask_orders_1,bid_price_1,bid_size_1,bid_orders_1";
    assert_eq!(depth[0].join(","), names);
    // Each row of the inside is that of the book after the same message.
    let books: std::collections::BTreeMap<&str, &[String]> =
        depth[1..].iter().map(|row| (row[0].as_str(), &row[2..])).collect();
    for row in &inside[1..] {
        let [offers, bids] = [&books[row[0].as_str()][..3], &books[row[0].as_str()][3..]];
        assert_eq!((&row[3..6], &row[6..9]), (bids, offers), "{row:?}");
    }
    let orders: u64 =
        inside[1..].iter().filter_map(|row| row[5].parse::<u64>().ok()).max().unwrap();
    assert!(orders > 1, "some level has several orders");
    // An execution is a message of the book.
    let trades = rows(&["trades", &day]);
    let executions = trades.iter().filter(|row| row[3] == "execution");
    assert!(executions.clone().count() > 10);
    for row in executions {
        assert!(books.contains_key(row[0].as_str()), "{row:?}");
    }
    // Without --with the columns are the usual ones.
    let usual = rows(&["inside", &day]);
    let without = |row: &Vec<String>| {
        let columns = [1, 2, 3, 4, 6, 7];
        columns.iter().map(|&column| row[column].clone()).collect::<Vec<_>>()
    };
    assert_eq!(usual, inside.iter().map(without).collect::<Vec<_>>());
    let grid = rows(&["inside", &day, "--with", "message", "--every", "1h", "--from", "9:30"]);
    assert!((6..20).contains(&grid.len()), "{grid:?}");
    assert_eq!(
        grid,
        rows(&["inside", &day, "--with", "message", "--every", "60m", "--from", "09:30"])
    );
    let _ = fs::remove_file(folder.path("ring"));
}

/// Names in the first columns of the tables of a page, with `N` for any level.
fn documented(page: &str) -> BTreeSet<String> {
    let path = format!("{}/../../../docs/formats/{page}", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(path).unwrap();
    let cells = text.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    cells.flat_map(|cell| cell.split(", ").map(|name| name.trim_matches('`').to_owned())).collect()
}

/// `docs/formats/rows.md` is the rule, and a name outside it is an error.
#[test]
fn every_column_has_the_name_that_the_rule_gives() {
    let folder = Folder::new("values-names");
    let day = folder.day(5_000, 2);
    let all = nanotape(["stats", &day, "--format", "csv"]).stdout;
    let symbol = all.lines().nth(2).and_then(|row| row.split(',').next()).unwrap();
    let (names, mut seen) = (documented("rows.md"), BTreeSet::new());
    assert!(names.len() > 40, "{names:?}");
    let one = ["--symbols", symbol];
    for (command, options) in [
        ("inside", &["--with", "message,orders"][..]),
        ("inside", &["--time", "utc", "--date", "2019-12-30"]),
        ("inside", &["--time", "exchange"]),
        ("depth", &["--levels", "12", "--with", "orders"]),
        ("trades", &[]),
        ("book", &[]),
        ("book", &["--orders"]),
        ("diff", &["10:00", "11:00"]),
        ("diff", &["10:00", "11:00", "--orders"]),
        ("tap", &["--date", "2019-12-30"]),
        ("stats", &[]),
    ] {
        let ran = nanotape([&[command, &day], options, &one, &["--format", "csv"]].concat());
        assert_eq!(ran.status, 0, "{command} {options:?}: {}", ran.stderr);
        for name in ran.stdout.lines().next().unwrap().split(',') {
            let level = name.rsplit_once('_').filter(|(_, level)| level.parse::<u8>().is_ok());
            let name = level.map_or(name.to_owned(), |(name, _)| format!("{name}_N"));
            assert!(names.contains(&name), "{command} {options:?}: {name} is not in rows.md");
            seen.insert(name);
        }
    }
    // Of several inputs.
    let other = folder.capture("iex-deep", 5_000, 2);
    for arguments in [["inside", "--consolidated"], ["tap", "--date=2019-12-30"]] {
        let ran = nanotape(arguments.into_iter().chain([day.as_str(), &other, "--format", "csv"]));
        assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
        seen.extend(ran.stdout.lines().next().unwrap().split(',').map(str::to_owned));
    }
    // The columns before the fields of the exchange.
    let inspect = nanotape(["inspect", &day, "--count", "1", "--format", "csv"]).stdout;
    let check = nanotape(["check", &day, "--format", "csv"]).stdout;
    for (table, columns) in [(inspect, 5), (check, usize::MAX)] {
        let names = table.lines().next().unwrap().split(',').take(columns);
        seen.extend(names.map(str::to_owned));
    }
    // Those of tables, which another program writes.
    let options = TableOptions { levels: 1, has_receipt: true, ..TableOptions::default() };
    let columns = Table::ALL.iter().flat_map(|table| table.columns(&options));
    seen.extend(columns.map(|column| column.name.replace("_1", "_N")));
    assert_eq!(seen, names, "rows.md has names that no command writes");
}

/// One name for one thing; a name of an earlier version works, and is not in the help.
#[test]
fn an_earlier_name_of_an_option_works_and_is_not_in_the_help() {
    for (command, name, earlier, value) in [
        (&["run", "--live"][..], "--rerequest", "--request-server", "10.0.0.9:17777"),
        (&["run", "--live"], "--glimpse", "--snapshot-server", "10.0.0.9:17778"),
        (&["lab", "bench", "journal"], "--segment", "--segment-bytes", "1MiB"),
        (&["lab", "bench", "journal"], "--ahead", "--ahead-bytes", "1MiB"),
        (&["lab", "bench", "replay"], "--segment", "--segment-bytes", "1MiB"),
    ] {
        let words: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        for option in [name, earlier] {
            let said = said(&words, option, value);
            assert!(said.contains("'--no-such-option'"), "{command:?} {option}: {said}");
        }
        let help = nanotape([command, &["--help"]].concat()).stdout;
        assert!(help.contains(&format!("{name} <")) && !help.contains(earlier), "{command:?}");
    }
    // The exchange has the same names for the other ends.
    let help = nanotape(["exchange", "--help"]).stdout;
    assert!(help.contains("--rerequest <IP:PORT>") && help.contains("--glimpse <IP:PORT>"));
}

/// The help of a command that is used each day begins with what is used each day.
#[test]
fn help_lists_daily_options_first() {
    for (command, daily, rare) in [
        ("inside", &["--symbols", "--from", "--every", "--output"][..], &["--run", "--strict"][..]),
        ("depth", &["--symbols", "--levels", "--from", "--output"], &["--group", "--strict"]),
        ("trades", &["--symbols", "--from", "--output"], &["--run", "--strict"]),
        ("stats", &["--symbols", "--from", "--top", "--output"], &["--date", "--strict"]),
        ("tap", &["--symbols", "--records", "--from", "--output"], &["--rejoin", "--ts-recv"]),
        ("convert", &["--symbols", "--records", "--output"], &["--run", "--group", "--strict"]),
        (
            "run",
            &["--input", "--ring", "--pace", "--symbols", "--journal", "--output"],
            &["--line-a", "--capacity", "--lock", "--cpu", "--trace-spans", "--group"],
        ),
    ] {
        let help = nanotape([command, "-h"]).stdout;
        let (_, options) = help.split_once("\nOptions:\n").unwrap();
        let (usual, others) = options.split_once("\n\n").unwrap();
        let place = |text: &str, option: &str| {
            text.lines().position(|line| {
                line.split_whitespace().take(3).any(|word| word.trim_end_matches(',') == option)
            })
        };
        let places: Vec<_> = daily.iter().map(|option| place(usual, option)).collect();
        assert!(places.iter().all(Option::is_some), "{command}: {daily:?} {places:?}\n{usual}");
        assert!(places.is_sorted(), "{command}: {daily:?} {places:?}");
        for option in rare {
            assert!(place(usual, option).is_none(), "{command}: {option} is not used each day");
            assert!(place(others, option).is_some(), "{command}: {option}");
        }
    }
}

/// A moment has the same forms in every command.
#[test]
fn a_moment_has_the_same_forms_everywhere() {
    let folder = Folder::new("values-moments");
    let day = folder.day(20_000, 5);
    let day = {
        let named = folder.path("20191230.itch50");
        fs::rename(&day, &named).unwrap();
        named
    };
    let forms = ["10:00", "10:00:00.0", "2019-12-30T15:00:00Z", "@1577718000000000000"];
    let mut outputs: BTreeSet<(String, String, Vec<u8>)> = BTreeSet::new();
    for (number, moment) in forms.iter().enumerate() {
        let (ring, capture) = (folder.path(&format!("ring{number}")), folder.path("day.pcap"));
        let ran = nanotape([
            "run",
            "--input",
            &day,
            "--ring",
            &ring,
            "--until",
            moment,
            "--pace",
            "10000x",
            "--pace-from",
            moment,
            "--format",
            "json",
        ]);
        assert_eq!(ran.status, 0, "{moment}: {}", ran.stderr);
        let stop: serde_json::Value =
            serde_json::from_str(ran.stdout.lines().last().unwrap()).unwrap();
        let rows = nanotape(["inside", &day, "--from", moment, "--format", "csv"]).stdout;
        let span = ["--from", moment, "--until", "11:00", "--force", "-o", &capture];
        let ran = nanotape([&["replay", &day], &span[..]].concat());
        assert_eq!(ran.status, 0, "{moment}: {}", ran.stderr);
        let ran = nanotape([
            "exchange",
            &day,
            "--line-a",
            "127.0.0.1:9",
            "--pace",
            "10000x",
            "--pace-from",
            moment,
            "--until",
            moment,
            "--linger",
            "0s",
        ]);
        assert_eq!(ran.status, 0, "{moment}: {}", ran.stderr);
        outputs.insert((stop["messages"].to_string(), rows, fs::read(&capture).unwrap()));
    }
    assert_eq!(outputs.len(), 1, "one answer for all forms");
}
