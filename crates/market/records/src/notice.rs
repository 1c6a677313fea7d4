//! Notices, for which DBN has no record: a loss, an unreliable book, the start or the stop of a
//! plant.
//!
//! Layout: DBN's header, then words, which `docs/formats/records.md` describes. The record type in
//! the header is the low byte of the ring's type id.

mod session;
mod session_text;
mod text;

use nanotape_book::Anomaly;
use nanotape_market::Damage;
pub use session::{GapNotice, RestoredCause, RestoredNotice, SuspectNotice, SuspectReason};

use crate::{RecordKinds, encode::header};

/// The first type id of notices on a ring.
pub const FIRST_TYPE_ID: u16 = 0xFFF0;

/// The last type id reserved for notices.
pub const LAST_TYPE_ID: u16 = 0xFFFF;

/// Words of the longest notice.
const MOST_WORDS: usize = 1 + session::GAP_WORDS;

/// A notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notice {
    /// A part of the input is missing or unreadable.
    Gap(Gap),
    /// A message did not fit a book, or a snapshot differs from it: the book is unreliable from now
    /// on. Published once per stock until it is restored.
    Taint(Taint),
    /// A plant starts: all books are empty, and earlier records are obsolete.
    Start(PlantStart),
    /// A plant ends cleanly: this is its last record.
    Stop(PlantStop),
    /// Messages of a session are missing on every line, or what became of them.
    SessionGap(GapNotice),
    /// Any book may lack messages from now on.
    Suspect(SuspectNotice),
    /// A book is reliable again, or all of them.
    Restored(RestoredNotice),
}

/// A part of the input that is missing or unreadable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    /// Time of the detection, ns since the UNIX epoch.
    pub ts_recv: u64,
    /// The problem.
    pub kind: GapKind,
    /// The offset in the (decompressed) input; the number of the first missing message.
    pub offset: u64,
    /// Number of skipped bytes, or of missing messages.
    pub lost_bytes: u64,
    /// The number of the last message before it.
    pub after_message: u64,
}

/// The problem of a part of the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum GapKind {
    /// The length of a record was wrong, and its message was delivered.
    Length,
    /// The type of a message was wrong, and it was skipped.
    Type,
    /// Unreadable bytes were skipped.
    Lost,
    /// The input ends inside a record.
    Cut,
    /// A packet of a session was dropped.
    Packet,
    /// Messages of a session are missing.
    Missing,
    /// A kind of a later version.
    Unknown(u32),
}

/// A message that did not fit a book.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taint {
    /// The stock.
    pub instrument_id: u32,
    /// The exchange's time of the message, ns since the UNIX epoch.
    pub ts_event: u64,
    /// Receive time of the message, ns since the UNIX epoch.
    pub ts_recv: u64,
    /// The kind of anomaly; `None` for a kind of a later version.
    pub anomaly: Option<Anomaly>,
    /// The number of the message.
    pub message: u64,
}

/// The start of a plant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlantStart {
    /// Start time, ns since the UNIX epoch; identifies the run.
    pub started_ns: u64,
    /// The exchange's midnight of the trade date, ns since the UNIX epoch.
    pub midnight_ns: u64,
    /// The trade date as the number YYYYMMDD.
    pub date: u32,
    /// The kinds of records that it publishes.
    pub kinds: RecordKinds,
    /// The end of the previous plant on this ring.
    pub predecessor: Predecessor,
    /// Speed relative to recorded time, in thousandths; 0 is unlimited.
    pub pace_milli: u32,
}

/// The end of the previous plant on a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Predecessor {
    /// The ring is new.
    None,
    /// The previous plant ended cleanly.
    Closed,
    /// The previous plant was killed.
    Died,
}

/// The end of a plant, if it ends cleanly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlantStop {
    /// The exchange's time of the last message, ns since the UNIX epoch.
    pub ts_event: u64,
    /// Stop time, ns since the UNIX epoch.
    pub stopped_ns: u64,
    /// The reason.
    pub reason: StopReason,
    /// Messages read.
    pub messages: u64,
    /// Records published, including this one.
    pub records: u64,
    /// Damaged parts of the input.
    pub damaged: u64,
    /// Messages that did not fit their book.
    pub anomalies: u64,
    /// The digest of the records of all instruments: [`Digests::total`](crate::Digests::total).
    pub digest: u64,
}

