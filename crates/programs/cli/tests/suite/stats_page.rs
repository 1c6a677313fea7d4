//! The page of a day, `nanotape stats -o day.html`: its data against a naive count of the bytes of
//! the day, and the page in a browser, also of days that are empty, cut or hostile.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    ops::Range,
};

use nanotape_harness::browser::{Browser, count, errors};
use serde_json::{Value, json};

use crate::support::{Folder, nanotape};

const SECOND: u64 = 1_000_000_000;

/// A folder for pages beside the build.
const BUILT: &str = env!("CARGO_TARGET_TMPDIR");

/// The data of a page.
fn record_of(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"records\">").expect("the page has data");
    let (data, _) = rest.split_once("</script>").expect("they end");
    let records: Value = serde_json::from_str(data).expect("they are JSON");
    records[0].clone()
}

/// The page of an input with these options, which succeeds.
fn page_of(folder: &Folder, input: &str, options: &[&str]) -> String {
    let path = folder.path("page.html");
    let command = ["stats", input, "-o", &path, "--force"];
    let ran = nanotape(command.iter().chain(options));
    assert_eq!((ran.status, ran.stderr.as_str(), ran.stdout.as_str()), (0, "", ""));
    fs::read_to_string(path).unwrap()
}

/// A number of `N` bytes at an offset.
fn number<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + N].iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

type Side = (u64, bool);

/// What the page counts, from the bytes of a day and plain maps.
#[derive(Default)]
struct Naive {
    names: BTreeMap<u64, String>,
    orders: HashMap<u64, (Side, u64, u64)>,
    /// By side of a stock and price: shares.
    levels: HashMap<Side, BTreeMap<u64, u64>>,
    /// By stock: the times of its messages.
    times: BTreeMap<u64, Vec<u64>>,
    events: BTreeMap<u64, [u64; 7]>,
    depths: Vec<[u64; 7]>,
    all_times: Vec<u64>,
    /// The stock and the time of each change of the inside.
    changes: Vec<(u64, u64)>,
}

impl Naive {
    /// Counts the messages of a span of time, of the stocks with these names, or of all.
    fn of(day: &[u8], names: &[&str], span: Range<u64>) -> Self {
        let mut naive = Self { depths: vec![[0; 7]; 101], ..Self::default() };
        let mut rest = day;
        while let [high, low, after @ ..] = rest {
            let length = usize::from(u16::from_be_bytes([*high, *low]));
            naive.message(&after[..length], names, &span);
            rest = &after[length..];
        }
        naive
    }

    fn message(&mut self, message: &[u8], names: &[&str], span: &Range<u64>) {
        let (kind, locate, time) = (message[0], number::<2>(message, 1), number::<6>(message, 5));
        if kind == b'R' {
            let name = String::from_utf8_lossy(&message[11..19]).trim_end().to_owned();
            self.names.insert(locate, name);
        }
        let place = self.place(message);
        let depth = place.map(|(side, price)| self.better(side, price).min(100));
        let before = self.inside(locate);
        self.apply(message, locate);
        let is_selected = names.is_empty()
            || self.names.get(&locate).is_some_and(|name| names.contains(&name.as_str()));
        if !is_selected || !span.contains(&time) {
            return;
        }
        let column = match kind {
            b'A' | b'F' => 0,
            b'E' | b'C' => 1,
            b'X' | b'D' => 2,
            b'U' => 3,
            b'P' | b'Q' => 5,
            _ => 6,
        };
        self.all_times.push(time);
        self.events.entry(locate).or_default()[column] += 1;
        if locate > 0 {
            self.times.entry(locate).or_default().push(time);
        }
        if let Some(depth) = depth {
            self.depths[depth][column] += 1;
        }
        if self.inside(locate) != before {
            self.changes.push((locate, time));
        }
    }

    /// Where a message about an order acts, in the book before it.
    fn place(&self, message: &[u8]) -> Option<(Side, u64)> {
        let locate = number::<2>(message, 1);
        match message[0] {
            b'A' | b'F' => Some(((locate, message[19] == b'B'), number::<4>(message, 32))),
            b'E' | b'C' | b'X' | b'D' | b'U' => {
                let (side, price, _) = self.orders.get(&number::<8>(message, 11))?;
                let price = if message[0] == b'U' { number::<4>(message, 31) } else { *price };
                Some((*side, price))
            }
            _ => None,
        }
    }

    fn better(&self, side: Side, price: u64) -> usize {
        let Some(levels) = self.levels.get(&side) else { return 0 };
        match side.1 {
            true => levels.range(price + 1..).count(),
            false => levels.range(..price).count(),
        }
    }

