//! Compressed journals have the same excerpts as before, from any position and in both directions.

use std::fs;

use nanotape_clock::UtcNanos;
use nanotape_harness::Scratch;
use nanotape_journal::{
    Appender, CompressOptions, ErrorKind, Found, Start, Tail, Tailer, compress, uncompress,
};
use proptest::prelude::*;

use crate::damage::{self, Record, assert_clean, lengths, options, read, segments};

fn back(tailer: &mut Tailer) -> Vec<u64> {
    let mut sequences = Vec::new();
    loop {
        match tailer.previous().unwrap() {
            Tail::Excerpt(excerpt) => sequences.push(excerpt.sequence()),
            Tail::Gap(gap) => panic!("{gap:?}"),
            Tail::Reused(reused) => panic!("{reused:?}"),
            Tail::Nothing => return sequences,
        }
    }
}

fn first(tailer: &mut Tailer) -> Option<(u64, Vec<u8>)> {
    match tailer.next().unwrap() {
        Tail::Excerpt(excerpt) => Some((excerpt.sequence(), excerpt.to_vec())),
        Tail::Gap(gap) => panic!("{gap:?}"),
        Tail::Reused(reused) => panic!("{reused:?}"),
        Tail::Nothing => None,
    }
}

fn of(record: &Record) -> Option<(u64, Vec<u8>)> {
    Some((record.sequence, record.payload.clone()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_compressed_journal_reads_the_same_from_any_start(
        salt in 0..100_usize, keep_plain in 0..3_u64, level in 1..9_i32,
        places in proptest::collection::vec(any::<u16>(), 1..20)
    ) {
        let place = Scratch::new("same");
        let records = damage::write(place.path(), &lengths(4, salt));
        let numbers = segments(place.path());
        let options = CompressOptions { level, keep_plain };
        let compressed = compress(place.path(), &options, |_, _| ()).unwrap();
        prop_assert_eq!(compressed.len() as u64, (numbers.len() as u64 - 1).saturating_sub(keep_plain));
        prop_assert!(compressed.iter().all(|it| it.packed_bytes < it.plain_bytes / 2));
        prop_assert_eq!(segments(place.path()), &numbers[compressed.len()..]);
        assert_clean(place.path());
        prop_assert_eq!(&read(place.path()), &records);

        let mut tailer = Tailer::open(place.path(), Start::Newest).unwrap();
        let mut sequences = back(&mut tailer);
        sequences.reverse();
        let expected: Vec<u64> = records.iter().map(|record| record.sequence).collect();
        prop_assert_eq!(sequences, expected);
        for part in places {
            let record = &records[(usize::from(part) * records.len()) >> 16];
            let mut tailer = Tailer::open(place.path(), Start::Sequence(record.sequence)).unwrap();
            prop_assert_eq!(first(&mut tailer), of(record));
            let mut tailer = Tailer::open(place.path(), Start::Time(UtcNanos::of_unix_ns(record.ts_ns))).unwrap();
            prop_assert_eq!(first(&mut tailer), of(record));
            let mut tailer = Tailer::open(place.path(), Start::Time(UtcNanos::of_unix_ns(record.ts_ns - 1))).unwrap();
            prop_assert_eq!(first(&mut tailer), of(record));
            prop_assert_eq!(back(&mut tailer).len() as u64, record.sequence);
        }

        // A second run does nothing; the journal can be appended to; and the compression can be
        // undone.
        prop_assert_eq!(compress(place.path(), &options, |_, _| ()).unwrap(), []);
        let mut appender = Appender::open(place.path(), &damage::options()).unwrap();
        let sequence = appender.append(1, damage::time(1_000_000), b"more").unwrap();
        prop_assert_eq!(sequence, records.len() as u64 + 1);
        drop(appender);
        let unpacked = uncompress(place.path(), |_, _| ()).unwrap();
        prop_assert_eq!(unpacked.len(), compressed.len());
        prop_assert_eq!(segments(place.path()), numbers);
        assert_clean(place.path());
        prop_assert_eq!(&read(place.path())[..records.len()], &records[..]);
    }
}

#[test]
fn a_compression_that_was_killed_is_done_by_the_next_one() {
    let place = Scratch::new("killed");
    let records = damage::write(place.path(), &lengths(3, 1));
    let plain = fs::read(damage::segment(place.path(), 1)).unwrap();
    // Killed while it wrote, and killed before it removed the plain file.
    fs::write(place.path().join("0000000002.zst.part"), "half").unwrap();
    compress(place.path(), &CompressOptions { keep_plain: 1, level: 3 }, |_, _| ()).unwrap();
    assert!(!place.path().join("0000000002.zst.part").exists());
    fs::write(damage::segment(place.path(), 1), &plain).unwrap();
    let verified = assert_clean(place.path());
    assert!(damage::has(&verified, |found| *found == Found::Twice));
    assert_eq!(read(place.path()), records);
    compress(place.path(), &CompressOptions::default(), |_, _| ()).unwrap();
    assert_eq!(segments(place.path()).len(), 1);
    assert_eq!(assert_clean(place.path()).findings, []);
    assert_eq!(read(place.path()), records);
}

#[test]
fn a_damaged_segment_is_not_compressed() {
    let place = Scratch::new("refused");
    let records = damage::write(place.path(), &lengths(3, 1));
    let damaged = &records[records.len() / 2];
    damage::flip(place.path(), damaged.segment, damaged.offset + 10, 1);
    let error = compress(place.path(), &CompressOptions::default(), |_, _| ()).unwrap_err();
    let ErrorKind::Damaged { offset, .. } = *error.kind() else { panic!("{error}") };
    assert_eq!(offset, damaged.offset as u64);
    assert!(damage::segment(place.path(), damaged.segment).exists());
}

#[test]
fn errors_of_compressed_segments_state_the_cause() {
    let place = Scratch::new("causes");
    damage::write(place.path(), &lengths(3, 1));
    let plain = fs::read(damage::segment(place.path(), 1)).unwrap();
    compress(place.path(), &CompressOptions::default(), |_, _| ()).unwrap();
    let file = place.path().join("0000000001.segment.zst");
    let packed = fs::read(&file).unwrap();
    let (mut changed, mut odd) = (packed.clone(), plain);
    *changed.last_mut().unwrap() ^= 1;
    odd.push(0);
    for (bytes, cause) in [
        (vec![7; 100], "zstd: Unknown frame descriptor"),
        (changed, "zstd: Restored data doesn't match checksum"),
        (packed[..packed.len() / 2].to_vec(), "unexpected end of file"),
        (packed.repeat(2), "more bytes than its header and its excerpts allow"),
        (zstd::encode_all(&odd[..], 3).unwrap(), "its length is not a multiple of 8 bytes"),
    ] {
        fs::write(&file, bytes).unwrap();
        let error = Tailer::open(place.path(), Start::Oldest).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Packed { .. }), "{error}");
        let expected = format!("{}: cannot unpack it: {cause}", file.display());
        assert_eq!(error.to_string(), expected);
        let verified = damage::verified(place.path());
        let unpackable = |found: &Found| matches!(found, Found::Unpackable(_));
        let finding = verified.findings.iter().find(|finding| unpackable(&finding.found));
        assert_eq!(finding.unwrap().found.to_string(), format!("cannot unpack it: {cause}"));
    }
}

