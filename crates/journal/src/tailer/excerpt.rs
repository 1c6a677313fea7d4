//! An excerpt in place: nothing has been copied, and nothing will change.

use nanotape_shm::{ReadWord, copy_out};

use crate::segment::{excerpt::Front, layout::position_bytes};

/// A record of a journal, seen in the journal's own memory. It was checked, and excerpts never
/// change; a program that writes into the file by other means than an appender can of course change
/// it.
#[derive(Clone, Copy, Debug)]
pub struct Excerpt<'tailer> {
    pub(crate) payload: &'tailer [ReadWord],
    pub(crate) front: Front,
    pub(crate) segment: u64,
    pub(crate) at: usize,
}

impl<'tailer> Excerpt<'tailer> {
    /// Its sequence number.
    #[inline]
    pub fn sequence(&self) -> u64 {
        self.front.sequence
    }

    /// Its type, which is the user's own.
    #[inline]
    pub fn type_id(&self) -> u16 {
        self.front.type_id
    }

    /// Its time as the appender was told, in nanoseconds since the UNIX epoch.
    #[inline]
    pub fn ts_ns(&self) -> u64 {
        self.front.ts_ns
    }

    /// Bytes of its payload.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "an empty excerpt is an excerpt")]
    pub fn len(&self) -> usize {
        self.front.length as usize
    }

    /// Its payload as words; bytes of the last one behind the length are zero.
    #[inline]
    pub fn words(&self) -> &'tailer [ReadWord] {
        self.payload
    }

    /// Copies the beginning of its payload, as much as fits; returns how many bytes.
    #[inline]
    pub fn copy_to(&self, buffer: &mut [u8]) -> usize {
        let length = self.len().min(buffer.len());
        copy_out(self.payload, &mut buffer[..length]);
        length
    }

    /// Its payload.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.len()];
        self.copy_to(&mut bytes);
        bytes
    }

    /// The number of the segment that it is in.
    pub fn segment(&self) -> u64 {
        self.segment
    }

    /// Where it begins in that, in bytes from the beginning of the file.
    pub fn offset(&self) -> u64 {
        position_bytes(self.at)
    }
}
