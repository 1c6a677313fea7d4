//! A segment of every released version is kept and must stay readable.
//!
//! For a new version, run this with `NANOTAPE_KEEP_SEGMENT=1`. It writes the segment of that
//! version if it does not exist yet.

use std::{fs, path::PathBuf};

use nanotape_harness::Scratch;
use nanotape_journal::{Appender, AppenderOptions, FORMAT_VERSION, RollCycle, Start, Tail, Tailer};

fn kept(version: u64) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kept");
    PathBuf::from(folder).join(format!("version-{version}.segment.zst"))
}

/// The contents of every kept segment: number, type, time and payload of each excerpt.
fn expected() -> Vec<(u64, u16, u64, Vec<u8>)> {
    let mut excerpts = Vec::new();
    for number in 0..200_u64 {
        // Numbers 101 to 110 are missing.
        let sequence = if number < 100 { number + 1 } else { number + 11 };
        let length = (number * number % 150) as usize;
        let payload = (0..length).map(|at| (at as u64 * 7 + number) as u8).collect();
        excerpts.push((sequence, number as u16 * 300, 1_700_000_000_000_000_000 + number, payload));
    }
    excerpts
}

fn write(place: &Scratch) {
    let options = AppenderOptions {
        segment_bytes: 1 << 16,
        roll_cycle: RollCycle::Day,
        has_pretoucher: false,
        ..AppenderOptions::default()
    };
    let mut appender = Appender::open(place.path(), &options).unwrap();
    for (sequence, type_id, ts_ns, payload) in expected() {
        appender.skip_to(sequence).unwrap();
        appender.append(type_id, ts_ns, &payload).unwrap();
    }
    appender.roll().unwrap();
    appender.close().unwrap();
}

#[test]
fn the_segment_of_every_version_is_read() {
    if std::env::var_os("NANOTAPE_KEEP_SEGMENT").is_some() && !kept(FORMAT_VERSION).exists() {
        let place = Scratch::new("keep");
        write(&place);
        let segment = fs::read(place.path().join("0000000001.segment")).unwrap();
        fs::create_dir_all(kept(FORMAT_VERSION).parent().unwrap()).unwrap();
        fs::write(kept(FORMAT_VERSION), zstd::encode_all(&segment[..], 19).unwrap()).unwrap();
    }
    for version in 1..=FORMAT_VERSION {
        let place = Scratch::new("version");
        fs::create_dir(place.path()).unwrap();
        let packed = fs::read(kept(version)).unwrap_or_else(|error| {
            panic!("{}: {error}; every version keeps one", kept(version).display())
        });
        let segment = zstd::decode_all(&packed[..]).unwrap();
        // Compressed and plain.
        for (name, bytes) in [("0000000001.segment.zst", &packed), ("0000000001.segment", &segment)]
        {
            fs::write(place.path().join(name), bytes).unwrap();
            let mut tailer = Tailer::open(place.path(), Start::Oldest).unwrap();
            let (mut found, mut missing) = (Vec::new(), Vec::new());
            loop {
                match tailer.next().unwrap() {
                    Tail::Excerpt(e) => {
                        found.push((e.sequence(), e.type_id(), e.ts_ns(), e.to_vec()));
                    }
                    Tail::Gap(gap) => missing.push((gap.from, gap.to)),
                    Tail::Reused(reused) => panic!("{reused:?}"),
                    Tail::Nothing => break,
                }
            }
            assert_eq!(found, expected(), "{name}");
            assert_eq!(missing, [(101, 110)]);
        }
        // An appender continues after it.
        let options = AppenderOptions { has_pretoucher: false, ..AppenderOptions::default() };
        let mut appender = Appender::open(place.path(), &options).unwrap();
        assert_eq!(appender.append(1, 1_800_000_000_000_000_000, b"more").unwrap(), 211);
    }
}
