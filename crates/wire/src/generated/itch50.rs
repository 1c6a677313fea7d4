//! Nasdaq TotalView-ITCH 5.0: views, encoders and codes.
//!
//! Written by `cargo xtask gen` from `schema/nasdaq-itch-5.0.toml`: edit that, not this.
//! Covers version 5.0, revision of 2023-04-28, with the codes added until 2026-02-19.

use core::fmt;

use crate::{
    DecodeError, EncodeError,
    codec::{self, Shape, UnknownCode},
    render::{Describe, FieldVisitor, Value},
};
use nanotape_types::{
    Alpha, MatchNumber, Maybe, Mpid, NanosSinceMidnight, OrderReferenceNumber, Price4, Price8,
    SecondsSinceMidnight, Shares, StockLocate, Symbol, TotalShares, TrackingNumber, WireValue,
};

/// Where the type byte of a message stands.
pub const TAG_OFFSET: usize = 0;

/// The type bytes of all messages, in the order of the schema.
pub const TAGS: &[u8] = &[
    SystemEvent::TAG,
    StockDirectory::TAG,
    StockTradingAction::TAG,
    RegShoRestriction::TAG,
    MarketParticipantPosition::TAG,
    MwcbDeclineLevel::TAG,
    MwcbStatus::TAG,
    IpoQuotingPeriodUpdate::TAG,
    LuldAuctionCollar::TAG,
    OperationalHalt::TAG,
    AddOrder::TAG,
    AddOrderMpid::TAG,
    OrderExecuted::TAG,
    OrderExecutedWithPrice::TAG,
    OrderCancel::TAG,
    OrderDelete::TAG,
    OrderReplace::TAG,
    Trade::TAG,
    CrossTrade::TAG,
    BrokenTrade::TAG,
    NetOrderImbalance::TAG,
    RetailPriceImprovement::TAG,
    DirectListingPriceDiscovery::TAG,
];

/// Bytes of the longest message of fixed length.
pub const LONGEST: usize = 50;

static LENGTHS: [u16; 256] = {
    let mut lengths = [0; 256];
    lengths[SystemEvent::TAG as usize] = SystemEvent::LEN as u16;
    lengths[StockDirectory::TAG as usize] = StockDirectory::LEN as u16;
    lengths[StockTradingAction::TAG as usize] = StockTradingAction::LEN as u16;
    lengths[RegShoRestriction::TAG as usize] = RegShoRestriction::LEN as u16;
    lengths[MarketParticipantPosition::TAG as usize] = MarketParticipantPosition::LEN as u16;
    lengths[MwcbDeclineLevel::TAG as usize] = MwcbDeclineLevel::LEN as u16;
    lengths[MwcbStatus::TAG as usize] = MwcbStatus::LEN as u16;
    lengths[IpoQuotingPeriodUpdate::TAG as usize] = IpoQuotingPeriodUpdate::LEN as u16;
    lengths[LuldAuctionCollar::TAG as usize] = LuldAuctionCollar::LEN as u16;
    lengths[OperationalHalt::TAG as usize] = OperationalHalt::LEN as u16;
    lengths[AddOrder::TAG as usize] = AddOrder::LEN as u16;
    lengths[AddOrderMpid::TAG as usize] = AddOrderMpid::LEN as u16;
    lengths[OrderExecuted::TAG as usize] = OrderExecuted::LEN as u16;
    lengths[OrderExecutedWithPrice::TAG as usize] = OrderExecutedWithPrice::LEN as u16;
    lengths[OrderCancel::TAG as usize] = OrderCancel::LEN as u16;
    lengths[OrderDelete::TAG as usize] = OrderDelete::LEN as u16;
    lengths[OrderReplace::TAG as usize] = OrderReplace::LEN as u16;
    lengths[Trade::TAG as usize] = Trade::LEN as u16;
    lengths[CrossTrade::TAG as usize] = CrossTrade::LEN as u16;
    lengths[BrokenTrade::TAG as usize] = BrokenTrade::LEN as u16;
    lengths[NetOrderImbalance::TAG as usize] = NetOrderImbalance::LEN as u16;
    lengths[RetailPriceImprovement::TAG as usize] = RetailPriceImprovement::LEN as u16;
    lengths[DirectListingPriceDiscovery::TAG as usize] = DirectListingPriceDiscovery::LEN as u16;
    lengths
};

/// The one length that a message of type `tag` may have, or `None` if the type is unknown or its
/// length varies.
#[inline]
pub const fn length_of(tag: u8) -> Option<usize> {
    match LENGTHS[tag as usize] {
        0 => None,
        length => Some(length as usize),
    }
}

