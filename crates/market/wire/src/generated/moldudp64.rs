//! MoldUDP64 1.00: views, encoders and codes.
//!
//! Written by `cargo xtask gen` from `schema/moldudp64.toml`: edit that, not this.
//! Covers version 1.00.

use nanotape_types::Alpha;

crate::structure! {
    /// Downstream packet header. The first bytes of every packet from the exchange; the message
    /// blocks follow without gaps.
    DownstreamHeader / DownstreamHeaderFields: 20 bytes, "Downstream packet header";
    [0..10] session: Alpha<10>,
        "Identifies one sequence of messages. It is opaque: compare all ten bytes, padding \
         included.";
    [10..18] sequence_number: u64,
        "Number of the first message in the packet, from 1. In a packet without messages, the \
         number of the next message.";
    [18..20] message_count: u16,
        "Message blocks in the packet: 0 is a heartbeat, 65535 ends the session.";
}

crate::structure! {
    /// Message block header. Precedes each message of a packet. The number of the message is that
    /// of the packet plus its position in the packet.
    MessageBlockHeader / MessageBlockHeaderFields: 2 bytes, "Message block header";
    [0..2] message_length: u16, "Bytes of the message that follows, without these two; may be 0.";
}

crate::structure! {
    /// Request packet. Requests messages again from a re-request server. It has the layout of a
    /// heartbeat; only port and direction distinguish them. The server does not answer a request
    /// that it cannot satisfy.
    RequestPacket / RequestPacketFields: 20 bytes, "Request packet";
    [0..10] session: Alpha<10>, "The session from the packets.";
    [10..18] sequence_number: u64, "Number of the first requested message.";
    [18..20] requested_message_count: u16,
        "Number of requested messages, 1 to 65534; the reply has as many as fit in one packet.";
}
