//! Nasdaq TotalView-ITCH 5.0: proptest strategies.
//!
//! Written by `cargo xtask gen` from `schema/nasdaq-itch-5.0.toml`: edit that, not this.

use nanotape_wire::itch50::{
    self, AddOrderFields, AddOrderMpidFields, Authenticity, BreachedLevel, BrokenTradeFields,
    BuySellIndicator, CrossTradeFields, CrossType, DirectListingPriceDiscoveryFields, EventCode,
    FinancialStatus, HaltAction, ImbalanceDirection, InterestFlag, IpoFlag,
    IpoQuotingPeriodUpdateFields, IssueClassification, LuldAuctionCollarFields, LuldTier,
    MarketCategory, MarketCode, MarketMakerMode, MarketParticipantPositionFields,
    MwcbDeclineLevelFields, MwcbStatusFields, NetOrderImbalanceFields, OperationalHaltFields,
    OrderCancelFields, OrderDeleteFields, OrderExecutedFields, OrderExecutedWithPriceFields,
    OrderReplaceFields, ParticipantState, PriceVariation, RegShoAction, RegShoRestrictionFields,
    ReleaseQualifier, RetailPriceImprovementFields, StockDirectoryFields, StockTradingActionFields,
    SystemEventFields, TradeFields, TradingState, YesNo,
};
use proptest::{prelude::*, strategy::Union};

use super::{code, unlisted, value};

/// The bytes of any message: every listed type, and types that are not listed.
pub fn any_message() -> impl Strategy<Value = Vec<u8>> {
    Union::new([
        system_event().prop_map(|fields| fields.encode().to_vec()).boxed(),
        stock_directory().prop_map(|fields| fields.encode().to_vec()).boxed(),
        stock_trading_action().prop_map(|fields| fields.encode().to_vec()).boxed(),
        reg_sho_restriction().prop_map(|fields| fields.encode().to_vec()).boxed(),
        market_participant_position().prop_map(|fields| fields.encode().to_vec()).boxed(),
        mwcb_decline_level().prop_map(|fields| fields.encode().to_vec()).boxed(),
        mwcb_status().prop_map(|fields| fields.encode().to_vec()).boxed(),
        ipo_quoting_period_update().prop_map(|fields| fields.encode().to_vec()).boxed(),
        luld_auction_collar().prop_map(|fields| fields.encode().to_vec()).boxed(),
        operational_halt().prop_map(|fields| fields.encode().to_vec()).boxed(),
        add_order().prop_map(|fields| fields.encode().to_vec()).boxed(),
        add_order_mpid().prop_map(|fields| fields.encode().to_vec()).boxed(),
        order_executed().prop_map(|fields| fields.encode().to_vec()).boxed(),
        order_executed_with_price().prop_map(|fields| fields.encode().to_vec()).boxed(),
        order_cancel().prop_map(|fields| fields.encode().to_vec()).boxed(),
        order_delete().prop_map(|fields| fields.encode().to_vec()).boxed(),
        order_replace().prop_map(|fields| fields.encode().to_vec()).boxed(),
        trade().prop_map(|fields| fields.encode().to_vec()).boxed(),
        cross_trade().prop_map(|fields| fields.encode().to_vec()).boxed(),
        broken_trade().prop_map(|fields| fields.encode().to_vec()).boxed(),
        net_order_imbalance().prop_map(|fields| fields.encode().to_vec()).boxed(),
        retail_price_improvement().prop_map(|fields| fields.encode().to_vec()).boxed(),
        direct_listing_price_discovery().prop_map(|fields| fields.encode().to_vec()).boxed(),
        unknown_message().boxed(),
    ])
}

/// The bytes of a message whose type is not listed.
pub fn unknown_message() -> impl Strategy<Value = Vec<u8>> {
    unlisted(itch50::TAG_OFFSET, itch50::TAGS)
}

fields_strategy! {
    /// [`SystemEventFields`] with any values.
    pub fn system_event() -> SystemEventFields {
        stock_locate: value(),
        tracking_number: value(),
        timestamp: value(),
        event_code: code(&EventCode::KNOWN),
    }
}

