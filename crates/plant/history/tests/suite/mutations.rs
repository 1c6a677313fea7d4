//! Whatever bytes of a recorded journal are changed: a check that finds nothing means that
//! everything is read as it was recorded, and a repair leaves nothing that it does not name.
//!
//! `NANOTAPE_MUTATIONS` sets how many changes are tried, `NANOTAPE_SEED` the seed.

use std::{
    collections::BTreeMap,
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use nanotape_harness::{Random, Scratch};
use nanotape_history::{
    Entry, JournalRun, RecordStream as _, RunLog, RunSpan, RunState, Runs, Snapshotter,
    SnapshotterOptions, verify,
};
use nanotape_journal::{
    Appender, AppenderOptions, CompressOptions, NamedTailer, PruneOptions, Start, Tail, Tailer,
};
use nanotape_records::{
    Common, Notice, PlantStart, Predecessor, PublisherInstrument, RecordBuffer, RecordKind,
    RecordKinds,
    dbn::{Action, Side},
    encode::{Change, LAST, bytes, mbo},
};
use nanotape_tape::{Item, Message, Progress};
use nanotape_types::{Side as BookSide, StockLocate};

use super::states::run;

/// Records of each run.
const RECORDS: u32 = 1500;
/// The next record of the named tailer.
const NEXT: u64 = 900;

/// All files of a journal.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// A journal with two runs, compressed segments, snapshots and a named tailer.
fn recorded(place: &Path) {
    let options = AppenderOptions {
        segment_bytes: 1 << 16,
        has_pretoucher: false,
        ..AppenderOptions::default()
    };
    let mut appender = Appender::open(place, &options).unwrap();
    let mut log = RunLog::open(place, 0o600).unwrap();
    let mut random = Random::new(5);
    for started_ns in [7, 8] {
        let start = PlantStart {
            publisher_id: 2,
            started_ns,
            midnight_ns: run().midnight_ns,
            date: 20_191_230,
            kinds: RecordKinds::USUAL,
            predecessor: Predecessor::None,
            pace_milli: 0,
        };
        let sequence = appender.next_sequence();
        log.begin(&nanotape_history::Run::of(sequence, &start)).unwrap();
        let (notice, mut buffer) = (Notice::Start(start), Notice::buffer());
        appender.append(notice.type_id(), 1, notice.encode(2, &mut buffer)).unwrap();
        for number in 1..=RECORDS {
            let locate = 1 + random.below(4) as u16;
            log.name(StockLocate::new(locate), format!("S{locate}").parse().unwrap()).unwrap();
            let common = Common {
                instrument: PublisherInstrument::none_of(2).numbered(locate.into()),
                ts_event: run().midnight_ns + u64::from(number),
                ts_recv: 0,
                sequence: number,
                flags: 0,
            };
            let action = if number % 3 == 0 { Action::Cancel } else { Action::Add };
            let side = if random.below(2) == 0 { Side::Bid } else { Side::Ask };
            let price = (1 + random.below(9) as i64) * 100_000_000;
            let change = Change { action, side, price, size: 1 + random.below(90) as u32 };
            let words = bytes(mbo(&common, LAST, 1 + random.below(300), change));
            appender.append(RecordKind::Mbo.type_id(), 2, words.as_flattened()).unwrap();
        }
    }
    appender.close().unwrap();
    let options = SnapshotterOptions {
        share_percent: 100,
        least_bytes: 40_000,
        ..SnapshotterOptions::default()
    };
    let mut snapshotter = Snapshotter::open(place, &options).unwrap();
    snapshotter.run(|_| (), |_| ()).unwrap();
    let keep = CompressOptions { keep_plain: 2, ..CompressOptions::default() };
    assert!(nanotape_journal::compress(place, &keep, |_, _| ()).unwrap().len() > 1);
    let (mut tailer, _) = NamedTailer::open(place, "books", Start::Oldest).unwrap();
    while tailer.next_sequence() < NEXT {
        assert!(matches!(tailer.next().unwrap(), Tail::Excerpt(_)));
        tailer.done();
    }
}

fn files(place: &Path) -> Files {
    let mut all = Files::new();
    for folder in [place.to_owned(), place.join("snapshots"), place.join("tailers")] {
        for entry in fs::read_dir(folder).into_iter().flatten().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() {
                let path = entry.path();
                let name = path.strip_prefix(place).unwrap().to_owned();
                if !["appender", "upkeep", "lock"].iter().any(|it| name.ends_with(it)) {
                    all.insert(name, fs::read(path).unwrap());
                }
            }
        }
    }
    all
}

