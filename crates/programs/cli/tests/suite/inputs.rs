//! DBN files of other writers, spans of time, and inputs that lack a part.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use nanotape_harness::Bounded as _;
use nanotape_plant::records::dbn::{
    Dataset, MappingInterval, MboMsg, Metadata, RecordHeader, SType, Schema, SymbolMapping,
    encode::DbnMetadataEncoder, flags, rtype,
};

use crate::support::{Folder, nanotape, nanotape_fed};

/// 2019-12-30 at 10:00 in New York.
const TEN: u64 = 1_577_718_000_000_000_000;

/// A DBN file as Databento writes one, of a stock with the number 13.
struct Foreign {
    records: Vec<MboMsg>,
}

impl Foreign {
    /// Adds a record of a packet that ends with the flag of the last one.
    fn record(&mut self, action: u8, side: u8, order_id: u64, price: i64, size: u32, flags: u8) {
        let number = self.records.len() as u64;
        let mut record = MboMsg {
            hd: RecordHeader::new::<MboMsg>(rtype::MBO, 2, 13, TEN + 1_000_000_000 * number),
            order_id,
            price: price * 10_000_000,
            size,
            action: action as _,
            side: side as _,
            ts_recv: TEN,
            sequence: 100 + number as u32,
            ..MboMsg::default()
        };
        record.flags = nanotape_plant::records::dbn::FlagSet::new(flags);
        self.records.push(record);
    }

    fn bytes(&self) -> Vec<u8> {
        let date =
            |ns| RecordHeader::new::<MboMsg>(rtype::MBO, 0, 0, ns).ts_event().unwrap().date();
        let interval = MappingInterval {
            start_date: date(TEN),
            end_date: date(TEN + 86_400_000_000_000),
            symbol: "13".to_owned(),
        };
        let metadata = Metadata::builder()
            .dataset(Dataset::XnasItch)
            .schema(Some(Schema::Mbo))
            .start(TEN)
            .stype_in(Some(SType::RawSymbol))
            .stype_out(SType::InstrumentId)
            .symbols(vec!["AAPL".to_owned()])
            .mappings(vec![SymbolMapping {
                raw_symbol: "AAPL".to_owned(),
                intervals: vec![interval],
            }])
            .build();
        let mut bytes = Vec::new();
        DbnMetadataEncoder::new(&mut bytes).encode(&metadata).unwrap();
        self.records.iter().for_each(|record| bytes.extend(record.as_ref()));
        bytes
    }
}

/// A DBN file and a day through a pipe that has a name: a FIFO, `<(...)`, `/dev/stdin`.
#[test]
fn an_input_is_read_by_the_name_of_a_pipe_as_from_standard_input() {
    let folder = Folder::new("inputs_pipes");
    let mut file = Foreign { records: Vec::new() };
    file.record(b'A', b'B', 1, 100, 10, flags::LAST);
    file.record(b'A', b'A', 2, 101, 20, flags::LAST);
    let day = folder.path("2019-12-30.itch50");
    assert_eq!(nanotape(["synth", "-o", &day, "--messages", "2k", "--stocks", "5"]).status, 0);
    let dated: &[&str] = &["--date", "2019-12-30"];
    for (bytes, date) in [(file.bytes(), &[][..]), (fs::read(&day).unwrap(), dated)] {
        for command in ["inside", "trades", "stats", "convert", "tap"] {
            let options = [date, &["--format", "csv"]].concat();
            let of = |input: &str| -> Vec<String> {
                let words = [&[command, input], options.as_slice()].concat();
                words.into_iter().map(str::to_owned).collect()
            };
            let expected = nanotape_fed(of("-"), &bytes);
            assert_eq!(expected.status, 0, "{command}: {}", expected.stderr);
            let named = nanotape_fed(of("/dev/stdin"), &bytes);
            assert_eq!(named.status, 0, "{command}: {}", named.stderr);
            let lines = |text: &str| text.lines().count();
            assert_eq!(lines(&named.stdout), lines(&expected.stdout), "{command}");
            if command == "inside" {
                assert_eq!(named.stdout, expected.stdout);
            }
            let fifo = folder.path(&format!("fifo-{command}-{}", date.len()));
            assert!(
                std::process::Command::new("mkfifo").arg(&fifo).bounded_status().unwrap().success()
            );
            let writer = {
                let (fifo, bytes) = (fifo.clone(), bytes.clone());
                std::thread::spawn(move || fs::write(fifo, bytes).unwrap())
            };
            let of_fifo = nanotape(of(&fifo));
            writer.join().unwrap();
            assert_eq!(of_fifo.status, 0, "{command}: {}", of_fifo.stderr);
            assert_eq!(lines(&of_fifo.stdout), lines(&expected.stdout), "{command}");
        }
    }
    // It cannot be searched for its last run.
    let ran = nanotape_fed(["inside", "/dev/stdin", "--run", "last"], &file.bytes());
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("/dev/stdin: is read only once: give --run a number"), "{ran:?}");
}

