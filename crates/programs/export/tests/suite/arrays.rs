//! Arrays of hftbacktest: naive books are made of them alone, and compared with the books of other
//! commands.

use std::{
    collections::{BTreeMap, HashMap},
    fs::{self, File},
    io::Read as _,
    path::Path,
    process::Command,
};

use zip::ZipArchive;

use nanotape_harness::Bounded as _;

use crate::{
    partitions::with_one_name,
    support::{Folder, nanotape, program},
};

const DATE: [&str; 2] = ["--date", "2019-12-30"];
const MIDNIGHT_NS: i64 = 1_577_682_000_000_000_000;

fn export(words: &[&str]) -> String {
    let ran = nanotape([&["export"], words].concat());
    assert_eq!(ran.status, 0, "{words:?}: {}", ran.stderr);
    ran.stderr
}

/// The symbol of the stock with the most messages.
fn busiest(day: &str) -> String {
    let ran = nanotape(["stats", day, "--format", "csv"]);
    let stocks = ran.stdout.lines().skip(1).filter(|line| !line.starts_with('*'));
    let messages = |line: &&str| line.split(',').nth(1).unwrap().parse::<u64>().unwrap();
    stocks.max_by_key(messages).unwrap().split(',').next().unwrap().to_owned()
}

/// An event of an array.
#[derive(Clone, Copy)]
struct Event {
    kind: u64,
    /// 2 for buy, 1 for sell.
    side: u64,
    exch_ts: i64,
    local_ts: i64,
    price: f64,
    shares: f64,
    order: u64,
}

/// The events of a file, whose bytes this function decodes by itself.
fn events_of(path: &str) -> Vec<Event> {
    let mut bytes = Vec::new();
    let mut archive = ZipArchive::new(File::open(path).unwrap()).unwrap();
    archive.by_name("data.npy").unwrap().read_to_end(&mut bytes).unwrap();
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let start = 10 + usize::from(u16::from_le_bytes(bytes[8..10].try_into().unwrap()));
    assert_eq!(start % 64, 0);
    let header = std::str::from_utf8(&bytes[10..start]).unwrap();
    let rows = (bytes.len() - start) / 64;
    let expected = format!(
        "{{'descr': [('ev', '<u8'), ('exch_ts', '<i8'), ('local_ts', '<i8'), ('px', '<f8'), \
         ('qty', '<f8'), ('order_id', '<u8'), ('ival', '<i8'), ('fval', '<f8')], \
         'fortran_order': False, 'shape': ({rows},), }}"
    );
    assert_eq!(header.trim_end(), expected);
    assert!(header.ends_with('\n'));
    let events = bytes[start..].chunks_exact(64).map(|row| {
        let word = |place: usize| u64::from_le_bytes(row[8 * place..][..8].try_into().unwrap());
        assert_eq!(word(0) >> 30, 0b11, "counts for both clocks");
        Event {
            kind: word(0) & 0xff,
            side: (word(0) >> 28) & 0b11,
            exch_ts: word(1).cast_signed(),
            local_ts: word(2).cast_signed(),
            price: f64::from_bits(word(3)),
            shares: f64::from_bits(word(4)),
            order: word(5),
        }
    });
    events.collect()
}

/// The book of hftbacktest: an order that it has not, or has twice, ends a backtest.
#[derive(Default)]
struct NaiveBook {
    /// Side, price in units of 0.0001, shares.
    orders: HashMap<u64, (u64, u64, u64)>,
    kinds: BTreeMap<u64, u64>,
}

impl NaiveBook {
    fn apply(&mut self, event: &Event) {
        let price = (event.price * 1e4).round() as u64;
        *self.kinds.entry(event.kind).or_default() += 1;
        match event.kind {
            3 => self.orders.clear(),
            10 => {
                let order = (event.side, price, event.shares as u64);
                assert!(event.shares > 0.0 && matches!(event.side, 1 | 2));
                assert_eq!(self.orders.insert(event.order, order), None, "{}", event.order);
            }
            11 => {
                let (side, at, _) = self.orders.remove(&event.order).unwrap();
                assert_eq!((side, at), (event.side, price));
            }
            12 => {
                let order = self.orders.get_mut(&event.order).unwrap();
                assert_eq!((order.0, order.1), (event.side, price));
                assert!(event.shares > 0.0);
                order.2 = event.shares as u64;
            }
            // A fill changes no book: a cancellation or a modification follows.
            13 => assert!(self.orders[&event.order].2 >= event.shares as u64),
            2 => assert_eq!(event.order, 0),
            other => panic!("kind {other}"),
        }
    }

    /// Shares at each price of a side.
    fn levels(&self, side: u64) -> BTreeMap<u64, u64> {
        let mut levels = BTreeMap::new();
        for (of, price, shares) in self.orders.values() {
            if *of == side {
                *levels.entry(*price).or_default() += shares;
            }
        }
        levels
    }
}

