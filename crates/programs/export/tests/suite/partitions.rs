//! Datasets with a folder for each stock.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use nanotape_harness::Bounded as _;

use crate::{
    many_days::{days, export, results},
    read::Read,
    support::{Folder, Ran, nanotape, program},
};

const DATE: [&str; 2] = ["--date", "2019-12-30"];

/// The stocks of a day of 5, by their stock locates.
pub(crate) fn stocks(day: &str) -> Vec<String> {
    let bytes = fs::read(day).unwrap();
    let (mut rest, mut stocks) = (&bytes[..], Vec::new());
    while let [high, low, after @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        if after[0] == b'R' {
            stocks.push(String::from_utf8_lossy(&after[11..19]).trim_end().to_owned());
        }
        rest = &after[length..];
    }
    stocks
}

/// The same day, in which the second stock has the name of the first one, which is returned.
pub(crate) fn with_one_name(folder: &Folder, day: &str) -> (String, String) {
    let stocks = stocks(day);
    let padded = |place: usize| format!("{:8}", stocks[place]).into_bytes();
    let mut bytes = fs::read(day).unwrap();
    let (one, other) = (padded(0), padded(1));
    for at in 0..bytes.len() - 8 {
        if bytes[at..at + 8] == other[..] {
            bytes[at..at + 8].copy_from_slice(&one);
        }
    }
    (folder.write("12302019.NASDAQ_ITCH50", &bytes), stocks[0].clone())
}