/// Any message. Unlisted types are passed on and never refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message<'a> {
    /// `S` System Event.
    SystemEvent(SystemEvent<'a>),
    /// `R` Stock Directory.
    StockDirectory(StockDirectory<'a>),
    /// `H` Stock Trading Action.
    StockTradingAction(StockTradingAction<'a>),
    /// `Y` Reg SHO Short Sale Price Test Restricted Indicator.
    RegShoRestriction(RegShoRestriction<'a>),
    /// `L` Market Participant Position.
    MarketParticipantPosition(MarketParticipantPosition<'a>),
    /// `V` MWCB Decline Level.
    MwcbDeclineLevel(MwcbDeclineLevel<'a>),
    /// `W` MWCB Status.
    MwcbStatus(MwcbStatus<'a>),
    /// `K` IPO Quoting Period Update.
    IpoQuotingPeriodUpdate(IpoQuotingPeriodUpdate<'a>),
    /// `J` LULD Auction Collar.
    LuldAuctionCollar(LuldAuctionCollar<'a>),
    /// `h` Operational Halt.
    OperationalHalt(OperationalHalt<'a>),
    /// `A` Add Order.
    AddOrder(AddOrder<'a>),
    /// `F` Add Order with MPID Attribution.
    AddOrderMpid(AddOrderMpid<'a>),
    /// `E` Order Executed.
    OrderExecuted(OrderExecuted<'a>),
    /// `C` Order Executed with Price.
    OrderExecutedWithPrice(OrderExecutedWithPrice<'a>),
    /// `X` Order Cancel.
    OrderCancel(OrderCancel<'a>),
    /// `D` Order Delete.
    OrderDelete(OrderDelete<'a>),
    /// `U` Order Replace.
    OrderReplace(OrderReplace<'a>),
    /// `P` Trade (Non-Cross).
    Trade(Trade<'a>),
    /// `Q` Cross Trade.
    CrossTrade(CrossTrade<'a>),
    /// `B` Broken Trade.
    BrokenTrade(BrokenTrade<'a>),
    /// `I` Net Order Imbalance Indicator.
    NetOrderImbalance(NetOrderImbalance<'a>),
    /// `N` Retail Price Improvement Indicator.
    RetailPriceImprovement(RetailPriceImprovement<'a>),
    /// `O` Direct Listing with Capital Raise Price Discovery.
    DirectListingPriceDiscovery(DirectListingPriceDiscovery<'a>),
    /// A message of another type.
    Unknown(Unknown<'a>),
}

impl<'a> Message<'a> {
    /// Looks at the type byte and checks what `wrap` of that type checks.
    #[inline(always)]
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let Some(&tag) = bytes.get(TAG_OFFSET) else {
            return Err(codec::no_tag(TAG_OFFSET, bytes));
        };
        match tag {
            SystemEvent::TAG => SystemEvent::wrap(bytes).map(Self::SystemEvent),
            StockDirectory::TAG => StockDirectory::wrap(bytes).map(Self::StockDirectory),
            StockTradingAction::TAG => {
                StockTradingAction::wrap(bytes).map(Self::StockTradingAction)
            }
            RegShoRestriction::TAG => RegShoRestriction::wrap(bytes).map(Self::RegShoRestriction),
            MarketParticipantPosition::TAG => {
                MarketParticipantPosition::wrap(bytes).map(Self::MarketParticipantPosition)
            }
            MwcbDeclineLevel::TAG => MwcbDeclineLevel::wrap(bytes).map(Self::MwcbDeclineLevel),
            MwcbStatus::TAG => MwcbStatus::wrap(bytes).map(Self::MwcbStatus),
            IpoQuotingPeriodUpdate::TAG => {
                IpoQuotingPeriodUpdate::wrap(bytes).map(Self::IpoQuotingPeriodUpdate)
            }
            LuldAuctionCollar::TAG => LuldAuctionCollar::wrap(bytes).map(Self::LuldAuctionCollar),
            OperationalHalt::TAG => OperationalHalt::wrap(bytes).map(Self::OperationalHalt),
            AddOrder::TAG => AddOrder::wrap(bytes).map(Self::AddOrder),
            AddOrderMpid::TAG => AddOrderMpid::wrap(bytes).map(Self::AddOrderMpid),
            OrderExecuted::TAG => OrderExecuted::wrap(bytes).map(Self::OrderExecuted),
            OrderExecutedWithPrice::TAG => {
                OrderExecutedWithPrice::wrap(bytes).map(Self::OrderExecutedWithPrice)
            }
            OrderCancel::TAG => OrderCancel::wrap(bytes).map(Self::OrderCancel),
            OrderDelete::TAG => OrderDelete::wrap(bytes).map(Self::OrderDelete),
            OrderReplace::TAG => OrderReplace::wrap(bytes).map(Self::OrderReplace),
            Trade::TAG => Trade::wrap(bytes).map(Self::Trade),
            CrossTrade::TAG => CrossTrade::wrap(bytes).map(Self::CrossTrade),
            BrokenTrade::TAG => BrokenTrade::wrap(bytes).map(Self::BrokenTrade),
            NetOrderImbalance::TAG => NetOrderImbalance::wrap(bytes).map(Self::NetOrderImbalance),
            RetailPriceImprovement::TAG => {
                RetailPriceImprovement::wrap(bytes).map(Self::RetailPriceImprovement)
            }
            DirectListingPriceDiscovery::TAG => {
                DirectListingPriceDiscovery::wrap(bytes).map(Self::DirectListingPriceDiscovery)
            }
            _ => Ok(Self::Unknown(Unknown(bytes))),
        }
    }

    /// Writes the bytes to the front of `buffer` and returns them. They are made from the fields,
    /// except those of an unknown message, which are copied.
    pub fn encode(self, buffer: &mut [u8]) -> Result<&[u8], EncodeError> {
        match self {
            Self::SystemEvent(message) => {
                codec::copy(SystemEvent::NAME, &message.fields().encode(), buffer)
            }
            Self::StockDirectory(message) => {
                codec::copy(StockDirectory::NAME, &message.fields().encode(), buffer)
            }
            Self::StockTradingAction(message) => {
                codec::copy(StockTradingAction::NAME, &message.fields().encode(), buffer)
            }
            Self::RegShoRestriction(message) => {
                codec::copy(RegShoRestriction::NAME, &message.fields().encode(), buffer)
            }
            Self::MarketParticipantPosition(message) => {
                codec::copy(MarketParticipantPosition::NAME, &message.fields().encode(), buffer)
            }
            Self::MwcbDeclineLevel(message) => {
                codec::copy(MwcbDeclineLevel::NAME, &message.fields().encode(), buffer)
            }
            Self::MwcbStatus(message) => {
                codec::copy(MwcbStatus::NAME, &message.fields().encode(), buffer)
            }
            Self::IpoQuotingPeriodUpdate(message) => {
                codec::copy(IpoQuotingPeriodUpdate::NAME, &message.fields().encode(), buffer)
            }
            Self::LuldAuctionCollar(message) => {
                codec::copy(LuldAuctionCollar::NAME, &message.fields().encode(), buffer)
            }
            Self::OperationalHalt(message) => {
                codec::copy(OperationalHalt::NAME, &message.fields().encode(), buffer)
            }
            Self::AddOrder(message) => {
                codec::copy(AddOrder::NAME, &message.fields().encode(), buffer)
            }
            Self::AddOrderMpid(message) => {
                codec::copy(AddOrderMpid::NAME, &message.fields().encode(), buffer)
            }
            Self::OrderExecuted(message) => {
                codec::copy(OrderExecuted::NAME, &message.fields().encode(), buffer)
            }
            Self::OrderExecutedWithPrice(message) => {
                codec::copy(OrderExecutedWithPrice::NAME, &message.fields().encode(), buffer)
            }
            Self::OrderCancel(message) => {
                codec::copy(OrderCancel::NAME, &message.fields().encode(), buffer)
            }
            Self::OrderDelete(message) => {
                codec::copy(OrderDelete::NAME, &message.fields().encode(), buffer)
            }
            Self::OrderReplace(message) => {
                codec::copy(OrderReplace::NAME, &message.fields().encode(), buffer)
            }
            Self::Trade(message) => codec::copy(Trade::NAME, &message.fields().encode(), buffer),
            Self::CrossTrade(message) => {
                codec::copy(CrossTrade::NAME, &message.fields().encode(), buffer)
            }
            Self::BrokenTrade(message) => {
                codec::copy(BrokenTrade::NAME, &message.fields().encode(), buffer)
            }
            Self::NetOrderImbalance(message) => {
                codec::copy(NetOrderImbalance::NAME, &message.fields().encode(), buffer)
            }
            Self::RetailPriceImprovement(message) => {
                codec::copy(RetailPriceImprovement::NAME, &message.fields().encode(), buffer)
            }
            Self::DirectListingPriceDiscovery(message) => {
                codec::copy(DirectListingPriceDiscovery::NAME, &message.fields().encode(), buffer)
            }
            Self::Unknown(message) => codec::copy("Unknown", message.0, buffer),
        }
    }

    /// Type byte.
    #[inline]
    pub fn tag(self) -> u8 {
        match self {
            Self::SystemEvent(_) => SystemEvent::TAG,
            Self::StockDirectory(_) => StockDirectory::TAG,
            Self::StockTradingAction(_) => StockTradingAction::TAG,
            Self::RegShoRestriction(_) => RegShoRestriction::TAG,
            Self::MarketParticipantPosition(_) => MarketParticipantPosition::TAG,
            Self::MwcbDeclineLevel(_) => MwcbDeclineLevel::TAG,
            Self::MwcbStatus(_) => MwcbStatus::TAG,
            Self::IpoQuotingPeriodUpdate(_) => IpoQuotingPeriodUpdate::TAG,
            Self::LuldAuctionCollar(_) => LuldAuctionCollar::TAG,
            Self::OperationalHalt(_) => OperationalHalt::TAG,
            Self::AddOrder(_) => AddOrder::TAG,
            Self::AddOrderMpid(_) => AddOrderMpid::TAG,
            Self::OrderExecuted(_) => OrderExecuted::TAG,
            Self::OrderExecutedWithPrice(_) => OrderExecutedWithPrice::TAG,
            Self::OrderCancel(_) => OrderCancel::TAG,
            Self::OrderDelete(_) => OrderDelete::TAG,
            Self::OrderReplace(_) => OrderReplace::TAG,
            Self::Trade(_) => Trade::TAG,
            Self::CrossTrade(_) => CrossTrade::TAG,
            Self::BrokenTrade(_) => BrokenTrade::TAG,
            Self::NetOrderImbalance(_) => NetOrderImbalance::TAG,
            Self::RetailPriceImprovement(_) => RetailPriceImprovement::TAG,
            Self::DirectListingPriceDiscovery(_) => DirectListingPriceDiscovery::TAG,
            Self::Unknown(message) => message.tag(),
        }
    }

    /// Name in the specification.
    pub fn name(self) -> &'static str {
        match self {
            Self::SystemEvent(_) => SystemEvent::NAME,
            Self::StockDirectory(_) => StockDirectory::NAME,
            Self::StockTradingAction(_) => StockTradingAction::NAME,
            Self::RegShoRestriction(_) => RegShoRestriction::NAME,
            Self::MarketParticipantPosition(_) => MarketParticipantPosition::NAME,
            Self::MwcbDeclineLevel(_) => MwcbDeclineLevel::NAME,
            Self::MwcbStatus(_) => MwcbStatus::NAME,
            Self::IpoQuotingPeriodUpdate(_) => IpoQuotingPeriodUpdate::NAME,
            Self::LuldAuctionCollar(_) => LuldAuctionCollar::NAME,
            Self::OperationalHalt(_) => OperationalHalt::NAME,
            Self::AddOrder(_) => AddOrder::NAME,
            Self::AddOrderMpid(_) => AddOrderMpid::NAME,
            Self::OrderExecuted(_) => OrderExecuted::NAME,
            Self::OrderExecutedWithPrice(_) => OrderExecutedWithPrice::NAME,
            Self::OrderCancel(_) => OrderCancel::NAME,
            Self::OrderDelete(_) => OrderDelete::NAME,
            Self::OrderReplace(_) => OrderReplace::NAME,
            Self::Trade(_) => Trade::NAME,
            Self::CrossTrade(_) => CrossTrade::NAME,
            Self::BrokenTrade(_) => BrokenTrade::NAME,
            Self::NetOrderImbalance(_) => NetOrderImbalance::NAME,
            Self::RetailPriceImprovement(_) => RetailPriceImprovement::NAME,
            Self::DirectListingPriceDiscovery(_) => DirectListingPriceDiscovery::NAME,
            Self::Unknown(_) => "Unknown",
        }
    }

    /// The bytes themselves.
    #[inline]
    pub fn as_bytes(self) -> &'a [u8] {
        match self {
            Self::SystemEvent(message) => message.as_bytes(),
            Self::StockDirectory(message) => message.as_bytes(),
            Self::StockTradingAction(message) => message.as_bytes(),
            Self::RegShoRestriction(message) => message.as_bytes(),
            Self::MarketParticipantPosition(message) => message.as_bytes(),
            Self::MwcbDeclineLevel(message) => message.as_bytes(),
            Self::MwcbStatus(message) => message.as_bytes(),
            Self::IpoQuotingPeriodUpdate(message) => message.as_bytes(),
            Self::LuldAuctionCollar(message) => message.as_bytes(),
            Self::OperationalHalt(message) => message.as_bytes(),
            Self::AddOrder(message) => message.as_bytes(),
            Self::AddOrderMpid(message) => message.as_bytes(),
            Self::OrderExecuted(message) => message.as_bytes(),
            Self::OrderExecutedWithPrice(message) => message.as_bytes(),
            Self::OrderCancel(message) => message.as_bytes(),
            Self::OrderDelete(message) => message.as_bytes(),
            Self::OrderReplace(message) => message.as_bytes(),
            Self::Trade(message) => message.as_bytes(),
            Self::CrossTrade(message) => message.as_bytes(),
            Self::BrokenTrade(message) => message.as_bytes(),
            Self::NetOrderImbalance(message) => message.as_bytes(),
            Self::RetailPriceImprovement(message) => message.as_bytes(),
            Self::DirectListingPriceDiscovery(message) => message.as_bytes(),
            Self::Unknown(message) => message.0,
        }
    }

    /// The number of the stock for the day; 0 if the message is not about a single stock. `None`
    /// for an unknown message.
    #[inline]
    pub fn stock_locate(self) -> Option<StockLocate> {
        match self {
            Self::SystemEvent(message) => Some(message.stock_locate()),
            Self::StockDirectory(message) => Some(message.stock_locate()),
            Self::StockTradingAction(message) => Some(message.stock_locate()),
            Self::RegShoRestriction(message) => Some(message.stock_locate()),
            Self::MarketParticipantPosition(message) => Some(message.stock_locate()),
            Self::MwcbDeclineLevel(message) => Some(message.stock_locate()),
            Self::MwcbStatus(message) => Some(message.stock_locate()),
            Self::IpoQuotingPeriodUpdate(message) => Some(message.stock_locate()),
            Self::LuldAuctionCollar(message) => Some(message.stock_locate()),
            Self::OperationalHalt(message) => Some(message.stock_locate()),
            Self::AddOrder(message) => Some(message.stock_locate()),
            Self::AddOrderMpid(message) => Some(message.stock_locate()),
            Self::OrderExecuted(message) => Some(message.stock_locate()),
            Self::OrderExecutedWithPrice(message) => Some(message.stock_locate()),
            Self::OrderCancel(message) => Some(message.stock_locate()),
            Self::OrderDelete(message) => Some(message.stock_locate()),
            Self::OrderReplace(message) => Some(message.stock_locate()),
            Self::Trade(message) => Some(message.stock_locate()),
            Self::CrossTrade(message) => Some(message.stock_locate()),
            Self::BrokenTrade(message) => Some(message.stock_locate()),
            Self::NetOrderImbalance(message) => Some(message.stock_locate()),
            Self::RetailPriceImprovement(message) => Some(message.stock_locate()),
            Self::DirectListingPriceDiscovery(message) => Some(message.stock_locate()),
            Self::Unknown(_) => None,
        }
    }

    /// Internal to the exchange, not unique. `None` for an unknown message.
    #[inline]
    pub fn tracking_number(self) -> Option<TrackingNumber> {
        match self {
            Self::SystemEvent(message) => Some(message.tracking_number()),
            Self::StockDirectory(message) => Some(message.tracking_number()),
            Self::StockTradingAction(message) => Some(message.tracking_number()),
            Self::RegShoRestriction(message) => Some(message.tracking_number()),
            Self::MarketParticipantPosition(message) => Some(message.tracking_number()),
            Self::MwcbDeclineLevel(message) => Some(message.tracking_number()),
            Self::MwcbStatus(message) => Some(message.tracking_number()),
            Self::IpoQuotingPeriodUpdate(message) => Some(message.tracking_number()),
            Self::LuldAuctionCollar(message) => Some(message.tracking_number()),
            Self::OperationalHalt(message) => Some(message.tracking_number()),
            Self::AddOrder(message) => Some(message.tracking_number()),
            Self::AddOrderMpid(message) => Some(message.tracking_number()),
            Self::OrderExecuted(message) => Some(message.tracking_number()),
            Self::OrderExecutedWithPrice(message) => Some(message.tracking_number()),
            Self::OrderCancel(message) => Some(message.tracking_number()),
            Self::OrderDelete(message) => Some(message.tracking_number()),
            Self::OrderReplace(message) => Some(message.tracking_number()),
            Self::Trade(message) => Some(message.tracking_number()),
            Self::CrossTrade(message) => Some(message.tracking_number()),
            Self::BrokenTrade(message) => Some(message.tracking_number()),
            Self::NetOrderImbalance(message) => Some(message.tracking_number()),
            Self::RetailPriceImprovement(message) => Some(message.tracking_number()),
            Self::DirectListingPriceDiscovery(message) => Some(message.tracking_number()),
            Self::Unknown(_) => None,
        }
    }

    /// Time of the event: nanoseconds since midnight, US Eastern, of the trade date. `None` for an
    /// unknown message.
    #[inline]
    pub fn timestamp(self) -> Option<NanosSinceMidnight> {
        match self {
            Self::SystemEvent(message) => Some(message.timestamp()),
            Self::StockDirectory(message) => Some(message.timestamp()),
            Self::StockTradingAction(message) => Some(message.timestamp()),
            Self::RegShoRestriction(message) => Some(message.timestamp()),
            Self::MarketParticipantPosition(message) => Some(message.timestamp()),
            Self::MwcbDeclineLevel(message) => Some(message.timestamp()),
            Self::MwcbStatus(message) => Some(message.timestamp()),
            Self::IpoQuotingPeriodUpdate(message) => Some(message.timestamp()),
            Self::LuldAuctionCollar(message) => Some(message.timestamp()),
            Self::OperationalHalt(message) => Some(message.timestamp()),
            Self::AddOrder(message) => Some(message.timestamp()),
            Self::AddOrderMpid(message) => Some(message.timestamp()),
            Self::OrderExecuted(message) => Some(message.timestamp()),
            Self::OrderExecutedWithPrice(message) => Some(message.timestamp()),
            Self::OrderCancel(message) => Some(message.timestamp()),
            Self::OrderDelete(message) => Some(message.timestamp()),
            Self::OrderReplace(message) => Some(message.timestamp()),
            Self::Trade(message) => Some(message.timestamp()),
            Self::CrossTrade(message) => Some(message.timestamp()),
            Self::BrokenTrade(message) => Some(message.timestamp()),
            Self::NetOrderImbalance(message) => Some(message.timestamp()),
            Self::RetailPriceImprovement(message) => Some(message.timestamp()),
            Self::DirectListingPriceDiscovery(message) => Some(message.timestamp()),
            Self::Unknown(_) => None,
        }
    }

    /// The field `stock`, of a message that has one.
    #[inline]
    pub fn stock(self) -> Option<Symbol> {
        match self {
            Self::StockDirectory(message) => Some(message.stock()),
            Self::StockTradingAction(message) => Some(message.stock()),
            Self::RegShoRestriction(message) => Some(message.stock()),
            Self::MarketParticipantPosition(message) => Some(message.stock()),
            Self::IpoQuotingPeriodUpdate(message) => Some(message.stock()),
            Self::LuldAuctionCollar(message) => Some(message.stock()),
            Self::OperationalHalt(message) => Some(message.stock()),
            Self::AddOrder(message) => Some(message.stock()),
            Self::AddOrderMpid(message) => Some(message.stock()),
            Self::Trade(message) => Some(message.stock()),
            Self::CrossTrade(message) => Some(message.stock()),
            Self::NetOrderImbalance(message) => Some(message.stock()),
            Self::RetailPriceImprovement(message) => Some(message.stock()),
            Self::DirectListingPriceDiscovery(message) => Some(message.stock()),
            _ => None,
        }
    }

    /// Writes one line of text, without an end of line.
    pub fn write_text(self, out: &mut impl fmt::Write) -> fmt::Result {
        Describe::write_text(self, out)
    }

    /// Writes one JSON object.
    pub fn write_json(self, out: &mut impl fmt::Write) -> fmt::Result {
        Describe::write_json(self, out)
    }
}

impl<'a> Describe<'a> for Message<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(self.tag())
    }

    fn type_name(self) -> &'static str {
        match self {
            Self::SystemEvent(_) => "SystemEvent",
            Self::StockDirectory(_) => "StockDirectory",
            Self::StockTradingAction(_) => "StockTradingAction",
            Self::RegShoRestriction(_) => "RegShoRestriction",
            Self::MarketParticipantPosition(_) => "MarketParticipantPosition",
            Self::MwcbDeclineLevel(_) => "MwcbDeclineLevel",
            Self::MwcbStatus(_) => "MwcbStatus",
            Self::IpoQuotingPeriodUpdate(_) => "IpoQuotingPeriodUpdate",
            Self::LuldAuctionCollar(_) => "LuldAuctionCollar",
            Self::OperationalHalt(_) => "OperationalHalt",
            Self::AddOrder(_) => "AddOrder",
            Self::AddOrderMpid(_) => "AddOrderMpid",
            Self::OrderExecuted(_) => "OrderExecuted",
            Self::OrderExecutedWithPrice(_) => "OrderExecutedWithPrice",
            Self::OrderCancel(_) => "OrderCancel",
            Self::OrderDelete(_) => "OrderDelete",
            Self::OrderReplace(_) => "OrderReplace",
            Self::Trade(_) => "Trade",
            Self::CrossTrade(_) => "CrossTrade",
            Self::BrokenTrade(_) => "BrokenTrade",
            Self::NetOrderImbalance(_) => "NetOrderImbalance",
            Self::RetailPriceImprovement(_) => "RetailPriceImprovement",
            Self::DirectListingPriceDiscovery(_) => "DirectListingPriceDiscovery",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        match self {
            Self::SystemEvent(message) => message.for_each_field(visitor),
            Self::StockDirectory(message) => message.for_each_field(visitor),
            Self::StockTradingAction(message) => message.for_each_field(visitor),
            Self::RegShoRestriction(message) => message.for_each_field(visitor),
            Self::MarketParticipantPosition(message) => message.for_each_field(visitor),
            Self::MwcbDeclineLevel(message) => message.for_each_field(visitor),
            Self::MwcbStatus(message) => message.for_each_field(visitor),
            Self::IpoQuotingPeriodUpdate(message) => message.for_each_field(visitor),
            Self::LuldAuctionCollar(message) => message.for_each_field(visitor),
            Self::OperationalHalt(message) => message.for_each_field(visitor),
            Self::AddOrder(message) => message.for_each_field(visitor),
            Self::AddOrderMpid(message) => message.for_each_field(visitor),
            Self::OrderExecuted(message) => message.for_each_field(visitor),
            Self::OrderExecutedWithPrice(message) => message.for_each_field(visitor),
            Self::OrderCancel(message) => message.for_each_field(visitor),
            Self::OrderDelete(message) => message.for_each_field(visitor),
            Self::OrderReplace(message) => message.for_each_field(visitor),
            Self::Trade(message) => message.for_each_field(visitor),
            Self::CrossTrade(message) => message.for_each_field(visitor),
            Self::BrokenTrade(message) => message.for_each_field(visitor),
            Self::NetOrderImbalance(message) => message.for_each_field(visitor),
            Self::RetailPriceImprovement(message) => message.for_each_field(visitor),
            Self::DirectListingPriceDiscovery(message) => message.for_each_field(visitor),
            Self::Unknown(message) => visitor.field("bytes", Value::Bytes(message.0)),
        }
    }
}

/// A message whose type byte is not listed, with all its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unknown<'a>(&'a [u8]);

impl<'a> Unknown<'a> {
    /// Type byte.
    #[inline]
    pub fn tag(self) -> u8 {
        self.0.get(TAG_OFFSET).copied().unwrap_or_default()
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}

/// `S` System Event. A milestone of the trading day. Stock locate is 0.
///
/// 12 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SystemEvent<'a>(&'a [u8; 12]);

impl<'a> SystemEvent<'a> {
    /// Type byte.
    pub const TAG: u8 = b'S';
    /// Bytes in all.
    pub const LEN: usize = 12;
    /// Name in the specification.
    pub const NAME: &'static str = "System Event";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'S')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 12]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 12] {
        self.0
    }

    /// Bytes 1..3. The number of the stock for the day; 0 if the message is not about a single
    /// stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.0))
    }

    /// Bytes 3..5. Internal to the exchange, not unique.
    #[inline]
    pub fn tracking_number(self) -> TrackingNumber {
        WireValue::from_be_bytes(*codec::field::<3, 2, _>(self.0))
    }

    /// Bytes 5..11. Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<5, 6, _>(self.0))
    }

    /// Byte 11. The milestone.
    #[inline]
    pub fn event_code(self) -> EventCode {
        WireValue::from_be_bytes(*codec::field::<11, 1, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> SystemEventFields {
        SystemEventFields {
            stock_locate: self.stock_locate(),
            tracking_number: self.tracking_number(),
            timestamp: self.timestamp(),
            event_code: self.event_code(),
        }
    }
}

impl fmt::Debug for SystemEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for SystemEvent<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "SystemEvent"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "tracking_number", Value::Integer(self.tracking_number().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))?;
        V::field(visitor, "event_code", self.event_code().value())
    }
}

/// The fields of [`SystemEvent`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SystemEventFields {
    /// The number of the stock for the day; 0 if the message is not about a single stock.
    pub stock_locate: StockLocate,
    /// Internal to the exchange, not unique.
    pub tracking_number: TrackingNumber,
    /// Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    pub timestamp: NanosSinceMidnight,
    /// The milestone.
    pub event_code: EventCode,
}

impl SystemEventFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 12] {
        let mut bytes = [0; 12];
        bytes[0] = SystemEvent::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.tracking_number));
        codec::put::<5, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        codec::put::<11, _, _>(&mut bytes, WireValue::to_be_bytes(self.event_code));
        bytes
    }
}

/// `R` Stock Directory. One stock of the day and its stock locate; sent before any other message
/// about the stock.
///
/// 39 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct StockDirectory<'a>(&'a [u8; 39]);

impl<'a> StockDirectory<'a> {
    /// Type byte.
    pub const TAG: u8 = b'R';
    /// Bytes in all.
    pub const LEN: usize = 39;
    /// Name in the specification.
    pub const NAME: &'static str = "Stock Directory";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'R')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 39]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 39] {
        self.0
    }

    /// Bytes 1..3. The number of the stock for the day; 0 if the message is not about a single
    /// stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.0))
    }

    /// Bytes 3..5. Internal to the exchange, not unique.
    #[inline]
    pub fn tracking_number(self) -> TrackingNumber {
        WireValue::from_be_bytes(*codec::field::<3, 2, _>(self.0))
    }

    /// Bytes 5..11. Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<5, 6, _>(self.0))
    }

    /// Bytes 11..19. Symbol of the stock locate for this day.
    #[inline]
    pub fn stock(self) -> Symbol {
        WireValue::from_be_bytes(*codec::field::<11, 8, _>(self.0))
    }

    /// Byte 19. Listing market.
    #[inline]
    pub fn market_category(self) -> MarketCategory {
        WireValue::from_be_bytes(*codec::field::<19, 1, _>(self.0))
    }

    /// Byte 20. Standing of the issuer.
    #[inline]
    pub fn financial_status(self) -> FinancialStatus {
        WireValue::from_be_bytes(*codec::field::<20, 1, _>(self.0))
    }

    /// Bytes 21..25. Shares in a round lot.
    #[inline]
    pub fn round_lot_size(self) -> u32 {
        WireValue::from_be_bytes(*codec::field::<21, 4, _>(self.0))
    }

    /// Byte 25. Whether only round lots may be entered.
    #[inline]
    pub fn round_lots_only(self) -> YesNo {
        WireValue::from_be_bytes(*codec::field::<25, 1, _>(self.0))
    }

    /// Byte 26. Kind of security.
    #[inline]
    pub fn issue_classification(self) -> IssueClassification {
        WireValue::from_be_bytes(*codec::field::<26, 1, _>(self.0))
    }

    /// Bytes 27..29. Kind of security, in more detail. Codes: IssueSubType in the document.
    #[inline]
    pub fn issue_sub_type(self) -> Alpha<2> {
        WireValue::from_be_bytes(*codec::field::<27, 2, _>(self.0))
    }

    /// Byte 29. Real or test symbol.
    #[inline]
    pub fn authenticity(self) -> Authenticity {
        WireValue::from_be_bytes(*codec::field::<29, 1, _>(self.0))
    }

    /// Byte 30. Whether it is on the threshold list of Regulation SHO.
    #[inline]
    pub fn short_sale_threshold(self) -> YesNo {
        WireValue::from_be_bytes(*codec::field::<30, 1, _>(self.0))
    }

    /// Byte 31. Whether it is new through an initial public offering.
    #[inline]
    pub fn ipo_flag(self) -> IpoFlag {
        WireValue::from_be_bytes(*codec::field::<31, 1, _>(self.0))
    }

    /// Byte 32. Limit-up limit-down tier.
    #[inline]
    pub fn luld_tier(self) -> LuldTier {
        WireValue::from_be_bytes(*codec::field::<32, 1, _>(self.0))
    }

    /// Byte 33. Whether it is an exchange-traded product.
    #[inline]
    pub fn etp_flag(self) -> YesNo {
        WireValue::from_be_bytes(*codec::field::<33, 1, _>(self.0))
    }

    /// Bytes 34..38. Leverage of an exchange-traded product, whole part; 0 or 1 is unleveraged.
    #[inline]
    pub fn etp_leverage_factor(self) -> u32 {
        WireValue::from_be_bytes(*codec::field::<34, 4, _>(self.0))
    }

    /// Byte 38. Whether the product moves against its underlying.
    #[inline]
    pub fn inverse_indicator(self) -> YesNo {
        WireValue::from_be_bytes(*codec::field::<38, 1, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> StockDirectoryFields {
        StockDirectoryFields {
            stock_locate: self.stock_locate(),
            tracking_number: self.tracking_number(),
            timestamp: self.timestamp(),
            stock: self.stock(),
            market_category: self.market_category(),
            financial_status: self.financial_status(),
            round_lot_size: self.round_lot_size(),
            round_lots_only: self.round_lots_only(),
            issue_classification: self.issue_classification(),
            issue_sub_type: self.issue_sub_type(),
            authenticity: self.authenticity(),
            short_sale_threshold: self.short_sale_threshold(),
            ipo_flag: self.ipo_flag(),
            luld_tier: self.luld_tier(),
            etp_flag: self.etp_flag(),
            etp_leverage_factor: self.etp_leverage_factor(),
            inverse_indicator: self.inverse_indicator(),
        }
    }
}

impl fmt::Debug for StockDirectory<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for StockDirectory<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "StockDirectory"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "tracking_number", Value::Integer(self.tracking_number().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))?;
        V::field(visitor, "stock", Value::Text(codec::field::<11, 8, _>(self.0)))?;
        V::field(visitor, "market_category", self.market_category().value())?;
        V::field(visitor, "financial_status", self.financial_status().value())?;
        V::field(visitor, "round_lot_size", Value::Integer(self.round_lot_size().into()))?;
        V::field(visitor, "round_lots_only", self.round_lots_only().value())?;
        V::field(visitor, "issue_classification", self.issue_classification().value())?;
        V::field(visitor, "issue_sub_type", Value::Text(codec::field::<27, 2, _>(self.0)))?;
        V::field(visitor, "authenticity", self.authenticity().value())?;
        V::field(visitor, "short_sale_threshold", self.short_sale_threshold().value())?;
        V::field(visitor, "ipo_flag", self.ipo_flag().value())?;
        V::field(visitor, "luld_tier", self.luld_tier().value())?;
        V::field(visitor, "etp_flag", self.etp_flag().value())?;
        V::field(
            visitor,
            "etp_leverage_factor",
            Value::Integer(self.etp_leverage_factor().into()),
        )?;
        V::field(visitor, "inverse_indicator", self.inverse_indicator().value())
    }
}

/// The fields of [`StockDirectory`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StockDirectoryFields {
    /// The number of the stock for the day; 0 if the message is not about a single stock.
    pub stock_locate: StockLocate,
    /// Internal to the exchange, not unique.
    pub tracking_number: TrackingNumber,
    /// Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    pub timestamp: NanosSinceMidnight,
    /// Symbol of the stock locate for this day.
    pub stock: Symbol,
    /// Listing market.
    pub market_category: MarketCategory,
    /// Standing of the issuer.
    pub financial_status: FinancialStatus,
    /// Shares in a round lot.
    pub round_lot_size: u32,
    /// Whether only round lots may be entered.
    pub round_lots_only: YesNo,
    /// Kind of security.
    pub issue_classification: IssueClassification,
    /// Kind of security, in more detail. Codes: IssueSubType in the document.
    pub issue_sub_type: Alpha<2>,
    /// Real or test symbol.
    pub authenticity: Authenticity,
    /// Whether it is on the threshold list of Regulation SHO.
    pub short_sale_threshold: YesNo,
    /// Whether it is new through an initial public offering.
    pub ipo_flag: IpoFlag,
    /// Limit-up limit-down tier.
    pub luld_tier: LuldTier,
    /// Whether it is an exchange-traded product.
    pub etp_flag: YesNo,
    /// Leverage of an exchange-traded product, whole part; 0 or 1 is unleveraged.
    pub etp_leverage_factor: u32,
    /// Whether the product moves against its underlying.
    pub inverse_indicator: YesNo,
}

impl StockDirectoryFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 39] {
        let mut bytes = [0; 39];
        bytes[0] = StockDirectory::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.tracking_number));
        codec::put::<5, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        codec::put::<11, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock));
        codec::put::<19, _, _>(&mut bytes, WireValue::to_be_bytes(self.market_category));
        codec::put::<20, _, _>(&mut bytes, WireValue::to_be_bytes(self.financial_status));
        codec::put::<21, _, _>(&mut bytes, WireValue::to_be_bytes(self.round_lot_size));
        codec::put::<25, _, _>(&mut bytes, WireValue::to_be_bytes(self.round_lots_only));
        codec::put::<26, _, _>(&mut bytes, WireValue::to_be_bytes(self.issue_classification));
        codec::put::<27, _, _>(&mut bytes, WireValue::to_be_bytes(self.issue_sub_type));
        codec::put::<29, _, _>(&mut bytes, WireValue::to_be_bytes(self.authenticity));
        codec::put::<30, _, _>(&mut bytes, WireValue::to_be_bytes(self.short_sale_threshold));
        codec::put::<31, _, _>(&mut bytes, WireValue::to_be_bytes(self.ipo_flag));
        codec::put::<32, _, _>(&mut bytes, WireValue::to_be_bytes(self.luld_tier));
        codec::put::<33, _, _>(&mut bytes, WireValue::to_be_bytes(self.etp_flag));
        codec::put::<34, _, _>(&mut bytes, WireValue::to_be_bytes(self.etp_leverage_factor));
        codec::put::<38, _, _>(&mut bytes, WireValue::to_be_bytes(self.inverse_indicator));
        bytes
    }
}

