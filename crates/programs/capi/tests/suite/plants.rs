//! Programs in C beside a plant that runs, is too fast for them, or is recorded.

use std::{fmt::Write as _, path::Path, time::Duration};

use nanotape_harness::{Bounded as _, Task};
use nanotape_journal::{Appender, AppenderOptions};
use nanotape_plant::{
    PlantRun, ShutdownFlag,
    records::{Notice, Record, RecordKind, dbn::UNDEF_PRICE},
};
use nanotape_tap::{Event, Recorder, RecorderOptions, Subscription};
use nanotape_tape::Start;

use crate::support::{Day, Language, Link, Running, compile, config_of, example, printed};

/// A ring that holds a whole day.
const LARGE_BYTES: usize = 16 << 20;

/// One that holds some milliseconds.
const SMALL_BYTES: usize = 1 << 16;

const MESSAGES: u64 = 20_000;

/// The plant of a day, as a process.
#[test]
fn plant_process() {
    let Some(task) = Task::of_this_process() else { return };
    let config = config_of(&task.path, task.number as usize);
    PlantRun::open(&config, ShutdownFlag::new()).unwrap().run(|_| ()).unwrap();
}

fn plant_process_of(day: &Day, capacity_bytes: usize) -> std::process::Command {
    let task = Task::new("plant", day.0.path()).number(capacity_bytes as u64);
    task.command("plants::plant_process")
}

fn run(day: &Day, capacity_bytes: usize) {
    PlantRun::open(&day.config(capacity_bytes), ShutdownFlag::new()).unwrap().run(|_| ()).unwrap();
}

/// What the example prints of a ring or a journal, read in Rust.
fn expected(name: &Path, symbols: &[&str]) -> String {
    let mut text = String::new();
    let symbols = symbols.iter().map(|symbol| symbol.parse().unwrap());
    let mut subscriber = Subscription::to(name)
        .symbols(symbols)
        .records([RecordKind::Bbo])
        .from(Start::Oldest)
        .open()
        .unwrap();
    while let Some(event) = subscriber.next().unwrap() {
        match event {
            Event::Record(delivery) => match delivery.record {
                Record::Bbo(bbo) => {
                    let [level] = &bbo.levels;
                    let symbol = delivery.symbol.unwrap();
                    let [bid, offer] = [level.bid_px, level.ask_px].map(shown);
                    writeln!(
                        text,
                        "{} {symbol} {} x {bid}  {offer} x {}",
                        delivery.sequence, level.bid_sz, level.ask_sz
                    )
                    .unwrap();
                }
                Record::Notice(Notice::Stop(_)) => {
                    writeln!(text, "{} the plant stopped", delivery.sequence).unwrap();
                }
                _ => {}
            },
            Event::Lost(gap) => {
                let (count, from, to) = (gap.count(), gap.from, gap.to);
                writeln!(text, "lost {count} records, {from} to {to}").unwrap();
            }
            other => panic!("{other:?}"),
        }
    }
    text + "end: closed\n"
}

fn shown(price: i64) -> String {
    match price {
        UNDEF_PRICE => "-".to_owned(),
        price => format!("{}.{:04}", price / 1_000_000_000, price % 1_000_000_000 / 100_000),
    }
}

#[test]
fn best_prices_beside_a_running_plant_are_those_of_a_reader_in_rust() {
    let day = Day::new(MESSAGES, 20);
    // The program is first, and waits for the plant.
    let running = Running::start(example("best_prices").arg(day.ring()));
    assert!(plant_process_of(&day, LARGE_BYTES).bounded_output().unwrap().status.success());
    let (text, status) = running.end();
    let expected_text = expected(&day.ring(), &[]);
    assert!(expected_text.lines().count() > 1_000 && !expected_text.contains("lost"));
    assert!(text == expected_text, "{text}");
    assert_eq!(status, Some(0));

    // A selection of stocks, with the others of its letter.
    let first = expected_text.split(' ').nth(1).unwrap();
    let pattern = format!("{}*", &first[..1]);
    let selected = example("best_prices").arg(day.ring()).arg(&pattern).bounded_output().unwrap();
    let (selected, _) = printed(&selected);
    assert_eq!(selected, expected(&day.ring(), &[&pattern]));
    assert!(selected.len() < text.len() && selected.contains(first));
}

#[test]
fn what_a_ring_has_overwritten_is_lost_with_its_numbers_or_comes_from_the_journal() {
    let day = Day::new(MESSAGES, 20);
    let journal = day.0.join("journal");
    let appender = Appender::open(&journal, &AppenderOptions::default()).unwrap();
    let options = RecorderOptions { wait: Duration::from_secs(60), ..RecorderOptions::default() };
    let ring = day.ring();
    // A plant that waits for its recorder, so that the journal has everything.
    let mut config = day.config(SMALL_BYTES);
    config.ring.wait_for = 1;
    let options = RecorderOptions { name: Some("recorder".to_owned()), ..options };
    let recorder = std::thread::spawn(move || {
        let mut recorder = Recorder::open(&ring, appender, &options).unwrap().unwrap();
        recorder.run(|_| ()).unwrap();
        recorder.close().unwrap();
    });
    PlantRun::open(&config, ShutdownFlag::new()).unwrap().run(|_| ()).unwrap();
    recorder.join().unwrap();

    let (lost, status) = printed(&example("best_prices").arg(day.ring()).bounded_output().unwrap());
    assert_eq!((&lost, status), (&expected(&day.ring(), &[]), Some(0)));
    assert!(lost.starts_with("lost ") && lost.lines().count() > 100, "{lost}");

    let mut healed = example("best_prices");
    healed.arg(day.ring()).arg("*").arg(&journal);
    let (whole, status) = printed(&healed.bounded_output().unwrap());
    assert_eq!((&whole, status), (&expected(&journal, &[]), Some(0)));
    assert!(!whole.contains("lost") && whole.lines().count() > lost.lines().count());
    // The journal alone, with its names.
    let of_journal = example("best_prices").arg(&journal).bounded_output().unwrap();
    assert_eq!(printed(&of_journal).0, whole);
}

#[test]
fn every_example_compiles_in_both_languages_and_gives_the_same_with_each_library() {
    let day = Day::new(2_000, 5);
    run(&day, LARGE_BYTES);
    let expected_text = expected(&day.ring(), &[]);
    for language in Language::ALL {
        let sources = ["best_prices.c", "dump.c"];
        let programs = sources.map(|source| compile(source, language, Link::Static));
        let [Some(best_prices), Some(dump)] = programs else { continue };
        for (mut program, is_text) in [
            (std::process::Command::new(best_prices.path()), true),
            (std::process::Command::new(dump.path()), false),
        ] {
            if !is_text {
                program.arg("ring");
            }
            let output = program.arg(day.ring()).bounded_output().unwrap();
            let (text, status) = printed(&output);
            assert_eq!(status, Some(0));
            assert!(!is_text || text == expected_text, "{language:?}: {text}");
        }
    }
    if let Some(spread) = compile("spread.cpp", Language::Cpp, Link::Shared) {
        let output = std::process::Command::new(spread.path()).arg(day.ring()).bounded_output();
        let (text, status) = printed(&output.unwrap());
        assert_eq!((text.lines().count(), status), (5, Some(0)), "{text}");
        let none = std::process::Command::new(spread.path()).arg("./none").bounded_output();
        assert_eq!(none.unwrap().status.code(), Some(1));
    }
}
