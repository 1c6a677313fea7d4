//! A plant of a live feed of channels and an exchange that sends it, over real sockets: what lines
//! lose comes from the proxy, or from an image.

use serde_json::Value;

use crate::support::{Folder, live::addresses, nanotape, plants::Ring, running::Running};

/// A plant of the feed, and the end of its process.
struct Received {
    status: Option<i32>,
    stop: Value,
    stderr: String,
    journal: String,
}

/// Sends a day with options of the exchange to a plant with these options.
fn receive(
    folder: &Folder,
    (protocol, day): (&str, &str),
    options: &[&str],
    exchange: &[&str],
) -> Received {
    let ([a, b], ring, journal) = (addresses(), Ring::new(protocol), folder.path("journal"));
    let lines = ["--feed-line-a", &a, "--feed-line-b", &b];
    let usual = ["--date", "2019-12-30", "--ring", ring.path(), "--capacity", "64MiB"];
    let more = ["--journal", &journal, "--live-orders", "65536", "--format", "json"];
    let arguments = [&["run", "--feed", protocol], &lines[..], &usual, &more, options].concat();
    let mut plant = Running::start(&arguments);
    assert_eq!(plant.read_json()["event"], "start");
    let lines = ["exchange", day, "--protocol", protocol, "--line-a", &a, "--line-b", &b];
    let sent = nanotape([&lines[..], &["--pace", "10000x", "--until", "16:00"], exchange].concat());
    assert_eq!(sent.status, 0, "{}", sent.stderr);
    let (status, stdout, stderr) = plant.end();
    let stop = serde_json::from_str(stdout.lines().last().unwrap()).unwrap();
    Received { status, stop, stderr, journal }
}

/// The rows of a table, in the order of their stocks.
fn rows(arguments: &[&str]) -> Vec<Vec<String>> {
    let ran = nanotape([arguments, &["--format", "csv"]].concat());
    let mut rows: Vec<Vec<String>> =
        ran.stdout.lines().map(|row| row.split(',').map(str::to_owned).collect()).collect();
    assert!(rows.len() > 1, "{arguments:?}: {}", ran.stderr);
    rows.sort_by(|one, other| one[1].cmp(&other[1]));
    rows
}

fn day(folder: &Folder) -> String {
    let path = folder.path("20191230.itch50");
    let made = nanotape(["synth", "-o", &path, "--messages", "10000", "--symbols", "10"]);
    assert_eq!(made.status, 0, "{made:?}");
    path
}

fn insides(input: &str) -> Vec<Vec<String>> {
    rows(&["inside", input, "--until", "16:00"])
}

#[test]
fn messages_that_both_lines_lose_come_from_the_proxy() {
    let folder = Folder::new("live-feeds-requests");
    let (day, [answers, proxy]) = (day(&folder), addresses());
    let received = receive(
        &folder,
        ("cboe-pitch", &day),
        &["--gap-server", &proxy, "--gap-answers", &answers],
        &[
            &["--units", "1", "--gap-server", &proxy, "--gap-answers", &answers][..],
            &["--gap-per-second", "100k", "--gap-per-minute", "1m"],
            &["--faults-a", "drop=2%,dup=1%,reorder=1%x4", "--faults-b", "drop=2%"],
            &["--faults-both", "drop=0.5%", "--seed", "7"],
        ]
        .concat(),
    );
    let Received { status, stop, stderr, journal } = received;
    assert_eq!((status, &stop["reason"]), (Some(0), &"end of session".into()), "{stop} {stderr}");
    assert!(stop["gap_messages_retransmitted"].as_u64() > Some(10), "{stop}");
    assert_eq!((&stop["gap_messages_lost"], &stop["anomalies"]), (&0.into(), &0.into()));
    assert!(insides(&journal) == insides(&day), "{stderr}");
}

#[test]
fn a_unit_that_was_lost_has_the_books_of_an_image() {
    let folder = Folder::new("live-feeds-images");
    let (day, [spin]) = (day(&folder), addresses());
    let received = receive(
        &folder,
        ("cboe-pitch", &day),
        &["--spin-server", &format!("1={spin}")],
        &[
            &["--units", "1", "--spin-server", &spin][..],
            &["--faults-both", "silence=@10:00+1h", "--seed", "8"],
        ]
        .concat(),
    );
    let Received { stop, stderr, journal, .. } = received;
    assert_eq!(stop["reason"], "end of session", "{stop} {stderr}");
    assert!(stop["gap_messages_in_snapshot"].as_u64() > Some(100), "{stop} {stderr}");
    // Between the gap and the end of the image, messages are published that do not fit.
    let lost = [&stop["gap_messages_lost"], &stop["tainted_stocks"]];
    assert_eq!(lost, [&Value::from(0); 2], "{stop} {stderr}");
    assert_eq!(stop["session_suspect"], false, "{stop}");
    let symbols = rows(&["stats", &day]);
    let symbols: Vec<&str> = symbols.iter().map(|row| row[0].as_str()).collect();
    let mut orders = 0;
    for symbol in symbols.iter().filter(|symbol| symbol.chars().all(|c| c.is_ascii_uppercase())) {
        // The ids of PITCH are other numbers than those of ITCH.
        let book = |input: &str| -> Vec<String> {
            let book = ["book", input, "--symbols", symbol, "--at", "16:00", "--orders"];
            let rows = nanotape(book.iter().chain(&["--format", "csv"])).stdout;
            let fields = rows.lines().map(|row| row.split(',').collect::<Vec<_>>());
            fields.map(|row| [&row[..2], &row[3..]].concat().join(",")).collect()
        };
        let (found, expected) = (book(&journal), book(&day));
        assert_eq!(found, expected, "{symbol}");
        orders += expected.len() - 1;
    }
    assert!(orders > 100, "{orders} orders");
}

#[test]
fn two_lines_of_iex_that_are_silent_at_other_times_bring_everything() {
    let folder = Folder::new("live-feeds-iex");
    let day = day(&folder);
    for protocol in ["iex-deep", "iex-deep-plus"] {
        let _ = std::fs::remove_dir_all(folder.path("journal"));
        let faults = [
            &["--faults-a", "dup=1%,reorder=1%x4,silence=@10:00+1h"][..],
            &["--faults-b", "dup=1%,silence=@12:00+1h", "--seed", "9"],
        ];
        let received = receive(&folder, (protocol, &day), &[], &faults.concat());
        let Received { status, stop, stderr, journal } = received;
        assert_eq!(status, Some(0), "{protocol}: {stop} {stderr}");
        assert_eq!(stop["reason"], "end of session", "{protocol}: {stop} {stderr}");
        assert!(insides(&journal) == insides(&day), "{protocol}: {stderr}");
    }
}
