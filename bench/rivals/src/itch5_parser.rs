//! The crate `itch5`: a parser over a slice that calls a handler with views.
//!
//! The file is mapped as a whole, its pages brought in by one call inside the time, as nanotape does
//! with its windows.

use core::ops::ControlFlow;
use std::{collections::BTreeMap, path::Path};

use itch5::{MessageHandler, Parser, messages::*};
use nanotape_shm::MappableFile;

use crate::{
    digest::FieldSum,
    outcome::{Failure, Memory, Outcome, Stopwatch},
    records,
};

pub(crate) fn run(file: &Path) -> Result<Outcome, Failure> {
    let watch = Stopwatch::start();
    let file = MappableFile::open(file)?;
    let window = file.map(0, usize::try_from(file.len())?)?;
    let mut parsed = Parsed::default();
    let end = Parser::new(window.bytes()).parse_stream(&mut parsed);
    let elapsed = watch.stop();
    let memory = Memory::now();
    // It has no word for the empty record that ends a session, and stops there with an error.
    if let Err(error) = end
        && !records::end_with_an_empty_one(window.bytes())
    {
        return Err(format!("after {} messages: {error}", parsed.messages).into());
    }
    Ok(Outcome {
        kind: "parse",
        messages: parsed.messages,
        elapsed,
        answers: BTreeMap::from([("field_sum", parsed.sum.0)]),
        notes: BTreeMap::new(),
        memory,
    })
}

#[derive(Default)]
struct Parsed {
    sum: FieldSum,
    messages: u64,
}

impl Parsed {
    #[inline]
    fn order(&mut self, locate: u16, fields: u64) -> ControlFlow<()> {
        self.sum.add(u64::from(locate) + fields);
        self.other()
    }

    #[inline]
    fn other(&mut self) -> ControlFlow<()> {
        self.messages += 1;
        ControlFlow::Continue(())
    }
}

/// Messages that only count.
macro_rules! others {
    ($($method:ident($message:ident)),* $(,)?) => {
        $(
            #[inline]
            fn $method(&mut self, _: &$message) -> ControlFlow<()> {
                self.other()
            }
        )*
    };
}

impl MessageHandler for Parsed {
    #[inline]
    fn on_add_order_no_mpid_attribution(
        &mut self,
        add: &AddOrderNoMPIDAttribution,
    ) -> ControlFlow<()> {
        let fields = u64::from(add.shares()) + u64::from(add.price().into_u32());
        self.order(add.stock_locate(), add.order_reference_number() + fields)
    }

    #[inline]
    fn on_add_order_with_mpid_attribution(
        &mut self,
        add: &AddOrderWithMPIDAttribution,
    ) -> ControlFlow<()> {
        let fields = u64::from(add.shares()) + u64::from(add.price().into_u32());
        self.order(add.stock_locate(), add.order_reference_number() + fields)
    }

    #[inline]
    fn on_order_executed(&mut self, executed: &OrderExecuted) -> ControlFlow<()> {
        let fields = executed.order_reference_number() + u64::from(executed.executed_shares());
        self.order(executed.stock_locate(), fields)
    }

    #[inline]
    fn on_order_executed_with_price(
        &mut self,
        executed: &OrderExecutedWithPrice,
    ) -> ControlFlow<()> {
        let fields = executed.order_reference_number() + u64::from(executed.executed_shares());
        self.order(executed.stock_locate(), fields)
    }

    #[inline]
    fn on_order_cancel(&mut self, cancel: &OrderCancel) -> ControlFlow<()> {
        let fields = cancel.order_reference_number() + u64::from(cancel.cancelled_shares());
        self.order(cancel.stock_locate(), fields)
    }

    #[inline]
    fn on_order_delete(&mut self, delete: &OrderDelete) -> ControlFlow<()> {
        self.order(delete.stock_locate(), delete.order_reference_number())
    }

    #[inline]
    fn on_order_replace(&mut self, replace: &OrderReplace) -> ControlFlow<()> {
        let references =
            replace.original_order_reference_number() + replace.new_order_reference_number();
        let fields = u64::from(replace.shares()) + u64::from(replace.price().into_u32());
        self.order(replace.stock_locate(), references + fields)
    }

    others! {
        on_system_event(SystemEvent),
        on_stock_directory(StockDirectory),
        on_stock_trading_action(StockTradingAction),
        on_reg_sho_restriction(RegSHORestriction),
        on_market_participant_position(MarketParticipantPosition),
        on_mwcb_decline_level(MWCBDeclineLevel),
        on_mwcb_status(MWCBStatus),
        on_quoting_period_update(QuotingPeriodUpdate),
        on_luld_auction_collar(LULDAuctionCollar),
        on_operational_halt(OperationalHalt),
        on_trade(Trade),
        on_cross_trade(CrossTrade),
        on_broken_trade(BrokenTrade),
        on_net_order_imbalance_indicator(NetOrderImbalanceIndicator),
        on_retail_price_improvement_indicator(RetailPriceImprovementIndicator),
        on_direct_listing_with_capital_raise_price_discovery(
            DirectListingwithCapitalRaisePriceDiscovery
        ),
    }
}
