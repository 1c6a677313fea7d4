//! Greetings, version 1: trait, writer and dispatcher.
//!
//! Written by `cargo xtask gen` from `schema/testing/greetings-1.toml`: edit that, not this.
//! Version 1.

use nanotape_interface::types::{Alpha, Price4, StockLocate};

nanotape_interface::interface! {
    /// Greetings, version 1. What people say to each other.
    Greetings / GreetingsWriter;

    /// Two people met.
    0x0101 met: 14 bytes {
        constants {}
        fields {
            [0..2] stock_locate: StockLocate, "The stock.";
            [2..6] price: Price4, "A price across no word.";
            [6..14] count: u64, "A number across two words.";
        }
        tail {}
    }

    /// A person said something.
    0x0102 said: 16 bytes {
        constants {
            [12..16] reserved: u32 = number(0), "Zero.";
        }
        fields {
            [0..6] who: Alpha<6>, "A name.";
            [8..12] loudness: i32, "How loud. Unit: decibels.";
        }
        tail {
            [16..] text max 40, offset at 6, "What was said.";
        }
    }
}
