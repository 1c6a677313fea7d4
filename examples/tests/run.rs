//! The examples run, without arguments and on a file, and print the promised output.

use std::{
    fmt::Write as _,
    io::{BufRead as _, BufReader, Read as _},
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use nanotape::{
    book::{DefaultBooks, Outcome},
    engine::{BookEngine, Observer},
    feed::DaySource,
    journal::{Appender, AppenderOptions},
    market::{MarketEvent, Position},
    plant::{PlantConfig, PlantRun, ShutdownFlag},
    ring::Start,
    synth::{Market, MarketConfig},
    tap::{
        DbnFile, LatestKeeper, LatestKeeperOptions, Recorder, RecorderOptions, Subscription,
        states::CopiedStocks,
    },
    types::Symbol,
};
use nanotape_harness::Scratch;

/// Like a program outside of this repository.
#[test]
fn the_examples_name_one_crate_of_nanotape() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for entry in folder.read_dir().unwrap().chain(folder.join("benches").read_dir().unwrap()) {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|suffix| suffix == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(!text.contains("nanotape_"), "{}", path.display());
            count += 1;
        }
    }
    assert_eq!(count, 16);
}

/// The path of an example.
fn program(example: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap().join("examples");
    folder.join(format!("{example}{}", std::env::consts::EXE_SUFFIX))
}

/// The output of an example. `cargo test` builds the examples beside the tests.
fn output_of(example: &str, arguments: &[&str]) -> Result<String, String> {
    let built = "run the tests of the whole package, so that the examples are built";
    let output = Command::new(program(example)).args(arguments).output().expect(built);
    let text = String::from_utf8(output.stdout).expect("examples print UTF-8");
    if output.status.success() {
        Ok(text)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn line<'a>(text: &'a str, start: &str) -> &'a str {
    text.lines().find(|line| line.trim_start().starts_with(start)).unwrap_or_else(|| {
        panic!("no line begins with {start:?} in\n{text}");
    })
}

