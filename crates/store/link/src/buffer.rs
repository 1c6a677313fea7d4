//! Bytes between the socket and the frames: a fixed allocation, filled at its end and emptied at
//! its beginning.

/// Bytes that wait, in the order in which they came.
#[derive(Debug)]
pub(crate) struct Buffer {
    bytes: Box<[u8]>,
    begin: usize,
    end: usize,
}

impl Buffer {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { bytes: vec![0; capacity].into_boxed_slice(), begin: 0, end: 0 }
    }

    /// The bytes that wait.
    #[inline]
    pub(crate) fn waiting(&self) -> &[u8] {
        &self.bytes[self.begin..self.end]
    }

    /// How many more bytes fit.
    #[inline]
    pub(crate) fn room(&self) -> usize {
        self.bytes.len() - (self.end - self.begin)
    }

    /// At least `least` bytes of space after those that wait, if there is so much room.
    #[inline]
    pub(crate) fn space(&mut self, least: usize) -> &mut [u8] {
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
        } else if self.bytes.len() - self.end < least {
            self.bytes.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
        &mut self.bytes[self.end..]
    }

    /// The first `count` bytes of the space wait from now on.
    #[inline]
    pub(crate) fn filled(&mut self, count: usize) {
        self.end = (self.end + count).min(self.bytes.len());
    }

    /// Removes the first bytes that wait.
    #[inline]
    pub(crate) fn consume(&mut self, count: usize) {
        self.begin = (self.begin + count).min(self.end);
    }
}
