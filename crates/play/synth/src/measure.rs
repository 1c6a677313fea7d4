//! Measures the statistics of a day from its bytes alone.
//!
//! This module is independent of the generator: the bytes go through the decoder, and distances
//! come from a plain book of maps. It can also measure real day files; the table then shows how far
//! the targets of the synthetic market are from that day.

use core::fmt;

use nanotape_trace::Histogram;
use nanotape_types::{NanosSinceMidnight, Price4, Side};
use nanotape_wire::{
    DecodeError,
    itch50::{CrossType, Message, TradingState},
};
use thiserror::Error;

mod book;
mod figures;

use self::book::{MeasuredBook, Removal};
pub use figures::Figure;

/// A gap between messages below this many nanoseconds is short.
const SHORT_GAP: u64 = 300;
const MILLISECOND: u64 = 1_000_000;
const HALF_HOUR: u64 = 1_800_000 * MILLISECOND;
const NOON: u64 = NanosSinceMidnight::from_hms(12, 0, 0).get();
const SYSTEM_HOURS: u64 = NanosSinceMidnight::from_hms(4, 0, 0).get();

/// Why a day could not be measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// The bytes end inside a message.
    #[error("message {message} is cut off")]
    Cut {
        /// Number of the message, from 1.
        message: u64,
    },
    /// A message cannot be decoded.
    #[error("message {message}: {source}")]
    Decode {
        /// Number of the message, from 1.
        message: u64,
        /// The error of the decoder.
        source: DecodeError,
    },
}

/// Counts and distributions of a day, or of the part of it that was added.
#[derive(Debug)]
pub struct Measurement {
    messages: u64,
    by_type: [u64; 256],
    by_locate: Vec<u64>,
    book: MeasuredBook,
    /// Ticks between a message's price and its side's best price before the message.
    depth: Histogram,
    stubs: u64,
    lifetimes: Histogram,
    last_time: u64,
    short_gaps: u64,
    gaps: u64,
    /// Messages in each half hour since midnight; later ones are in the last entry.
    per_half_hour: [u64; 48],
    per_millisecond: Peak,
    per_ten_milliseconds: Peak,
    live_peak: u64,
    live_at_noon: u64,
    crosses: [u64; 3],
    crosses_with_shares: u64,
    executions: u64,
    completions: u64,
    /// Trading states other than "trading": halts, pauses, quotation periods.
    interruptions: u64,
}

/// The maximum of messages in one time window.
#[derive(Clone, Copy, Debug)]
struct Peak {
    width: u64,
    window: u64,
    count: u64,
    most: u64,
}

impl Peak {
    fn new(width: u64) -> Self {
        Self { width, window: 0, count: 0, most: 0 }
    }

    fn count(&mut self, time: u64) {
        let window = time / self.width;
        if window != self.window {
            (self.window, self.count) = (window, 0);
        }
        self.count += 1;
        self.most = self.most.max(self.count);
    }
}

impl Default for Measurement {
    fn default() -> Self {
        Self {
            messages: 0,
            by_type: [0; 256],
            by_locate: vec![0; 1 << 16],
            book: MeasuredBook::default(),
            depth: Histogram::fine(),
            stubs: 0,
            lifetimes: Histogram::fine(),
            last_time: 0,
            short_gaps: 0,
            gaps: 0,
            per_half_hour: [0; 48],
            per_millisecond: Peak::new(MILLISECOND),
            per_ten_milliseconds: Peak::new(10 * MILLISECOND),
            live_peak: 0,
            live_at_noon: 0,
            crosses: [0; 3],
            crosses_with_shares: 0,
            executions: 0,
            completions: 0,
            interruptions: 0,
        }
    }
}

impl Measurement {
    /// Measures a whole day of BinaryFILE bytes.
    ///
    /// # Errors
    ///
    /// If the bytes end inside a message or a message cannot be decoded.
    pub fn of(bytes: &[u8]) -> Result<Self, MeasureError> {
        let mut measurement = Self::default();
        measurement.add(bytes)?;
        Ok(measurement)
    }

    /// Adds the next bytes of the day, which must be whole messages after their lengths.
    ///
    /// # Errors
    ///
    /// As [`Measurement::of`].
    pub fn add(&mut self, mut bytes: &[u8]) -> Result<(), MeasureError> {
        while let Some((length, rest)) = bytes.split_first_chunk() {
            let message = self.messages + 1;
            let length = usize::from(u16::from_be_bytes(*length));
            let (body, rest) =
                rest.split_at_checked(length).ok_or(MeasureError::Cut { message })?;
            bytes = rest;
            let decoded =
                Message::decode(body).map_err(|source| MeasureError::Decode { message, source })?;
            self.count(body);
            self.apply(&decoded);
        }
        if bytes.is_empty() {
            Ok(())
        } else {
            Err(MeasureError::Cut { message: self.messages + 1 })
        }
    }

