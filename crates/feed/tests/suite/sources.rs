//! Every source (plain, compressed, piped) delivers the same messages and reports where it ended.

use std::{
    fs,
    io::{self, Read, Write},
};

use flate2::{Compression as Level, write::GzEncoder};
use nanotape_feed::{DayEnd, DaySource, DaySummary, SourceError, read_day};
use nanotape_harness::Scratch;

use crate::support::{Seen, framed, messages};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Level::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn read(mut source: DaySource) -> (Seen, DaySummary) {
    let mut seen = Seen::default();
    let summary = read_day(&mut source, &mut seen, |_| ()).unwrap();
    (seen, summary)
}

fn read_file(name: &str, content: &[u8]) -> (Seen, DaySummary) {
    let scratch = Scratch::new(name);
    fs::write(scratch.path(), content).unwrap();
    read(DaySource::open(scratch.path()).unwrap())
}

#[test]
fn every_way_in_gives_the_same_messages() {
    // Many blocks of every source, so that records straddle them.
    let all = messages(200_000);
    let bytes = framed(&all);
    assert!(bytes.len() > 8 << 20);
    let zstd = zstd::encode_all(&bytes[..], 1).unwrap();
    let two_members = [gzip(&bytes[..1_000_001]), gzip(&bytes[1_000_001..])].concat();
    let two_frames =
        [zstd::encode_all(&bytes[..7], 1).unwrap(), zstd::encode_all(&bytes[7..], 1).unwrap()]
            .concat();
    // The content decides, not the name.
    for (name, content) in [
        ("plain.gz", &bytes),
        ("gzip", &gzip(&bytes)),
        ("zstd.itch50", &zstd),
        ("two-members", &two_members),
        ("two-frames", &two_frames),
    ] {
        let (seen, summary) = read_file(name, content);
        assert_eq!(summary.records, all.len() as u64, "{name}");
        assert!(seen.bodies() == all, "{name}");
        assert!(summary.fault.is_none() && summary.end == DayEnd::EndOfFile, "{name}");
        assert_eq!(summary.bytes, bytes.len() as u64, "{name}");
    }
    for content in [bytes, zstd] {
        let piped = DaySource::stream("pipe".into(), io::Cursor::new(content), None).unwrap();
        let (seen, summary) = read(piped);
        assert!(seen.bodies() == all && summary.fault.is_none());
    }
}

#[test]
fn a_file_that_shrinks_while_it_is_read_is_named() {
    let scratch = Scratch::new("shrinks");
    fs::write(scratch.path(), framed(&messages(100_000))).unwrap();
    let mut source = DaySource::open(scratch.path()).unwrap();
    let read = source.next_block(0).unwrap().bytes.len();
    fs::OpenOptions::new().write(true).open(scratch.path()).unwrap().set_len(9).unwrap();
    let error = source.next_block(read).unwrap_err().to_string();
    assert!(error.contains("shrinks") && error.contains("the file shrank to 9 bytes"), "{error}");
}

#[test]
fn unused_bytes_of_a_file_are_at_the_front_of_its_next_block() {
    let scratch = Scratch::new("unused");
    let bytes = framed(&messages(100_000));
    fs::write(scratch.path(), &bytes).unwrap();
    // The last two leave more unused than a reader may.
    for part in [0, 1, 2, 8, 1_000] {
        let mut source = DaySource::open(scratch.path()).unwrap();
        let (mut used, mut offset) = (0, 0);
        loop {
            let block = source.next_block(used).unwrap();
            offset += used;
            assert_eq!(block.offset, offset as u64);
            assert!(bytes[offset..].starts_with(block.bytes));
            if block.is_last {
                assert_eq!(offset + block.bytes.len(), bytes.len());
                break;
            }
            used = block.bytes.len().checked_div(part).unwrap_or(0);
        }
    }
}

#[test]
fn a_compressed_day_that_is_cut_gives_what_it_has_and_says_where() {
    let all = messages(20_000);
    let bytes = framed(&all);
    for (name, whole) in
        [("cut.gz", gzip(&bytes)), ("cut.zst", zstd::encode_all(&bytes[..], 1).unwrap())]
    {
        let cut = &whole[..whole.len() / 2];
        let (seen, summary) = read_file(name, cut);
        assert!(seen.messages.len() > 1000, "{name}: {} messages", seen.messages.len());
        assert!(seen.bodies() == all[..seen.messages.len()], "{name}");
        let fault = summary.fault.expect(name);
        assert!(matches!(fault, SourceError::CompressionCut { .. }), "{name}: {fault}");
        let expected = format!("cut off at compressed offset {}", cut.len());
        assert!(fault.to_string().contains(&expected), "{name}: {fault}");
    }
}

#[test]
fn a_damaged_compressed_day_gives_what_came_before() {
    let all = messages(20_000);
    let bytes = framed(&all);
    let mut damaged = gzip(&bytes);
    // A wrong checksum at the end: everything decompresses before the error.
    let place = damaged.len() - 6;
    damaged[place] ^= 0xff;
    let (seen, summary) = read_file("damaged.gz", &damaged);
    assert!(seen.bodies() == all);
    let fault = summary.fault.expect("a wrong checksum is noticed");
    assert!(matches!(fault, SourceError::CompressionDamaged { .. }), "{fault}");
}

#[test]
fn a_failing_pipe_gives_what_came_before() {
    struct Fails(io::Cursor<Vec<u8>>);
    impl Read for Fails {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::Error::other("the line is down")),
                bytes => Ok(bytes),
            }
        }
    }
    let all = messages(10);
    let input = Fails(io::Cursor::new(framed(&all)));
    let (seen, summary) = read(DaySource::stream("line".into(), input, None).unwrap());
    assert_eq!(seen.bodies(), all);
    assert_eq!(summary.fault.unwrap().to_string(), "cannot read line: the line is down");
}

#[test]
fn short_inputs_are_not_mistaken_for_anything() {
    for length in 0..4 {
        let (seen, summary) = read_file("short", &framed(&messages(1))[..length]);
        assert!(seen.messages.is_empty() && seen.damage.is_empty());
        assert_eq!(summary.end == DayEnd::EndOfFile, length == 0, "{length} bytes");
    }
}

#[test]
fn what_cannot_be_opened_is_named() {
    let missing = DaySource::open("no/such/day.itch50".as_ref()).unwrap_err().to_string();
    assert!(missing.starts_with("cannot open no/such/day.itch50"), "{missing}");
    let directory = DaySource::open(std::env::temp_dir().as_path()).unwrap_err().to_string();
    assert!(directory.ends_with("is a directory, expected a day file"), "{directory}");
}