/// The levels that a command prints: bids and offers.
fn printed_levels(day: &str, stock: &str, at: &str) -> [BTreeMap<u64, u64>; 2] {
    let words =
        ["book", day, "--symbols", stock, "--at", at, "--levels", "1000", "--format", "csv"];
    let ran = nanotape(words);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let mut levels = [BTreeMap::new(), BTreeMap::new()];
    let mut lines = ran.stdout.lines();
    let names: Vec<_> = lines.next().unwrap().split(',').collect();
    let place = |name| names.iter().position(|other| *other == name).unwrap();
    let [side, price, size] = ["side", "price", "size"].map(place);
    for cells in lines.map(|line| line.split(',').collect::<Vec<_>>()) {
        let price = (cells[price].parse::<f64>().unwrap() * 1e4).round() as u64;
        let side = usize::from(cells[side] == "ask");
        levels[side].insert(price, cells[size].parse().unwrap());
    }
    levels
}

#[test]
fn arrays_of_hftbacktest_make_the_books_of_the_day() {
    let folder = Folder::new("export-arrays");
    let day = folder.day(60_000, 3);
    let stock = busiest(&day);
    let (all, half) = (folder.path("all.npz"), folder.path("half.npz"));
    let words = [&day, "--symbols", &stock, "--latency", "20us", "-o"].map(|word| word as &str);
    let said = export(&[&words[..], &[&all], &DATE].concat());
    assert!(!said.contains("time of receipt"), "{said}");
    let events = events_of(&all);
    let mut book = NaiveBook::default();
    for event in &events {
        book.apply(event);
        assert_eq!(event.local_ts, event.exch_ts + 20_000);
        assert!(event.exch_ts > MIDNIGHT_NS);
    }
    assert!(events.is_sorted_by_key(|event| event.exch_ts));
    for kind in [2, 3, 10, 11, 12, 13] {
        assert!(book.kinds.contains_key(&kind), "{:?}", book.kinds);
    }
    assert_eq!([book.levels(2), book.levels(1)], printed_levels(&day, &stock, "23:59"));

    // Half of the day begins with the live orders, in the order of their queues.
    let from = ["--from", "12:00"];
    let said = export(&[&[&day, "--symbols", &stock, "-o", &half], &from[..], &DATE].concat());
    assert!(said.contains("without a time of receipt"), "{said}");
    let later = events_of(&half);
    assert!(later.len() < events.len());
    let mut book = NaiveBook::default();
    let noon = MIDNIGHT_NS + 12 * 3_600_000_000_000;
    let begin = later.iter().take_while(|event| event.exch_ts == noon).collect::<Vec<_>>();
    assert_eq!(begin[0].kind, 3);
    begin.into_iter().for_each(|event| book.apply(event));
    assert_eq!([book.levels(2), book.levels(1)], printed_levels(&day, &stock, "12:00"));
    for event in later.iter().skip_while(|event| event.exch_ts == noon) {
        book.apply(event);
    }
    assert_eq!([book.levels(2), book.levels(1)], printed_levels(&day, &stock, "23:59"));
}

#[test]
fn arrays_of_a_capture_have_both_clocks() {
    let folder = Folder::new("export-clocks");
    for protocol in ["cboe-pitch", "iex-deep-plus"] {
        let capture = folder.capture(protocol, 40_000, 3);
        let to = folder.path(&format!("{protocol}/"));
        let said = export(&[&capture, "--symbols", "*", "--format", "npz", "-o", &to]);
        assert!(!said.contains("without a time of receipt"), "{said}");
        let files: Vec<_> = fs::read_dir(&to).unwrap().map(|file| file.unwrap().path()).collect();
        assert_eq!(files.len(), 3, "{protocol}: {files:?}");
        for file in files {
            let events = events_of(file.to_str().unwrap());
            assert!(events.len() > 1_000, "{protocol}: {}", events.len());
            assert!(events.is_sorted_by_key(|event| event.exch_ts), "{protocol}");
            assert!(events.is_sorted_by_key(|event| event.local_ts), "{protocol}");
            assert!(events.iter().any(|event| event.local_ts > event.exch_ts), "{protocol}");
            let mut book = NaiveBook::default();
            events.iter().for_each(|event| book.apply(event));
        }
    }
}

