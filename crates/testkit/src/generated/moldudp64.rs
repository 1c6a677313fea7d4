//! MoldUDP64 1.00: proptest strategies.
//!
//! Written by `cargo xtask gen` from `schema/moldudp64.toml`: edit that, not this.

use nanotape_wire::moldudp64::{
    DownstreamHeaderFields, MessageBlockHeaderFields, RequestPacketFields,
};
use proptest::prelude::*;

use super::value;

fields_strategy! {
    /// [`DownstreamHeaderFields`] with any values.
    pub fn downstream_header() -> DownstreamHeaderFields {
        session: value(),
        sequence_number: value(),
        message_count: value(),
    }
}

fields_strategy! {
    /// [`MessageBlockHeaderFields`] with any values.
    pub fn message_block_header() -> MessageBlockHeaderFields {
        message_length: value(),
    }
}

fields_strategy! {
    /// [`RequestPacketFields`] with any values.
    pub fn request_packet() -> RequestPacketFields {
        session: value(),
        sequence_number: value(),
        requested_message_count: value(),
    }
}
