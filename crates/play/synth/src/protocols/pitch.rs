//! The day as Cboe PITCH: the messages of each matching unit, with its own clock.
//!
//! A stock belongs to one unit. A message has the nanoseconds after the last Time of its unit, so
//! each unit has a Time before its first message of a second.

use nanotape_types::{Alpha, MatchNumber, NanosOffset, Price4, SecondsSinceMidnight};
use nanotape_wire::{
    itch50::{CrossType, EventCode, ImbalanceDirection, NetOrderImbalance, TradingState},
    pitch::{
        AuctionSummaryFields, AuctionType, AuctionUpdateFields, EndOfSessionFields, RegShoAction,
        TimeFields, TradeBreakFields, TradingStatusCode, TradingStatusFields, UnitClearFields,
    },
};

use super::{
    changes::{DayChange, DayHappening, DayState},
    iex::shares,
    packets::PacketWindow,
    pitch_orders::{self, price},
    stock::TranslatedStock,
};
use crate::calendar::SECOND;

/// The clocks of the units.
#[derive(Debug)]
pub(super) struct PitchWriter {
    /// By unit: the second of its last Time message.
    seconds: Vec<Option<u64>>,
    has_begun: bool,
}

/// Writes the messages of one event into the stream of a unit.
pub(super) struct PitchMessages<'o> {
    output: &'o mut PacketWindow,
    unit: usize,
    time: u64,
}

impl PitchMessages<'_> {
    pub(super) fn put(&mut self, message: &[u8]) {
        self.output.push(self.unit, self.time, message);
    }

    pub(super) fn time_offset(&self) -> NanosOffset {
        NanosOffset::new((self.time % SECOND) as u32)
    }
}

impl PitchWriter {
    pub(super) fn new(units: usize) -> Self {
        Self { seconds: vec![None; units], has_begun: false }
    }

    /// Writes the messages of a change.
    pub(super) fn write(
        &mut self,
        happening: &DayHappening<'_>,
        state: &DayState,
        output: &mut PacketWindow,
    ) {
        let DayHappening { time, stock: locate, change } = *happening;
        if !self.has_begun {
            self.has_begun = true;
            self.of_each_unit(time, output, |messages| {
                let time_offset = messages.time_offset();
                messages.put(&UnitClearFields { time_offset }.encode());
            });
        }
        let stock = state.stock(locate);
        match change {
            DayChange::Event(EventCode::EndOfMessages) => {
                self.of_each_unit(time, output, |messages| {
                    let time_offset = messages.time_offset();
                    messages.put(&EndOfSessionFields { time_offset }.encode());
                });
            }
            // No message has these: a stock is known from its first one.
            DayChange::Event(_) | DayChange::Directory(_) => {}
            _ => {
                let unit = usize::from(locate) % self.seconds.len();
                let mut messages = self.messages(unit, time, output);
                write_of_stock(&change, stock, &mut messages);
            }
        }
    }

    /// Begins an event of a unit, with a Time if it is the first of a second.
    fn messages<'o>(
        &mut self,
        unit: usize,
        time: u64,
        output: &'o mut PacketWindow,
    ) -> PitchMessages<'o> {
        let second = time / SECOND;
        let mut messages = PitchMessages { output, unit, time };
        if self.seconds[unit] != Some(second) {
            self.seconds[unit] = Some(second);
            let time = SecondsSinceMidnight::new(second as u32);
            let message = TimeFields { time, epoch_time: None };
            let mut buffer = [0; 16];
            if let Ok(bytes) = message.encode(&mut buffer) {
                messages.put(bytes);
            }
        }
        messages
    }

    fn of_each_unit(
        &mut self,
        time: u64,
        output: &mut PacketWindow,
        write: impl Fn(&mut PitchMessages<'_>),
    ) {
        for unit in 0..self.seconds.len() {
            write(&mut self.messages(unit, time, output));
        }
    }
}

/// The messages about one stock.
fn write_of_stock(
    change: &DayChange<'_>,
    stock: &TranslatedStock,
    messages: &mut PitchMessages<'_>,
) {
    let time_offset = messages.time_offset();
    match *change {
        DayChange::Broken(ref print) => {
            let match_number = MatchNumber::new(print.id);
            messages.put(&TradeBreakFields { time_offset, match_number }.encode());
        }
        DayChange::TradingState | DayChange::ShortSaleTest { .. } | DayChange::OperationalHalt => {
            trading_status(stock, messages)
        }
        DayChange::Imbalance(imbalance) => auction_update(imbalance, stock, messages),
        DayChange::Cross { cross_type, price: at, ref print, hidden_order } => {
            if let Some(print) = print {
                pitch_orders::trade(messages, stock, print, hidden_order);
            }
            let message = AuctionSummaryFields {
                time_offset,
                symbol: stock.symbol,
                auction_type: auction_type(cross_type, stock),
                price: price(at),
                shares: shares(print.map_or(0, |print| print.shares.into())),
            };
            messages.put(&message.encode());
        }
        _ => pitch_orders::write(change, stock, messages),
    }
}

/// `0x31`, which has the trading status and the short sale test.
fn trading_status(stock: &TranslatedStock, messages: &mut PitchMessages<'_>) {
    let blank = Alpha::new(*b" ");
    let message = TradingStatusFields {
        time_offset: messages.time_offset(),
        symbol: stock.symbol,
        trading_status: match stock.trading_state {
            _ if stock.is_halted_here => TradingStatusCode::Suspended,
            TradingState::Trading => TradingStatusCode::Trading,
            TradingState::QuotationOnly => TradingStatusCode::QuoteOnly,
            TradingState::Paused => TradingStatusCode::AcceptingOrders,
            _ => TradingStatusCode::Halted,
        },
        reg_sho_action: match stock.is_short_sale_restricted {
            true => RegShoAction::Restricted,
            false => RegShoAction::NoRestriction,
        },
        reserved_1: blank,
        reserved_2: blank,
    };
    messages.put(&message.encode());
}

/// `0x95`.
fn auction_update(
    imbalance: NetOrderImbalance<'_>,
    stock: &TranslatedStock,
    messages: &mut PitchMessages<'_>,
) {
    let paired = imbalance.paired_shares().get();
    let left = |direction| match imbalance.imbalance_direction() == direction {
        true => imbalance.imbalance_shares().get(),
        false => 0,
    };
    let message = AuctionUpdateFields {
        time_offset: messages.time_offset(),
        symbol: stock.symbol,
        auction_type: auction_type(imbalance.cross_type(), stock),
        reference_price: price(imbalance.current_reference_price().get()),
        buy_shares: shares(paired.saturating_add(left(ImbalanceDirection::Buy))),
        sell_shares: shares(paired.saturating_add(left(ImbalanceDirection::Sell))),
        indicative_price: price(imbalance.near_price().get().map_or(0, Price4::get)),
        auction_only_price: price(imbalance.far_price().get().map_or(0, Price4::get)),
    };
    messages.put(&message.encode());
}

fn auction_type(cross_type: CrossType, stock: &TranslatedStock) -> AuctionType {
    match cross_type {
        CrossType::Opening => AuctionType::Opening,
        CrossType::Closing | CrossType::ExtendedClose => AuctionType::Closing,
        _ if stock.is_new_issue => AuctionType::Ipo,
        _ if [*b"LUDP", *b"T7  "].contains(&stock.reason) => AuctionType::Volatility,
        _ => AuctionType::Halt,
    }
}
