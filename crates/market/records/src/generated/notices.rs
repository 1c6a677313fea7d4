//! Notices: trait, writer and dispatcher.
//!
//! Written by `cargo xtask gen` from `schema/notices.toml`: edit that, not this.
//! Version 1.

nanotape_interface::interface! {
    /// Notices. Records of nanotape for facts that DBN cannot express, such as a gap, a tainted
    /// book, the start and the stop of a plant. The page records.md says when a plant publishes
    /// them. Types 0xfff0 to 0xffff are reserved for notices.
    Notices / NoticesWriter;

    /// A part of the input is missing, or could not be read.
    0xfff0 gap: 56 bytes {
        constants {
            [0..1] length: u8 = number(14), "Of DBN: bytes of the record, in units of four.";
            [1..2] rtype: u8 = number(240), "Of DBN: the low byte of the number.";
            [4..8] instrument_id: u32 = number(0), "No stock.";
            [8..16] ts_event: u64 = number(0xffffffffffffffff), "Undefined.";
            [28..32] kind_high: u32 = number(0), "Reserved.";
        }
        fields {
            [2..4] publisher_id: u16,
                "Of DBN: the number of the feed and the venue; 2 is Nasdaq TotalView-ITCH.";
            [16..24] ts_recv: u64,
                "When the plant detected the gap. Unit: ns since the UNIX epoch.";
            [24..28] kind: u32,
                "0 the stated length of a record is wrong, and its message was delivered; 1 a type \
                 was wrong, and the message was skipped; 2 bytes were skipped; 3 the input ends \
                 inside a record, or a read failed; 4 a packet of a session or of a capture was \
                 dropped; 5 messages of a session are missing.";
            [32..40] offset: u64,
                "Offset of the gap in the decompressed input; for kind 5, and for kind 1 in a \
                 session, a sequence number: of the first missing message, or of the skipped \
                 one.";
            [40..48] lost_bytes: u64,
                "Bytes that were skipped; for kind 5 the number of missing messages; for kind 3 \
                 the bytes present of the last record, 0 if a read failed after a whole record.";
            [48..56] after_message: u64, "Number of the last message before it.";
        }
        tail {}
    }

    /// A message did not fit the book of a stock, or a snapshot of the exchange differs from it.
    0xfff1 taint: 40 bytes {
        constants {
            [0..1] length: u8 = number(10), "Of DBN: bytes of the record, in units of four.";
            [1..2] rtype: u8 = number(241), "Of DBN: the low byte of the number.";
        }
        fields {
            [2..4] publisher_id: u16,
                "Of DBN: the number of the feed and the venue; 2 is Nasdaq TotalView-ITCH.";
            [4..8] instrument_id: u32, "The stock.";
            [8..16] ts_event: u64, "Of the message. Unit: ns since the UNIX epoch.";
            [16..24] ts_recv: u64, "Receive time of the message. Unit: ns since the UNIX epoch.";
            [24..32] anomaly: u64,
                "0 unknown reference, 1 duplicate reference, 2 over-execution, 3 over-cancel, 4 no \
                 shares, 5 another locate, 6 unknown side, 7 messages were missed: a snapshot \
                 differs from the book, 8 a price that no book can have; a greater number belongs \
                 to a later version.";
            [32..40] message: u64,
                "Number of the message in 64 bits; for anomaly 7 the last message before the \
                 snapshot.";
        }
        tail {}
    }

    /// A plant begins. All books are empty, and all earlier names and states are invalid.
    0xfff2 start: 48 bytes {
        constants {
            [0..1] length: u8 = number(12), "Of DBN: bytes of the record, in units of four.";
            [1..2] rtype: u8 = number(242), "Of DBN: the low byte of the number.";
            [4..8] instrument_id: u32 = number(0), "No stock.";
            [8..16] ts_event: u64 = number(0xffffffffffffffff), "Undefined.";
            [37..38] kinds_low: u8 = number(0), "Reserved.";
            [38..40] kinds_high: u16 = number(0), "Reserved.";
        }
        fields {
            [2..4] publisher_id: u16,
                "Of DBN: the number of the feed and the venue; 2 is Nasdaq TotalView-ITCH.";
            [16..24] started_ns: u64, "Start time. Unit: ns since the UNIX epoch.";
            [24..32] midnight_ns: u64,
                "The exchange's midnight of the trade date. Unit: ns since the UNIX epoch.";
            [32..36] date: u32, "The trade date as the number YYYYMMDD.";
            [36..37] kinds: u8,
                "The published kinds, as a sum: 1 mbo, 2 bbo, 4 trades, 8 status, 16 definitions, \
                 32 imbalances.";
            [40..44] predecessor: u32,
                "How the previous plant on this ring ended: 0 there was none, 1 it stopped \
                 normally, 2 it was killed.";
            [44..48] pace_milli: u32,
                "The pace, in thousandths of recorded time per time; 0 full speed.";
        }
        tail {}
    }

    /// A plant stops normally. A killed plant leaves no stop, and the next start reports it.
    0xfff3 stop: 72 bytes {
        constants {
            [0..1] length: u8 = number(18), "Of DBN: bytes of the record, in units of four.";
            [1..2] rtype: u8 = number(243), "Of DBN: the low byte of the number.";
            [4..8] instrument_id: u32 = number(0), "No stock.";
            [28..32] reason_high: u32 = number(0), "Reserved.";
        }
        fields {
            [2..4] publisher_id: u16,
                "Of DBN: the number of the feed and the venue; 2 is Nasdaq TotalView-ITCH.";
            [8..16] ts_event: u64,
                "Of the last message that had a time; 0 if there was none. Unit: ns since the UNIX \
                 epoch.";
            [16..24] stopped_ns: u64, "Stop time. Unit: ns since the UNIX epoch.";
            [24..28] reason: u32,
                "0 end of the input, 1 end of session, 2 the input is cut off, 3 stopped on \
                 request, 4 the configured end time was reached, 5 a read of the input failed, 6 \
                 its program abandoned it, 7 its ring or board was removed, replaced or truncated, \
                 8 its recorder failed, 9 its schedule ended before the session.";
            [32..40] messages: u64, "Messages read.";
            [40..48] records: u64, "Records published in this run, including start and stop.";
            [48..56] damaged: u64, "Gaps.";
            [56..64] anomalies: u64,
                "Anomalies in all stocks, published or not; two for one message if a replace names \
                 another stock and its new order is refused.";
            [64..72] digest: u64, "The digest of the records of all stocks in this run.";
        }
        tail {}
    }

    /// Messages of a live session are missing on every line. Published when the gap is declared,
    /// and again when it is closed. Until then later messages are not published.
    0xfff4 session_gap: 120 bytes {
        constants {
            [0..1] length: u8 = number(30), "Of DBN: bytes of the record, in units of four.";
            [1..2] rtype: u8 = number(244), "Of DBN: the low byte of the number.";
            [4..8] instrument_id: u32 = number(0), "No stock.";
            [8..16] ts_event: u64 = number(0xffffffffffffffff), "Undefined.";
            [57..58] seen_by_low: u8 = number(0), "Reserved.";
            [58..60] seen_by_high: u16 = number(0), "Reserved.";
        }
        fields {
            [2..4] publisher_id: u16,
                "Of DBN: the number of the feed and the venue; 2 is Nasdaq TotalView-ITCH.";
            [16..24] ts_recv: u64, "When the plant reported it. Unit: ns since the UNIX epoch.";
            [24..32] first: u64, "Number of the first missing message.";
            [32..40] next: u64, "Number of the first message after them.";
            [40..48] seen_ns: u64,
                "When a later message showed the gap. Unit: ns since the UNIX epoch.";
            [48..56] closed_ns: u64,
                "When the last message came or was given up; 0: the gap is open. Unit: ns since \
                 the UNIX epoch.";
            [56..57] seen_by: u8,
                "The line of the later message: 0 is A, 255 the re-request server.";
            [60..64] requests: u32,
                "Requests that were made, also of messages that a SoupBinTCP server sent instead.";
            [64..72] line_a: u64, "Messages brought late by line A.";
            [72..80] line_b: u64, "Messages brought late by line B.";
            [80..88] line_c: u64, "Messages brought late by line C.";
            [88..96] line_d: u64, "Messages brought late by line D.";
            [96..104] retransmitted: u64, "Messages sent again on request.";
            [104..112] snapshot: u64, "Messages contained in a snapshot.";
            [112..120] lost: u64, "Messages lost.";
        }
        tail {}
    }

    /// Any book may lack messages from now on. For a gap that is filled nothing wrong is published;
    /// a loss also gives a gap notice of kind 5, and from then on all records have MAYBE_BAD_BOOK.
    0xfff5 suspect: 48 bytes {
        constants {
            [0..1] length: u8 = number(12), "Of DBN: bytes of the record, in units of four.";
            [1..2] rtype: u8 = number(245), "Of DBN: the low byte of the number.";
            [4..8] instrument_id: u32 = number(0), "No stock.";
            [8..16] ts_event: u64 = number(0xffffffffffffffff), "Undefined.";
            [28..32] reason_high: u32 = number(0), "Reserved.";
        }
        fields {
            [2..4] publisher_id: u16,
                "Of DBN: the number of the feed and the venue; 2 is Nasdaq TotalView-ITCH.";
            [16..24] ts_recv: u64, "When the plant reported it. Unit: ns since the UNIX epoch.";
            [24..28] reason: u32, "0 a gap, 1 the session had begun before it was joined.";
            [32..40] first: u64, "Number of the first missing message.";
            [40..48] next: u64, "Number of the first message after them.";
        }
        tail {}
    }

    /// A book is reliable again, or all of them.
    0xfff6 restored: 40 bytes {
        constants {
            [0..1] length: u8 = number(10), "Of DBN: bytes of the record, in units of four.";
            [1..2] rtype: u8 = number(246), "Of DBN: the low byte of the number.";
            [28..32] cause_high: u32 = number(0), "Reserved.";
        }
        fields {
            [2..4] publisher_id: u16,
                "Of DBN: the number of the feed and the venue; 2 is Nasdaq TotalView-ITCH.";
            [4..8] instrument_id: u32, "The stock; 0 all stocks.";
            [8..16] ts_event: u64, "Of the last message. Unit: ns since the UNIX epoch.";
            [16..24] ts_recv: u64, "When the plant reported it. Unit: ns since the UNIX epoch.";
            [24..28] cause: u32,
                "0 all stocks: the missing messages came, and tainted stocks stay tainted; 1 one \
                 stock: its book is that of the snapshot; 2 one stock: its book was replaced; 3 \
                 all stocks: every book is that of the snapshot, and no stock is tainted but those \
                 of the taints that follow at once.";
            [32..40] next: u64, "Number of the next message.";
        }
        tail {}
    }
}
