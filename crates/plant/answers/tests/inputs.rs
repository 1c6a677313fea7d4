//! Every kind of input is found by its content, and gives the same books and the same records.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use nanotape_answers::{
    BookRow, BookRows, Choice, Input, InputError, InputKind, InputOptions, RecordSpan, RunChoice,
    Session, Span,
};
use nanotape_feed::CaptureChoice;
use nanotape_harness::Scratch;
use nanotape_journal::{Appender, AppenderOptions, Severity};
use nanotape_plant::{
    Moment, PlantConfig, PlantRun, ShutdownFlag, TradeDate,
    records::{Header, RecordKind},
};
use nanotape_synth::{Market, MarketConfig};
use nanotape_tap::{DbnFile, Event, Recorder, RecorderOptions, Subscription};
use nanotape_types::Symbol;

const DATE: &str = "2019-12-30";

/// One day as a day file, as the folder of a journal, as a DBN file, and on a ring.
struct Day {
    day: PathBuf,
    journal: PathBuf,
    dbn: PathBuf,
    ring: PathBuf,
    _scratch: Scratch,
}

impl Day {
    fn new() -> Self {
        let scratch = Scratch::folder("answers");
        let place = |name: &str| scratch.path().join(name);
        // The suffixes say nothing.
        let (day, journal, dbn, ring) =
            (place("day.txt"), place("journal.gz"), place("dbn.itch"), place("ring"));
        let config =
            MarketConfig { messages: 5_000, symbols: 10, seed: 9, ..MarketConfig::default() };
        let mut bytes = Vec::new();
        Market::new(config).unwrap().write_to(&mut bytes).unwrap();
        std::fs::write(&day, bytes).unwrap();
        record(&day, &ring, &journal);
        let mut file = DbnFile::new(std::fs::File::create(&dbn).unwrap(), &[]);
        let options = InputOptions { date: Some(date()), ..InputOptions::default() };
        let mut subscriber = Input::open(&*day, options)
            .unwrap()
            .records(Subscription::to(&day), RecordSpan::default())
            .unwrap();
        while let Some(event) = subscriber.next().unwrap() {
            file.add(&event).unwrap();
        }
        file.finish(&subscriber).unwrap();
        Self { day, journal, dbn, ring, _scratch: scratch }
    }

    fn kinds(&self) -> [(&Path, InputKind); 4] {
        [
            (&self.day, InputKind::Day),
            (&self.journal, InputKind::Journal),
            (&self.dbn, InputKind::Dbn),
            (&self.ring, InputKind::Ring),
        ]
    }
}

/// Runs the plant of a day, and records its ring into a journal.
fn record(day: &Path, ring: &Path, journal: &Path) {
    let mut config = PlantConfig::default();
    config.input.file = day.to_owned();
    config.input.date = Some(date());
    config.ring.name = ring.to_owned();
    PlantRun::open(&config, ShutdownFlag::new()).unwrap().run(|_| ()).unwrap();
    let appender = Appender::open(journal, &AppenderOptions::default()).unwrap();
    let mut recorder =
        Recorder::open(ring, appender, &RecorderOptions::default()).unwrap().unwrap();
    recorder.run(|_| ()).unwrap();
    recorder.close().unwrap();
}

fn date() -> TradeDate {
    DATE.parse().unwrap()
}

fn options(kind: InputKind) -> InputOptions {
    let date = (kind == InputKind::Day).then(date);
    InputOptions { date, rings: true, ..InputOptions::default() }
}

#[test]
fn each_kind_is_found_by_its_content() {
    let day = Day::new();
    for (path, kind) in day.kinds() {
        assert_eq!(Input::open(path, options(kind)).unwrap().kind(), kind, "{}", path.display());
    }
    // A ring is nothing that books are read of, and without rings its name is that of a file.
    let ring = Input::open(&*day.ring, options(InputKind::Ring)).unwrap();
    let refused = ring.within(Span::default(), &[]).unwrap_err();
    assert!(matches!(refused, InputError::IsARing { .. }), "{refused}");
    let none = Input::open("no-such-plant", InputOptions::default()).unwrap_err();
    assert!(matches!(none, InputError::Source(_)), "{none}");
}

