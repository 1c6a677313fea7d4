//! Messages byte by byte, as the schemas say and without generated code.

/// A message that grows at its end.
#[derive(Default)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Bytes {
    /// Bytes that must begin at this offset.
    pub(crate) fn at(mut self, offset: usize, bytes: impl AsRef<[u8]>) -> Self {
        assert_eq!(self.0.len(), offset, "the fields have no hole");
        self.0.extend_from_slice(bytes.as_ref());
        self
    }

    /// Text that must begin at this offset, with blanks up to its width.
    pub(crate) fn text(self, offset: usize, width: usize, text: &str) -> Self {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(width, b' ');
        self.at(offset, bytes)
    }
}