/// Why a plant ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum StopReason {
    /// The input ended.
    EndOfInput,
    /// The input reported the end of the session.
    EndOfSession,
    /// The input ends inside a record.
    Cut,
    /// A stop was requested.
    Requested,
    /// The configured end time was reached.
    Until,
    /// The input became unreadable.
    Fault,
    /// The program dropped the plant before its end.
    Abandoned,
    /// Its ring or its board was removed, replaced or truncated.
    RegionLost,
    /// Its recorder failed, and the plant was to wait for it.
    RecorderFailed,
    /// The schedule of the plant ended before the session.
    ScheduleEnd,
    /// A reason of a later version.
    Unknown(u32),
}

impl Notice {
    /// The highest type id with a notice of this version.
    pub const LAST_KNOWN_TYPE_ID: u16 = FIRST_TYPE_ID + 6;

    /// The type id on the ring.
    pub const fn type_id(&self) -> u16 {
        FIRST_TYPE_ID
            + match self {
                Self::Gap(_) => 0,
                Self::Taint(_) => 1,
                Self::Start(_) => 2,
                Self::Stop(_) => 3,
                Self::SessionGap(_) => 4,
                Self::Suspect(_) => 5,
                Self::Restored(_) => 6,
            }
    }

    /// Encodes the notice into `buffer`, and returns the used bytes.
    pub fn encode<'b>(&self, buffer: &'b mut [[u8; 8]; MOST_WORDS]) -> &'b [u8] {
        let undefined = dbn::UNDEF_TIMESTAMP;
        let mut put = |instrument_id: u32, words: &[u64]| {
            let length = 1 + words.len();
            let first = header(length, self.type_id() as u8, instrument_id);
            for (place, word) in buffer.iter_mut().zip([first].iter().chain(words)) {
                *place = word.to_le_bytes();
            }
            length
        };
        let length = match *self {
            Self::Gap(gap) => {
                let Gap { ts_recv, kind, offset, lost_bytes, after_message } = gap;
                put(0, &[undefined, ts_recv, kind.code().into(), offset, lost_bytes, after_message])
            }
            Self::Taint(taint) => {
                let Taint { instrument_id, ts_event, ts_recv, anomaly, message } = taint;
                let code = anomaly.map_or(u64::MAX, |anomaly| anomaly as u64);
                put(instrument_id, &[ts_event, ts_recv, code, message])
            }
            Self::Start(start) => {
                let kinds = u64::from(start.kinds.bits()) << 32;
                let predecessor = start.predecessor as u64;
                put(
                    0,
                    &[
                        undefined,
                        start.started_ns,
                        start.midnight_ns,
                        u64::from(start.date) | kinds,
                        predecessor | u64::from(start.pace_milli) << 32,
                    ],
                )
            }
            Self::Stop(stop) => {
                let reason = stop.reason.code().into();
                let PlantStop { messages, records, damaged, anomalies, digest, .. } = stop;
                put(
                    0,
                    &[
                        stop.ts_event,
                        stop.stopped_ns,
                        reason,
                        messages,
                        records,
                        damaged,
                        anomalies,
                        digest,
                    ],
                )
            }
            Self::SessionGap(gap) => put(0, &gap.words()),
            Self::Suspect(suspect) => put(0, &suspect.words()),
            Self::Restored(restored) => put(restored.instrument_id, &restored.words()),
        };
        buffer[..length].as_flattened()
    }

    /// Room for the words of any notice.
    pub const fn buffer() -> [[u8; 8]; MOST_WORDS] {
        [[0; 8]; MOST_WORDS]
    }

    /// Decodes a notice; `None` if the bytes are too short for its type, or the type is unknown.
    /// Longer notices are from a later version, and their unknown fields are ignored.
    pub fn decode(type_id: u16, bytes: &[u8]) -> Option<Self> {
        let word = |place: usize| -> Option<u64> {
            let (words, _) = bytes.as_chunks::<8>();
            words.get(place).map(|&word| u64::from_le_bytes(word))
        };
        Some(match type_id.checked_sub(FIRST_TYPE_ID)? {
            0 => Self::Gap(Gap {
                ts_recv: word(2)?,
                kind: GapKind::of(word(3)? as u32),
                offset: word(4)?,
                lost_bytes: word(5)?,
                after_message: word(6)?,
            }),
            1 => Self::Taint(Taint {
                instrument_id: (word(0)? >> 32) as u32,
                ts_event: word(1)?,
                ts_recv: word(2)?,
                anomaly: usize::try_from(word(3)?)
                    .ok()
                    .and_then(|place| Anomaly::ALL.get(place).copied()),
                message: word(4)?,
            }),
            2 => Self::Start(PlantStart {
                started_ns: word(2)?,
                midnight_ns: word(3)?,
                date: word(4)? as u32,
                kinds: RecordKinds::of_bits((word(4)? >> 32) as u8),
                predecessor: match word(5)? as u32 {
                    0 => Predecessor::None,
                    1 => Predecessor::Closed,
                    _ => Predecessor::Died,
                },
                pace_milli: (word(5)? >> 32) as u32,
            }),
            3 => Self::Stop(PlantStop {
                ts_event: word(1)?,
                stopped_ns: word(2)?,
                reason: StopReason::of(word(3)? as u32),
                messages: word(4)?,
                records: word(5)?,
                damaged: word(6)?,
                anomalies: word(7)?,
                digest: word(8)?,
            }),
            4 => Self::SessionGap(GapNotice::of_words(word)?),
            5 => Self::Suspect(SuspectNotice::of_words(word)?),
            6 => Self::Restored(RestoredNotice::of_words(word)?),
            _ => return None,
        })
    }
}