#[test]
fn a_choice_that_the_kind_lacks_is_refused() {
    let day = Day::new();
    for (path, kind) in day.kinds() {
        let of_runs = matches!(kind, InputKind::Journal | InputKind::Dbn);
        let session = Some("MONDAY".parse().unwrap());
        let capture = CaptureChoice { session, ..CaptureChoice::default() };
        let choices = [
            (Choice::Run, !of_runs, InputOptions { run: Some(RunChoice::Last), ..options(kind) }),
            (
                Choice::Date,
                kind != InputKind::Day,
                InputOptions { date: Some(date()), ..options(kind) },
            ),
            (
                Choice::Capture,
                kind != InputKind::Day,
                InputOptions { capture: capture.clone(), ..options(kind) },
            ),
        ];
        for (choice, is_refused, options) in choices {
            let lenient = InputOptions { lenient: true, ..options.clone() };
            match Input::open(path, options) {
                Err(InputError::NoChoice { choice: found, kind: of, .. }) => {
                    assert!(is_refused && (found, of) == (choice, kind), "{choice}: {kind}");
                    assert!(Input::open(path, lenient).is_ok(), "{choice}: {kind}");
                }
                // A day file is no capture, which is another error.
                opened => assert!(!is_refused, "{choice}: {kind}: {opened:?}"),
            }
        }
    }
}

#[test]
fn times_of_another_day_are_refused() {
    let day = Day::new();
    let midnight_ns = date().midnight_ns();
    let hour =
        |hours: i64| Some(Moment::Unix(midnight_ns.strict_add_signed(hours * 3_600_000_000_000)));
    for (path, kind) in day.kinds().into_iter().filter(|(_, kind)| *kind != InputKind::Ring) {
        let open = |span| Input::open(path, options(kind)).unwrap().within(span, &[]);
        for span in [
            Span::new(hour(30), None),
            Span::new(hour(-30), hour(-10)),
            Span::new(None, hour(-1)),
            Span::up_to(hour(-1)),
            Span::up_to(hour(34)),
        ] {
            match open(span) {
                Err(InputError::SpanOfAnotherDay { midnight_ns: at, .. }) => {
                    assert_eq!(at, midnight_ns, "{kind}");
                }
                other => panic!("{kind}: {span:?} gave {:?}", other.err()),
            }
        }
        for span in [
            Span::new(hour(-30), hour(30)),
            Span::new(hour(9), None),
            Span::new(None, hour(30)),
            Span::up_to(hour(24)),
        ] {
            open(span).unwrap_or_else(|error| panic!("{kind}: {span:?}: {error}"));
        }
    }
}

#[test]
fn books_are_the_same_of_every_kind() {
    let day = Day::new();
    let spans = [
        Span::default(),
        Span::up_to(Some(Moment::Clock("12:00".parse().unwrap()))),
        Span::new(None, Some(Moment::Clock("10:30".parse().unwrap()))),
    ];
    for span in spans {
        let read = |(path, kind): (&Path, InputKind)| {
            let opening = Input::open(path, options(kind)).unwrap().within(span, &[]).unwrap();
            let session = opening.run(&mut (), |_| ()).unwrap();
            assert!(session.report.is_whole(), "{kind}: {:?}", session.report);
            insides(&session)
        };
        let [of_day, of_journal, of_dbn, _] = day.kinds();
        let expected = read(of_day);
        assert!(expected.len() > 5, "{expected:?}");
        assert_eq!(read(of_journal), expected);
        assert_eq!(read(of_dbn), expected);
    }
}

/// The stocks, each with its best prices.
fn insides(session: &Session) -> Vec<String> {
    let directory = session.engine.directory();
    let inside = |locate| session.engine.books().book(locate).inside();
    directory.iter().map(|(locate, symbol)| format!("{symbol} {:?}", inside(locate))).collect()
}

#[test]
fn records_are_the_same_of_every_kind() {
    let day = Day::new();
    let read = |(path, kind): (&Path, InputKind)| {
        let start = (kind == InputKind::Ring).then_some(nanotape_ring::Start::Oldest);
        let span = RecordSpan { start, ..RecordSpan::default() };
        let input = Input::open(path, options(kind)).unwrap();
        // A plant publishes these by default.
        let subscription = Subscription::to(path).records([RecordKind::Mbo, RecordKind::Bbo]);
        let mut subscriber = input.records(subscription, span).unwrap();
        let mut records = Vec::new();
        while let Some(event) = subscriber.next().unwrap() {
            if let Event::Record(delivery) = event
                && delivery.record.ts_recv().is_some()
                && let Some(header) = Header::of(delivery.bytes)
            {
                records.push((delivery.type_id, delivery.symbol, header.ts_event));
            }
        }
        records
    };
    let expected = read(day.kinds()[0]);
    assert!(expected.len() > 5_000, "{}", expected.len());
    for kind in &day.kinds()[1..] {
        let found = read(*kind);
        let other = found.iter().zip(&expected).position(|(found, expected)| found != expected);
        assert_eq!((other, found.len()), (None, expected.len()), "{}", kind.1);
    }
}