/// `H` Stock Trading Action. A stock changed its trading state on all markets. A stock that is
/// absent from the spin before system hours counts as halted.
///
/// 25 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct StockTradingAction<'a>(&'a [u8; 25]);

impl<'a> StockTradingAction<'a> {
    /// Type byte.
    pub const TAG: u8 = b'H';
    /// Bytes in all.
    pub const LEN: usize = 25;
    /// Name in the specification.
    pub const NAME: &'static str = "Stock Trading Action";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'H')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 25]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 25] {
        self.0
    }

    /// Bytes 1..3. The number of the stock for the day; 0 if the message is not about a single
    /// stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.0))
    }

    /// Bytes 3..5. Internal to the exchange, not unique.
    #[inline]
    pub fn tracking_number(self) -> TrackingNumber {
        WireValue::from_be_bytes(*codec::field::<3, 2, _>(self.0))
    }

    /// Bytes 5..11. Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<5, 6, _>(self.0))
    }

    /// Bytes 11..19. Symbol.
    #[inline]
    pub fn stock(self) -> Symbol {
        WireValue::from_be_bytes(*codec::field::<11, 8, _>(self.0))
    }

    /// Byte 19. State from now on.
    #[inline]
    pub fn trading_state(self) -> TradingState {
        WireValue::from_be_bytes(*codec::field::<19, 1, _>(self.0))
    }

    /// Byte 20. Unused.
    #[inline]
    pub fn reserved(self) -> Alpha<1> {
        WireValue::from_be_bytes(*codec::field::<20, 1, _>(self.0))
    }

    /// Bytes 21..25. Reason. Codes: TradingActionReason in the document.
    #[inline]
    pub fn reason(self) -> Alpha<4> {
        WireValue::from_be_bytes(*codec::field::<21, 4, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> StockTradingActionFields {
        StockTradingActionFields {
            stock_locate: self.stock_locate(),
            tracking_number: self.tracking_number(),
            timestamp: self.timestamp(),
            stock: self.stock(),
            trading_state: self.trading_state(),
            reserved: self.reserved(),
            reason: self.reason(),
        }
    }
}

impl fmt::Debug for StockTradingAction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for StockTradingAction<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "StockTradingAction"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "tracking_number", Value::Integer(self.tracking_number().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))?;
        V::field(visitor, "stock", Value::Text(codec::field::<11, 8, _>(self.0)))?;
        V::field(visitor, "trading_state", self.trading_state().value())?;
        V::field(visitor, "reserved", Value::Text(codec::field::<20, 1, _>(self.0)))?;
        V::field(visitor, "reason", Value::Text(codec::field::<21, 4, _>(self.0)))
    }
}

/// The fields of [`StockTradingAction`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StockTradingActionFields {
    /// The number of the stock for the day; 0 if the message is not about a single stock.
    pub stock_locate: StockLocate,
    /// Internal to the exchange, not unique.
    pub tracking_number: TrackingNumber,
    /// Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    pub timestamp: NanosSinceMidnight,
    /// Symbol.
    pub stock: Symbol,
    /// State from now on.
    pub trading_state: TradingState,
    /// Unused.
    pub reserved: Alpha<1>,
    /// Reason. Codes: TradingActionReason in the document.
    pub reason: Alpha<4>,
}

impl StockTradingActionFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 25] {
        let mut bytes = [0; 25];
        bytes[0] = StockTradingAction::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.tracking_number));
        codec::put::<5, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        codec::put::<11, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock));
        codec::put::<19, _, _>(&mut bytes, WireValue::to_be_bytes(self.trading_state));
        codec::put::<20, _, _>(&mut bytes, WireValue::to_be_bytes(self.reserved));
        codec::put::<21, _, _>(&mut bytes, WireValue::to_be_bytes(self.reason));
        bytes
    }
}

/// `Y` Reg SHO Short Sale Price Test Restricted Indicator. Whether short sales in the stock are
/// restricted.
///
/// 20 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RegShoRestriction<'a>(&'a [u8; 20]);

impl<'a> RegShoRestriction<'a> {
    /// Type byte.
    pub const TAG: u8 = b'Y';
    /// Bytes in all.
    pub const LEN: usize = 20;
    /// Name in the specification.
    pub const NAME: &'static str = "Reg SHO Short Sale Price Test Restricted Indicator";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'Y')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 20]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 20] {
        self.0
    }

    /// Bytes 1..3. The number of the stock for the day; 0 if the message is not about a single
    /// stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.0))
    }

    /// Bytes 3..5. Internal to the exchange, not unique.
    #[inline]
    pub fn tracking_number(self) -> TrackingNumber {
        WireValue::from_be_bytes(*codec::field::<3, 2, _>(self.0))
    }

    /// Bytes 5..11. Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<5, 6, _>(self.0))
    }

    /// Bytes 11..19. Symbol.
    #[inline]
    pub fn stock(self) -> Symbol {
        WireValue::from_be_bytes(*codec::field::<11, 8, _>(self.0))
    }

    /// Byte 19. State of the restriction.
    #[inline]
    pub fn reg_sho_action(self) -> RegShoAction {
        WireValue::from_be_bytes(*codec::field::<19, 1, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> RegShoRestrictionFields {
        RegShoRestrictionFields {
            stock_locate: self.stock_locate(),
            tracking_number: self.tracking_number(),
            timestamp: self.timestamp(),
            stock: self.stock(),
            reg_sho_action: self.reg_sho_action(),
        }
    }
}

impl fmt::Debug for RegShoRestriction<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for RegShoRestriction<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "RegShoRestriction"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "tracking_number", Value::Integer(self.tracking_number().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))?;
        V::field(visitor, "stock", Value::Text(codec::field::<11, 8, _>(self.0)))?;
        V::field(visitor, "reg_sho_action", self.reg_sho_action().value())
    }
}

/// The fields of [`RegShoRestriction`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegShoRestrictionFields {
    /// The number of the stock for the day; 0 if the message is not about a single stock.
    pub stock_locate: StockLocate,
    /// Internal to the exchange, not unique.
    pub tracking_number: TrackingNumber,
    /// Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    pub timestamp: NanosSinceMidnight,
    /// Symbol.
    pub stock: Symbol,
    /// State of the restriction.
    pub reg_sho_action: RegShoAction,
}

impl RegShoRestrictionFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 20] {
        let mut bytes = [0; 20];
        bytes[0] = RegShoRestriction::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.tracking_number));
        codec::put::<5, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        codec::put::<11, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock));
        codec::put::<19, _, _>(&mut bytes, WireValue::to_be_bytes(self.reg_sho_action));
        bytes
    }
}

/// `L` Market Participant Position. Standing of a market participant in a stock. In this message
/// the participant precedes the stock.
///
/// 26 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MarketParticipantPosition<'a>(&'a [u8; 26]);

impl<'a> MarketParticipantPosition<'a> {
    /// Type byte.
    pub const TAG: u8 = b'L';
    /// Bytes in all.
    pub const LEN: usize = 26;
    /// Name in the specification.
    pub const NAME: &'static str = "Market Participant Position";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'L')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 26]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 26] {
        self.0
    }

    /// Bytes 1..3. The number of the stock for the day; 0 if the message is not about a single
    /// stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.0))
    }

    /// Bytes 3..5. Internal to the exchange, not unique.
    #[inline]
    pub fn tracking_number(self) -> TrackingNumber {
        WireValue::from_be_bytes(*codec::field::<3, 2, _>(self.0))
    }

    /// Bytes 5..11. Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<5, 6, _>(self.0))
    }

    /// Bytes 11..15. Market participant.
    #[inline]
    pub fn mpid(self) -> Mpid {
        WireValue::from_be_bytes(*codec::field::<11, 4, _>(self.0))
    }

    /// Bytes 15..23. Symbol.
    #[inline]
    pub fn stock(self) -> Symbol {
        WireValue::from_be_bytes(*codec::field::<15, 8, _>(self.0))
    }

    /// Byte 23. Whether it is a primary market maker.
    #[inline]
    pub fn primary_market_maker(self) -> YesNo {
        WireValue::from_be_bytes(*codec::field::<23, 1, _>(self.0))
    }

    /// Byte 24. Its mode.
    #[inline]
    pub fn market_maker_mode(self) -> MarketMakerMode {
        WireValue::from_be_bytes(*codec::field::<24, 1, _>(self.0))
    }

    /// Byte 25. Its standing.
    #[inline]
    pub fn participant_state(self) -> ParticipantState {
        WireValue::from_be_bytes(*codec::field::<25, 1, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> MarketParticipantPositionFields {
        MarketParticipantPositionFields {
            stock_locate: self.stock_locate(),
            tracking_number: self.tracking_number(),
            timestamp: self.timestamp(),
            mpid: self.mpid(),
            stock: self.stock(),
            primary_market_maker: self.primary_market_maker(),
            market_maker_mode: self.market_maker_mode(),
            participant_state: self.participant_state(),
        }
    }
}

impl fmt::Debug for MarketParticipantPosition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for MarketParticipantPosition<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "MarketParticipantPosition"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "tracking_number", Value::Integer(self.tracking_number().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))?;
        V::field(visitor, "mpid", Value::Text(codec::field::<11, 4, _>(self.0)))?;
        V::field(visitor, "stock", Value::Text(codec::field::<15, 8, _>(self.0)))?;
        V::field(visitor, "primary_market_maker", self.primary_market_maker().value())?;
        V::field(visitor, "market_maker_mode", self.market_maker_mode().value())?;
        V::field(visitor, "participant_state", self.participant_state().value())
    }
}

/// The fields of [`MarketParticipantPosition`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MarketParticipantPositionFields {
    /// The number of the stock for the day; 0 if the message is not about a single stock.
    pub stock_locate: StockLocate,
    /// Internal to the exchange, not unique.
    pub tracking_number: TrackingNumber,
    /// Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    pub timestamp: NanosSinceMidnight,
    /// Market participant.
    pub mpid: Mpid,
    /// Symbol.
    pub stock: Symbol,
    /// Whether it is a primary market maker.
    pub primary_market_maker: YesNo,
    /// Its mode.
    pub market_maker_mode: MarketMakerMode,
    /// Its standing.
    pub participant_state: ParticipantState,
}

impl MarketParticipantPositionFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 26] {
        let mut bytes = [0; 26];
        bytes[0] = MarketParticipantPosition::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.tracking_number));
        codec::put::<5, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        codec::put::<11, _, _>(&mut bytes, WireValue::to_be_bytes(self.mpid));
        codec::put::<15, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock));
        codec::put::<23, _, _>(&mut bytes, WireValue::to_be_bytes(self.primary_market_maker));
        codec::put::<24, _, _>(&mut bytes, WireValue::to_be_bytes(self.market_maker_mode));
        codec::put::<25, _, _>(&mut bytes, WireValue::to_be_bytes(self.participant_state));
        bytes
    }
}

/// `V` MWCB Decline Level. Index values of the levels of the market-wide circuit breaker for the
/// day. Stock locate is 0.
///
/// 35 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MwcbDeclineLevel<'a>(&'a [u8; 35]);

impl<'a> MwcbDeclineLevel<'a> {
    /// Type byte.
    pub const TAG: u8 = b'V';
    /// Bytes in all.
    pub const LEN: usize = 35;
    /// Name in the specification.
    pub const NAME: &'static str = "MWCB Decline Level";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'V')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 35]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 35] {
        self.0
    }

    /// Bytes 1..3. The number of the stock for the day; 0 if the message is not about a single
    /// stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.0))
    }

    /// Bytes 3..5. Internal to the exchange, not unique.
    #[inline]
    pub fn tracking_number(self) -> TrackingNumber {
        WireValue::from_be_bytes(*codec::field::<3, 2, _>(self.0))
    }

    /// Bytes 5..11. Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<5, 6, _>(self.0))
    }

    /// Bytes 11..19. Index value 7 percent down.
    #[inline]
    pub fn level_1(self) -> Price8 {
        WireValue::from_be_bytes(*codec::field::<11, 8, _>(self.0))
    }

    /// Bytes 19..27. Index value 13 percent down.
    #[inline]
    pub fn level_2(self) -> Price8 {
        WireValue::from_be_bytes(*codec::field::<19, 8, _>(self.0))
    }

    /// Bytes 27..35. Index value 20 percent down.
    #[inline]
    pub fn level_3(self) -> Price8 {
        WireValue::from_be_bytes(*codec::field::<27, 8, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> MwcbDeclineLevelFields {
        MwcbDeclineLevelFields {
            stock_locate: self.stock_locate(),
            tracking_number: self.tracking_number(),
            timestamp: self.timestamp(),
            level_1: self.level_1(),
            level_2: self.level_2(),
            level_3: self.level_3(),
        }
    }
}

impl fmt::Debug for MwcbDeclineLevel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for MwcbDeclineLevel<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "MwcbDeclineLevel"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "tracking_number", Value::Integer(self.tracking_number().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))?;
        V::field(visitor, "level_1", Value::Price8(self.level_1()))?;
        V::field(visitor, "level_2", Value::Price8(self.level_2()))?;
        V::field(visitor, "level_3", Value::Price8(self.level_3()))
    }
}

/// The fields of [`MwcbDeclineLevel`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MwcbDeclineLevelFields {
    /// The number of the stock for the day; 0 if the message is not about a single stock.
    pub stock_locate: StockLocate,
    /// Internal to the exchange, not unique.
    pub tracking_number: TrackingNumber,
    /// Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    pub timestamp: NanosSinceMidnight,
    /// Index value 7 percent down.
    pub level_1: Price8,
    /// Index value 13 percent down.
    pub level_2: Price8,
    /// Index value 20 percent down.
    pub level_3: Price8,
}

impl MwcbDeclineLevelFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 35] {
        let mut bytes = [0; 35];
        bytes[0] = MwcbDeclineLevel::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.tracking_number));
        codec::put::<5, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        codec::put::<11, _, _>(&mut bytes, WireValue::to_be_bytes(self.level_1));
        codec::put::<19, _, _>(&mut bytes, WireValue::to_be_bytes(self.level_2));
        codec::put::<27, _, _>(&mut bytes, WireValue::to_be_bytes(self.level_3));
        bytes
    }
}

/// `W` MWCB Status. A level of the market-wide circuit breaker was reached. Stock locate is 0.
///
/// 12 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MwcbStatus<'a>(&'a [u8; 12]);

impl<'a> MwcbStatus<'a> {
    /// Type byte.
    pub const TAG: u8 = b'W';
    /// Bytes in all.
    pub const LEN: usize = 12;
    /// Name in the specification.
    pub const NAME: &'static str = "MWCB Status";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'W')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 12]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 12] {
        self.0
    }

    /// Bytes 1..3. The number of the stock for the day; 0 if the message is not about a single
    /// stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.0))
    }

    /// Bytes 3..5. Internal to the exchange, not unique.
    #[inline]
    pub fn tracking_number(self) -> TrackingNumber {
        WireValue::from_be_bytes(*codec::field::<3, 2, _>(self.0))
    }

    /// Bytes 5..11. Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<5, 6, _>(self.0))
    }

    /// Byte 11. Level reached.
    #[inline]
    pub fn breached_level(self) -> BreachedLevel {
        WireValue::from_be_bytes(*codec::field::<11, 1, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> MwcbStatusFields {
        MwcbStatusFields {
            stock_locate: self.stock_locate(),
            tracking_number: self.tracking_number(),
            timestamp: self.timestamp(),
            breached_level: self.breached_level(),
        }
    }
}

impl fmt::Debug for MwcbStatus<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for MwcbStatus<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "MwcbStatus"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "tracking_number", Value::Integer(self.tracking_number().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))?;
        V::field(visitor, "breached_level", self.breached_level().value())
    }
}

/// The fields of [`MwcbStatus`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MwcbStatusFields {
    /// The number of the stock for the day; 0 if the message is not about a single stock.
    pub stock_locate: StockLocate,
    /// Internal to the exchange, not unique.
    pub tracking_number: TrackingNumber,
    /// Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    pub timestamp: NanosSinceMidnight,
    /// Level reached.
    pub breached_level: BreachedLevel,
}

impl MwcbStatusFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 12] {
        let mut bytes = [0; 12];
        bytes[0] = MwcbStatus::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.tracking_number));
        codec::put::<5, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        codec::put::<11, _, _>(&mut bytes, WireValue::to_be_bytes(self.breached_level));
        bytes
    }
}

/// `K` IPO Quoting Period Update. Expected release time of a new issue. Identify the stock by its
/// symbol, because the stock locate may be 0.
///
/// 28 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct IpoQuotingPeriodUpdate<'a>(&'a [u8; 28]);

impl<'a> IpoQuotingPeriodUpdate<'a> {
    /// Type byte.
    pub const TAG: u8 = b'K';
    /// Bytes in all.
    pub const LEN: usize = 28;
    /// Name in the specification.
    pub const NAME: &'static str = "IPO Quoting Period Update";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'K')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 28]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 28] {
        self.0
    }

    /// Bytes 1..3. The number of the stock for the day; 0 if the message is not about a single
    /// stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.0))
    }

    /// Bytes 3..5. Internal to the exchange, not unique.
    #[inline]
    pub fn tracking_number(self) -> TrackingNumber {
        WireValue::from_be_bytes(*codec::field::<3, 2, _>(self.0))
    }

    /// Bytes 5..11. Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<5, 6, _>(self.0))
    }

    /// Bytes 11..19. Symbol.
    #[inline]
    pub fn stock(self) -> Symbol {
        WireValue::from_be_bytes(*codec::field::<11, 8, _>(self.0))
    }

    /// Bytes 19..23. Expected release in whole seconds since midnight; absent (0) when cancelled.
    #[inline]
    pub fn release_time(self) -> Maybe<SecondsSinceMidnight> {
        WireValue::from_be_bytes(*codec::field::<19, 4, _>(self.0))
    }

    /// Byte 23. Whether the release stands.
    #[inline]
    pub fn release_qualifier(self) -> ReleaseQualifier {
        WireValue::from_be_bytes(*codec::field::<23, 1, _>(self.0))
    }

    /// Bytes 24..28. Offering price; absent (0) when cancelled.
    #[inline]
    pub fn ipo_price(self) -> Maybe<Price4> {
        WireValue::from_be_bytes(*codec::field::<24, 4, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> IpoQuotingPeriodUpdateFields {
        IpoQuotingPeriodUpdateFields {
            stock_locate: self.stock_locate(),
            tracking_number: self.tracking_number(),
            timestamp: self.timestamp(),
            stock: self.stock(),
            release_time: self.release_time(),
            release_qualifier: self.release_qualifier(),
            ipo_price: self.ipo_price(),
        }
    }
}

impl fmt::Debug for IpoQuotingPeriodUpdate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for IpoQuotingPeriodUpdate<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "IpoQuotingPeriodUpdate"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "tracking_number", Value::Integer(self.tracking_number().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))?;
        V::field(visitor, "stock", Value::Text(codec::field::<11, 8, _>(self.0)))?;
        V::field(
            visitor,
            "release_time",
            self.release_time().map(Value::SecondsSinceMidnight).unwrap_or(Value::Absent),
        )?;
        V::field(visitor, "release_qualifier", self.release_qualifier().value())?;
        V::field(visitor, "ipo_price", self.ipo_price().map(Value::Price4).unwrap_or(Value::Absent))
    }
}

/// The fields of [`IpoQuotingPeriodUpdate`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpoQuotingPeriodUpdateFields {
    /// The number of the stock for the day; 0 if the message is not about a single stock.
    pub stock_locate: StockLocate,
    /// Internal to the exchange, not unique.
    pub tracking_number: TrackingNumber,
    /// Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    pub timestamp: NanosSinceMidnight,
    /// Symbol.
    pub stock: Symbol,
    /// Expected release in whole seconds since midnight; absent (0) when cancelled.
    pub release_time: Maybe<SecondsSinceMidnight>,
    /// Whether the release stands.
    pub release_qualifier: ReleaseQualifier,
    /// Offering price; absent (0) when cancelled.
    pub ipo_price: Maybe<Price4>,
}

impl IpoQuotingPeriodUpdateFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 28] {
        let mut bytes = [0; 28];
        bytes[0] = IpoQuotingPeriodUpdate::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.tracking_number));
        codec::put::<5, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        codec::put::<11, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock));
        codec::put::<19, _, _>(&mut bytes, WireValue::to_be_bytes(self.release_time));
        codec::put::<23, _, _>(&mut bytes, WireValue::to_be_bytes(self.release_qualifier));
        codec::put::<24, _, _>(&mut bytes, WireValue::to_be_bytes(self.ipo_price));
        bytes
    }
}

/// `J` LULD Auction Collar. Price range of the auction that ends a volatility pause.
///
/// 35 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LuldAuctionCollar<'a>(&'a [u8; 35]);

impl<'a> LuldAuctionCollar<'a> {
    /// Type byte.
    pub const TAG: u8 = b'J';
    /// Bytes in all.
    pub const LEN: usize = 35;
    /// Name in the specification.
    pub const NAME: &'static str = "LULD Auction Collar";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'J')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 35]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 35] {
        self.0
    }

    /// Bytes 1..3. The number of the stock for the day; 0 if the message is not about a single
    /// stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.0))
    }

    /// Bytes 3..5. Internal to the exchange, not unique.
    #[inline]
    pub fn tracking_number(self) -> TrackingNumber {
        WireValue::from_be_bytes(*codec::field::<3, 2, _>(self.0))
    }

    /// Bytes 5..11. Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<5, 6, _>(self.0))
    }

    /// Bytes 11..19. Symbol.
    #[inline]
    pub fn stock(self) -> Symbol {
        WireValue::from_be_bytes(*codec::field::<11, 8, _>(self.0))
    }

    /// Bytes 19..23. Reference price of the collar.
    #[inline]
    pub fn reference_price(self) -> Price4 {
        WireValue::from_be_bytes(*codec::field::<19, 4, _>(self.0))
    }

    /// Bytes 23..27. Upper end of the collar.
    #[inline]
    pub fn upper_price(self) -> Price4 {
        WireValue::from_be_bytes(*codec::field::<23, 4, _>(self.0))
    }

    /// Bytes 27..31. Lower end of the collar.
    #[inline]
    pub fn lower_price(self) -> Price4 {
        WireValue::from_be_bytes(*codec::field::<27, 4, _>(self.0))
    }

    /// Bytes 31..35. How many times the auction has been extended.
    #[inline]
    pub fn extension(self) -> u32 {
        WireValue::from_be_bytes(*codec::field::<31, 4, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> LuldAuctionCollarFields {
        LuldAuctionCollarFields {
            stock_locate: self.stock_locate(),
            tracking_number: self.tracking_number(),
            timestamp: self.timestamp(),
            stock: self.stock(),
            reference_price: self.reference_price(),
            upper_price: self.upper_price(),
            lower_price: self.lower_price(),
            extension: self.extension(),
        }
    }
}

impl fmt::Debug for LuldAuctionCollar<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for LuldAuctionCollar<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "LuldAuctionCollar"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "tracking_number", Value::Integer(self.tracking_number().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))?;
        V::field(visitor, "stock", Value::Text(codec::field::<11, 8, _>(self.0)))?;
        V::field(visitor, "reference_price", Value::Price4(self.reference_price()))?;
        V::field(visitor, "upper_price", Value::Price4(self.upper_price()))?;
        V::field(visitor, "lower_price", Value::Price4(self.lower_price()))?;
        V::field(visitor, "extension", Value::Integer(self.extension().into()))
    }
}

/// The fields of [`LuldAuctionCollar`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LuldAuctionCollarFields {
    /// The number of the stock for the day; 0 if the message is not about a single stock.
    pub stock_locate: StockLocate,
    /// Internal to the exchange, not unique.
    pub tracking_number: TrackingNumber,
    /// Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    pub timestamp: NanosSinceMidnight,
    /// Symbol.
    pub stock: Symbol,
    /// Reference price of the collar.
    pub reference_price: Price4,
    /// Upper end of the collar.
    pub upper_price: Price4,
    /// Lower end of the collar.
    pub lower_price: Price4,
    /// How many times the auction has been extended.
    pub extension: u32,
}

impl LuldAuctionCollarFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 35] {
        let mut bytes = [0; 35];
        bytes[0] = LuldAuctionCollar::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.tracking_number));
        codec::put::<5, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        codec::put::<11, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock));
        codec::put::<19, _, _>(&mut bytes, WireValue::to_be_bytes(self.reference_price));
        codec::put::<23, _, _>(&mut bytes, WireValue::to_be_bytes(self.upper_price));
        codec::put::<27, _, _>(&mut bytes, WireValue::to_be_bytes(self.lower_price));
        codec::put::<31, _, _>(&mut bytes, WireValue::to_be_bytes(self.extension));
        bytes
    }
}

/// `h` Operational Halt. One market centre stopped or resumed a stock. The trading state on other
/// markets does not change.
///
/// 21 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OperationalHalt<'a>(&'a [u8; 21]);

impl<'a> OperationalHalt<'a> {
    /// Type byte.
    pub const TAG: u8 = b'h';
    /// Bytes in all.
    pub const LEN: usize = 21;
    /// Name in the specification.
    pub const NAME: &'static str = "Operational Halt";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'h')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 21]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 21] {
        self.0
    }

    /// Bytes 1..3. The number of the stock for the day; 0 if the message is not about a single
    /// stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.0))
    }

    /// Bytes 3..5. Internal to the exchange, not unique.
    #[inline]
    pub fn tracking_number(self) -> TrackingNumber {
        WireValue::from_be_bytes(*codec::field::<3, 2, _>(self.0))
    }

    /// Bytes 5..11. Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<5, 6, _>(self.0))
    }

    /// Bytes 11..19. Symbol.
    #[inline]
    pub fn stock(self) -> Symbol {
        WireValue::from_be_bytes(*codec::field::<11, 8, _>(self.0))
    }

    /// Byte 19. Market centre.
    #[inline]
    pub fn market_code(self) -> MarketCode {
        WireValue::from_be_bytes(*codec::field::<19, 1, _>(self.0))
    }

    /// Byte 20. Stopped or resumed.
    #[inline]
    pub fn halt_action(self) -> HaltAction {
        WireValue::from_be_bytes(*codec::field::<20, 1, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> OperationalHaltFields {
        OperationalHaltFields {
            stock_locate: self.stock_locate(),
            tracking_number: self.tracking_number(),
            timestamp: self.timestamp(),
            stock: self.stock(),
            market_code: self.market_code(),
            halt_action: self.halt_action(),
        }
    }
}

impl fmt::Debug for OperationalHalt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for OperationalHalt<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "OperationalHalt"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "tracking_number", Value::Integer(self.tracking_number().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))?;
        V::field(visitor, "stock", Value::Text(codec::field::<11, 8, _>(self.0)))?;
        V::field(visitor, "market_code", self.market_code().value())?;
        V::field(visitor, "halt_action", self.halt_action().value())
    }
}

/// The fields of [`OperationalHalt`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperationalHaltFields {
    /// The number of the stock for the day; 0 if the message is not about a single stock.
    pub stock_locate: StockLocate,
    /// Internal to the exchange, not unique.
    pub tracking_number: TrackingNumber,
    /// Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    pub timestamp: NanosSinceMidnight,
    /// Symbol.
    pub stock: Symbol,
    /// Market centre.
    pub market_code: MarketCode,
    /// Stopped or resumed.
    pub halt_action: HaltAction,
}

impl OperationalHaltFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 21] {
        let mut bytes = [0; 21];
        bytes[0] = OperationalHalt::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.tracking_number));
        codec::put::<5, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        codec::put::<11, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock));
        codec::put::<19, _, _>(&mut bytes, WireValue::to_be_bytes(self.market_code));
        codec::put::<20, _, _>(&mut bytes, WireValue::to_be_bytes(self.halt_action));
        bytes
    }
}

/// `A` Add Order. A displayed order enters the book at the end of its price level, without
/// attribution.
///
/// 36 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AddOrder<'a>(&'a [u8; 36]);

impl<'a> AddOrder<'a> {
    /// Type byte.
    pub const TAG: u8 = b'A';
    /// Bytes in all.
    pub const LEN: usize = 36;
    /// Name in the specification.
    pub const NAME: &'static str = "Add Order";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'A')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 36]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 36] {
        self.0
    }

    /// Bytes 1..3. The number of the stock for the day; 0 if the message is not about a single
    /// stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.0))
    }

    /// Bytes 3..5. Internal to the exchange, not unique.
    #[inline]
    pub fn tracking_number(self) -> TrackingNumber {
        WireValue::from_be_bytes(*codec::field::<3, 2, _>(self.0))
    }

    /// Bytes 5..11. Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<5, 6, _>(self.0))
    }

    /// Bytes 11..19. Identifies the order; unique for the day.
    #[inline]
    pub fn order_reference_number(self) -> OrderReferenceNumber {
        WireValue::from_be_bytes(*codec::field::<11, 8, _>(self.0))
    }

    /// Byte 19. Side.
    #[inline]
    pub fn buy_sell_indicator(self) -> BuySellIndicator {
        WireValue::from_be_bytes(*codec::field::<19, 1, _>(self.0))
    }

    /// Bytes 20..24. Displayed shares, at least one.
    #[inline]
    pub fn shares(self) -> Shares {
        WireValue::from_be_bytes(*codec::field::<20, 4, _>(self.0))
    }

    /// Bytes 24..32. Symbol.
    #[inline]
    pub fn stock(self) -> Symbol {
        WireValue::from_be_bytes(*codec::field::<24, 8, _>(self.0))
    }

    /// Bytes 32..36. Display price.
    #[inline]
    pub fn price(self) -> Price4 {
        WireValue::from_be_bytes(*codec::field::<32, 4, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> AddOrderFields {
        AddOrderFields {
            stock_locate: self.stock_locate(),
            tracking_number: self.tracking_number(),
            timestamp: self.timestamp(),
            order_reference_number: self.order_reference_number(),
            buy_sell_indicator: self.buy_sell_indicator(),
            shares: self.shares(),
            stock: self.stock(),
            price: self.price(),
        }
    }
}

impl fmt::Debug for AddOrder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for AddOrder<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "AddOrder"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "tracking_number", Value::Integer(self.tracking_number().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))?;
        V::field(
            visitor,
            "order_reference_number",
            Value::Integer(self.order_reference_number().get()),
        )?;
        V::field(visitor, "buy_sell_indicator", self.buy_sell_indicator().value())?;
        V::field(visitor, "shares", Value::Integer(self.shares().get().into()))?;
        V::field(visitor, "stock", Value::Text(codec::field::<24, 8, _>(self.0)))?;
        V::field(visitor, "price", Value::Price4(self.price()))
    }
}

/// The fields of [`AddOrder`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddOrderFields {
    /// The number of the stock for the day; 0 if the message is not about a single stock.
    pub stock_locate: StockLocate,
    /// Internal to the exchange, not unique.
    pub tracking_number: TrackingNumber,
    /// Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    pub timestamp: NanosSinceMidnight,
    /// Identifies the order; unique for the day.
    pub order_reference_number: OrderReferenceNumber,
    /// Side.
    pub buy_sell_indicator: BuySellIndicator,
    /// Displayed shares, at least one.
    pub shares: Shares,
    /// Symbol.
    pub stock: Symbol,
    /// Display price.
    pub price: Price4,
}

impl AddOrderFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 36] {
        let mut bytes = [0; 36];
        bytes[0] = AddOrder::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.tracking_number));
        codec::put::<5, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        codec::put::<11, _, _>(&mut bytes, WireValue::to_be_bytes(self.order_reference_number));
        codec::put::<19, _, _>(&mut bytes, WireValue::to_be_bytes(self.buy_sell_indicator));
        codec::put::<20, _, _>(&mut bytes, WireValue::to_be_bytes(self.shares));
        codec::put::<24, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock));
        codec::put::<32, _, _>(&mut bytes, WireValue::to_be_bytes(self.price));
        bytes
    }
}

/// `F` Add Order with MPID Attribution. A displayed order enters the book at the end of its price
/// level, with the name of its participant.
///
/// 40 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AddOrderMpid<'a>(&'a [u8; 40]);

impl<'a> AddOrderMpid<'a> {
    /// Type byte.
    pub const TAG: u8 = b'F';
    /// Bytes in all.
    pub const LEN: usize = 40;
    /// Name in the specification.
    pub const NAME: &'static str = "Add Order with MPID Attribution";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'F')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 40]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 40] {
        self.0
    }

    /// Bytes 1..3. The number of the stock for the day; 0 if the message is not about a single
    /// stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.0))
    }

    /// Bytes 3..5. Internal to the exchange, not unique.
    #[inline]
    pub fn tracking_number(self) -> TrackingNumber {
        WireValue::from_be_bytes(*codec::field::<3, 2, _>(self.0))
    }

    /// Bytes 5..11. Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<5, 6, _>(self.0))
    }

    /// Bytes 11..19. Identifies the order; unique for the day.
    #[inline]
    pub fn order_reference_number(self) -> OrderReferenceNumber {
        WireValue::from_be_bytes(*codec::field::<11, 8, _>(self.0))
    }

    /// Byte 19. Side.
    #[inline]
    pub fn buy_sell_indicator(self) -> BuySellIndicator {
        WireValue::from_be_bytes(*codec::field::<19, 1, _>(self.0))
    }

    /// Bytes 20..24. Displayed shares, at least one.
    #[inline]
    pub fn shares(self) -> Shares {
        WireValue::from_be_bytes(*codec::field::<20, 4, _>(self.0))
    }

    /// Bytes 24..32. Symbol.
    #[inline]
    pub fn stock(self) -> Symbol {
        WireValue::from_be_bytes(*codec::field::<24, 8, _>(self.0))
    }

    /// Bytes 32..36. Display price.
    #[inline]
    pub fn price(self) -> Price4 {
        WireValue::from_be_bytes(*codec::field::<32, 4, _>(self.0))
    }

    /// Bytes 36..40. Participant of the order.
    #[inline]
    pub fn attribution(self) -> Mpid {
        WireValue::from_be_bytes(*codec::field::<36, 4, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> AddOrderMpidFields {
        AddOrderMpidFields {
            stock_locate: self.stock_locate(),
            tracking_number: self.tracking_number(),
            timestamp: self.timestamp(),
            order_reference_number: self.order_reference_number(),
            buy_sell_indicator: self.buy_sell_indicator(),
            shares: self.shares(),
            stock: self.stock(),
            price: self.price(),
            attribution: self.attribution(),
        }
    }
}

impl fmt::Debug for AddOrderMpid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for AddOrderMpid<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "AddOrderMpid"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "tracking_number", Value::Integer(self.tracking_number().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))?;
        V::field(
            visitor,
            "order_reference_number",
            Value::Integer(self.order_reference_number().get()),
        )?;
        V::field(visitor, "buy_sell_indicator", self.buy_sell_indicator().value())?;
        V::field(visitor, "shares", Value::Integer(self.shares().get().into()))?;
        V::field(visitor, "stock", Value::Text(codec::field::<24, 8, _>(self.0)))?;
        V::field(visitor, "price", Value::Price4(self.price()))?;
        V::field(visitor, "attribution", Value::Text(codec::field::<36, 4, _>(self.0)))
    }
}

/// The fields of [`AddOrderMpid`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddOrderMpidFields {
    /// The number of the stock for the day; 0 if the message is not about a single stock.
    pub stock_locate: StockLocate,
    /// Internal to the exchange, not unique.
    pub tracking_number: TrackingNumber,
    /// Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    pub timestamp: NanosSinceMidnight,
    /// Identifies the order; unique for the day.
    pub order_reference_number: OrderReferenceNumber,
    /// Side.
    pub buy_sell_indicator: BuySellIndicator,
    /// Displayed shares, at least one.
    pub shares: Shares,
    /// Symbol.
    pub stock: Symbol,
    /// Display price.
    pub price: Price4,
    /// Participant of the order.
    pub attribution: Mpid,
}

impl AddOrderMpidFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 40] {
        let mut bytes = [0; 40];
        bytes[0] = AddOrderMpid::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.tracking_number));
        codec::put::<5, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        codec::put::<11, _, _>(&mut bytes, WireValue::to_be_bytes(self.order_reference_number));
        codec::put::<19, _, _>(&mut bytes, WireValue::to_be_bytes(self.buy_sell_indicator));
        codec::put::<20, _, _>(&mut bytes, WireValue::to_be_bytes(self.shares));
        codec::put::<24, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock));
        codec::put::<32, _, _>(&mut bytes, WireValue::to_be_bytes(self.price));
        codec::put::<36, _, _>(&mut bytes, WireValue::to_be_bytes(self.attribution));
        bytes
    }
}

/// `E` Order Executed. Shares of a displayed order traded at the order's own price. The order
/// leaves the book when no shares remain; no delete follows.
///
/// 31 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OrderExecuted<'a>(&'a [u8; 31]);

impl<'a> OrderExecuted<'a> {
    /// Type byte.
    pub const TAG: u8 = b'E';
    /// Bytes in all.
    pub const LEN: usize = 31;
    /// Name in the specification.
    pub const NAME: &'static str = "Order Executed";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'E')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 31]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 31] {
        self.0
    }

    /// Bytes 1..3. The number of the stock for the day; 0 if the message is not about a single
    /// stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.0))
    }

    /// Bytes 3..5. Internal to the exchange, not unique.
    #[inline]
    pub fn tracking_number(self) -> TrackingNumber {
        WireValue::from_be_bytes(*codec::field::<3, 2, _>(self.0))
    }

    /// Bytes 5..11. Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<5, 6, _>(self.0))
    }

    /// Bytes 11..19. The order that was executed.
    #[inline]
    pub fn order_reference_number(self) -> OrderReferenceNumber {
        WireValue::from_be_bytes(*codec::field::<11, 8, _>(self.0))
    }

    /// Bytes 19..23. Shares to remove from the order.
    #[inline]
    pub fn executed_shares(self) -> Shares {
        WireValue::from_be_bytes(*codec::field::<19, 4, _>(self.0))
    }

    /// Bytes 23..31. Identifies the execution; unique for the day.
    #[inline]
    pub fn match_number(self) -> MatchNumber {
        WireValue::from_be_bytes(*codec::field::<23, 8, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> OrderExecutedFields {
        OrderExecutedFields {
            stock_locate: self.stock_locate(),
            tracking_number: self.tracking_number(),
            timestamp: self.timestamp(),
            order_reference_number: self.order_reference_number(),
            executed_shares: self.executed_shares(),
            match_number: self.match_number(),
        }
    }
}

impl fmt::Debug for OrderExecuted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for OrderExecuted<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "OrderExecuted"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "tracking_number", Value::Integer(self.tracking_number().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))?;
        V::field(
            visitor,
            "order_reference_number",
            Value::Integer(self.order_reference_number().get()),
        )?;
        V::field(visitor, "executed_shares", Value::Integer(self.executed_shares().get().into()))?;
        V::field(visitor, "match_number", Value::Integer(self.match_number().get()))
    }
}

/// The fields of [`OrderExecuted`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OrderExecutedFields {
    /// The number of the stock for the day; 0 if the message is not about a single stock.
    pub stock_locate: StockLocate,
    /// Internal to the exchange, not unique.
    pub tracking_number: TrackingNumber,
    /// Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    pub timestamp: NanosSinceMidnight,
    /// The order that was executed.
    pub order_reference_number: OrderReferenceNumber,
    /// Shares to remove from the order.
    pub executed_shares: Shares,
    /// Identifies the execution; unique for the day.
    pub match_number: MatchNumber,
}

