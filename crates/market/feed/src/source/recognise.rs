//! Distinguishes a day and a capture from files of other kinds, by their bytes.
//!
//! Where: commands and plants call [`DaySource::check_day`] before they read. The reading itself
//! accepts any bytes, and reports those that are not records as damage.
//! Protocol: a source that begins with a record or as a capture is accepted at once. A magic number
//! of [`OTHERS`] is refused. Anything else is accepted if a record is found in the first
//! [`RECORD_WITHIN_BYTES`], or if the bytes end inside the first record.
//! Bounds: [`RECORD_WITHIN_BYTES`] and what the decoder needs after them to decide.

use core::ops::ControlFlow;

use nanotape_market::{Damage, Position};
use nanotape_wire::{
    capture::CaptureFormat,
    itch50::{self, Message},
};

use super::{Block, DaySource, Kind, STANDARD_INPUT, SourceError};
use crate::{DayDecoder, DayEnd, MessageHandler, resync::LOOKAHEAD_BYTES};

/// Bytes at the beginning of a day that have a record, however damaged it is.
pub const RECORD_WITHIN_BYTES: usize = 1 << 20;

/// Bytes that decide whether a source is a capture.
const CAPTURE_MAGIC_BYTES: usize = 4;

/// Bytes of a text that are checked.
const TEXT_BYTES: usize = 512;

/// A kind of file that is neither a day nor a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OtherKind {
    /// What the file is.
    pub what: &'static str,
    /// What to do.
    pub advice: &'static str,
    /// A command that writes the day to its standard output. The name of the file follows it.
    pub command: Option<&'static str>,
}

impl OtherKind {
    /// What to do with the input of this name.
    pub(super) fn advice_for(&self, name: &str) -> String {
        match self.command {
            // Standard input has no name that a command could open.
            Some(command) if name == STANDARD_INPUT => format!("{}: {command} FILE", self.advice),
            Some(command) => format!("{}: {command} {name}", self.advice),
            None => self.advice.to_owned(),
        }
    }
}

const EXPECTED: &str = "expected a BinaryFILE day or a capture (pcap, pcapng)";
const DECOMPRESS: &str = "decompress it first";
const EXTRACT: &str = "extract the day first";

/// Kinds of files with a magic number: the offset of the number, its bytes, and the kind. None of
/// them is the length and the type of a record.
const OTHERS: [(usize, &[u8], OtherKind); 14] = [
    (0, b"\xfd7zXZ\0", of_tool("xz-compressed", DECOMPRESS, "xz -dc")),
    (0, b"BZh", of_tool("bzip2-compressed", DECOMPRESS, "bzip2 -dc")),
    (0, b"\x04\x22\x4d\x18", of_tool("lz4-compressed", DECOMPRESS, "lz4 -dc")),
    (0, b"\xff\x06\0\0sNaPpY", of_tool("snappy-compressed", DECOMPRESS, "snzip -dc")),
    (0, b"PK\x03\x04", of_tool("a zip archive", EXTRACT, "unzip -p")),
    (0, b"7z\xbc\xaf\x27\x1c", of_tool("a 7z archive", EXTRACT, "7z x -so")),
    (257, b"ustar", of_tool("a tar archive", EXTRACT, "tar -xOf")),
    // Another compression would have been removed: this one is inside it.
    (0, b"\x1f\x8b", of_tool("gzip-compressed more than once", DECOMPRESS, "gzip -dc")),
    (0, b"\x28\xb5\x2f\xfd", of_tool("zstd-compressed more than once", DECOMPRESS, "zstd -dc")),
    (0, b"PAR1", of_kind("a Parquet file")),
    (0, b"DBN", of_kind("a DBN file")),
    (0, b"nanojrnl", of_kind("a segment of a journal")),
    (0, b"nanotape", of_kind("a region in shared memory, such as a ring")),
    (0, b"\x7fELF", of_kind("a program (ELF)")),
];

const fn of_tool(what: &'static str, advice: &'static str, command: &'static str) -> OtherKind {
    OtherKind { what, advice, command: Some(command) }
}

const fn of_kind(what: &'static str) -> OtherKind {
    OtherKind { what, advice: EXPECTED, command: None }
}

/// What the first bytes of a source are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    /// A day or a capture, damaged or not.
    Day,
    Empty,
    Other(OtherKind),
    /// No record in this number of bytes, and no kind of file that is known.
    NoRecord(u64),
    /// More bytes are needed.
    Unclear,
}

impl DaySource {
    /// Fails if there are no bytes, or if they are neither a day nor a capture. A damaged day is
    /// accepted. Call it before the first block is read.
    pub fn check_day(&mut self) -> Result<(), SourceError> {
        self.check_day_while(|| ControlFlow::Continue(()))
    }

    /// The same for a source with [patience](Self::set_patience): calls `idle` when it delivered
    /// nothing for that time. `Break` ends the check without a result.
    pub fn check_day_while(
        &mut self,
        mut idle: impl FnMut() -> ControlFlow<()>,
    ) -> Result<(), SourceError> {
        let mut checked_bytes = None;
        let verdict = loop {
            let block = self.peek(checked_bytes.map_or(0, |bytes| bytes + 1))?;
            let is_new = checked_bytes.is_none_or(|bytes| block.bytes.len() > bytes);
            if is_new || block.is_last {
                checked_bytes = Some(block.bytes.len());
                match verdict_of(block) {
                    Verdict::Unclear => {}
                    verdict => break verdict,
                }
            } else if idle().is_break() {
                return Ok(());
            }
        };
        let name = self.name.clone();
        match verdict {
            // The reading reports a fault, and delivers what came before it.
            _ if self.has_fault() => Ok(()),
            Verdict::Day | Verdict::Unclear => Ok(()),
            Verdict::Empty => Err(SourceError::Empty { name }),
            Verdict::Other(kind) => Err(SourceError::NotADay { name, kind }),
            Verdict::NoRecord(bytes) => Err(SourceError::NoRecord { name, bytes }),
        }
    }

