//! The crate `itch5`: a parser over a slice that calls a handler with views.
//!
//! It gets the same blocks of the file as nanotape's decoder. At a record that the block cuts off
//! it stops with an error, and continues with that record at the beginning of the next block.

use core::ops::ControlFlow;
use std::path::Path;

use itch5::{MessageHandler, Parser, messages::*};
use nanotape_feed::DaySource;
use nanotape_wire::framing::binary_file::LENGTH_BYTES;
use rivals_measure::Failure;

use crate::{
    digest::FieldSum,
    measured::{Numbers, Outcome, measured},
};

/// The record that ends a session: the parser stops there with an error.
const END_OF_SESSION: &[u8] = &[0, 0];

pub(crate) fn run(file: &Path) -> Result<Outcome, Failure> {
    let (parsed, measured) = measured(|| {
        let mut source = DaySource::open(file)?;
        let mut parsed = Parsed::default();
        loop {
            let block = source.next_block(std::mem::take(&mut parsed.used_bytes))?;
            let end = Parser::new(block.bytes).parse_stream(&mut parsed);
            let rest = &block.bytes[parsed.used_bytes..];
            match end {
                Ok(()) if block.is_last => return Ok(parsed),
                Err(_) if block.is_last && rest == END_OF_SESSION => return Ok(parsed),
                Err(error) if block.is_last || parsed.used_bytes == 0 => {
                    return Err(format!("after {} messages: {error}", parsed.messages).into());
                }
                Ok(()) | Err(_) => {}
            }
        }
    })?;
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
    /// Bytes of the block that were whole records.
    used_bytes: usize,
}

/// Every handler counts its message, adds its length, and those of orders add fields to the sum.
macro_rules! handlers {
    ($($method:ident($message:ident) $(= |$order:ident| $fields:expr)?;)*) => {
        $(
            #[inline]
            fn $method(&mut self, message: &$message) -> ControlFlow<()> {
                $(
                    let $order = message;
                    self.sum.add(u64::from($order.stock_locate()) + $fields);
                )?
                self.messages += 1;
                self.used_bytes += LENGTH_BYTES + size_of_val(message);
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
