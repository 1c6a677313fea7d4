//! The runs of a journal: as stored, or from the start records.

use std::{fs, path::Path};

use nanotape_harness::Scratch;
use nanotape_history::{Run, RunLog, Runs, RunsError};
use nanotape_journal::{Appender, AppenderOptions, RUNS, Start, Tail, Tailer};
use nanotape_records::{Notice, PlantStart, Predecessor, RecordKinds};

fn start(started_ns: u64) -> PlantStart {
    PlantStart {
        publisher_id: 2,
        started_ns,
        midnight_ns: 1_577_682_000_000_000_000,
        date: 20_191_230,
        kinds: RecordKinds::USUAL,
        predecessor: Predecessor::None,
        pace_milli: 0,
    }
}

/// Appends the start of a run and some other messages; returns the run.
fn append(appender: &mut Appender, started_ns: u64, others: usize) -> Run {
    let (notice, mut buffer) = (Notice::Start(start(started_ns)), Notice::buffer());
    let sequence = appender.next_sequence();
    appender.append(notice.type_id(), 1, notice.encode(2, &mut buffer)).unwrap();
    for _ in 0..others {
        appender.append(0x00A0, 2, &[b'x'; 100]).unwrap();
    }
    // A notice of a later version.
    appender.append(0xFFFE, 3, &[0; 8]).unwrap();
    Run::of(sequence, &start(started_ns))
}

fn recorded(journal: &Path) -> [Run; 2] {
    let mut appender = Appender::open(journal, &AppenderOptions::default()).unwrap();
    appender.append(0x00A0, 1, b"before the first run").unwrap();
    let runs = [append(&mut appender, 5, 100), append(&mut appender, 9, 50)];
    appender.close().unwrap();
    runs
}

#[test]
fn runs_that_are_not_stored_are_those_whose_start_the_journal_has() {
    let journal = Scratch::folder("runs_of_journal");
    let runs = recorded(journal.path());
    assert_eq!(Runs::read(journal.path()).unwrap(), Runs::default());
    assert_eq!(Runs::of_journal(journal.path()).unwrap(), runs.iter().cloned().collect());
    // Stored runs are used without a search.
    let mut log = RunLog::open(journal.path(), 0o600).unwrap();
    log.begin(&runs[1]).unwrap();
    let stored = Runs::of_journal(journal.path()).unwrap();
    assert_eq!(stored, [runs[1].clone()].into_iter().collect());
    // A file without a good line counts as missing.
    fs::write(journal.join(RUNS), "damaged\n").unwrap();
    assert!(matches!(Runs::read(journal.path()), Err(RunsError::Line { line: 1, .. })));
    assert_eq!(Runs::of_journal(journal.path()).unwrap(), runs.into_iter().collect());
}

#[test]
fn damage_ends_the_search_for_starts() {
    let journal = Scratch::folder("runs_of_damaged");
    let [first, _] = recorded(journal.path());
    let segment = fs::read_dir(journal.path()).unwrap().map(|entry| entry.unwrap().path());
    let segment = segment.filter(|path| path.is_file()).find(|path| {
        fs::read(path).unwrap().windows(20).any(|bytes| bytes == b"before the first run")
    });
    let segment = segment.unwrap();
    let mut bytes = fs::read(&segment).unwrap();
    let in_first_run = bytes.windows(100).position(|bytes| bytes == [b'x'; 100]).unwrap();
    bytes[in_first_run] ^= 1;
    fs::write(&segment, bytes).unwrap();
    let mut tailer = Tailer::open(journal.path(), Start::Oldest).unwrap();
    while let Ok(Tail::Excerpt(_)) = tailer.next() {}
    assert!(tailer.next().is_err());
    assert_eq!(Runs::of_journal(journal.path()).unwrap(), [first].into_iter().collect());
}

#[test]
fn a_folder_without_a_journal_is_an_error() {
    let folder = Scratch::folder("runs_of_none");
    let error = Runs::of_journal(folder.path()).unwrap_err();
    assert!(matches!(error, RunsError::Journal(_)), "{error}");
    assert!(error.to_string().contains(folder.text()), "{error}");
}
