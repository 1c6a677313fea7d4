//! Every kind of input is found by its content, and gives the same books and the same records.

use std::path::{Path, PathBuf};

use nanotape_answers::{
    Choice, Input, InputError, InputKind, InputOptions, RecordSpan, RunChoice, Session, Span,
};
use nanotape_harness::Scratch;
use nanotape_journal::{Appender, AppenderOptions};
use nanotape_plant::{
    Moment, PlantConfig, PlantRun, ShutdownFlag, TradeDate,
    records::{Header, RecordKind},
};
use nanotape_synth::{Market, MarketConfig};
use nanotape_tap::{DbnFile, Event, Recorder, RecorderOptions, Subscription};

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
        let mut config = PlantConfig::default();
        config.input.file.clone_from(&day);
        config.input.date = Some(date());
        config.ring.name.clone_from(&ring);
        PlantRun::open(&config, ShutdownFlag::new()).unwrap().run(|_| ()).unwrap();
        let appender = Appender::open(&journal, &AppenderOptions::default()).unwrap();
        let mut recorder =
            Recorder::open(&ring, appender, &RecorderOptions::default()).unwrap().unwrap();
        recorder.run(|_| ()).unwrap();
        recorder.close().unwrap();
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
        let group = "239.1.1.1:5000".parse().unwrap();
        let choices = [
            (Choice::Run, !of_runs, InputOptions { run: Some(RunChoice::Last), ..options(kind) }),
            (
                Choice::Date,
                kind != InputKind::Day,
                InputOptions { date: Some(date()), ..options(kind) },
            ),
            (
                Choice::Groups,
                kind != InputKind::Day,
                InputOptions { groups: vec![group], ..options(kind) },
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
