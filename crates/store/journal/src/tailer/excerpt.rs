//! An excerpt in place: nothing is copied, and its contents do not change.

use nanotape_shm::{ReadWord, copy_out};

use crate::segment::{excerpt::Front, layout::position_bytes};

/// A record of a journal, in the journal's own memory. It was checked, and excerpts never change,
/// unless a program other than an appender writes to the file.
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

    /// Its type, which is defined by the user.
    #[inline]
    pub fn type_id(&self) -> u16 {
        self.front.type_id
    }

    /// Its time as given to the appender, in nanoseconds since the UNIX epoch.
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

    /// Its payload as words; bytes of the last one after the length are zero.
    #[inline]
    pub fn words(&self) -> &'tailer [ReadWord] {
        self.payload
    }

    /// Copies as much of its payload as fits; returns the number of bytes.
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

    /// The number of its segment.
    pub fn segment(&self) -> u64 {
        self.segment
    }

    /// Its position in the segment, in bytes from the beginning of the file.
    pub fn offset(&self) -> u64 {
        position_bytes(self.at)
    }
}