#[test]
fn a_tailer_goes_on_when_the_segment_that_it_reads_is_compressed() {
    for is_durable in [false, true] {
        let place = Scratch::new("under");
        let mut appender = Appender::open(place.path(), &options()).unwrap();
        let mut append = |count: u64, is_synced: bool| {
            for _ in 0..count {
                let sequence = appender.next_sequence();
                appender.append(1, damage::time(sequence), &[1; 50]).unwrap();
            }
            if is_synced {
                appender.sync().unwrap();
            }
            appender.next_sequence()
        };
        append(10, true);
        let mut tailer = Tailer::open(place.path(), Start::Oldest).unwrap();
        tailer.set_durable(is_durable);
        for expected in 1..=10 {
            assert_eq!(first(&mut tailer).map(|(sequence, _)| sequence), Some(expected));
        }
        assert_eq!(first(&mut tailer), None);
        // Compressed segments are on disk, whether they were synced before or not.
        let next = append(3000, false);
        let compressed = compress(place.path(), &CompressOptions::default(), |_, _| ()).unwrap();
        assert!(compressed.len() > 2);
        // The tailer might poll several times before it checks the file.
        let mut expected = 11;
        for _ in 0..100_000 {
            if let Some((sequence, _)) = first(&mut tailer) {
                assert_eq!(sequence, expected);
                expected += 1;
            }
        }
        let last = segments(place.path())[0];
        let first_of_last = read(place.path()).into_iter().find(|it| it.segment == last).unwrap();
        let end = if is_durable { first_of_last.sequence } else { next };
        assert_eq!(expected, end, "durable: {is_durable}");
    }
}

#[test]
fn compression_beside_an_appender_loses_nothing() {
    let place = Scratch::new("beside");
    let with_pretoucher = nanotape_journal::AppenderOptions { has_pretoucher: true, ..options() };
    let mut appender = Appender::open(place.path(), &with_pretoucher).unwrap();
    let path = place.path().to_owned();
    let appending = std::thread::spawn(move || {
        for _ in 0..20_000 {
            let sequence = appender.next_sequence();
            appender.append(1, damage::time(sequence), &sequence.to_ne_bytes()).unwrap();
        }
        appender.close().unwrap();
    });
    let mut tailer = Tailer::open(&path, Start::Oldest).unwrap();
    let mut expected = 1_u64;
    while expected <= 20_000 {
        compress(&path, &CompressOptions { level: 1, keep_plain: 0 }, |_, _| ()).unwrap();
        while let Some((sequence, payload)) = first(&mut tailer) {
            assert_eq!((sequence, payload), (expected, expected.to_ne_bytes().to_vec()));
            expected += 1;
        }
    }
    appending.join().unwrap();
    compress(&path, &CompressOptions::default(), |_, _| ()).unwrap();
    assert_eq!(assert_clean(&path).excerpts, 20_000);
    assert_eq!(segments(&path).len(), 1);
}
