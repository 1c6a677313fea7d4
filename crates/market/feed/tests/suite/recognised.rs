//! What is refused before it is read: files of other kinds, and nothing that a day can be, however
//! damaged.

use std::{
    fs,
    io::{self, Read},
    ops::ControlFlow,
    path::Path,
};

use nanotape_feed::{DayEnd, DaySource, SourceError, read_day, source::RECORD_WITHIN_BYTES};
use nanotape_harness::{Random, Scratch, skipped};

use crate::support::{Seen, framed, messages};

/// A pipe that delivers few bytes at a time.
struct Slow(io::Cursor<Vec<u8>>, usize);

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(self.1);
        self.0.read(&mut buffer[..length])
    }
}

fn slow(bytes: &[u8], portion: usize) -> DaySource {
    let input = Slow(io::Cursor::new(bytes.to_vec()), portion);
    DaySource::stream("pipe".into(), input, None).unwrap()
}

/// Every way to read these bytes.
fn sources(bytes: &[u8], file: &Path) -> Vec<(&'static str, DaySource)> {
    fs::write(file, bytes).unwrap();
    let zstd = io::Cursor::new(zstd::encode_all(bytes, 1).unwrap());
    vec![
        ("memory", DaySource::memory("held bytes", bytes.to_vec())),
        ("file", DaySource::open(file).unwrap()),
        ("pipe", slow(bytes, 997)),
        ("zstd", DaySource::stream("zstd".into(), zstd, Some(1)).unwrap()),
    ]
}

fn refused(bytes: &[u8]) -> String {
    let file = Scratch::new("refused");
    let errors = sources(bytes, file.path()).into_iter().map(|(how, mut source)| {
        let error = source.check_day().expect_err(how).to_string();
        error.strip_prefix(source.name()).expect(how).replace(source.name(), "NAME")
    });
    let mut errors: Vec<_> = errors.collect();
    errors.dedup();
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors.remove(0)
}

/// Checks that each source is accepted, and read as it is without the check.
fn accepted(bytes: &[u8], what: &str) {
    let read = |mut source: DaySource| {
        let mut seen = Seen::default();
        let summary = read_day(&mut source, &mut seen, |_| ()).unwrap();
        (seen, summary.end, summary.bytes)
    };
    let expected = read(DaySource::memory("memory", bytes.to_vec()));
    let file = Scratch::new("accepted");
    for (how, mut source) in sources(bytes, file.path()) {
        source.check_day().unwrap_or_else(|error| panic!("{what}, {how}: {error}"));
        assert!(read(source) == expected, "{what}, {how}");
    }
}

#[test]
fn a_day_that_is_damaged_at_the_beginning_is_not_refused() {
    let whole = framed(&messages(2_000));
    let mut random = Random::new(7);
    accepted(&whole, "whole");
    accepted(&[0, 0], "an empty session");
    for cut in 1..120 {
        accepted(&whole[..cut], "cut off");
        accepted(&whole[cut..], "without a beginning");
    }
    for bytes in [1, 2, 3, 5, 40, 300, 4_096, 60_000] {
        for fill in ["random", "zeros", "text"] {
            let filler: Vec<u8> = match fill {
                "random" => random.bytes(bytes),
                "zeros" => vec![0; bytes],
                _ => b"HTTP/1.1 200 OK\r\n".iter().copied().cycle().take(bytes).collect(),
            };
            let mut overwritten = whole.clone();
            overwritten[..bytes].copy_from_slice(&filler);
            accepted(&overwritten, &format!("{bytes} bytes overwritten with {fill}"));
            accepted(&[&filler[..], &whole].concat(), &format!("{bytes} bytes of {fill} before"));
        }
    }
    for _ in 0..200 {
        let mut damaged = whole.clone();
        for _ in 0..4 {
            damaged[random.index(80)] = random.number() as u8;
        }
        accepted(&damaged, "four bytes of the first 80");
    }
    // A record that ends the search at its last byte, and one after it.
    let mut late = vec![b'x'; RECORD_WITHIN_BYTES - 3];
    late.extend_from_slice(&whole);
    accepted(&late, "a record at the end of the first MiB");
}

#[test]
fn a_day_of_many_blocks_is_read_from_its_beginning() {
    let mut bytes = framed(&messages(8 * RECORD_WITHIN_BYTES as u64 / 90));
    assert!(bytes.len() > 8 * RECORD_WITHIN_BYTES);
    bytes[..700_000].fill(b' ');
    accepted(&bytes, "700,000 spaces");
}

#[test]
fn the_real_days_are_accepted() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/data");
    let Ok(files) = fs::read_dir(&folder) else {
        return skipped(format_args!("no ../shared/data (real market data)"));
    };
    let mut accepted = 0;
    for file in files {
        let path = file.unwrap().path();
        let name = path.display().to_string();
        let result = DaySource::open(&path).unwrap().check_day();
        if [".md", ".csv.zst"].iter().any(|suffix| name.ends_with(suffix)) {
            assert!(result.unwrap_err().to_string().contains(": text"), "{name}");
        } else {
            result.unwrap_or_else(|error| panic!("{error}"));
            accepted += 1;
        }
    }
    assert!(accepted > 0);
}