fields_strategy! {
    /// [`StockDirectoryFields`] with any values.
    pub fn stock_directory() -> StockDirectoryFields {
        stock_locate: value(),
        tracking_number: value(),
        timestamp: value(),
        stock: value(),
        market_category: code(&MarketCategory::KNOWN),
        financial_status: code(&FinancialStatus::KNOWN),
        round_lot_size: value(),
        round_lots_only: code(&YesNo::KNOWN),
        issue_classification: code(&IssueClassification::KNOWN),
        issue_sub_type: value(),
        authenticity: code(&Authenticity::KNOWN),
        short_sale_threshold: code(&YesNo::KNOWN),
        ipo_flag: code(&IpoFlag::KNOWN),
        luld_tier: code(&LuldTier::KNOWN),
        etp_flag: code(&YesNo::KNOWN),
        etp_leverage_factor: value(),
        inverse_indicator: code(&YesNo::KNOWN),
    }
}

fields_strategy! {
    /// [`StockTradingActionFields`] with any values.
    pub fn stock_trading_action() -> StockTradingActionFields {
        stock_locate: value(),
        tracking_number: value(),
        timestamp: value(),
        stock: value(),
        trading_state: code(&TradingState::KNOWN),
        reserved: value(),
        reason: value(),
    }
}

fields_strategy! {
    /// [`RegShoRestrictionFields`] with any values.
    pub fn reg_sho_restriction() -> RegShoRestrictionFields {
        stock_locate: value(),
        tracking_number: value(),
        timestamp: value(),
        stock: value(),
        reg_sho_action: code(&RegShoAction::KNOWN),
    }
}

fields_strategy! {
    /// [`MarketParticipantPositionFields`] with any values.
    pub fn market_participant_position() -> MarketParticipantPositionFields {
        stock_locate: value(),
        tracking_number: value(),
        timestamp: value(),
        mpid: value(),
        stock: value(),
        primary_market_maker: code(&YesNo::KNOWN),
        market_maker_mode: code(&MarketMakerMode::KNOWN),
        participant_state: code(&ParticipantState::KNOWN),
    }
}

fields_strategy! {
    /// [`MwcbDeclineLevelFields`] with any values.
    pub fn mwcb_decline_level() -> MwcbDeclineLevelFields {
        stock_locate: value(),
        tracking_number: value(),
        timestamp: value(),
        level_1: value(),
        level_2: value(),
        level_3: value(),
    }
}

fields_strategy! {
    /// [`MwcbStatusFields`] with any values.
    pub fn mwcb_status() -> MwcbStatusFields {
        stock_locate: value(),
        tracking_number: value(),
        timestamp: value(),
        breached_level: code(&BreachedLevel::KNOWN),
    }
}

fields_strategy! {
    /// [`IpoQuotingPeriodUpdateFields`] with any values.
    pub fn ipo_quoting_period_update() -> IpoQuotingPeriodUpdateFields {
        stock_locate: value(),
        tracking_number: value(),
        timestamp: value(),
        stock: value(),
        release_time: value(),
        release_qualifier: code(&ReleaseQualifier::KNOWN),
        ipo_price: value(),
    }
}

fields_strategy! {
    /// [`LuldAuctionCollarFields`] with any values.
    pub fn luld_auction_collar() -> LuldAuctionCollarFields {
        stock_locate: value(),
        tracking_number: value(),
        timestamp: value(),
        stock: value(),
        reference_price: value(),
        upper_price: value(),
        lower_price: value(),
        extension: value(),
    }
}

fields_strategy! {
    /// [`OperationalHaltFields`] with any values.
    pub fn operational_halt() -> OperationalHaltFields {
        stock_locate: value(),
        tracking_number: value(),
        timestamp: value(),
        stock: value(),
        market_code: code(&MarketCode::KNOWN),
        halt_action: code(&HaltAction::KNOWN),
    }
}

fields_strategy! {
    /// [`AddOrderFields`] with any values.
    pub fn add_order() -> AddOrderFields {
        stock_locate: value(),
        tracking_number: value(),
        timestamp: value(),
        order_reference_number: value(),
        buy_sell_indicator: code(&BuySellIndicator::KNOWN),
        shares: value(),
        stock: value(),
        price: value(),
    }
}

fields_strategy! {
    /// [`AddOrderMpidFields`] with any values.
    pub fn add_order_mpid() -> AddOrderMpidFields {
        stock_locate: value(),
        tracking_number: value(),
        timestamp: value(),
        order_reference_number: value(),
        buy_sell_indicator: code(&BuySellIndicator::KNOWN),
        shares: value(),
        stock: value(),
        price: value(),
        attribution: value(),
    }
}

