//! Every source (plain, compressed, piped) delivers the same messages and reports where it ended.

use std::{
    fs,
    io::{self, Read, Write},
    os::unix::fs::FileExt as _,
};

use flate2::{Compression as Level, write::GzEncoder};
use nanotape_feed::{CaptureChoice, DayEnd, DaySource, DaySummary, SourceError, read_day};
use nanotape_harness::{Scratch, eventually};

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
fn a_file_that_is_written_while_it_is_read_has_a_fault() {
    let scratch = Scratch::new("written");
    let bytes = framed(&messages(100_000));
    let zstd = zstd::encode_all(&bytes[..], 1).unwrap();
    let fault_after = |content: &[u8], at: u64| {
        fs::write(scratch.path(), content).unwrap();
        let mut source = DaySource::open(scratch.path()).unwrap();
        let mut block = source.next_block(0).unwrap();
        let file = fs::OpenOptions::new().write(true).open(scratch.path()).unwrap();
        // A clock of the file system may go on every few milliseconds only.
        let before = file.metadata().unwrap().modified().unwrap();
        eventually("a new time of modification", || {
            file.write_all_at(&[0], at).unwrap();
            file.metadata().unwrap().modified().unwrap() != before
        });
        while !block.is_last {
            let read = block.bytes.len();
            block = source.next_block(read).unwrap();
        }
        source.fault().map(|fault| fault.to_string())
    };
    let fault = fault_after(&bytes, bytes.len() as u64 / 2).unwrap();
    assert!(fault.contains("written: the file was changed while it was read"), "{fault}");
    // What is appended to a plain file is not read.
    assert_eq!(fault_after(&bytes, bytes.len() as u64), None);
    assert!(fault_after(&zstd, zstd.len() as u64).is_some());
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

/// A frame of zstd with this header after the magic number, and one block that is not compressed.
fn frame(header: &[u8], content: &[u8]) -> Vec<u8> {
    let block = ((content.len() as u32) << 3 | 1).to_le_bytes();
    [&[0x28, 0xb5, 0x2f, 0xfd], header, &block[..3], content].concat()
}

/// The descriptor of a window of 2^bits bytes.
fn window(bits: u8) -> u8 {
    (bits - 10) << 3
}

#[test]
fn a_window_of_up_to_2_gib_is_read() {
    let all = messages(20);
    for bits in [27, 28, 29, 31] {
        let (seen, summary) = read_file("window.zst", &frame(&[0, window(bits)], &framed(&all)));
        assert!(seen.bodies() == all && summary.fault.is_none(), "{bits}: {:?}", summary.fault);
    }
}

#[test]
fn a_frame_that_needs_a_dictionary_or_more_memory_says_so() {
    let all = messages(20);
    let content = framed(&all);
    let single_segment = [0xe0, 1, 0, 0, 0x80, 0, 1, 0, 0];
    for (header, needs) in [
        (&[1, window(20), 7][..], "a dictionary, which this program does not take"),
        (&[3, window(20), 0, 0, 0, 7], "a dictionary, which this program does not take"),
        (&[0x21, 7, 200], "a dictionary, which this program does not take"),
        (&[0, window(31) + 1], "a window of more than 2 GiB"),
        (&[0, window(41)], "a window of more than 2 GiB"),
        (&single_segment, "a window of more than 2 GiB"),
    ] {
        // Also after a frame that is read.
        for before in [&[][..], &zstd::encode_all(&content[..], 1).unwrap()] {
            let bytes = [before, &frame(header, &content)].concat();
            let (seen, summary) = read_file("needs.zst", &bytes);
            assert_eq!(seen.messages.len(), if before.is_empty() { 0 } else { all.len() });
            let fault = summary.fault.expect(needs).to_string();
            assert!(fault.contains(&format!("the zstd stream needs {needs}")), "{fault}");
            assert!(fault.contains(&format!("offset {}", before.len())), "{fault}");
        }
    }
}

/// Nothing of the input can be read, so its kind is unknown: the error is the fault.
#[test]
fn an_input_whose_first_block_is_damaged_is_not_of_another_kind() {
    let mut damaged = zstd::encode_all(&framed(&messages(2_000))[..], 1).unwrap();
    // The header of the first block, after that of the frame: a reserved type.
    damaged[6] |= 0b110;
    let dictionary = frame(&[1, window(20), 7], b"DBN");
    for (bytes, expected) in
        [(damaged, "is damaged at or before"), (dictionary, "needs a dictionary")]
    {
        let mut source = DaySource::stream("pipe".into(), io::Cursor::new(bytes), None).unwrap();
        assert!(!source.starts_with(b"DBN").unwrap());
        let groups = vec!["239.1.1.1:5001".parse().unwrap()];
        source.choose(&CaptureChoice { groups, ..CaptureChoice::default() });
        let error = source.check_choice().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_source_is_printed_without_its_bytes() {
    let bytes = framed(&messages(200_000));
    let scratch = Scratch::new("printed");
    fs::write(scratch.path(), &bytes).unwrap();
    let pipe = DaySource::stream("pipe".into(), io::Cursor::new(bytes.clone()), None).unwrap();
    for mut source in
        [DaySource::open(scratch.path()).unwrap(), pipe, DaySource::memory("memory", bytes)]
    {
        source.next_block(0).unwrap();
        let printed = format!("{source:?}");
        assert!(printed.len() < 1_000 && printed.contains(source.name()), "{}", printed.len());
    }
}
