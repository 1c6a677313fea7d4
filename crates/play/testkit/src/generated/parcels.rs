//! Parcels: views, encoders and codes.
//!
//! Written by `cargo xtask gen` from `schema/testing/parcels.toml`: edit that, not this.
//! Covers version 3.

use nanotape_types::{Alpha, Decimal, NanosOffset, NanosSinceEpoch, Nullable, SecondsSinceEpoch};

/// Writes a table of this protocol, after the fields that every message begins with.
macro_rules! with_head {
    ($table:ident: $($rows:tt)*) => {
        nanotape_wire::$table! {
            head {
                [0..2] message_length: MessageLength, "Bytes of the message, these two included.";
                [2..4] block_length: BlockLength<8>, "Bytes of the fields after the head.";
                [6..8] schema_version: u16, "Version of the sender.";
            }
            $($rows)*
        }
    };
}

with_head! { messages:
    type as u16 little-endian at 4;
    messages {
        Posted, "`7` Posted.";
        Opened, "`300` Opened.";
        Nothing, "`12` Nothing.";
    }
    shared {
        weight: Decimal<u16, 2> { Posted, Opened }
    }
}

with_head! { message:
    /// `7` Posted. A parcel was posted.
    Posted / PostedFields: 55 bytes little-endian, growing, type 7 as u16 at 4, "Posted";
    [8..16] posted_at: NanosSinceEpoch, "When.";
    [16..20] sorted_after: NanosOffset, "How long the sorting took.";
    [20..22] weight: Decimal<u16, 2>, "Its weight.";
    [22..30] postage: Decimal<i64, 4>, "What was paid, or paid back.";
    [30] handling: Handling, "How to handle it.";
    [31] one: i8, "A signed byte.";
    [32..34] two: i16, "Two of them.";
    [34..38] four: i32, "Four of them.";
    [38..46] eight: i64, "Eight of them.";
    [46] zone: Nullable<u8, 0xff>, "Its zone, if it has one.";
    [47..49] stamps: Stamps, "Its stamps.";
    [49] shift: Nullable<i8, 0x80>, "A signed number or none.";
    [50..54] address: Alpha<4>, "Where it goes.";
    [54] country: Zone, "How far that is.";
    [55..59] insurance: Option<u32>, "The insured value, since version 2.";
}

with_head! { message:
    /// `300` Opened. A parcel was opened: what was in it, and where it had been.
    Opened / OpenedFields: 10 bytes little-endian, growing, type 300 as u16 at 4, "Opened";
    [8..10] weight: Decimal<u16, 2>, "Its weight.";
    groups {
        items: ShortGroup of Item, "What was in it.";
        stops: LongGroup of Stop, "Where it had been.";
    }
}

with_head! { message:
    /// `12` Nothing. Nothing happened.
    Nothing / NothingFields: 8 bytes little-endian, growing, type 12 as u16 at 4, "Nothing";
}

nanotape_wire::structure! {
    /// Short group header. Precedes the entries of a group.
    ShortGroup / ShortGroupFields: 3 bytes little-endian, "Short group header";
    [0..2] block_length: u16, "Bytes of the fields of an entry.";
    [2] count: u8, "Entries.";
}

nanotape_wire::group_header! { ShortGroup }

nanotape_wire::structure! {
    /// Long group header. The same, with padding.
    LongGroup / LongGroupFields: 8 bytes little-endian, "Long group header";
    [0..2] block_length: u16, "Bytes of the fields of an entry.";
    [2..6] padding: Alpha<4>, "Not used.";
    [6..8] count: u16, "Entries.";
}

nanotape_wire::group_header! { LongGroup }

nanotape_wire::entry! {
    /// Item. One thing in a parcel.
    Item / ItemFields: 9 bytes little-endian, "Item";
    [0..8] value: Nullable<Decimal<i64, 9>, 0x7fff_ffff_ffff_ffff>,
        "Value of the thing, if it is known.";
    [8] size: Size, "Its size.";
    [9..13] pieces: Option<Nullable<i32, 0x7fff_ffff>>, "Pieces, since version 2.";
}

nanotape_wire::entry! {
    /// Stop. A place where the parcel was.
    Stop / StopFields: 4 bytes little-endian, "Stop";
    [0..4] arrival: SecondsSinceEpoch, "When it arrived.";
    groups {
        unloaded: ShortGroup of Item, "What was taken out there.";
    }
}

nanotape_wire::enumeration! {
    /// Size of a parcel.
    Size {
        'L' => Large, "Two people carry it.";
        'S' => Small, "One person carries it.";
    }
}

nanotape_wire::enumeration! {
    /// Where a parcel goes, as a number.
    Zone as u8 {
        0 => Near, "The same town.";
        200 => Far, "Another country.";
    }
}

nanotape_wire::bits! {
    /// How to handle a parcel.
    Handling: u8 {
        0 => FRAGILE, is_fragile, "fragile", "Do not drop it.";
        7 => LAST_OF_EVENT, is_last_of_event, "last_of_event",
            "No other parcel of the event follows.";
    }
}

nanotape_wire::bits! {
    /// Stamps on a parcel.
    Stamps: u16 {
        9 => CUSTOMS, is_customs, "customs", "Customs have seen it.";
    }
}