/// Restores the files, and removes all others.
fn restore(place: &Path, files: &Files) {
    fs::remove_dir_all(place).unwrap();
    for (name, bytes) in files {
        let path = place.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// Everything that readers get, or the first error.
#[derive(PartialEq, Eq, Debug, Default)]
struct Seen {
    excerpts: Vec<(u64, u16, Vec<u8>)>,
    missing: u64,
    error: Option<String>,
}

fn read(place: &Path) -> Seen {
    let mut seen = Seen::default();
    let mut tailer = match Tailer::open(place, Start::Oldest) {
        Ok(tailer) => tailer,
        Err(error) => return Seen { error: Some(error.to_string()), ..seen },
    };
    loop {
        match tailer.next() {
            Ok(Tail::Excerpt(it)) => {
                seen.excerpts.push((it.sequence(), it.type_id(), it.to_vec()));
            }
            Ok(Tail::Gap(gap)) => seen.missing += gap.count(),
            Ok(Tail::Reused(_)) => {}
            Ok(Tail::Nothing) => return seen,
            Err(error) => {
                seen.error = Some(error.to_string());
                return seen;
            }
        }
    }
}

/// Levels of all books at the end of the last run, from the last snapshot in its middle on. `None`:
/// an error or a loss says that they are not whole.
fn books(place: &Path) -> Option<Vec<(u32, u64)>> {
    let runs = Runs::of_journal(place).ok()?;
    let run = runs.iter().last()?;
    let at_ns = run.midnight_ns + u64::from(RECORDS) * 3 / 4;
    let span = RunSpan { books_at_ns: Some(at_ns), ..RunSpan::default() };
    let mut stream = JournalRun::open(place, &runs, Some(run), &span).ok()?;
    let mut state = RunState::before(run);
    let (mut buffer, mut is_whole) = (RecordBuffer::default(), true);
    loop {
        let polled = stream.poll(|entry| {
            match entry {
                Entry::Item(Item::Message(Message { sequence, type_id, payload, .. }))
                | Entry::Opening(Message { sequence, type_id, payload, .. }) => {
                    match buffer.decode(sequence, type_id, payload) {
                        Ok(Some(record)) => state.take(sequence, type_id, payload, &record),
                        _ => is_whole = false,
                    }
                }
                Entry::Item(_) | Entry::Loss { .. } => is_whole = false,
                Entry::Notice { .. } | Entry::Name(..) | Entry::Handover(_) => {}
            }
            ControlFlow::Continue(())
        });
        match polled {
            Ok(Progress::Nothing) => break,
            Ok(_) => {}
            Err(_) => return None,
        }
    }
    let mut levels = Vec::new();
    for locate in (1..5).map(StockLocate::new) {
        let book = state.all_books().book(locate);
        for level in BookSide::BOTH.into_iter().flat_map(|side| book.depth(side)) {
            levels.push((level.price.code(), level.shares.get()));
        }
    }
    is_whole.then_some(levels)
}

/// Changes one file; returns what was done.
fn mutate(place: &Path, files: &Files, random: &mut Random) -> String {
    let names: Vec<&PathBuf> = files.keys().collect();
    let name = names[random.index(names.len())];
    let mut bytes = files[name].clone();
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(1, |last| last + 1);
    let at = random.index(end);
    let what = match random.index(8) {
        0 | 1 => {
            bytes[at] ^= 1 << random.index(8);
            "a bit"
        }
        2 => {
            bytes[at] = random.number() as u8;
            "a byte"
        }
        3 => {
            let to = bytes.len().min(at + random.between(1, 5000));
            bytes[at..to].fill(0);
            "zeros"
        }
        4 => {
            let to = bytes.len().min(at + random.between(1, 200));
            let noise = random.bytes(to - at);
            bytes[at..to].copy_from_slice(&noise);
            "noise"
        }
        5 => {
            bytes.truncate(at);
            "cut"
        }
        6 => {
            let other = names[random.index(names.len())];
            fs::write(place.join(name), &files[other]).unwrap();
            fs::write(place.join(other), &files[name]).unwrap();
            return format!("{} exchanged with {}", name.display(), other.display());
        }
        _ => {
            fs::remove_file(place.join(name)).unwrap();
            return format!("{} removed", name.display());
        }
    };
    fs::write(place.join(name), bytes).unwrap();
    format!("{what} of {} at {at}", name.display())
}

/// Whether verify finds a fault or a hint, also beside the segments.
fn is_clean(place: &Path) -> bool {
    let Ok(verified) = nanotape_journal::verify(place, |_, _| ()) else { return false };
    verified.is_clean()
        && verify(place, true, |_, _| ())
            .is_ok_and(|findings| findings.iter().all(|finding| !finding.is_fault()))
}

fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn a_changed_journal_is_noticed_or_read_as_it_was_recorded() {
    let (trials, seed) = (number("NANOTAPE_MUTATIONS", 80), number("NANOTAPE_SEED", 43));
    let place = Scratch::new("mutations");
    recorded(place.path());
    let good = files(place.path());
    assert!(is_clean(place.path()));
    let (was, was_books) = (read(place.path()), books(place.path()).unwrap());
    assert_eq!((was.excerpts.len() as u32, &was.error), (2 * RECORDS + 2, &None));
    let mut random = Random::new(seed);
    let (mut unnoticed, mut repaired, mut refused) = (0, 0, 0);
    for trial in 0..trials {
        restore(place.path(), &good);
        let what = mutate(place.path(), &good, &mut random);
        let what = format!("seed {seed}, trial {trial}: {what}");
        let is_noticed = !is_clean(place.path());
        let seen = read(place.path());
        let is_as_recorded = |seen: &Seen| {
            seen.excerpts.iter().all(|excerpt| was.excerpts.binary_search(excerpt).is_ok())
        };
        assert!(is_as_recorded(&seen), "{what}: an excerpt that was not recorded");
        if !is_noticed {
            unnoticed += 1;
            assert_eq!(seen.error, None, "{what}: not noticed, and not readable");
            // A last segment that is gone leaves a shorter journal, and others a gap.
            let last = seen.excerpts.last().map_or(0, |last| last.0);
            let first = seen.excerpts.first().map_or(1, |first| first.0);
            let expected = last + 1 - first;
            assert_eq!(seen.excerpts.len() as u64 + seen.missing, expected, "{what}");
            if seen.excerpts.len() == was.excerpts.len() {
                assert_eq!(books(place.path()), Some(was_books.clone()), "{what}: other books");
            }
        } else if let Some(books) = books(place.path())
            && seen == was
        {
            assert_eq!(books, was_books, "{what}: other books without an error");
        }
        let all = PruneOptions { keep_bytes: Some(0), is_dry_run: true, ..PruneOptions::default() };
        let has_tailer = place.path().join("tailers/books").exists();
        if let Ok(pruned) = nanotape_journal::prune(place.path(), &all)
            && has_tailer
        {
            let last = pruned.segments.last().map_or(0, |segment| segment.next_sequence);
            assert!(last <= NEXT, "{what}: prune takes what was not read, up to {last}");
        }
        let repair = nanotape_journal::repair(place.path(), false, |_, _| ())
            .map_err(|error| error.to_string())
            .and_then(|_| {
                let done = nanotape_history::repair(place.path(), false, |_, _| ());
                done.map_err(|error| error.to_string())
            });
        match repair {
            Ok(_) => {
                repaired += 1;
                let left = nanotape_journal::verify(place.path(), |_, _| ()).unwrap();
                let is_removed = what.ends_with(" removed");
                let of_segments = left.findings.iter().filter(|finding| {
                    use nanotape_journal::Found;
                    let is_beyond_repair = match finding.found {
                        Found::Tailer(_) => true,
                        // No repair brings a file back.
                        Found::Missing { .. } => is_removed,
                        _ => false,
                    };
                    finding.severity() > nanotape_journal::Severity::Note && !is_beyond_repair
                });
                assert_eq!(of_segments.count(), 0, "{what}: {:?}", left.findings);
                let after = read(place.path());
                assert!(is_as_recorded(&after), "{what}: a repair made an excerpt");
                assert_eq!(after.error, None, "{what}: not readable after its repair");
            }
            Err(_) => refused += 1,
        }
    }
    let peak = peak_bytes();
    println!(
        "{trials} changes, seed {seed}: {unnoticed} without a finding, all read as recorded; {repaired} \
         repaired, {refused} refused with an error; at most {} MiB",
        peak >> 20
    );
    assert!(peak < 1 << 30, "{peak} bytes");
}
