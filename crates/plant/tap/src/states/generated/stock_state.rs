//! State of a stock: a value of a map.
//!
//! Written by `cargo xtask gen` from `schema/stock-state.toml`: edit that, not this.
//! Version 1.

use nanotape_latest::types::Alpha;

nanotape_latest::value! {
    /// State of a stock. The newest state of a stock, from the records of a plant, in a map
    /// (latest.md). A key is two words: the publisher as DBN numbers it, 2 for Nasdaq
    /// TotalView-ITCH, and the eight letters of the symbol, padded with spaces, the first letter in
    /// the lowest byte. The symbol * is the market as a whole: its entry has the sums of all
    /// stocks, the state of the session, and the number up to which all entries are complete. A
    /// stock has # and its locate instead of its symbol if no message has named it, if another
    /// stock has the same symbol, or if the symbol is * or begins with #. Characters of a symbol
    /// that are not printable are ?. An entry of the market whose started_ns is 0 is of a keeper
    /// that has not begun. The keeper writes stocks first and the market after them. So a reader
    /// copies the entry of the market, then those stocks that have the same started_ns, then the
    /// entry of the market again, and begins again if its started_ns is another one. Between both
    /// copies a stock may get another key; then key_changes is another one, and the reader also
    /// begins again: without that it could miss the stock. It may find a stock under two keys,
    /// which have the same instrument_id: the one with the greater sequence counts, and of equal
    /// ones that with a symbol. The states include at least every record up to the sequence of the
    /// first copy. The reader goes on with the next record, and leaves out each record of a stock
    /// whose number is not above the sequence of that stock.
    StockState: 27 words, layouts [0x0001_d352c867b3ef];
    fields {
        [0..8] sequence, set_sequence: u64,
            "The number of the last record that is included: an inside, a trade, a trading state, \
             a definition or a notice of the stock, or a notice or loss that concerns all stocks. \
             Of the whole market: every entry includes all records up to this one.";
        [8..16] started_ns, set_started_ns: u64,
            "When the plant of the run started: it identifies the run. In nanoseconds since the \
             UNIX epoch. Absent: 0.";
        [16..24] ts_event, set_ts_event: u64,
            "The exchange's time of the last record. In nanoseconds since the UNIX epoch. Absent: \
             0.";
        [24..32] ts_recv, set_ts_recv: u64,
            "Receive time of the last record that has one: the stop of a plant has none. In \
             nanoseconds since the UNIX epoch. Absent: 0.";
        [32..40] bid_price, set_bid_price: i64,
            "The best bid. In units of 1e-9. Absent: 0x7fffffffffffffff.";
        [40..48] ask_price, set_ask_price: i64,
            "The best offer. In units of 1e-9. Absent: 0x7fffffffffffffff.";
        [48..52] bid_size, set_bid_size: u32,
            "Shares at the best bid; 4,294,967,295 stands for as many or more.";
        [52..56] ask_size, set_ask_size: u32,
            "Shares at the best offer; 4,294,967,295 stands for as many or more.";
        [56..60] bid_orders, set_bid_orders: u32,
            "Orders at the best bid, when its price or its shares changed last.";
        [60..64] ask_orders, set_ask_orders: u32,
            "Orders at the best offer, when its price or its shares changed last.";
        [64..72] quote_ts_event, set_quote_ts_event: u64,
            "The exchange's time of the last change of the inside. In nanoseconds since the UNIX \
             epoch. Absent: 0.";
        [72..80] last_price, set_last_price: i64,
            "Price of the last trade: the one with the greatest message number, also if its record \
             came earlier than others. At the end of the day, the close. In units of 1e-9. Absent: \
             0x7fffffffffffffff.";
        [80..88] last_ts_event, set_last_ts_event: u64,
            "The exchange's time of the last trade. In nanoseconds since the UNIX epoch. Absent: \
             0.";
        [88..92] last_size, set_last_size: u32, "Shares of the last trade. Absent: 0.";
        [92..93] last_side, set_last_side: Alpha<1>,
            "Side of the aggressor of the last trade, as DBN has it: B to buy, A to sell, N \
             unknown; blank before the first trade.";
        [93..94] anomaly, set_anomaly: u8,
            "Why the book was tainted: the anomaly of the taint notice. Absent: 255.";
        [94..96] keeper, set_keeper: u16,
            "Of the whole market: the writer of the map that keeps the entries of this publisher, \
             or kept them when it was killed. The lock of that writer's number shows whether it is \
             alive (region.md). Absent: 0.";
        [96..104] open_price, set_open_price: i64,
            "Price of the first trade: the one with the smallest message number. In units of 1e-9. \
             Absent: 0x7fffffffffffffff.";
        [104..112] open_ts_event, set_open_ts_event: u64,
            "The exchange's time of the first trade. In nanoseconds since the UNIX epoch. Absent: \
             0.";
        [112..120] high_price, set_high_price: i64,
            "The highest price of a trade. In units of 1e-9. Absent: 0x7fffffffffffffff.";
        [120..128] low_price, set_low_price: i64,
            "The lowest price of a trade. In units of 1e-9. Absent: 0x7fffffffffffffff.";
        [128..136] volume, set_volume: u64,
            "Shares of all trades. Broken trades count too, because a record of a broken trade \
             does not exist. A trade of more than 4,294,967,294 shares counts as 4,294,967,295: \
             see oversized. Of the whole market: of all stocks that the plant publishes \
             (--symbols).";
        [136..144] trades, set_trades: u64, "Number of trades.";
        [144..152] notional_low, set_notional_low: u64,
            "Sum of price times shares of all trades, in 128 bits: the lower 64 bits. Divided by \
             the volume it is the VWAP. Unit: 1e-9 of the currency.";
        [152..160] notional_high, set_notional_high: i64, "The upper 64 bits of the sum.";
        [160..164] instrument_id, set_instrument_id: u32,
            "The stock locate in this run; 0 of the whole market.";
        [164..166] doubts, set_doubts: u16,
            "Why the state might be wrong; 0: it is reliable. tainted: a message did not fit the \
             book. suspect: messages of the input are missing, and any book may lack them. missed: \
             records were lost before the keeper got them, and the inside has not changed since. \
             flagged: the records have the flag of a bad book for a reason that was not seen. \
             late: the session was joined late, and trades of before are missing. input_lost: \
             messages of the input were lost or could not be read, and trades, trading states and \
             restrictions may be missing. While messages are missing, those after a gap may come \
             before it (--gap-policy flag): suspect is then the doubt of all fields. records_lost: \
             records were lost before the keeper got them, and trades may be missing. oversized: a \
             trade had more shares than a record has room for. state_missed: records were lost \
             before the keeper got them, or two trading states of the same time came while \
             messages were missing; and the trading state has not changed since. \
             restriction_missed: the same for the restriction of short sales. unpublished: the \
             plant does not publish insides, trades or trading states. After a snapshot of the \
             exchange, suspect and tainted end, and late stays, with input_lost. The entry of the \
             market has suspect, late, input_lost, records_lost and unpublished, if all stocks \
             have them, oversized, and state_missed of its own state. Tainted, missed, flagged and \
             restriction_missed are of single stocks: its entry never has them. Flags: 1 tainted, \
             2 suspect, 4 missed, 8 flagged, 16 late, 32 input_lost, 64 records_lost, 128 \
             oversized, 256 state_missed, 512 unpublished, 1024 restriction_missed.";
        [166..167] is_over, set_is_over: u8, "Of the whole market: 1 after the stop of the plant.";
        [168..176] doubt_sequence, set_doubt_sequence: u64,
            "The number of the record at which the first of the doubts began; of lost records, the \
             number of the last one. Absent: 0.";
        [176..178] action, set_action: u16,
            "The trading state as DBN has it: 1 pre-open, 3 quoting, 7 trading, 8 halt, 9 pause, \
             12 close, 13 post-close; 0 unknown: no message has stated it. A message whose code is \
             unknown changes nothing. While messages are missing (suspect) the latest time counts, \
             otherwise the last record.";
        [178..180] reason, set_reason: u16,
            "The reason of the trading state as DBN has it; 0 none.";
        [180..181] is_trading, set_is_trading: Alpha<1>,
            "Y the stock trades, N it does not, ~ unknown.";
        [181..182] is_quoting, set_is_quoting: Alpha<1>, "The same for quotes.";
        [182..183] is_short_sell_restricted, set_is_short_sell_restricted: Alpha<1>,
            "The same for the restriction of short sales.";
        [184..192] status_ts_event, set_status_ts_event: u64,
            "The exchange's time of the trading state. In nanoseconds since the UNIX epoch. \
             Absent: 0.";
        [192..196] last_number, set_last_number: u32,
            "The message number of the last trade, modulo 2^32: `sequence` of its record \
             (records.md).";
        [196..200] open_number, set_open_number: u32, "The message number of the first trade.";
        [200..208] restriction_ts_event, set_restriction_ts_event: u64,
            "The exchange's time of the restriction of short sales. In nanoseconds since the UNIX \
             epoch. Absent: 0.";
        [208..212] key_changes, set_key_changes: u32,
            "Of the whole market: how often stocks have got another key, modulo 2^32.";
    }
    arrays {}
}
