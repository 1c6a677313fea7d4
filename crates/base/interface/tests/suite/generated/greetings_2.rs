//! Greetings, version 2: trait, writer and dispatcher.
//!
//! Written by `cargo xtask gen` from `schema/testing/greetings-2.toml`: edit that, not this.
//! Version 3.

use nanotape_interface::types::{
    Alpha, MatchNumber, Maybe, Mpid, NanosSinceMidnight, OrderReferenceNumber, Price4, Price8,
    SecondsSinceMidnight, Shares, StockLocate, Symbol, TotalShares, TrackingNumber,
};

nanotape_interface::interface! {
    /// Greetings, version 2. What people say to each other.
    Greetings / GreetingsWriter;

    /// Two people met.
    0x0101 met: 36 bytes, earlier [14, 31] {
        constants {
            [33..36] hint: Alpha<3> = text("abc"), "A constant.";
        }
        fields {
            [0..2] stock_locate: StockLocate, "The stock.";
            [2..6] price: Price4, "A price across no word.";
            [6..14] count: u64, "A number across two words.";
            [14..18] shares: Shares, since 2 else number(100), "Shares.";
            [18..31] place: Alpha<13>, since 2 else text("here"), "Text across three words.";
            [31..33] balance: i16, since 3 else number(0xfffffffffffffff9), "A negative default.";
        }
        tail {}
    }

    /// A person said something.
    0x0102 said: 24 bytes, earlier [16] {
        constants {
            [12..16] reserved: u32 = number(0), "Zero.";
        }
        fields {
            [0..6] who: Alpha<6>, "A name.";
            [8..12] loudness: i32, "How loud. Unit: decibels.";
            [16..22] time: NanosSinceMidnight, since 2 else number(0), "When.";
            [22..24] reply_to: u16, since 2 else number(65535), "To what.";
        }
        tail {
            [24..] text max 40, offset at 6, "What was said.";
        }
    }

    /// Nothing but the number. Since version 2.
    0x0103 left: 0 bytes {
        constants {}
        fields {}
        tail {}
    }

    /// Every type of field. Since version 3.
    0x0104 everything: 128 bytes {
        constants {}
        fields {
            [0..1] one: u8, "One byte.";
            [1..3] two: u16, "Two bytes.";
            [3..7] four: u32, "Four bytes.";
            [7..15] eight: u64, "Eight bytes.";
            [15..16] signed_one: i8, "One byte.";
            [16..18] signed_two: i16, "Two bytes.";
            [18..22] signed_four: i32, "Four bytes.";
            [22..30] signed_eight: i64, "Eight bytes.";
            [30..32] tracking_number: TrackingNumber, "A number.";
            [32..40] order: OrderReferenceNumber, "An order.";
            [40..48] maybe_order: Maybe<OrderReferenceNumber>, "An order or none.";
            [48..56] match_number: MatchNumber, "A match.";
            [56..64] total_shares: TotalShares, "Many shares.";
            [64..68] maybe_price: Maybe<Price4>, "A price or none.";
            [68..76] index_level: Price8, "A price with eight decimals.";
            [76..80] seconds: SecondsSinceMidnight, "A time.";
            [80..88] stock: Symbol, "A symbol.";
            [88..92] mpid: Mpid, "A participant.";
            [92..126] note: Alpha<34>, "A long text.";
        }
        tail {
            [128..] rest max 0xffff_ffff, offset at 126, "Any bytes.";
        }
    }
}
