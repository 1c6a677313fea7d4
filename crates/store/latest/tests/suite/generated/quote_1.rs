//! Quote: a value of a map.
//!
//! Written by `cargo xtask gen` from `schema/testing/quote-1.toml`: edit that, not this.
//! Version 1.

use nanotape_latest::types::{Alpha, Mpid};

nanotape_latest::value! {
    /// Quote. The best prices of a stock.
    Quote: 5 words, layouts [0x0001_de07de115217];
    fields {
        [0..8] bid, set_bid: i64, "Best bid. In units of 1e-9. Absent: 0x7fffffffffffffff.";
        [8..12] orders, set_orders: u32, "Orders of the best bid.";
        [12..13] state, set_state: Alpha<1>, "Trading state.";
        [16..20] mpid, set_mpid: Mpid, "Participant of the best bid.";
        [32..34] lot, set_lot: u16, "Round lot. Unit: shares.";
    }
    arrays {
        [24..32] sizes_at, set_sizes_at, SIZES_COUNT: [u16; 4],
            "Sizes of the first levels. Unit: round lots.";
    }
}
