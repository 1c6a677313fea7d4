//! Records as subscribers get them: DBN's structs, checked and borrowed.
//!
//! Bounds: bytes come from shared memory or a file and may be anything. A record must have the
//! length of its type id; otherwise it is a [`BadRecord`].

use dbn::{
    BidAskPair, FlagSet, ImbalanceMsg, InstrumentDefMsg, MboMsg, Mbp1Msg, RecordHeader, StatusMsg,
    TradeMsg, VersionUpgradePolicy,
    decode::{DecodeRecord as _, dbn::RecordDecoder},
};

use crate::{FIRST_TYPE_ID, Notice, RecordKind};

/// A record, borrowed from the reader.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Record<'a> {
    /// An order event.
    Mbo(&'a MboMsg),
    /// The inside after a change.
    Bbo(&'a Mbp1Msg),
    /// A print.
    Trade(&'a TradeMsg),
    /// A trading state, or an event of the market.
    Status(&'a StatusMsg),
    /// A stock of the day.
    Definition(&'a InstrumentDefMsg),
    /// An auction before it takes place.
    Imbalance(&'a ImbalanceMsg),
    /// A notice.
    Notice(Notice),
}

impl Record<'_> {
    /// Receive time of this record's message, ns since the UNIX epoch; `None` for a notice.
    #[inline]
    pub fn ts_recv(&self) -> Option<u64> {
        match self {
            Self::Mbo(mbo) => Some(mbo.ts_recv),
            Self::Bbo(bbo) => Some(bbo.ts_recv),
            Self::Trade(trade) => Some(trade.ts_recv),
            Self::Status(status) => Some(status.ts_recv),
            Self::Definition(definition) => Some(definition.ts_recv),
            Self::Imbalance(imbalance) => Some(imbalance.ts_recv),
            Self::Notice(_) => None,
        }
    }
}

/// The header of every record, which is readable without knowing the record's type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// The record type.
    pub rtype: u8,
    /// DBN's number of the feed and the venue.
    pub publisher_id: u16,
    /// The stock locate; 0 if the record has no stock.
    pub instrument_id: u32,
    /// The exchange's time, ns since the UNIX epoch.
    pub ts_event: u64,
}

/// Bytes that are not a valid record of their type.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "ring message {sequence}: type {type_id:#06x}, but its {length} bytes are not a valid record of \
     that type"
)]
pub struct BadRecord {
    /// The sequence number on the ring.
    pub sequence: u64,
    /// The record type.
    pub type_id: u16,
    /// The number of bytes.
    pub length: usize,
}

impl Header {
    /// Reads the header of any record.
    #[inline(always)]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let first = u64::from_le_bytes(*bytes.first_chunk()?);
        let ts_event = u64::from_le_bytes(*bytes.get(8..)?.first_chunk()?);
        Some(Self {
            rtype: (first >> 8) as u8,
            publisher_id: (first >> 16) as u16,
            instrument_id: (first >> 32) as u32,
            ts_event,
        })
    }
}

/// Room for one record of any kind.
#[derive(Debug, Default)]
pub struct RecordBuffer {
    mbo: MboMsg,
    bbo: Mbp1Msg,
    trade: TradeMsg,
    status: StatusMsg,
    definition: Box<InstrumentDefMsg>,
    imbalance: ImbalanceMsg,
}

