//! `nanotape synth` with known delays and leads: the days are valid, and the truth is what an
//! independent reading of both days finds.

use std::{collections::BTreeMap, fs};

use crate::support::{Folder, nanotape};

/// Runs the program, which must succeed silently; returns its standard output.
fn good(arguments: &[&str]) -> String {
    let ran = nanotape(arguments);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{arguments:?}");
    ran.stdout
}

const MARKET: [&str; 6] = ["--messages", "60k", "--stocks", "20", "--seed", "3"];

/// Two days and their truth.
struct Days {
    folder: Folder,
    first: String,
    second: String,
    truth: String,
}

impl Days {
    fn new(name: &str, spec: &str, more: &[&str]) -> Self {
        let folder = Folder::new(name);
        let path = |name| folder.path(name);
        let (first, second, truth) = (path("a.itch50"), path("b.itch50"), path("truth.csv"));
        let files = ["--second-output", &second, "--truth", &truth];
        good(&[&["synth", "-o", &first, "--second-feed", spec], &files[..], more].concat());
        for day in [&first, &second] {
            assert!(good(&["check", day]).contains("no violation"), "{spec}");
        }
        Self { folder, first, second, truth }
    }
}

/// Per symbol: times and quotes of `nanotape inside`.
fn insides(day: &str) -> BTreeMap<String, Vec<(i64, String)>> {
    let mut insides = BTreeMap::<_, Vec<_>>::new();
    for line in good(&["inside", day, "--format", "csv"]).lines().skip(1) {
        let (time, rest) = line.split_once(',').unwrap();
        let (symbol, quote) = rest.split_once(',').unwrap();
        let row = (time.parse().unwrap(), quote.to_owned());
        insides.entry(symbol.to_owned()).or_default().push(row);
    }
    insides
}

/// Rows of a CSV file by the names of their columns.
fn rows(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let names: Vec<_> = lines.next().unwrap().collect();
    lines.map(|cells| names.iter().cloned().zip(cells).collect()).collect()
}

fn number(row: &BTreeMap<String, String>, name: &str) -> i64 {
    row[name].parse().unwrap_or_else(|_| panic!("{name} of {row:?}"))
}

#[test]
fn without_noise_the_second_day_shows_every_inside_later_by_the_delay() {
    for (spec, delay_ns) in [("delay=350us", 350_000), ("delay=-2ms", -2_000_000)] {
        let days = Days::new("synth-steady", spec, &MARKET);
        let first = insides(&days.first);
        let later = |rows: &Vec<(i64, String)>| -> Vec<_> {
            rows.iter().map(|(time, quote)| (time + delay_ns, quote.clone())).collect()
        };
        let expected: BTreeMap<_, _> =
            first.iter().map(|(symbol, rows)| (symbol.clone(), later(rows))).collect();
        assert!(insides(&days.second) == expected && first.len() > 10);
        let truth = rows(&fs::read_to_string(&days.truth).unwrap());
        for row in &truth {
            for name in ["delay_p05_ns", "delay_median_ns", "delay_p95_ns"] {
                assert_eq!(number(row, name), delay_ns);
            }
        }
        let updates: i64 = truth.iter().map(|row| number(row, "updates")).sum();
        assert_eq!(updates, first.values().map(|rows| rows.len() as i64).sum::<i64>());
        // The first day is the day without a second.
        let alone = days.folder.path("alone.itch50");
        good(&[&["synth", "-o", &alone], &MARKET[..]].concat());
        assert!(fs::read(&alone).unwrap() == fs::read(&days.first).unwrap());
    }
}

/// With delays alone, the insides of both days are pairs: their differences are the truth.
#[test]
fn truth_is_what_the_insides_of_both_days_show() {
    let by_stock = [&MARKET[..], &["--truth-by-stock", "--truth-window", "60s"]].concat();
    let spec = "delay=1ms,drift=50us/s,swing=10ms/7s,jitter=300us";
    let days = Days::new("synth-truth", spec, &by_stock);
    let (first, second) = (insides(&days.first), insides(&days.second));
    let mut delays = BTreeMap::<(i64, &str), Vec<i64>>::new();
    for (symbol, rows) in &first {
        assert_eq!(rows.len(), second[symbol].len());
        for ((time, quote), (shown, again)) in rows.iter().zip(&second[symbol]) {
            assert_eq!(quote, again);
            for name in [symbol.as_str(), ""] {
                delays.entry((time / 60_000_000_000, name)).or_default().push(shown - time);
            }
        }
    }
    let truth = rows(&fs::read_to_string(&days.truth).unwrap());
    assert_eq!(truth.len(), delays.len());
    for row in &truth {
        let window = number(row, "from_ns") / 60_000_000_000;
        let delays = delays.get_mut(&(window, row["symbol"].as_str())).unwrap();
        delays.sort_unstable();
        let count = delays.len();
        for (name, percent) in [("delay_p05_ns", 5), ("delay_median_ns", 50), ("delay_p95_ns", 95)]
        {
            assert_eq!(number(row, name), delays[(percent * count).div_ceil(100) - 1], "{row:?}");
        }
        assert_eq!((number(row, "updates"), number(row, "shown")), (count as i64, count as i64));
    }
}

