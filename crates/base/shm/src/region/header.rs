//! The header of a region in a file: its kind, its size and its owner.
//!
//! Layout: `docs/formats/region.md`, byte by byte; a test compares its table with [`FIELDS`].
//! Failure: bytes are hostile. [`Header::parse`] is a pure function over them; every error is a
//! [`Refusal`], and sizes are checked for overflow before use.

#[cfg(not(nanotape_loom))]
use super::owner::{Owner, OwnerState};
use super::{RegionSpec, owner::Started, refusal::Refusal};
use crate::word::{Edge, WORD_BYTES};

/// Bytes before the words of a region in a file: one page, so that the words are page-aligned.
pub const HEADER_BYTES: usize = 4096;

/// The first eight bytes of every region, in every version and byte order.
pub const MAGIC: [u8; 8] = *b"nanotape";

/// The header version of this crate.
pub const FORMAT_VERSION: u64 = 1;

/// Stored as a number: its bytes are reversed on a machine of the other byte order.
pub const BYTE_ORDER_MARK: u64 = 0x0102_0304_0506_0708;

/// Bytes that are written, in one call, before the file has its full length: magic, byte order
/// mark, version. A file of this length was left by a creator that ended.
pub(crate) const IDENTITY_BYTES: usize = 24;

/// A reader that sees the ready state also sees all earlier stores of the creator.
pub(crate) const READY: Edge = Edge::new("region.ready");

/// A reader that sees a new epoch also sees all stores of owners of earlier epochs; a reader that
/// sees a store of an owner also sees its epoch.
pub(crate) const EPOCH: Edge = Edge::new("region.epoch");

/// A reader that sees a change of the owner's other values also sees the earlier change of the
/// process number; a reader that sees the new number also sees the other values.
pub(crate) const OWNER: Edge = Edge::new("region.owner");

/// Word numbers of the header.
pub(crate) mod at {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const BYTE_ORDER_MARK: usize = 1;
    pub(crate) const FORMAT_VERSION: usize = 2;
    pub(crate) const KIND: usize = 3;
    pub(crate) const LAYOUT: usize = 4;
    pub(crate) const REGION_BYTES: usize = 5;
    pub(crate) const PAYLOAD_WORDS: usize = 6;
    pub(crate) const PARAMETERS: usize = 7;
    /// The first of the words that are stored last; see [`super::live`].
    pub(crate) const LIVE: usize = 11;
}

/// Numbers, counted from [`at::LIVE`], of the words that each owner stores, and of the creation
/// time after them; a region on the heap has only these.
pub(crate) mod live {
    pub(crate) const EPOCH: usize = 0;
    pub(crate) const OWNER_PID: usize = 1;
    pub(crate) const OWNER_STARTED: usize = 2;
    pub(crate) const STATE: usize = 3;
    /// Stored only by the creator, before the others.
    pub(crate) const CREATED_NS: usize = 4;
    /// Number of these words.
    pub(crate) const WORDS: usize = 5;
}

/// Values of the state word.
pub(crate) mod state {
    pub(crate) const CREATING: u64 = 0;
    pub(crate) const READY: u64 = 1;
    pub(crate) const CLOSED: u64 = 2;
}

/// Offset, size in bytes and name of each field, in order.
pub const FIELDS: [(usize, usize, &str); 13] = [
    field(at::MAGIC, 1, "magic"),
    field(at::BYTE_ORDER_MARK, 1, "byte_order_mark"),
    field(at::FORMAT_VERSION, 1, "format_version"),
    field(at::KIND, 1, "kind"),
    field(at::LAYOUT, 1, "layout"),
    field(at::REGION_BYTES, 1, "region_bytes"),
    field(at::PAYLOAD_WORDS, 1, "payload_words"),
    field(at::PARAMETERS, 4, "parameters"),
    field(at::LIVE + live::EPOCH, 1, "epoch"),
    field(at::LIVE + live::OWNER_PID, 1, "owner_pid"),
    field(at::LIVE + live::OWNER_STARTED, 1, "owner_started_s"),
    field(at::LIVE + live::STATE, 1, "state"),
    field(at::LIVE + live::CREATED_NS, 1, "created_ns"),
];

/// A row of the table in a format document: offset and size in bytes, and the name, of `words`
/// words that begin with the word of number `word`.
pub const fn field(word: usize, words: usize, name: &'static str) -> (usize, usize, &'static str) {
    (word * WORD_BYTES, words * WORD_BYTES, name)
}

const _: () = assert!((at::LIVE + live::WORDS) * WORD_BYTES <= HEADER_BYTES);
const _: () = assert!(at::PARAMETERS + 4 == at::LIVE);

/// A header that was read and is consistent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// The specification of the region.
    pub spec: RegionSpec,
    /// Number of owners so far: 1 for the creator.
    pub epoch: u64,
    /// Process number of the latest owner, in its own namespace; 0 if unknown.
    pub owner_pid: u32,
    /// Start time of that process.
    pub owner_started: Started,
    /// Whether the latest owner closed the region.
    pub is_closed: bool,
    /// Creation time of the region, in ns since the UNIX epoch; 0 if unknown.
    pub created_ns: u64,
}

