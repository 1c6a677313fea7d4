//! The newest state of a stock, as a structure of C.

use nanotape_tap::states::StockState;

/// The newest state of a stock, or of the market as a whole. docs/formats/stock-state.md has the
/// meaning of each field; the words of a map that has such states are this structure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Stock {
    /// The number of the last record that is included.
    pub(crate) sequence: u64,
    /// When the plant of the run started: it identifies the run.
    pub(crate) started_ns: u64,
    /// The exchange's time of the last record.
    pub(crate) ts_event: u64,
    /// Receive time of the last record that has one: the stop of a plant has none.
    pub(crate) ts_recv: u64,
    /// The best bid.
    pub(crate) bid_price: i64,
    /// The best offer.
    pub(crate) ask_price: i64,
    /// Shares at the best bid; 4,294,967,295 stands for as many or more.
    pub(crate) bid_size: u32,
    /// Shares at the best offer; 4,294,967,295 stands for as many or more.
    pub(crate) ask_size: u32,
    /// Orders at the best bid, when its price or its shares changed last.
    pub(crate) bid_orders: u32,
    /// Orders at the best offer, when its price or its shares changed last.
    pub(crate) ask_orders: u32,
    /// The exchange's time of the last change of the inside.
    pub(crate) quote_ts_event: u64,
    /// Price of the last trade: the one with the greatest message number, also if its record came
    /// earlier than others.
    pub(crate) last_price: i64,
    /// The exchange's time of the last trade.
    pub(crate) last_ts_event: u64,
    /// Shares of the last trade.
    pub(crate) last_size: u32,
    /// Side of the aggressor of the last trade, as DBN has it: B to buy, A to sell, N unknown;
    /// blank before the first trade.
    pub(crate) last_side: u8,
    /// Why the book was tainted: the anomaly of the taint notice.
    pub(crate) anomaly: u8,
    /// Of the whole market: the writer of the map that keeps the entries of this publisher, or kept
    /// them when it was killed.
    pub(crate) keeper: u16,
    /// Price of the first trade: the one with the smallest message number.
    pub(crate) open_price: i64,
    /// The exchange's time of the first trade.
    pub(crate) open_ts_event: u64,
    /// The highest price of a trade.
    pub(crate) high_price: i64,
    /// The lowest price of a trade.
    pub(crate) low_price: i64,
    /// Shares of all trades.
    pub(crate) volume: u64,
    /// Number of trades.
    pub(crate) trades: u64,
    /// Sum of price times shares of all trades, in 128 bits: the lower 64 bits.
    pub(crate) notional_low: u64,
    /// The upper 64 bits of the sum.
    pub(crate) notional_high: i64,
    /// The stock locate in this run; 0 of the whole market.
    pub(crate) instrument_id: u32,
    /// Why the state might be wrong; 0: it is reliable.
    pub(crate) doubts: u16,
    /// Of the whole market: 1 after the stop of the plant.
    pub(crate) is_over: u8,
    /// Not used.
    pub(crate) reserved_0: [u8; 1],
    /// The number of the record at which the first of the doubts began; of lost records, the number
    /// of the last one.
    pub(crate) doubt_sequence: u64,
    /// The trading state as DBN has it: 1 pre-open, 3 quoting, 7 trading, 8 halt, 9 pause, 12
    /// close, 13 post-close; 0 unknown: no message has stated it.
    pub(crate) action: u16,
    /// The reason of the trading state as DBN has it; 0 none.
    pub(crate) reason: u16,
    /// Y the stock trades, N it does not, ~ unknown.
    pub(crate) is_trading: u8,
    /// The same for quotes.
    pub(crate) is_quoting: u8,
    /// The same for the restriction of short sales.
    pub(crate) is_short_sell_restricted: u8,
    /// Not used.
    pub(crate) reserved_1: [u8; 1],
    /// The exchange's time of the trading state.
    pub(crate) status_ts_event: u64,
    /// The message number of the last trade, modulo 2^32: `sequence` of its record (records.md).
    pub(crate) last_number: u32,
    /// The message number of the first trade.
    pub(crate) open_number: u32,
    /// The exchange's time of the restriction of short sales.
    pub(crate) restriction_ts_event: u64,
    /// Of the whole market: how often stocks have got another key, modulo 2^32.
    pub(crate) key_changes: u32,
    /// Not used.
    pub(crate) reserved_2: [u8; 4],
}

impl Stock {
    pub(crate) fn of(state: &StockState<&[u64]>) -> Self {
        Self {
            sequence: state.sequence(),
            started_ns: state.started_ns(),
            ts_event: state.ts_event(),
            ts_recv: state.ts_recv(),
            bid_price: state.bid_price(),
            ask_price: state.ask_price(),
            bid_size: state.bid_size(),
            ask_size: state.ask_size(),
            bid_orders: state.bid_orders(),
            ask_orders: state.ask_orders(),
            quote_ts_event: state.quote_ts_event(),
            last_price: state.last_price(),
            last_ts_event: state.last_ts_event(),
            last_size: state.last_size(),
            last_side: state.last_side().as_bytes()[0],
            anomaly: state.anomaly(),
            keeper: state.keeper(),
            open_price: state.open_price(),
            open_ts_event: state.open_ts_event(),
            high_price: state.high_price(),
            low_price: state.low_price(),
            volume: state.volume(),
            trades: state.trades(),
            notional_low: state.notional_low(),
            notional_high: state.notional_high(),
            instrument_id: state.instrument_id(),
            doubts: state.doubts(),
            is_over: state.is_over(),
            reserved_0: [0; 1],
            doubt_sequence: state.doubt_sequence(),
            action: state.action(),
            reason: state.reason(),
            is_trading: state.is_trading().as_bytes()[0],
            is_quoting: state.is_quoting().as_bytes()[0],
            is_short_sell_restricted: state.is_short_sell_restricted().as_bytes()[0],
            reserved_1: [0; 1],
            status_ts_event: state.status_ts_event(),
            last_number: state.last_number(),
            open_number: state.open_number(),
            restriction_ts_event: state.restriction_ts_event(),
            key_changes: state.key_changes(),
            reserved_2: [0; 4],
        }
    }
}
