//! Start and end of a tap: plants that start later, stop, die and return, and errors.

use std::{
    fs,
    io::{Seek as _, SeekFrom, Write as _},
};

use nanotape_harness::{BoundedChild as _, eventually};

use nanotape_board::{PLANT_THREAD, trace_path};
use nanotape_plant::dbn::{
    SymbolMappingMsg,
    decode::{DecodeRecordRef as _, dbn::Decoder},
};
use nanotape_trace::spans::spans_path;
use rustix::process::Signal;

use crate::{
    support::nanotape,
    tap::plants::{Market, begin, numbers},
};

const JSON: [&str; 4] = ["--from", "oldest", "--format", "json"];

#[test]
fn a_tap_that_waits_misses_nothing() {
    let market = Market::new("wait", 5_000, 4);
    let mut tap = market.tap(&[&JSON[..], &["--wait", "60"]].concat());
    let ended = market.run();
    let (status, rows, complained) = tap.end();
    assert_eq!(status, Some(0), "{complained}");
    let records = ended.stop.records;
    assert_eq!(rows.lines().count() as u64, records);
    assert_eq!(numbers(&complained), [records, records, 0, 0, records]);

    // The plant of this ring is gone: the tap waits for the next one.
    let mut tap = market.tap(&["--wait", "60", "--format", "csv"]);
    assert!(tap.read_line().starts_with("sequence,"), "it has joined");
    let again = market.run().stop.records;
    let (status, rows, complained) = tap.end();
    assert_eq!((status, rows.lines().count() as u64), (Some(0), again), "{complained}");
    assert_eq!(numbers(&complained), [again, again, 0, 0, records + again]);
    // Without --wait, the tap does not wait for a plant.
    let ran = nanotape(["tap", market.ring()]);
    assert_eq!((ran.status, ran.stdout.lines().count()), (0, 1));
    let line = "writer closed the ring; --wait SECONDS waits for the next plant";
    assert!(ran.stderr.contains(line), "{}", ran.stderr);
}

#[test]
fn a_plant_that_is_given_up_says_so_and_one_that_dies_cannot() {
    let market = Market::new("dies", 2_000, 4);
    let plant = begin(&market.config());
    let mut tap = market.tap(&JSON);
    assert_eq!(tap.read_json()["record"], "start");
    drop(plant);
    let (status, rest, complained) = tap.end();
    assert_eq!((status, rest.contains("abandoned: 0 messages")), (Some(0), true), "{rest}");
    assert_eq!(numbers(&complained), [2, 2, 0, 0, 2]);

    let mut child = market.child();
    let mut tap = market.tap(&["--from", "3", "--format", "json"]);
    assert_eq!(tap.read_json()["record"], "start");
    child.kill().unwrap();
    child.bounded_wait("the plant");
    let (status, rest, complained) = tap.end();
    assert_eq!((status, rest.as_str()), (Some(1), ""));
    assert!(complained.contains("writer exited without closing the ring"), "{complained}");
    assert_eq!(numbers(&complained), [1, 1, 0, 0, 3]);
}

#[test]
fn a_tap_goes_through_restarts_and_misses_nothing() {
    let market = Market::new("restarts", 2_000, 4);
    let mut child = market.child();
    let mut tap = market.tap(&[&JSON[..], &["--through-restarts"]].concat());
    assert_eq!(tap.read_json()["detail"].as_str().unwrap().matches("previous plant").count(), 0);
    child.kill().unwrap();
    child.bounded_wait("the plant");
    let mut rows = 1;
    for predecessor in ["the previous plant died", "the previous plant stopped cleanly"] {
        let ended = market.run();
        let start = tap.read_json();
        assert_eq!((&start["record"], &start["sequence"]), (&"start".into(), &(rows + 1).into()));
        assert!(start["detail"].as_str().unwrap().ends_with(predecessor), "{start}");
        rows += ended.stop.records;
        let stop = tap.read_up_to("stop");
        assert_eq!(stop["sequence"], rows);
        assert!(stop["detail"].as_str().unwrap().starts_with("end of input: 2000 messages, "));
        assert!(tap.is_running());
    }
    tap.signal(Signal::TERM);
    let (status, rest, complained) = tap.end();
    assert_eq!((status, rest.as_str()), (Some(0), ""));
    assert_eq!(numbers(&complained), [rows, rows, 0, 0, rows]);
    assert_eq!(complained.matches("nanotape: ").count(), complained.lines().count());
}

#[test]
fn a_tap_that_is_interrupted_completes_its_file() {
    let market = Market::new("interrupted", 5_000, 4);
    market.run();
    for name in ["out.csv", "out.dbn"] {
        let path = market.folder.path(name);
        let mut tap = market.tap(&["--from", "oldest", "-o", &path, "--through-restarts"]);
        let is_writing = || {
            let files = fs::read_dir(market.folder.path("")).unwrap().map(Result::unwrap);
            let is_partial =
                |file: &fs::DirEntry| file.file_name().to_string_lossy().ends_with(".partial");
            files.filter(is_partial).any(|file| file.metadata().unwrap().len() > 10_000)
        };
        eventually("rows in the unfinished file", || {
            assert!(tap.is_running(), "it ended before it wrote");
            is_writing()
        });
        tap.signal(Signal::INT);
        let (status, _, complained) = tap.end();
        assert_eq!(status, Some(0), "{complained}");
        let [read, written, ..] = numbers(&complained);
        let file = fs::read(&path).unwrap();
        let records = if name == "out.csv" {
            assert!(file.ends_with(b"\n"));
            file.iter().filter(|&&byte| byte == b'\n').count() as u64 - 1
        } else {
            let mut decoder = Decoder::new(file.as_slice()).unwrap();
            let mut count = 0;
            while let Some(record) = decoder.decode_record_ref().unwrap() {
                count += u64::from(!record.has::<SymbolMappingMsg>());
            }
            count
        };
        assert!(written > 100 && read == written && records == written, "{records}: {complained}");
    }
}

