//! The bytes of a batch: consecutive messages of one ring, in one Aeron message.
//!
//! Layout: `docs/formats/aeron.md`.
//! Failure: a batch is checked as a whole before anything of it is used. An error has the offset of
//! the first wrong byte. Bytes from a network are hostile, and no length or number is trusted.

use nanotape_clock::UtcNanos;
use nanotape_tape::{Message, WriterState};

/// The version of the layout.
pub const BATCH_VERSION: u8 = 1;

/// Bytes before the first record.
pub const BATCH_HEADER_BYTES: usize = 32;

/// Bytes before the payload of a record.
pub const RECORD_HEADER_BYTES: usize = 16;

/// The longest batch: no Aeron message is longer than 16 MiB.
pub const BATCH_MAX_BYTES: usize = 16 << 20;

/// Numbers of messages end below this one.
const NUMBERS_END: u64 = 1 << 62;

const MAGIC: [u8; 4] = *b"NTAB";

/// Records begin at multiples of this.
const ALIGNMENT: usize = 8;

/// Offsets in the header of a batch.
mod at {
    pub(super) const VERSION: usize = 4;
    pub(super) const STATE: usize = 5;
    pub(super) const COUNT: usize = 6;
    pub(super) const CREATED: usize = 8;
    pub(super) const FIRST: usize = 16;
    pub(super) const SENT: usize = 24;
}

/// Offsets in the header of a record.
mod of_record {
    pub(super) const TYPE: usize = 4;
    pub(super) const RESERVED: usize = 6;
    pub(super) const TS: usize = 8;
}

/// What a batch is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BatchHeader {
    /// The creation time of the ring, which identifies it; 0 if it is unknown.
    pub created_ns: u64,
    /// The writer of the ring. Closed or dead: the stream ends, and the batch has no messages.
    pub writer: WriterState,
    /// The number of the first message; without messages, of the next one.
    pub first: u64,
    /// Number of messages.
    pub count: u16,
    /// When the batch was sent, by the clock of the sender.
    pub sent: UtcNanos,
}

/// A valid batch.
#[derive(Clone, Copy, Debug)]
pub struct AeronBatch<'a> {
    header: BatchHeader,
    records: &'a [u8],
}

/// Why bytes are not a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    /// It ends too early.
    #[error("offset {offset}: {have} bytes, expected at least {need}")]
    Truncated {
        /// Where the part begins.
        offset: usize,
        /// Bytes from there on.
        have: usize,
        /// Bytes that the part needs.
        need: usize,
    },
    /// It is longer than any Aeron message.
    #[error("{have} bytes, expected at most {BATCH_MAX_BYTES}")]
    TooLong {
        /// Its length.
        have: usize,
    },
    /// It is not from a publisher of nanotape.
    #[error("offset 0: {}, expected {}", found.escape_ascii(), MAGIC.escape_ascii())]
    Magic {
        /// The first four bytes.
        found: [u8; 4],
    },
    /// Another version of nanotape sent it.
    #[error("offset 4: version {found}, expected {BATCH_VERSION}")]
    Version {
        /// The version.
        found: u8,
    },
    /// The state of the writer is unknown, or the end of a stream has messages.
    #[error("offset 5: state {found} with {count} messages")]
    State {
        /// The state.
        found: u8,
        /// Number of messages.
        count: u16,
    },
    /// The numbers of its messages are 0, or above all numbers.
    #[error("offset 16: {count} messages from {first} on")]
    Numbers {
        /// The number of the first message.
        first: u64,
        /// Number of messages.
        count: u16,
    },
    /// A time is after the year 2262.
    #[error("offset {offset}: a time of 2^63 ns or more")]
    Time {
        /// Where it is.
        offset: usize,
    },
    /// Bytes that are zero in this version are not, or bytes follow the last record.
    #[error("offset {offset}: unexpected bytes")]
    Unexpected {
        /// Where they begin.
        offset: usize,
    },
}

const _: () = assert!(size_of::<BatchError>() <= 32);

impl<'a> AeronBatch<'a> {
    /// Checks all of a batch.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, BatchError> {
        if bytes.len() > BATCH_MAX_BYTES {
            return Err(BatchError::TooLong { have: bytes.len() });
        }
        let Some((head, records)) = bytes.split_first_chunk::<BATCH_HEADER_BYTES>() else {
            let (have, need) = (bytes.len(), BATCH_HEADER_BYTES);
            return Err(BatchError::Truncated { offset: 0, have, need });
        };
        let header = BatchHeader::decode(head)?;
        let mut left = records;
        for _ in 0..header.count {
            left = record(left, bytes.len() - left.len())?.1;
        }
        if !left.is_empty() {
            return Err(BatchError::Unexpected { offset: bytes.len() - left.len() });
        }
        Ok(Self { header, records })
    }

    /// What it is about.
    pub fn header(&self) -> BatchHeader {
        self.header
    }

    /// Its messages, in order.
    pub fn messages(&self) -> impl Iterator<Item = Message<'a>> {
        let mut left = self.records;
        (0..u64::from(self.header.count)).map_while(move |index| {
            let (message, rest) = record(left, 0).ok()?;
            left = rest;
            Some(Message { sequence: self.header.first + index, ..message })
        })
    }
}

