//! SoupBinTCP 3.00 to 4.10, with GLIMPSE 5.0: views, encoders and codes.
//!
//! Written by `cargo xtask gen` from `schema/soupbintcp.toml`: edit that, not this.
//! Covers version 3.00, 4.00 (unsequenced data from the server), 4.10 (heartbeat timeout in the
//! login); GLIMPSE 5.0 for ITCH 5.0.

use nanotape_types::Alpha;

/// Writes a table of this protocol, after the fields that every message begins with.
macro_rules! with_head {
    ($table:ident: $($rows:tt)*) => {
        crate::$table! {
            head {
                [0..2] packet_length: LengthAfter,
                    "Bytes that follow these two, the type byte included; at least 1.";
            }
            $($rows)*
        }
    };
}

with_head! { messages:
    type at 2;
    messages {
        DebugText, "`+` Debug.";
        LoginAccepted, "`A` Login Accepted.";
        LoginRejected, "`J` Login Rejected.";
        SequencedData, "`S` Sequenced Data.";
        UnsequencedData, "`U` Unsequenced Data.";
        ServerHeartbeat, "`H` Server Heartbeat.";
        EndOfSession, "`Z` End of Session.";
        LoginRequest, "`L` Login Request.";
        ClientHeartbeat, "`R` Client Heartbeat.";
        LogoutRequest, "`O` Logout Request.";
    }
    shared {}
}

with_head! { message:
    /// `+` Debug. Text for users. Either side may send it, and neither side acts on it.
    DebugText / DebugTextFields: 3 bytes, type b'+' at 2, "Debug";
    [3..] text: Text, "The text.";
}

with_head! { message:
    /// `A` Login Accepted. The server accepted the login; sequenced data begins.
    LoginAccepted / LoginAcceptedFields: 33 bytes, type b'A' at 2, "Login Accepted";
    [3..13] session: Alpha<10>, "Session that was joined; compare without padding.";
    [13..33] sequence_number: Alpha<20>,
        "Decimal number of the next sequenced data packet, padded on the left.";
}

with_head! { message:
    /// `J` Login Rejected. The server refused the login and closes the connection.
    LoginRejected / LoginRejectedFields: 4 bytes, type b'J' at 2, "Login Rejected";
    [3] reject_reason: RejectReason, "Reason.";
}

with_head! { message:
    /// `S` Sequenced Data. One message of the session. It does not contain its number, which is one
    /// more than that of the previous packet of this type.
    SequencedData / SequencedDataFields: 3 bytes, type b'S' at 2, "Sequenced Data";
    [3..] message: Bytes, "The message.";
}

with_head! { message:
    /// `U` Unsequenced Data. One message without a number, lost if the connection breaks. The
    /// client sends it, and since 4.00 also the server.
    UnsequencedData / UnsequencedDataFields: 3 bytes, type b'U' at 2, "Unsequenced Data";
    [3..] message: Bytes, "The message.";
}

with_head! { message:
    /// `H` Server Heartbeat. The server had nothing to send for a second.
    ServerHeartbeat / ServerHeartbeatFields: 3 bytes, type b'H' at 2, "Server Heartbeat";
}

with_head! { message:
    /// `Z` End of Session. The session has no more messages; the server closes the connection. A
    /// connection that ends without it is broken.
    EndOfSession / EndOfSessionFields: 3 bytes, type b'Z' at 2, "End of Session";
}

with_head! { message:
    /// `L` Login Request. First packet of the client, within about 30 seconds after it connects.
    LoginRequest / LoginRequestFields: 49 bytes, type b'L' at 2, "Login Request";
    [3..9] username: Alpha<6>, "Username, padded on the right; case does not matter.";
    [9..19] password: Alpha<10>, "Password, padded on the right; case does not matter.";
    [19..29] requested_session: Alpha<10>, "Session to join; blank is the current one.";
    [29..49] requested_sequence_number: Alpha<20>,
        "Decimal number of the next requested message, padded on the left: 1 starts at the \
         beginning, 0 at the newest.";
    [49.. max 5] heartbeat_timeout: Text, "Decimal milliseconds, padded on the left; only in 4.10.";
}

with_head! { message:
    /// `R` Client Heartbeat. The client had nothing to send for a second.
    ClientHeartbeat / ClientHeartbeatFields: 3 bytes, type b'R' at 2, "Client Heartbeat";
}

with_head! { message:
    /// `O` Logout Request. The client has finished; the server closes the connection.
    LogoutRequest / LogoutRequestFields: 3 bytes, type b'O' at 2, "Logout Request";
}

crate::structure! {
    /// `G` GLIMPSE End of Snapshot. Last message of a snapshot, in a sequenced data packet among
    /// messages of ITCH, but without their head.
    GlimpseEndOfSnapshot / GlimpseEndOfSnapshotFields: 21 bytes, type b'G' at 0,
        "GLIMPSE End of Snapshot";
    [1..21] sequence_number: Alpha<20>,
        "Decimal number of the first ITCH message to apply after the snapshot.";
}

crate::enumeration! {
    /// Reason why the server refused a login; the server then closes the connection.
    RejectReason {
        'A' => NotAuthorised, "Username or password is not accepted.";
        'S' => SessionNotAvailable, "The requested session is not available.";
    }
}
