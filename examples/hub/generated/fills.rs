//! Fills: trait, writer and dispatcher.
//!
//! Written by `cargo xtask gen` from `schema/example-fills.toml`: edit that, not this.
//! Version 1.

use nanotape::interface::types::{Price4, StockLocate};

nanotape::interface::interface! {
    /// Fills. Executions of our own orders, as a gateway reports them.
    Fills / FillsWriter;

    /// Shares were bought or sold.
    0x0001 filled: 10 bytes {
        constants {}
        fields {
            [0..2] stock_locate: StockLocate, "The stock.";
            [2..6] shares: i32, "Shares; negative if they were sold.";
            [6..10] price: Price4, "The price of a share.";
        }
        tail {}
    }

    /// No fill comes after this one.
    0x0002 day_ended: 0 bytes {
        constants {}
        fields {}
        tail {}
    }
}
