//! How payloads lie in a file: with `journal append` as it is read, with `journal dump` as it is
//! written.

use std::io::{self, BufRead, Read as _, Write};

use clap::ValueEnum;

/// The longest payload that is read: more than a segment can take.
const MOST_BYTES: u32 = 1 << 31;

/// The end of a payload, or its length.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Framing {
    /// A line each
    Lines,
    /// A zero byte after each, as of find -print0
    Nul,
    /// The length of each before it: 4 bytes, least significant first
    Length,
    /// Nothing between payloads; append makes one excerpt of the whole input
    Raw,
}

impl Framing {
    /// Reads the next payload. `None` at the end of the input.
    pub(crate) fn read(self, input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
        let mut payload = Vec::new();
        match self {
            Self::Lines | Self::Nul => {
                let end = if self == Self::Lines { b'\n' } else { 0 };
                if input.read_until(end, &mut payload)? == 0 {
                    return Ok(None);
                }
                payload.pop_if(|last| *last == end);
            }
            Self::Length => {
                let mut length = [0; 4];
                if input.fill_buf()?.is_empty() {
                    return Ok(None);
                }
                input.read_exact(&mut length)?;
                let length = u32::from_le_bytes(length);
                if length > MOST_BYTES {
                    let text = format!("a payload of {length} bytes is longer than any excerpt");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, text));
                }
                if input.take(u64::from(length)).read_to_end(&mut payload)? < length as usize {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            Self::Raw => {
                if input.fill_buf()?.is_empty() {
                    return Ok(None);
                }
                input.read_to_end(&mut payload)?;
            }
        }
        Ok(Some(payload))
    }

    /// Writes a payload.
    pub(crate) fn write(self, output: &mut impl Write, payload: &[u8]) -> io::Result<()> {
        if self == Self::Length {
            // An excerpt is shorter than 4 GiB.
            output.write_all(&(payload.len() as u32).to_le_bytes())?;
        }
        output.write_all(payload)?;
        match self {
            Self::Lines => output.write_all(b"\n"),
            Self::Nul => output.write_all(&[0]),
            Self::Length | Self::Raw => Ok(()),
        }
    }

    /// Whether a payload would read back as several, or as another one.
    pub(crate) fn is_ambiguous(self, payload: &[u8]) -> bool {
        match self {
            Self::Lines => payload.contains(&b'\n'),
            Self::Nul => payload.contains(&0),
            Self::Length | Self::Raw => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_would_not_be_is_known() {
        let payloads: [&[u8]; 5] = [b"", b"plain", b"two\nlines", b"a\0b", b"\r\xff"];
        for framing in [Framing::Lines, Framing::Nul, Framing::Length] {
            let kept = payloads.iter().filter(|payload| !framing.is_ambiguous(payload));
            let kept: Vec<Vec<u8>> = kept.map(|payload| payload.to_vec()).collect();
            let mut bytes = Vec::new();
            kept.iter().for_each(|payload| framing.write(&mut bytes, payload).unwrap());
            let (mut input, mut read) = (&bytes[..], Vec::new());
            while let Some(payload) = framing.read(&mut input).unwrap() {
                read.push(payload);
            }
            assert_eq!(read, kept, "{framing:?}");
        }
        let mut bytes = Vec::new();
        payloads.iter().for_each(|payload| Framing::Raw.write(&mut bytes, payload).unwrap());
        assert_eq!(Framing::Raw.read(&mut &bytes[..]).unwrap(), Some(payloads.concat()));
    }

    #[test]
    fn a_length_that_is_cut_off_is_an_error() {
        for cut in [&[5, 0, 0, 0, b'a'][..], &[5, 0]] {
            let error = Framing::Length.read(&mut &*cut).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
        let error = Framing::Length.read(&mut &[0xff; 8][..]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
