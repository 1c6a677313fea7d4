//! SoupBinTCP 3.00 to 4.10, with GLIMPSE 5.0: proptest strategies.
//!
//! Written by `cargo xtask gen` from `schema/soupbintcp.toml`: edit that, not this.

use nanotape_wire::soupbintcp::{
    self, ClientHeartbeatFields, DebugTextFields, EndOfSessionFields, GlimpseEndOfSnapshotFields,
    LoginAcceptedFields, LoginRejectedFields, LoginRequestFields, LogoutRequestFields,
    RejectReason, SequencedDataFields, ServerHeartbeatFields, UnsequencedDataFields,
};
use proptest::{prelude::*, strategy::Union};

use super::{code, tail, unlisted, value};

/// The bytes of any message: every listed type, and types that are not listed.
pub fn any_message() -> impl Strategy<Value = Vec<u8>> {
    Union::new([
        debug_text().boxed(),
        login_accepted().prop_map(|fields| fields.encode().to_vec()).boxed(),
        login_rejected().prop_map(|fields| fields.encode().to_vec()).boxed(),
        sequenced_data().boxed(),
        unsequenced_data().boxed(),
        server_heartbeat().prop_map(|fields| fields.encode().to_vec()).boxed(),
        end_of_session().prop_map(|fields| fields.encode().to_vec()).boxed(),
        login_request().boxed(),
        client_heartbeat().prop_map(|fields| fields.encode().to_vec()).boxed(),
        logout_request().prop_map(|fields| fields.encode().to_vec()).boxed(),
        unknown_message().boxed(),
    ])
}

/// The bytes of a message whose type is not listed.
pub fn unknown_message() -> impl Strategy<Value = Vec<u8>> {
    unlisted(soupbintcp::TAG_OFFSET, soupbintcp::TAGS)
}

bytes_strategy! {
    /// The encoded bytes of [`DebugTextFields`] with any values.
    pub fn debug_text() -> DebugTextFields[103] {
    } text: tail(100)
}

fields_strategy! {
    /// [`LoginAcceptedFields`] with any values.
    pub fn login_accepted() -> LoginAcceptedFields {
        session: value(),
        sequence_number: value(),
    }
}

fields_strategy! {
    /// [`LoginRejectedFields`] with any values.
    pub fn login_rejected() -> LoginRejectedFields {
        reject_reason: code(&RejectReason::KNOWN),
    }
}

bytes_strategy! {
    /// The encoded bytes of [`SequencedDataFields`] with any values.
    pub fn sequenced_data() -> SequencedDataFields[103] {
    } message: tail(100)
}

bytes_strategy! {
    /// The encoded bytes of [`UnsequencedDataFields`] with any values.
    pub fn unsequenced_data() -> UnsequencedDataFields[103] {
    } message: tail(100)
}

fields_strategy! {
    /// [`ServerHeartbeatFields`] with any values.
    pub fn server_heartbeat() -> ServerHeartbeatFields {
    }
}

fields_strategy! {
    /// [`EndOfSessionFields`] with any values.
    pub fn end_of_session() -> EndOfSessionFields {
    }
}

bytes_strategy! {
    /// The encoded bytes of [`LoginRequestFields`] with any values.
    pub fn login_request() -> LoginRequestFields[54] {
        username: value(),
        password: value(),
        requested_session: value(),
        requested_sequence_number: value(),
    } heartbeat_timeout: tail(5)
}

fields_strategy! {
    /// [`ClientHeartbeatFields`] with any values.
    pub fn client_heartbeat() -> ClientHeartbeatFields {
    }
}

fields_strategy! {
    /// [`LogoutRequestFields`] with any values.
    pub fn logout_request() -> LogoutRequestFields {
    }
}

fields_strategy! {
    /// [`GlimpseEndOfSnapshotFields`] with any values.
    pub fn glimpse_end_of_snapshot() -> GlimpseEndOfSnapshotFields {
        sequence_number: value(),
    }
}