    /// Price and shares of the best bid and the best offer.
    fn inside(&self, locate: u64) -> [Option<(u64, u64)>; 2] {
        [true, false].map(|is_bid| {
            let levels = self.levels.get(&(locate, is_bid))?;
            let best = if is_bid { levels.last_key_value() } else { levels.first_key_value() };
            best.map(|(&price, &shares)| (price, shares))
        })
    }

    fn apply(&mut self, message: &[u8], locate: u64) {
        let reference = if message.len() < 19 { 0 } else { number::<8>(message, 11) };
        match message[0] {
            b'A' | b'F' => {
                let (side, price) = self.place(message).expect("it is an add");
                self.enter(reference, side, price, number::<4>(message, 20));
            }
            b'E' | b'C' | b'X' => self.reduce(reference, number::<4>(message, 19)),
            b'D' => self.reduce(reference, u64::MAX),
            b'U' => {
                let ((_, is_bid), ..) = self.orders[&reference];
                self.reduce(reference, u64::MAX);
                let (new, shares) = (number::<8>(message, 19), number::<4>(message, 27));
                self.enter(new, (locate, is_bid), number::<4>(message, 31), shares);
            }
            _ => {}
        }
    }

    fn enter(&mut self, reference: u64, side: Side, price: u64, shares: u64) {
        self.orders.insert(reference, (side, price, shares));
        *self.levels.entry(side).or_default().entry(price).or_default() += shares;
    }

    fn reduce(&mut self, reference: u64, shares: u64) {
        let (side, price, left) = self.orders.get_mut(&reference).expect("the order is live");
        let shares = shares.min(*left);
        *left -= shares;
        let (side, price, is_over) = (*side, *price, *left == 0);
        let levels = self.levels.get_mut(&side).expect("its side has levels");
        let level = levels.get_mut(&price).expect("its level is there");
        *level -= shares;
        if *level == 0 {
            levels.remove(&price);
        }
        if is_over {
            self.orders.remove(&reference);
        }
    }
}

/// How many times fall into windows of a length, by window.
fn windows(times: &[u64], length: u64) -> BTreeMap<u64, u64> {
    let mut windows = BTreeMap::new();
    times.iter().for_each(|time| *windows.entry(time / length).or_default() += 1);
    windows
}

/// The first window with the most times.
fn busiest(times: &[u64], length: u64) -> (u64, Vec<u64>) {
    let windows = windows(times, length);
    let most = windows.values().max().expect("there are times");
    let (&window, _) = windows.iter().find(|(_, count)| *count == most).unwrap();
    (window, times.iter().copied().filter(|time| time / length == window).collect())
}

/// Checks a scale of the page against all times of its window.
fn check_scale(scale: &Value, begins: u64, bin: u64, bins: usize, times: &[u64]) {
    let by_bin = windows(times, bin);
    let expected: Vec<u64> = (0..bins as u64)
        .map(|place| by_bin.get(&(begins / bin + place)).copied().unwrap_or(0))
        .collect();
    assert_eq!((&scale["begins_ns"], &scale["bin_ns"]), (&json!(begins), &json!(bin)));
    assert_eq!(scale["counts"], json!(expected));
}

/// Checks the scale of a day, whose bins have a length that fits the day.
fn check_day(scale: &Value, times: &[u64], all: &[u64]) {
    let bin = scale["bin_ns"].as_u64().unwrap();
    let (first, last) = (all.iter().min().unwrap() / bin, all.iter().max().unwrap() / bin);
    let bins = (last - first + 1) as usize;
    assert!(bins <= 1_200 && bin.is_multiple_of(SECOND), "{bins} bins of {bin} ns");
    check_scale(scale, first * bin, bin, bins, times);
    let seconds = windows(times, SECOND);
    let largest: Vec<u64> = (first..=last)
        .map(|place| {
            let bins = place * bin / SECOND..(place + 1) * bin / SECOND;
            seconds.range(bins).map(|(_, count)| *count).max().unwrap_or(0)
        })
        .collect();
    assert_eq!(scale["largest_second"], json!(largest));
}

fn check_gaps(bins: &Value, times: &[&[u64]]) {
    let gaps: Vec<u64> =
        times.iter().flat_map(|times| times.windows(2).map(|pair| pair[1] - pair[0])).collect();
    let bins: Vec<[u64; 3]> = serde_json::from_value(bins.clone()).unwrap();
    assert_eq!(bins.iter().map(|bin| bin[2]).sum::<u64>(), gaps.len() as u64);
    for [low, high, count] in bins {
        let within = gaps.iter().filter(|gap| (low..high).contains(gap)).count() as u64;
        assert_eq!(within, count, "{low} to {high}");
    }
}