impl OrderExecutedFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 31] {
        let mut bytes = [0; 31];
        bytes[0] = OrderExecuted::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.tracking_number));
        codec::put::<5, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        codec::put::<11, _, _>(&mut bytes, WireValue::to_be_bytes(self.order_reference_number));
        codec::put::<19, _, _>(&mut bytes, WireValue::to_be_bytes(self.executed_shares));
        codec::put::<23, _, _>(&mut bytes, WireValue::to_be_bytes(self.match_number));
        bytes
    }
}

/// `C` Order Executed with Price. Shares of a displayed order traded at a price that may differ
/// from the order's own price. The level of the order's own price loses the shares.
///
/// 36 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OrderExecutedWithPrice<'a>(&'a [u8; 36]);

impl<'a> OrderExecutedWithPrice<'a> {
    /// Type byte.
    pub const TAG: u8 = b'C';
    /// Bytes in all.
    pub const LEN: usize = 36;
    /// Name in the specification.
    pub const NAME: &'static str = "Order Executed with Price";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'C')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 36]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 36] {
        self.0
    }

    /// Bytes 1..3. The number of the stock for the day; 0 if the message is not about a single
    /// stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.0))
    }

    /// Bytes 3..5. Internal to the exchange, not unique.
    #[inline]
    pub fn tracking_number(self) -> TrackingNumber {
        WireValue::from_be_bytes(*codec::field::<3, 2, _>(self.0))
    }

    /// Bytes 5..11. Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<5, 6, _>(self.0))
    }

    /// Bytes 11..19. The order that was executed.
    #[inline]
    pub fn order_reference_number(self) -> OrderReferenceNumber {
        WireValue::from_be_bytes(*codec::field::<11, 8, _>(self.0))
    }

    /// Bytes 19..23. Shares to remove from the order.
    #[inline]
    pub fn executed_shares(self) -> Shares {
        WireValue::from_be_bytes(*codec::field::<19, 4, _>(self.0))
    }

    /// Bytes 23..31. Identifies the execution; unique for the day.
    #[inline]
    pub fn match_number(self) -> MatchNumber {
        WireValue::from_be_bytes(*codec::field::<23, 8, _>(self.0))
    }

    /// Byte 31. Whether the execution counts as volume; if not, a later cross trade includes it.
    #[inline]
    pub fn printable(self) -> YesNo {
        WireValue::from_be_bytes(*codec::field::<31, 1, _>(self.0))
    }

    /// Bytes 32..36. Price of the trade.
    #[inline]
    pub fn execution_price(self) -> Price4 {
        WireValue::from_be_bytes(*codec::field::<32, 4, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> OrderExecutedWithPriceFields {
        OrderExecutedWithPriceFields {
            stock_locate: self.stock_locate(),
            tracking_number: self.tracking_number(),
            timestamp: self.timestamp(),
            order_reference_number: self.order_reference_number(),
            executed_shares: self.executed_shares(),
            match_number: self.match_number(),
            printable: self.printable(),
            execution_price: self.execution_price(),
        }
    }
}

impl fmt::Debug for OrderExecutedWithPrice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for OrderExecutedWithPrice<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "OrderExecutedWithPrice"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "tracking_number", Value::Integer(self.tracking_number().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))?;
        V::field(
            visitor,
            "order_reference_number",
            Value::Integer(self.order_reference_number().get()),
        )?;
        V::field(visitor, "executed_shares", Value::Integer(self.executed_shares().get().into()))?;
        V::field(visitor, "match_number", Value::Integer(self.match_number().get()))?;
        V::field(visitor, "printable", self.printable().value())?;
        V::field(visitor, "execution_price", Value::Price4(self.execution_price()))
    }
}

/// The fields of [`OrderExecutedWithPrice`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OrderExecutedWithPriceFields {
    /// The number of the stock for the day; 0 if the message is not about a single stock.
    pub stock_locate: StockLocate,
    /// Internal to the exchange, not unique.
    pub tracking_number: TrackingNumber,
    /// Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    pub timestamp: NanosSinceMidnight,
    /// The order that was executed.
    pub order_reference_number: OrderReferenceNumber,
    /// Shares to remove from the order.
    pub executed_shares: Shares,
    /// Identifies the execution; unique for the day.
    pub match_number: MatchNumber,
    /// Whether the execution counts as volume; if not, a later cross trade includes it.
    pub printable: YesNo,
    /// Price of the trade.
    pub execution_price: Price4,
}

impl OrderExecutedWithPriceFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 36] {
        let mut bytes = [0; 36];
        bytes[0] = OrderExecutedWithPrice::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.tracking_number));
        codec::put::<5, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        codec::put::<11, _, _>(&mut bytes, WireValue::to_be_bytes(self.order_reference_number));
        codec::put::<19, _, _>(&mut bytes, WireValue::to_be_bytes(self.executed_shares));
        codec::put::<23, _, _>(&mut bytes, WireValue::to_be_bytes(self.match_number));
        codec::put::<31, _, _>(&mut bytes, WireValue::to_be_bytes(self.printable));
        codec::put::<32, _, _>(&mut bytes, WireValue::to_be_bytes(self.execution_price));
        bytes
    }
}

/// `X` Order Cancel. A displayed order lost some of its shares and keeps price and queue position.
///
/// 23 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OrderCancel<'a>(&'a [u8; 23]);

impl<'a> OrderCancel<'a> {
    /// Type byte.
    pub const TAG: u8 = b'X';
    /// Bytes in all.
    pub const LEN: usize = 23;
    /// Name in the specification.
    pub const NAME: &'static str = "Order Cancel";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'X')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 23]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 23] {
        self.0
    }

    /// Bytes 1..3. The number of the stock for the day; 0 if the message is not about a single
    /// stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.0))
    }

    /// Bytes 3..5. Internal to the exchange, not unique.
    #[inline]
    pub fn tracking_number(self) -> TrackingNumber {
        WireValue::from_be_bytes(*codec::field::<3, 2, _>(self.0))
    }

    /// Bytes 5..11. Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<5, 6, _>(self.0))
    }

    /// Bytes 11..19. The order.
    #[inline]
    pub fn order_reference_number(self) -> OrderReferenceNumber {
        WireValue::from_be_bytes(*codec::field::<11, 8, _>(self.0))
    }

    /// Bytes 19..23. Shares to remove from the order.
    #[inline]
    pub fn cancelled_shares(self) -> Shares {
        WireValue::from_be_bytes(*codec::field::<19, 4, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> OrderCancelFields {
        OrderCancelFields {
            stock_locate: self.stock_locate(),
            tracking_number: self.tracking_number(),
            timestamp: self.timestamp(),
            order_reference_number: self.order_reference_number(),
            cancelled_shares: self.cancelled_shares(),
        }
    }
}

impl fmt::Debug for OrderCancel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for OrderCancel<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "OrderCancel"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "tracking_number", Value::Integer(self.tracking_number().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))?;
        V::field(
            visitor,
            "order_reference_number",
            Value::Integer(self.order_reference_number().get()),
        )?;
        V::field(visitor, "cancelled_shares", Value::Integer(self.cancelled_shares().get().into()))
    }
}

/// The fields of [`OrderCancel`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OrderCancelFields {
    /// The number of the stock for the day; 0 if the message is not about a single stock.
    pub stock_locate: StockLocate,
    /// Internal to the exchange, not unique.
    pub tracking_number: TrackingNumber,
    /// Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    pub timestamp: NanosSinceMidnight,
    /// The order.
    pub order_reference_number: OrderReferenceNumber,
    /// Shares to remove from the order.
    pub cancelled_shares: Shares,
}

impl OrderCancelFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 23] {
        let mut bytes = [0; 23];
        bytes[0] = OrderCancel::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.tracking_number));
        codec::put::<5, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        codec::put::<11, _, _>(&mut bytes, WireValue::to_be_bytes(self.order_reference_number));
        codec::put::<19, _, _>(&mut bytes, WireValue::to_be_bytes(self.cancelled_shares));
        bytes
    }
}

/// `D` Order Delete. A displayed order left the book with all remaining shares.
///
/// 19 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OrderDelete<'a>(&'a [u8; 19]);

impl<'a> OrderDelete<'a> {
    /// Type byte.
    pub const TAG: u8 = b'D';
    /// Bytes in all.
    pub const LEN: usize = 19;
    /// Name in the specification.
    pub const NAME: &'static str = "Order Delete";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'D')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 19]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 19] {
        self.0
    }

    /// Bytes 1..3. The number of the stock for the day; 0 if the message is not about a single
    /// stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.0))
    }

    /// Bytes 3..5. Internal to the exchange, not unique.
    #[inline]
    pub fn tracking_number(self) -> TrackingNumber {
        WireValue::from_be_bytes(*codec::field::<3, 2, _>(self.0))
    }

    /// Bytes 5..11. Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<5, 6, _>(self.0))
    }

    /// Bytes 11..19. The order.
    #[inline]
    pub fn order_reference_number(self) -> OrderReferenceNumber {
        WireValue::from_be_bytes(*codec::field::<11, 8, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> OrderDeleteFields {
        OrderDeleteFields {
            stock_locate: self.stock_locate(),
            tracking_number: self.tracking_number(),
            timestamp: self.timestamp(),
            order_reference_number: self.order_reference_number(),
        }
    }
}

impl fmt::Debug for OrderDelete<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for OrderDelete<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "OrderDelete"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "tracking_number", Value::Integer(self.tracking_number().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))?;
        V::field(
            visitor,
            "order_reference_number",
            Value::Integer(self.order_reference_number().get()),
        )
    }
}

/// The fields of [`OrderDelete`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OrderDeleteFields {
    /// The number of the stock for the day; 0 if the message is not about a single stock.
    pub stock_locate: StockLocate,
    /// Internal to the exchange, not unique.
    pub tracking_number: TrackingNumber,
    /// Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    pub timestamp: NanosSinceMidnight,
    /// The order.
    pub order_reference_number: OrderReferenceNumber,
}

impl OrderDeleteFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 19] {
        let mut bytes = [0; 19];
        bytes[0] = OrderDelete::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.tracking_number));
        codec::put::<5, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        codec::put::<11, _, _>(&mut bytes, WireValue::to_be_bytes(self.order_reference_number));
        bytes
    }
}

/// `U` Order Replace. A displayed order left, and another order of the same side and stock entered
/// at the end of its level.
///
/// 35 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct OrderReplace<'a>(&'a [u8; 35]);

impl<'a> OrderReplace<'a> {
    /// Type byte.
    pub const TAG: u8 = b'U';
    /// Bytes in all.
    pub const LEN: usize = 35;
    /// Name in the specification.
    pub const NAME: &'static str = "Order Replace";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'U')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 35]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 35] {
        self.0
    }

    /// Bytes 1..3. The number of the stock for the day; 0 if the message is not about a single
    /// stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.0))
    }

    /// Bytes 3..5. Internal to the exchange, not unique.
    #[inline]
    pub fn tracking_number(self) -> TrackingNumber {
        WireValue::from_be_bytes(*codec::field::<3, 2, _>(self.0))
    }

    /// Bytes 5..11. Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<5, 6, _>(self.0))
    }

    /// Bytes 11..19. The order that leaves.
    #[inline]
    pub fn original_order_reference_number(self) -> OrderReferenceNumber {
        WireValue::from_be_bytes(*codec::field::<11, 8, _>(self.0))
    }

    /// Bytes 19..27. The order that enters; unique for the day.
    #[inline]
    pub fn new_order_reference_number(self) -> OrderReferenceNumber {
        WireValue::from_be_bytes(*codec::field::<19, 8, _>(self.0))
    }

    /// Bytes 27..31. Total displayed shares of the order that enters.
    #[inline]
    pub fn shares(self) -> Shares {
        WireValue::from_be_bytes(*codec::field::<27, 4, _>(self.0))
    }

    /// Bytes 31..35. Its display price.
    #[inline]
    pub fn price(self) -> Price4 {
        WireValue::from_be_bytes(*codec::field::<31, 4, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> OrderReplaceFields {
        OrderReplaceFields {
            stock_locate: self.stock_locate(),
            tracking_number: self.tracking_number(),
            timestamp: self.timestamp(),
            original_order_reference_number: self.original_order_reference_number(),
            new_order_reference_number: self.new_order_reference_number(),
            shares: self.shares(),
            price: self.price(),
        }
    }
}

impl fmt::Debug for OrderReplace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for OrderReplace<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "OrderReplace"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "tracking_number", Value::Integer(self.tracking_number().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))?;
        V::field(
            visitor,
            "original_order_reference_number",
            Value::Integer(self.original_order_reference_number().get()),
        )?;
        V::field(
            visitor,
            "new_order_reference_number",
            Value::Integer(self.new_order_reference_number().get()),
        )?;
        V::field(visitor, "shares", Value::Integer(self.shares().get().into()))?;
        V::field(visitor, "price", Value::Price4(self.price()))
    }
}

/// The fields of [`OrderReplace`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OrderReplaceFields {
    /// The number of the stock for the day; 0 if the message is not about a single stock.
    pub stock_locate: StockLocate,
    /// Internal to the exchange, not unique.
    pub tracking_number: TrackingNumber,
    /// Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    pub timestamp: NanosSinceMidnight,
    /// The order that leaves.
    pub original_order_reference_number: OrderReferenceNumber,
    /// The order that enters; unique for the day.
    pub new_order_reference_number: OrderReferenceNumber,
    /// Total displayed shares of the order that enters.
    pub shares: Shares,
    /// Its display price.
    pub price: Price4,
}

impl OrderReplaceFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 35] {
        let mut bytes = [0; 35];
        bytes[0] = OrderReplace::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.tracking_number));
        codec::put::<5, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        codec::put::<11, _, _>(
            &mut bytes,
            WireValue::to_be_bytes(self.original_order_reference_number),
        );
        codec::put::<19, _, _>(&mut bytes, WireValue::to_be_bytes(self.new_order_reference_number));
        codec::put::<27, _, _>(&mut bytes, WireValue::to_be_bytes(self.shares));
        codec::put::<31, _, _>(&mut bytes, WireValue::to_be_bytes(self.price));
        bytes
    }
}

/// `P` Trade (Non-Cross). A hidden order traded. The displayed book does not change.
///
/// 44 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Trade<'a>(&'a [u8; 44]);

impl<'a> Trade<'a> {
    /// Type byte.
    pub const TAG: u8 = b'P';
    /// Bytes in all.
    pub const LEN: usize = 44;
    /// Name in the specification.
    pub const NAME: &'static str = "Trade (Non-Cross)";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'P')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 44]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 44] {
        self.0
    }

    /// Bytes 1..3. The number of the stock for the day; 0 if the message is not about a single
    /// stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.0))
    }

    /// Bytes 3..5. Internal to the exchange, not unique.
    #[inline]
    pub fn tracking_number(self) -> TrackingNumber {
        WireValue::from_be_bytes(*codec::field::<3, 2, _>(self.0))
    }

    /// Bytes 5..11. Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<5, 6, _>(self.0))
    }

    /// Bytes 11..19. The hidden order; absent (0) since 2010-12-06.
    #[inline]
    pub fn order_reference_number(self) -> Maybe<OrderReferenceNumber> {
        WireValue::from_be_bytes(*codec::field::<11, 8, _>(self.0))
    }

    /// Byte 19. Unused: always buy since 2014-07-14.
    #[inline]
    pub fn buy_sell_indicator(self) -> BuySellIndicator {
        WireValue::from_be_bytes(*codec::field::<19, 1, _>(self.0))
    }

    /// Bytes 20..24. Shares traded.
    #[inline]
    pub fn shares(self) -> Shares {
        WireValue::from_be_bytes(*codec::field::<20, 4, _>(self.0))
    }

    /// Bytes 24..32. Symbol.
    #[inline]
    pub fn stock(self) -> Symbol {
        WireValue::from_be_bytes(*codec::field::<24, 8, _>(self.0))
    }

    /// Bytes 32..36. Price of the trade.
    #[inline]
    pub fn price(self) -> Price4 {
        WireValue::from_be_bytes(*codec::field::<32, 4, _>(self.0))
    }

    /// Bytes 36..44. Identifies the trade; unique for the day.
    #[inline]
    pub fn match_number(self) -> MatchNumber {
        WireValue::from_be_bytes(*codec::field::<36, 8, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> TradeFields {
        TradeFields {
            stock_locate: self.stock_locate(),
            tracking_number: self.tracking_number(),
            timestamp: self.timestamp(),
            order_reference_number: self.order_reference_number(),
            buy_sell_indicator: self.buy_sell_indicator(),
            shares: self.shares(),
            stock: self.stock(),
            price: self.price(),
            match_number: self.match_number(),
        }
    }
}

impl fmt::Debug for Trade<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for Trade<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "Trade"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "tracking_number", Value::Integer(self.tracking_number().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))?;
        V::field(
            visitor,
            "order_reference_number",
            self.order_reference_number().map(|n| Value::Integer(n.get())).unwrap_or(Value::Absent),
        )?;
        V::field(visitor, "buy_sell_indicator", self.buy_sell_indicator().value())?;
        V::field(visitor, "shares", Value::Integer(self.shares().get().into()))?;
        V::field(visitor, "stock", Value::Text(codec::field::<24, 8, _>(self.0)))?;
        V::field(visitor, "price", Value::Price4(self.price()))?;
        V::field(visitor, "match_number", Value::Integer(self.match_number().get()))
    }
}

/// The fields of [`Trade`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TradeFields {
    /// The number of the stock for the day; 0 if the message is not about a single stock.
    pub stock_locate: StockLocate,
    /// Internal to the exchange, not unique.
    pub tracking_number: TrackingNumber,
    /// Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    pub timestamp: NanosSinceMidnight,
    /// The hidden order; absent (0) since 2010-12-06.
    pub order_reference_number: Maybe<OrderReferenceNumber>,
    /// Unused: always buy since 2014-07-14.
    pub buy_sell_indicator: BuySellIndicator,
    /// Shares traded.
    pub shares: Shares,
    /// Symbol.
    pub stock: Symbol,
    /// Price of the trade.
    pub price: Price4,
    /// Identifies the trade; unique for the day.
    pub match_number: MatchNumber,
}

impl TradeFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 44] {
        let mut bytes = [0; 44];
        bytes[0] = Trade::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.tracking_number));
        codec::put::<5, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        codec::put::<11, _, _>(&mut bytes, WireValue::to_be_bytes(self.order_reference_number));
        codec::put::<19, _, _>(&mut bytes, WireValue::to_be_bytes(self.buy_sell_indicator));
        codec::put::<20, _, _>(&mut bytes, WireValue::to_be_bytes(self.shares));
        codec::put::<24, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock));
        codec::put::<32, _, _>(&mut bytes, WireValue::to_be_bytes(self.price));
        codec::put::<36, _, _>(&mut bytes, WireValue::to_be_bytes(self.match_number));
        bytes
    }
}

/// `Q` Cross Trade. The bulk print of an auction. The displayed book does not change, because
/// earlier messages removed its orders one by one.
///
/// 40 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CrossTrade<'a>(&'a [u8; 40]);