/// Runs the program with a limit of open files.
fn limited(limit: &str, words: &[&str]) -> Output {
    let script = format!("ulimit {limit}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, program()]).args(words).bounded_output().unwrap()
}

#[test]
fn stocks_of_one_name_share_a_file() {
    let folder = Folder::new("export-one-name");
    let (day, name) = with_one_name(&folder, &folder.day(20_000, 5));
    let (whole, to) = (folder.path("bbo.parquet"), folder.path("dataset/"));
    let ran = nanotape(["export", &day, "-o", &whole]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let whole = Read::of(&whole);
    let symbol = whole.places(&["symbol"])[0];
    let mut expected: Vec<_> = whole.rows.into_iter().filter(|row| row[symbol] == name).collect();
    expected.iter_mut().for_each(|row| drop(row.remove(symbol)));
    for force in [&["--force"][..], &[]] {
        let words = ["export", &day, "--partition", "symbol", "-o", &to];
        let ran = nanotape(words.iter().chain(force));
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let part = format!("{to}bbo/date=2019-12-30/symbol={name}/12302019.parquet");
        assert_eq!(Read::of(&part).rows, expected);
        fs::remove_dir_all(&to).unwrap();
    }
}

#[test]
fn a_day_is_complete_with_the_stocks_that_have_no_rows() {
    let folder = Folder::new("export-no-rows");
    let (day, to) = (folder.day(20_000, 5), folder.path("dataset/"));
    let stock = &stocks(&day)[0];
    let words: [&str; 8] =
        ["export", &day, "--records", "bbo,trades", "--partition", "symbol", "-o", &to];
    let before_the_open: [&str; 4] = ["--symbols", stock, "--until", "04:01"];
    let run = || {
        let ran = nanotape(words.iter().chain(&DATE).chain(&before_the_open));
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        ran.stderr
    };
    let said = run();
    assert!(said.contains("trades: no rows"), "{said}");
    let completed = format!("{to}.complete/trades/date=2019-12-30/day");
    let text = fs::read_to_string(&completed).unwrap();
    assert!(text.starts_with(&format!("input {day}\nsha256 ")), "{text}");
    let end = format!("\noptions --prices fixed --until 04:01\nselected {stock}\n");
    assert!(text.ends_with(&end), "{text}");
    assert_eq!(run(), "nanotape: its files exist\n");
    fs::remove_file(&completed).unwrap();
    assert!(run().contains("trades: no rows"));
}

#[test]
fn each_stock_and_table_needs_an_open_file() {
    let folder = Folder::new("export-open-files");
    let (day, to) = (folder.day(40_000, 40), folder.path("dataset/"));
    let tables: [&str; 6] = ["--records", "bbo,mbo", "--partition", "symbol", "-o", &to];
    let words = [&["export", &day][..], &tables, &DATE].concat();
    let named = stocks(&day).join(",");
    let with_names = [&words[..], &["--symbols", &named]].concat();
    // 80 files and 32 others.
    for words in [&words, &with_names] {
        let output = limited("-n 80", words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("use ulimit -n ") && said.lines().count() == 1, "{said}");
        assert!(!Path::new(&to).join("bbo/date=2019-12-30/day").exists());
    }
    let said = String::from_utf8(limited("-n 80", &with_names).stderr).unwrap();
    assert!(said.contains("ulimit -n 112"), "{said}");
    // The soft limit alone is raised.
    let output = limited("-Sn 60", &words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
}

#[test]
fn partitions_by_symbol_have_the_rows_of_their_stocks() {
    let folder = Folder::new("export-partitions");
    let (days, to) = (days(&folder), folder.path("dataset"));
    fs::remove_file(format!("{days}/notes.txt")).unwrap();
    let ran = export(&days, &to, &["--partition", "symbol"]);
    assert_eq!(results(&ran, &days).len(), 3, "{}", ran.stderr);
    let alone = folder.path("alone/");
    let day = format!("{days}/12302019.NASDAQ_ITCH50");
    nanotape(["export", &day, "--records", "bbo,trades", "-o", &alone]);
    for table in ["bbo", "trades"] {
        let whole = Read::of(&format!("{alone}{table}.parquet"));
        let symbol = whole.places(&["symbol"])[0];
        let mut parts = 0;
        for stock in fs::read_dir(format!("{to}/{table}/date=2019-12-30")).unwrap() {
            let stock = stock.unwrap().path();
            let name =
                stock.file_name().unwrap().to_str().unwrap().strip_prefix("symbol=").unwrap();
            let part = Read::of(&format!("{}/12302019.parquet", stock.display()));
            assert!(!part.names.contains(&"symbol".to_owned()));
            let of_stock = whole.rows.iter().filter(|row| row[symbol] == name).cloned();
            let expected: Vec<_> = of_stock
                .map(|mut row| {
                    row.remove(symbol);
                    row
                })
                .collect();
            assert!(!expected.is_empty(), "{table} {name}");
            assert_eq!(part.rows, expected, "{table} {name}");
            parts += 1;
        }
        assert_eq!(parts, 5, "{table}");
    }
    // A complete day is left out, and one that was interrupted is written again.
    let states = |more: &[&str]| {
        let words = [&["--partition", "symbol"], more].concat();
        let found = results(&export(&days, &to, &words), &days);
        found.into_iter().map(|[_, state, _]| state).collect::<Vec<_>>()
    };
    assert_eq!(states(&[]), ["exists", "exists", "damaged before"]);
    assert_eq!(states(&["--symbols", "*"]), ["exists", "exists", "damaged before"]);
    fs::remove_file(format!("{to}/.complete/trades/date=2019-12-30/12302019")).unwrap();
    assert_eq!(states(&[]), ["exists", "written", "damaged before"]);
    assert_eq!(states(&[]), ["exists", "exists", "damaged before"]);
    // Stocks that are written are left out, and others are not.
    let stock = |number: usize| {
        let mut stocks = fs::read_dir(format!("{to}/bbo/date=2019-12-30")).unwrap();
        let name = stocks.nth(number).unwrap().unwrap().file_name().into_string().unwrap();
        name.strip_prefix("symbol=").unwrap().to_owned()
    };
    let (one, other) = (stock(0), stock(1));
    let both = format!("{one},{other}");
    let words = ["--partition", "symbol", "--symbols", &both];
    let state = |ran: &Ran| results(ran, &days)[1][1].clone();
    assert_eq!(state(&export(&days, &to, &words)), "exists");
    fs::remove_dir_all(format!("{to}/bbo/date=2019-12-30/symbol={one}")).unwrap();
    assert_eq!(state(&export(&days, &to, &words)), "written");
    assert_eq!(state(&export(&days, &to, &words)), "exists");
    for (more, expected) in
        [(["--format", "csv"], "is for Parquet"), (["-o", "x.parquet"], "needs a folder")]
    {
        let to = format!("{to}/");
        let output = if more[0] == "-o" { vec![] } else { vec!["-o", &to[..]] };
        let words = [&["export", &day, "--partition", "symbol"], &more[..], &output].concat();
        let ran = nanotape(words);
        assert_eq!(ran.status, 2);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
}

#[test]
fn a_damaged_part_of_the_selection_is_reported_when_it_exists() {
    let folder = Folder::new("export-damaged-part");
    let (days, to) = (days(&folder), folder.path("dataset/"));
    let day = format!("{days}/12312019.NASDAQ_ITCH50");
    let run = |symbols: &str, to: &str| {
        let words = ["export", &day, "--partition", "symbol", "--symbols", symbols, "-o", to];
        let ran = nanotape(words);
        assert_eq!(ran.status, 1, "{}", ran.stderr);
        ran.stderr.contains("its files exist")
    };
    let all = folder.path("all/");
    assert!(!run("*", &all));
    let of_day = fs::read_dir(format!("{all}bbo/date=2019-12-31")).unwrap();
    let names = of_day.map(|stock| stock.unwrap().file_name().into_string().unwrap());
    let names: Vec<_> = names.map(|name| name.replace("symbol=", "")).collect();
    assert!(!run(&names[0], &to) && !run(&names[1], &to));
    assert!(run(&names[0], &to) && run(&names[..2].join(","), &to));
    let marker = format!("{to}.complete/bbo/date=2019-12-31/12312019");
    assert!(fs::read_to_string(marker).unwrap().contains("\ndamaged\n"));
}

#[test]
fn a_day_that_is_written_again_keeps_no_part_without_rows() {
    let folder = Folder::new("export-stale-parts");
    let (day, to) = (folder.day(20_000, 5), folder.path("dataset/"));
    let stocks = stocks(&day);
    let run = |more: &[&str]| {
        let words = ["export", &day, "--records", "trades", "--partition", "symbol", "-o", &to];
        let ran = nanotape(words.iter().chain(&DATE).chain(more));
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        ran.stderr
    };
    run(&[]);
    let part = |stock: &str, name: &str| {
        format!("{to}trades/date=2019-12-30/symbol={stock}/{name}.parquet")
    };
    fs::copy(part(&stocks[0], "day"), part(&stocks[0], "other")).unwrap();
    run(&["--until", "04:01", "--force"]);
    assert!(!Path::new(&part(&stocks[0], "day")).exists());
    assert!(Path::new(&part(&stocks[0], "other")).exists());
    run(&["--force"]);
    assert!(Path::new(&part(&stocks[0], "day")).exists());
    // Unfinished files of a process that was killed do not stay among those of the dataset.
    let left = format!("{to}trades/date=2019-12-30/symbol={}/.day.parquet.00ff.partial", stocks[1]);
    let of_marker = format!("{to}.complete/trades/date=2019-12-30/.day.00ff.partial");
    let lefts = [left, of_marker];
    lefts.iter().for_each(|left| fs::write(left, "x").unwrap());
    let said = run(&[]);
    assert!(lefts.iter().all(|left| !Path::new(left).exists()), "{said}");
    assert!(said.contains("2 unfinished files"), "{said}");
    // Nor does the part of a stock in the folder of another one.
    let foreign = format!("{to}trades/date=2019-12-30/symbol=FOREIGN");
    fs::create_dir(&foreign).unwrap();
    fs::copy(part(&stocks[0], "day"), format!("{foreign}/day.parquet")).unwrap();
    run(&[]);
    assert!(!Path::new(&foreign).exists());
}

/// A dataset of a day with a file for each stock, and what a run into it says.
struct Dataset {
    _folder: Folder,
    day: String,
    to: String,
    stocks: Vec<String>,
}

impl Dataset {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        let (day, to) = (folder.day(20_000, 5), folder.path("dataset/"));
        let dataset = Self { stocks: stocks(&day), _folder: folder, day, to };
        dataset.run(0, &[]);
        dataset
    }

    fn run(&self, status: i32, more: &[&str]) -> String {
        let words = ["export", &self.day, "--partition", "symbol", "-o", &self.to];
        let ran = nanotape(words.iter().chain(&DATE).chain(more));
        assert_eq!(ran.status, status, "{more:?}: {}", ran.stderr);
        ran.stderr
    }

    fn part(&self, stock: usize) -> String {
        format!("{}bbo/date=2019-12-30/symbol={}/day.parquet", self.to, self.stocks[stock])
    }
}

#[test]
fn a_selection_does_not_mix_a_day_of_two_exports() {
    let dataset = Dataset::new("export-mixed-parts");
    let before = fs::read(dataset.part(1)).unwrap();
    let only = ["--symbols", &dataset.stocks[0], "--force"];
    let others: [&[&str]; 2] = [&["--prices", "float"], &["--from", "05:00"]];
    for more in others {
        let said = dataset.run(2, &[&only[..], more].concat());
        assert!(said.contains("leave out --symbols"), "{said}");
    }
    // Nor if nothing tells what is complete.
    fs::remove_file(format!("{}.complete/bbo/date=2019-12-30/day", dataset.to)).unwrap();
    dataset.run(2, &[&only[..], others[0]].concat());
    dataset.run(2, &[&only[..2], others[0]].concat());
    dataset.run(0, &only);
    assert_eq!(fs::read(dataset.part(1)).unwrap(), before);
    dataset.run(0, &["--prices", "float", "--force"]);
    assert_ne!(fs::read(dataset.part(1)).unwrap(), before);
}

#[test]
fn a_part_that_is_not_that_of_its_stock_is_written_again() {
    let dataset = Dataset::new("export-bad-parts");
    let good = fs::read(dataset.part(0)).unwrap();
    let bad = [good[..100].to_vec(), Vec::new(), fs::read(dataset.part(1)).unwrap()];
    assert!(dataset.run(0, &[]).contains("its files exist"));
    for bad in bad {
        fs::write(dataset.part(0), bad).unwrap();
        assert!(!dataset.run(0, &[]).contains("its files exist"));
        assert_eq!(fs::read(dataset.part(0)).unwrap(), good);
    }
}

#[test]
fn a_symbol_that_no_stock_has_is_no_day_that_exists() {
    let dataset = Dataset::new("export-unknown-symbol");
    for symbols in ["NOSUCH", "NOSUCH*", &format!("{},NOSUCH", dataset.stocks[0])] {
        let said = dataset.run(1, &["--symbols", symbols]);
        assert!(said.contains("NOSUCH"), "{said}");
    }
    assert!(dataset.run(0, &["--symbols", &dataset.stocks[0]]).contains("its files exist"));
}
