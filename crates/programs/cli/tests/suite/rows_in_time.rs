//! `--every`, `--time` and several stocks in one table: rows at regular times equal the books that
//! `nanotape book` prints at those times.

use std::collections::BTreeMap;

use crate::support::{Folder, Ran, nanotape};

const SECOND: u64 = 1_000_000_000;

fn good(arguments: &[&str]) -> Ran {
    let ran = nanotape(arguments);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{arguments:?}");
    ran
}

fn rows_of(csv: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = csv.lines().map(|line| line.split(','));
    let names: Vec<_> = lines.next().unwrap().map(str::to_owned).collect();
    let row = |cells: std::str::Split<'_, char>| {
        names.iter().cloned().zip(cells.map(str::to_owned)).collect::<BTreeMap<_, _>>()
    };
    lines.map(row).collect()
}

/// The two busiest stocks of a day.
fn busiest(day: &str) -> [String; 2] {
    let stats = rows_of(&good(&["stats", day, "--top", "2", "--format", "csv"]).stdout);
    [1, 2].map(|row| stats[row]["symbol"].clone())
}

/// Each row of a period is the book at its time, also in a span, and each stock has every time.
#[test]
fn rows_of_a_period_are_the_books_at_their_times() {
    let folder = Folder::new("every");
    let day = folder.day(60_000, 8);
    let symbols = busiest(&day);
    let list = symbols.join(",");
    let span = ["--from", "09:30:00.5", "--until", "09:40"];
    let command = ["depth", &day, "--symbols", &list, "--levels", "2", "--format", "csv"];
    let ran = good(&[&command[..], &span, &["--every", "1m"]].concat());
    let rows = rows_of(&ran.stdout);
    for symbol in &symbols {
        let times: Vec<u64> = rows
            .iter()
            .filter(|row| row["symbol"] == *symbol)
            .map(|row| row["ts_ns"].parse().unwrap())
            .collect();
        let minutes: Vec<u64> = (1..10).map(|minute| (34_200 + 60 * minute) * SECOND).collect();
        assert_eq!(times, minutes, "{symbol}: after --from, before --until");
    }
    for row in &rows {
        let minutes = row["ts_ns"].parse::<u64>().unwrap() / (60 * SECOND);
        let at = format!("{:02}:{:02}", minutes / 60, minutes % 60);
        let book = ["book", &day, "--symbols", &row["symbol"], "--at", &at, "--levels", "2"];
        let levels = rows_of(&good(&[&book[..], &["--format", "csv"]].concat()).stdout);
        for side in ["bid", "ask"] {
            let mut of_side = levels.iter().filter(|level| level["side"] == side);
            for number in ["1", "2"] {
                let level = of_side.next();
                for value in ["price", "size"] {
                    let cell = &row[&format!("{side}_{value}_{number}")];
                    assert_eq!(Some(cell), level.map(|level| &level[value]).or(Some(&"".into())));
                }
            }
        }
    }
    // The inside at the same times.
    let ran =
        good(&[&["inside", &day, "--symbols", &list], &span[..], &["--every", "60s"]].concat());
    let insides = rows_of(&ran.stdout);
    assert_eq!(insides.len(), rows.len());
    for (inside, row) in insides.iter().zip(&rows) {
        for name in ["ts_ns", "symbol"] {
            assert_eq!(inside[name], row[name]);
        }
        for name in ["bid_price", "bid_size", "ask_price", "ask_size"] {
            assert_eq!(inside[name], row[&format!("{name}_1")], "{row:?}");
        }
    }
}

