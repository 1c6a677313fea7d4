//! Packets that wait for an earlier one: in memory up to a bound, then in a temporary file.
//!
//! ```text
//! insert --> packets in memory, by number --spill--> runs of packets in the file, by number
//!                        \                             /
//!                         +-- take_first, in order --+
//! ```
//!
//! A spill writes the packets in memory in the order of their numbers, so that packets that are
//! neighbours by number become one run, however they came. The file has no name, and is empty again
//! when nothing waits.
//! Bounds: memory for packets is a parameter; [`MOST_RUNS`] runs take about 200 MiB. The file has
//! what the capture has, at most.
//! Failure: a file that cannot be written, and too many runs, are errors that end the reading.

use std::{
    collections::BTreeMap,
    env,
    fs::File,
    io::{self, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write},
    ops::Range,
};

use crate::SourceError;

/// Memory that a waiting packet takes beside its bytes, about.
const PACKET_BYTES: usize = 96;

/// Runs in the file.
const MOST_RUNS: usize = 2 << 20;

/// Bytes before a packet in the file: its number, the next one, its time, its line, its length.
const HEADER_BYTES: usize = 8 + 8 + 8 + 1 + 4;

/// Bytes that are read from the file, and written to it, at once.
const BUFFER_BYTES: usize = 256 << 10;

/// Some messages of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting<'a> {
    /// When the packet was captured, in ns since the UNIX epoch.
    pub(super) ts_ns: u64,
    /// The line that brought it.
    pub(super) line: u8,
    /// The whole packet.
    pub(super) payload: &'a [u8],
}

/// Packets by the numbers of their messages.
#[derive(Debug)]
pub(super) struct Kept {
    /// By the first number; disjoint.
    pieces: BTreeMap<u64, Piece>,
    memory_bytes: usize,
    most_bytes: usize,
    most_runs: usize,
    file: Option<File>,
    /// Where the next packet is written.
    file_end: u64,
}

#[derive(Debug)]
struct Piece {
    /// One above its last number.
    next: u64,
    /// Of its first packet.
    ts_ns: u64,
    line: u8,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Memory(Box<[u8]>),
    /// Packets that follow each other in the file, from this offset on.
    File {
        offset: u64,
        bytes: u64,
    },
}