impl<'a> CrossTrade<'a> {
    /// Type byte.
    pub const TAG: u8 = b'Q';
    /// Bytes in all.
    pub const LEN: usize = 40;
    /// Name in the specification.
    pub const NAME: &'static str = "Cross Trade";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'Q')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 40]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 40] {
        self.0
    }

    /// Bytes 1..3. The number of the stock for the day; 0 if the message is not about a single
    /// stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.0))
    }

    /// Bytes 3..5. Internal to the exchange, not unique.
    #[inline]
    pub fn tracking_number(self) -> TrackingNumber {
        WireValue::from_be_bytes(*codec::field::<3, 2, _>(self.0))
    }

    /// Bytes 5..11. Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<5, 6, _>(self.0))
    }

    /// Bytes 11..19. Shares matched in the cross; 0 means that it took place without a trade.
    #[inline]
    pub fn shares(self) -> TotalShares {
        WireValue::from_be_bytes(*codec::field::<11, 8, _>(self.0))
    }

    /// Bytes 19..27. Symbol.
    #[inline]
    pub fn stock(self) -> Symbol {
        WireValue::from_be_bytes(*codec::field::<19, 8, _>(self.0))
    }

    /// Bytes 27..31. The single price of the cross.
    #[inline]
    pub fn cross_price(self) -> Price4 {
        WireValue::from_be_bytes(*codec::field::<27, 4, _>(self.0))
    }

    /// Bytes 31..39. Identifies the cross; unique for the day.
    #[inline]
    pub fn match_number(self) -> MatchNumber {
        WireValue::from_be_bytes(*codec::field::<31, 8, _>(self.0))
    }

    /// Byte 39. The auction.
    #[inline]
    pub fn cross_type(self) -> CrossType {
        WireValue::from_be_bytes(*codec::field::<39, 1, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> CrossTradeFields {
        CrossTradeFields {
            stock_locate: self.stock_locate(),
            tracking_number: self.tracking_number(),
            timestamp: self.timestamp(),
            shares: self.shares(),
            stock: self.stock(),
            cross_price: self.cross_price(),
            match_number: self.match_number(),
            cross_type: self.cross_type(),
        }
    }
}

impl fmt::Debug for CrossTrade<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for CrossTrade<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "CrossTrade"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "tracking_number", Value::Integer(self.tracking_number().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))?;
        V::field(visitor, "shares", Value::Integer(self.shares().get()))?;
        V::field(visitor, "stock", Value::Text(codec::field::<19, 8, _>(self.0)))?;
        V::field(visitor, "cross_price", Value::Price4(self.cross_price()))?;
        V::field(visitor, "match_number", Value::Integer(self.match_number().get()))?;
        V::field(visitor, "cross_type", self.cross_type().value())
    }
}

/// The fields of [`CrossTrade`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CrossTradeFields {
    /// The number of the stock for the day; 0 if the message is not about a single stock.
    pub stock_locate: StockLocate,
    /// Internal to the exchange, not unique.
    pub tracking_number: TrackingNumber,
    /// Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    pub timestamp: NanosSinceMidnight,
    /// Shares matched in the cross; 0 means that it took place without a trade.
    pub shares: TotalShares,
    /// Symbol.
    pub stock: Symbol,
    /// The single price of the cross.
    pub cross_price: Price4,
    /// Identifies the cross; unique for the day.
    pub match_number: MatchNumber,
    /// The auction.
    pub cross_type: CrossType,
}

impl CrossTradeFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 40] {
        let mut bytes = [0; 40];
        bytes[0] = CrossTrade::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.tracking_number));
        codec::put::<5, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        codec::put::<11, _, _>(&mut bytes, WireValue::to_be_bytes(self.shares));
        codec::put::<19, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock));
        codec::put::<27, _, _>(&mut bytes, WireValue::to_be_bytes(self.cross_price));
        codec::put::<31, _, _>(&mut bytes, WireValue::to_be_bytes(self.match_number));
        codec::put::<39, _, _>(&mut bytes, WireValue::to_be_bytes(self.cross_type));
        bytes
    }
}

/// `B` Broken Trade. An earlier execution is void. It returns no shares to the book.
///
/// 19 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct BrokenTrade<'a>(&'a [u8; 19]);

impl<'a> BrokenTrade<'a> {
    /// Type byte.
    pub const TAG: u8 = b'B';
    /// Bytes in all.
    pub const LEN: usize = 19;
    /// Name in the specification.
    pub const NAME: &'static str = "Broken Trade";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'B')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 19]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 19] {
        self.0
    }

    /// Bytes 1..3. The number of the stock for the day; 0 if the message is not about a single
    /// stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.0))
    }

    /// Bytes 3..5. Internal to the exchange, not unique.
    #[inline]
    pub fn tracking_number(self) -> TrackingNumber {
        WireValue::from_be_bytes(*codec::field::<3, 2, _>(self.0))
    }

    /// Bytes 5..11. Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<5, 6, _>(self.0))
    }

    /// Bytes 11..19. The execution or trade that is void.
    #[inline]
    pub fn match_number(self) -> MatchNumber {
        WireValue::from_be_bytes(*codec::field::<11, 8, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> BrokenTradeFields {
        BrokenTradeFields {
            stock_locate: self.stock_locate(),
            tracking_number: self.tracking_number(),
            timestamp: self.timestamp(),
            match_number: self.match_number(),
        }
    }
}

impl fmt::Debug for BrokenTrade<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for BrokenTrade<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "BrokenTrade"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "tracking_number", Value::Integer(self.tracking_number().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))?;
        V::field(visitor, "match_number", Value::Integer(self.match_number().get()))
    }
}

/// The fields of [`BrokenTrade`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BrokenTradeFields {
    /// The number of the stock for the day; 0 if the message is not about a single stock.
    pub stock_locate: StockLocate,
    /// Internal to the exchange, not unique.
    pub tracking_number: TrackingNumber,
    /// Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    pub timestamp: NanosSinceMidnight,
    /// The execution or trade that is void.
    pub match_number: MatchNumber,
}

impl BrokenTradeFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 19] {
        let mut bytes = [0; 19];
        bytes[0] = BrokenTrade::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.tracking_number));
        codec::put::<5, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        codec::put::<11, _, _>(&mut bytes, WireValue::to_be_bytes(self.match_number));
        bytes
    }
}

/// `I` Net Order Imbalance Indicator. The result of an auction at the present time.
///
/// 50 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NetOrderImbalance<'a>(&'a [u8; 50]);

impl<'a> NetOrderImbalance<'a> {
    /// Type byte.
    pub const TAG: u8 = b'I';
    /// Bytes in all.
    pub const LEN: usize = 50;
    /// Name in the specification.
    pub const NAME: &'static str = "Net Order Imbalance Indicator";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'I')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 50]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 50] {
        self.0
    }

    /// Bytes 1..3. The number of the stock for the day; 0 if the message is not about a single
    /// stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.0))
    }

    /// Bytes 3..5. Internal to the exchange, not unique.
    #[inline]
    pub fn tracking_number(self) -> TrackingNumber {
        WireValue::from_be_bytes(*codec::field::<3, 2, _>(self.0))
    }

    /// Bytes 5..11. Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<5, 6, _>(self.0))
    }

    /// Bytes 11..19. Shares that match at the current reference price.
    #[inline]
    pub fn paired_shares(self) -> TotalShares {
        WireValue::from_be_bytes(*codec::field::<11, 8, _>(self.0))
    }

    /// Bytes 19..27. Shares that remain at the current reference price.
    #[inline]
    pub fn imbalance_shares(self) -> TotalShares {
        WireValue::from_be_bytes(*codec::field::<19, 8, _>(self.0))
    }

    /// Byte 27. Side of the remaining shares.
    #[inline]
    pub fn imbalance_direction(self) -> ImbalanceDirection {
        WireValue::from_be_bytes(*codec::field::<27, 1, _>(self.0))
    }

    /// Bytes 28..36. Symbol.
    #[inline]
    pub fn stock(self) -> Symbol {
        WireValue::from_be_bytes(*codec::field::<28, 8, _>(self.0))
    }

    /// Bytes 36..40. Clearing price of the auction orders alone; absent (0) when not available.
    #[inline]
    pub fn far_price(self) -> Maybe<Price4> {
        WireValue::from_be_bytes(*codec::field::<36, 4, _>(self.0))
    }

    /// Bytes 40..44. Clearing price of auction and continuous orders together; absent (0) when not
    /// available.
    #[inline]
    pub fn near_price(self) -> Maybe<Price4> {
        WireValue::from_be_bytes(*codec::field::<40, 4, _>(self.0))
    }

    /// Bytes 44..48. Reference price of the two share counts.
    #[inline]
    pub fn current_reference_price(self) -> Price4 {
        WireValue::from_be_bytes(*codec::field::<44, 4, _>(self.0))
    }

    /// Byte 48. The auction.
    #[inline]
    pub fn cross_type(self) -> CrossType {
        WireValue::from_be_bytes(*codec::field::<48, 1, _>(self.0))
    }

    /// Byte 49. Distance of the near price from the market.
    #[inline]
    pub fn price_variation(self) -> PriceVariation {
        WireValue::from_be_bytes(*codec::field::<49, 1, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> NetOrderImbalanceFields {
        NetOrderImbalanceFields {
            stock_locate: self.stock_locate(),
            tracking_number: self.tracking_number(),
            timestamp: self.timestamp(),
            paired_shares: self.paired_shares(),
            imbalance_shares: self.imbalance_shares(),
            imbalance_direction: self.imbalance_direction(),
            stock: self.stock(),
            far_price: self.far_price(),
            near_price: self.near_price(),
            current_reference_price: self.current_reference_price(),
            cross_type: self.cross_type(),
            price_variation: self.price_variation(),
        }
    }
}

impl fmt::Debug for NetOrderImbalance<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for NetOrderImbalance<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "NetOrderImbalance"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "tracking_number", Value::Integer(self.tracking_number().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))?;
        V::field(visitor, "paired_shares", Value::Integer(self.paired_shares().get()))?;
        V::field(visitor, "imbalance_shares", Value::Integer(self.imbalance_shares().get()))?;
        V::field(visitor, "imbalance_direction", self.imbalance_direction().value())?;
        V::field(visitor, "stock", Value::Text(codec::field::<28, 8, _>(self.0)))?;
        V::field(
            visitor,
            "far_price",
            self.far_price().map(Value::Price4).unwrap_or(Value::Absent),
        )?;
        V::field(
            visitor,
            "near_price",
            self.near_price().map(Value::Price4).unwrap_or(Value::Absent),
        )?;
        V::field(
            visitor,
            "current_reference_price",
            Value::Price4(self.current_reference_price()),
        )?;
        V::field(visitor, "cross_type", self.cross_type().value())?;
        V::field(visitor, "price_variation", self.price_variation().value())
    }
}

/// The fields of [`NetOrderImbalance`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NetOrderImbalanceFields {
    /// The number of the stock for the day; 0 if the message is not about a single stock.
    pub stock_locate: StockLocate,
    /// Internal to the exchange, not unique.
    pub tracking_number: TrackingNumber,
    /// Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    pub timestamp: NanosSinceMidnight,
    /// Shares that match at the current reference price.
    pub paired_shares: TotalShares,
    /// Shares that remain at the current reference price.
    pub imbalance_shares: TotalShares,
    /// Side of the remaining shares.
    pub imbalance_direction: ImbalanceDirection,
    /// Symbol.
    pub stock: Symbol,
    /// Clearing price of the auction orders alone; absent (0) when not available.
    pub far_price: Maybe<Price4>,
    /// Clearing price of auction and continuous orders together; absent (0) when not available.
    pub near_price: Maybe<Price4>,
    /// Reference price of the two share counts.
    pub current_reference_price: Price4,
    /// The auction.
    pub cross_type: CrossType,
    /// Distance of the near price from the market.
    pub price_variation: PriceVariation,
}

impl NetOrderImbalanceFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 50] {
        let mut bytes = [0; 50];
        bytes[0] = NetOrderImbalance::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.tracking_number));
        codec::put::<5, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        codec::put::<11, _, _>(&mut bytes, WireValue::to_be_bytes(self.paired_shares));
        codec::put::<19, _, _>(&mut bytes, WireValue::to_be_bytes(self.imbalance_shares));
        codec::put::<27, _, _>(&mut bytes, WireValue::to_be_bytes(self.imbalance_direction));
        codec::put::<28, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock));
        codec::put::<36, _, _>(&mut bytes, WireValue::to_be_bytes(self.far_price));
        codec::put::<40, _, _>(&mut bytes, WireValue::to_be_bytes(self.near_price));
        codec::put::<44, _, _>(&mut bytes, WireValue::to_be_bytes(self.current_reference_price));
        codec::put::<48, _, _>(&mut bytes, WireValue::to_be_bytes(self.cross_type));
        codec::put::<49, _, _>(&mut bytes, WireValue::to_be_bytes(self.price_variation));
        bytes
    }
}

/// `N` Retail Price Improvement Indicator. Whether hidden orders offer retail orders a better
/// price.
///
/// 20 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct RetailPriceImprovement<'a>(&'a [u8; 20]);

impl<'a> RetailPriceImprovement<'a> {
    /// Type byte.
    pub const TAG: u8 = b'N';
    /// Bytes in all.
    pub const LEN: usize = 20;
    /// Name in the specification.
    pub const NAME: &'static str = "Retail Price Improvement Indicator";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'N')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 20]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 20] {
        self.0
    }

    /// Bytes 1..3. The number of the stock for the day; 0 if the message is not about a single
    /// stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.0))
    }

    /// Bytes 3..5. Internal to the exchange, not unique.
    #[inline]
    pub fn tracking_number(self) -> TrackingNumber {
        WireValue::from_be_bytes(*codec::field::<3, 2, _>(self.0))
    }

    /// Bytes 5..11. Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<5, 6, _>(self.0))
    }

    /// Bytes 11..19. Symbol.
    #[inline]
    pub fn stock(self) -> Symbol {
        WireValue::from_be_bytes(*codec::field::<11, 8, _>(self.0))
    }

    /// Byte 19. Side of the hidden orders.
    #[inline]
    pub fn interest_flag(self) -> InterestFlag {
        WireValue::from_be_bytes(*codec::field::<19, 1, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> RetailPriceImprovementFields {
        RetailPriceImprovementFields {
            stock_locate: self.stock_locate(),
            tracking_number: self.tracking_number(),
            timestamp: self.timestamp(),
            stock: self.stock(),
            interest_flag: self.interest_flag(),
        }
    }
}

impl fmt::Debug for RetailPriceImprovement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for RetailPriceImprovement<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "RetailPriceImprovement"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "tracking_number", Value::Integer(self.tracking_number().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))?;
        V::field(visitor, "stock", Value::Text(codec::field::<11, 8, _>(self.0)))?;
        V::field(visitor, "interest_flag", self.interest_flag().value())
    }
}

/// The fields of [`RetailPriceImprovement`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RetailPriceImprovementFields {
    /// The number of the stock for the day; 0 if the message is not about a single stock.
    pub stock_locate: StockLocate,
    /// Internal to the exchange, not unique.
    pub tracking_number: TrackingNumber,
    /// Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    pub timestamp: NanosSinceMidnight,
    /// Symbol.
    pub stock: Symbol,
    /// Side of the hidden orders.
    pub interest_flag: InterestFlag,
}

impl RetailPriceImprovementFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 20] {
        let mut bytes = [0; 20];
        bytes[0] = RetailPriceImprovement::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.tracking_number));
        codec::put::<5, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        codec::put::<11, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock));
        codec::put::<19, _, _>(&mut bytes, WireValue::to_be_bytes(self.interest_flag));
        bytes
    }
}

/// `O` Direct Listing with Capital Raise Price Discovery. Price range and state of the auction that
/// opens a direct listing with a capital raise.
///
/// 48 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DirectListingPriceDiscovery<'a>(&'a [u8; 48]);

impl<'a> DirectListingPriceDiscovery<'a> {
    /// Type byte.
    pub const TAG: u8 = b'O';
    /// Bytes in all.
    pub const LEN: usize = 48;
    /// Name in the specification.
    pub const NAME: &'static str = "Direct Listing with Capital Raise Price Discovery";

    const SHAPE: Shape = Shape {
        name: Self::NAME,
        tag: Some((0, b'O')),
        length: Self::LEN,
        tail: None,
        length_at: None,
    };

    /// Checks length and type byte; every getter after it is infallible.
    #[inline]
    pub fn wrap(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match <&[u8; 48]>::try_from(bytes) {
            Ok(whole) if whole[0] == Self::TAG => Ok(Self(whole)),
            _ => Err(codec::refuse(&Self::SHAPE, bytes)),
        }
    }

    /// The bytes themselves.
    #[inline]
    pub const fn as_bytes(self) -> &'a [u8; 48] {
        self.0
    }

    /// Bytes 1..3. The number of the stock for the day; 0 if the message is not about a single
    /// stock.
    #[inline]
    pub fn stock_locate(self) -> StockLocate {
        WireValue::from_be_bytes(*codec::field::<1, 2, _>(self.0))
    }

    /// Bytes 3..5. Internal to the exchange, not unique.
    #[inline]
    pub fn tracking_number(self) -> TrackingNumber {
        WireValue::from_be_bytes(*codec::field::<3, 2, _>(self.0))
    }

    /// Bytes 5..11. Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    #[inline]
    pub fn timestamp(self) -> NanosSinceMidnight {
        WireValue::from_be_bytes(*codec::field::<5, 6, _>(self.0))
    }

    /// Bytes 11..19. Symbol.
    #[inline]
    pub fn stock(self) -> Symbol {
        WireValue::from_be_bytes(*codec::field::<11, 8, _>(self.0))
    }

    /// Byte 19. Whether the stock may be released for trading.
    #[inline]
    pub fn open_eligibility(self) -> YesNo {
        WireValue::from_be_bytes(*codec::field::<19, 1, _>(self.0))
    }

    /// Bytes 20..24. Lowest price at which it may open.
    #[inline]
    pub fn minimum_allowable_price(self) -> Price4 {
        WireValue::from_be_bytes(*codec::field::<20, 4, _>(self.0))
    }

    /// Bytes 24..28. Highest price at which it may open.
    #[inline]
    pub fn maximum_allowable_price(self) -> Price4 {
        WireValue::from_be_bytes(*codec::field::<24, 4, _>(self.0))
    }

    /// Bytes 28..32. Last price at which the auction was near execution.
    #[inline]
    pub fn near_execution_price(self) -> Price4 {
        WireValue::from_be_bytes(*codec::field::<28, 4, _>(self.0))
    }

    /// Bytes 32..40. Time of that price; the specification gives no unit, probably nanoseconds
    /// since midnight.
    #[inline]
    pub fn near_execution_time(self) -> u64 {
        WireValue::from_be_bytes(*codec::field::<32, 8, _>(self.0))
    }

    /// Bytes 40..44. Lower end of the auction collar.
    #[inline]
    pub fn lower_collar(self) -> Price4 {
        WireValue::from_be_bytes(*codec::field::<40, 4, _>(self.0))
    }

    /// Bytes 44..48. Upper end of the auction collar.
    #[inline]
    pub fn upper_collar(self) -> Price4 {
        WireValue::from_be_bytes(*codec::field::<44, 4, _>(self.0))
    }

    /// All fields that an encoder is given, copied out.
    #[inline]
    pub fn fields(self) -> DirectListingPriceDiscoveryFields {
        DirectListingPriceDiscoveryFields {
            stock_locate: self.stock_locate(),
            tracking_number: self.tracking_number(),
            timestamp: self.timestamp(),
            stock: self.stock(),
            open_eligibility: self.open_eligibility(),
            minimum_allowable_price: self.minimum_allowable_price(),
            maximum_allowable_price: self.maximum_allowable_price(),
            near_execution_price: self.near_execution_price(),
            near_execution_time: self.near_execution_time(),
            lower_collar: self.lower_collar(),
            upper_collar: self.upper_collar(),
        }
    }
}

impl fmt::Debug for DirectListingPriceDiscovery<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields().fmt(f)
    }
}

impl<'a> Describe<'a> for DirectListingPriceDiscovery<'a> {
    fn type_byte(self) -> Option<u8> {
        Some(Self::TAG)
    }

    fn type_name(self) -> &'static str {
        "DirectListingPriceDiscovery"
    }

    fn for_each_field<V: FieldVisitor<'a>>(self, visitor: &mut V) -> Result<(), V::Error> {
        V::field(visitor, "stock_locate", Value::Integer(self.stock_locate().get().into()))?;
        V::field(visitor, "tracking_number", Value::Integer(self.tracking_number().get().into()))?;
        V::field(visitor, "timestamp", Value::NanosSinceMidnight(self.timestamp()))?;
        V::field(visitor, "stock", Value::Text(codec::field::<11, 8, _>(self.0)))?;
        V::field(visitor, "open_eligibility", self.open_eligibility().value())?;
        V::field(
            visitor,
            "minimum_allowable_price",
            Value::Price4(self.minimum_allowable_price()),
        )?;
        V::field(
            visitor,
            "maximum_allowable_price",
            Value::Price4(self.maximum_allowable_price()),
        )?;
        V::field(visitor, "near_execution_price", Value::Price4(self.near_execution_price()))?;
        V::field(visitor, "near_execution_time", Value::Integer(self.near_execution_time()))?;
        V::field(visitor, "lower_collar", Value::Price4(self.lower_collar()))?;
        V::field(visitor, "upper_collar", Value::Price4(self.upper_collar()))
    }
}

