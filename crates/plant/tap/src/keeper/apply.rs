//! What a record changes of the state of a stock.
//!
//! Records of a gap come late, with times and message numbers below those before them
//! (`docs/formats/records.md`). So the first and the last trade are those by the message number.
//! Trading states have no number: while messages are missing, the time decides between them, and
//! leaves a doubt if it is the same.

use dbn::{FlagSet, Mbp1Msg, StatusMsg, TradeMsg, UNDEF_ORDER_SIZE, UNDEF_PRICE};
use nanotape_records::Header;
use nanotape_types::Alpha;

use crate::states::{StockState, StockWords, WORDS, doubt};

/// "Not available", of DBN's three answers.
const UNKNOWN: Alpha<1> = Alpha::new(*b"~");

/// The change of a short sale restriction is no trading state.
const SSR_CHANGE: u16 = 14;

/// The state of a stock before its first record.
pub(super) fn unknown(instrument_id: u32, started_ns: u64) -> StockState<StockWords> {
    let mut state = StockState::of([0; WORDS]);
    state.set_instrument_id(instrument_id);
    state.set_started_ns(started_ns);
    state.set_bid_price(UNDEF_PRICE);
    state.set_ask_price(UNDEF_PRICE);
    state.set_last_price(UNDEF_PRICE);
    state.set_open_price(UNDEF_PRICE);
    state.set_high_price(UNDEF_PRICE);
    state.set_low_price(UNDEF_PRICE);
    state.set_anomaly(u8::MAX);
    state.set_last_side(Alpha::new(*b" "));
    state.set_is_trading(UNKNOWN);
    state.set_is_quoting(UNKNOWN);
    state.set_is_short_sell_restricted(UNKNOWN);
    state
}

impl StockState<StockWords> {
    /// A record of this number is included.
    pub(super) fn include(&mut self, sequence: u64, header: &Header, ts_recv: Option<u64>) {
        self.set_sequence(sequence);
        if header.ts_event != dbn::UNDEF_TIMESTAMP {
            self.set_ts_event(header.ts_event);
        }
        if let Some(ts_recv) = ts_recv.filter(|time| *time != dbn::UNDEF_TIMESTAMP) {
            self.set_ts_recv(ts_recv);
        }
    }

    pub(super) fn quote(&mut self, sequence: u64, record: &Mbp1Msg) {
        let [inside] = &record.levels;
        self.set_bid_price(inside.bid_px);
        self.set_ask_price(inside.ask_px);
        self.set_bid_size(inside.bid_sz);
        self.set_ask_size(inside.ask_sz);
        self.set_bid_orders(inside.bid_ct);
        self.set_ask_orders(inside.ask_ct);
        self.set_quote_ts_event(record.hd.ts_event);
        self.trust(doubt::MISSED);
        self.flags(sequence, record.flags);
    }

    /// Counts a trade.
    pub(super) fn count(&mut self, sequence: u64, record: &TradeMsg) {
        let TradeMsg { price, size, .. } = *record;
        self.set_trades(self.trades().saturating_add(1));
        self.set_volume(self.volume().saturating_add(size.into()));
        if size == UNDEF_ORDER_SIZE {
            self.doubt(doubt::OVERSIZED, sequence);
        }
        if price != UNDEF_PRICE {
            let value = i128::from(price) * i128::from(size);
            let notional = self.notional().saturating_add(value);
            self.set_notional_low(notional as u64);
            self.set_notional_high((notional >> 64) as i64);
        }
    }

    pub(super) fn trade(&mut self, sequence: u64, record: &TradeMsg) {
        let TradeMsg { price, size, side, sequence: number, .. } = *record;
        let ts_event = record.hd.ts_event;
        self.count(sequence, record);
        self.flags(sequence, record.flags);
        if price == UNDEF_PRICE {
            return;
        }
        if self.last_price() == UNDEF_PRICE || !is_before(number, self.last_number()) {
            self.set_last_price(price);
            self.set_last_size(size);
            self.set_last_side(Alpha::new([side as u8]));
            self.set_last_ts_event(ts_event);
            self.set_last_number(number);
        }
        if self.open_price() == UNDEF_PRICE || is_before(number, self.open_number()) {
            self.set_open_price(price);
            self.set_open_ts_event(ts_event);
            self.set_open_number(number);
        }
        if self.high_price() == UNDEF_PRICE || price > self.high_price() {
            self.set_high_price(price);
        }
        self.set_low_price(self.low_price().min(price));
    }

    pub(super) fn status(&mut self, sequence: u64, record: &StatusMsg) {
        let StatusMsg { action, reason, .. } = *record;
        let ts_event = record.hd.ts_event;
        let [trading, quoting, restricted] =
            [record.is_trading, record.is_quoting, record.is_short_sell_restricted]
                .map(|answer| Alpha::new([answer as u8]));
        let is_suspect = self.doubts() & doubt::SUSPECT != 0;
        let is_late = |known_ns| is_suspect && ts_event < known_ns;
        let is_open = |known_ns, differs| is_suspect && ts_event == known_ns && differs;
        let restricted_ns = self.restriction_ts_event();
        if restricted != UNKNOWN && !is_late(restricted_ns) {
            let differs = restricted != self.is_short_sell_restricted();
            self.set_is_short_sell_restricted(restricted);
            self.set_restriction_ts_event(ts_event);
            self.settle(doubt::RESTRICTION_MISSED, is_open(restricted_ns, differs), sequence);
        }
        let status_ns = self.status_ts_event();
        if action == SSR_CHANGE || action == 0 || is_late(status_ns) {
            return;
        }
        let differs = (action, reason) != (self.action(), self.reason());
        self.set_action(action);
        self.set_reason(reason);
        self.set_status_ts_event(ts_event);
        self.settle(doubt::STATE_MISSED, is_open(status_ns, differs), sequence);
        if trading != UNKNOWN {
            self.set_is_trading(trading);
        }
        if quoting != UNKNOWN {
            self.set_is_quoting(quoting);
        }
    }

    /// From this record on there are these doubts.
    pub(super) fn doubt(&mut self, doubts: u16, sequence: u64) {
        if self.doubts() == 0 {
            self.set_doubt_sequence(sequence);
        }
        self.set_doubts(self.doubts() | doubts);
    }

    /// A state has these doubts, or none of them.
    fn settle(&mut self, doubts: u16, is_open: bool, sequence: u64) {
        if is_open { self.doubt(doubts, sequence) } else { self.trust(doubts) }
    }

    /// These doubts have ended.
    pub(super) fn trust(&mut self, doubts: u16) {
        self.set_doubts(self.doubts() & !doubts);
        if doubts & doubt::TAINTED != 0 {
            self.set_anomaly(u8::MAX);
        }
        if self.doubts() == 0 {
            self.set_doubt_sequence(0);
        }
    }

    /// The flag of a bad book is on a record, or not.
    fn flags(&mut self, sequence: u64, flags: FlagSet) {
        if !flags.is_maybe_bad_book() {
            self.trust(doubt::FLAGGED);
        } else if self.doubts() & (doubt::TAINTED | doubt::SUSPECT) == 0 {
            self.doubt(doubt::FLAGGED, sequence);
        }
    }
}

/// Whether a message is before another one. Numbers are modulo 2^32.
fn is_before(number: u32, other: u32) -> bool {
    number.wrapping_sub(other) > 1 << 31
}
