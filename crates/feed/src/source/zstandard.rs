//! Zstandard (RFC 8878): frames one after the other, each a header, blocks, and a checksum.
//!
//! The library drops decompressed bytes if the same call finds a damaged block. So it receives one
//! block at a time, as in the command `zstd`, and a fault has the offset of its block.
//! Bounds: windows above 128 MiB (`zstd --long=28` and more) are refused. Otherwise a few hostile
//! bytes could request gigabytes.

use std::io::{self, Read};

use zstd::stream::raw::{Decoder, InBuffer, Operation as _, OutBuffer};

use super::{
    decoder::{Decode, Fault},
    input::Input,
};

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
        let (input, decoder) = (Input::new(input), Decoder::new()?);
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
            Err(source) => (written, Err(Fault::Damaged { offset, source })),
        }
    }
}

impl<R: Read> Decode for ZstdDecoder<R> {
    fn decode(&mut self, buffer: &mut [u8]) -> (usize, Result<(), Fault>) {
        while !self.ended {
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