/// A message with its length before it.
fn framed(parts: &[&[u8]]) -> Vec<u8> {
    let message = parts.concat();
    let length = u16::try_from(message.len()).unwrap().to_be_bytes();
    [&length[..], &message].concat()
}

/// The stock directory message of a symbol.
fn directory(locate: u16, symbol: &[u8; 8]) -> Vec<u8> {
    let tail = b"QN\0\0\0dNCZ PNN1N\0\0\0\0N";
    framed(&[b"R", &locate.to_be_bytes(), &[0; 2], &[0, 0, 0, 0, 0, 1], symbol, tail])
}

/// The message of a new bid of 100 shares at 1.0000.
fn bid(locate: u16, reference: u64, symbol: &[u8; 8]) -> Vec<u8> {
    let (locate, reference) = (locate.to_be_bytes(), reference.to_be_bytes());
    let order = [b"B", &100_u32.to_be_bytes()[..], symbol, &10_000_u32.to_be_bytes()].concat();
    framed(&[b"A", &locate, &[0; 2], &[0, 0, 0, 0, 0, 2], &reference, &order])
}

/// A day of these messages, and its end.
fn day_of(scratch: &Scratch, messages: &[Vec<u8>]) -> PathBuf {
    let day = scratch.path().join("20191230.itch50");
    std::fs::write(&day, [messages.concat(), vec![0, 0]].concat()).unwrap();
    day
}

#[test]
fn a_stock_with_another_name_is_selected_by_each_of_its_names() {
    let scratch = Scratch::folder("answers-names");
    let (old, new) = (b"OLD     ", b"NEWNAME ");
    let messages = [directory(7, old), bid(7, 1, old), directory(7, new), bid(7, 2, new)];
    let day = day_of(&scratch, &messages);
    let read = |symbols: &[Symbol]| {
        let mut found = Vec::new();
        let opening = Input::open(&*day, InputOptions::default()).unwrap();
        let opening = opening.within(Span::default(), symbols).unwrap();
        let mut rows = BookRows::new(symbols, |row: &BookRow<'_>| {
            found.push(row.stock.to_string());
            ControlFlow::Continue(())
        });
        let session = opening.run(&mut rows, |_| ()).unwrap();
        let missing = rows.filter.missing(session.engine.directory());
        assert_eq!(missing, [], "{symbols:?}");
        found
    };
    let [old, new]: [Symbol; 2] = ["OLD", "NEWNAME"].map(|name| name.parse().unwrap());
    assert_eq!(read(&[]), ["OLD", "NEWNAME"]);
    assert_eq!(read(&[old]), ["OLD"]);
    assert_eq!(read(&[new]), ["NEWNAME"]);
    assert_eq!(read(&[new, old]), ["OLD", "NEWNAME"]);
}

#[test]
fn a_name_that_records_write_in_another_way_does_not_split_a_file() {
    let scratch = Scratch::folder("answers-split");
    let space = b"SP CE   ";
    let day = day_of(&scratch, &[directory(3, space), bid(3, 1, space), bid(3, 2, space)]);
    let input = Input::open(&*day, options(InputKind::Day)).unwrap();
    let names = input.stocks().unwrap();
    assert_eq!(names.len(), 1);
    let subscription = Subscription::to(&day).records([RecordKind::Mbo]);
    let mut subscriber = input.records(subscription, RecordSpan::default()).unwrap();
    let mut file = DbnFile::of_kind(Vec::new(), &[], RecordKind::Mbo, names);
    while let Some(event) = subscriber.next().unwrap() {
        file.add(&event).unwrap();
    }
    assert_eq!(file.late_names(), 0);
    file.finish(&subscriber).unwrap();
}

#[test]
fn a_stock_with_a_blank_name_is_no_fault_of_its_journal() {
    let scratch = Scratch::folder("answers-blank");
    let (blank, good) = (b"        ", b"GOOD    ");
    let messages = [directory(11, blank), bid(11, 1, blank), directory(12, good), bid(12, 2, good)];
    let day = day_of(&scratch, &messages);
    let (ring, journal) = (scratch.path().join("ring"), scratch.path().join("journal"));
    record(&day, &ring, &journal);
    let findings = nanotape_history::verify(&journal, false, |_, _| ()).unwrap();
    let faults = findings.iter().filter(|finding| finding.severity == Severity::Fault);
    assert_eq!(faults.map(|fault| &fault.what).next(), None, "{findings:?}");
}
