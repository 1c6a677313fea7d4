//! IEX-TP 1: views, encoders and codes.
//!
//! Written by `cargo xtask gen` from `schema/iex-tp.toml`: edit that, not this.
//! Covers version 1.25 and 1.26.

crate::structure! {
    /// Outbound segment header. The first bytes of every packet from the exchange; the message
    /// blocks follow without gaps. Numbers and times that the specification types as signed are
    /// never negative.
    SegmentHeader / SegmentHeaderFields: 40 bytes little-endian, "Outbound segment header";
    [0] version: u8, "Version of the header, 1.";
    [1] reserved: u8, "Reserved, 0.";
    [2..4] message_protocol_id: u16,
        "Protocol of the messages: 0x8002 TOPS 1.5, 0x8003 TOPS 1.6, 0x8004 DEEP 1.0, 0x8005 DEEP+ \
         1.0.";
    [4..8] channel_id: u32, "Stream of the protocol.";
    [8..12] session_id: u32,
        "Identifies one sequence of messages, together with protocol and channel.";
    [12..14] payload_length: u16, "Bytes after the header.";
    [14..16] message_count: u16, "Message blocks in the packet; 0 is a heartbeat.";
    [16..24] stream_offset: u64, "Bytes of message blocks in the session before this packet.";
    [24..32] first_message_sequence_number: u64,
        "Number of the first message in the packet, from 1. In a packet without messages, the \
         number of the next message.";
    [32..40] send_time: u64, "When the packet was sent, in nanoseconds since the UNIX epoch.";
}

crate::structure! {
    /// Message block header. Precedes each message of a packet. The number of the message is that
    /// of the packet plus its position in the packet.
    MessageBlockHeader / MessageBlockHeaderFields: 2 bytes little-endian, "Message block header";
    [0..2] message_length: u16, "Bytes of the message that follows, without these two; may be 0.";
}