/// Compares all data of a page with a naive count.
fn check(record: &Value, naive: &Naive) {
    let most = |times: &[u64], length| windows(times, length).into_values().max().unwrap_or(0);
    let mut stocks: Vec<_> = naive.times.iter().collect();
    stocks.sort_by_key(|(locate, times)| (std::cmp::Reverse(times.len()), **locate));
    assert_eq!(record["messages"], naive.all_times.len());
    assert_eq!(record["stocks"], stocks.len());
    assert_eq!((&record["untimed"], &record["anomalies"]), (&json!(0), &json!(0)));
    assert_eq!(record["inside_changes"], naive.changes.len());
    for (place, (locate, times)) in stocks.iter().take(25).enumerate() {
        let activity = json!({"symbol": naive.names[locate], "messages": times.len(),
                              "events": naive.events[locate]});
        assert_eq!(record["activity"][place], activity);
    }
    let rates = stocks.iter().map(|(locate, times)| {
        json!([naive.names[locate], times.len(), most(times, SECOND), most(times, SECOND / 1_000)])
    });
    assert_eq!(record["rates"], rates.collect::<Value>());
    let mut cumulative = 0;
    let ranks = (1..).zip(&stocks).map(|(rank, (_, times))| {
        cumulative += times.len();
        json!({"rank": rank, "messages": times.len(), "cumulative": cumulative})
    });
    assert_eq!(record["concentration"], ranks.collect::<Value>());
    assert_eq!(record["depths"], json!(naive.depths));

    let arrivals = &record["arrivals"];
    check_day(&arrivals["day"], &naive.all_times, &naive.all_times);
    let (minute, times) = busiest(&naive.all_times, 60 * SECOND);
    check_scale(&arrivals["minute"], minute * 60 * SECOND, SECOND / 10, 600, &times);
    let (second, times) = busiest(&times, SECOND);
    check_scale(&arrivals["second"], second * SECOND, SECOND / 1_000, 1_000, &times);
    let (window, times) = busiest(&times, SECOND / 100);
    check_scale(&arrivals["finest"], window * SECOND / 100, 10_000, 1_000, &times);
    assert_eq!(arrivals["late"], 0);

    let changes: Vec<u64> = naive.changes.iter().map(|(_, time)| *time).collect();
    let mut by_stock: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    naive
        .changes
        .iter()
        .for_each(|(locate, time)| by_stock.entry(*locate).or_default().push(*time));
    let inside = &record["inside"];
    check_day(&inside["rate"], &changes, &naive.all_times);
    check_gaps(&inside["gaps"]["any"], &[&changes]);
    let by_stock: Vec<&[u64]> = by_stock.values().map(Vec::as_slice).collect();
    check_gaps(&inside["gaps"]["stock"], &by_stock);
}

#[test]
fn the_data_of_a_page_are_those_of_a_naive_count() {
    let folder = Folder::new("stats_page");
    let day = folder.day(60_000, 40);
    let bytes = fs::read(&day).unwrap();
    let naive = Naive::of(&bytes, &[], 0..u64::MAX);
    let used = |column: usize| naive.events.values().any(|events| events[column] > 0);
    assert!([0, 1, 2, 3, 5, 6].into_iter().all(used), "the day has every kind of message");
    assert!(naive.depths[10][0] > 0 && naive.depths[0][1] > 0, "and depth");
    let page = page_of(&folder, &day, &[]);
    let record = record_of(&page);
    check(&record, &naive);
    assert_eq!(record["selection"], json!({"symbols": [], "from_ns": null, "until_ns": null}));
    assert_eq!((&record["damage"], &record["notes"]), (&json!([]), &json!([])));
    assert!(!page.contains("id=\"damage\""));
    // The same input gives the same page, on standard output too.
    let again = nanotape(["stats", &day, "-o", "-", "--format", "html"]);
    assert_eq!((again.status, again.stdout == page), (0, true));
}