impl Kept {
    /// Room for this many bytes in memory.
    pub(super) fn new(most_bytes: usize) -> Self {
        let (pieces, most_runs) = (BTreeMap::new(), MOST_RUNS);
        Self { pieces, memory_bytes: 0, most_bytes, most_runs, file: None, file_end: 0 }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The lowest number, with the time and the line of its packet.
    pub(super) fn first(&self) -> Option<(u64, u64, u8)> {
        self.pieces.first_key_value().map(|(&first, piece)| (first, piece.ts_ns, piece.line))
    }

    /// Memory of the packets that are not in the file.
    pub(super) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Whether the packets in memory take more than their bound.
    pub(super) fn is_full(&self) -> bool {
        self.memory_bytes > self.most_bytes
    }

    /// Keeps those of the `numbers` of a packet that no earlier packet had, and returns how many.
    pub(super) fn insert(&mut self, numbers: Range<u64>, packet: Waiting<'_>) -> u64 {
        let (mut from, mut new) = (numbers.start, 0);
        while from < numbers.end {
            let before = self.pieces.range(..=from).next_back();
            if let Some((_, piece)) = before.filter(|(_, piece)| piece.next > from) {
                from = piece.next;
                continue;
            }
            let after = self.pieces.range(from..).next();
            let next = after.map_or(numbers.end, |(&first, _)| first.min(numbers.end));
            let Waiting { ts_ns, line, payload } = packet;
            let place = Place::Memory(payload.into());
            self.pieces.insert(from, Piece { next, ts_ns, line, place });
            self.memory_bytes += PACKET_BYTES + payload.len();
            new += next - from;
            from = next;
        }
        new
    }

    /// Removes the piece with the lowest number, and passes its packets to `take` with the numbers
    /// that count of each, until it returns `false`.
    pub(super) fn take_first(
        &mut self,
        mut take: impl FnMut(Range<u64>, Waiting<'_>) -> bool,
    ) -> Result<(), SourceError> {
        let Some((first, piece)) = self.pieces.pop_first() else { return Ok(()) };
        let Piece { next, ts_ns, line, place } = piece;
        match place {
            Place::Memory(payload) => {
                self.memory_bytes -= PACKET_BYTES + payload.len();
                take(first..next, Waiting { ts_ns, line, payload: &payload });
            }
            Place::File { offset, bytes } => {
                let Some(file) = &mut self.file else { return Ok(()) };
                read_run(file, (offset, bytes), take).map_err(of_file("read"))?;
            }
        }
        if self.pieces.is_empty() && self.file_end > 0 {
            self.file_end = 0;
            let file = self.file.as_ref();
            file.map_or(Ok(()), |file| file.set_len(0)).map_err(of_file("empty"))?;
        }
        Ok(())
    }

    /// Writes the packets in memory to the file. `name`: the capture.
    pub(super) fn spill(&mut self, name: &str) -> Result<(), SourceError> {
        let mut file = match self.file.take() {
            Some(file) => file,
            // Other users write to the folder too: a file without a name is none of theirs.
            None => tempfile::tempfile().map_err(of_file("create"))?,
        };
        let written = self.write(&mut file).map_err(of_file("write"));
        self.file = Some(file);
        written?;
        if self.pieces.len() > self.most_runs {
            let (name, most) = (name.to_owned(), self.most_runs);
            return Err(SourceError::Scattered { name, most });
        }
        Ok(())
    }

    fn write(&mut self, file: &mut File) -> io::Result<()> {
        file.seek(SeekFrom::Start(self.file_end))?;
        let mut writer = BufWriter::with_capacity(BUFFER_BYTES, file);
        let mut pieces: Vec<(u64, Piece)> = Vec::new();
        for (first, piece) in std::mem::take(&mut self.pieces) {
            let Place::Memory(payload) = &piece.place else {
                pieces.push((first, piece));
                continue;
            };
            let bytes = (HEADER_BYTES + payload.len()) as u64;
            write_packet(&mut writer, first, &piece, payload)?;
            let offset = self.file_end;
            self.file_end += bytes;
            match pieces.last_mut() {
                Some((_, Piece { next, place: Place::File { offset: at, bytes: length }, .. }))
                    if *next == first && *at + *length == offset =>
                {
                    (*next, *length) = (piece.next, *length + bytes);
                }
                _ => pieces.push((first, Piece { place: Place::File { offset, bytes }, ..piece })),
            }
        }
        self.pieces = pieces.into_iter().collect();
        self.memory_bytes = 0;
        writer.flush()
    }
}

fn write_packet(
    writer: &mut impl Write,
    first: u64,
    Piece { next, ts_ns, line, .. }: &Piece,
    payload: &[u8],
) -> io::Result<()> {
    writer.write_all(&first.to_ne_bytes())?;
    writer.write_all(&next.to_ne_bytes())?;
    writer.write_all(&ts_ns.to_ne_bytes())?;
    writer.write_all(&[*line])?;
    writer.write_all(&(payload.len() as u32).to_ne_bytes())?;
    writer.write_all(payload)
}

/// Passes the packets of a run to `take`, until it returns `false`.
fn read_run(
    file: &mut File,
    (offset, bytes): (u64, u64),
    mut take: impl FnMut(Range<u64>, Waiting<'_>) -> bool,
) -> io::Result<()> {
    file.seek(SeekFrom::Start(offset))?;
    let capacity = usize::try_from(bytes).unwrap_or(BUFFER_BYTES).min(BUFFER_BYTES);
    let mut reader = BufReader::with_capacity(capacity, file);
    let (mut left, mut payload) = (bytes, Vec::new());
    while left > 0 {
        let mut number = || -> io::Result<u64> {
            let mut number = [0; 8];
            reader.read_exact(&mut number)?;
            Ok(u64::from_ne_bytes(number))
        };
        let (first, next, ts_ns) = (number()?, number()?, number()?);
        let (mut line, mut length) = ([0; 1], [0; 4]);
        reader.read_exact(&mut line)?;
        reader.read_exact(&mut length)?;
        payload.resize(u32::from_ne_bytes(length) as usize, 0);
        reader.read_exact(&mut payload)?;
        left = left.saturating_sub((HEADER_BYTES + payload.len()) as u64);
        if !take(first..next, Waiting { ts_ns, line: line[0], payload: &payload }) {
            break;
        }
    }
    Ok(())
}

/// A packet that was kept is none any more.
pub(super) fn invalid() -> SourceError {
    of_file("read")(io::ErrorKind::InvalidData.into())
}

/// The error of a call on the temporary file.
fn of_file(operation: &'static str) -> impl Fn(io::Error) -> SourceError {
    move |source| {
        let folder = env::temp_dir();
        let name = format!("a temporary file in {} (TMPDIR)", folder.display());
        SourceError::System { operation, name, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps packets of ten messages, each with its first number as its bytes.
    fn keep(kept: &mut Kept, first: u64) -> u64 {
        let payload = first.to_ne_bytes();
        kept.insert(first..first + 10, Waiting { ts_ns: first, line: 3, payload: &payload })
    }

    /// Everything that is kept, as first numbers.
    fn drain(kept: &mut Kept) -> Vec<u64> {
        let mut all = Vec::new();
        while !kept.is_empty() {
            kept.take_first(|numbers, packet| {
                let number = u64::from_ne_bytes(packet.payload.try_into().unwrap());
                assert_eq!((packet.ts_ns, packet.line), (number, 3));
                assert!(number <= numbers.start && numbers.end <= number + 10);
                all.push(numbers.start);
                true
            })
            .unwrap();
        }
        all
    }

    #[test]
    fn packets_that_came_backwards_are_one_run_of_the_file() {
        let mut kept = Kept::new(0);
        for round in 0..3 {
            for first in (0..200).rev() {
                assert_eq!(keep(&mut kept, 10 * first), 10, "{round}");
            }
            assert!(kept.is_full());
            kept.spill("capture").unwrap();
            assert!(kept.pieces.len() == 1 && !kept.is_full(), "{round}");
            // What the file has is not kept again.
            assert_eq!((keep(&mut kept, 55), keep(&mut kept, 1_995)), (0, 5));
            assert_eq!(kept.first().map(|(first, ..)| first), Some(0));
            let expected: Vec<u64> = (0..200).map(|first| 10 * first).chain([2_000]).collect();
            assert_eq!(drain(&mut kept), expected, "{round}");
            assert_eq!((kept.memory_bytes, kept.file_end), (0, 0), "the file is empty again");
        }
    }

    #[test]
    fn too_many_runs_are_an_error_with_what_to_do() {
        let mut kept = Kept { most_runs: 3, ..Kept::new(0) };
        for first in [100, 300, 500] {
            keep(&mut kept, first);
            kept.spill("day.pcap").unwrap();
        }
        keep(&mut kept, 700);
        let error = kept.spill("day.pcap").unwrap_err();
        let text = error.to_string();
        assert!(text.contains("day.pcap: its packets are too scattered"), "{text}");
        assert!(text.contains("more than 3 ranges") && !error.is_bad_data(), "{text}");
    }
}