/// The fields of [`DirectListingPriceDiscovery`], to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DirectListingPriceDiscoveryFields {
    /// The number of the stock for the day; 0 if the message is not about a single stock.
    pub stock_locate: StockLocate,
    /// Internal to the exchange, not unique.
    pub tracking_number: TrackingNumber,
    /// Time of the event: nanoseconds since midnight, US Eastern, of the trade date.
    pub timestamp: NanosSinceMidnight,
    /// Symbol.
    pub stock: Symbol,
    /// Whether the stock may be released for trading.
    pub open_eligibility: YesNo,
    /// Lowest price at which it may open.
    pub minimum_allowable_price: Price4,
    /// Highest price at which it may open.
    pub maximum_allowable_price: Price4,
    /// Last price at which the auction was near execution.
    pub near_execution_price: Price4,
    /// Time of that price; the specification gives no unit, probably nanoseconds since midnight.
    pub near_execution_time: u64,
    /// Lower end of the auction collar.
    pub lower_collar: Price4,
    /// Upper end of the auction collar.
    pub upper_collar: Price4,
}

impl DirectListingPriceDiscoveryFields {
    /// The bytes on the wire.
    #[inline]
    pub fn encode(&self) -> [u8; 48] {
        let mut bytes = [0; 48];
        bytes[0] = DirectListingPriceDiscovery::TAG;
        codec::put::<1, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock_locate));
        codec::put::<3, _, _>(&mut bytes, WireValue::to_be_bytes(self.tracking_number));
        codec::put::<5, _, _>(&mut bytes, WireValue::to_be_bytes(self.timestamp));
        codec::put::<11, _, _>(&mut bytes, WireValue::to_be_bytes(self.stock));
        codec::put::<19, _, _>(&mut bytes, WireValue::to_be_bytes(self.open_eligibility));
        codec::put::<20, _, _>(&mut bytes, WireValue::to_be_bytes(self.minimum_allowable_price));
        codec::put::<24, _, _>(&mut bytes, WireValue::to_be_bytes(self.maximum_allowable_price));
        codec::put::<28, _, _>(&mut bytes, WireValue::to_be_bytes(self.near_execution_price));
        codec::put::<32, _, _>(&mut bytes, WireValue::to_be_bytes(self.near_execution_time));
        codec::put::<40, _, _>(&mut bytes, WireValue::to_be_bytes(self.lower_collar));
        codec::put::<44, _, _>(&mut bytes, WireValue::to_be_bytes(self.upper_collar));
        bytes
    }
}

/// A flag; blank if it does not apply.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum YesNo {
    /// `Y`: Yes.
    Yes,
    /// `N`: No.
    No,
    /// ` `: Not available, or does not apply.
    Blank,
    /// An unlisted code, passed on unchanged.
    Unknown(UnknownCode),
}

impl YesNo {
    /// The listed codes.
    pub const KNOWN: [Self; 3] = [Self::Yes, Self::No, Self::Blank];

    /// The byte on the wire.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::Yes => b'Y',
            Self::No => b'N',
            Self::Blank => b' ',
            Self::Unknown(code) => code.get(),
        }
    }

    /// Name of the variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Yes => "Yes",
            Self::No => "No",
            Self::Blank => "Blank",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn value(self) -> Value<'static> {
        Value::Code(self.code(), self.name())
    }
}

impl WireValue<1> for YesNo {
    #[inline]
    fn from_be_bytes([code]: [u8; 1]) -> Self {
        match code {
            b'Y' => Self::Yes,
            b'N' => Self::No,
            b' ' => Self::Blank,
            _ => Self::Unknown(codec::unknown_code(code)),
        }
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 1] {
        [self.code()]
    }
}

/// Milestone of the trading day; a normal day has each once, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum EventCode {
    /// `O`: First message of the day.
    StartOfMessages,
    /// `S`: Order entry opens.
    StartOfSystemHours,
    /// `Q`: Regular trading opens.
    StartOfMarketHours,
    /// `M`: Regular trading has closed.
    EndOfMarketHours,
    /// `E`: Order entry has closed; deletes and breaks may still follow.
    EndOfSystemHours,
    /// `C`: Last message of the day.
    EndOfMessages,
    /// An unlisted code, passed on unchanged.
    Unknown(UnknownCode),
}

impl EventCode {
    /// The listed codes.
    pub const KNOWN: [Self; 6] = [
        Self::StartOfMessages,
        Self::StartOfSystemHours,
        Self::StartOfMarketHours,
        Self::EndOfMarketHours,
        Self::EndOfSystemHours,
        Self::EndOfMessages,
    ];

    /// The byte on the wire.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::StartOfMessages => b'O',
            Self::StartOfSystemHours => b'S',
            Self::StartOfMarketHours => b'Q',
            Self::EndOfMarketHours => b'M',
            Self::EndOfSystemHours => b'E',
            Self::EndOfMessages => b'C',
            Self::Unknown(code) => code.get(),
        }
    }

    /// Name of the variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::StartOfMessages => "StartOfMessages",
            Self::StartOfSystemHours => "StartOfSystemHours",
            Self::StartOfMarketHours => "StartOfMarketHours",
            Self::EndOfMarketHours => "EndOfMarketHours",
            Self::EndOfSystemHours => "EndOfSystemHours",
            Self::EndOfMessages => "EndOfMessages",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn value(self) -> Value<'static> {
        Value::Code(self.code(), self.name())
    }
}

impl WireValue<1> for EventCode {
    #[inline]
    fn from_be_bytes([code]: [u8; 1]) -> Self {
        match code {
            b'O' => Self::StartOfMessages,
            b'S' => Self::StartOfSystemHours,
            b'Q' => Self::StartOfMarketHours,
            b'M' => Self::EndOfMarketHours,
            b'E' => Self::EndOfSystemHours,
            b'C' => Self::EndOfMessages,
            _ => Self::Unknown(codec::unknown_code(code)),
        }
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 1] {
        [self.code()]
    }
}

/// Listing market and, for Nasdaq, its tier.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MarketCategory {
    /// `Q`: Nasdaq Global Select Market.
    NasdaqGlobalSelect,
    /// `G`: Nasdaq Global Market.
    NasdaqGlobal,
    /// `S`: Nasdaq Capital Market.
    NasdaqCapital,
    /// `N`: New York Stock Exchange.
    Nyse,
    /// `A`: NYSE American.
    NyseAmerican,
    /// `P`: NYSE Arca.
    NyseArca,
    /// `Z`: Cboe BZX.
    CboeBzx,
    /// `V`: Investors Exchange.
    Iex,
    /// `M`: NYSE Texas; since 2026.
    NyseTexas,
    /// ` `: Not available.
    NotAvailable,
    /// An unlisted code, passed on unchanged.
    Unknown(UnknownCode),
}

impl MarketCategory {
    /// The listed codes.
    pub const KNOWN: [Self; 10] = [
        Self::NasdaqGlobalSelect,
        Self::NasdaqGlobal,
        Self::NasdaqCapital,
        Self::Nyse,
        Self::NyseAmerican,
        Self::NyseArca,
        Self::CboeBzx,
        Self::Iex,
        Self::NyseTexas,
        Self::NotAvailable,
    ];

    /// The byte on the wire.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::NasdaqGlobalSelect => b'Q',
            Self::NasdaqGlobal => b'G',
            Self::NasdaqCapital => b'S',
            Self::Nyse => b'N',
            Self::NyseAmerican => b'A',
            Self::NyseArca => b'P',
            Self::CboeBzx => b'Z',
            Self::Iex => b'V',
            Self::NyseTexas => b'M',
            Self::NotAvailable => b' ',
            Self::Unknown(code) => code.get(),
        }
    }

    /// Name of the variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NasdaqGlobalSelect => "NasdaqGlobalSelect",
            Self::NasdaqGlobal => "NasdaqGlobal",
            Self::NasdaqCapital => "NasdaqCapital",
            Self::Nyse => "Nyse",
            Self::NyseAmerican => "NyseAmerican",
            Self::NyseArca => "NyseArca",
            Self::CboeBzx => "CboeBzx",
            Self::Iex => "Iex",
            Self::NyseTexas => "NyseTexas",
            Self::NotAvailable => "NotAvailable",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn value(self) -> Value<'static> {
        Value::Code(self.code(), self.name())
    }
}

impl WireValue<1> for MarketCategory {
    #[inline]
    fn from_be_bytes([code]: [u8; 1]) -> Self {
        match code {
            b'Q' => Self::NasdaqGlobalSelect,
            b'G' => Self::NasdaqGlobal,
            b'S' => Self::NasdaqCapital,
            b'N' => Self::Nyse,
            b'A' => Self::NyseAmerican,
            b'P' => Self::NyseArca,
            b'Z' => Self::CboeBzx,
            b'V' => Self::Iex,
            b'M' => Self::NyseTexas,
            b' ' => Self::NotAvailable,
            _ => Self::Unknown(codec::unknown_code(code)),
        }
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 1] {
        [self.code()]
    }
}

/// Whether the issuer of a Nasdaq-listed stock meets the listing's conditions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FinancialStatus {
    /// `N`: Compliant.
    Normal,
    /// `D`: Below a listing requirement.
    Deficient,
    /// `E`: Late with a filing.
    Delinquent,
    /// `Q`: In bankruptcy.
    Bankrupt,
    /// `S`: Listing suspended.
    Suspended,
    /// `G`: Deficient and bankrupt.
    DeficientBankrupt,
    /// `H`: Deficient and delinquent.
    DeficientDelinquent,
    /// `J`: Delinquent and bankrupt.
    DelinquentBankrupt,
    /// `K`: Deficient, delinquent and bankrupt.
    DeficientDelinquentBankrupt,
    /// `C`: Exchange-traded product whose creations or redemptions are suspended.
    CreationsSuspended,
    /// ` `: Not listed on Nasdaq.
    NotAvailable,
    /// An unlisted code, passed on unchanged.
    Unknown(UnknownCode),
}

impl FinancialStatus {
    /// The listed codes.
    pub const KNOWN: [Self; 11] = [
        Self::Normal,
        Self::Deficient,
        Self::Delinquent,
        Self::Bankrupt,
        Self::Suspended,
        Self::DeficientBankrupt,
        Self::DeficientDelinquent,
        Self::DelinquentBankrupt,
        Self::DeficientDelinquentBankrupt,
        Self::CreationsSuspended,
        Self::NotAvailable,
    ];

    /// The byte on the wire.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::Normal => b'N',
            Self::Deficient => b'D',
            Self::Delinquent => b'E',
            Self::Bankrupt => b'Q',
            Self::Suspended => b'S',
            Self::DeficientBankrupt => b'G',
            Self::DeficientDelinquent => b'H',
            Self::DelinquentBankrupt => b'J',
            Self::DeficientDelinquentBankrupt => b'K',
            Self::CreationsSuspended => b'C',
            Self::NotAvailable => b' ',
            Self::Unknown(code) => code.get(),
        }
    }

    /// Name of the variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Deficient => "Deficient",
            Self::Delinquent => "Delinquent",
            Self::Bankrupt => "Bankrupt",
            Self::Suspended => "Suspended",
            Self::DeficientBankrupt => "DeficientBankrupt",
            Self::DeficientDelinquent => "DeficientDelinquent",
            Self::DelinquentBankrupt => "DelinquentBankrupt",
            Self::DeficientDelinquentBankrupt => "DeficientDelinquentBankrupt",
            Self::CreationsSuspended => "CreationsSuspended",
            Self::NotAvailable => "NotAvailable",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn value(self) -> Value<'static> {
        Value::Code(self.code(), self.name())
    }
}

impl WireValue<1> for FinancialStatus {
    #[inline]
    fn from_be_bytes([code]: [u8; 1]) -> Self {
        match code {
            b'N' => Self::Normal,
            b'D' => Self::Deficient,
            b'E' => Self::Delinquent,
            b'Q' => Self::Bankrupt,
            b'S' => Self::Suspended,
            b'G' => Self::DeficientBankrupt,
            b'H' => Self::DeficientDelinquent,
            b'J' => Self::DelinquentBankrupt,
            b'K' => Self::DeficientDelinquentBankrupt,
            b'C' => Self::CreationsSuspended,
            b' ' => Self::NotAvailable,
            _ => Self::Unknown(codec::unknown_code(code)),
        }
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 1] {
        [self.code()]
    }
}

/// Kind of security.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IssueClassification {
    /// `A`: American depositary share.
    AmericanDepositaryShare,
    /// `B`: Bond.
    Bond,
    /// `C`: Common stock.
    CommonStock,
    /// `F`: Depositary receipt.
    DepositaryReceipt,
    /// `I`: Placed privately under rule 144A.
    Rule144A,
    /// `L`: Share of a limited partnership.
    LimitedPartnership,
    /// `N`: Notes.
    Notes,
    /// `O`: Ordinary share.
    OrdinaryShare,
    /// `P`: Preferred stock.
    PreferredStock,
    /// `Q`: Other security.
    OtherSecurities,
    /// `R`: Right.
    Right,
    /// `S`: Shares of beneficial interest.
    SharesOfBeneficialInterest,
    /// `T`: Convertible debenture.
    ConvertibleDebenture,
    /// `U`: Unit.
    Unit,
    /// `V`: Units or units of beneficial interest.
    UnitsOfBeneficialInterest,
    /// `W`: Warrant.
    Warrant,
    /// An unlisted code, passed on unchanged.
    Unknown(UnknownCode),
}

impl IssueClassification {
    /// The listed codes.
    pub const KNOWN: [Self; 16] = [
        Self::AmericanDepositaryShare,
        Self::Bond,
        Self::CommonStock,
        Self::DepositaryReceipt,
        Self::Rule144A,
        Self::LimitedPartnership,
        Self::Notes,
        Self::OrdinaryShare,
        Self::PreferredStock,
        Self::OtherSecurities,
        Self::Right,
        Self::SharesOfBeneficialInterest,
        Self::ConvertibleDebenture,
        Self::Unit,
        Self::UnitsOfBeneficialInterest,
        Self::Warrant,
    ];

    /// The byte on the wire.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::AmericanDepositaryShare => b'A',
            Self::Bond => b'B',
            Self::CommonStock => b'C',
            Self::DepositaryReceipt => b'F',
            Self::Rule144A => b'I',
            Self::LimitedPartnership => b'L',
            Self::Notes => b'N',
            Self::OrdinaryShare => b'O',
            Self::PreferredStock => b'P',
            Self::OtherSecurities => b'Q',
            Self::Right => b'R',
            Self::SharesOfBeneficialInterest => b'S',
            Self::ConvertibleDebenture => b'T',
            Self::Unit => b'U',
            Self::UnitsOfBeneficialInterest => b'V',
            Self::Warrant => b'W',
            Self::Unknown(code) => code.get(),
        }
    }

    /// Name of the variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AmericanDepositaryShare => "AmericanDepositaryShare",
            Self::Bond => "Bond",
            Self::CommonStock => "CommonStock",
            Self::DepositaryReceipt => "DepositaryReceipt",
            Self::Rule144A => "Rule144A",
            Self::LimitedPartnership => "LimitedPartnership",
            Self::Notes => "Notes",
            Self::OrdinaryShare => "OrdinaryShare",
            Self::PreferredStock => "PreferredStock",
            Self::OtherSecurities => "OtherSecurities",
            Self::Right => "Right",
            Self::SharesOfBeneficialInterest => "SharesOfBeneficialInterest",
            Self::ConvertibleDebenture => "ConvertibleDebenture",
            Self::Unit => "Unit",
            Self::UnitsOfBeneficialInterest => "UnitsOfBeneficialInterest",
            Self::Warrant => "Warrant",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn value(self) -> Value<'static> {
        Value::Code(self.code(), self.name())
    }
}

impl WireValue<1> for IssueClassification {
    #[inline]
    fn from_be_bytes([code]: [u8; 1]) -> Self {
        match code {
            b'A' => Self::AmericanDepositaryShare,
            b'B' => Self::Bond,
            b'C' => Self::CommonStock,
            b'F' => Self::DepositaryReceipt,
            b'I' => Self::Rule144A,
            b'L' => Self::LimitedPartnership,
            b'N' => Self::Notes,
            b'O' => Self::OrdinaryShare,
            b'P' => Self::PreferredStock,
            b'Q' => Self::OtherSecurities,
            b'R' => Self::Right,
            b'S' => Self::SharesOfBeneficialInterest,
            b'T' => Self::ConvertibleDebenture,
            b'U' => Self::Unit,
            b'V' => Self::UnitsOfBeneficialInterest,
            b'W' => Self::Warrant,
            _ => Self::Unknown(codec::unknown_code(code)),
        }
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 1] {
        [self.code()]
    }
}

/// Whether the symbol is real.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Authenticity {
    /// `P`: A real security.
    Production,
    /// `T`: A test symbol.
    Test,
    /// An unlisted code, passed on unchanged.
    Unknown(UnknownCode),
}

impl Authenticity {
    /// The listed codes.
    pub const KNOWN: [Self; 2] = [Self::Production, Self::Test];

    /// The byte on the wire.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::Production => b'P',
            Self::Test => b'T',
            Self::Unknown(code) => code.get(),
        }
    }

    /// Name of the variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Production => "Production",
            Self::Test => "Test",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn value(self) -> Value<'static> {
        Value::Code(self.code(), self.name())
    }
}

impl WireValue<1> for Authenticity {
    #[inline]
    fn from_be_bytes([code]: [u8; 1]) -> Self {
        match code {
            b'P' => Self::Production,
            b'T' => Self::Test,
            _ => Self::Unknown(codec::unknown_code(code)),
        }
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 1] {
        [self.code()]
    }
}

/// Whether the stock is new today through an initial public offering.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IpoFlag {
    /// `Y`: Set up for an initial public offering.
    Yes,
    /// `N`: Not a new issue.
    No,
    /// `Z`: New listing without an initial public offering; since 2026.
    NewListing,
    /// ` `: Not listed on Nasdaq.
    NotAvailable,
    /// An unlisted code, passed on unchanged.
    Unknown(UnknownCode),
}

impl IpoFlag {
    /// The listed codes.
    pub const KNOWN: [Self; 4] = [Self::Yes, Self::No, Self::NewListing, Self::NotAvailable];

    /// The byte on the wire.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::Yes => b'Y',
            Self::No => b'N',
            Self::NewListing => b'Z',
            Self::NotAvailable => b' ',
            Self::Unknown(code) => code.get(),
        }
    }

    /// Name of the variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Yes => "Yes",
            Self::No => "No",
            Self::NewListing => "NewListing",
            Self::NotAvailable => "NotAvailable",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn value(self) -> Value<'static> {
        Value::Code(self.code(), self.name())
    }
}

impl WireValue<1> for IpoFlag {
    #[inline]
    fn from_be_bytes([code]: [u8; 1]) -> Self {
        match code {
            b'Y' => Self::Yes,
            b'N' => Self::No,
            b'Z' => Self::NewListing,
            b' ' => Self::NotAvailable,
            _ => Self::Unknown(codec::unknown_code(code)),
        }
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 1] {
        [self.code()]
    }
}

/// Tier that sets the width of the limit-up limit-down price band.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LuldTier {
    /// `1`: Tier 1, the narrower band.
    Tier1,
    /// `2`: Tier 2, the wider band.
    Tier2,
    /// ` `: Not available.
    NotAvailable,
    /// An unlisted code, passed on unchanged.
    Unknown(UnknownCode),
}

impl LuldTier {
    /// The listed codes.
    pub const KNOWN: [Self; 3] = [Self::Tier1, Self::Tier2, Self::NotAvailable];

    /// The byte on the wire.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::Tier1 => b'1',
            Self::Tier2 => b'2',
            Self::NotAvailable => b' ',
            Self::Unknown(code) => code.get(),
        }
    }

    /// Name of the variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tier1 => "Tier1",
            Self::Tier2 => "Tier2",
            Self::NotAvailable => "NotAvailable",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn value(self) -> Value<'static> {
        Value::Code(self.code(), self.name())
    }
}

