//! Zstandard (RFC 8878): frames one after the other, each a header, blocks, and a checksum.
//!
//! The library drops decompressed bytes if the same call finds a damaged block. So it receives one
//! block at a time, as in the command `zstd`, and a fault has the offset of its block.
//! Bounds: windows up to 2 GiB, the largest of the command `zstd` (`--long=31`). The library takes
//! memory for the window that a frame states, or for its content if that is less, and touches what
//! the content fills: a few hostile bytes cost address space and no memory.
//! Failure: a frame that needs a dictionary or a larger window is not damaged, and the fault names
//! what it needs.

use std::io::{self, Read};

use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation as _, OutBuffer};

use super::{
    decoder::{Decode, Fault},
    input::Input,
};

/// Binary logarithm of the largest window.
const WINDOW_BITS: u32 = 31;

/// The bit of a descriptor of a frame whose window is its content.
const SINGLE_SEGMENT: u8 = 0x20;

/// Bytes of the number of a dictionary, and of the size of the content, by their bits in a
/// descriptor.
const NUMBER_BYTES: [usize; 4] = [0, 1, 2, 4];
const SIZE_BYTES: [usize; 4] = [1, 2, 4, 8];

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Bytes of the header before each block.
const BLOCK_HEADER_BYTES: usize = 3;

/// Bytes of a frame that are enough to start: its magic number and one more.
const FRAME_START_BYTES: usize = 5;

pub(super) struct ZstdDecoder<R> {
    input: Input<R>,
    decoder: Decoder<'static>,
    /// How many bytes the library needs next; 0 between two frames.
    wanted: usize,
    /// Whether all output of its input has been taken.
    is_drained: bool,
    ended: bool,
}

impl<R: Read> ZstdDecoder<R> {
    pub(super) fn new(input: R) -> io::Result<Self> {
        let (input, mut decoder) = (Input::new(input), Decoder::new()?);
        decoder.set_parameter(DParameter::WindowLogMax(WINDOW_BITS))?;
        Ok(Self { input, decoder, wanted: 0, is_drained: true, ended: false })
    }

    /// The most bytes to pass next. The library requests a block together with the header after it,
    /// and a damaged header would lose the block.
    fn portion(&self) -> usize {
        match self.wanted {
            0 => FRAME_START_BYTES,
            wanted => wanted.saturating_sub(BLOCK_HEADER_BYTES).max(1),
        }
    }

    /// Runs the library once. Returns how many bytes it decompressed, and whether more may follow.
    fn run(&mut self, buffer: &mut [u8]) -> (usize, Result<bool, Fault>) {
        let portion = self.portion();
        let there = match self.input.at_least(portion) {
            Ok(there) => there,
            Err(error) => return (0, Err(error.into())),
        };
        if there.is_empty() && self.is_drained {
            let offset = self.input.offset();
            let result = if self.wanted == 0 { Ok(false) } else { Err(Fault::Cut { offset }) };
            return (0, result);
        }
        let mut source = InBuffer::around(&there[..portion.min(there.len())]);
        let mut target = OutBuffer::around(buffer);
        let result = self.decoder.run(&mut source, &mut target);
        let (read, written) = (source.pos(), target.pos());
        self.is_drained = written < target.capacity();
        let offset = self.input.offset();
        self.input.consume(read);
        match result {
            Ok(wanted) => {
                // The library returns all bytes of a frame before it reads the frame's end.
                self.wanted = wanted;
                (written, Ok(true))
            }
            // The only message of the library about its own memory.
            Err(source) if source.to_string().contains("not enough memory") => {
                let what = "more memory than there is: that of its window (zstd -lv shows it)";
                (written, Err(Fault::Unmet { offset, what }))
            }
            Err(source) => (written, Err(Fault::Damaged { offset, source })),
        }
    }

    /// What the frame that begins here needs and this decoder does not have.
    fn unmet_need(&mut self) -> Option<Fault> {
        let offset = self.input.offset();
        // An error of the input comes again when its bytes are decompressed.
        let start = self.input.at_least(FRAME_START_BYTES).ok()?;
        let header_bytes = header_bytes_of(start)?;
        let needs = needs_of(self.input.at_least(header_bytes).ok()?)?;
        if needs.dictionary != 0 {
            let what = "a dictionary, which this program does not take: decompress it first, as in \
                        zstd -dc -D DICTIONARY";
            return Some(Fault::Unmet { offset, what });
        }
        (needs.window_bytes > 1 << WINDOW_BITS).then_some(Fault::Unmet {
            offset,
            what: "a window of more than 2 GiB, which no program of the format has to take",
        })
    }
}

/// What a frame needs, by its header (RFC 8878, 3.1.1.1).
struct Needs {
    window_bytes: u64,
    /// 0: none, or one without a number.
    dictionary: u32,
}

/// The bytes of a header up to what the frame needs; `None` if they are not those of a frame with
/// data.
fn header_bytes_of(start: &[u8]) -> Option<usize> {
    let &descriptor = start.strip_prefix(&MAGIC)?.first()?;
    let window_or_size = match descriptor & SINGLE_SEGMENT {
        0 => 1,
        _ => SIZE_BYTES[usize::from(descriptor >> 6)],
    };
    Some(FRAME_START_BYTES + window_or_size + NUMBER_BYTES[usize::from(descriptor & 3)])
}

/// `None` if the bytes are not those of a frame with data.
fn needs_of(header: &[u8]) -> Option<Needs> {
    let rest = header.strip_prefix(&MAGIC)?;
    let (&descriptor, mut rest) = rest.split_first()?;
    let is_single_segment = descriptor & SINGLE_SEGMENT != 0;
    let mut window_bytes = 0;
    if !is_single_segment {
        let (&window, after) = rest.split_first()?;
        let base = 1u64 << (10 + (window >> 3));
        (window_bytes, rest) = (base + base / 8 * u64::from(window & 7), after);
    }
    let (number, rest) = rest.split_at_checked(NUMBER_BYTES[usize::from(descriptor & 3)])?;
    let dictionary = little_endian(number) as u32;
    if is_single_segment {
        // The window is the content: one byte at least has its size.
        let (size, _) = rest.split_at_checked(SIZE_BYTES[usize::from(descriptor >> 6)])?;
        window_bytes = little_endian(size) + if size.len() == 2 { 256 } else { 0 };
    }
    Some(Needs { window_bytes, dictionary })
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

impl<R: Read> Decode for ZstdDecoder<R> {
    fn decode(&mut self, buffer: &mut [u8]) -> (usize, Result<(), Fault>) {
        while !self.ended {
            if self.wanted == 0
                && self.is_drained
                && let Some(fault) = self.unmet_need()
            {
                self.ended = true;
                return (0, Err(fault));
            }
            let (written, result) = self.run(buffer);
            match result {
                Ok(true) if written == 0 => {}
                Ok(true) => return (written, Ok(())),
                Ok(false) => self.ended = true,
                Err(fault) => {
                    self.ended = true;
                    return (written, Err(fault));
                }
            }
        }
        (0, Ok(()))
    }
}
