//! Many days as one dataset.

use std::{
    fs::{self, OpenOptions},
    io::{ErrorKind, Write as _},
    path::Path,
    process::Command,
};

use nanotape_harness::{Bounded as _, eventually};
use rustix::process::Signal;

use crate::{
    read::Read,
    support::{Folder, Ran, nanotape, running::Running},
};

/// A folder with three days, of which the second is damaged, and a file that is no day.
pub(crate) fn days(folder: &Folder) -> String {
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
pub(crate) fn results(ran: &Ran, days: &str) -> Vec<[String; 3]> {
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

pub(crate) fn export(days: &str, to: &str, more: &[&str]) -> Ran {
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

/// A day file of this name with its own rows.
pub(crate) fn day_of(folder: &Folder, name: &str, seed: &str) -> String {
    let path = folder.path(name);
    fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
    let market = ["--messages", "3000", "--symbols", "3", "--seed", seed];
    let ran = nanotape(["synth", "-o", &path].iter().chain(&market));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    path
}

#[test]
fn two_inputs_of_one_name_and_date_are_refused_before_the_work() {
    let folder = Folder::new("export-one-name-and-date");
    let to = folder.path("dataset/");
    let one = day_of(&folder, "a/feed.a.itch", "1");
    let other = day_of(&folder, "b/feed.b.itch", "2");
    let dated = ["20191230", "20191231"].map(|date| folder.path(&format!("feed.{date}.itch")));
    for path in &dated {
        fs::copy(&one, path).unwrap();
    }
    let date = ["--date", "2019-12-30"];
    let pairs: [(&str, &str, &[&str]); 4] = [
        (&one, &other, &date),
        (&one, &other, &[]),
        (&one, &one, &date),
        (&dated[0], &dated[1], &date),
    ];
    for (one, other, more) in pairs {
        let ran = nanotape(["export", one, other, "-o", &to].iter().chain(more));
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        let said = [one, other, "feed.parquet", "rename one", "another folder"];
        assert!(said.iter().all(|word| ran.stderr.contains(word)), "{}", ran.stderr);
        assert!(!Path::new(&to).exists());
    }
    let ran = nanotape(["export", &dated[0], &dated[1], "-o", &to]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
}

#[test]
fn a_day_that_exists_is_left_out_only_with_the_same_input_and_options() {
    let folder = Folder::new("export-other-options");
    let (a, b) = (folder.path("a"), folder.path("b"));
    let one = day_of(&folder, "a/12302019.a.itch", "1");
    let content = fs::read(&one).unwrap();
    let copy = folder.path("b/12302019.a.itch");
    fs::create_dir(&b).unwrap();
    fs::copy(&one, &copy).unwrap();
    day_of(&folder, "c/12302019.b.itch", "2");
    day_of(&folder, "d/12302019.a.itch", "2");
    for (number, partition) in [&[][..], &["--partition", "symbol"]].iter().enumerate() {
        let to = folder.path(&format!("dataset{number}"));
        let result = |days: &str, more: &[&str]| {
            let words = ["export", days, "--records", "bbo,depth", "-o", &to];
            let ran = nanotape(words.iter().chain(*partition).chain(more));
            results(&ran, days).remove(0)
        };
        assert_eq!(result(&a, &["-q"])[1], "written");
        assert_eq!(result(&a, &["-q"])[1], "exists");
        assert_eq!(result(&b, &[])[1], "exists");
        let others: [&[&str]; 4] =
            [&["--from", "09:30"], &["--every", "1s"], &["--levels", "3"], &["--prices", "float"]];
        for more in others {
            let [_, state, detail] = result(&a, more);
            assert_eq!(state, "failed", "{more:?}");
            let said = ["exists with other options", more[0], "--force", "another folder"];
            assert!(said.iter().all(|word| detail.contains(word)), "{detail}");
        }
        assert_eq!(result(&a, &["--levels", "3", "--force"])[1], "written");
        assert_eq!(result(&a, &["--levels", "3"])[1], "exists");
        assert_eq!(result(&a, &[])[1], "failed");
        assert_eq!(result(&a, &["--force"])[1], "written");
        // Another day of the same name and date.
        let [_, state, detail] = result(&folder.path("c"), &[]);
        assert_eq!(state, "failed");
        assert!(detail.contains("12302019.a.itch"), "{detail}");
        assert_eq!(result(&folder.path("d"), &[])[1], "failed");
        // The same bytes at another time are the same input; other bytes of that length are none.
        fs::write(&one, &content).unwrap();
        assert_eq!(result(&a, &[])[1], "exists");
        fs::copy(folder.path("d/12302019.a.itch"), &one).unwrap();
        let [_, state, detail] = result(&a, &[]);
        assert_eq!(state, "failed");
        assert!(detail.contains("which changed since"), "{detail}");
        // Also if the dataset is younger, as a copy of it can be.
        for entry in
            ["bbo", "depth", ".complete"].iter().filter(|entry| Path::new(&to).join(entry).exists())
        {
            let mut find = Command::new("find");
            find.arg(format!("{to}/{entry}")).args(["-exec", "touch", "{}", "+"]);
            let _ = find.bounded_status().unwrap();
        }
        assert_eq!(result(&a, &[])[1], "failed");
        fs::write(&one, &content).unwrap();
        assert_eq!(result(&a, &[])[1], "exists");
    }
    let to = folder.path("dataset0");
    let ran = nanotape(["export", &a, "--records", "bbo", "--symbols", "A*", "-o", &to]);
    let [_, state, detail] = results(&ran, &a).remove(0);
    assert_eq!(state, "failed");
    assert!(detail.contains("--symbols A*"), "{detail}");
}

#[test]
fn a_day_has_one_layout_in_a_dataset() {
    let folder = Folder::new("export-layouts");
    let days = folder.path("days");
    day_of(&folder, "days/12302019.itch", "1");
    let partition = ["--partition", "symbol"];
    for (number, (first, second)) in
        [(&[][..], &partition[..]), (&partition, &[])].iter().enumerate()
    {
        let to = folder.path(&format!("dataset{number}"));
        let result = |more: &[&str], force: &[&str]| {
            let words = ["export", &days, "-o", &to];
            results(&nanotape(words.iter().chain(more).chain(force)), &days).remove(0)
        };
        assert_eq!(result(first, &[])[1], "written");
        for force in [&[][..], &["--force"]] {
            let [_, state, detail] = result(second, force);
            assert_eq!(state, "failed");
            assert!(detail.contains("--partition symbol"), "{detail}");
            assert!(detail.contains("12302019.parquet"), "{detail}");
        }
        assert_eq!(result(first, &[])[1], "exists");
    }
}

#[test]
fn the_process_of_a_day_ends_with_the_one_that_waits_for_it() {
    let folder = Folder::new("export-killed");
    let days = folder.path("days");
    let fifo = folder.path("days/12302019.itch");
    fs::create_dir(&days).unwrap();
    let made = Command::new("mkfifo").arg(&fifo).bounded_output().unwrap();
    assert!(made.status.success());
    let other = day_of(&folder, "days/12312019.itch", "1");
    let to = folder.path("dataset/");
    let waiting = Running::start(&["export", &fifo, &other, "-o", &to]);
    // The process of the first day reads, and its day never ends.
    let mut day = OpenOptions::new().write(true).open(&fifo).unwrap();
    waiting.signal(Signal::KILL);
    eventually("the process of the day ends", || {
        day.write_all(b"x").is_err_and(|error| error.kind() == ErrorKind::BrokenPipe)
    });
}

#[test]
fn strict_believes_only_what_strict_has_written() {
    let folder = Folder::new("export-strict-again");
    let days = folder.path("days");
    let good = day_of(&folder, "days/12302019.itch", "1");
    // A message is missing without a trace: a book is unreliable.
    let mut tainted = fs::read(&good).unwrap();
    let (mut at, mut adds) = (0, 0);
    while adds < 50 {
        at += 2 + usize::from(u16::from_be_bytes([tainted[at], tainted[at + 1]]));
        adds += usize::from(tainted[at + 2] == b'A');
    }
    tainted.drain(at..at + 38);
    fs::write(folder.path("days/12312019.itch"), tainted).unwrap();
    for partition in [&[][..], &["--partition", "symbol"]] {
        let to = folder.path(&format!("dataset{}", partition.len()));
        let states = |more: &[&str]| {
            let words = ["export", &days, "-o", &to];
            let found = results(&nanotape(words.iter().chain(partition).chain(more)), &days);
            found.into_iter().map(|[_, state, _]| state).collect::<Vec<_>>()
        };
        assert_eq!(states(&[]), ["written", "written"]);
        assert_eq!(states(&[]), ["exists", "exists"]);
        assert_eq!(states(&["--strict"]), ["written", "failed"]);
        assert_eq!(states(&["--strict"]), ["exists", "failed"]);
    }
}

#[test]
fn a_date_for_many_days_is_not_that_of_another_day() {
    let folder = Folder::new("export-date-of-many");
    let days = folder.path("days");
    day_of(&folder, "days/12302019.itch", "1");
    day_of(&folder, "days/12312019.a.itch", "2");
    day_of(&folder, "days/feed.itch", "3");
    let ran = nanotape(["export", &days, "-o", &folder.path("to"), "--date", "2019-12-30"]);
    let found = results(&ran, &days);
    let states: Vec<_> = found.iter().map(|[_, state, _]| &**state).collect();
    assert_eq!(states, ["written", "failed", "written"]);
    assert!(found[1][2].contains("has the date 2019-12-31 in its name"), "{found:?}");
}

#[test]
fn one_day_more_of_the_same_format_and_a_missing_one_are_days_of_the_dataset() {
    let folder = Folder::new("export-one-more");
    let (days, to) = (folder.path("days"), folder.path("dataset"));
    day_of(&folder, "days/12302019.itch", "1");
    std::os::unix::fs::symlink("nowhere", folder.path("days/12312019.itch")).unwrap();
    let found = results(&nanotape(["export", &days, "-o", &to]), &days);
    assert_eq!([&*found[0][1], &*found[1][1]], ["written", "failed"]);
    assert!(found[1][2].contains("12312019.itch"), "{found:?}");
    let more = day_of(&folder, "more/01022020.itch", "3");
    for said in ["bbo: ", "its files exist"] {
        let ran = nanotape(["export", &more, "-o", &to]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
    assert!(Path::new(&format!("{to}/bbo/date=2020-01-02/01022020.parquet")).exists());
    let refused: [(&[&str], &str); 3] = [
        (&["--format", "csv"], "has another format"),
        (&["--format", "csv", "--force"], "has another format"),
        (&["--prices", "float"], "has --prices fixed"),
    ];
    let other = day_of(&folder, "more/01032020.itch", "4");
    for (form, said) in refused {
        let ran = nanotape(["export", &other, "-o", &to].iter().chain(form));
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
    // A table that no day has yet, and one in the place of another.
    let ran = nanotape(["export", &more, "-o", &to, "--records", "trades"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let part = |table: &str| format!("{to}/{table}/date=2020-01-02/01022020.parquet");
    fs::copy(part("trades"), part("bbo")).unwrap();
    let ran = nanotape(["export", &more, "-o", &to]);
    assert!(ran.stderr.contains("has the table trades"), "{}", ran.stderr);
}
