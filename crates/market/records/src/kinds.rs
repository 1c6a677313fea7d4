//! A selection of kinds of records.

use std::{fmt, mem::offset_of, str::FromStr};

use dbn::rtype;

/// One kind of record: a schema of DBN.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum RecordKind {
    /// Every order event: `MboMsg`.
    Mbo,
    /// The inside after every change: `Mbp1Msg`.
    Bbo,
    /// Every print: `TradeMsg`.
    Trades,
    /// Trading states and events of the market: `StatusMsg`.
    Status,
    /// The stocks of the day: `InstrumentDefMsg`.
    Definitions,
    /// Auctions before they take place: `ImbalanceMsg`.
    Imbalances,
}

impl RecordKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Mbo, Self::Bbo, Self::Trades, Self::Status, Self::Definitions, Self::Imbalances];

    /// The name for input and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mbo => "mbo",
            Self::Bbo => "bbo",
            Self::Trades => "trades",
            Self::Status => "status",
            Self::Definitions => "definitions",
            Self::Imbalances => "imbalances",
        }
    }

    /// The record type: the type id on the ring, and in the record's own header.
    pub const fn type_id(self) -> u16 {
        (match self {
            Self::Mbo => rtype::MBO,
            Self::Bbo => rtype::MBP_1,
            Self::Trades => rtype::MBP_0,
            Self::Status => rtype::STATUS,
            Self::Definitions => rtype::INSTRUMENT_DEF,
            Self::Imbalances => rtype::IMBALANCE,
        }) as u16
    }

    /// The kind with that type id.
    #[inline]
    pub fn of_type_id(type_id: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.type_id() == type_id)
    }

    /// Offset of the receive time in such a record, in bytes.
    pub const fn ts_recv_offset(self) -> usize {
        match self {
            Self::Mbo => offset_of!(dbn::MboMsg, ts_recv),
            Self::Bbo => offset_of!(dbn::Mbp1Msg, ts_recv),
            Self::Trades => offset_of!(dbn::TradeMsg, ts_recv),
            Self::Status => offset_of!(dbn::StatusMsg, ts_recv),
            Self::Definitions => offset_of!(dbn::InstrumentDefMsg, ts_recv),
            Self::Imbalances => offset_of!(dbn::ImbalanceMsg, ts_recv),
        }
    }

    /// The number of the message that such a record was published for, modulo 2^32. `None` for
    /// kinds without numbers, for orders of a snapshot, and for bytes that are not such a record.
    #[inline]
    pub fn message_of(self, bytes: &[u8]) -> Option<u32> {
        let (number, flags) = match self {
            Self::Mbo => (offset_of!(dbn::MboMsg, sequence), offset_of!(dbn::MboMsg, flags)),
            Self::Bbo => (offset_of!(dbn::Mbp1Msg, sequence), offset_of!(dbn::Mbp1Msg, flags)),
            Self::Trades => (offset_of!(dbn::TradeMsg, sequence), offset_of!(dbn::TradeMsg, flags)),
            Self::Status | Self::Definitions | Self::Imbalances => return None,
        };
        let is_of_message =
            bytes.len() == self.length() && bytes[flags] & dbn::flags::SNAPSHOT == 0;
        let number = bytes.get(number..)?.first_chunk().filter(|_| is_of_message)?;
        Some(u32::from_le_bytes(*number))
    }

    /// The schema of a DBN file that has only such records.
    pub const fn schema(self) -> dbn::Schema {
        match self {
            Self::Mbo => dbn::Schema::Mbo,
            Self::Bbo => dbn::Schema::Mbp1,
            Self::Trades => dbn::Schema::Trades,
            Self::Status => dbn::Schema::Status,
            Self::Definitions => dbn::Schema::Definition,
            Self::Imbalances => dbn::Schema::Imbalance,
        }
    }

    /// Bytes of such a record.
    pub const fn length(self) -> usize {
        match self {
            Self::Mbo => size_of::<dbn::MboMsg>(),
            Self::Bbo => size_of::<dbn::Mbp1Msg>(),
            Self::Trades => size_of::<dbn::TradeMsg>(),
            Self::Status => size_of::<dbn::StatusMsg>(),
            Self::Definitions => size_of::<dbn::InstrumentDefMsg>(),
            Self::Imbalances => size_of::<dbn::ImbalanceMsg>(),
        }
    }
}

