//! The two byte streams of a connection: packets out of pieces, and a bounded output.

use nanotape_wire::framing::soupbintcp::{Split, split};

use super::{MAX_MESSAGE_BYTES, OutputFull, Violation};

/// Joins the pieces of a stream to packets. It keeps at most one incomplete packet.
#[derive(Clone, Debug, Default)]
pub(super) struct Input {
    /// The beginning of a packet, or a whole packet that was returned.
    kept: Vec<u8>,
    is_returned: bool,
}

impl Input {
    /// The next packet; `None` if `bytes` are used up. `bytes` shrinks by what was used.
    pub(super) fn next<'a>(
        &'a mut self,
        bytes: &mut &'a [u8],
    ) -> Result<Option<&'a [u8]>, Violation> {
        if self.is_returned {
            self.is_returned = false;
            self.kept.clear();
        }
        if self.kept.is_empty() {
            let all: &'a [u8] = bytes;
            return match split(all) {
                Split::Packet { packet, rest } => {
                    *bytes = rest;
                    Ok(Some(packet))
                }
                Split::NeedMore { .. } => {
                    self.kept.extend_from_slice(all);
                    *bytes = &[];
                    Ok(None)
                }
                Split::Invalid => Err(Violation::EmptyPacket),
            };
        }
        while let Split::NeedMore { bytes: missing } = split(&self.kept) {
            if bytes.is_empty() {
                return Ok(None);
            }
            let (taken, rest) = bytes.split_at(missing.min(bytes.len()));
            self.kept.extend_from_slice(taken);
            *bytes = rest;
        }
        if split(&self.kept) == Split::Invalid {
            return Err(Violation::EmptyPacket);
        }
        self.is_returned = true;
        Ok(Some(&self.kept))
    }

    /// Forgets an incomplete packet: a new connection begins.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Bytes for the other side, up to a maximum.
#[derive(Clone, Debug)]
pub(super) struct Output {
    bytes: Vec<u8>,
    /// Bytes at the front that were sent.
    sent: usize,
    most: usize,
}

impl Output {
    pub(super) fn new(most: usize) -> Self {
        Self { bytes: Vec::new(), sent: 0, most }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sent == self.bytes.len()
    }

    /// Removes sent bytes from the front.
    pub(super) fn sent(&mut self, count: usize) {
        self.sent = (self.sent + count).min(self.bytes.len());
        if self.is_empty() {
            self.clear();
        }
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.sent = 0;
    }

    /// Appends an encoded packet.
    pub(super) fn push(&mut self, packet: &[u8]) -> Result<(), OutputFull> {
        self.reserve(packet.len())?;
        self.bytes.extend_from_slice(packet);
        Ok(())
    }

    /// Appends a packet of a type with this payload.
    pub(super) fn push_payload(
        &mut self,
        packet_type: u8,
        payload: &[u8],
    ) -> Result<(), OutputFull> {
        debug_assert!(payload.len() <= MAX_MESSAGE_BYTES);
        self.reserve(3 + payload.len())?;
        self.bytes.extend_from_slice(&(1 + payload.len() as u16).to_be_bytes());
        self.bytes.push(packet_type);
        self.bytes.extend_from_slice(payload);
        Ok(())
    }

    fn reserve(&mut self, need: usize) -> Result<(), OutputFull> {
        let room = self.most - self.bytes().len();
        if need > room {
            return Err(OutputFull { need, room });
        }
        // The front is removed at most once for each half of the maximum that was sent.
        if self.sent >= self.most / 2 || self.bytes.len() + need > self.most {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_never_exceeds_its_maximum_and_keeps_the_order() {
        let mut output = Output::new(64);
        let (mut expected, mut received) = (Vec::new(), Vec::new());
        for turn in 0u8..200 {
            let payload = vec![turn; usize::from(turn % 13)];
            while output.push_payload(b'U', &payload).is_err() {
                let count = 1 + usize::from(turn % 7);
                received.extend_from_slice(&output.bytes()[..count]);
                output.sent(count);
            }
            assert!(output.bytes.len() <= 64);
            expected.extend_from_slice(&(1 + payload.len() as u16).to_be_bytes());
            expected.push(b'U');
            expected.extend_from_slice(&payload);
        }
        received.extend_from_slice(output.bytes());
        assert_eq!(received, expected);
        let full = output.push(&[0; 65]).unwrap_err();
        assert_eq!((full.need, full.room), (65, 64 - output.bytes().len()));
    }
}