fn day_file(place: &Scratch, name: &str) -> PathBuf {
    let config = MarketConfig { messages: 5_000, symbols: 10, seed: 9, ..MarketConfig::default() };
    let mut bytes = Vec::new();
    Market::new(config).unwrap().write_to(&mut bytes).unwrap();
    std::fs::create_dir_all(place.path()).unwrap();
    let path = place.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn decode_a_file_shows_messages_an_order_and_a_census() {
    let text = output_of("01_decode_a_file", &[]).unwrap();
    assert!(line(&text, "1 at byte   0").contains("event_code=O(StartOfMessages)"), "{text}");
    assert!(line(&text, "price").contains('.'));
    assert!(line(&text, "S ").ends_with(" 6  System Event"), "{text}");
    assert!(line(&text, "20000 messages in").ends_with("; end of file"));
    assert!(!text.contains("damage"));
}

#[test]
fn decode_a_file_reads_the_file_it_is_given() {
    let place = Scratch::on_disk("decode");
    let path = day_file(&place, "decode.itch50");
    let text = output_of("01_decode_a_file", &[path.to_str().unwrap()]).unwrap();
    assert!(text.starts_with(path.to_str().unwrap()));
    assert!(line(&text, "5000 messages in").ends_with("; end of file"));
}

#[test]
fn append_and_tail_goes_on_where_it_was() {
    let place = Scratch::on_disk("append-and-tail");
    let path = place.path().to_str().unwrap();
    for first in [1, 201] {
        let text = output_of("06_append_and_tail", &[path, "200"]).unwrap();
        assert!(text.contains(&format!(": excerpt {first} is the next")), "{text}");
        let last = first + 199;
        assert_eq!(
            line(&text, "followed"),
            format!("followed 200 excerpts live, the last one {last}")
        );
        let half: u64 =
            line(&text, "the first one of").rsplit(' ').next().unwrap().parse().unwrap();
        // Excerpts may have the same time, if the clock is coarse.
        assert!((first + 1..=first + 100).contains(&half), "{text}");
        assert_eq!(line(&text, "backwards"), format!("backwards: {last:>6}  bid 100.99"));
    }
}

#[test]
fn recover_after_a_crash_finds_everything_again_and_again() {
    let place = Scratch::on_disk("recover");
    for _ in 0..3 {
        let text =
            output_of("07_recover_after_a_crash", &[place.path().to_str().unwrap()]).unwrap();
        assert!(line(&text, "the appender was killed").contains("signal: 9"), "{text}");
        assert!(line(&text, "the next excerpt").ends_with("nothing is lost"), "{text}");
        assert!(line(&text, "read ").ends_with("each once and in order"), "{text}");
    }
}

#[test]
fn build_a_book_shows_both_sides_and_a_queue() {
    let text = output_of("02_build_a_book", &[]).unwrap();
    assert!(line(&text, "a synthetic day").ends_with("then stopped before the end"), "{text}");
    assert!(text.contains(" at noon: Normal"), "{text}");
    let first = line(&text, "order ");
    assert!(first.ends_with(" 0 ahead"), "no order is ahead of the first: {text}");
    assert_eq!(line(&text, "tainted"), "tainted: no");
    let price = |side| -> f64 {
        let below = text.lines().skip_while(|line| !line.trim_start().starts_with(side)).nth(1);
        below.unwrap().split_whitespace().next().unwrap().parse().unwrap()
    };
    assert!(price("bid ") < price("ask "), "{text}");
}

#[test]
fn build_a_book_takes_a_file_and_a_symbol() {
    let place = Scratch::on_disk("book");
    let path = day_file(&place, "book.itch50");
    let error = output_of("02_build_a_book", &[path.to_str().unwrap(), "NOSUCH"]).unwrap_err();
    assert!(error.contains("no such stock"), "{error}");
    let text = output_of("02_build_a_book", &[path.to_str().unwrap()]).unwrap();
    assert!(text.contains(" at noon: "), "{text}");
}

/// Both processes run at once: the reader starts after the writer has reported the ring.
#[test]
fn a_subscriber_prints_what_the_publisher_of_another_process_published() {
    let ring = std::env::temp_dir().join(format!("nanotape-examples-{}", std::process::id()));
    let name = ring.to_str().unwrap().to_owned();
    let mut writer = Command::new(program("03_publish_on_the_ring"))
        .args([name.as_str(), "20"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut published = BufReader::new(writer.stdout.take().unwrap());
    let mut first = String::new();
    published.read_line(&mut first).unwrap();
    assert_eq!(first, format!("{name}: created\n"));
    let text = output_of("04_subscribe", &[name.as_str()]).unwrap();
    let mut rest = String::new();
    published.read_to_string(&mut rest).unwrap();
    assert!(writer.wait().unwrap().success());
    let expected: String =
        rest.lines().map(|line| line.replacen("  bid", "  type 1  bid", 1) + "\n").collect();
    assert_eq!(text, format!("{expected}the writer is closed\n"));
    assert_eq!(rest.lines().count(), 20);

    // The next writer continues where the first one ended.
    let text = output_of("03_publish_on_the_ring", &[name.as_str(), "1"]).unwrap();
    assert_eq!(text, format!("{name}: taken over, its writer was closed\n    21  bid 100.00\n"));
    std::fs::remove_file(ring).unwrap();
}

/// The best prices of one stock, directly from the books, as the example prints them.
struct Insides {
    symbol: Symbol,
    lines: String,
}

impl Observer<DefaultBooks> for Insides {
    fn after(
        &mut self,
        engine: &BookEngine<DefaultBooks>,
        _: Position,
        _: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        if let Some(outcome) = outcome
            && outcome.inside_changed
            && engine.directory().symbol(outcome.stock_locate) == Some(self.symbol)
        {
            let inside = engine.books().book(outcome.stock_locate).inside();
            let [bid, offer] = [inside.bid, inside.offer].map(|quote| match quote {
                Some(quote) => {
                    let units = engine.books().price_scale().ten_thousandths(quote.price);
                    let (whole, part) = (units / 10_000, units % 10_000);
                    format!("{} at {whole}.{part:04}", quote.shares.get())
                }
                None => "-".to_owned(),
            });
            writeln!(self.lines, "{:<8}  {bid:>18}  {offer:>18}", self.symbol.to_string()).unwrap();
        }
        ControlFlow::Continue(())
    }
}

#[test]
fn best_prices_of_a_plant_are_printed_from_its_start_to_its_stop() {
    let place = Scratch::on_disk("prices");
    let day = day_file(&place, "prices_20191230.itch50");
    let mut plant = BookEngine::new(DefaultBooks::with_capacity(1 << 10));
    let report = plant.run(&mut DaySource::open(&day).unwrap(), &mut (), |_| ()).unwrap();
    assert!(report.is_good(), "{report}");
    let (_, symbol) = plant.directory().iter().next().unwrap();
    let mut expected = Insides { symbol, lines: String::new() };
    let mut again = BookEngine::new(DefaultBooks::with_capacity(1 << 10));
    let report = again.run(&mut DaySource::open(&day).unwrap(), &mut expected, |_| ()).unwrap();
    assert!(report.is_good(), "{report}");
    assert!(expected.lines.lines().count() > 10);

    let mut config = PlantConfig::default();
    config.input.file = day;
    config.ring.name = place.path().join("ring");
    PlantRun::open(&config, ShutdownFlag::new()).unwrap().run(|_| ()).unwrap();
    let arguments = [config.ring.name.to_str().unwrap(), &symbol.to_string()];
    let text = output_of("05_subscribe_to_best_prices", &arguments).unwrap();
    let (start, rest) = text.split_once('\n').unwrap();
    assert!(start.starts_with("trade date 2019-12-30, "), "{start}");
    let stop = rest.strip_prefix(&expected.lines).unwrap();
    assert!(stop.starts_with("end of input: 5000 messages, ") && stop.ends_with('\n'), "{stop}");

    let error = output_of("05_subscribe_to_best_prices", &[arguments[0], "TOOLONGASYMBOL"]);
    assert!(error.unwrap_err().contains("ParseSymbolError"));
}

#[test]
fn a_late_reader_has_the_book_of_the_snapshot_and_reads_everything_after_it() {
    let place = Scratch::on_disk("late");
    let day = day_file(&place, "late_20191230.itch50");
    let mut config = PlantConfig::default();
    config.input.file = day;
    config.ring.name = place.path().join("ring");
    let journal = place.path().join("journal");
    let symbol = {
        let mut plant = PlantRun::open(&config, ShutdownFlag::new()).unwrap();
        plant.run(|_| ()).unwrap();
        let (_, symbol) = plant.engine().directory().iter().next().unwrap();
        symbol
    };
    let appender = Appender::open(&journal, &AppenderOptions::default()).unwrap();
    let options = RecorderOptions { mode: 0o600, ..RecorderOptions::default() };
    let mut recorder = Recorder::open(&config.ring.name, appender, &options).unwrap().unwrap();
    recorder.run(|_| ()).unwrap();
    recorder.close().unwrap();
    let paths = [&config.ring.name, &journal].map(|path| path.to_str().unwrap());
    let arguments = [paths[0], paths[1], &symbol.to_string()];
    let text = output_of("09_join_late_and_lose_nothing", &arguments).unwrap();
    assert!(text.lines().count() > 10, "{text}");
    assert!(text.ends_with("everything that the plant published was read: true\n"), "{text}");
}

#[test]
fn a_reader_begins_with_the_newest_state_and_goes_on_with_each_trade() {
    let place = Scratch::on_disk("newest");
    let day = day_file(&place, "newest_20191230.itch50");
    let mut config = PlantConfig::default();
    config.input.file = day;
    config.ring.name = place.path().join("ring");
    PlantRun::open(&config, ShutdownFlag::new()).unwrap().run(|_| ()).unwrap();
    let map = place.path().join("map");
    let state = |map: &Path| {
        let copied = CopiedStocks::read(map, 2).unwrap();
        let most = copied.stocks.into_iter().max_by_key(|(_, state)| state.trades());
        most.unwrap()
    };
    // A keeper that has read a part of the run.
    let options = LatestKeeperOptions::default();
    let mut keeper = LatestKeeper::open(&config.ring.name, &map, &options).unwrap();
    for _ in 0..10 {
        keeper.step(|_| ()).unwrap();
    }
    let (symbol, part) = state(&map);
    let arguments = [config.ring.name.to_str().unwrap(), map.to_str().unwrap()];
    let arguments = [arguments[0], arguments[1], &symbol.to_string()];
    let text = output_of("15_begin_with_the_newest_state", &arguments).unwrap();
    keeper.run(|_| ()).unwrap();
    keeper.close().unwrap();
    let copied = CopiedStocks::read(&map, 2).unwrap();
    let (_, whole) = copied.stocks.iter().find(|(of, _)| *of == symbol).unwrap();
    assert!(part.trades() > 0 && whole.trades() > part.trades(), "{part:?}, {whole:?}");
    assert!(
        text.contains(&format!("\n{} shares so far, reliable: true\n", part.volume())),
        "{text}"
    );
    let trades = text.lines().filter(|line| line.contains(" shares at ")).count() as u64;
    assert_eq!(trades, whole.trades() - part.trades());
    let average = whole.vwap().unwrap() as f64 / 1e9;
    let end = format!("; {} shares at {average:.4}\n", whole.volume());
    assert!(text.ends_with(&end), "{text}, expected {end}");
}

#[test]
fn any_input_gives_the_same_best_prices() {
    let place = Scratch::on_disk("any");
    let day = day_file(&place, "any_20191230.itch50");
    let (dbn, journal) = (place.path().join("file"), place.path().join("folder"));
    let mut config = PlantConfig::default();
    config.input.file.clone_from(&day);
    config.ring.name = place.path().join("ring");
    PlantRun::open(&config, ShutdownFlag::new()).unwrap().run(|_| ()).unwrap();
    let appender = Appender::open(&journal, &AppenderOptions::default()).unwrap();
    let options = RecorderOptions { mode: 0o600, ..RecorderOptions::default() };
    let mut recorder = Recorder::open(&config.ring.name, appender, &options).unwrap().unwrap();
    recorder.run(|_| ()).unwrap();
    recorder.close().unwrap();
    let mut file = DbnFile::new(std::fs::File::create(&dbn).unwrap(), &[]);
    let mut subscriber = Subscription::to(&journal).from(Start::Oldest).open().unwrap();
    while let Some(event) = subscriber.next().unwrap() {
        file.add(&event).unwrap();
    }
    file.finish(&subscriber).unwrap();
    let [expected, of_journal, of_dbn] = [&day, &journal, &dbn].map(|input| {
        let text = output_of("13_any_input", &[input.to_str().unwrap()]).unwrap();
        assert!(text.ends_with("everything was there and could be read: true\n"), "{text}");
        text
    });
    assert!(expected.lines().count() > 1_000, "{expected}");
    assert_eq!(of_journal, expected);
    assert_eq!(of_dbn, expected);
    let error = output_of("13_any_input", &["no-such-input"]).unwrap_err();
    assert!(error.contains("no-such-input"), "{error}");
}

#[test]
fn a_log_is_read_back_from_its_journal_and_goes_on_in_it() {
    let place = Scratch::on_disk("log");
    for run in 1..=2 {
        let text = output_of("08_log_to_a_journal", &[place.path().to_str().unwrap()]).unwrap();
        let of = |line: &str| text.lines().filter(|found| found.ends_with(line)).count();
        let session = "session{day=\"2019-12-30\"}:";
        let module = "08_log_to_a_journal";
        for line in ["A", "B"] {
            let line =
                format!("INFO {session}line{{name=\"{line}\"}}: {module}: joined port=26477");
            assert_eq!(of(&line), run, "{line}\n{text}");
        }
        assert_eq!(text.matches("lost messages gap=17 first=1002").count(), run);
        assert_eq!(of("no price error=invalid float literal text=\"12,5\""), run, "{text}");
        assert!(!text.contains("not logged"));
        assert_eq!(text.lines().count(), 5 * run + 1);
        assert_eq!(text.lines().last(), Some("0 events lost"));
    }
}

#[test]
fn slow_turns_are_reported_with_their_causes() {
    let text = output_of("10_why_was_it_slow", &[]).unwrap();
    // On a busy machine the wait for a processor after the sleep may be the longer part.
    let is_off = |cause: &&str| line(&text, "turn 8193: ").ends_with(*cause);
    assert!(["blocked or stopped", "preempted"].iter().any(is_off), "{text}");
    assert!(text.contains(" of 16384 turns took 2000 ns or more"), "{text}");
}

#[test]
fn stages_are_timed_while_they_are_switched_on() {
    let text = output_of("11_where_the_time_went", &[]).unwrap();
    let parts: Vec<&str> = text.split("spans overwritten before they were read\n").collect();
    assert_eq!(parts.len(), 4, "{text}");
    let is_none = |line: &str| line.contains(" 0 spans, ");
    let [off, some, every] = [1, 2, 3].map(|part| &parts[part]);
    let stages = |part: &str| part.lines().filter(|line| line.starts_with("  work.")).count();
    assert!([off, some, every].iter().all(|part| stages(part) == 2), "{text}");
    let are_none = |part: &str| part.lines().filter(|line| is_none(line)).count();
    assert_eq!([off, some, every].map(|part| are_none(part)), [2, 0, 0], "{text}");
}

#[test]
fn a_second_feed_is_behind_by_the_delay_that_it_was_given() {
    let text = output_of("12_how_far_behind", &[]).unwrap();
    let rows = text.lines().filter(|line| line.contains(" us  "));
    let microseconds = |row: &str| -> Vec<f64> {
        let words = row.split(|letter: char| !letter.is_ascii_digit() && letter != '.');
        words.filter_map(|word| word.parse().ok()).collect()
    };
    let rows: Vec<Vec<f64>> = rows.map(microseconds).collect();
    assert_eq!(rows.len(), 10, "{text}");
    for row in &rows {
        // The first second, the truth, and two estimates with their intervals.
        let &[from, truth, by_value, low, high, by_lag, ..] = &row[..] else { panic!("{text}") };
        // The delay in the middle of the window; jitter and the updates before it add to some.
        assert!((0.0..10.0).contains(&(truth - (360.0 + 2.0 * from))), "{text}");
        assert!(low <= by_value && by_value <= high, "{text}");
        assert!([by_value, by_lag].iter().all(|found| (found - truth).abs() < 10.0), "{text}");
    }
    let grows = microseconds(line(&text, "it grows by "));
    assert!(grows[1] <= 2.0 && 2.0 <= grows[2], "{text}");
}

#[test]
fn every_example_is_short_and_says_what_you_will_see() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (name, most) in [
        ("01_decode_a_file.rs", 100),
        ("02_build_a_book.rs", 100),
        ("03_publish_on_the_ring.rs", 60),
        ("04_subscribe.rs", 40),
        ("05_subscribe_to_best_prices.rs", 60),
        ("08_log_to_a_journal.rs", 100),
        ("09_join_late_and_lose_nothing.rs", 80),
        ("10_why_was_it_slow.rs", 60),
        ("11_where_the_time_went.rs", 110),
        ("12_how_far_behind.rs", 100),
        ("13_any_input.rs", 25),
        ("15_begin_with_the_newest_state.rs", 70),
    ] {
        let source = std::fs::read_to_string(folder.join(name)).unwrap();
        assert!(source.starts_with("//!") && source.contains("you will see"), "{name}");
        assert!(source.lines().count() < most, "{name} has {} lines", source.lines().count());
    }
}