/// With losses and conflation, what is shown is a part of the first day, at a fixed distance.
#[test]
fn lost_and_conflated_updates_are_counted_and_the_others_are_in_place() {
    let days = Days::new("synth-losses", "delay=350us,conflate=10%,lost=2%", &MARKET);
    let (first, second) = (insides(&days.first), insides(&days.second));
    let truth = rows(&fs::read_to_string(&days.truth).unwrap());
    let sum = |name: &str| truth.iter().map(|row| number(row, name)).sum::<i64>();
    let (updates, shown) = (sum("updates"), sum("shown"));
    assert_eq!(updates, shown + sum("conflated") + sum("lost"));
    assert!((0.07..0.13).contains(&(sum("conflated") as f64 / updates as f64)));
    assert!((0.005..0.05).contains(&(sum("lost") as f64 / updates as f64)));
    let mut in_place = 0;
    for (symbol, shown) in &second {
        for (time, quote) in shown {
            in_place += i64::from(first[symbol].contains(&(time - 350_000, quote.clone())));
        }
    }
    // A row less where an update brings back what is shown; a row or two more where two sides
    // change at once, and at the end of a stock whose last update is lost.
    let share = in_place as f64 / shown as f64;
    assert!((0.95..=1.0).contains(&share), "{in_place} of {shown}");
}

#[test]
fn all_kinds_of_noise_together_give_a_valid_day_and_the_same_again() {
    let spec = "delay=350us,drift=20us/s,jitter=20us,conflate=10%,foreign=20%,lost=1%";
    let (one, two) = (Days::new("synth-a", spec, &MARKET), Days::new("synth-b", spec, &MARKET));
    for (own, other) in [(&one.second, &two.second), (&one.truth, &two.truth)] {
        assert!(fs::read(own).unwrap() == fs::read(other).unwrap());
    }
    let truth = rows(&fs::read_to_string(&one.truth).unwrap());
    let sum = |name: &str| truth.iter().map(|row| number(row, name)).sum::<i64>();
    let foreign = sum("foreign") as f64 / sum("shown") as f64;
    assert!((0.17..0.23).contains(&foreign), "{foreign}");
    let symbol = insides(&one.first).into_keys().next().unwrap();
    let some = Days::new("synth-some", &format!("{spec},symbols={symbol}"), &MARKET);
    assert_eq!(insides(&some.second).into_keys().collect::<Vec<_>>(), [symbol]);
}

