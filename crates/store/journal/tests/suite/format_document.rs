//! The format document matches the code.

use std::fs;

use nanotape_harness::Scratch;
use nanotape_journal::{
    APPENDER_KIND, Appender, AppenderOptions, CompanionFile, ENTRY_FIELDS, EXCERPT_FIELDS, FIELDS,
    LAYOUT, MAGIC, MAX_SEGMENT_BYTES, MIN_SEGMENT_BYTES, RollCycle, TAILER_FIELDS, TAILER_KIND,
    TAILER_LAYOUT, TAILERS, checksum_bytes, segment_sums,
};

const DOCUMENT: &str = include_str!("../../../../../docs/formats/journal.md");

/// The part of the document from this heading up to the next heading.
fn part(heading: &str) -> &'static str {
    let (_, rest) = DOCUMENT.split_once(heading).unwrap_or_else(|| panic!("{heading}?"));
    rest.split("\n##").next().unwrap_or(rest)
}

/// Rows of tables that begin with an offset and a size; `mark` precedes the offset.
fn rows(text: &str, mark: &str) -> Vec<(usize, usize, String)> {
    let rows = text.lines().filter_map(|line| {
        let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
        let offset: usize = cells.next()?.strip_prefix(mark)?.parse().ok()?;
        let size: usize = cells.next()?.parse().ok()?;
        Some((offset, size, cells.next()?.trim_matches('`').to_owned()))
    });
    rows.collect()
}

fn named(fields: &[(usize, usize, &str)]) -> Vec<(usize, usize, String)> {
    fields.iter().map(|&(offset, size, name)| (offset, size, name.to_owned())).collect()
}

#[test]
fn the_tables_of_the_document_are_the_constants_of_the_code() {
    assert_eq!(rows(part("\n## Segment"), ""), named(&FIELDS));
    assert_eq!(rows(part("\n### Excerpt"), "+"), named(&EXCERPT_FIELDS));
    assert_eq!(rows(part("\n### Index entry"), "+"), named(&ENTRY_FIELDS));
    assert_eq!(rows(part("\n## Named tailer"), "+"), named(&TAILER_FIELDS));
    for letters in
        [MAGIC, LAYOUT.to_be_bytes(), TAILER_LAYOUT.to_be_bytes(), APPENDER_KIND, TAILER_KIND]
    {
        let letters = String::from_utf8(letters.to_vec()).unwrap();
        assert!(DOCUMENT.contains(&format!("`{letters}`")), "{letters}");
    }
    assert_eq!((MIN_SEGMENT_BYTES, MAX_SEGMENT_BYTES), (65_536, 1 << 36));
}

