//! Many days as one dataset.

use std::{fs, path::Path};

use crate::{
    read::Read,
    support::{Folder, Ran, nanotape},
};

/// A folder with three days, of which the second is damaged, and a file that is no day.
fn days(folder: &Folder) -> String {
    let days = folder.path("days");
    fs::create_dir(&days).unwrap();
    for (name, seed) in [("12302019", "1"), ("12312019", "2"), ("01022020", "3")] {
        let path = format!("{days}/{name}.NASDAQ_ITCH50");
        let market = ["--messages", "20000", "--symbols", "5", "--seed", seed];
        let ran = nanotape(["synth", "-o", &path].iter().chain(&market));
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    }
    let second = format!("{days}/12312019.NASDAQ_ITCH50");
    let mut bytes = fs::read(&second).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 5_000].fill(0x5a);
    fs::write(&second, bytes).unwrap();
    fs::write(format!("{days}/notes.txt"), "no day").unwrap();
    fs::write(format!("{days}/.hidden"), "").unwrap();
    days
}

/// Name, result and detail of each day.
fn results(ran: &Ran, days: &str) -> Vec<[String; 3]> {
    let mut lines = ran.stdout.lines();
    assert_eq!(lines.next(), Some("input,result,seconds,detail"));
    let of_line = |line: &str| {
        let line = line.replace("\"damaged, written\"", "damaged");
        let line = line.replace("\"damaged, exists\"", "damaged before");
        let line = line.replace(&format!("{days}/"), "");
        let cells: Vec<&str> = line.splitn(4, ',').collect();
        [cells[0], cells[1], cells[3]].map(str::to_owned)
    };
    lines.map(of_line).collect()
}

fn export(days: &str, to: &str, more: &[&str]) -> Ran {
    let words = ["export", days, "--records", "bbo,trades", "-o", to, "--jobs", "2"];
    nanotape(words.iter().chain(more))
}

#[test]
fn a_folder_of_days_becomes_a_dataset_and_a_bad_day_ends_no_other() {
    let folder = Folder::new("export-many");
    let (days, to) = (days(&folder), folder.path("dataset"));
    let ran = export(&days, &to, &[]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let found = results(&ran, &days);
    let names: Vec<_> = found.iter().map(|[name, result, _]| (&**name, &**result)).collect();
    assert_eq!(
        names,
        [
            ("01022020.NASDAQ_ITCH50", "written"),
            ("12302019.NASDAQ_ITCH50", "written"),
            ("12312019.NASDAQ_ITCH50", "damaged"),
            ("notes.txt", "failed"),
        ]
    );
    assert!(found[2][2].contains("unreadable bytes"), "{found:?}");
    assert!(found[3][2].contains("notes.txt"), "{found:?}");
    for (date, name) in
        [("2019-12-30", "12302019"), ("2019-12-31", "12312019"), ("2020-01-02", "01022020")]
    {
        let alone = folder.path("alone.parquet");
        let day = format!("{days}/{name}.NASDAQ_ITCH50");
        nanotape(["export", &day, "-o", &alone, "--force"]);
        let part = format!("{to}/bbo/date={date}/{name}.parquet");
        assert_eq!(Read::of(&part).rows, Read::of(&alone).rows, "{date}");
        assert!(Path::new(&format!("{to}/trades/date={date}/{name}.parquet")).exists());
    }

    // It goes on with what is missing.
    let missing = format!("{to}/trades/date=2019-12-30/12302019.parquet");
    fs::remove_file(&missing).unwrap();
    let ran = export(&days, &to, &[]);
    let found = results(&ran, &days);
    let states: Vec<_> = found.iter().map(|[_, result, _]| &**result).collect();
    assert_eq!(states, ["exists", "written", "damaged before", "failed"]);
    assert!(Path::new(&missing).exists());
    let ran = export(&days, &to, &["--force"]);
    assert_eq!(results(&ran, &days)[0][1], "written");
}

#[test]
fn several_inputs_are_days_too_and_strict_leaves_a_damaged_one_out() {
    let folder = Folder::new("export-several");
    let (days, to) = (days(&folder), folder.path("dataset/"));
    let names = ["12302019", "12312019"].map(|name| format!("{days}/{name}.NASDAQ_ITCH50"));
    let ran = nanotape(["export", "-o", &to, "--strict", "--", &names[0], &names[1]]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let found = results(&ran, &days);
    assert_eq!([&*found[0][1], &*found[1][1]], ["written", "failed"]);
    assert!(found[1][2].contains("refused by --strict"), "{found:?}");
    assert!(!Path::new(&format!("{to}bbo/date=2019-12-31/12312019.parquet")).exists());
}

#[test]
fn partitions_by_symbol_have_the_rows_of_their_stocks() {
    let folder = Folder::new("export-partitions");
    let (days, to) = (days(&folder), folder.path("dataset"));
    fs::remove_file(format!("{days}/notes.txt")).unwrap();
    let ran = export(&days, &to, &["--partition", "symbol", "--force"]);
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
