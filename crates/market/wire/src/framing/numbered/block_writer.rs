//! Writes the blocks of a packet.

use super::LengthField;

/// Writes blocks after a header of a packet, in a buffer of the caller.
#[derive(Debug)]
pub(in crate::framing) struct BlockWriter<'b> {
    buffer: &'b mut [u8],
    length: usize,
    header_length: usize,
    first: u64,
    count: u16,
}

impl<'b> BlockWriter<'b> {
    /// `None` if the header does not fit.
    pub(in crate::framing) fn new(
        header_length: usize,
        first: u64,
        buffer: &'b mut [u8],
    ) -> Option<Self> {
        (buffer.len() >= header_length).then_some(Self {
            buffer,
            length: header_length,
            header_length,
            first,
            count: 0,
        })
    }

    /// Appends a message with its length. Returns `false` and changes nothing if it does not fit,
    /// or if the packet would exceed `most_count` messages or a number `most`. A packet with number
    /// 0 takes no message.
    pub(in crate::framing) fn push(
        &mut self,
        message: &[u8],
        field: LengthField,
        most_count: u16,
        most: u64,
    ) -> bool {
        let next = self.first.checked_add(u64::from(self.count) + 1);
        let has_number = self.first != 0 && next.is_some_and(|next| next <= most);
        has_number && self.push_unnumbered(message, field, most_count)
    }

    /// The same, in a packet whose messages have no numbers.
    pub(in crate::framing) fn push_unnumbered(
        &mut self,
        message: &[u8],
        field: LengthField,
        most_count: u16,
    ) -> bool {
        let Some((prefix, width)) = field.prefix(message) else { return false };
        if self.count == most_count {
            return false;
        }
        let end = self.length + width + message.len();
        let Some(block) = self.buffer.get_mut(self.length..end) else { return false };
        let (front, back) = block.split_at_mut(width);
        front.copy_from_slice(&prefix[..width]);
        back.copy_from_slice(message);
        self.length = end;
        self.count += 1;
        true
    }

    /// Messages so far.
    pub(in crate::framing) fn count(&self) -> u16 {
        self.count
    }

    /// Bytes of the blocks so far.
    pub(in crate::framing) fn block_bytes(&self) -> usize {
        self.length - self.header_length
    }

    /// The packet, with `header` at its front.
    pub(in crate::framing) fn finish(self, header: &[u8]) -> &'b [u8] {
        let (packet, _) = self.buffer.split_at_mut(self.length);
        packet[..self.header_length].copy_from_slice(header);
        packet
    }
}
