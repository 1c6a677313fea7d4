//! The messages that all feeds of IEX have, made of changes of the day.

use nanotape_types::{
    Alpha, Decimal, MatchNumber, NanosSinceEpoch, Price4, SecondsSinceEpoch, Shares, Symbol,
};
use nanotape_wire::{
    iex_common::{
        AuctionInformationFields, AuctionType, ImbalanceSide, LuldTier, OfficialPriceFields,
        OfficialPriceType, OperationalHaltCode, OperationalHaltStatusFields, SaleConditionFlags,
        SecurityDirectoryFields, SecurityEventCode, SecurityEventFields, SecurityFlags,
        ShortSalePriceTestStatusFields, ShortSaleTestDetail, ShortSaleTestStatus, SystemEventCode,
        SystemEventFields, TradeBreakFields, TradeReportFields, TradingStatusCode,
        TradingStatusFields,
    },
    itch50::{
        self, CrossType, EventCode, ImbalanceDirection, NetOrderImbalance, RegShoAction,
        StockDirectory, TradingState, YesNo,
    },
};

use super::{
    changes::{DayChange, DayHappening, DayPrint},
    packets::PacketWindow,
    stock::TranslatedStock,
};
use crate::calendar::{CLOSE, OPEN, SECOND};

/// Shares of a round lot.
const ROUND_LOT: u32 = 100;

/// A price of ITCH.
pub(super) fn price(units: u32) -> Decimal<i64, 4> {
    Decimal::new(units.into())
}

/// Shares of a level, as far as the field can hold them.
pub(super) fn shares(shares: u64) -> Shares {
    Shares::new(u32::try_from(shares).unwrap_or(u32::MAX))
}

pub(super) fn sale_condition(print: &DayPrint) -> SaleConditionFlags {
    [
        (print.is_cross, SaleConditionFlags::SINGLE_PRICE_CROSS),
        (print.shares < ROUND_LOT, SaleConditionFlags::ODD_LOT),
        (print.is_extended, SaleConditionFlags::EXTENDED_HOURS),
        (print.is_sweep, SaleConditionFlags::INTERMARKET_SWEEP),
    ]
    .into_iter()
    .filter(|(is_set, _)| *is_set)
    .fold(SaleConditionFlags::new(0), |flags, (_, flag)| flags.with(flag))
}

/// Writes the messages of one event.
pub(super) struct IexMessages<'o> {
    output: &'o mut PacketWindow,
    time: u64,
    pub(super) stock: &'o TranslatedStock,
    /// Whether the feed has auctions and official prices: DEEP+ does not.
    has_auctions: bool,
}

impl<'o> IexMessages<'o> {
    pub(super) fn new(
        output: &'o mut PacketWindow,
        time: u64,
        stock: &'o TranslatedStock,
        has_auctions: bool,
    ) -> Self {
        Self { output, time, stock, has_auctions }
    }

    pub(super) fn put(&mut self, message: &[u8]) {
        self.output.push(0, self.time, message);
    }

    pub(super) fn timestamp(&self) -> NanosSinceEpoch {
        NanosSinceEpoch::new(self.output.epoch_ns(self.time))
    }

    pub(super) fn symbol(&self) -> Symbol {
        self.stock.symbol
    }

    /// `T`.
    pub(super) fn trade(&mut self, print: &DayPrint) {
        let message = TradeReportFields {
            sale_condition_flags: sale_condition(print),
            timestamp: self.timestamp(),
            symbol: self.symbol(),
            shares: Shares::new(print.shares),
            price: price(print.price),
            match_number: MatchNumber::new(print.id),
        };
        self.put(&message.encode());
    }