#[test]
fn a_page_of_selected_stocks_and_of_a_span_has_those_alone() {
    let folder = Folder::new("stats_page_selected");
    let day = folder.day(60_000, 40);
    let bytes = fs::read(&day).unwrap();
    let all = Naive::of(&bytes, &[], 0..u64::MAX);
    let names: Vec<&str> = all.names.values().take(3).map(String::as_str).collect();
    let record = record_of(&page_of(&folder, &day, &["--symbols", &names.join(",")]));
    check(&record, &Naive::of(&bytes, &names, 0..u64::MAX));
    assert_eq!(record["selection"]["symbols"], json!(names));
    let span = 36_000 * SECOND..50_400 * SECOND;
    let options = ["--from", "10:00", "--until", "14:00", "--symbols", names[0]];
    let record = record_of(&page_of(&folder, &day, &options));
    check(&record, &Naive::of(&bytes, &names[..1], span.clone()));
    assert_eq!(record["selection"]["from_ns"], span.start);
    assert_eq!(record["selection"]["until_ns"], span.end);
    check(&record_of(&page_of(&folder, &day, &options[..4])), &Naive::of(&bytes, &[], span));
}

/// A record of a day: its length and a message.
fn framed(message: &[u8]) -> Vec<u8> {
    [(message.len() as u16).to_be_bytes().as_slice(), message].concat()
}

/// Type, stock locate 1, tracking number, time.
fn header(kind: u8, nanos: u64) -> Vec<u8> {
    [&[kind, 0, 1, 0, 0], &nanos.to_be_bytes()[2..]].concat()
}

fn add(name: &[u8; 8], nanos: u64, reference: u64) -> Vec<u8> {
    let rest = [b"B".as_slice(), &100_u32.to_be_bytes(), name, &10_0000_u32.to_be_bytes()];
    framed(&[header(b'A', nanos), reference.to_be_bytes().to_vec(), rest.concat()].concat())
}

#[test]
fn a_page_of_one_message_has_that_message() {
    let folder = Folder::new("stats_page_one");
    let day = folder.write("one.itch50", &add(b"ONE     ", 34_200 * SECOND + 7, 1));
    let record = record_of(&page_of(&folder, &day, &[]));
    assert_eq!(
        record["activity"],
        json!([{"symbol": "ONE", "messages": 1,
                                           "events": [1, 0, 0, 0, 0, 0, 0]}])
    );
    assert_eq!(record["rates"], json!([["ONE", 1, 1, 1]]));
    assert_eq!(record["arrivals"]["day"]["counts"], json!([1]));
    assert_eq!(record["arrivals"]["finest"]["begins_ns"], 34_200 * SECOND);
    assert_eq!(record["inside"]["rate"]["counts"], json!([1]));
    assert_eq!(record["inside"]["gaps"], json!({"stock": [], "any": []}));
}

#[test]
fn a_cut_day_says_so_on_its_page_and_an_empty_one_has_no_plots() {
    let folder = Folder::new("stats_page_cut");
    let day = folder.day(20_000, 20);
    let bytes = fs::read(&day).unwrap();
    let cut = folder.write("cut.itch50", &bytes[..bytes.len() / 2 + 3]);
    let path = folder.path("cut.html");
    let ran = nanotape(["stats", &cut, "-o", &path]);
    assert_eq!(ran.status, 1);
    let page = fs::read_to_string(&path).unwrap();
    let line = ran.stderr.trim_end().strip_prefix("nanotape: ").unwrap();
    assert!(line.contains("cut off in the record at offset"), "{line}");
    assert_eq!(record_of(&page)["damage"], json!([line]));
    assert!(page.contains(&format!("<li>{line}</li>")), "{line}");
    // The page is refused with --strict, and an old one stays.
    let ran = nanotape(["stats", &cut, "-o", &path, "--force", "--strict"]);
    assert_eq!((ran.status, fs::read_to_string(&path).unwrap() == page), (1, true));

    let mut system = framed(&[header(b'S', SECOND), b"O".to_vec()].concat());
    // About no stock.
    system[4] = 0;
    let empty = folder.write("empty.itch50", &system);
    let record = record_of(&page_of(&folder, &empty, &[]));
    assert_eq!((&record["messages"], &record["stocks"]), (&json!(1), &json!(0)));
    assert_eq!(record["depths"], json!([]));
    // A span without messages.
    let record = record_of(&page_of(&folder, &day, &["--from", "02:00", "--until", "02:01"]));
    assert_eq!((&record["messages"], &record["arrivals"]["day"]), (&json!(0), &json!(null)));
    let Some(browser) = Browser::find(BUILT, "stats_page_cut") else { return };
    for (name, page, plots, words) in [
        ("cut.html", page, 10, "cut off in the record at offset"),
        ("empty.html", page_of(&folder, &empty, &[]), 4, "No message changes the inside."),
    ] {
        let drawn = browser.document(name, &page);
        assert_eq!(errors(&drawn), "", "{name}");
        assert_eq!(count(&drawn, "data-drawn=\"yes\""), plots, "{name}");
        assert!(drawn.contains(words), "{name}");
        assert_eq!(count(&drawn, "could not be drawn"), 0, "{name}");
    }
}