fields_strategy! {
    /// [`OrderExecutedFields`] with any values.
    pub fn order_executed() -> OrderExecutedFields {
        stock_locate: value(),
        tracking_number: value(),
        timestamp: value(),
        order_reference_number: value(),
        executed_shares: value(),
        match_number: value(),
    }
}

fields_strategy! {
    /// [`OrderExecutedWithPriceFields`] with any values.
    pub fn order_executed_with_price() -> OrderExecutedWithPriceFields {
        stock_locate: value(),
        tracking_number: value(),
        timestamp: value(),
        order_reference_number: value(),
        executed_shares: value(),
        match_number: value(),
        printable: code(&YesNo::KNOWN),
        execution_price: value(),
    }
}

fields_strategy! {
    /// [`OrderCancelFields`] with any values.
    pub fn order_cancel() -> OrderCancelFields {
        stock_locate: value(),
        tracking_number: value(),
        timestamp: value(),
        order_reference_number: value(),
        cancelled_shares: value(),
    }
}

fields_strategy! {
    /// [`OrderDeleteFields`] with any values.
    pub fn order_delete() -> OrderDeleteFields {
        stock_locate: value(),
        tracking_number: value(),
        timestamp: value(),
        order_reference_number: value(),
    }
}

fields_strategy! {
    /// [`OrderReplaceFields`] with any values.
    pub fn order_replace() -> OrderReplaceFields {
        stock_locate: value(),
        tracking_number: value(),
        timestamp: value(),
        original_order_reference_number: value(),
        new_order_reference_number: value(),
        shares: value(),
        price: value(),
    }
}

fields_strategy! {
    /// [`TradeFields`] with any values.
    pub fn trade() -> TradeFields {
        stock_locate: value(),
        tracking_number: value(),
        timestamp: value(),
        order_reference_number: value(),
        buy_sell_indicator: code(&BuySellIndicator::KNOWN),
        shares: value(),
        stock: value(),
        price: value(),
        match_number: value(),
    }
}

fields_strategy! {
    /// [`CrossTradeFields`] with any values.
    pub fn cross_trade() -> CrossTradeFields {
        stock_locate: value(),
        tracking_number: value(),
        timestamp: value(),
        shares: value(),
        stock: value(),
        cross_price: value(),
        match_number: value(),
        cross_type: code(&CrossType::KNOWN),
    }
}

fields_strategy! {
    /// [`BrokenTradeFields`] with any values.
    pub fn broken_trade() -> BrokenTradeFields {
        stock_locate: value(),
        tracking_number: value(),
        timestamp: value(),
        match_number: value(),
    }
}

fields_strategy! {
    /// [`NetOrderImbalanceFields`] with any values.
    pub fn net_order_imbalance() -> NetOrderImbalanceFields {
        stock_locate: value(),
        tracking_number: value(),
        timestamp: value(),
        paired_shares: value(),
        imbalance_shares: value(),
        imbalance_direction: code(&ImbalanceDirection::KNOWN),
        stock: value(),
        far_price: value(),
        near_price: value(),
        current_reference_price: value(),
        cross_type: code(&CrossType::KNOWN),
        price_variation: code(&PriceVariation::KNOWN),
    }
}

fields_strategy! {
    /// [`RetailPriceImprovementFields`] with any values.
    pub fn retail_price_improvement() -> RetailPriceImprovementFields {
        stock_locate: value(),
        tracking_number: value(),
        timestamp: value(),
        stock: value(),
        interest_flag: code(&InterestFlag::KNOWN),
    }
}

fields_strategy! {
    /// [`DirectListingPriceDiscoveryFields`] with any values.
    pub fn direct_listing_price_discovery() -> DirectListingPriceDiscoveryFields {
        stock_locate: value(),
        tracking_number: value(),
        timestamp: value(),
        stock: value(),
        open_eligibility: code(&YesNo::KNOWN),
        minimum_allowable_price: value(),
        maximum_allowable_price: value(),
        near_execution_price: value(),
        near_execution_time: value(),
        lower_collar: value(),
        upper_collar: value(),
    }
}
