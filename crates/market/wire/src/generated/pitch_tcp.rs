//! Cboe US Equities Multicast PITCH 2.x on TCP: views, encoders and codes.
//!
//! Written by `cargo xtask gen` from `schema/cboe-pitch-tcp.toml`: edit that, not this.
//! Covers version 2.41.64.

use nanotape_types::Alpha;

pub use super::pitch::{
    AddFlags, AddOrderExpanded, AddOrderExpandedFields, AddOrderLong, AddOrderLongFields,
    AddOrderShort, AddOrderShortFields, CustomerIndicator, RegShoAction, SideIndicator, Time,
    TimeFields, TradingStatus, TradingStatusCode, TradingStatusFields,
};

/// Writes a table of this protocol, after the fields that every message begins with.
macro_rules! with_head {
    ($table:ident: $($rows:tt)*) => {
        crate::$table! {
            head {
                [0] length: MessageLength, "Bytes of the message, this one included.";
            }
            $($rows)*
        }
    };
}

with_head! { messages:
    type as u8 little-endian at 1;
    messages {
        Time, "`0x20` Time.";
        AddOrderLong, "`0x21` Add Order (long).";
        AddOrderShort, "`0x22` Add Order (short).";
        AddOrderExpanded, "`0x2f` Add Order (expanded).";
        TradingStatus, "`0x31` Trading Status.";
        LoginRequest, "`0x01` Login.";
        LoginResponse, "`0x02` Login Response.";
        GapRequest, "`0x03` Gap Request.";
        GapResponse, "`0x04` Gap Response.";
        SpinImageAvailable, "`0x80` Spin Image Available.";
        SpinRequest, "`0x81` Spin Request.";
        SpinResponse, "`0x82` Spin Response.";
        SpinFinished, "`0x83` Spin Finished.";
    }
    shared {}
}

with_head! { message:
    /// `0x01` Login. First message of the client.
    LoginRequest / LoginRequestFields: 22 bytes little-endian, growing, type 0x01 as u8 at 1,
        "Login";
    [2..6] session_sub_id: Alpha<4>, "Session.";
    [6..10] username: Alpha<4>, "Username.";
    [10..12] filler: Alpha<2>, "Spaces.";
    [12..22] password: Alpha<10>, "Password.";
}

with_head! { message:
    /// `0x02` Login Response. Answer of the server.
    LoginResponse / LoginResponseFields: 3 bytes little-endian, growing, type 0x02 as u8 at 1,
        "Login Response";
    [2] login_status: LoginStatus, "The answer.";
}

with_head! { message:
    /// `0x03` Gap Request. Requests missed messages of a unit.
    GapRequest / GapRequestFields: 9 bytes little-endian, growing, type 0x03 as u8 at 1,
        "Gap Request";
    [2] unit: u8, "Matching unit.";
    [3..7] sequence_number: u32, "Number of the first missed message.";
    [7..9] message_count: u16, "Number of missed messages.";
}

with_head! { message:
    /// `0x04` Gap Response. Answer to a request. The messages themselves come on multicast groups.
    GapResponse / GapResponseFields: 10 bytes little-endian, growing, type 0x04 as u8 at 1,
        "Gap Response";
    [2] unit: u8, "Matching unit.";
    [3..7] sequence_number: u32, "Number from the request.";
    [7..9] message_count: u16, "Count from the request.";
    [9] gap_status: GapStatus, "The answer.";
}

with_head! { message:
    /// `0x80` Spin Image Available. The server has an image of all open orders. Sent about every
    /// second.
    SpinImageAvailable / SpinImageAvailableFields: 6 bytes little-endian,
        growing, type 0x80 as u8 at 1, "Spin Image Available";
    [2..6] sequence_number: u32, "Number of the last message that the image has.";
}

with_head! { message:
    /// `0x81` Spin Request. Requests an image.
    SpinRequest / SpinRequestFields: 6 bytes little-endian, growing, type 0x81 as u8 at 1,
        "Spin Request";
    [2..6] sequence_number: u32, "Number from a Spin Image Available.";
}

with_head! { message:
    /// `0x82` Spin Response. Answer to a request. After it come messages without numbers: times,
    /// orders and trading statuses.
    SpinResponse / SpinResponseFields: 11 bytes little-endian, growing, type 0x82 as u8 at 1,
        "Spin Response";
    [2..6] sequence_number: u32, "Number from the request.";
    [6..10] order_count: u32, "Orders in the image.";
    [10] spin_status: SpinStatus, "The answer.";
}

with_head! { message:
    /// `0x83` Spin Finished. The image is complete. Messages up to this number are in it; apply the
    /// later ones.
    SpinFinished / SpinFinishedFields: 6 bytes little-endian, growing, type 0x83 as u8 at 1,
        "Spin Finished";
    [2..6] sequence_number: u32, "Number of the last message that the image has.";
}

crate::enumeration! {
    /// Answer to a login.
    LoginStatus {
        'A' => Accepted, "Accepted.";
        'N' => NotAuthorised, "Username or password is not accepted.";
        'B' => InUse, "The session is in use.";
        'S' => InvalidSession, "There is no such session.";
    }
}

crate::enumeration! {
    /// Answer to a request for missed messages.
    GapStatus {
        'A' => Accepted, "Accepted: the messages come on the gap response groups.";
        'O' => OutOfRange, "The messages are too old, or not sent yet.";
        'D' => DayLimit, "Too many requests this day.";
        'M' => MinuteLimit, "Too many requests this minute.";
        'S' => SecondLimit, "Too many requests this second.";
        'C' => CountLimit, "Too many messages in one request.";
        'I' => InvalidUnit, "There is no such unit.";
        'U' => Unavailable, "The unit is not available.";
    }
}

crate::enumeration! {
    /// Answer to a request for an image.
    SpinStatus {
        'A' => Accepted, "Accepted.";
        'O' => OutOfRange, "There is no image for this number.";
        'S' => InProgress, "An image is being sent.";
    }
}
