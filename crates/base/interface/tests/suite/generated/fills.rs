//! Fills: trait, writer and dispatcher.
//!
//! Written by `cargo xtask gen` from `schema/testing/fills.toml`: edit that, not this.
//! Version 2.

use nanotape_interface::types::{Alpha, Price4, StockLocate};

nanotape_interface::interface! {
    /// Fills. Executions of our own orders.
    Fills / FillsWriter;

    /// Shares were bought or sold.
    0x0001 filled: 14 bytes, earlier [10] {
        constants {}
        fields {
            [0..2] stock_locate: StockLocate, "The stock.";
            [2..6] shares: i32, "Shares; negative if they were sold.";
            [6..10] price: Price4, "The price of a share.";
            [10..14] fee: u32, since 2 else number(100), "The fee. Unit: cents.";
        }
        tail {}
    }

    /// A desk has a note about a stock.
    0x0002 noted: 16 bytes {
        constants {}
        fields {
            [0..2] stock_locate: StockLocate, "The stock.";
            [4..8] change: i32, "The change. Unit: shares.";
            [8..16] desk: Alpha<8>, "The desk.";
        }
        tail {
            [16..] text max 80, offset at 2, "The text.";
        }
    }
}