#[test]
fn a_file_in_databentos_convention_gives_its_book() {
    let folder = Folder::new("inputs_databento");
    let mut file = Foreign { records: Vec::new() };
    file.record(b'A', b'B', 1, 100, 10, flags::LAST);
    file.record(b'R', b'N', 0, 0, 0, flags::LAST);
    let snapshot = flags::SNAPSHOT;
    file.record(b'A', b'B', 1, 101, 10, snapshot);
    file.record(b'A', b'B', 2, 101, 20, snapshot);
    file.record(b'A', b'A', 3, 103, 30, snapshot | flags::LAST);
    // One packet: the second order loses shares, the first one gains some and goes to the end.
    file.record(b'M', b'B', 2, 101, 15, 0);
    file.record(b'M', b'B', 1, 101, 12, 0);
    file.record(b'A', b'A', 4, 102, 40, flags::LAST);
    let path = folder.write("databento.bin", &file.bytes());
    let book = nanotape(["book", &path, "--symbols", "AAPL", "--orders", "--format", "csv"]);
    assert_eq!((book.status, book.stderr.as_str()), (0, ""));
    assert_eq!(
        book.stdout,
        "side,price,order_reference_number,size,orders_ahead,shares_ahead\n\
         bid,1.0100,2,15,0,0\n\
         bid,1.0100,1,12,1,15\n\
         ask,1.0200,4,40,0,0\n\
         ask,1.0300,3,30,0,0\n"
    );
    let before = ["book", &path, "--symbols", "AAPL", "--at", "10:00:04", "--format", "csv"];
    let before = nanotape(before).stdout;
    assert_eq!(before, "side,price,size,orders\nbid,1.0100,30,2\nask,1.0300,30,1\n");
    // The same moment in other words.
    for at in ["2019-12-30T15:00:04Z", "@1577718004000000000"] {
        let ran = nanotape(["book", &path, "--symbols", "AAPL", "--at", at, "--format", "csv"]);
        assert_eq!((ran.status, &ran.stdout), (0, &before), "{at}: {}", ran.stderr);
    }

    // A venue's gap is only in the flags.
    file.record(b'A', b'B', 5, 90, 1, flags::LAST | flags::MAYBE_BAD_BOOK);
    let path = folder.write("gap.bin", &file.bytes());
    let command = ["book", &path, "--symbols", "AAPL", "--format", "csv"];
    let ran = nanotape(command);
    let expected = format!(
        "nanotape: {path}: 1 book marked unreliable (tainted) in the records, the first one of AAPL \
         by message 9\n"
    );
    assert_eq!((ran.status, ran.stderr), (0, expected));
    assert_eq!(nanotape([&command, ["--strict"].as_slice()].concat()).status, 1);
    let before = nanotape([&command, ["--strict", "--at", "10:00:07"].as_slice()].concat());
    assert_eq!((before.status, before.stderr.as_str()), (0, ""));
    file.records.pop();

    file.record(b'A', b'B', 5, -1, 1, flags::LAST);
    let path = folder.write("negative.bin", &file.bytes());
    let ran = nanotape(["book", &path, "--symbols", "AAPL", "--orders", "--format", "csv"]);
    assert_eq!((ran.status, &ran.stdout), (1, &book.stdout));
    let expected = format!(
        "nanotape: {path}: message 9: price -10000000e-9, expected 0 to 200000 in steps of 0.0001, \
         or up to 2494967.295 in steps of 0.001\n"
    );
    assert_eq!(ran.stderr, expected);
}

#[test]
fn a_dbn_file_that_is_cut_off_gives_everything_before_the_cut() {
    let folder = Folder::new("inputs_cut");
    let mut file = Foreign { records: Vec::new() };
    for order in 0..100 {
        file.record(b'A', b'B', order, 100 + order as i64, 10, flags::LAST);
    }
    let bytes = file.bytes();
    let whole = nanotape_fed(["inside", "-", "--format", "csv"], &bytes);
    assert_eq!((whole.status, whole.stdout.lines().count()), (0, 101), "{}", whole.stderr);
    let offset = bytes.len() - 20 * size_of::<MboMsg>();
    let cut = folder.write("cut.dbn", &bytes[..offset + 9]);
    let ran = nanotape(["inside", &cut, "--format", "csv"]);
    let expected = format!(
        "nanotape: {cut}: offset {offset}: the file ends inside record 81, 9 bytes of 56\n"
    );
    assert_eq!((ran.status, ran.stderr), (1, expected));
    assert_eq!(ran.stdout.lines().count(), 81);
    assert!(whole.stdout.starts_with(&ran.stdout));
    let packed = zstd::encode_all(&*bytes, 1).unwrap();
    let cut = folder.write("cut.dbn.zst", &packed[..packed.len() - 4]);
    let ran = nanotape(["inside", &cut]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("the zstd stream is cut off"), "{}", ran.stderr);
    for (wrong, expected) in [(3, "DBN version 9"), (6, "metadata of")] {
        let mut bytes = bytes.clone();
        bytes[wrong] = 9;
        let path = folder.write("wrong.dbn", &bytes);
        let ran = nanotape(["inside", &path]);
        assert_eq!(ran.status, 1, "{}", ran.stderr);
        assert!(ran.stderr.contains(expected) && ran.stderr.lines().count() == 1, "{}", ran.stderr);
    }
}

