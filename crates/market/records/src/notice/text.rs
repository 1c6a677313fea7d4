//! Human-readable text of a notice: one sentence, without the name of the stock.
//!
//! The code that prints a notice adds the name.

use std::fmt;

use crate::{Gap, GapKind, Notice, PlantStart, PlantStop, Predecessor, StopReason, Taint};
use crate::{Pace, TradeDate};
use nanotape_book::Anomaly;

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gap(gap) => gap.fmt(f),
            Self::Taint(taint) => taint.fmt(f),
            Self::Start(start) => start.fmt(f),
            Self::Stop(stop) => stop.fmt(f),
            Self::SessionGap(gap) => gap.fmt(f),
            Self::Suspect(suspect) => suspect.fmt(f),
            Self::Restored(restored) => restored.fmt(f),
        }
    }
}

/// `lost: 33 bytes skipped at offset 1200 of the input, after message 27`.
impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, offset, lost_bytes, after_message, .. } = self;
        match kind {
            GapKind::Length => write!(f, "length: record with a wrong length")?,
            GapKind::Packet => write!(f, "packet: dropped")?,
            GapKind::Missing => {
                write!(f, "missing: {lost_bytes} messages from number {offset}")?;
                return write!(f, ", after message {after_message}");
            }
            GapKind::Cut => write!(f, "cut: the input ends inside a record, {lost_bytes} bytes")?,
            GapKind::Unknown(code) => write!(f, "unknown {code}: {lost_bytes} bytes skipped")?,
            known => write!(f, "{}: {lost_bytes} bytes skipped", known.name())?,
        }
        write!(f, " at offset {offset} of the input, after message {after_message}")
    }
}

/// `over_cancel in message 27: book marked unreliable (tainted)`.
impl fmt::Display for Taint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.anomaly.map_or("unknown", |anomaly| anomaly.name());
        write!(f, "{kind} in message {}: book marked unreliable (tainted)", self.message)
    }
}

/// `trade date 2019-12-30, records mbo,bbo, pace max`.
impl fmt::Display for PlantStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (date, pace) = (TradeDate::text_of(self.date), Pace::of_milli(self.pace_milli));
        write!(f, "trade date {date}, records {}, pace {pace}", self.kinds)?;
        match self.predecessor {
            Predecessor::None => Ok(()),
            Predecessor::Closed => write!(f, "; the previous plant stopped cleanly"),
            Predecessor::Died => write!(f, "; the previous plant died"),
        }
    }
}

impl PlantStart {
    /// The start of a publisher whose text this is; `None` if it is not one of this version. The
    /// text has neither the publisher nor a time.
    pub fn of_text(text: &str, publisher_id: u16, started_ns: u64) -> Option<Self> {
        let (text, ended) = text.split_once(';').unwrap_or((text, ""));
        let (date, rest) = text.strip_prefix("trade date ")?.split_once(", records ")?;
        let (kinds, pace) = rest.split_once(", pace ")?;
        let date: TradeDate = date.parse().ok()?;
        Some(Self {
            publisher_id,
            started_ns,
            midnight_ns: date.midnight_ns(),
            date: date.number(),
            kinds: kinds.parse().ok()?,
            predecessor: match ended {
                "" => Predecessor::None,
                " the previous plant stopped cleanly" => Predecessor::Closed,
                _ => Predecessor::Died,
            },
            pace_milli: pace.parse::<Pace>().ok()?.milli(),
        })
    }
}

/// `end of input: 60000 messages, 71234 records, 0 damaged places, 0 messages not applied`.
impl fmt::Display for PlantStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reason, messages, records, damaged, anomalies, digest, .. } = self;
        write!(
            f,
            "{reason}: {messages} messages, {records} records, {damaged} damaged places, {anomalies} \
             messages not applied, digest {digest:016x}"
        )
    }
}