impl fmt::Display for RecordKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A set of kinds.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RecordKinds(u8);

impl RecordKinds {
    /// No kinds.
    pub const NONE: Self = Self(0);

    /// All kinds.
    pub const ALL: Self = Self((1 << RecordKind::ALL.len()) - 1);

    /// The default of a plant: all kinds but imbalances.
    pub const USUAL: Self = Self(Self::ALL.0 & !(1 << RecordKind::Imbalances as u8));

    /// These kinds and one more.
    #[must_use]
    pub const fn with(self, kind: RecordKind) -> Self {
        Self(self.0 | 1 << kind as u8)
    }

    /// Whether the kind is among them.
    #[inline]
    pub const fn has(self, kind: RecordKind) -> bool {
        self.0 & 1 << kind as u8 != 0
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The kinds.
    pub fn iter(self) -> impl Iterator<Item = RecordKind> {
        RecordKind::ALL.into_iter().filter(move |&kind| self.has(kind))
    }

    /// The set as a number, one bit a kind.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The set of these bits; others are ignored.
    pub const fn of_bits(bits: u8) -> Self {
        Self(bits & Self::ALL.0)
    }
}

impl FromIterator<RecordKind> for RecordKinds {
    fn from_iter<I: IntoIterator<Item = RecordKind>>(kinds: I) -> Self {
        kinds.into_iter().fold(Self::NONE, Self::with)
    }
}

/// `mbo,bbo,trades`.
impl fmt::Display for RecordKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, kind) in self.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma}{kind}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for RecordKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecordKinds({self})")
    }
}

/// Text that is not a set of kinds.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{0:?} is not a record kind: expected mbo, bbo, trades, status, definitions, imbalances or all, \
     separated by commas"
)]
pub struct ParseKindsError(String);

/// Accepts `mbo,bbo`, singular and plural, `mbp-1` for `bbo`, and `all`.
impl FromStr for RecordKinds {
    type Err = ParseKindsError;

    fn from_str(text: &str) -> Result<Self, ParseKindsError> {
        let mut kinds = Self::NONE;
        for word in text.split(',') {
            kinds = match word.trim() {
                "all" => Self::ALL,
                "mbo" => kinds.with(RecordKind::Mbo),
                "bbo" | "mbp-1" => kinds.with(RecordKind::Bbo),
                "trades" | "trade" => kinds.with(RecordKind::Trades),
                "status" => kinds.with(RecordKind::Status),
                "definitions" | "definition" => kinds.with(RecordKind::Definitions),
                "imbalances" | "imbalance" => kinds.with(RecordKind::Imbalances),
                other => return Err(ParseKindsError(other.to_owned())),
            };
        }
        Ok(kinds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_read_and_print() {
        let set: RecordKinds = "mbo,bbo,trade".parse().unwrap();
        assert_eq!(set.to_string(), "mbo,bbo,trades");
        assert_eq!(set.iter().collect::<RecordKinds>(), set);
        assert_eq!("all".parse(), Ok(RecordKinds::ALL));
        assert_eq!("mbp-1".parse(), Ok(RecordKinds::NONE.with(RecordKind::Bbo)));
        assert!("".parse::<RecordKinds>().is_err());
        let error = "mbo,quotes".parse::<RecordKinds>().unwrap_err().to_string();
        assert!(error.starts_with("\"quotes\" is not a record kind"), "{error}");
        assert_eq!(RecordKinds::of_bits(set.bits()), set);
    }

    #[test]
    fn every_kind_has_a_type_id_of_its_own() {
        for kind in RecordKind::ALL {
            assert_eq!(RecordKind::of_type_id(kind.type_id()), Some(kind));
            assert_eq!(kind.length() % 8, 0, "{kind} is whole words");
        }
        assert_eq!(RecordKind::of_type_id(0xFFFF), None);
    }
}
