//! Writes interval logs of HdrHistogram (`.hlog`), for its viewers and libraries.
//!
//! Where: a command that has a [`Histogram`] for each interval and site.
//! Format: the text log, version 1.3, with tags; each line has a histogram in the compressed
//! encoding of version 2, in base64, as `HistogramLogWriter` and `encodeIntoCompressedByteBuffer`
//! of HdrHistogram 2.2.2 for Java write them. The compressed bytes are a zlib stream (RFC 1950) of
//! stored blocks (RFC 1951, 3.2.4): the counts are a few hundred bytes, and need no library.
//! Bounds: an encoded histogram takes at most nine bytes for each of its buckets.
//! Failure: only the output can fail. Counts are exact; a value is as precise as its bucket, and
//! values from 2^63 on are in the last bucket below, as the format has signed numbers.

use std::io::{self, Write};

use crate::{Buckets, Histogram};

/// The precisions in bits that a number of significant digits has: two times ten to the digits,
/// rounded up to a power of two.
const DIGITS: [(u32, u32); 5] = [(5, 1), (8, 2), (11, 3), (15, 4), (18, 5)];

/// The precision of histograms for a log: three significant digits.
pub const PRECISION_BITS: u32 = 11;

/// The unit of the largest value in a line: milliseconds, if values are nanoseconds.
const MAX_UNIT: f64 = 1e6;

const COOKIE: u32 = 0x1c84_9303 | 0x10;
const COMPRESSED_COOKIE: u32 = 0x1c84_9304 | 0x10;

/// Writes the lines before the first interval. `start_ns` is in ns since the UNIX epoch.
pub fn write_header(out: &mut dyn Write, start_ns: u64) -> io::Result<()> {
    writeln!(out, "#[Histogram log format version 1.3]")?;
    writeln!(out, "#[StartTime: {:.3} (seconds since epoch)]", seconds(start_ns))?;
    let columns =
        ["StartTimestamp", "Interval_Length", "Interval_Max", "Interval_Compressed_Histogram"];
    writeln!(out, "{}", columns.map(|name| format!("\"{name}\"")).join(","))
}

/// Writes a histogram of an interval. Characters that a tag cannot have become `-`.
///
/// # Panics
///
/// If the precision of the histogram is not one that significant digits have, such as
/// [`PRECISION_BITS`].
pub fn write_interval(
    out: &mut dyn Write,
    tag: &str,
    (start_ns, length_ns): (u64, u64),
    histogram: &Histogram,
) -> io::Result<()> {
    let is_wrong = |letter: char| letter == ',' || letter.is_whitespace() || letter.is_control();
    let tag = tag.replace(is_wrong, "-");
    let max = histogram.max().unwrap_or(0) as f64 / MAX_UNIT;
    let encoded = base64(&compressed(&encoded(histogram)));
    let (start, length) = (seconds(start_ns), seconds(length_ns));
    writeln!(out, "Tag={tag},{start:.3},{length:.3},{max:.6},{encoded}")
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// The encoding of version 2.
fn encoded(histogram: &Histogram) -> Vec<u8> {
    let bits = histogram.precision_bits();
    let digits = DIGITS.iter().find(|(precision, _)| *precision == bits);
    let &(_, digits) = digits.expect("the precision of a number of significant digits");
    let buckets = Buckets::with_precision(bits);
    let highest = histogram.max().unwrap_or(0).clamp(2, i64::MAX as u64);
    let counts = histogram.counts_to(buckets.of(highest) + 1);
    let payload = counts_encoded(counts);
    let mut bytes = Vec::with_capacity(40 + payload.len());
    bytes.extend_from_slice(&COOKIE.to_be_bytes());
    bytes.extend_from_slice(&(payload.len() as u32).to_be_bytes());
    // The offset of normalized indexes.
    bytes.extend_from_slice(&0_u32.to_be_bytes());
    bytes.extend_from_slice(&digits.to_be_bytes());
    // The lowest value that differs from 0.
    bytes.extend_from_slice(&1_u64.to_be_bytes());
    bytes.extend_from_slice(&buckets.highest_in(buckets.of(highest)).to_be_bytes());
    // The ratio of values to those of the program.
    bytes.extend_from_slice(&1_f64.to_be_bytes());
    bytes.extend_from_slice(&payload);
    bytes
}

/// The counts up to the last that is not zero. A run of zeros is its negative length.
fn counts_encoded(counts: impl Iterator<Item = u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut zeros = 0_i64;
    for count in counts {
        if count == 0 {
            zeros += 1;
            continue;
        }
        match std::mem::take(&mut zeros) {
            0 => {}
            1 => put_number(&mut bytes, 0),
            zeros => put_number(&mut bytes, -zeros),
        }
        put_number(&mut bytes, i64::try_from(count).unwrap_or(i64::MAX));
    }
    bytes
}

/// A number with its sign in bit 0, seven bits a byte and eight in the ninth.
fn put_number(bytes: &mut Vec<u8>, number: i64) {
    let mut left = ((number << 1) ^ (number >> 63)) as u64;
    for _ in 0..8 {
        if left < 0x80 {
            return bytes.push(left as u8);
        }
        bytes.push(left as u8 | 0x80);
        left >>= 7;
    }
    bytes.push(left as u8);
}

/// The compressed encoding: a cookie, a length and a zlib stream.
fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut blocks = bytes.chunks(usize::from(u16::MAX)).peekable();
    while let Some(block) = blocks.next() {
        let length = block.len() as u16;
        stream.push(u8::from(blocks.peek().is_none()));
        stream.extend_from_slice(&length.to_le_bytes());
        stream.extend_from_slice(&(!length).to_le_bytes());
        stream.extend_from_slice(block);
    }
    stream.extend_from_slice(&adler_32(bytes).to_be_bytes());
    let mut all = Vec::with_capacity(8 + stream.len());
    all.extend_from_slice(&COMPRESSED_COOKIE.to_be_bytes());
    all.extend_from_slice(&(stream.len() as u32).to_be_bytes());
    all.extend_from_slice(&stream);
    all
}

/// The checksum of a zlib stream.
fn adler_32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    let (low, high) = bytes.iter().fold((1_u32, 0_u32), |(low, high), &byte| {
        let low = (low + u32::from(byte)) % MODULUS;
        (low, (high + low) % MODULUS)
    });
    high << 16 | low
}

/// Base64 with padding (RFC 4648, 4).
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for part in bytes.chunks(3) {
        let mut three = [0; 3];
        three[..part.len()].copy_from_slice(part);
        let bits = u32::from_be_bytes([0, three[0], three[1], three[2]]);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= part.len() { letter.into() } else { '=' });
        }
    }
    text
}