/// A span without a message of its own still has the books of its beginning; the end of the input
/// ends the rows.
#[test]
fn rows_end_where_the_input_ends_and_fill_a_quiet_span() {
    let folder = Folder::new("quiet");
    let day = folder.day(20_000, 4);
    let symbol = &busiest(&day)[0];
    let depth = ["depth", &day, "--symbols", symbol, "--levels", "1", "--format", "csv"];
    let events = rows_of(&good(&depth).stdout);
    let times: Vec<u64> = events.iter().map(|row| row["ts_ns"].parse().unwrap()).collect();
    // Between two messages of a day whose other messages are removed by no one: the longest pause.
    let all = good(&["inspect", &day, "--format", "csv"]).stdout;
    let all: Vec<u64> = rows_of(&all).iter().map(|row| row["ts_ns"].parse().unwrap()).collect();
    let first = times[0];
    let pause = all.windows(2).filter(|pair| pair[0] > first).max_by_key(|pair| pair[1] - pair[0]);
    let (from, until) = pause.map(|pair| (pair[0] + 1, pair[1] - 1)).unwrap();
    let clock = |nanos: u64| {
        let (seconds, rest) = (nanos / SECOND, nanos % SECOND);
        format!("{:02}:{:02}:{:02}.{rest:09}", seconds / 3600, seconds / 60 % 60, seconds % 60)
    };
    let span = ["--from", &clock(from), "--until", &clock(until)];
    let period = format!("{}us", (until - from) / 3 / 1_000);
    let quiet = rows_of(&good(&[&depth[..], &span, &["--every", &period]].concat()).stdout);
    assert!((2..=4).contains(&quiet.len()), "{} rows in {from}..{until}", quiet.len());
    let before = events.iter().rfind(|row| row["ts_ns"].parse::<u64>().unwrap() < from).unwrap();
    for row in &quiet {
        for name in ["ask_price_1", "ask_size_1", "bid_price_1", "bid_size_1"] {
            assert_eq!(row[name], before[name]);
        }
        assert_eq!(row["message"], "", "the number of a message before the span is unknown");
    }
    // Without a span the last row is not after the last message.
    let whole = rows_of(&good(&[&depth[..], &["--every", "10m"]].concat()).stdout);
    let last: u64 = whole.last().unwrap()["ts_ns"].parse().unwrap();
    let end = all.last().unwrap();
    assert!(last <= *end && end - last < 600 * SECOND, "{last} of {end}");
}

/// All forms of a time are the same moment.
#[test]
fn times_are_nanoseconds_utc_or_the_exchanges_clock() {
    let folder = Folder::new("time-forms");
    let path = folder.path("2019-12-30.itch50");
    good(&["synth", "-o", &path, "--messages", "5000", "--stocks", "4"]);
    let with = |form: &str, day: &str, more: &[&str]| {
        nanotape([&["inside", day, "--format", "csv", "--time", form], more].concat())
    };
    let [ns, utc, clock] =
        ["ns", "utc", "exchange"].map(|form| rows_of(&with(form, &path, &[]).stdout));
    assert!(ns.len() > 100 && ns.len() == utc.len() && ns.len() == clock.len());
    for ((ns, utc), clock) in ns.iter().zip(&utc).zip(&clock) {
        let nanos: u64 = ns["ts_ns"].parse().unwrap();
        let (seconds, rest) = (nanos / SECOND, nanos % SECOND);
        let text = |hours: u64| {
            let hours = seconds / 3600 + hours;
            format!("{hours:02}:{:02}:{:02}.{rest:09}", seconds / 60 % 60, seconds % 60)
        };
        assert_eq!(clock["time"], text(0));
        // New York is five hours behind in winter.
        let (date, hours) = if seconds / 3600 < 19 { ("30", 5) } else { continue };
        assert_eq!(utc["ts_event"], format!("2019-12-{date}T{}Z", text(hours)));
    }
    let nameless = folder.day(5_000, 4);
    let refused = with("utc", &nameless, &[]);
    assert_eq!((refused.status, refused.stdout.as_str()), (2, ""));
    assert!(refused.stderr.contains("give it, as in --date 2019-12-30"), "{}", refused.stderr);
    let dated = with("utc", &nameless, &["--date", "2019-12-30"]);
    assert_eq!((dated.status, dated.stderr.as_str()), (0, ""));
}

/// A table of several stocks is the tables of each, in the order of the messages.
#[test]
fn several_stocks_in_one_table_are_the_tables_of_each() {
    let folder = Folder::new("several");
    let day = folder.day(20_000, 6);
    let symbols = busiest(&day);
    let list = symbols.join(",");
    let of = |command: &[&str], symbols: &str| {
        let tail = ["--symbols", symbols, "--format", "csv"];
        rows_of(&good(&[command, &tail].concat()).stdout)
    };
    let commands: [&[&str]; 4] = [
        &["depth", &day, "--levels", "3"],
        &["book", &day, "--at", "12:00"],
        &["book", &day, "--at", "12:00", "--orders"],
        &["diff", &day, "10:00", "12:00"],
    ];
    for command in commands {
        let together = of(command, &list);
        let mut count = 0;
        for symbol in &symbols {
            let alone = of(command, symbol);
            assert!(!alone.is_empty() && !alone[0].contains_key("symbol"), "{command:?}");
            let own = together.iter().filter(|row| row["symbol"] == *symbol);
            let own = own.cloned().map(|mut row| (row.remove("symbol"), row).1);
            assert!(own.eq(alone.iter().cloned()), "{command:?} {symbol}");
            count += alone.len();
        }
        assert_eq!(count, together.len(), "{command:?}");
    }
}
