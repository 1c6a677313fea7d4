//! Positions: trait, writer and dispatcher.
//!
//! Written by `cargo xtask gen` from `schema/example-positions.toml`: edit that, not this.
//! Version 1.

use nanotape::interface::types::StockLocate;

nanotape::interface::interface! {
    /// Positions. What we own after each fill. Each message has the number of the fill that caused
    /// it.
    Positions / PositionsWriter;

    /// The position of a stock is another one.
    0x0011 changed: 32 bytes {
        constants {
            [10..12] reserved: u16 = number(0), "Zero.";
        }
        fields {
            [0..8] cause: u64, "The number of the fill.";
            [8..10] stock_locate: StockLocate, "The stock.";
            [12..16] fills: u32, "Fills of this stock so far.";
            [16..24] shares: i64, "Shares that we own; negative if we owe them.";
            [24..32] cash: i64,
                "What these fills brought in, less what they cost. Unit: 0.0001 of the currency.";
        }
        tail {}
    }

    /// All fills of the day are in the positions.
    0x0012 day_ended: 16 bytes {
        constants {}
        fields {
            [0..8] cause: u64, "The number of the fill.";
            [8..16] stocks: u64, "Stocks with fills.";
        }
        tail {}
    }
}
