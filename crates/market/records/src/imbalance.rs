//! The state of an auction before it takes place, as DBN's imbalance record.

use dbn::{ImbalanceMsg, RecordHeader, Side as DbnSide, UNDEF_PRICE};
use nanotape_market::AuctionImbalance;
use nanotape_types::{Maybe, Price, PriceScale};

use crate::{
    Common,
    encode::{side_of, size_of_shares},
};

/// The record of an imbalance, whose prices are of this scale.
pub fn imbalance(common: &Common, event: &AuctionImbalance, scale: PriceScale) -> ImbalanceMsg {
    let side = event.side.map_or(DbnSide::None, side_of);
    let or_undefined =
        |price: Maybe<Price>| price.get().map_or(UNDEF_PRICE, |price| scale.nanos(price));
    ImbalanceMsg {
        hd: RecordHeader::new::<ImbalanceMsg>(
            dbn::rtype::IMBALANCE,
            common.instrument.publisher_id(),
            common.instrument.id(),
            common.ts_event,
        ),
        ts_recv: common.ts_recv,
        ref_price: scale.nanos(event.reference_price),
        cont_book_clr_price: or_undefined(event.near_price),
        auct_interest_clr_price: or_undefined(event.far_price),
        paired_qty: size_of_shares(event.paired_shares.get()),
        total_imbalance_qty: size_of_shares(event.imbalance_shares.get()),
        auction_type: event.auction as _,
        side: side as u8 as _,
        significant_imbalance: event.significance as _,
        ..ImbalanceMsg::default()
    }
}
