//! What leader and follower send each other, as payloads of frames.
//!
//! Layout: `docs/formats/replication.md`. All fields are words of eight bytes, low byte first; some
//! messages have bytes after them.
//! Failure: a message of another length, or with a number that cannot be, is an error that ends the
//! connection.

use nanotape_journal::{ContentDigest, CopyState, HeadDigest, Position, SegmentHead};

/// The service of a link that carries a journal.
pub const SERVICE: [u8; 8] = *b"JOURNAL1";

/// The most heads of segments in a state: those of the newest segments.
pub(crate) const MOST_HEADS: usize = 1024;

/// The longest payload of a frame, in bytes. Both sides accept it.
pub const FRAME_BYTES: usize = 1 << 18;

/// Bytes before the words of [`Supply::Words`] and [`Supply::Part`].
pub(crate) const WORDS_HEADER_BYTES: usize = 5 * 8;

/// The longest text of a trouble, in bytes.
const TROUBLE_MAX_BYTES: usize = 200;

/// Kinds of frames: those of the follower first.
pub(crate) mod kind {
    pub(crate) const STATE: u16 = 1;
    pub(crate) const PROGRESS: u16 = 2;
    pub(crate) const DIGEST: u16 = 3;
    pub(crate) const RESUME: u16 = 16;
    pub(crate) const SEGMENT: u16 = 17;
    pub(crate) const CORRECTED: u16 = 18;
    pub(crate) const WORDS: u16 = 19;
    pub(crate) const PART: u16 = 20;
    pub(crate) const TIP: u16 = 21;
    pub(crate) const DIGEST_REQUEST: u16 = 22;
    pub(crate) const REFUSAL: u16 = 23;
    pub(crate) const AGAIN: u16 = 24;
}

/// A message that is not one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("message of kind {kind} with {length} bytes is not valid")]
pub struct MessageError {
    /// Its kind.
    pub kind: u16,
    /// Bytes of its payload.
    pub length: usize,
}

/// How far a follower is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CopyProgress {
    /// The incarnation of its last segment.
    pub incarnation: u64,
    /// The number of its next excerpt: it has all before it in memory.
    pub next_sequence: u64,
    /// A number below which all excerpts are on its disk.
    pub on_disk: u64,
    /// When its last excerpts came, by its clock, in ns since the UNIX epoch; 0: none came.
    pub arrived_ns: u64,
    /// When those were sent, by the clock of the leader.
    pub sent_ns: u64,
    /// Why it cannot go on; empty if it can.
    pub trouble: String,
}

/// A message of a follower.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Report {
    /// What it has, to continue there, and whether the contents of all its segments are to be
    /// compared first.
    State(CopyState, bool),
    Progress(CopyProgress),
    /// The answer to [`Supply::DigestRequest`].
    Digest {
        segment: u64,
        before: u64,
        /// With the number after the last excerpt that it counts.
        digest: Option<(ContentDigest, u64)>,
    },
}

/// A message of the leader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Supply<'bytes> {
    /// Where to continue. What the follower has after it, the leader does not have; `has_lost`:
    /// because it gave that back, or lost it with its power.
    Resume {
        position: Position,
        next_sequence: u64,
        has_lost: bool,
    },
    /// The journal of the leader has changed: a request for the state of the follower.
    Again,
    Segment(SegmentHead),
    Corrected(SegmentHead),
    /// Whole excerpts, or the last part of one.
    Words {
        position: Position,
        digest: ContentDigest,
        sent_ns: u64,
        bytes: &'bytes [u8],
    },
    /// A part of an excerpt that is too long for a frame.
    Part(&'bytes [u8]),
    /// The next number of the leader, and the one below which a follower has all.
    Tip {
        next_sequence: u64,
        acknowledged: u64,
    },
    /// A request for the digest of the excerpts of a segment with smaller numbers.
    DigestRequest {
        segment: u64,
        before: u64,
    },
    Refusal(Refusal),
}

/// Why a leader does not serve a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The copy is one of another journal.
    #[error(
        "the leader has journal {leader:#018x}, and the copy is of journal {copy:#018x}: give another \
         folder for the copy"
    )]
    OtherJournal {
        /// The number of the leader's journal; 0: it has no segment.
        leader: u64,
        /// That of the copy.
        copy: u64,
    },
    /// The leader has pruned what the copy needs next.
    #[error(
        "the copy needs excerpt {next_sequence}, and the leader begins with {first_sequence}: move \
         the copy away, and replicate to a new folder"
    )]
    Pruned {
        /// The next number of the copy.
        next_sequence: u64,
        /// The first number of the leader.
        first_sequence: u64,
    },
    /// The copy lacks a segment between others.
    #[error(
        "the copy lacks segment {segment}, or cannot read it: move the copy away, and replicate to a new \
         folder"
    )]
    Lacks {
        /// The segment.
        segment: u64,
    },
    /// The copy has other excerpts than the leader.
    #[error(
        "the copy differs from the leader from excerpt {sequence} of segment {segment} on: move the \
         copy away, and replicate to a new folder"
    )]
    Differs {
        /// The segment.
        segment: u64,
        /// The first excerpt that differs.
        sequence: u64,
    },
}