impl RecordBuffer {
    /// Decodes a record. Returns `None` if this version does not know its type.
    #[inline]
    pub fn decode(
        &mut self,
        sequence: u64,
        type_id: u16,
        bytes: &[u8],
    ) -> Result<Option<Record<'_>>, BadRecord> {
        let bad = BadRecord { sequence, type_id, length: bytes.len() };
        if type_id >= FIRST_TYPE_ID {
            // A known type is too short, so it is damaged. An unknown type is from a later version.
            return match Notice::decode(type_id, bytes) {
                Some(notice) => Ok(Some(Record::Notice(notice))),
                None if type_id <= Notice::LAST_KNOWN_TYPE_ID => Err(bad),
                None => Ok(None),
            };
        }
        let Some(kind) = RecordKind::of_type_id(type_id) else { return Ok(None) };
        let states =
            bytes.first().map(|&units| usize::from(units) * RecordHeader::LENGTH_MULTIPLIER);
        let is_whole = bytes.len() == kind.length() && states == Some(bytes.len());
        if !is_whole || bytes.get(1).map(|&rtype| u16::from(rtype)) != Some(type_id) {
            return Err(bad);
        }
        self.fill(kind, bytes).ok_or(bad).map(Some)
    }

    #[inline]
    fn fill(&mut self, kind: RecordKind, bytes: &[u8]) -> Option<Record<'_>> {
        let (words, _) = bytes.as_chunks::<8>();
        let word = |place: usize| words.get(place).map(|&word| u64::from_le_bytes(word));
        match kind {
            RecordKind::Mbo => {
                let shape = word(4)?;
                self.mbo = MboMsg {
                    hd: header::<MboMsg>(word(0)?, word(1)?),
                    order_id: word(2)?,
                    price: word(3)? as i64,
                    size: shape as u32,
                    flags: FlagSet::new((shape >> 32) as u8),
                    channel_id: (shape >> 40) as u8,
                    action: (shape >> 48) as u8 as _,
                    side: (shape >> 56) as u8 as _,
                    ts_recv: word(5)?,
                    ts_in_delta: word(6)? as i32,
                    sequence: (word(6)? >> 32) as u32,
                };
                Some(Record::Mbo(&self.mbo))
            }
            RecordKind::Bbo => {
                let (shape, sizes, counts) = (word(3)?, word(8)?, word(9)?);
                self.bbo = Mbp1Msg {
                    hd: header::<Mbp1Msg>(word(0)?, word(1)?),
                    price: word(2)? as i64,
                    size: shape as u32,
                    action: (shape >> 32) as u8 as _,
                    side: (shape >> 40) as u8 as _,
                    flags: FlagSet::new((shape >> 48) as u8),
                    depth: (shape >> 56) as u8,
                    ts_recv: word(4)?,
                    ts_in_delta: word(5)? as i32,
                    sequence: (word(5)? >> 32) as u32,
                    levels: [BidAskPair {
                        bid_px: word(6)? as i64,
                        ask_px: word(7)? as i64,
                        bid_sz: sizes as u32,
                        ask_sz: (sizes >> 32) as u32,
                        bid_ct: counts as u32,
                        ask_ct: (counts >> 32) as u32,
                    }],
                };
                Some(Record::Bbo(&self.bbo))
            }
            RecordKind::Trades => {
                let shape = word(3)?;
                self.trade = TradeMsg {
                    hd: header::<TradeMsg>(word(0)?, word(1)?),
                    price: word(2)? as i64,
                    size: shape as u32,
                    action: (shape >> 32) as u8 as _,
                    side: (shape >> 40) as u8 as _,
                    flags: FlagSet::new((shape >> 48) as u8),
                    depth: (shape >> 56) as u8,
                    ts_recv: word(4)?,
                    ts_in_delta: word(5)? as i32,
                    sequence: (word(5)? >> 32) as u32,
                };
                Some(Record::Trade(&self.trade))
            }
            RecordKind::Status => {
                self.status = by_dbn(bytes)?;
                Some(Record::Status(&self.status))
            }
            RecordKind::Definitions => {
                *self.definition = by_dbn(bytes)?;
                Some(Record::Definition(&self.definition))
            }
            RecordKind::Imbalances => {
                self.imbalance = by_dbn(bytes)?;
                Some(Record::Imbalance(&self.imbalance))
            }
        }
    }
}

#[inline]
fn header<R: dbn::HasRType>(first: u64, ts_event: u64) -> RecordHeader {
    RecordHeader::new::<R>((first >> 8) as u8, (first >> 16) as u16, (first >> 32) as u32, ts_event)
}

/// Decodes rare records with many fields with DBN's own decoder, which allocates for each.
#[cold]
fn by_dbn<R: dbn::HasRType<Header = RecordHeader> + Clone>(bytes: &[u8]) -> Option<R> {
    let policy = VersionUpgradePolicy::AsIs;
    let mut decoder = RecordDecoder::with_version(bytes, dbn::DBN_VERSION, policy, false).ok()?;
    decoder.decode_record::<R>().ok()?.cloned()
}
