//! Notices, for which DBN has no record: a loss, an unreliable book, the start or the stop of a
//! plant.
//!
//! Layout: `schema/notices.toml`, from which `docs/formats/notices.md` and the table in `generated`
//! are written. Here are the values that programs use, with the names of their codes.

mod bytes;
mod session;
mod session_text;
mod text;

use nanotape_book::Anomaly;
use nanotape_market::{Damage, Doubt};
use nanotape_types::StockLocate;
pub use session::{GapNotice, RestoredCause, RestoredNotice, SuspectNotice, SuspectReason};

use crate::RecordKinds;

/// The first type id of notices on a ring.
pub const FIRST_TYPE_ID: u16 = 0xFFF0;

/// The last type id reserved for notices.
pub const LAST_TYPE_ID: u16 = 0xFFFF;

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
    /// DBN's number of its feed and venue.
    pub publisher_id: u16,
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

impl Notice {
    /// What it says about the books of its run.
    pub fn doubt(&self) -> Option<Doubt> {
        let stock = |id: u32| u16::try_from(id).ok().map(StockLocate::new);
        match self {
            Self::Start(_) => Some(Doubt::Settled),
            Self::Gap(gap) => (gap.kind != GapKind::Packet).then_some(Doubt::OfAll),
            Self::Suspect(_) => Some(Doubt::OfAll),
            Self::Taint(taint) => stock(taint.instrument_id).map(Doubt::OfStock),
            Self::Restored(restored) => match restored.cause {
                RestoredCause::Complete => Some(Doubt::Complete),
                RestoredCause::Snapshot => Some(Doubt::Settled),
                RestoredCause::Same | RestoredCause::Replaced => {
                    stock(restored.instrument_id).map(Doubt::SettledOf)
                }
                RestoredCause::Unknown(_) => None,
            },
            Self::SessionGap(_) | Self::Stop(_) => None,
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
    use crate::UNSTATED_PUBLISHER_ID;

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
            publisher_id: UNSTATED_PUBLISHER_ID,
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
            let bytes = notice.encode(UNSTATED_PUBLISHER_ID, &mut buffer).to_vec();
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

    /// The words of [`NOTICES`] as the first version wrote them.
    const WORDS: [&[u64]; 7] = [
        &[0x0002_f00e, u64::MAX, 1, 2, 2, 3, 4],
        &[0xd_0002_f10a, 1, 2, 3, 3],
        &[0x0002_f20c, u64::MAX, 1, 2, 0x1f_0134_17fe, 0x3e8_0000_0002],
        &[0x0002_f312, 1, 2, 3, 3, 4, 5, 6, 7],
        &[0x0002_f41e, u64::MAX, 1, 2, 3, 4, 5, 0xffff_ffff_0000_0001, 6, 7, 8, 9, 10, 11, 12],
        &[0x0002_f50c, u64::MAX, 1, 1, 2, 3],
        &[0xd_0002_f60a, 1, 2, 2, 3],
    ];

    #[test]
    fn the_bytes_of_notices_are_those_of_the_first_version() {
        for ((type_id, notice), words) in (FIRST_TYPE_ID..).zip(NOTICES).zip(WORDS) {
            let mut buffer = Notice::buffer();
            let expected: Vec<[u8; 8]> = words.iter().map(|word| word.to_le_bytes()).collect();
            assert_eq!(
                notice.encode(UNSTATED_PUBLISHER_ID, &mut buffer),
                expected.as_flattened(),
                "{notice:?}"
            );
            assert_eq!(notice.type_id(), type_id);
            assert_eq!(expected[0][2..4], UNSTATED_PUBLISHER_ID.to_le_bytes());
        }
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
