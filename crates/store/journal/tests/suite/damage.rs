//! Journals with known contents, ways to damage them, and readers of the result.

use std::{
    fs,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use nanotape_journal::{
    Appender, AppenderOptions, Found, RollCycle, Start, Tail, Tailer, Verified, excerpt_bytes,
    verify,
};

/// A record, and the position of its payload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Record {
    pub(crate) sequence: u64,
    pub(crate) ts_ns: u64,
    pub(crate) payload: Vec<u8>,
    pub(crate) segment: u64,
    pub(crate) offset: usize,
}

impl Record {
    /// Its bytes in the segment.
    pub(crate) fn range(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + excerpt_bytes(self.payload.len())
    }
}

pub(crate) fn options() -> AppenderOptions {
    AppenderOptions {
        segment_bytes: 1 << 16,
        roll_cycle: RollCycle::Size,
        has_pretoucher: false,
        ..AppenderOptions::default()
    }
}

pub(crate) fn payload(sequence: u64, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at as u64 * 131 + sequence * 7 + 1) as u8).collect()
}

/// A time that increases with the sequence number.
pub(crate) fn time(sequence: u64) -> u64 {
    1_700_000_000_000_000_000 + sequence * 1_000_000
}

/// Creates a journal with excerpts of these lengths.
pub(crate) fn write(path: &Path, lengths: &[usize]) -> Vec<Record> {
    let mut appender = Appender::open(path, &options()).unwrap();
    for &length in lengths {
        let sequence = appender.next_sequence();
        appender.append(3, time(sequence), &payload(sequence, length)).unwrap();
    }
    appender.close().unwrap();
    read(path)
}

/// As many lengths as about fill `segments` segments of the minimum size.
pub(crate) fn lengths(segments: usize, salt: usize) -> Vec<usize> {
    let (mut lengths, mut bytes) = (Vec::new(), 0);
    while bytes < segments * 57_344 - 20_000 {
        let length = match (lengths.len() + salt) % 9 {
            0 => 3000,
            4 => 0,
            other => other * 37 + salt % 50,
        };
        bytes += excerpt_bytes(length);
        lengths.push(length);
    }
    lengths
}

/// Everything that a tailer reads.
pub(crate) fn read(path: &Path) -> Vec<Record> {
    let mut tailer = Tailer::open(path, Start::Oldest).unwrap();
    let mut records = Vec::new();
    loop {
        match tailer.next().unwrap_or_else(|error| panic!("{error}")) {
            Tail::Excerpt(excerpt) => records.push(Record {
                sequence: excerpt.sequence(),
                ts_ns: excerpt.ts_ns(),
                payload: excerpt.to_vec(),
                segment: excerpt.segment(),
                offset: excerpt.offset() as usize,
            }),
            Tail::Gap(_) | Tail::Reused(_) => {}
            Tail::Nothing => return records,
        }
    }
}

pub(crate) fn segment(path: &Path, number: u64) -> PathBuf {
    path.join(format!("{number:010}.segment"))
}

/// The numbers of the uncompressed segments.
pub(crate) fn segments(path: &Path) -> Vec<u64> {
    let names = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    let mut numbers: Vec<u64> =
        names.filter_map(|name| name.strip_suffix(".segment")?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// Changes bytes of a segment.
pub(crate) fn flip(path: &Path, number: u64, offset: usize, mask: u8) {
    let file = fs::File::options().read(true).write(true).open(segment(path, number)).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset as u64).unwrap();
    file.write_all_at(&[byte[0] ^ mask], offset as u64).unwrap();
}

pub(crate) fn overwrite(path: &Path, number: u64, offset: usize, bytes: &[u8]) {
    let file = fs::File::options().write(true).open(segment(path, number)).unwrap();
    file.write_all_at(bytes, offset as u64).unwrap();
}

/// All bytes that were moved out, file by file.
pub(crate) fn cut(path: &Path) -> Vec<Vec<u8>> {
    match fs::read_dir(path.join("cut")) {
        Ok(entries) => entries.map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect(),
        Err(_) => Vec::new(),
    }
}

pub(crate) fn is_in(bytes: &[u8], files: &[Vec<u8>]) -> bool {
    let holds = |file: &Vec<u8>| file.windows(bytes.len()).any(|window| window == bytes);
    bytes.is_empty() || files.iter().any(holds)
}

pub(crate) fn verified(path: &Path) -> Verified {
    verify(path, |_, _| ()).unwrap()
}

/// Verifies a journal and expects no finding.
pub(crate) fn assert_clean(path: &Path) -> Verified {
    let verified = verified(path);
    let wrong: Vec<_> = verified.findings.iter().map(ToString::to_string).collect();
    assert!(verified.is_clean(), "{wrong:#?}");
    verified
}

/// Whether a matching finding exists.
pub(crate) fn has(verified: &Verified, is_it: impl Fn(&Found) -> bool) -> bool {
    verified.findings.iter().any(|finding| is_it(&finding.found))
}