#[test]
fn a_span_has_the_rows_of_its_moments() {
    let folder = Folder::new("inputs_span");
    let day = folder.path("2019-12-30.itch50");
    let size = ["--messages", "30000", "--symbols", "20"];
    assert_eq!(nanotape([&["synth", "-o", &day], size.as_slice()].concat()).status, 0);
    let rows = |arguments: &[&str]| {
        let ran = nanotape([arguments, ["--format", "csv"].as_slice()].concat());
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{arguments:?}");
        ran.stdout.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let all = rows(&["inside", &day]);
    let time = |row: &str, column: usize| row.split(',').nth(column).unwrap().parse::<u64>();
    let nanos = |row: &String| time(row, 0).unwrap();
    // From a message's own time to another's.
    let (from, to) = (nanos(&all[5_000]), nanos(&all[9_000]));
    let expected: Vec<_> =
        all[1..].iter().filter(|row| (from..to).contains(&nanos(row))).cloned().collect();
    let clock = |ns: u64| {
        let (s, n) = (ns / 1_000_000_000, ns % 1_000_000_000);
        format!("{:02}:{:02}:{:02}.{n:09}", s / 3600, s / 60 % 60, s % 60)
    };
    let midnight = 1_577_682_000_000_000_000;
    let words = [clock(from), clock(to)];
    let unix = [format!("@{}", midnight + from), format!("@{}", midnight + to)];
    for [from, to] in [words.clone(), unix] {
        assert_eq!(rows(&["inside", &day, "--from", &from, "--until", &to])[1..], expected);
    }
    let [from_text, to_text] = words;
    let symbol = expected[0].split(',').nth(1).unwrap();
    let depths = rows(&["depth", &day, "--symbols", symbol]);
    let of_span = depths[1..].iter().filter(|row| (from..to).contains(&time(row, 1).unwrap()));
    let of_span: Vec<_> = of_span.cloned().collect();
    let span = ["--from", &from_text, "--until", &to_text];
    assert_eq!(
        rows(&[&["depth", &day, "--symbols", symbol], span.as_slice()].concat())[1..],
        of_span
    );

    // The counts of two spans are those of the day.
    let messages = |more: &[&str]| {
        let total = &rows(&[&["stats", &day], more].concat())[1];
        time(total, 1).unwrap()
    };
    let parts = [&["--until", &from_text][..], &span, &["--from", &to_text]].map(messages);
    assert_eq!(parts.iter().sum::<u64>(), messages(&[]));
    assert!(parts.iter().all(|&count| count > 1_000), "{parts:?}");

    let undated = folder.path("day.itch50");
    fs::rename(&day, &undated).unwrap();
    let ran = nanotape(["inside", &undated, "--from", "@1577718000000000000"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("has no date"), "{}", ran.stderr);
}

#[test]
fn strict_refuses_what_lacks_a_part() {
    let folder = Folder::new("inputs_strict");
    let day = folder.day(20_000, 20);
    let bytes = fs::read(&day).unwrap();
    let output = folder.path("rows.csv");
    let good = nanotape(["inside", &day, "--strict", "-o", &output]);
    assert_eq!((good.status, good.stderr.as_str()), (0, ""));
    let symbol = fs::read_to_string(&output).unwrap();
    let symbol = symbol.lines().nth(1).and_then(|row| row.split(',').nth(1)).unwrap();
    fs::remove_file(&output).unwrap();
    let cut = folder.write("cut.itch50", &bytes[..bytes.len() - 5]);
    // A day without its first half has executions of orders that it lacks.
    let listed = nanotape(["inspect", &day, "--format", "csv"]).stdout;
    let middle = listed.lines().nth(10_000).and_then(|row| row.split(',').nth(1)).unwrap();
    let half = folder.write("half.itch50", &bytes[middle.parse::<usize>().unwrap()..]);
    let commands: [&[&str]; 5] = [
        &["inside"],
        &["stats"],
        &["depth", "--symbols", symbol],
        &["book", "--symbols", symbol],
        &["diff", "09:30", "24:00", "--symbols", symbol],
    ];
    for input in [&cut, &half] {
        for command in commands {
            let line = [&command[..1], &[input], &command[1..], &["-o", &output]].concat();
            let reported = nanotape(line.clone());
            assert!(Path::new(&output).exists(), "{line:?}: {}", reported.stderr);
            fs::remove_file(&output).unwrap();
            assert_eq!(reported.stderr.lines().count(), 1, "{line:?}: {}", reported.stderr);
            let strict = nanotape([line, vec!["--strict"]].concat());
            assert_eq!(strict.status, 1, "{}", strict.stderr);
            assert!(strict.stderr.starts_with(&reported.stderr), "{}", strict.stderr);
            assert!(strict.stderr.ends_with("a part is missing or a book is unreliable\n"));
            assert!(!Path::new(&output).exists(), "{command:?}");
        }
    }
    let ran = nanotape(["inside", &half, "--symbols", symbol]);
    assert!(ran.stderr.contains("1 book marked unreliable (tainted), the first one of"));
    assert!(ran.stderr.contains(" by message "), "{}", ran.stderr);
}

/// The rows of `nanotape book`, by the columns that name a level or an order.
fn book(
    day: &str,
    symbol: &str,
    at: &str,
    columns: impl Fn(&[&str]) -> (String, String),
    more: &[&str],
) -> BTreeMap<String, String> {
    let command = ["book", day, "--symbols", symbol, "--at", at, "--format", "csv"];
    let ran = nanotape([&command, more].concat());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let rows = ran.stdout.lines().skip(1).map(|row| columns(&row.split(',').collect::<Vec<_>>()));
    rows.collect()
}

/// The rows of a diff, in any order, found in two books.
fn differences(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let keys: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let rows = keys.into_iter().filter_map(|key| {
        let (was, is) = (before.get(key), after.get(key));
        let change = match (was, is) {
            _ if was == is => return None,
            (None, _) => "entered",
            (_, None) => "left",
            _ => "changed",
        };
        let fields = [was, is].map(|fields| fields.map_or(",", String::as_str));
        Some(format!("{key},{change},{}", fields.join(",")))
    });
    rows.collect()
}

#[test]
fn a_diff_has_what_differs_between_two_books() {
    let folder = Folder::new("inputs_diff");
    let day = folder.day(30_000, 5);
    let insides = nanotape(["inside", &day, "--format", "csv"]).stdout;
    let symbol = insides.lines().nth(1).and_then(|row| row.split(',').nth(1)).unwrap();
    let level = |row: &[&str]| (row[..2].join(","), row[2..].join(","));
    // Side, price, reference, size: the key of an order is its side and reference.
    let order = |row: &[&str]| ([row[0], row[2]].join(","), [row[1], row[3]].join(","));
    let mut seen = String::new();
    for (first, second) in [("09:30", "09:31"), ("09:45", "11:00"), ("08:00", "15:59:59.5")] {
        let diff = |more: &[&str]| {
            let command = ["diff", &day, "--symbols", symbol, first, second, "--format", "csv"];
            let ran = nanotape([&command, more].concat());
            assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
            let mut rows = ran.stdout.lines().map(str::to_owned);
            let header = rows.next().unwrap();
            let mut rows: Vec<_> = rows.collect();
            rows.sort();
            (header, rows)
        };
        let (header, mut rows) = diff(&[]);
        assert_eq!(header, "side,price,change,size_before,orders_before,size_after,orders_after");
        let [before, after] = [first, second].map(|at| book(&day, symbol, at, level, &[]));
        let mut expected = differences(&before, &after);
        expected.sort();
        assert_eq!(rows, expected, "{first} to {second}");
        seen.extend(rows.drain(..));

        let (header, mut rows) = diff(&["--orders"]);
        assert_eq!(
            header,
            "side,order_reference_number,change,price_before,size_before,price_after,size_after"
        );
        let [before, after] =
            [first, second].map(|at| book(&day, symbol, at, order, &["--orders"]));
        let mut expected = differences(&before, &after);
        expected.sort();
        assert_eq!(rows, expected, "{first} to {second}");
        seen.extend(rows.drain(..));
    }
    for change in ["entered", "left", "changed"] {
        assert!(seen.contains(change), "{change}");
    }
    let diff = |first, second| {
        nanotape(["diff", &day, "--symbols", symbol, first, second, "--format", "csv"])
    };
    // Between a moment and itself, and after the last message, nothing changes.
    for (first, second) in [("12:00", "12:00"), ("23:00", "24:00")] {
        let ran = diff(first, second);
        assert_eq!((ran.status, ran.stdout.lines().count()), (0, 1), "{}", ran.stderr);
    }
    let ran = diff("12:00", "11:00");
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("the span ends before it begins"), "{}", ran.stderr);
}