    /// Messages measured.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Messages of one type.
    pub fn of_type(&self, tag: u8) -> u64 {
        self.by_type[usize::from(tag)]
    }

    /// Currently live orders; 0 at the end of a day.
    pub fn live_orders(&self) -> u64 {
        self.book.live()
    }

    fn count(&mut self, body: &[u8]) {
        let time =
            u64::from_be_bytes([0, 0, body[5], body[6], body[7], body[8], body[9], body[10]]);
        self.messages += 1;
        self.by_type[usize::from(body[0])] += 1;
        self.by_locate[usize::from(u16::from_be_bytes([body[1], body[2]]))] += 1;
        if self.last_time < NOON && time >= NOON {
            self.live_at_noon = self.book.live();
        }
        // The spin before system hours has no trading.
        if self.last_time >= SYSTEM_HOURS {
            self.gaps += 1;
            self.short_gaps += u64::from(time.saturating_sub(self.last_time) < SHORT_GAP);
        }
        self.last_time = time;
        self.per_half_hour[((time / HALF_HOUR) as usize).min(47)] += 1;
        self.per_millisecond.count(time);
        self.per_ten_milliseconds.count(time);
    }

    fn apply(&mut self, message: &Message<'_>) {
        match message {
            Message::AddOrder(m) => self.enter(
                m.stock_locate().index(),
                m.buy_sell_indicator().side(),
                m.order_reference_number().get(),
                (m.price(), m.shares().get()),
            ),
            Message::AddOrderMpid(m) => self.enter(
                m.stock_locate().index(),
                m.buy_sell_indicator().side(),
                m.order_reference_number().get(),
                (m.price(), m.shares().get()),
            ),
            Message::OrderExecuted(m) => {
                self.execute(m.order_reference_number().get(), m.executed_shares().get());
            }
            Message::OrderExecutedWithPrice(m) => {
                self.execute(m.order_reference_number().get(), m.executed_shares().get());
            }
            Message::OrderCancel(m) => {
                self.leave(m.order_reference_number().get(), Some(m.cancelled_shares().get()));
            }
            Message::OrderDelete(m) => {
                self.leave(m.order_reference_number().get(), None);
            }
            Message::OrderReplace(m) => {
                let original = m.original_order_reference_number().get();
                let Some(order) = self.book.order(original) else { return };
                // Against the best price before the message, so before the original leaves.
                self.distance(order.locate, order.side, m.price().get());
                if let Removal::Gone(order) = self.book.take(original, None) {
                    self.lifetimes.record(self.last_time - order.born);
                }
                let new = m.new_order_reference_number().get();
                let (price, shares) = (m.price().get(), m.shares().get());
                self.book.insert(new, order.moved(price, shares, self.last_time));
            }
            Message::CrossTrade(m) => {
                let kind = match m.cross_type() {
                    CrossType::Opening => 0,
                    CrossType::Closing => 1,
                    _ => 2,
                };
                self.crosses[kind] += 1;
                self.crosses_with_shares += u64::from(m.shares().get() > 0);
            }
            Message::StockTradingAction(m) => {
                let trading = m.trading_state() == TradingState::Trading;
                self.interruptions += u64::from(!trading);
            }
            _ => {}
        }
    }

    fn enter(
        &mut self,
        locate: usize,
        side: Option<Side>,
        reference: u64,
        (price, shares): (Price4, u32),
    ) {
        let Some(side) = side else { return };
        let price = price.get();
        self.distance(locate, side, price);
        self.stubs += u64::from(price <= 1 || price >= 1_999_999_900);
        let order = book::Resting { locate, side, price, shares, born: self.last_time };
        self.book.insert(reference, order);
        self.live_peak = self.live_peak.max(self.book.live());
    }

    fn execute(&mut self, reference: u64, shares: u32) {
        self.executions += 1;
        let gone = self.leave(reference, Some(shares));
        self.completions += u64::from(gone);
    }

    /// Takes some or all shares off an order; returns true if the order left.
    fn leave(&mut self, reference: u64, shares: Option<u32>) -> bool {
        let Some(order) = self.book.order(reference) else { return false };
        self.distance(order.locate, order.side, order.price);
        match self.book.take(reference, shares) {
            Removal::Gone(order) => {
                self.lifetimes.record(self.last_time - order.born);
                true
            }
            Removal::Reduced => false,
        }
    }

    /// Records the distance of a price from the best of its side, 0 if the side is empty.
    fn distance(&mut self, locate: usize, side: Side, price: u32) {
        let best = self.book.best(locate, side);
        self.depth.record(best.map_or(0, |best| u64::from(best.abs_diff(price) / 100)));
    }
}

/// The table of figures with targets and measured values.
impl fmt::Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        figures::table(&self.figures(), f)
    }
}