#[test]
fn wrong_uses_of_arrays_are_one_line() {
    let folder = Folder::new("export-other-usage");
    let day = folder.day(2_000, 5);
    let levels = folder.capture("iex-deep", 5_000, 5);
    let npz = folder.path("x.npz");
    let with_date = |words: &[&str]| [&["export", &day], words, &DATE].concat().join(" ");
    let to_npz = ["-o", &npz];
    for (words, expected) in [
        (with_date(&to_npz), "--symbols"),
        (with_date(&[&to_npz[..], &["--symbols", "*"]].concat()), "a folder has a file for each"),
        (
            with_date(&[&to_npz[..], &["--symbols", "AAPL", "--records", "bbo"]].concat()),
            "--records",
        ),
        (with_date(&["--latency", "1us", "-o", "x.parquet"]), "-o FILE.npz"),
        (with_date(&["--symbols", "AAPL", "--format", "npz", "-o", "-"]), "-o FILE.npz"),
        (format!("export {day} {day} --symbols AAPL -o {npz}"), "one day at a time"),
        (format!("export {day} --symbols AAPL -o {npz}"), "--date 2019-12-30"),
        (format!("export {levels} --symbols * -o {npz}"), "price levels only"),
    ] {
        let ran = nanotape(words.split(' '));
        assert_eq!(ran.status, 2, "{words}: {}", ran.stderr);
        let line = ran.stderr.lines().last().unwrap();
        assert!(line.contains(expected), "{words}: {line}");
        assert!(!Path::new(&npz).exists(), "{words}");
    }
    let ran = nanotape(with_date(&[&to_npz[..], &["--symbols", "NOSUCH"]].concat()).split(' '));
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("NOSUCH") && !Path::new(&npz).exists(), "{}", ran.stderr);
    fs::write(&npz, "mine").unwrap();
    let ran = nanotape(with_date(&[&to_npz[..], &["--symbols", "AAPL"]].concat()).split(' '));
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("--force"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(&npz).unwrap(), "mine");
}

#[test]
fn arrays_refuse_the_options_of_tables() {
    let folder = Folder::new("export-array-options");
    let (day, npz) = (folder.day(2_000, 5), folder.path("x.npz"));
    for [option, value] in [
        ["--records", "bbo"],
        ["--every", "1s"],
        // A value that is the default one is given, too.
        ["--levels", "10"],
        ["--bars", "1m"],
        ["--prices", "fixed"],
        ["--compression", "zstd"],
        ["--group-rows", "2000"],
        ["--partition", "symbol"],
        ["--jobs", "2"],
        ["--threads", "1"],
    ] {
        let words = ["export", &day, "--symbols", "*", option, value, "-o", &npz];
        let ran = nanotape(words.iter().chain(&DATE));
        assert_eq!(ran.status, 2, "{option}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("{option} is for tables")), "{}", ran.stderr);
        assert!(!Path::new(&npz).exists());
    }
}

#[test]
fn two_stocks_of_one_name_are_no_array() {
    let folder = Folder::new("export-array-names");
    let (day, name) = with_one_name(&folder, &folder.day(5_000, 5));
    for to in [folder.path("x.npz"), folder.path("arrays/")] {
        let ran = nanotape(["export", &day, "--symbols", &name, "--format", "npz", "-o", &to]);
        assert_eq!(ran.status, 2, "{}", ran.stderr);
        let expected = format!("the stock locates 1 and 2 are both {name}");
        assert!(ran.stderr.contains(&expected), "{}", ran.stderr);
        assert!(!Path::new(&to).exists());
    }
}

#[test]
fn an_array_that_cannot_be_written_leaves_no_other() {
    let folder = Folder::new("export-array-fails");
    let (day, to) = (folder.day(15_000, 5), folder.path("arrays/"));
    let words: [&str; 7] = [&day, "--symbols", "*", "--format", "npz", "-o", &to];
    let said = export(&[&words[..], &DATE].concat());
    let files = said.lines().filter_map(|line| Some(line.rsplit_once(" MB in ")?.1));
    let sizes: Vec<u64> = files.map(|file| fs::metadata(file).unwrap().len()).collect();
    // The first files fit, and a later one does not; it is small enough to be written with its end.
    let (fits, most) = (sizes[0], sizes[1..].iter().copied().max().unwrap());
    assert!(fits + 2_048 < most && most < 200_000, "{sizes:?}");
    fs::remove_dir_all(&to).unwrap();
    let script = format!(
        "ulimit -f {}; exec '{}' export '{day}' --date 2019-12-30 --symbols '*' --format npz -o '{to}'",
        fits / 512 + 2,
        program()
    );
    let output = Command::new("sh").args(["-c", &script]).bounded_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_dir(&to).unwrap().count(), 0);
}

#[test]
fn a_span_after_the_last_message_has_no_time_of_receipt() {
    let folder = Folder::new("export-array-late");
    let capture = folder.capture("cboe-pitch", 5_000, 3);
    let to = folder.path("late/");
    let words: [&str; 9] =
        [&capture, "--symbols", "*", "--from", "23:30", "--format", "npz", "-o", &to];
    let said = export(&words);
    assert!(said.lines().all(|line| line.contains(" MB in ")), "{said}");
    for file in fs::read_dir(&to).unwrap() {
        let events = events_of(file.unwrap().path().to_str().unwrap());
        assert_eq!(events[0].kind, 3);
        let begin = MIDNIGHT_NS + (23 * 60 + 30) * 60_000_000_000;
        assert!(events.iter().all(|event| [event.exch_ts, event.local_ts] == [begin; 2]));
    }
}