    /// The messages about changes that are no change of a displayed order.
    pub(super) fn other(&mut self, happening: &DayHappening<'_>) {
        match happening.change {
            DayChange::HiddenTrade { ref print, .. } => self.trade(print),
            DayChange::Cross { cross_type, price, ref print, .. } => {
                if let Some(print) = print {
                    self.trade(print);
                }
                self.cross(cross_type, price, print.is_some());
            }
            DayChange::Broken(ref print) => {
                let message = TradeBreakFields {
                    sale_condition_flags: sale_condition(print),
                    timestamp: self.timestamp(),
                    symbol: self.symbol(),
                    shares: Shares::new(print.shares),
                    price: price(print.price),
                    match_number: MatchNumber::new(print.id),
                };
                self.put(&message.encode());
            }
            DayChange::Event(code) => self.event(code),
            DayChange::Directory(entry) => self.directory(entry),
            DayChange::TradingState => self.trading_status(),
            DayChange::ShortSaleTest { action, was_restricted } => {
                self.short_sale_test(action, was_restricted);
            }
            DayChange::OperationalHalt => {
                let message = OperationalHaltStatusFields {
                    operational_halt_status: match self.stock.is_halted_here {
                        true => OperationalHaltCode::Halted,
                        false => OperationalHaltCode::NotHalted,
                    },
                    timestamp: self.timestamp(),
                    symbol: self.symbol(),
                };
                self.put(&message.encode());
            }
            DayChange::Imbalance(imbalance) if self.has_auctions => self.auction(imbalance),
            _ => {}
        }
    }

    /// `S`.
    fn event(&mut self, code: EventCode) {
        let system_event = match code {
            EventCode::StartOfMessages => SystemEventCode::StartOfMessages,
            EventCode::StartOfSystemHours => SystemEventCode::StartOfSystemHours,
            EventCode::StartOfMarketHours => SystemEventCode::StartOfRegularHours,
            EventCode::EndOfMarketHours => SystemEventCode::EndOfRegularHours,
            EventCode::EndOfSystemHours => SystemEventCode::EndOfSystemHours,
            EventCode::EndOfMessages => SystemEventCode::EndOfMessages,
            EventCode::Unknown(_) => return,
        };
        let message = SystemEventFields { system_event, timestamp: self.timestamp() };
        self.put(&message.encode());
    }

    /// `D`. ITCH does not have the price of the day before.
    fn directory(&mut self, entry: StockDirectory<'_>) {
        let is_product = entry.etp_flag() == YesNo::Yes;
        let flags = if is_product { SecurityFlags::EXCHANGE_TRADED_PRODUCT.get() } else { 0 };
        let message = SecurityDirectoryFields {
            flags: SecurityFlags::new(flags),
            timestamp: self.timestamp(),
            symbol: self.symbol(),
            round_lot_size: entry.round_lot_size(),
            adjusted_poc_price: price(0),
            luld_tier: match entry.luld_tier() {
                itch50::LuldTier::Tier1 => LuldTier::Tier1,
                itch50::LuldTier::Tier2 => LuldTier::Tier2,
                _ => LuldTier::NotApplicable,
            },
        };
        self.put(&message.encode());
    }

    /// `H`.
    fn trading_status(&mut self) {
        let (trading_status, reason) = match (self.stock.trading_state, &self.stock.reason) {
            (TradingState::Trading, _) => (TradingStatusCode::Trading, b"    "),
            (TradingState::QuotationOnly, reason) => {
                let reason = match reason {
                    b"T3  " => b"T2  ",
                    b"IPOQ" => b"IPO2",
                    _ => b"    ",
                };
                (TradingStatusCode::OrderAcceptancePeriod, reason)
            }
            (TradingState::Paused, _) => (TradingStatusCode::Paused, b"    "),
            (_, b"LUDP") => (TradingStatusCode::Paused, b"    "),
            (_, reason @ (b"T1  " | b"IPO1")) => (TradingStatusCode::Halted, reason),
            _ => (TradingStatusCode::Halted, b"NA  "),
        };
        let message = TradingStatusFields {
            trading_status,
            timestamp: self.timestamp(),
            symbol: self.symbol(),
            reason: Alpha::new(*reason),
        };
        self.put(&message.encode());
    }

