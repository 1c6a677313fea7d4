//! The format document matches the code.

use std::fs;

use nanotape_harness::Scratch;
use nanotape_journal::{
    APPENDER_KIND, Appender, AppenderOptions, CompanionFile, ENTRY_FIELDS, EXCERPT_FIELDS, FIELDS,
    LAYOUT, MAGIC, MAX_SEGMENT_BYTES, MIN_SEGMENT_BYTES, RollCycle, TAILER_FIELDS, TAILER_KIND,
    TAILER_LAYOUT, TAILERS, checksum_bytes,
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
