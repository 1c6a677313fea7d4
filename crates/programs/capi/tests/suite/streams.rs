//! Rings, journals and maps of any content, which a program in C prints as readers in Rust do.

use std::{
    fmt::Write as _,
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use nanotape_harness::{Bounded as _, Scratch};
use nanotape_journal::{Appender, AppenderOptions, JournalError, Tailer, TailerSource};
use nanotape_latest::{LatestReader, LatestSpec, LatestWriter};
use nanotape_ring::{Publish as _, RingSource, stream};
use nanotape_shm::RegionOptions;
use nanotape_tape::{Item, Progress, Source, Start, Tape as _};

use crate::support::{Running, error_of, example, printed};

const CAPACITY_BYTES: usize = 1 << 16;

/// A ring of this test.
pub(crate) fn ring(folder: &Scratch) -> (stream::Writer, PathBuf) {
    let path = folder.join("ring");
    let (writer, _) =
        stream::Writer::create(&path, CAPACITY_BYTES, &RegionOptions::default()).unwrap();
    (writer, path)
}

/// Publishes so many messages of different lengths.
pub(crate) fn publish(writer: &mut stream::Writer, count: u64) {
    for _ in 0..count {
        let bytes = bytes_of(writer.next_sequence());
        writer.publish(bytes.len() as u16, &bytes).unwrap();
    }
}

/// 0 to 40 bytes, which depend on the number.
fn bytes_of(sequence: u64) -> Vec<u8> {
    (0..sequence % 41).map(|place| (sequence + place) as u8).collect()
}

/// What a reader in Rust has, as the example prints it.
fn read<S: Source<Error: std::fmt::Debug>>(mut source: S, text: &mut String) {
    try_read(&mut source, text).unwrap();
}

fn try_read<S: Source>(source: &mut S, text: &mut String) -> Result<(), S::Error> {
    let mut print = |item: Item<'_>| {
        match item {
            Item::Message(message) => {
                let (sequence, type_id) = (message.sequence, message.type_id);
                let time = message.ts.map_or(0, |ts| ts.unix_ns());
                write!(text, "{sequence} type {type_id} at {time}: ").unwrap();
                message.payload.iter().for_each(|byte| write!(text, "{byte:02x}").unwrap());
                text.push('\n');
            }
            Item::Gap(gap) => writeln!(text, "lost {} to {}", gap.from, gap.to).unwrap(),
            Item::Reused(reused) => {
                writeln!(text, "again {} to {}", reused.from, reused.to).unwrap();
            }
        }
        ControlFlow::Continue(())
    };
    while source.poll(&mut print)? != Progress::Nothing {}
    writeln!(text, "end before {}: closed", source.next_sequence()).unwrap();
    Ok(())
}

#[test]
fn a_reader_that_is_overrun_gets_the_rest_and_the_numbers_that_are_lost() {
    let folder = Scratch::folder("c");
    let (mut writer, path) = ring(&folder);
    publish(&mut writer, 100);
    let mut source = RingSource::open(&path, Start::Oldest).unwrap();
    let mut running = Running::start(example("dump").arg("ring").arg(&path));
    let mut text: String = (0..100).map(|_| running.line()).collect();
    // It is stopped after it has read everything, while the writer overwrites the ring twice.
    running.stop();
    let mut rust = String::new();
    while source.next_sequence() <= 100 {
        let _ = source.poll(|_| ControlFlow::Continue(())).unwrap();
    }
    publish(&mut writer, 5_000);
    drop(writer);
    running.signal(rustix::process::Signal::CONT);
    let (rest, status) = running.end();
    read(source, &mut rust);
    assert_eq!((&rest, status), (&rust, Some(0)));
    text += &rest;
    let whole_numbers = accounted(&text);
    assert_eq!(whole_numbers, 5_100);
    assert!(text.contains("\nlost 101 to "), "{text}");
}

/// Checks that each number from 1 on is printed or lost, once and in order; returns the last one.
pub(crate) fn accounted(text: &str) -> u64 {
    let mut next = 1;
    for line in text.lines().filter(|line| !line.starts_with("end")) {
        let words: Vec<&str> = line.split(' ').collect();
        let (from, to) = match words[0] {
            "lost" => (words[1].parse().unwrap(), words[3].parse().unwrap()),
            sequence => {
                let sequence: u64 = sequence.parse().unwrap();
                let hex: String =
                    bytes_of(sequence).iter().map(|byte| format!("{byte:02x}")).collect();
                assert_eq!(line.rsplit(' ').next(), Some(&*hex), "{line}");
                (sequence, sequence)
            }
        };
        assert_eq!(from, next, "{line}");
        next = to + 1;
    }
    next - 1
}