#[test]
fn a_copy_has_every_message_with_its_number_later() {
    let days = Days::new("synth-copy", "delay=5us,shape=copy", &MARKET);
    let messages = |day: &str| -> Vec<serde_json::Value> {
        let text = good(&["inspect", day, "--format", "json"]);
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let (first, second) = (messages(&days.first), messages(&days.second));
    assert_eq!((first.len(), second.len()), (60_000, 60_000));
    let mut later = 0;
    for (own, copy) in first.iter().zip(&second) {
        for (name, value) in own.as_object().unwrap() {
            match (value.as_u64(), copy[name].as_u64()) {
                (Some(time), Some(copied)) if name == "timestamp" => {
                    assert_eq!(copied, time + 5_000);
                    later += 1;
                }
                _ => assert_eq!(value, &copy[name], "{name}"),
            }
        }
    }
    assert_eq!(later, 60_000);
    let truth = rows(&fs::read_to_string(&days.truth).unwrap());
    // Messages about no stock are not part of the truth: six events and the levels.
    let sum: i64 = truth.iter().map(|row| number(row, "updates")).sum();
    assert!((59_900..60_000).contains(&sum), "{sum}");
}

#[test]
fn waves_have_their_period_in_both_days() {
    for (wave, per_second) in [("square:2ms", 1_000), ("triangle:32ms,stocks=3", 3_000)] {
        let days =
            Days::new("synth-wave", "delay=350us", &["--wave", wave, "--hours", "10:00-10:00:02"]);
        let changes = |day: &str| -> usize { insides(day).values().map(Vec::len).sum() };
        // Stocks begin a part of a period apart; offers enter once, and orders leave at the end.
        let count = changes(&days.first) as i64;
        assert!((count - 2 * per_second).abs() <= 40, "{wave}: {count}");
        assert_eq!(changes(&days.second) as i64, count);
        let truth = rows(&fs::read_to_string(&days.truth).unwrap());
        assert!(truth.iter().take(2).all(|row| number(row, "delay_median_ns") == 350_000));
    }
}

#[test]
fn a_day_with_leads_has_its_pairs_in_the_truth() {
    let folder = Folder::new("synth-leads");
    let (day, truth) = (folder.path("day.itch50.zst"), folder.path("pairs.json"));
    let spec = "pairs=3,lead=50ms..500ms,rho=0.125,unrelated=2,ticks=5/s";
    let arguments = ["--leads", spec, "--hours", "10:00-10:05", "--truth", &truth];
    good(&[&["synth", "-o", &day], &arguments[..]].concat());
    assert!(good(&["check", &day]).contains("no violation"));
    let insides = insides(&day);
    assert_eq!(insides.len(), 8);
    let text = fs::read_to_string(&truth).unwrap();
    let pairs: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(pairs.len(), 3);
    for pair in &pairs {
        for member in ["leader", "follower"] {
            let ticks = insides[pair[member].as_str().unwrap()].len();
            // Five a second, two rows each.
            assert!((2_600..3_400).contains(&ticks), "{ticks}");
        }
        let lead_ns = pair["lead_ns"].as_u64().unwrap();
        assert!((50_000_000..=500_000_000).contains(&lead_ns) && pair["rho"] == 0.125);
    }
}

#[test]
fn files_are_kept_unless_forced_and_one_output_can_be_a_pipe() {
    let days = Days::new("synth-force", "delay=350us", &MARKET);
    let before = fs::read(&days.second).unwrap();
    let Days { first, second, truth, folder } = &days;
    let arguments = |outputs: [&str; 3], more: &[&str]| {
        let [first, second, truth] = outputs;
        let files = ["synth", "-o", first, "--second-output", second, "--truth", truth];
        let all = [&files[..], &["--second-feed", "delay=350us"], &MARKET, more].concat();
        nanotape(all)
    };
    let new = folder.path("new.itch50");
    let ran = arguments([&new, second, "-"], &[]);
    assert!(ran.status == 2 && ran.stderr.contains("exists; use --force"), "{}", ran.stderr);
    assert!(fs::metadata(&new).is_err() && fs::read(second).unwrap() == before);
    let ran = arguments([first, second, "-"], &["--force"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert_eq!(ran.stdout, fs::read_to_string(truth).unwrap());
    assert!(fs::read(second).unwrap() == before);
}

#[test]
fn wrong_requests_are_refused_with_one_line() {
    let folder = Folder::new("synth-wrong");
    let (day, second) = (folder.path("a.itch50"), folder.path("b.itch50"));
    let feed = |spec| vec!["--second-output", &second, "--second-feed", spec];
    for (arguments, expected) in [
        (feed("delay=350"), "delay=350: expected a time such as 350us"),
        (feed("dely=1us"), "\"dely=1us\": expected delay, drift"),
        (feed("shape=copy,lost=1%"), "shape=copy has all messages"),
        (feed("symbols=NOTHERE"), "the market has no stock NOTHERE"),
        (vec!["--second-feed", "delay=1us"], "--second-output"),
        (vec!["--second-output", &second], "--second-feed"),
        (vec!["--truth", &second], "--truth needs --second-feed or --leads"),
        (vec!["--leads", "", "--truth", &second], "unknown suffix; use .csv, .json or .txt"),
        (vec!["--second-output", &day, "--second-feed", "delay=1us"], "is given for two outputs"),
        (vec!["--hours", "09:30-16:00"], "--hours applies to --wave and --leads"),
        (vec!["--wave", "sine:2ms"], "expected square:PERIOD or triangle:PERIOD"),
        (vec!["--wave", "square:2ms", "--hours", "16:00-09:30"], "such as 09:30-16:00"),
        (vec!["--wave", "square:2ms", "--messages", "5"], "cannot be used with"),
        (vec!["--leads", "rho=2"], "rho=2: expected a correlation"),
    ] {
        let ran = nanotape([&["synth", "-o", &day], &arguments[..]].concat());
        assert_eq!(ran.status, 2, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{arguments:?}: {}", ran.stderr);
        assert!(fs::metadata(&day).is_err() && fs::metadata(&second).is_err());
    }
}