    /// `P`.
    fn short_sale_test(&mut self, action: RegShoAction, was_restricted: bool) {
        let in_effect = ShortSaleTestStatus::InEffect;
        let (status, detail) = match action {
            RegShoAction::RestrictionTriggered => (in_effect, ShortSaleTestDetail::Activated),
            RegShoAction::RestrictionInEffect => (in_effect, ShortSaleTestDetail::Continued),
            RegShoAction::NoPriceTest if was_restricted => {
                (ShortSaleTestStatus::NotInEffect, ShortSaleTestDetail::Deactivated)
            }
            RegShoAction::NoPriceTest => {
                (ShortSaleTestStatus::NotInEffect, ShortSaleTestDetail::NoTest)
            }
            RegShoAction::Unknown(_) => return,
        };
        let message = ShortSalePriceTestStatusFields {
            short_sale_price_test_status: status,
            timestamp: self.timestamp(),
            symbol: self.symbol(),
            detail,
        };
        self.put(&message.encode());
    }

    /// `X` and `E`, after the opening and the closing cross.
    fn cross(&mut self, cross_type: CrossType, at: u32, is_traded: bool) {
        let (price_type, security_event) = match cross_type {
            CrossType::Opening => (OfficialPriceType::Opening, SecurityEventCode::OpeningComplete),
            CrossType::Closing => (OfficialPriceType::Closing, SecurityEventCode::ClosingComplete),
            _ => return,
        };
        let (timestamp, symbol) = (self.timestamp(), self.symbol());
        if is_traded && self.has_auctions {
            let price = price(at);
            self.put(&OfficialPriceFields { price_type, timestamp, symbol, price }.encode());
        }
        self.put(&SecurityEventFields { security_event, timestamp, symbol }.encode());
    }

    /// `A`.
    fn auction(&mut self, imbalance: NetOrderImbalance<'_>) {
        let collar = self.stock.collar;
        let is_pause = self.stock.reason == *b"LUDP" || self.stock.reason == *b"T7  ";
        // ITCH does not have the time of an auction after a halt: the next full minute.
        let minute = (self.time / (60 * SECOND) + 1) * 60 * SECOND;
        let (auction_type, time) = match imbalance.cross_type() {
            CrossType::Opening => (AuctionType::Opening, OPEN),
            CrossType::Closing | CrossType::ExtendedClose => (AuctionType::Closing, CLOSE),
            _ if self.stock.is_new_issue => (AuctionType::Ipo, minute),
            _ if is_pause => (AuctionType::Volatility, minute),
            _ => (AuctionType::Halt, minute),
        };
        let seconds = self.output.epoch_ns(time) / SECOND;
        let message = AuctionInformationFields {
            auction_type,
            timestamp: self.timestamp(),
            symbol: self.symbol(),
            paired_shares: shares(imbalance.paired_shares().get()),
            reference_price: price(imbalance.current_reference_price().get()),
            indicative_clearing_price: price(imbalance.near_price().get().map_or(0, Price4::get)),
            imbalance_shares: shares(imbalance.imbalance_shares().get()),
            imbalance_side: match imbalance.imbalance_direction() {
                ImbalanceDirection::Buy => ImbalanceSide::Buy,
                ImbalanceDirection::Sell => ImbalanceSide::Sell,
                _ => ImbalanceSide::None,
            },
            extension_number: u8::try_from(collar.extension).unwrap_or(u8::MAX),
            scheduled_auction_time: SecondsSinceEpoch::new(seconds as u32),
            auction_book_clearing_price: price(imbalance.far_price().get().map_or(0, Price4::get)),
            collar_reference_price: price(collar.reference),
            lower_auction_collar: price(collar.lower),
            upper_auction_collar: price(collar.upper),
        };
        self.put(&message.encode());
    }
}