#[test]
fn a_ring_that_is_removed_replaced_or_cut_under_a_tap_is_status_1() {
    // The plant runs in this process, and writes its end to a truncated ring.
    nanotape_shm::guard_against_truncation().unwrap();
    let market = Market::new("removed", 2_000, 4);
    // The tap may check between the removal and the next ring: then it reports a removal.
    for (how, expected) in
        [("remove", "removed while in use"), ("replace", "while in use"), ("cut", "truncated")]
    {
        let mut config = market.config();
        config.ring.replace = true;
        let plant = begin(&config);
        let mut tap = market.tap(&[&JSON[..], &["--through-restarts"]].concat());
        assert_eq!(tap.read_json()["record"], "start");
        let mut other = None;
        match how {
            "remove" => fs::remove_file(market.ring()).unwrap(),
            "cut" => {
                let file = fs::File::options().write(true).open(market.ring()).unwrap();
                file.set_len(4096).unwrap();
            }
            _ => {
                fs::remove_file(market.ring()).unwrap();
                fs::remove_file(market.board()).unwrap();
                let thread = trace_path(market.ring().as_ref(), PLANT_THREAD);
                fs::remove_file(spans_path(&thread)).unwrap();
                fs::remove_file(thread).unwrap();
                other = Some(begin(&config));
            }
        }
        let (status, rest, complained) = tap.end();
        assert_eq!((status, rest.as_str(), complained.lines().count()), (Some(1), "", 2));
        let is_reported = complained.contains(expected) || complained.contains("truncated");
        assert!(is_reported && complained.contains(market.ring()), "{how}: {complained}");
        assert_eq!(numbers(&complained), [1, 1, 0, 0, 1]);
        let _ = fs::remove_file(market.ring());
        drop((plant, other));
    }
}

#[test]
fn a_record_that_is_none_is_one_line_and_hides_no_other() {
    // Bytes of the region's header, the control words and the index; a frame's header has two
    // words.
    const STREAM_DATA: u64 = 4096 + 1408;
    let market = Market::new("damage", 2_000, 4);
    let records = market.run().stop.records;
    // The first record is the start, of six words. The test changes the length in the second one.
    let second = STREAM_DATA + 16 + 48 + 16;
    let mut file = fs::File::options().write(true).open(market.ring()).unwrap();
    file.seek(SeekFrom::Start(second)).unwrap();
    file.write_all(&[77]).unwrap();
    let ran = nanotape([&["tap", market.ring()], &JSON[..]].concat());
    assert_eq!((ran.status, ran.stdout.lines().count() as u64), (1, records - 1));
    let sequences = ran.stdout.lines().map(|line| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        row["sequence"].as_u64().unwrap()
    });
    assert!(sequences.eq([1].into_iter().chain(3..=records)));
    assert_eq!(numbers(&ran.stderr), [records, records - 1, 0, 0, records]);
    assert!(ran.stderr.contains("ring message 2: type "));
}

#[test]
fn what_cannot_be_tapped_is_one_line_that_says_what_to_do() {
    let market = Market::new("errors", 2_000, 4);
    let ring = market.ring();
    let refused = |options: &[&str], status: i32, expected: &str| {
        let ran = nanotape([&["tap"], options].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (status, ""), "{options:?}");
        assert!(ran.stderr.contains(expected), "{options:?}: {}", ran.stderr);
        ran.stderr.lines().count()
    };
    assert_eq!(refused(&[ring], 2, "no plant started; start one with nanotape run"), 1);
    assert_eq!(refused(&[ring, "--wait", "0.01"], 2, "no plant started within 0.01 s"), 1);
    let published = nanotape(["ring", "publish", ring]);
    assert_eq!(published.status, 0);
    assert_eq!(refused(&[ring], 2, "it has no board; use nanotape ring dump"), 1);
    fs::remove_file(ring).unwrap();

    market.run();
    assert_eq!(refused(&[ring, "--from", "99999999"], 2, "is not published yet"), 1);
    assert_eq!(refused(&[ring, "-o", "day.parquet"], 2, "use .csv, .json, .txt or .dbn"), 1);
    refused(&[ring, "--records", "quotes"], 2, "\"quotes\" is not a record kind");
    refused(&[ring, "--from", "yesterday"], 2, "expected oldest, newest, a sequence number from 1");
    refused(&[ring, "--count", "0"], 2, "expected at least 1");
    let ran = nanotape(["tap", ring, "--from", "oldest", "--symbols", "NOSUCH"]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("symbols not found: NOSUCH"), "{}", ran.stderr);
    let ran = nanotape(["tap", ring, "--from", "oldest", "--records", "bbo,imbalances"]);
    assert_eq!(ran.status, 0);
    let publishes = "this plant publishes mbo,bbo,trades,status,definitions, but not imbalances";
    assert!(ran.stderr.contains(publishes), "{}", ran.stderr);
}
