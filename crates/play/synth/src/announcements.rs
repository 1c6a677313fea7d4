//! The messages that are not about orders: events, directory, trading states, auctions.

use nanotape_types::{
    Alpha, Maybe, Mpid, Price4, Price8, SecondsSinceMidnight, StockLocate, TotalShares,
    TrackingNumber, WireValue as _,
};
use nanotape_wire::itch50::{
    Authenticity, CrossTradeFields, CrossType, EventCode, FinancialStatus, HaltAction,
    ImbalanceDirection, IpoFlag, IpoQuotingPeriodUpdateFields, IssueClassification,
    LuldAuctionCollarFields, LuldTier, MarketCategory, MarketCode, MarketMakerMode,
    MarketParticipantPositionFields, MwcbDeclineLevelFields, NetOrderImbalanceFields,
    OperationalHaltFields, ParticipantState, PriceVariation, RegShoAction, RegShoRestrictionFields,
    ReleaseQualifier, StockDirectoryFields, StockTradingActionFields, SystemEventFields,
    TradingState, YesNo,
};

use super::{
    rng::Rng,
    tape::{Stock, Tape},
    universe::Listing,
};

/// Shares and prices of a coming auction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Imbalance {
    pub(super) paired: u64,
    pub(super) left_over: u64,
    pub(super) direction: ImbalanceDirection,
    pub(super) far: u32,
    pub(super) near: u32,
    pub(super) reference: u32,
}

impl Tape {
    /// `S`.
    pub(super) fn event(&mut self, event_code: EventCode) {
        let message = SystemEventFields {
            stock_locate: StockLocate::new(0),
            tracking_number: TrackingNumber::new(0),
            timestamp: self.time(),
            event_code,
        };
        self.put(message.encode());
    }

    /// `V`: levels of an index that closed at 3,240.02 the day before.
    pub(super) fn circuit_breaker_levels(&mut self) {
        let close = 324_002_000_000;
        let down = |percent: u64| Price8::new(close / 100 * (100 - percent));
        let message = MwcbDeclineLevelFields {
            stock_locate: StockLocate::new(0),
            tracking_number: TrackingNumber::new(0),
            timestamp: self.time(),
            level_1: down(7),
            level_2: down(13),
            level_3: down(20),
        };
        self.put(message.encode());
    }

    /// `R`.
    pub(super) fn directory(&mut self, stock: Stock, listing: &Listing, rng: &mut Rng, ipo: bool) {
        let nasdaq = listing.is_nasdaq_listed();
        let fund = matches!(listing.market_category, b'P' | b'Z');
        let yes_no = |yes| if yes { YesNo::Yes } else { YesNo::No };
        let sub_type = if fund { *b"E " } else { *b"C " };
        let message = StockDirectoryFields {
            stock_locate: stock.locate,
            tracking_number: TrackingNumber::new(0),
            timestamp: self.time(),
            stock: stock.symbol,
            market_category: MarketCategory::from_be_bytes([listing.market_category]),
            financial_status: match (nasdaq, rng.below(100)) {
                (false, _) => FinancialStatus::NotAvailable,
                (true, 0..3) => FinancialStatus::Deficient,
                (true, _) => FinancialStatus::Normal,
            },
            round_lot_size: 100,
            round_lots_only: YesNo::No,
            issue_classification: match (fund, rng.below(100)) {
                (true, _) => IssueClassification::OtherSecurities,
                (false, 0..8) => IssueClassification::AmericanDepositaryShare,
                (false, 8..14) => IssueClassification::PreferredStock,
                (false, _) => IssueClassification::CommonStock,
            },
            issue_sub_type: Alpha::new(sub_type),
            authenticity: Authenticity::Production,
            short_sale_threshold: yes_no(rng.below(100) == 0),
            ipo_flag: match (nasdaq, ipo) {
                (true, true) => IpoFlag::Yes,
                (true, false) => IpoFlag::No,
                (false, _) => IpoFlag::NotAvailable,
            },
            luld_tier: if rng.below(5) == 0 { LuldTier::Tier1 } else { LuldTier::Tier2 },
            etp_flag: yes_no(fund),
            etp_leverage_factor: if fund { 1 } else { 0 },
            inverse_indicator: YesNo::No,
        };
        self.put(message.encode());
    }

    /// `H`.
    pub(super) fn trading_state(&mut self, stock: Stock, state: TradingState, reason: [u8; 4]) {
        let message = StockTradingActionFields {
            stock_locate: stock.locate,
            tracking_number: self.tracking(),
            timestamp: self.time(),
            stock: stock.symbol,
            trading_state: state,
            reserved: Alpha::new(*b" "),
            reason: Alpha::new(reason),
        };
        self.put(message.encode());
    }