impl Refusal {
    fn words(self) -> [u64; 3] {
        match self {
            Self::OtherJournal { leader, copy } => [1, leader, copy],
            Self::Pruned { next_sequence, first_sequence } => [2, next_sequence, first_sequence],
            Self::Differs { segment, sequence } => [3, segment, sequence],
            Self::Lacks { segment } => [4, segment, 0],
        }
    }

    fn of([code, first, second]: [u64; 3]) -> Option<Self> {
        Some(match code {
            1 => Self::OtherJournal { leader: first, copy: second },
            2 => Self::Pruned { next_sequence: first, first_sequence: second },
            3 => Self::Differs { segment: first, sequence: second },
            4 => Self::Lacks { segment: first },
            _ => return None,
        })
    }
}

/// The first words of a payload, and the bytes after them.
fn split<const WORDS: usize>(payload: &[u8]) -> Option<([u64; WORDS], &[u8])> {
    let (words, rest) = payload.split_at_checked(WORDS * 8)?;
    let words = words.as_chunks::<8>().0;
    Some((std::array::from_fn(|word| u64::from_le_bytes(words[word])), rest))
}

/// The words of a payload that has nothing else.
fn only<const WORDS: usize>(payload: &[u8]) -> Option<[u64; WORDS]> {
    split(payload).filter(|(_, rest)| rest.is_empty()).map(|(words, _)| words)
}

fn position([segment, offset_bytes]: [u64; 2]) -> Position {
    Position { segment, offset_bytes }
}

impl Report {
    /// Writes a message to `bytes`; returns its kind.
    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) -> u16 {
        bytes.clear();
        let mut put = |words: &[u64]| {
            words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        };
        match self {
            Self::State(state, compares_all) => {
                let heads = &state.heads[state.heads.len().saturating_sub(MOST_HEADS)..];
                let Position { segment, offset_bytes } = state.end;
                put(&[state.journal, segment, offset_bytes, state.next_sequence]);
                put(&[u64::from(state.is_ended), state.digest.0, u64::from(*compares_all)]);
                put(&[state.incarnation, heads.len() as u64]);
                for head in heads {
                    put(&[head.number, head.identity, head.incarnation]);
                }
                kind::STATE
            }
            Self::Progress(progress) => {
                put(&[progress.incarnation, progress.next_sequence, progress.on_disk]);
                put(&[progress.arrived_ns, progress.sent_ns]);
                let mut end = progress.trouble.len().min(TROUBLE_MAX_BYTES);
                while !progress.trouble.is_char_boundary(end) {
                    end -= 1;
                }
                bytes.extend_from_slice(&progress.trouble.as_bytes()[..end]);
                kind::PROGRESS
            }
            Self::Digest { segment, before, digest } => {
                let (found, end) = digest.unwrap_or_default();
                put(&[*segment, *before, u64::from(digest.is_some()), found.0, end]);
                kind::DIGEST
            }
        }
    }

    pub(crate) fn decode(kind: u16, payload: &[u8]) -> Result<Self, MessageError> {
        let decoded = match kind {
            kind::STATE => Self::state(payload),
            kind::PROGRESS => Self::progress(payload),
            kind::DIGEST => only(payload).map(|[segment, before, is_there, digest, end]| {
                let digest = (is_there != 0).then_some((ContentDigest(digest), end));
                Self::Digest { segment, before, digest }
            }),
            _ => None,
        };
        decoded.ok_or(MessageError { kind, length: payload.len() })
    }

    fn state(payload: &[u8]) -> Option<Self> {
        let (fixed, rest) = split(payload)?;
        let [
            journal,
            segment,
            offset,
            next_sequence,
            is_ended,
            digest,
            compares_all,
            incarnation,
            count,
        ] = fixed;
        let mut state = CopyState {
            journal,
            end: position([segment, offset]),
            next_sequence,
            is_ended: is_ended != 0,
            incarnation,
            digest: ContentDigest(digest),
            heads: Vec::new(),
        };
        let mut rest = rest;
        while let Some(([number, identity, incarnation], after)) = split(rest) {
            if state.heads.last().is_some_and(|last| last.number >= number) {
                return None;
            }
            state.heads.push(HeadDigest { number, identity, incarnation });
            rest = after;
        }
        let is_whole = rest.is_empty() && state.heads.len() as u64 == count;
        let last = state.heads.last().map_or(0, |last| last.number);
        let is_valid = is_whole && state.heads.len() <= MOST_HEADS && last == segment;
        is_valid.then_some(Self::State(state, compares_all != 0))
    }

    fn progress(payload: &[u8]) -> Option<Self> {
        let (words, text) = split(payload)?;
        let [incarnation, next_sequence, on_disk, arrived_ns, sent_ns] = words;
        let text = text.get(..text.len().min(TROUBLE_MAX_BYTES))?;
        let is_plain = |letter: &char| !letter.is_control();
        let trouble = String::from_utf8_lossy(text).chars().filter(is_plain).collect();
        let progress =
            CopyProgress { incarnation, next_sequence, on_disk, arrived_ns, sent_ns, trouble };
        Some(Self::Progress(progress))
    }
}