impl GapKind {
    const KNOWN: [(Self, u32, &str); 6] = [
        (Self::Length, 0, "length"),
        (Self::Type, 1, "type"),
        (Self::Lost, 2, "lost"),
        (Self::Cut, 3, "cut"),
        (Self::Packet, 4, "packet"),
        (Self::Missing, 5, "missing"),
    ];

    fn code(self) -> u32 {
        match self {
            Self::Unknown(code) => code,
            known => Self::KNOWN.iter().find(|(kind, ..)| *kind == known).map_or(0, |k| k.1),
        }
    }

    fn of(code: u32) -> Self {
        let known = Self::KNOWN.iter().find(|(_, known, _)| *known == code);
        known.map_or(Self::Unknown(code), |(kind, ..)| *kind)
    }

    /// The name that is printed.
    pub fn name(self) -> &'static str {
        Self::KNOWN.iter().find(|(kind, ..)| *kind == self).map_or("unknown", |known| known.2)
    }
}

impl StopReason {
    const KNOWN: [(Self, u32, &str); 10] = [
        (Self::EndOfInput, 0, "end of input"),
        (Self::EndOfSession, 1, "end of session"),
        (Self::Cut, 2, "input cut off"),
        (Self::Requested, 3, "asked to"),
        (Self::Until, 4, "time reached"),
        (Self::Fault, 5, "input failed"),
        (Self::Abandoned, 6, "abandoned"),
        (Self::RegionLost, 7, "ring or board lost"),
        (Self::RecorderFailed, 8, "recorder failed"),
        (Self::ScheduleEnd, 9, "end of schedule"),
    ];

    /// The code in a record.
    pub fn code(self) -> u32 {
        match self {
            Self::Unknown(code) => code,
            known => Self::KNOWN.iter().find(|(reason, ..)| *reason == known).map_or(0, |k| k.1),
        }
    }

    /// The reason of a code.
    pub fn of(code: u32) -> Self {
        let known = Self::KNOWN.iter().find(|(_, known, _)| *known == code);
        known.map_or(Self::Unknown(code), |(reason, ..)| *reason)
    }

    /// The reason whose text this is.
    pub(crate) fn of_text(text: &str) -> Option<Self> {
        let unknown = || Some(Self::Unknown(text.strip_prefix("unknown reason ")?.parse().ok()?));
        let known = Self::KNOWN.iter().map(|(reason, ..)| *reason);
        known.into_iter().find(|reason| reason.to_string() == text).or_else(unknown)
    }