impl PlantStop {
    /// The stop whose text this is; `None` if it is not one of this version. The text has no time
    /// of the last message.
    pub fn of_text(text: &str, stopped_ns: u64) -> Option<Self> {
        let (reason, counts) = text.split_once(": ")?;
        let mut counts = counts.split(", ");
        let mut count =
            |noun: &str| counts.next()?.strip_suffix(noun)?.trim_end().parse::<u64>().ok();
        let (messages, records) = (count("messages")?, count("records")?);
        let (damaged, anomalies) = (count("damaged places")?, count("messages not applied")?);
        let digest = counts.next()?.strip_prefix("digest ")?;
        Some(Self {
            ts_event: dbn::UNDEF_TIMESTAMP,
            stopped_ns,
            reason: StopReason::of_text(reason)?,
            messages,
            records,
            damaged,
            anomalies,
            digest: u64::from_str_radix(digest, 16).ok()?,
        })
    }
}

impl Taint {
    /// The anomaly and the number of the message in the text of a taint.
    pub fn of_text(text: &str) -> Option<(Option<Anomaly>, u64)> {
        let (kind, rest) = text.split_once(" in message ")?;
        let (message, _) = rest.split_once(':')?;
        let anomaly = Anomaly::ALL.into_iter().find(|anomaly| anomaly.name() == kind);
        Some((anomaly, message.parse().ok()?))
    }
}

/// Human-readable name. [`StopReason::name`] is the word in JSON, which is stable.
impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requested => f.write_str("stopped on request"),
            Self::Unknown(code) => write!(f, "unknown reason {code}"),
            known => f.write_str(known.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordKinds;

    #[test]
    fn notices_say_what_they_have() {
        let gap = Gap {
            ts_recv: 1,
            kind: GapKind::Type,
            offset: 1_200,
            lost_bytes: 33,
            after_message: 27,
        };
        let expected = "type: 33 bytes skipped at offset 1200 of the input, after message 27";
        assert_eq!(Notice::Gap(gap).to_string(), expected);
        let taint = Taint { instrument_id: 13, ts_event: 1, ts_recv: 2, anomaly: None, message: 3 };
        assert_eq!(taint.to_string(), "unknown in message 3: book marked unreliable (tainted)");
        let start = PlantStart {
            publisher_id: 2,
            started_ns: 1,
            midnight_ns: 2,
            date: 20_191_230,
            kinds: RecordKinds::USUAL,
            predecessor: Predecessor::Died,
            pace_milli: 1_000,
        };
        assert_eq!(
            start.to_string(),
            "trade date 2019-12-30, records mbo,bbo,trades,status,definitions, pace 1x; the \
             previous plant died"
        );
        let date = TradeDate::of_number(20_191_230).unwrap();
        let read = PlantStart { midnight_ns: date.midnight_ns(), ..start };
        assert_eq!(PlantStart::of_text(&start.to_string(), 2, 1), Some(read));
        assert_eq!(PlantStart::of_text("trade date soon, records mbo, pace max", 2, 1), None);
        let stop = PlantStop {
            ts_event: 1,
            stopped_ns: 2,
            reason: StopReason::Unknown(9),
            messages: 3,
            records: 4,
            damaged: 5,
            anomalies: 6,
            digest: 7,
        };
        let expected = "unknown reason 9: 3 messages, 4 records, 5 damaged places, 6 messages not \
                        applied, digest 0000000000000007";
        assert_eq!(stop.to_string(), expected);
        for reason in [StopReason::Requested, StopReason::EndOfSession, StopReason::Unknown(9)] {
            let read = PlantStop { ts_event: dbn::UNDEF_TIMESTAMP, reason, ..stop };
            assert_eq!(PlantStop::of_text(&read.to_string(), 2), Some(read));
        }
        assert_eq!(PlantStop::of_text("end of input: soon", 2), None);
        let over = Taint { anomaly: Some(Anomaly::OverCancel), ..taint };
        assert_eq!(Taint::of_text(&over.to_string()), Some((Some(Anomaly::OverCancel), 3)));
        assert_eq!(Taint::of_text(&taint.to_string()), Some((None, 3)));
        assert_eq!(StopReason::Requested.to_string(), "stopped on request");
        assert_eq!(StopReason::Cut.to_string(), StopReason::Cut.name());
    }
}
