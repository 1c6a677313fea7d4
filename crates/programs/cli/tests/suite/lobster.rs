//! `depth --lobster`: the pair of files against books that another program published, and the rules
//! for single events. `scripts/day-proof/stages/naive_day.py` compares whole days.

use std::{collections::BTreeMap, fs};

use crate::support::{Folder, nanotape, real_data};

/// The lines of the message and of the orderbook file of one stock.
fn pair(folder: &str, name: &str, levels: u32) -> (Vec<String>, Vec<String>) {
    let read = |kind: &str| {
        let path = format!("{folder}/{name}_{kind}_{levels}.csv");
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    (read("message"), read("orderbook"))
}

/// Nanoseconds since midnight of a line of a message file.
fn nanos_of(line: &str) -> u64 {
    line.split(',').next().unwrap().replace('.', "").parse().unwrap()
}

/// At each of the publisher's times, the last line up to it has the published ten levels.
#[test]
fn the_orderbook_file_has_the_published_books() {
    let (Some(day), Some(expected)) = (
        real_data("aapl_20190130_open10k.itch50"),
        real_data("aapl_20190130_open10k.expect.csv.zst"),
    ) else {
        return;
    };
    let expected = zstd::decode_all(fs::File::open(expected).unwrap()).unwrap();
    let expected = String::from_utf8(expected).unwrap();
    let folder = Folder::new("lobster-published");
    let out = folder.path("files");
    let ran = nanotape(["depth", &day, "--symbols", "AAPL", "--levels", "10", "--lobster", &out]);
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    let (messages, books) = pair(&out, "AAPL_2019-01-30_0_86400000", 10);
    assert_eq!(messages.len(), books.len());
    let ours: BTreeMap<u64, &String> = messages.iter().map(|m| nanos_of(m)).zip(&books).collect();

    // Of several published books with the same time, the last one.
    let mut published = BTreeMap::new();
    for line in expected.lines() {
        let fields: Vec<_> = line.splitn(4, ',').collect();
        published.insert(fields[2].parse::<u64>().unwrap(), fields[3].to_owned());
    }
    assert!(published.len() > 4_000, "{} times", published.len());
    for (nanos, book) in &published {
        let (_, own) = ours.range(..=*nanos).next_back().unwrap();
        assert_eq!(*own, book, "at {nanos} ns");
    }
    println!("{} published books equal ours", published.len());
}

/// The rules that differ from a row of `nanotape depth`.
#[test]
fn a_replace_has_two_lines_and_an_event_beyond_the_levels_none() {
    let folder = Folder::new("lobster-rules");
    let day = folder.path("2019-12-30.itch50");
    let made = nanotape(["synth", "-o", &day, "--messages", "10k", "--stocks", "5"]);
    assert_eq!(made.status, 0, "{}", made.stderr);
    let stats = nanotape(["stats", &day, "--top", "1", "--format", "csv"]).stdout;
    let symbol = stats.lines().nth(2).unwrap().split(',').next().unwrap().to_owned();
    let inspected = |types: &str| {
        let inspect = ["inspect", &day, "--symbols", &symbol, "--type", types, "--format", "json"];
        let lines = nanotape(inspect).stdout;
        lines.lines().map(|l| serde_json::from_str(l).unwrap()).collect::<Vec<serde_json::Value>>()
    };
    let out = folder.path("deep");
    let depth = |levels: &str, out: &str, more: &[&str]| {
        let base = ["depth", &day, "--symbols", &symbol, "--levels", levels, "--lobster", out];
        nanotape([&base[..], more].concat())
    };
    assert_eq!(depth("200", &out, &[]).status, 0);
    let name = format!("{symbol}_2019-12-30_0_86400000");
    let (messages, books) = pair(&out, &name, 200);
    // With all levels, each message of the book has its lines.
    let replaces = inspected("U");
    let of_book = inspected("A,F,E,C,X,D").len() + 2 * replaces.len();
    let is_of_book = |line: &&String| "1234".contains(line.split(',').nth(1).unwrap());
    assert_eq!(messages.iter().filter(is_of_book).count(), of_book);
    for replace in &replaces {
        let nanos = replace["timestamp"].as_u64().unwrap();
        let time = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
        let (original, new) =
            (&replace["original_order_reference_number"], &replace["new_order_reference_number"]);
        let at = messages.iter().position(|m| m.starts_with(&format!("{time},3,{original},")));
        let at = at.unwrap_or_else(|| panic!("no deletion of {replace}"));
        assert!(messages[at + 1].starts_with(&format!("{time},1,{new},")), "{replace}");
        assert_ne!(books[at], books[at + 1], "the book between them lacks the new order");
    }
    // With one level, each line of the book differs from the line before it.
    let shallow = folder.path("shallow");
    assert_eq!(depth("1", &shallow, &[]).status, 0);
    let (messages, books) = pair(&shallow, &name, 1);
    assert!(messages.len() < of_book);
    for (message, book) in messages[1..].iter().zip(books.windows(2)) {
        let is_of_book = is_of_book(&message);
        assert!(!is_of_book || book[0] != book[1], "{message}: {book:?}");
    }
    // Files are not overwritten, and none is left by a command that fails.
    let ran = depth("1", &shallow, &[]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("use --force to overwrite"), "{}", ran.stderr);
    assert_eq!(depth("1", &shallow, &["--force"]).status, 0);
    assert_eq!(fs::read_dir(&shallow).unwrap().count(), 2);
    for refused in [&["--time", "utc"][..], &["--every", "1s"], &["--format", "csv"]] {
        assert_eq!(depth("1", &shallow, refused).status, 2, "{refused:?}");
    }
}