#[test]
fn files_of_other_kinds_are_refused_with_what_to_do() {
    let day = framed(&messages(100));
    let mut tar = [&[0; 512][..], &day].concat();
    tar[..7].copy_from_slice(b"day.bin");
    tar[257..262].copy_from_slice(b"ustar");
    let zip = [b"PK\x03\x04".as_slice(), &day].concat();
    let expected = "expected a BinaryFILE day or a capture (pcap, pcapng)";
    for (bytes, line) in [
        (b"\xfd7zXZ\0\0\x04".as_slice(), ": xz-compressed; decompress it first: xz -dc NAME"),
        (b"BZh91AY&SY", ": bzip2-compressed; decompress it first: bzip2 -dc NAME"),
        (b"\x04\x22\x4d\x18\x60", ": lz4-compressed; decompress it first: lz4 -dc NAME"),
        (b"\xff\x06\0\0sNaPpY\0", ": snappy-compressed; decompress it first: snzip -dc NAME"),
        (b"7z\xbc\xaf\x27\x1c\0", ": a 7z archive; extract the day first: 7z x -so NAME"),
        // The day inside would be found, since neither has a compression of its own here.
        (&zip, ": a zip archive; extract the day first: unzip -p NAME"),
        (&tar, ": a tar archive; extract the day first: tar -xOf NAME"),
        (b"PAR1\x15", &format!(": a Parquet file; {expected}")),
        (b"DBN\x03", &format!(": a DBN file; {expected}")),
        (b"nanojrnl\x01", &format!(": a segment of a journal; {expected}")),
        (b"nanotape\x01", &format!(": a region in shared memory, such as a ring; {expected}")),
        (b"\x7fELF\x02", &format!(": a program (ELF); {expected}")),
        (b"ts_ns,symbol\n1,AAPL\n", &format!(": text (CSV); {expected}")),
        (b"{\"ts_ns\":1}\n", &format!(": text (JSON); {expected}")),
        (b"<html>", &format!(": text (HTML or XML: a saved error page?); {expected}")),
        (b"not found\n", &format!(": text; {expected}")),
        (&[0; 3_000], &format!(": zeros only (an unfinished download?); {expected}")),
        (&[0xaa; 3_000], ": not a BinaryFILE day: no record in its first 3000 bytes"),
        (&[0xaa; 3 << 20], ": not a BinaryFILE day: no record in its first 1048576 bytes"),
        (&b"a,b\n".repeat(1 << 20), &format!(": text (CSV); {expected}")),
        (b"", &format!(": is empty, {expected}")),
    ] {
        assert_eq!(refused(bytes), line);
    }
    // A compression inside another one.
    let twice = zstd::encode_all(&zstd::encode_all(&day[..], 1).unwrap()[..], 1).unwrap();
    let error = slow(&twice, 100).check_day().unwrap_err().to_string();
    let line = "pipe: zstd-compressed more than once; decompress it first: zstd -dc pipe";
    assert_eq!(error, line);
}

#[test]
fn random_bytes_are_refused_and_still_read_as_damage() {
    let mut random = Random::new(3);
    for length in [3_000, 30_000, 2 << 20] {
        let bytes = random.bytes(length);
        assert!(refused(&bytes).contains("not a BinaryFILE day"));
        let mut seen = Seen::default();
        let mut source = DaySource::memory("memory", bytes);
        let summary = read_day(&mut source, &mut seen, |_| ()).unwrap();
        assert_eq!((summary.end, seen.damage.len()), (DayEnd::EndOfFile, 1));
    }
}

#[test]
fn a_pipe_that_begins_with_a_record_is_accepted_before_it_goes_on() {
    /// Delivers its bytes, and then fails the test instead of waiting.
    struct Silent(Vec<u8>);
    impl Read for Silent {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            assert!(!self.0.is_empty(), "the check waits for more than the first record");
            let length = self.0.len().min(buffer.len());
            buffer[..length].copy_from_slice(&self.0[..length]);
            self.0.drain(..length);
            Ok(length)
        }
    }
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    /// Waits without an end until the sender is gone.
    struct Waits(Silent, std::sync::mpsc::Receiver<()>);
    impl Read for Waits {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.0.is_empty() {
                let _ = self.1.recv();
                return Ok(0);
            }
            self.0.read(buffer)
        }
    }
    let first = framed(&messages(1))[..38].to_vec();
    let input = Waits(Silent(first), receiver);
    let mut source = DaySource::stream("pipe".into(), input, None).unwrap();
    source.check_day().unwrap();
    drop(sender);

    // A pipe that delivers nothing: its reader decides when to stop.
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    let input = Waits(Silent(Vec::new()), receiver);
    let mut source = DaySource::stream("pipe".into(), input, None).unwrap();
    source.set_patience(std::time::Duration::from_millis(1));
    let mut turns = 0;
    let checked = source.check_day_while(|| {
        turns += 1;
        if turns == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(checked.is_ok() && turns == 3);
    drop(sender);
}

#[test]
fn a_compressed_file_without_a_byte_reports_its_fault_and_not_that_it_is_empty() {
    let zstd = zstd::encode_all(&framed(&messages(10))[..], 1).unwrap();
    let mut source = slow(&zstd[..9], 9);
    source.check_day().unwrap();
    let summary = read_day(&mut source, &mut Seen::default(), |_| ()).unwrap();
    assert!(matches!(summary.fault, Some(SourceError::CompressionCut { .. })));
}
