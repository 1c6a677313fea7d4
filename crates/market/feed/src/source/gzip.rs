//! gzip (RFC 1952): members one after the other, each a header, deflated data, and a trailer with a
//! checksum and a length.
//!
//! Failure: a fault inside deflated data is found where the bits become invalid, at or after the
//! changed byte. A changed byte that leaves valid bits is found at the trailer. All bytes before
//! the fault are returned, as `gzip -dc` does.

use std::io::Read;

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::{
    decoder::{Decode, Fault, damaged},
    input::Input,
};

const FLAG_HEADER_SUM: u8 = 1 << 1;
const FLAG_EXTRA: u8 = 1 << 2;
const FLAG_NAME: u8 = 1 << 3;
const FLAG_COMMENT: u8 = 1 << 4;
const RESERVED_FLAGS: u8 = 0xe0;

const TRAILER_BYTES: usize = 8;

pub(super) struct GzipDecoder<R> {
    input: Input<R>,
    inflate: Decompress,
    /// Checksum of what this member has returned.
    sum: Crc,
    in_member: bool,
    ended: bool,
}

impl<R: Read> GzipDecoder<R> {
    pub(super) fn new(input: R) -> Self {
        let inflate = Decompress::new(false);
        Self { input: Input::new(input), inflate, sum: Crc::new(), in_member: false, ended: false }
    }

    /// Reads the header of the next member; returns false at the end of the input.
    fn begin_member(&mut self) -> Result<bool, Fault> {
        if self.input.at_least(1)?.is_empty() {
            return Ok(false);
        }
        let offset = self.input.offset();
        let mut sum = Crc::new();
        let [first, second, method, flags, ..] = self.take::<10>(&mut sum)?;
        if [first, second] != [0x1f, 0x8b] || method != 8 || flags & RESERVED_FLAGS != 0 {
            return Err(damaged(offset, "invalid gzip header"));
        }
        if flags & FLAG_EXTRA != 0 {
            let bytes = u16::from_le_bytes(self.take(&mut sum)?);
            for _ in 0..bytes {
                self.take::<1>(&mut sum)?;
            }
        }
        for flag in [FLAG_NAME, FLAG_COMMENT] {
            while flags & flag != 0 && self.take::<1>(&mut sum)? != [0] {}
        }
        if flags & FLAG_HEADER_SUM != 0 {
            let offset = self.input.offset();
            let expected = sum.sum() as u16;
            if u16::from_le_bytes(self.take(&mut sum)?) != expected {
                return Err(damaged(offset, "the checksum of the gzip header does not match"));
            }
        }
        self.inflate.reset(false);
        self.sum.reset();
        Ok(true)
    }

    /// Checks the trailer of a member whose data have ended.
    fn end_member(&mut self) -> Result<(), Fault> {
        let offset = self.input.offset();
        let sum = self.take::<4>(&mut Crc::new())?;
        let bytes = self.take::<4>(&mut Crc::new())?;
        debug_assert_eq!(sum.len() + bytes.len(), TRAILER_BYTES);
        if u32::from_le_bytes(sum) != self.sum.sum() {
            return Err(damaged(offset, "the checksum does not match the data"));
        }
        if u32::from_le_bytes(bytes) != self.sum.amount() {
            return Err(damaged(offset + 4, "the stated length does not match the data"));
        }
        Ok(())
    }

    fn take<const N: usize>(&mut self, sum: &mut Crc) -> Result<[u8; N], Fault> {
        let there = self.input.at_least(N)?;
        let Some(&bytes) = there.first_chunk::<N>() else {
            let present = there.len() as u64;
            return Err(Fault::Cut { offset: self.input.offset() + present });
        };
        sum.update(&bytes);
        self.input.consume(N);
        Ok(bytes)
    }

    /// Inflates once. Returns how many bytes, and whether the member's data have ended.
    fn inflate(&mut self, buffer: &mut [u8]) -> (usize, Result<bool, Fault>) {
        let input = match self.input.at_least(1) {
            Ok(input) => input,
            Err(error) => return (0, Err(error.into())),
        };
        let (read, written) = (self.inflate.total_in(), self.inflate.total_out());
        let is_over = input.is_empty();
        let status = self.inflate.decompress(input, buffer, FlushDecompress::None);
        // The counts are valid even if the call failed.
        let read = (self.inflate.total_in() - read) as usize;
        let written = (self.inflate.total_out() - written) as usize;
        self.sum.update(&buffer[..written]);
        self.input.consume(read);
        let offset = self.input.offset();
        let result = match status {
            Ok(Status::StreamEnd) => Ok(true),
            Ok(_) if is_over && written == 0 => Err(Fault::Cut { offset }),
            Ok(_) => Ok(false),
            Err(error) => Err(damaged(offset, error.message().unwrap_or("corrupt deflate stream"))),
        };
        (written, result)
    }
}

impl<R: Read> Decode for GzipDecoder<R> {
    fn decode(&mut self, buffer: &mut [u8]) -> (usize, Result<(), Fault>) {
        while !self.ended {
            if !self.in_member {
                match self.begin_member() {
                    Ok(true) => self.in_member = true,
                    Ok(false) => break,
                    Err(fault) => return self.fail(0, fault),
                }
            }
            let (written, result) = self.inflate(buffer);
            let result = match result {
                Ok(true) => {
                    self.in_member = false;
                    self.end_member()
                }
                Ok(false) => Ok(()),
                Err(fault) => Err(fault),
            };
            match result {
                Err(fault) => return self.fail(written, fault),
                Ok(()) if written > 0 => return (written, Ok(())),
                Ok(()) => {}
            }
        }
        self.ended = true;
        (0, Ok(()))
    }
}

impl<R> GzipDecoder<R> {
    fn fail(&mut self, written: usize, fault: Fault) -> (usize, Result<(), Fault>) {
        self.ended = true;
        (written, Err(fault))
    }
}
