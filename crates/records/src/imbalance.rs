//! A net order imbalance indicator as DBN's imbalance record.

use dbn::{ImbalanceMsg, RecordHeader, Side as DbnSide, UNDEF_PRICE};
use nanotape_types::{Maybe, Price4};
use nanotape_wire::itch50::{ImbalanceDirection, NetOrderImbalance};

use crate::{
    Common, PUBLISHER_ID,
    encode::{price_of, size_of_shares},
};

/// What is known of a cross that is forming.
pub fn imbalance(common: &Common, message: NetOrderImbalance<'_>) -> ImbalanceMsg {
    let side = match message.imbalance_direction() {
        ImbalanceDirection::Buy => DbnSide::Bid,
        ImbalanceDirection::Sell => DbnSide::Ask,
        _ => DbnSide::None,
    };
    let or_undefined = |price: Maybe<Price4>| price.get().map_or(UNDEF_PRICE, price_of);
    ImbalanceMsg {
        hd: RecordHeader::new::<ImbalanceMsg>(
            dbn::rtype::IMBALANCE,
            PUBLISHER_ID,
            common.instrument_id,
            common.ts_event,
        ),
        ts_recv: common.ts_recv,
        ref_price: price_of(message.current_reference_price()),
        cont_book_clr_price: or_undefined(message.near_price()),
        auct_interest_clr_price: or_undefined(message.far_price()),
        paired_qty: size_of_shares(message.paired_shares().get()),
        total_imbalance_qty: size_of_shares(message.imbalance_shares().get()),
        auction_type: message.cross_type().code() as _,
        side: side as u8 as _,
        significant_imbalance: message.price_variation().code() as _,
        ..ImbalanceMsg::default()
    }
}