    fn has_fault(&self) -> bool {
        matches!(&self.kind, Kind::Stream(blocks) if blocks.has_fault())
    }
}

/// Never unclear about a last block.
fn verdict_of(block: Block<'_>) -> Verdict {
    let Block { bytes, is_last, .. } = block;
    if bytes.is_empty() && is_last {
        return Verdict::Empty;
    }
    let is_known = match *bytes {
        [high, low, tag, ..] => {
            itch50::length_of(tag) == Some(usize::from(u16::from_be_bytes([high, low])))
        }
        _ => false,
    };
    if is_known || CaptureFormat::detect(bytes).is_some() {
        return Verdict::Day;
    }
    for (offset, magic, kind) in OTHERS {
        let found = bytes.get(offset..).unwrap_or_default();
        if found.starts_with(magic) {
            return Verdict::Other(kind);
        }
    }
    if !is_last && bytes.len() < CAPTURE_MAGIC_BYTES {
        return Verdict::Unclear;
    }
    if has_record(bytes, is_last) {
        return Verdict::Day;
    }
    // All magic numbers are in the bytes of a block that is not the last and has no record.
    if !is_last && bytes.len() < RECORD_WITHIN_BYTES + LOOKAHEAD_BYTES {
        return Verdict::Unclear;
    }
    if bytes.iter().all(|&byte| byte == 0) {
        return Verdict::Other(of_kind("zeros only (an unfinished download?)"));
    }
    match text_kind(&bytes[..bytes.len().min(TEXT_BYTES)]) {
        Some(what) => Verdict::Other(of_kind(what)),
        None => Verdict::NoRecord(bytes.len().min(RECORD_WITHIN_BYTES) as u64),
    }
}

/// Whether the first bytes have a record, or are the beginning of one and nothing more.
fn has_record(bytes: &[u8], is_last: bool) -> bool {
    /// Ends the reading at the first message.
    struct First;
    impl MessageHandler for First {
        fn message(&mut self, _: Position, _: Message<'_>) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
        fn damage(&mut self, _: Damage) {}
    }
    let within = &bytes[..bytes.len().min(RECORD_WITHIN_BYTES + LOOKAHEAD_BYTES)];
    let is_last = is_last && within.len() == bytes.len();
    let mut decoder = DayDecoder::new();
    let step = decoder.decode(Block { offset: 0, bytes: within, is_last }, &mut First);
    let is_all_lost = matches!(step.end, None | Some(DayEnd::EndOfFile));
    decoder.records() > 0 || !is_all_lost
}

/// What kind of text begins with these bytes; `None` if they are not text.
fn text_kind(bytes: &[u8]) -> Option<&'static str> {
    let text = match str::from_utf8(bytes) {
        Ok(text) => text,
        // The last character may be cut off.
        Err(error) if error.error_len().is_none() => {
            str::from_utf8(&bytes[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    if text.chars().any(|character| character.is_control() && !"\t\n\r".contains(character)) {
        return None;
    }
    let text = text.trim_start_matches(['\u{feff}', ' ', '\t', '\n', '\r']);
    let line = text.lines().next().unwrap_or_default();
    Some(match text.chars().next() {
        Some('<') => "text (HTML or XML: a saved error page?)",
        Some('{' | '[') => "text (JSON)",
        Some(_) if line.contains(',') => "text (CSV)",
        _ => "text",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Compression, resync::LONGEST_MESSAGE_BYTES};

    #[test]
    fn no_magic_number_is_the_beginning_of_a_record() {
        for (offset, magic, kind) in OTHERS.into_iter().filter(|(offset, ..)| *offset == 0) {
            let length = usize::from(u16::from_be_bytes([magic[0], magic[1]]));
            assert!(length > LONGEST_MESSAGE_BYTES, "{kind:?} at {offset}");
        }
        // The first two are decompressed before they come here.
        assert_eq!(Compression::of(OTHERS[7].1), Compression::Gzip);
        assert_eq!(Compression::of(OTHERS[8].1), Compression::Zstd);
    }

    #[test]
    fn text_is_detected_from_its_first_line() {
        let kinds = [
            (&b"\xef\xbb\xbfts_ns,symbol\n1,AAPL\n"[..], Some("text (CSV)")),
            (b"\n  <!DOCTYPE html>", Some("text (HTML or XML: a saved error page?)")),
            (b"[1, 2]", Some("text (JSON)")),
            (b"not found\n", Some("text")),
            ("Z\u{fc}rich".as_bytes(), Some("text")),
            // The last character is cut off.
            (&"Z\u{fc}rich".as_bytes()[..2], Some("text")),
            (b"text\0with a zero", None),
            (b"\xff\xfet\0e\0x\0t\0", None),
        ];
        for (bytes, expected) in kinds {
            assert_eq!(text_kind(bytes), expected, "{bytes:?}");
        }
    }
}