    /// `Y`.
    pub(super) fn short_sale_test(&mut self, stock: Stock, reg_sho_action: RegShoAction) {
        let message = RegShoRestrictionFields {
            stock_locate: stock.locate,
            tracking_number: self.tracking(),
            timestamp: self.time(),
            stock: stock.symbol,
            reg_sho_action,
        };
        self.put(message.encode());
    }

    /// `L`.
    pub(super) fn participant(&mut self, stock: Stock, mpid: Mpid, primary: bool) {
        let message = MarketParticipantPositionFields {
            stock_locate: stock.locate,
            tracking_number: TrackingNumber::new(0),
            timestamp: self.time(),
            mpid,
            stock: stock.symbol,
            primary_market_maker: if primary { YesNo::Yes } else { YesNo::No },
            market_maker_mode: MarketMakerMode::Normal,
            participant_state: ParticipantState::Active,
        };
        self.put(message.encode());
    }

    /// `K`: expected release, in seconds since midnight, and price.
    pub(super) fn ipo_update(&mut self, stock: Stock, release: u32, price: u32) {
        let message = IpoQuotingPeriodUpdateFields {
            stock_locate: StockLocate::new(0),
            tracking_number: TrackingNumber::new(0),
            timestamp: self.time(),
            stock: stock.symbol,
            release_time: Maybe::some(SecondsSinceMidnight::new(release)).unwrap_or_default(),
            release_qualifier: ReleaseQualifier::Anticipated,
            ipo_price: Maybe::some(Price4::new(price)).unwrap_or_default(),
        };
        self.put(message.encode());
    }

    /// `J`: a collar of five percent, wider with each extension.
    pub(super) fn collar(&mut self, stock: Stock, reference: u32, extension: u32) {
        let width = reference / 20 * (1 + extension);
        let message = LuldAuctionCollarFields {
            stock_locate: stock.locate,
            tracking_number: self.tracking(),
            timestamp: self.time(),
            stock: stock.symbol,
            reference_price: Price4::new(reference),
            upper_price: Price4::new(reference + width),
            lower_price: Price4::new(reference - width),
            extension,
        };
        self.put(message.encode());
    }

    /// `h`.
    pub(super) fn operational_halt(&mut self, stock: Stock, halt_action: HaltAction) {
        let message = OperationalHaltFields {
            stock_locate: stock.locate,
            tracking_number: self.tracking(),
            timestamp: self.time(),
            stock: stock.symbol,
            market_code: MarketCode::Nasdaq,
            halt_action,
        };
        self.put(message.encode());
    }

    /// `Q`.
    pub(super) fn cross(&mut self, stock: Stock, price: u32, shares: u64, cross_type: CrossType) {
        let match_number = self.next_match();
        let message = CrossTradeFields {
            stock_locate: stock.locate,
            tracking_number: self.tracking(),
            timestamp: self.time(),
            shares: TotalShares::new(shares),
            stock: stock.symbol,
            cross_price: Price4::new(price),
            match_number,
            cross_type,
        };
        self.put(message.encode());
    }

    /// `I`.
    pub(super) fn imbalance(&mut self, stock: Stock, cross_type: CrossType, of: &Imbalance) {
        let apart = of.near.abs_diff(of.reference) as u64 * 100;
        let price_variation = match (of.near, apart / u64::from(of.reference.max(1))) {
            (0, _) => PriceVariation::NotAvailable,
            (_, 0) => PriceVariation::Below1,
            (_, percent @ 1..=9) => PriceVariation::from_be_bytes([b'0' + percent as u8]),
            (_, 10..=19) => PriceVariation::From10,
            (_, 20..=29) => PriceVariation::From20,
            _ => PriceVariation::From30,
        };
        let message = NetOrderImbalanceFields {
            stock_locate: stock.locate,
            tracking_number: self.tracking(),
            timestamp: self.time(),
            paired_shares: TotalShares::new(of.paired),
            imbalance_shares: TotalShares::new(of.left_over),
            imbalance_direction: of.direction,
            stock: stock.symbol,
            far_price: Maybe::some(Price4::new(of.far)).unwrap_or_default(),
            near_price: Maybe::some(Price4::new(of.near)).unwrap_or_default(),
            current_reference_price: Price4::new(of.reference),
            cross_type,
            price_variation,
        };
        self.put(message.encode());
    }
}