impl<'bytes> Supply<'bytes> {
    /// The kind of a message, its first bytes, and the bytes after those.
    pub(crate) fn encode(&self) -> (u16, FirstBytes, &'bytes [u8]) {
        let mut first = FirstBytes::default();
        match *self {
            Self::Resume { position, next_sequence, has_lost } => {
                let Position { segment, offset_bytes } = position;
                first.put(&[segment, offset_bytes, next_sequence, u64::from(has_lost)]);
                (kind::RESUME, first, &[])
            }
            Self::Segment(head) | Self::Corrected(head) => {
                first.bytes[..SegmentHead::BYTES].copy_from_slice(&head.to_bytes());
                first.length = SegmentHead::BYTES;
                let is_new = matches!(self, Self::Segment(_));
                (if is_new { kind::SEGMENT } else { kind::CORRECTED }, first, &[])
            }
            Self::Words { position, digest, sent_ns, bytes } => {
                let Position { segment, offset_bytes } = position;
                first.put(&[segment, offset_bytes, digest.0, sent_ns, 0]);
                (kind::WORDS, first, bytes)
            }
            Self::Part(bytes) => (kind::PART, first, bytes),
            Self::Tip { next_sequence, acknowledged } => {
                first.put(&[next_sequence, acknowledged]);
                (kind::TIP, first, &[])
            }
            Self::DigestRequest { segment, before } => {
                first.put(&[segment, before]);
                (kind::DIGEST_REQUEST, first, &[])
            }
            Self::Again => (kind::AGAIN, first, &[]),
            Self::Refusal(refusal) => {
                first.put(&refusal.words());
                (kind::REFUSAL, first, &[])
            }
        }
    }

    #[inline]
    pub(crate) fn decode(kind: u16, payload: &'bytes [u8]) -> Result<Self, MessageError> {
        let decoded = match kind {
            kind::WORDS => split(payload).map(|(words, bytes)| {
                let [segment, offset, digest, sent_ns, _] = words;
                let (position, digest) = (position([segment, offset]), ContentDigest(digest));
                Self::Words { position, digest, sent_ns, bytes }
            }),
            kind::PART => Some(Self::Part(payload)),
            kind::RESUME => only(payload).map(|[segment, offset, next_sequence, has_lost]| {
                let position = position([segment, offset]);
                Self::Resume { position, next_sequence, has_lost: has_lost != 0 }
            }),
            kind::SEGMENT => head(payload).map(Self::Segment),
            kind::CORRECTED => head(payload).map(Self::Corrected),
            kind::TIP => only(payload)
                .map(|[next_sequence, acknowledged]| Self::Tip { next_sequence, acknowledged }),
            kind::DIGEST_REQUEST => {
                only(payload).map(|[segment, before]| Self::DigestRequest { segment, before })
            }
            kind::AGAIN => payload.is_empty().then_some(Self::Again),
            kind::REFUSAL => only(payload).and_then(Refusal::of).map(Self::Refusal),
            _ => None,
        };
        decoded.ok_or(MessageError { kind, length: payload.len() })
    }
}

fn head(payload: &[u8]) -> Option<SegmentHead> {
    SegmentHead::from_bytes(payload.try_into().ok()?).ok()
}

/// The beginning of a payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstBytes {
    bytes: [u8; SegmentHead::BYTES],
    length: usize,
}

impl Default for FirstBytes {
    fn default() -> Self {
        Self { bytes: [0; SegmentHead::BYTES], length: 0 }
    }
}

impl FirstBytes {
    fn put(&mut self, words: &[u64]) {
        for (chunk, word) in self.bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *chunk = word.to_le_bytes();
        }
        self.length = words.len() * 8;
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}
