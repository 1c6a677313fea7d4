//! The crate `itch5`: a parser over a slice that calls a handler with views.
//!
//! The whole file is mapped. One call inside the timed part brings in its pages, as nanotape does
//! with its windows.

use core::ops::ControlFlow;
use std::path::Path;

use itch5::{MessageHandler, Parser, messages::*};
use nanotape_shm::MappableFile;
use rivals_measure::Failure;

use crate::{
    digest::FieldSum,
    measured::{Numbers, Outcome, measured},
    records,
};

pub(crate) fn run(file: &Path) -> Result<Outcome, Failure> {
    let ((window, parsed, end), measured) = measured(|| {
        let file = MappableFile::open(file)?;
        let window = file.map(0, usize::try_from(file.len())?)?;
        let mut parsed = Parsed::default();
        let end = Parser::new(window.bytes()).parse_stream(&mut parsed);
        Ok((window, parsed, end))
    })?;
    // It stops with an error at the empty record that ends a session.
    if let Err(error) = end
        && !records::end_with_an_empty_one(window.bytes())
    {
        return Err(format!("after {} messages: {error}", parsed.messages).into());
    }
    Ok(Outcome {
        kind: "parse",
        messages: parsed.messages,
        measured,
        answer: [("field_sum", parsed.sum.0)].into(),
        notes: Numbers::new(),
    })
}

#[derive(Default)]
struct Parsed {
    sum: FieldSum,
    messages: u64,
}

/// Every handler counts its message, and those of orders add fields to the sum.
macro_rules! handlers {
    ($($method:ident($message:ident) $(= |$order:ident| $fields:expr)?;)*) => {
        $(
            #[inline]
            fn $method(&mut self, _message: &$message) -> ControlFlow<()> {
                $(
                    let $order = _message;
                    self.sum.add(u64::from($order.stock_locate()) + $fields);
                )?
                self.messages += 1;
                ControlFlow::Continue(())
            }
        )*
    };
}

impl MessageHandler for Parsed {
    handlers! {
        on_add_order_no_mpid_attribution(AddOrderNoMPIDAttribution) = |add|
            add.order_reference_number() + u64::from(add.shares())
                + u64::from(add.price().into_u32());
        on_add_order_with_mpid_attribution(AddOrderWithMPIDAttribution) = |add|
            add.order_reference_number() + u64::from(add.shares())
                + u64::from(add.price().into_u32());
        on_order_executed(OrderExecuted) = |executed|
            executed.order_reference_number() + u64::from(executed.executed_shares());
        on_order_executed_with_price(OrderExecutedWithPrice) = |executed|
            executed.order_reference_number() + u64::from(executed.executed_shares());
        on_order_cancel(OrderCancel) = |cancel|
            cancel.order_reference_number() + u64::from(cancel.cancelled_shares());
        on_order_delete(OrderDelete) = |delete| delete.order_reference_number();
        on_order_replace(OrderReplace) = |replace|
            replace.original_order_reference_number() + replace.new_order_reference_number()
                + u64::from(replace.shares()) + u64::from(replace.price().into_u32());
        on_system_event(SystemEvent);
        on_stock_directory(StockDirectory);
        on_stock_trading_action(StockTradingAction);
        on_reg_sho_restriction(RegSHORestriction);
        on_market_participant_position(MarketParticipantPosition);
        on_mwcb_decline_level(MWCBDeclineLevel);
        on_mwcb_status(MWCBStatus);
        on_quoting_period_update(QuotingPeriodUpdate);
        on_luld_auction_collar(LULDAuctionCollar);
        on_operational_halt(OperationalHalt);
        on_trade(Trade);
        on_cross_trade(CrossTrade);
        on_broken_trade(BrokenTrade);
        on_net_order_imbalance_indicator(NetOrderImbalanceIndicator);
        on_retail_price_improvement_indicator(RetailPriceImprovementIndicator);
        on_direct_listing_with_capital_raise_price_discovery(
            DirectListingwithCapitalRaisePriceDiscovery
        );
    }
}