/// A journal of two appenders with a gap between them, and its folder.
fn journal(folder: &Scratch) -> PathBuf {
    let path = folder.join("journal");
    let options = AppenderOptions { segment_bytes: 1 << 20, ..AppenderOptions::default() };
    for (first, count) in [(1, 3_000), (3_500, 20)] {
        let mut appender = Appender::open(&path, &options).unwrap();
        appender.skip_to(first).unwrap();
        for sequence in first..first + count {
            let bytes = bytes_of(sequence);
            appender.append(bytes.len() as u16, 1_000 * sequence, &bytes).unwrap();
        }
        appender.close().unwrap();
    }
    path
}

fn dump(kind: &str, name: &Path) -> std::process::Command {
    let mut command = example("dump");
    command.arg(kind).arg(name);
    command
}

#[test]
fn a_journal_is_read_from_its_beginning_a_number_and_a_time() {
    let folder = Scratch::folder("c");
    let path = journal(&folder);
    for (text, start) in [
        ("oldest", Start::Oldest),
        ("newest", Start::Newest),
        ("2990", Start::Sequence(2_990)),
        ("3499", Start::Sequence(3_499)),
        ("@2990001", Start::Time(nanotape_clock::UtcNanos::new(2_990_001))),
    ] {
        let mut rust = String::new();
        read(TailerSource::new(Tailer::open(&path, start).unwrap()), &mut rust);
        let output = dump("journal", &path).arg(text).bounded_output().unwrap();
        assert_eq!(printed(&output), (rust, Some(0)), "{text}");
    }
    let whole = printed(&dump("journal", &path).bounded_output().unwrap()).0;
    assert_eq!(accounted(&whole), 3_519);
    assert!(whole.contains("\nlost 3001 to 3499\n"));
    let late = error_of(dump("journal", &path).arg("9999"));
    assert!(late.contains("9999"), "{late}");
}

/// Checks that the example gives what Rust gives, and returns its error, or "".
fn same_damage(path: &Path) -> String {
    let mut rust = String::new();
    let mut read = || -> Result<(), JournalError> {
        let mut source = TailerSource::new(Tailer::open(path, Start::Oldest)?);
        source.set_stops_at_end(true);
        try_read(&mut source, &mut rust)
    };
    let error = read().err().map_or(String::new(), |error| error.to_string());
    let output = dump("journal", path).bounded_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), rust, "{error}");
    accounted(&rust);
    let line = String::from_utf8(output.stderr).unwrap();
    let expected = format!("{}: {error}\n", path.display());
    assert_eq!(line, if error.is_empty() { "" } else { &expected });
    assert_eq!(output.status.code(), Some(i32::from(!error.is_empty())));
    error
}

#[test]
fn damaged_and_truncated_journals_are_errors_behind_what_is_good() {
    let folder = Scratch::folder("c");
    let path = journal(&folder);
    let files = fs::read_dir(&path).unwrap().map(|file| file.unwrap().path());
    let segment = files.filter(|file| file.extension().is_some_and(|end| end == "segment")).min();
    let segment = segment.unwrap();
    let good = fs::read(&segment).unwrap();
    for length in [70_000, 8_192, 4_096, 100, 1, 0] {
        fs::write(&segment, &good[..length]).unwrap();
        assert_ne!(same_damage(&path), "", "{length}");
    }
    let mut flipped = good.clone();
    flipped[60_000] ^= 1;
    fs::write(&segment, &flipped).unwrap();
    let error = same_damage(&path);
    assert!(error.contains("offset"), "{error}");
    fs::write(&segment, &good).unwrap();
    assert_eq!(same_damage(&path), "");
}

#[test]
fn a_map_has_every_entry_that_rust_finds() {
    let folder = Scratch::folder("c");
    let path = folder.join("map");
    let spec =
        LatestSpec { entries: 500, key_words: 2, value_words: 3, writers: 2, value_layout: 0 };
    let mut writer = LatestWriter::join(&path, spec, &RegionOptions::default()).unwrap();
    for key in 0..400_u64 {
        let _ = writer.insert(&[key, key * key], &[key, 0, u64::MAX - key]).unwrap();
    }
    for key in (0..400_u64).step_by(3) {
        let _ = writer.insert(&[key, key * key], &[key, 1, 0]).unwrap();
    }
    let mut rust = Vec::new();
    let reader = LatestReader::open(&path).unwrap();
    reader
        .for_each(|key, value, version| {
            let words =
                |words: &[u64]| -> String { words.iter().map(|word| format!(" {word}")).collect() };
            rust.push(format!("key{} value{} version {version}", words(key), words(value)));
        })
        .unwrap();
    let (text, status) = printed(&dump("latest", &path).bounded_output().unwrap());
    assert_eq!(status, Some(0));
    let (first, entries) = text.split_once('\n').unwrap();
    assert_eq!(first, "400 of 500");
    assert_eq!(entries.lines().collect::<Vec<_>>(), rust);
    let other = error_of(dump("stock", &path).args(["2", "AAPL"]));
    assert!(other.contains("words without a schema"), "{other}");
}