    /// The name that is printed.
    pub fn name(self) -> &'static str {
        Self::KNOWN.iter().find(|(reason, ..)| *reason == self).map_or("unknown", |known| known.2)
    }
}

impl Predecessor {
    /// The name that is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Closed => "closed",
            Self::Died => "died",
        }
    }
}

impl Gap {
    /// The record of damage that was detected after the message `after_message`.
    pub fn of_damage(damage: Damage, ts_recv: u64, after_message: u64) -> Self {
        let (kind, lost_bytes) = match damage {
            Damage::Length { .. } | Damage::Short { .. } => (GapKind::Length, 0),
            Damage::Type { actual_bytes, .. } => (GapKind::Type, u64::from(actual_bytes)),
            Damage::Hidden { bytes, .. } | Damage::Lost { bytes, .. } => (GapKind::Lost, bytes),
            Damage::Packet { .. } => (GapKind::Packet, 0),
            Damage::Message { actual_bytes, .. } => (GapKind::Type, u64::from(actual_bytes)),
            Damage::Missing { first, next } => (GapKind::Missing, next - first),
        };
        Self { ts_recv, kind, offset: damage.offset(), lost_bytes, after_message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTICES: [Notice; 7] = [
        Notice::Gap(Gap {
            ts_recv: 1,
            kind: GapKind::Lost,
            offset: 2,
            lost_bytes: 3,
            after_message: 4,
        }),
        Notice::Taint(Taint {
            instrument_id: 13,
            ts_event: 1,
            ts_recv: 2,
            anomaly: Some(Anomaly::OverCancel),
            message: 3,
        }),
        Notice::Start(PlantStart {
            started_ns: 1,
            midnight_ns: 2,
            date: 20_191_230,
            kinds: RecordKinds::USUAL,
            predecessor: Predecessor::Died,
            pace_milli: 1_000,
        }),
        Notice::Stop(PlantStop {
            ts_event: 1,
            stopped_ns: 2,
            reason: StopReason::Requested,
            messages: 3,
            records: 4,
            damaged: 5,
            anomalies: 6,
            digest: 7,
        }),
        Notice::SessionGap(GapNotice {
            ts_recv: 1,
            gap: nanotape_market::SessionGap {
                first: 2,
                next: 3,
                seen_ns: 4,
                closed_ns: 5,
                seen_by: Some(1),
                lines: [6, 7, 8, 9],
                retransmitted: 10,
                snapshot: 11,
                lost: 12,
                requests: u32::MAX,
            },
        }),
        Notice::Suspect(SuspectNotice {
            ts_recv: 1,
            reason: SuspectReason::LateJoin,
            first: 2,
            next: 3,
        }),
        Notice::Restored(RestoredNotice {
            instrument_id: 13,
            ts_event: 1,
            ts_recv: 2,
            cause: RestoredCause::Replaced,
            next: 3,
        }),
    ];

    #[test]
    fn notices_are_the_same_after_they_were_published() {
        for notice in NOTICES {
            let mut buffer = Notice::buffer();
            let bytes = notice.encode(&mut buffer).to_vec();
            assert_eq!(usize::from(bytes[0]) * 4, bytes.len());
            assert_eq!(bytes[1], notice.type_id() as u8);
            assert_eq!(Notice::decode(notice.type_id(), &bytes), Some(notice));
            let mut longer = bytes.clone();
            longer.extend([0xFF; 8]);
            assert_eq!(Notice::decode(notice.type_id(), &longer), Some(notice));
            for length in 0..bytes.len() {
                assert_eq!(Notice::decode(notice.type_id(), &bytes[..length]), None);
            }
        }
        assert_eq!(Notice::decode(0x00A0, &[0; 80]), None);
        assert_eq!(Notice::decode(LAST_TYPE_ID, &[0; 80]), None);
    }

    #[test]
    fn codes_of_a_later_version_are_carried_through() {
        for code in 0..20 {
            assert_eq!(GapKind::of(code).code(), code);
            assert_eq!(StopReason::of(code).code(), code);
        }
        assert_eq!(GapKind::of(9).name(), "unknown");
    }
}
