//! Quote, version 2: a value of a map.
//!
//! Written by `cargo xtask gen` from `schema/testing/quote-2.toml`: edit that, not this.
//! Version 2.

use nanotape_latest::types::{Alpha, Maybe, Mpid, Price4};

nanotape_latest::value! {
    /// Quote, version 2. The best prices of a stock.
    Quote: 7 words, layouts [0x0001_de07de115217, 0x0002_7e136e4bcc3d];
    fields {
        [0..8] bid, set_bid: i64, "Best bid. In units of 1e-9. Absent: 0x7fffffffffffffff.";
        [8..12] orders, set_orders: u32, "Orders of the best bid.";
        [12..13] state, set_state: Alpha<1>, "Trading state.";
        [16..20] mpid, set_mpid: Mpid, "Participant of the best bid.";
        [32..34] lot, set_lot: u16, "Round lot. Unit: shares.";
        [34..36] change, set_change: i16,
            "A change that can be negative. Since version 2; -7 in values of before.";
        [40..48] updated, set_updated: u64,
            "Time of the last change. In nanoseconds since the UNIX epoch. Absent: 0. Since \
             version 2; absent in values of before.";
        [48..52] price, set_price: Maybe<Price4>,
            "Last price. Since version 2; absent in values of before.";
    }
    arrays {
        [24..32] sizes_at, set_sizes_at, SIZES_COUNT: [u16; 4],
            "Sizes of the first levels. Unit: round lots.";
        [52..55] levels_at, set_levels_at, LEVELS_COUNT: [u8; 3],
            "Numbers without a default. Since version 2; 0 in values of before.";
    }
}