#[test]
fn the_document_lists_the_companion_files_in_order() {
    let name = |line: &'static str| line.strip_prefix("| `")?.split('`').next();
    let rows = part("\n## Folder").lines().filter_map(name);
    let is_of_segment = |name: &&str| name.starts_with(|letter: char| letter.is_ascii_digit());
    let listed: Vec<&str> = rows.filter(|name| !is_of_segment(name)).collect();
    let expected: Vec<String> = CompanionFile::ALL
        .iter()
        .map(|companion| match (companion.name, companion.is_folder) {
            (TAILERS, true) => format!("{TAILERS}/NAME"),
            (name, true) => format!("{name}/"),
            (name, false) => name.to_owned(),
        })
        .collect();
    assert_eq!(listed, expected);
}

/// A reader that is written only from the document.
struct File(Vec<u8>);

impl File {
    fn word(&self, offset: usize) -> u64 {
        u64::from_le_bytes(self.0[offset..offset + 8].try_into().unwrap())
    }

    fn sum(&self, before: u32, words: impl IntoIterator<Item = u64>) -> u32 {
        words.into_iter().fold(before, |sum, word| checksum_bytes(sum, &word.to_le_bytes()))
    }
}

/// For one byte order only: the document states values, and this reads bytes.
#[cfg(target_endian = "little")]
#[test]
fn a_reader_that_knows_only_the_document_reads_what_was_written() {
    let place = Scratch::new("document");
    let options = AppenderOptions {
        segment_bytes: 1 << 16,
        roll_cycle: RollCycle::Minute,
        has_pretoucher: false,
        ..AppenderOptions::default()
    };
    let mut appender = Appender::open(place.path(), &options).unwrap();
    let payloads: [&[u8]; 4] = [b"", b"1234567", b"12345678", b"123456789"];
    const MINUTE_NS: u64 = 60_000_000_000;
    for (number, payload) in payloads.iter().enumerate() {
        appender.append(100 + number as u16, 5 * MINUTE_NS + number as u64, payload).unwrap();
    }
    appender.append(200, 7 * MINUTE_NS, b"in another cycle").unwrap();
    drop(appender);

    let file = File(fs::read(place.path().join("0000000001.segment")).unwrap());
    assert_eq!(&file.0[..8], b"nanojrnl");
    assert_eq!(file.word(8), 0x0102_0304_0506_0708);
    assert_eq!((file.word(16), file.word(40), file.word(48)), (1, 1, 65_536));
    assert_eq!(file.word(64), MINUTE_NS);
    let head = file.sum(0, (0..10).map(|word| file.word(word * 8)));
    assert_eq!(file.word(80), u64::from(u32::from_be_bytes(*b"HEAD")) << 32 | u64::from(head));
    assert_eq!((file.word(256), file.word(264), file.word(272)), (1, 0, 5));
    let live = file.sum(head, [256, 264, 272].map(|offset| file.word(offset)));
    assert_eq!(file.word(280), u64::from(u32::from_be_bytes(*b"LIVE")) << 32 | u64::from(live));

    let entries = 65_536_u64.div_ceil(file.word(56)) as usize;
    let mut at = (4096 + entries * 32).next_multiple_of(4096);
    let seed = file.sum(0, [file.word(32), file.word(40)]);
    let entry = 4096 + at / file.word(56) as usize * 32;
    assert_eq!((file.word(entry), file.word(entry + 8), file.word(entry + 16)), (at as u64, 1, 0));
    let check = file.sum(seed, (0..3).map(|word| file.word(entry + word * 8)));
    let mark = u64::from(u32::from_be_bytes(*b"INDX"));
    assert_eq!(file.word(entry + 24), mark << 32 | u64::from(check));

    for (number, payload) in payloads.iter().enumerate() {
        let commit = file.word(at);
        let length = (commit & 0xfff_ffff) as usize;
        assert_eq!((length, commit >> 28 & 0xf), (payload.len(), 1));
        assert_eq!(file.word(at + 8), (100 + number as u64) << 48 | (number as u64 + 1));
        assert_eq!(file.word(at + 16), 5 * MINUTE_NS + number as u64);
        assert_eq!(&file.0[at + 24..at + 24 + length], *payload);
        let end = at + 24 + length.next_multiple_of(8);
        let words = (at + 8..end).step_by(8).map(|offset| file.word(offset));
        let sum = file.sum(file.sum(seed, [commit & 0xffff_ffff]), words);
        assert_eq!(commit >> 32, u64::from(sum));
        at = end;
    }
    assert_eq!(file.word(at) >> 28 & 0xf, 2, "an end mark");
    assert_eq!((file.word(at) & 0xfff_ffff, file.word(at + 8)), (0, 5));
    assert_eq!(file.0.len(), at + 24, "the unused end is given back");
}

/// As [`File`], for the digest of a segment in `docs/formats/replication.md`.
#[cfg(target_endian = "little")]
fn digest_of(file: &File, before: u64) -> [u64; 4] {
    const BEGIN: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = |digest: u64, words: &[u64]| {
        words.iter().fold(digest, |digest, word| {
            (digest ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(29)
        })
    };
    let words = |range: std::ops::RangeInclusive<usize>| range.map(|word| file.word(8 * word));
    let identity: Vec<u64> = words(0..=10).chain(words(32..=35)).collect();
    let incarnation: Vec<u64> = words(68..=70).collect();
    let entries = file.word(48).div_ceil(file.word(56)) as usize;
    let mut at = (4096 + entries * 32).next_multiple_of(4096);
    let (mut contents, mut next, mut is_ended) = (0, file.word(256), false);
    while at + 24 <= file.0.len() && file.word(at) != 0 {
        let (commit, second) = (file.word(at), file.word(at + 8));
        let number = second & ((1 << 48) - 1);
        if commit >> 28 & 0xf == 2 {
            is_ended = number < before;
            next = if is_ended { number } else { next };
            break;
        }
        if number >= before {
            break;
        }
        contents = mixed(contents ^ BEGIN, &[commit, second]);
        next = number + 1;
        at += 24 + ((commit & 0xfff_ffff) as usize).next_multiple_of(8);
    }
    let (identity, incarnation) = (mixed(BEGIN, &identity), mixed(BEGIN, &incarnation));
    let digest = mixed(BEGIN, &[identity, incarnation, contents, next, is_ended.into()]);
    [file.word(40), next, is_ended.into(), digest]
}

#[cfg(target_endian = "little")]
#[test]
fn digests_of_segments_are_those_that_the_document_defines() {
    let place = Scratch::new("digests");
    let options = AppenderOptions {
        segment_bytes: 1 << 16,
        roll_cycle: RollCycle::Size,
        ..AppenderOptions::default()
    };
    let mut appender = Appender::open(place.path(), &options).unwrap();
    for number in 1..=3_000_u64 {
        appender.append(7, number, &vec![number as u8; (number % 200) as usize]).unwrap();
    }
    drop(appender);
    let mut starts = Vec::new();
    for before in [u64::MAX, 3_001, 3_000, 2, 1] {
        let mut sums = Vec::new();
        segment_sums(place.path(), before, |sum| {
            starts.push(sum.first_sequence);
            sums.push([sum.number, sum.next_sequence, sum.is_ended.into(), sum.digest]);
        })
        .unwrap();
        let read = |number: usize| {
            File(fs::read(place.path().join(format!("{number:010}.segment"))).unwrap())
        };
        let mine: Vec<_> =
            (1..=sums.len()).map(|number| digest_of(&read(number), before)).collect();
        assert_eq!(mine, sums, "before {before}");
    }
    assert!(starts.len() > 10);
    // At, before and after the first number of each segment.
    let first = starts[1];
    for before in [first - 1, first, first + 1] {
        let mut sums = Vec::new();
        segment_sums(place.path(), before, |sum| sums.push(sum.digest)).unwrap();
        assert_eq!(sums.len(), 1 + usize::from(before > first), "before {before}");
        let file = File(fs::read(place.path().join("0000000001.segment")).unwrap());
        assert_eq!(digest_of(&file, before)[3], sums[0], "before {before}");
    }
    // A copy that has as many excerpts, and no end mark yet.
    let path = place.path().join("0000000001.segment");
    let sum_of_first = |before: u64| {
        let mut sums = Vec::new();
        segment_sums(place.path(), before, |sum| sums.push((sum.is_ended, sum.digest))).unwrap();
        sums[0]
    };
    let (ended, not_yet) = (sum_of_first(u64::MAX), sum_of_first(first));
    let mut bytes = fs::read(&path).unwrap();
    let end = bytes.len() - 24;
    bytes[end..].fill(0);
    bytes.resize(1 << 16, 0);
    fs::write(&path, bytes).unwrap();
    for number in 2..=starts.len() {
        let _ = fs::remove_file(place.path().join(format!("{number:010}.segment")));
    }
    assert_eq!(sum_of_first(first), not_yet);
    assert_eq!(sum_of_first(u64::MAX), not_yet);
    assert_eq!((ended.0, not_yet.0), (true, false));
}