impl Header {
    /// Parses the first bytes of a file, [`HEADER_BYTES`] of them or as many as it has.
    pub fn parse(bytes: &[u8]) -> Result<Self, Refusal> {
        identify(bytes)?;
        if bytes.len() == IDENTITY_BYTES {
            return Err(Refusal::HalfCreated);
        }
        if bytes.len() < HEADER_BYTES {
            let (file_bytes, region_bytes) = (bytes.len() as u64, HEADER_BYTES as u64);
            return Err(Refusal::TooSmall { file_bytes, region_bytes });
        }
        let state = word(bytes, at::LIVE + live::STATE);
        match state {
            state::CREATING => return Err(Refusal::HalfCreated),
            state::READY | state::CLOSED => {}
            found => return Err(Refusal::Contradiction { field: "state", found }),
        }
        let spec = RegionSpec {
            kind: word(bytes, at::KIND).to_ne_bytes(),
            layout: word(bytes, at::LAYOUT),
            parameters: std::array::from_fn(|i| word(bytes, at::PARAMETERS + i)),
            words: usize::try_from(word(bytes, at::PAYLOAD_WORDS)).unwrap_or(usize::MAX),
        };
        let found = word(bytes, at::REGION_BYTES);
        if spec.region_bytes() != Some(found) {
            return Err(Refusal::Contradiction { field: "region_bytes", found });
        }
        let number = word(bytes, at::LIVE + live::OWNER_PID);
        // An owner was entering, or ended meanwhile: the start time may be that of another.
        let is_known = number != 0;
        let started_s = if is_known { word(bytes, at::LIVE + live::OWNER_STARTED) } else { 0 };
        Ok(Self {
            spec,
            epoch: word(bytes, at::LIVE + live::EPOCH),
            owner_pid: u32::try_from(number).unwrap_or(0),
            owner_started: Started::at_unix_s(started_s),
            is_closed: state == state::CLOSED,
            created_ns: word(bytes, at::LIVE + live::CREATED_NS),
        })
    }

    /// The owner in the header, with a state from the kernel.
    #[cfg(not(nanotape_loom))]
    pub(crate) fn owner(&self, state: OwnerState) -> Owner {
        Owner { state, pid: self.owner_pid, started: self.owner_started, epoch: self.epoch }
    }
}

/// Checks that the bytes begin like a region of this version and byte order.
fn identify(bytes: &[u8]) -> Result<(), Refusal> {
    if bytes.is_empty() {
        return Err(Refusal::HalfCreated);
    }
    if !bytes.starts_with(&MAGIC) {
        let length = bytes.len().min(MAGIC.len());
        let mut found = [0; MAGIC.len()];
        found[..length].copy_from_slice(&bytes[..length]);
        return Err(Refusal::NotARegion { found, length: length as u8 });
    }
    if bytes.len() < IDENTITY_BYTES {
        let (file_bytes, region_bytes) = (bytes.len() as u64, HEADER_BYTES as u64);
        return Err(Refusal::TooSmall { file_bytes, region_bytes });
    }
    const OTHER_BYTE_ORDER: u64 = BYTE_ORDER_MARK.swap_bytes();
    match (word(bytes, at::BYTE_ORDER_MARK), word(bytes, at::FORMAT_VERSION)) {
        // If the first three words cannot be written in one call they are stored one by one.
        (0, _) | (BYTE_ORDER_MARK, 0) => Err(Refusal::HalfCreated),
        (BYTE_ORDER_MARK, FORMAT_VERSION) => Ok(()),
        (BYTE_ORDER_MARK, found) => Err(Refusal::FormatVersion { found }),
        (OTHER_BYTE_ORDER, _) => Err(Refusal::ByteOrder),
        (found, _) => Err(Refusal::Contradiction { field: "byte_order_mark", found }),
    }
}

/// The word with this number, or 0 after the end.
fn word(bytes: &[u8], number: usize) -> u64 {
    let rest = bytes.get(number * WORD_BYTES..).unwrap_or_default();
    rest.first_chunk().map_or(0, |eight| u64::from_ne_bytes(*eight))
}

/// The words of a new region before [`at::LIVE`].
#[cfg(not(nanotape_loom))]
pub(crate) fn constant_words(spec: &RegionSpec, region_bytes: u64) -> [u64; at::LIVE] {
    let mut words = [0; at::LIVE];
    words[at::MAGIC] = u64::from_ne_bytes(MAGIC);
    words[at::BYTE_ORDER_MARK] = BYTE_ORDER_MARK;
    words[at::FORMAT_VERSION] = FORMAT_VERSION;
    words[at::KIND] = u64::from_ne_bytes(spec.kind);
    words[at::LAYOUT] = spec.layout;
    words[at::REGION_BYTES] = region_bytes;
    words[at::PAYLOAD_WORDS] = spec.words as u64;
    words[at::PARAMETERS..].copy_from_slice(&spec.parameters);
    words
}

/// The first bytes of every region, written in one call.
#[cfg(not(nanotape_loom))]
pub(crate) fn identity() -> [u8; IDENTITY_BYTES] {
    let mut bytes = [0; IDENTITY_BYTES];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..16].copy_from_slice(&BYTE_ORDER_MARK.to_ne_bytes());
    bytes[16..].copy_from_slice(&FORMAT_VERSION.to_ne_bytes());
    bytes
}