#[test]
fn a_symbol_cannot_become_markup_in_a_page() {
    let folder = Folder::new("stats_page_hostile");
    let adds = [b"<i>&\"'/ ", b"</b><!--", b"--><img "].into_iter().zip(1..).flat_map(
        |(name, place): (&[u8; 8], u64)| {
            let mut add = add(name, 34_200 * SECOND + place, place);
            add[4] = place as u8;
            add
        },
    );
    let day = folder.write("<b>&'.itch50", &adds.collect::<Vec<u8>>());
    let page = page_of(&folder, &day, &[]);
    let symbols: Vec<_> = record_of(&page)["activity"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stock| stock["symbol"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(symbols, ["<i>&\"'/", "</b><!--", "--><img"]);
    for markup in ["<i>", "</b>", "<img", "<b>"] {
        assert_eq!(count(&page, markup), 0, "{markup}");
    }
    let Some(browser) = Browser::find(BUILT, "stats_page_hostile") else { return };
    let drawn = browser.document("hostile.html", &page);
    assert_eq!(errors(&drawn), "");
    assert!(drawn.contains("&lt;i&gt;&amp;\"'/</text>") || drawn.contains("&lt;i&gt;&amp;\"'/"));
    for markup in ["<i>", "<img", "<b>&"] {
        assert_eq!(count(&drawn, markup), 0, "{markup}");
    }
}

#[test]
fn every_kind_of_input_has_a_page() {
    let folder = Folder::new("stats_page_inputs");
    let day = folder.day(20_000, 20);
    let of_day = record_of(&page_of(&folder, &day, &[]));
    let dbn = folder.path("day.dbn");
    let ran = nanotape(["tap", &day, "-o", &dbn, "--date", "2019-12-30"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let path = folder.path("dbn.html");
    let ran = nanotape(["stats", &dbn, "-o", &path]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let record = record_of(&fs::read_to_string(path).unwrap());
    assert_eq!(record["input"], "DBN file");
    assert!(record["notes"][0].as_str().unwrap().contains("the file has records"));
    // Records have the changes of the inside of their day.
    for field in ["inside_changes", "inside"] {
        assert_eq!(record[field], of_day[field], "{field}");
    }
    for protocol in ["iex-deep", "iex-deep-plus", "cboe-pitch"] {
        let capture = folder.capture(protocol, 20_000, 20);
        let record = record_of(&page_of(&folder, &capture, &[]));
        assert_eq!(record["has_orders"], protocol != "iex-deep", "{protocol}");
        let counts = record["arrivals"]["day"]["counts"].as_array().unwrap();
        let timed: u64 = counts.iter().map(|count| count.as_u64().unwrap()).sum();
        let messages = record["messages"].as_u64().unwrap();
        assert_eq!(timed + record["untimed"].as_u64().unwrap(), messages, "{protocol}");
        let rows = nanotape(["stats", &capture, "--format", "json"]).stdout;
        let total: Value = serde_json::from_str(rows.lines().next().unwrap()).unwrap();
        assert_eq!(total["messages"], messages, "{protocol}");
        assert_eq!(total["inside_changes"], record["inside_changes"], "{protocol}");
    }
}

#[test]
fn options_that_a_page_lacks_are_refused_and_files_are_kept() {
    let folder = Folder::new("stats_page_options");
    let day = folder.day(5_000, 5);
    let path = folder.write("day.html", b"mine");
    let ran = nanotape(["stats", &day, "-o", &path]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("day.html exists; use --force"), "{}", ran.stderr);
    let ran = nanotape(["stats", &day, "-o", &path, "--force", "--top", "5"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("--top chooses rows"), "{}", ran.stderr);
    assert_eq!(fs::read(&path).unwrap(), b"mine");
    let ran = nanotape(["stats", &day, "-o", &path, "--force", "--symbols", "NOSUCH"]);
    assert_eq!((ran.status, fs::read(&path).unwrap()), (1, b"mine".to_vec()));
    let ran = nanotape(["stats", &day, "-o", &folder.path("day.xyz")]);
    assert!(ran.stderr.contains("use .html, .csv, .json or .txt"), "{}", ran.stderr);
}