impl BatchHeader {
    fn decode(head: &[u8; BATCH_HEADER_BYTES]) -> Result<Self, BatchError> {
        let found = [head[0], head[1], head[2], head[3]];
        if found != MAGIC {
            return Err(BatchError::Magic { found });
        }
        if head[at::VERSION] != BATCH_VERSION {
            return Err(BatchError::Version { found: head[at::VERSION] });
        }
        let count = u16::from_le_bytes([head[at::COUNT], head[at::COUNT + 1]]);
        let writer = match head[at::STATE] {
            0 => WriterState::Alive,
            1 if count == 0 => WriterState::Closed,
            2 if count == 0 => WriterState::Dead,
            found => return Err(BatchError::State { found, count }),
        };
        let first = word(head, at::FIRST);
        if first == 0 || first > NUMBERS_END - u64::from(count) {
            return Err(BatchError::Numbers { first, count });
        }
        let sent = time(word(head, at::SENT), at::SENT)?;
        Ok(Self { created_ns: word(head, at::CREATED), writer, first, count, sent })
    }

    /// Writes the header over the first bytes, of which there are enough.
    pub(crate) fn encode(&self, bytes: &mut [u8]) {
        let state = match self.writer {
            WriterState::Alive => 0,
            WriterState::Closed => 1,
            WriterState::Dead => 2,
        };
        bytes[..at::VERSION].copy_from_slice(&MAGIC);
        (bytes[at::VERSION], bytes[at::STATE]) = (BATCH_VERSION, state);
        bytes[at::COUNT..at::CREATED].copy_from_slice(&self.count.to_le_bytes());
        bytes[at::CREATED..at::FIRST].copy_from_slice(&self.created_ns.to_le_bytes());
        bytes[at::FIRST..at::SENT].copy_from_slice(&self.first.to_le_bytes());
        bytes[at::SENT..BATCH_HEADER_BYTES].copy_from_slice(&self.sent.unix_ns().to_le_bytes());
    }
}

/// Bytes of a record in a batch; `None` if no batch has room for it.
pub(crate) fn record_bytes(payload: usize) -> Option<usize> {
    let bytes = payload.checked_add(RECORD_HEADER_BYTES)?.checked_next_multiple_of(ALIGNMENT)?;
    (bytes <= BATCH_MAX_BYTES - BATCH_HEADER_BYTES).then_some(bytes)
}

/// Appends a record, whose length was checked.
#[inline]
pub(crate) fn append_record(
    bytes: &mut Vec<u8>,
    type_id: u16,
    ts: Option<UtcNanos>,
    payload: &[u8],
) {
    bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&type_id.to_le_bytes());
    bytes.extend_from_slice(&[0; 2]);
    bytes.extend_from_slice(&ts.map_or(0, UtcNanos::unix_ns).to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
}

/// The first record, without its number, and the bytes after it. `offset` is that of the record in
/// its batch.
#[inline]
fn record(bytes: &[u8], offset: usize) -> Result<(Message<'_>, &[u8]), BatchError> {
    let have = bytes.len();
    let Some((head, rest)) = bytes.split_first_chunk::<RECORD_HEADER_BYTES>() else {
        return Err(BatchError::Truncated { offset, have, need: RECORD_HEADER_BYTES });
    };
    let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
    let padded = length.next_multiple_of(ALIGNMENT);
    let Some((body, after)) = rest.split_at_checked(padded) else {
        let need = RECORD_HEADER_BYTES.saturating_add(padded);
        return Err(BatchError::Truncated { offset, have, need });
    };
    if head[of_record::RESERVED..of_record::TS] != [0; 2] {
        return Err(BatchError::Unexpected { offset: offset + of_record::RESERVED });
    }
    let (payload, padding) = body.split_at(length);
    if padding.iter().any(|byte| *byte != 0) {
        return Err(BatchError::Unexpected { offset: offset + RECORD_HEADER_BYTES + length });
    }
    let type_id = u16::from_le_bytes([head[of_record::TYPE], head[of_record::TYPE + 1]]);
    let ts = time(word(head, of_record::TS), offset + of_record::TS)?;
    let ts = Some(ts).filter(|ts| ts.unix_ns() != 0);
    Ok((Message { sequence: 0, type_id, ts, payload }, after))
}

/// A time that comes back as it is stored.
#[inline]
fn time(unix_ns: u64, offset: usize) -> Result<UtcNanos, BatchError> {
    match i64::try_from(unix_ns) {
        Ok(_) => Ok(UtcNanos::of_unix_ns(unix_ns)),
        Err(_) => Err(BatchError::Time { offset }),
    }
}

/// The eight bytes at an offset within the array.
#[inline]
fn word<const N: usize>(bytes: &[u8; N], offset: usize) -> u64 {
    let eight = bytes[offset..].first_chunk();
    eight.map_or(0, |eight| u64::from_le_bytes(*eight))
}