impl WireValue<1> for LuldTier {
    #[inline]
    fn from_be_bytes([code]: [u8; 1]) -> Self {
        match code {
            b'1' => Self::Tier1,
            b'2' => Self::Tier2,
            b' ' => Self::NotAvailable,
            _ => Self::Unknown(codec::unknown_code(code)),
        }
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 1] {
        [self.code()]
    }
}

/// Permitted activity in the stock, across all markets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TradingState {
    /// `H`: No quoting, no trading.
    Halted,
    /// `P`: Volatility pause of a Nasdaq-listed stock.
    Paused,
    /// `Q`: Orders are displayed but not matched, before the cross that reopens.
    QuotationOnly,
    /// `T`: Trading.
    Trading,
    /// An unlisted code, passed on unchanged.
    Unknown(UnknownCode),
}

impl TradingState {
    /// The listed codes.
    pub const KNOWN: [Self; 4] = [Self::Halted, Self::Paused, Self::QuotationOnly, Self::Trading];

    /// The byte on the wire.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::Halted => b'H',
            Self::Paused => b'P',
            Self::QuotationOnly => b'Q',
            Self::Trading => b'T',
            Self::Unknown(code) => code.get(),
        }
    }

    /// Name of the variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Halted => "Halted",
            Self::Paused => "Paused",
            Self::QuotationOnly => "QuotationOnly",
            Self::Trading => "Trading",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn value(self) -> Value<'static> {
        Value::Code(self.code(), self.name())
    }
}

impl WireValue<1> for TradingState {
    #[inline]
    fn from_be_bytes([code]: [u8; 1]) -> Self {
        match code {
            b'H' => Self::Halted,
            b'P' => Self::Paused,
            b'Q' => Self::QuotationOnly,
            b'T' => Self::Trading,
            _ => Self::Unknown(codec::unknown_code(code)),
        }
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 1] {
        [self.code()]
    }
}

/// Short sale price test of Regulation SHO.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RegShoAction {
    /// `0`: No test in place.
    NoPriceTest,
    /// `1`: Restricted since a fall in price today.
    RestrictionTriggered,
    /// `2`: Still restricted from the day before.
    RestrictionInEffect,
    /// An unlisted code, passed on unchanged.
    Unknown(UnknownCode),
}

impl RegShoAction {
    /// The listed codes.
    pub const KNOWN: [Self; 3] =
        [Self::NoPriceTest, Self::RestrictionTriggered, Self::RestrictionInEffect];

    /// The byte on the wire.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::NoPriceTest => b'0',
            Self::RestrictionTriggered => b'1',
            Self::RestrictionInEffect => b'2',
            Self::Unknown(code) => code.get(),
        }
    }

    /// Name of the variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoPriceTest => "NoPriceTest",
            Self::RestrictionTriggered => "RestrictionTriggered",
            Self::RestrictionInEffect => "RestrictionInEffect",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn value(self) -> Value<'static> {
        Value::Code(self.code(), self.name())
    }
}

impl WireValue<1> for RegShoAction {
    #[inline]
    fn from_be_bytes([code]: [u8; 1]) -> Self {
        match code {
            b'0' => Self::NoPriceTest,
            b'1' => Self::RestrictionTriggered,
            b'2' => Self::RestrictionInEffect,
            _ => Self::Unknown(codec::unknown_code(code)),
        }
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 1] {
        [self.code()]
    }
}

/// Mode of the market maker.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MarketMakerMode {
    /// `N`: Normal.
    Normal,
    /// `P`: Passive.
    Passive,
    /// `S`: Syndicate.
    Syndicate,
    /// `R`: Before the syndicate forms.
    PreSyndicate,
    /// `L`: Under penalty.
    Penalty,
    /// An unlisted code, passed on unchanged.
    Unknown(UnknownCode),
}

impl MarketMakerMode {
    /// The listed codes.
    pub const KNOWN: [Self; 5] =
        [Self::Normal, Self::Passive, Self::Syndicate, Self::PreSyndicate, Self::Penalty];

    /// The byte on the wire.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::Normal => b'N',
            Self::Passive => b'P',
            Self::Syndicate => b'S',
            Self::PreSyndicate => b'R',
            Self::Penalty => b'L',
            Self::Unknown(code) => code.get(),
        }
    }

    /// Name of the variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Passive => "Passive",
            Self::Syndicate => "Syndicate",
            Self::PreSyndicate => "PreSyndicate",
            Self::Penalty => "Penalty",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn value(self) -> Value<'static> {
        Value::Code(self.code(), self.name())
    }
}

impl WireValue<1> for MarketMakerMode {
    #[inline]
    fn from_be_bytes([code]: [u8; 1]) -> Self {
        match code {
            b'N' => Self::Normal,
            b'P' => Self::Passive,
            b'S' => Self::Syndicate,
            b'R' => Self::PreSyndicate,
            b'L' => Self::Penalty,
            _ => Self::Unknown(codec::unknown_code(code)),
        }
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 1] {
        [self.code()]
    }
}

/// Standing of the market participant in this stock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ParticipantState {
    /// `A`: Active.
    Active,
    /// `E`: Excused.
    Excused,
    /// `W`: Withdrawn.
    Withdrawn,
    /// `S`: Suspended.
    Suspended,
    /// `D`: Deleted.
    Deleted,
    /// An unlisted code, passed on unchanged.
    Unknown(UnknownCode),
}

impl ParticipantState {
    /// The listed codes.
    pub const KNOWN: [Self; 5] =
        [Self::Active, Self::Excused, Self::Withdrawn, Self::Suspended, Self::Deleted];

    /// The byte on the wire.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::Active => b'A',
            Self::Excused => b'E',
            Self::Withdrawn => b'W',
            Self::Suspended => b'S',
            Self::Deleted => b'D',
            Self::Unknown(code) => code.get(),
        }
    }

    /// Name of the variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "Active",
            Self::Excused => "Excused",
            Self::Withdrawn => "Withdrawn",
            Self::Suspended => "Suspended",
            Self::Deleted => "Deleted",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn value(self) -> Value<'static> {
        Value::Code(self.code(), self.name())
    }
}

impl WireValue<1> for ParticipantState {
    #[inline]
    fn from_be_bytes([code]: [u8; 1]) -> Self {
        match code {
            b'A' => Self::Active,
            b'E' => Self::Excused,
            b'W' => Self::Withdrawn,
            b'S' => Self::Suspended,
            b'D' => Self::Deleted,
            _ => Self::Unknown(codec::unknown_code(code)),
        }
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 1] {
        [self.code()]
    }
}

/// The level of the market-wide circuit breaker that was reached.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BreachedLevel {
    /// `1`: The fall of 7 percent.
    Level1,
    /// `2`: The fall of 13 percent.
    Level2,
    /// `3`: The fall of 20 percent.
    Level3,
    /// An unlisted code, passed on unchanged.
    Unknown(UnknownCode),
}

impl BreachedLevel {
    /// The listed codes.
    pub const KNOWN: [Self; 3] = [Self::Level1, Self::Level2, Self::Level3];

    /// The byte on the wire.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::Level1 => b'1',
            Self::Level2 => b'2',
            Self::Level3 => b'3',
            Self::Unknown(code) => code.get(),
        }
    }

    /// Name of the variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Level1 => "Level1",
            Self::Level2 => "Level2",
            Self::Level3 => "Level3",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn value(self) -> Value<'static> {
        Value::Code(self.code(), self.name())
    }
}

impl WireValue<1> for BreachedLevel {
    #[inline]
    fn from_be_bytes([code]: [u8; 1]) -> Self {
        match code {
            b'1' => Self::Level1,
            b'2' => Self::Level2,
            b'3' => Self::Level3,
            _ => Self::Unknown(codec::unknown_code(code)),
        }
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 1] {
        [self.code()]
    }
}

/// Whether the release of a new issue stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReleaseQualifier {
    /// `A`: Expected at the release time.
    Anticipated,
    /// `C`: Cancelled or postponed.
    Cancelled,
    /// An unlisted code, passed on unchanged.
    Unknown(UnknownCode),
}

impl ReleaseQualifier {
    /// The listed codes.
    pub const KNOWN: [Self; 2] = [Self::Anticipated, Self::Cancelled];

    /// The byte on the wire.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::Anticipated => b'A',
            Self::Cancelled => b'C',
            Self::Unknown(code) => code.get(),
        }
    }

    /// Name of the variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anticipated => "Anticipated",
            Self::Cancelled => "Cancelled",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn value(self) -> Value<'static> {
        Value::Code(self.code(), self.name())
    }
}

impl WireValue<1> for ReleaseQualifier {
    #[inline]
    fn from_be_bytes([code]: [u8; 1]) -> Self {
        match code {
            b'A' => Self::Anticipated,
            b'C' => Self::Cancelled,
            _ => Self::Unknown(codec::unknown_code(code)),
        }
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 1] {
        [self.code()]
    }
}

/// Market centre of the Nasdaq group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MarketCode {
    /// `Q`: Nasdaq.
    Nasdaq,
    /// `B`: BX, named Nasdaq Texas since 2026.
    Bx,
    /// `X`: PSX.
    Psx,
    /// An unlisted code, passed on unchanged.
    Unknown(UnknownCode),
}

impl MarketCode {
    /// The listed codes.
    pub const KNOWN: [Self; 3] = [Self::Nasdaq, Self::Bx, Self::Psx];

    /// The byte on the wire.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::Nasdaq => b'Q',
            Self::Bx => b'B',
            Self::Psx => b'X',
            Self::Unknown(code) => code.get(),
        }
    }

    /// Name of the variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nasdaq => "Nasdaq",
            Self::Bx => "Bx",
            Self::Psx => "Psx",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn value(self) -> Value<'static> {
        Value::Code(self.code(), self.name())
    }
}

impl WireValue<1> for MarketCode {
    #[inline]
    fn from_be_bytes([code]: [u8; 1]) -> Self {
        match code {
            b'Q' => Self::Nasdaq,
            b'B' => Self::Bx,
            b'X' => Self::Psx,
            _ => Self::Unknown(codec::unknown_code(code)),
        }
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 1] {
        [self.code()]
    }
}

/// Whether a market centre stopped or resumed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HaltAction {
    /// `H`: Halted on this market centre.
    Halted,
    /// `T`: Trading again on this market centre.
    Resumed,
    /// An unlisted code, passed on unchanged.
    Unknown(UnknownCode),
}

impl HaltAction {
    /// The listed codes.
    pub const KNOWN: [Self; 2] = [Self::Halted, Self::Resumed];

    /// The byte on the wire.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::Halted => b'H',
            Self::Resumed => b'T',
            Self::Unknown(code) => code.get(),
        }
    }

    /// Name of the variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Halted => "Halted",
            Self::Resumed => "Resumed",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn value(self) -> Value<'static> {
        Value::Code(self.code(), self.name())
    }
}

impl WireValue<1> for HaltAction {
    #[inline]
    fn from_be_bytes([code]: [u8; 1]) -> Self {
        match code {
            b'H' => Self::Halted,
            b'T' => Self::Resumed,
            _ => Self::Unknown(codec::unknown_code(code)),
        }
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 1] {
        [self.code()]
    }
}

/// Side of the order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BuySellIndicator {
    /// `B`: Buy order.
    Buy,
    /// `S`: Sell order.
    Sell,
    /// An unlisted code, passed on unchanged.
    Unknown(UnknownCode),
}

impl BuySellIndicator {
    /// The listed codes.
    pub const KNOWN: [Self; 2] = [Self::Buy, Self::Sell];

    /// The byte on the wire.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::Buy => b'B',
            Self::Sell => b'S',
            Self::Unknown(code) => code.get(),
        }
    }

    /// Name of the variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Buy => "Buy",
            Self::Sell => "Sell",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn value(self) -> Value<'static> {
        Value::Code(self.code(), self.name())
    }
}

impl WireValue<1> for BuySellIndicator {
    #[inline]
    fn from_be_bytes([code]: [u8; 1]) -> Self {
        match code {
            b'B' => Self::Buy,
            b'S' => Self::Sell,
            _ => Self::Unknown(codec::unknown_code(code)),
        }
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 1] {
        [self.code()]
    }
}

/// The auction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CrossType {
    /// `O`: Opening cross.
    Opening,
    /// `C`: Closing cross.
    Closing,
    /// `H`: Cross that reopens a halted stock or opens a new issue.
    HaltOrIpo,
    /// `A`: Extended trading close.
    ExtendedClose,
    /// `I`: Intraday or post-close cross; in files from before 2018.
    Intraday,
    /// An unlisted code, passed on unchanged.
    Unknown(UnknownCode),
}

impl CrossType {
    /// The listed codes.
    pub const KNOWN: [Self; 5] =
        [Self::Opening, Self::Closing, Self::HaltOrIpo, Self::ExtendedClose, Self::Intraday];

    /// The byte on the wire.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::Opening => b'O',
            Self::Closing => b'C',
            Self::HaltOrIpo => b'H',
            Self::ExtendedClose => b'A',
            Self::Intraday => b'I',
            Self::Unknown(code) => code.get(),
        }
    }

    /// Name of the variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opening => "Opening",
            Self::Closing => "Closing",
            Self::HaltOrIpo => "HaltOrIpo",
            Self::ExtendedClose => "ExtendedClose",
            Self::Intraday => "Intraday",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn value(self) -> Value<'static> {
        Value::Code(self.code(), self.name())
    }
}

impl WireValue<1> for CrossType {
    #[inline]
    fn from_be_bytes([code]: [u8; 1]) -> Self {
        match code {
            b'O' => Self::Opening,
            b'C' => Self::Closing,
            b'H' => Self::HaltOrIpo,
            b'A' => Self::ExtendedClose,
            b'I' => Self::Intraday,
            _ => Self::Unknown(codec::unknown_code(code)),
        }
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 1] {
        [self.code()]
    }
}

/// Side of the shares that remain at the current reference price.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ImbalanceDirection {
    /// `B`: More to buy.
    Buy,
    /// `S`: More to sell.
    Sell,
    /// `N`: Balanced.
    NoImbalance,
    /// `O`: Too few orders to calculate.
    InsufficientOrders,
    /// `P`: Paused; since 2023.
    Paused,
    /// An unlisted code, passed on unchanged.
    Unknown(UnknownCode),
}

impl ImbalanceDirection {
    /// The listed codes.
    pub const KNOWN: [Self; 5] =
        [Self::Buy, Self::Sell, Self::NoImbalance, Self::InsufficientOrders, Self::Paused];

    /// The byte on the wire.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::Buy => b'B',
            Self::Sell => b'S',
            Self::NoImbalance => b'N',
            Self::InsufficientOrders => b'O',
            Self::Paused => b'P',
            Self::Unknown(code) => code.get(),
        }
    }

    /// Name of the variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Buy => "Buy",
            Self::Sell => "Sell",
            Self::NoImbalance => "NoImbalance",
            Self::InsufficientOrders => "InsufficientOrders",
            Self::Paused => "Paused",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn value(self) -> Value<'static> {
        Value::Code(self.code(), self.name())
    }
}

impl WireValue<1> for ImbalanceDirection {
    #[inline]
    fn from_be_bytes([code]: [u8; 1]) -> Self {
        match code {
            b'B' => Self::Buy,
            b'S' => Self::Sell,
            b'N' => Self::NoImbalance,
            b'O' => Self::InsufficientOrders,
            b'P' => Self::Paused,
            _ => Self::Unknown(codec::unknown_code(code)),
        }
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 1] {
        [self.code()]
    }
}

/// Distance between the near price and the nearest current reference price, in percent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PriceVariation {
    /// `L`: Below 1 percent.
    Below1,
    /// `1`: 1 to below 2 percent.
    From1,
    /// `2`: 2 to below 3 percent.
    From2,
    /// `3`: 3 to below 4 percent.
    From3,
    /// `4`: 4 to below 5 percent.
    From4,
    /// `5`: 5 to below 6 percent.
    From5,
    /// `6`: 6 to below 7 percent.
    From6,
    /// `7`: 7 to below 8 percent.
    From7,
    /// `8`: 8 to below 9 percent.
    From8,
    /// `9`: 9 to below 10 percent.
    From9,
    /// `A`: 10 to below 20 percent.
    From10,
    /// `B`: 20 to below 30 percent.
    From20,
    /// `C`: 30 percent or more.
    From30,
    /// ` `: Cannot be calculated.
    NotAvailable,
    /// An unlisted code, passed on unchanged.
    Unknown(UnknownCode),
}

impl PriceVariation {
    /// The listed codes.
    pub const KNOWN: [Self; 14] = [
        Self::Below1,
        Self::From1,
        Self::From2,
        Self::From3,
        Self::From4,
        Self::From5,
        Self::From6,
        Self::From7,
        Self::From8,
        Self::From9,
        Self::From10,
        Self::From20,
        Self::From30,
        Self::NotAvailable,
    ];

    /// The byte on the wire.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::Below1 => b'L',
            Self::From1 => b'1',
            Self::From2 => b'2',
            Self::From3 => b'3',
            Self::From4 => b'4',
            Self::From5 => b'5',
            Self::From6 => b'6',
            Self::From7 => b'7',
            Self::From8 => b'8',
            Self::From9 => b'9',
            Self::From10 => b'A',
            Self::From20 => b'B',
            Self::From30 => b'C',
            Self::NotAvailable => b' ',
            Self::Unknown(code) => code.get(),
        }
    }

    /// Name of the variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Below1 => "Below1",
            Self::From1 => "From1",
            Self::From2 => "From2",
            Self::From3 => "From3",
            Self::From4 => "From4",
            Self::From5 => "From5",
            Self::From6 => "From6",
            Self::From7 => "From7",
            Self::From8 => "From8",
            Self::From9 => "From9",
            Self::From10 => "From10",
            Self::From20 => "From20",
            Self::From30 => "From30",
            Self::NotAvailable => "NotAvailable",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn value(self) -> Value<'static> {
        Value::Code(self.code(), self.name())
    }
}

impl WireValue<1> for PriceVariation {
    #[inline]
    fn from_be_bytes([code]: [u8; 1]) -> Self {
        match code {
            b'L' => Self::Below1,
            b'1' => Self::From1,
            b'2' => Self::From2,
            b'3' => Self::From3,
            b'4' => Self::From4,
            b'5' => Self::From5,
            b'6' => Self::From6,
            b'7' => Self::From7,
            b'8' => Self::From8,
            b'9' => Self::From9,
            b'A' => Self::From10,
            b'B' => Self::From20,
            b'C' => Self::From30,
            b' ' => Self::NotAvailable,
            _ => Self::Unknown(codec::unknown_code(code)),
        }
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 1] {
        [self.code()]
    }
}

/// Side of the retail price improvement interest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum InterestFlag {
    /// `B`: On the buy side.
    BuySide,
    /// `S`: On the sell side.
    SellSide,
    /// `A`: On both sides.
    BothSides,
    /// `N`: On neither side.
    Neither,
    /// An unlisted code, passed on unchanged.
    Unknown(UnknownCode),
}

impl InterestFlag {
    /// The listed codes.
    pub const KNOWN: [Self; 4] = [Self::BuySide, Self::SellSide, Self::BothSides, Self::Neither];

    /// The byte on the wire.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::BuySide => b'B',
            Self::SellSide => b'S',
            Self::BothSides => b'A',
            Self::Neither => b'N',
            Self::Unknown(code) => code.get(),
        }
    }

    /// Name of the variant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BuySide => "BuySide",
            Self::SellSide => "SellSide",
            Self::BothSides => "BothSides",
            Self::Neither => "Neither",
            Self::Unknown(_) => "Unknown",
        }
    }

    fn value(self) -> Value<'static> {
        Value::Code(self.code(), self.name())
    }
}

impl WireValue<1> for InterestFlag {
    #[inline]
    fn from_be_bytes([code]: [u8; 1]) -> Self {
        match code {
            b'B' => Self::BuySide,
            b'S' => Self::SellSide,
            b'A' => Self::BothSides,
            b'N' => Self::Neither,
            _ => Self::Unknown(codec::unknown_code(code)),
        }
    }

    #[inline]
    fn to_be_bytes(self) -> [u8; 1] {
        [self.code()]
    }
}
