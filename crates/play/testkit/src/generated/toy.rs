//! Toy protocol: views, encoders and codes.
//!
//! Written by `cargo xtask gen` from `schema/testing/toy.toml`: edit that, not this.
//! Covers version 1.

use nanotape_types::{
    Alpha, MatchNumber, Maybe, Mpid, NanosSinceMidnight, OrderReferenceNumber, Price4, Price8,
    SecondsSinceMidnight, Shares, StockLocate, Symbol, TotalShares, TrackingNumber,
};

/// Writes a table of this protocol, after the fields that every message begins with.
macro_rules! with_head {
    ($table:ident: $($rows:tt)*) => {
        nanotape_wire::$table! {
            head {
                [1..3] stock_locate: StockLocate, "The stock.";
                [3..9] timestamp: NanosSinceMidnight, "When.";
            }
            $($rows)*
        }
    };
}

with_head! { messages:
    type at 0;
    messages {
        EveryWidth, "`w` Every Width.";
        HeadOnly, "`'` Head Only.";
        Note, "`n` Note.";
    }
    shared {
        stock: Symbol { EveryWidth, Note }
    }
}

with_head! { message:
    /// `w` Every Width. All types of fixed width.
    EveryWidth / EveryWidthFields: 118 bytes, type b'w' at 0, "Every Width";
    [9] one: u8, "One byte.";
    [10..12] two: u16, "Two bytes.";
    [12..16] four: u32, "Four bytes.";
    [16..24] eight: u64, "Eight bytes.";
    [24..26] tracking_number: TrackingNumber, "A number.";
    [26..34] order_reference_number: OrderReferenceNumber, "An order.";
    [34..42] maybe_order: Maybe<OrderReferenceNumber>, "An order or none.";
    [42..50] match_number: MatchNumber, "A match.";
    [50..54] shares: Shares, "Shares.";
    [54..62] total_shares: TotalShares, "Many shares.";
    [62..66] price: Price4, "A price.";
    [66..70] maybe_price: Maybe<Price4>, "A price or none.";
    [70..78] index_level: Price8, "A price with eight decimals.";
    [78..82] seconds: SecondsSinceMidnight, "A time.";
    [82..86] maybe_seconds: Maybe<SecondsSinceMidnight>, "A time or none.";
    [86..94] stock: Symbol, "A symbol.";
    [94..98] mpid: Mpid, "A participant.";
    [98..115] note: Alpha<17>, "Some text.";
    [115..117] mood: Alpha<2>, "A code of two characters. Codes: Mood in the document.";
    [117] colour: Colour, "A code of one.";
}

with_head! { message:
    /// `'` Head Only. Nothing but the head, and a tag that must be escaped in source text.
    HeadOnly / HeadOnlyFields: 9 bytes, type b'\'' at 0, "Head Only";
}

with_head! { message:
    /// `n` Note. Text of any length up to a limit, for one stock.
    Note / NoteFields: 19 bytes, type b'n' at 0, "Note";
    [9..17] stock: Symbol, "A symbol.";
    [17..19] text_length: LengthAfter, "Bytes of the text.";
    [19.. max 12] text: Text, "The text.";
}

nanotape_wire::structure! {
    /// Envelope. Stands before the messages of a packet.
    Envelope / EnvelopeFields: 3 bytes, "Envelope";
    [0..2] count: u16, "Messages.";
    [2] colour: Colour, "Colour of the envelope.";
}

nanotape_wire::enumeration! {
    /// Colour of the light.
    Colour {
        'R' => Red, "Stop.";
        'G' => Green, "Go.";
        ' ' => Off, "No light.";
    }
}
