//! Converts records back to market events: the same commands read a journal, a DBN file and a day
//! file.
//!
//! Protocol: records of one message have the same instrument, time and sequence number. A trade, a
//! fill and a cancel of as many shares are an execution; without the trade it is not printed. A
//! cancel and an add are a replace. A trade with several fills is one trade; each of its fills and
//! the cancel of as many shares are an execution that is not printed. A fill alone is not an event.
//! Any other order record is an event of its own. `F_LAST` closes a message in the records of a
//! plant, and a whole packet in those of Databento. So a reader waits for the rest of a message
//! only up to that flag.
//! Bounds: at most two order records wait for a third, and [`MOST_FILLS`] fills for their cancels.
//! Failure: an order record that cannot be an event is [`BadOrder`]. Status and imbalance records
//! become [`What::Other`]: they change no book and print no trade. An event from records has no
//! match number.

use core::ops::ControlFlow;

use dbn::{Action, MboMsg, RecordHeader, Side as DbnSide};
use nanotape_market::{
    AuctionImbalance, Definition, EventTime, Execution, LevelChange, MarketEvent, Modified,
    Priority, StatusChange, StatusReason, Trade, TradeKind, TradingAction, What,
};
use nanotape_types::{
    Alpha, BookEvent, MatchNumber, Maybe, OrderReferenceNumber, Price, PriceScale, Shares, Side,
    StockLocate, Symbol, TotalShares,
};

use crate::{Record, encode::GROWS_IN_PLACE};

/// A record that is not an event of a book.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadOrder {
    /// An action that DBN does not have.
    #[error("action '{}', expected A, C, M, R, T, F or N", .0.escape_ascii())]
    Action(u8),
    /// An order that neither buys nor sells.
    #[error("order of side '{}', expected B or A", .0.escape_ascii())]
    Side(u8),
    /// A price that books do not have.
    #[error(
        "price {0}e-9, expected 0 to 200000 in steps of 0.0001, or up to 2494967.295 in steps of 0.001"
    )]
    Price(i64),
    /// A number that is no stock locate.
    #[error("instrument {0}, expected a number up to 65535")]
    Instrument(u32),
}

/// Converts the records of one run of a plant, or of one day of a venue, to events.
#[derive(Clone, Debug, Default)]
pub struct EventReader {
    /// The number of the last message; records carry it modulo 2^32.
    number: u64,
    held: Option<Held>,
    /// Fills of the message before the held record, whose cancels have not come.
    fills: Vec<MboMsg>,
}

/// Fills of one message that wait for their cancels; those of more are no executions.
const MOST_FILLS: usize = 1024;

/// Order records of a message that might continue.
#[derive(Clone, Debug)]
enum Held {
    Trade(MboMsg, Trade),
    Fill { fill: MboMsg, trade: Option<(MboMsg, Trade)> },
    Cancel(MboMsg),
}

impl EventReader {
    /// Takes the next record, and calls `visit` with the number and the event of each message that
    /// is complete: at most two.
    pub fn next(
        &mut self,
        record: &Record<'_>,
        visit: &mut impl FnMut(u64, &MarketEvent) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, BadOrder> {
        let event = match record {
            Record::Mbo(order) => return self.order(order, visit),
            Record::Definition(entry) => self.definition(entry)?,
            // A state of a later version, or a price that no book has, is none of ours.
            Record::Status(status) => {
                self.event(&status.hd, status_of(status).map_or(What::Other, What::Status))?
            }
            Record::Imbalance(imbalance) => {
                let auction = imbalance_of(imbalance).map_or(What::Other, What::AuctionImbalance);
                self.event(&imbalance.hd, auction)?
            }
            // The inside and the prints follow from the order records.
            Record::Bbo(_) | Record::Trade(_) | Record::Notice(_) => {
                return Ok(ControlFlow::Continue(()));
            }
        };
        if self.flush(visit).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        Ok(visit(self.number, &event))
    }

    /// Visits the event of a message that the input ended before its last record.
    pub fn flush(
        &mut self,
        visit: &mut impl FnMut(u64, &MarketEvent) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (order, what) = match self.held.take() {
            Some(Held::Cancel(order)) => {
                let what = cancelled(&order);
                (order, what)
            }
            Some(Held::Trade(order, trade)) => (order, What::Trade(trade)),
            Some(Held::Fill { fill, trade }) => {
                self.keep(fill);
                let Some((order, trade)) = trade else { return ControlFlow::Continue(()) };
                (order, What::Trade(trade))
            }
            None => return ControlFlow::Continue(()),
        };
        match self.event(&order.hd, what) {
            Ok(event) => visit(self.number, &event),
            // Its instrument was checked when it came.
            Err(_) => ControlFlow::Continue(()),
        }
    }

    #[inline]
    fn order(
        &mut self,
        order: &MboMsg,
        visit: &mut impl FnMut(u64, &MarketEvent) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, BadOrder> {
        let is_last = order.flags.is_last();
        locate(&order.hd)?;
        let action = order.action().map_err(|_| BadOrder::Action(order.action as u8))?;
        if is_level(order) && action != Action::Trade && action != Action::Clear {
            return self.level(order, action, visit);
        }
        let joined = match action {
            Action::Add => self.replaced_by(order)?,
            Action::Cancel => self.executed_by(order)?,
            Action::Fill if self.is_fill_of_trade(order) => {
                if let Some(Held::Trade(trade, print)) = self.held.take() {
                    self.held =
                        Some(Held::Fill { fill: order.clone(), trade: Some((trade, print)) });
                }
                let flow = if is_last { self.flush(visit) } else { ControlFlow::Continue(()) };
                return Ok(flow);
            }
            _ => None,
        };
        let what = match joined {
            Some(what) => what,
            None => {
                if self.flush_before(order, visit).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                self.advance(order.sequence);
                match self.alone(order, action, is_last)? {
                    Some(what) => what,
                    None => return Ok(ControlFlow::Continue(())),
                }
            }
        };
        let event = self.event(&order.hd, what)?;
        // An order that grows before an execution of the same message.
        let is_last = is_last || !matches!(what, What::OrderModified(_));
        Ok(visit(self.number, &MarketEvent { is_last, ..event }))
    }

    /// Visits the event that waits. Of the message of the next order, it is a part: an order lost
    /// shares before an execution that states what remains.
    #[inline]
    fn flush_before(
        &mut self,
        next: &MboMsg,
        visit: &mut impl FnMut(u64, &MarketEvent) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if self.held.is_none() {
            return ControlFlow::Continue(());
        }
        let is_part = next.sequence != 0
            && matches!(&self.held, Some(Held::Cancel(left)) if are_of_one_message(left, next));
        self.flush(&mut |number, event: &MarketEvent| {
            visit(number, &MarketEvent { is_last: !is_part, ..*event })
        })
    }

    /// The event of a record of a price level. It may be a part of a change.
    #[cold]
    fn level(
        &mut self,
        order: &MboMsg,
        action: Action,
        visit: &mut impl FnMut(u64, &MarketEvent) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, BadOrder> {
        if self.flush(visit).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        self.advance(order.sequence);
        let is_there = matches!(action, Action::Add | Action::Modify);
        let (side, shares) = (side(order)?, Shares::new(if is_there { order.size } else { 0 }));
        let is_only = order.flags.is_tob();
        let level = |price| What::Level(LevelChange { side, price, shares, is_only });
        let what = price(order.price)?.map_or(What::PriceOutOfRange(None), level);
        let event = self.event(&order.hd, what)?;
        Ok(visit(self.number, &MarketEvent { is_last: order.flags.is_last(), ..event }))
    }

    /// The event of a record that completes no message. Holds the record if its message might
    /// continue.
    #[inline]
    fn alone(
        &mut self,
        order: &MboMsg,
        action: Action,
        is_last: bool,
    ) -> Result<Option<What>, BadOrder> {
        let what = match action {
            Action::Add => added(order)?.map_or(What::PriceOutOfRange(None), What::Order),
            Action::Cancel if is_last => cancelled(order),
            Action::Cancel => return Ok(self.hold(Held::Cancel(order.clone()))),
            Action::Trade => {
                let Some(trade) = print(order)? else {
                    return Ok(Some(What::PriceOutOfRange(None)));
                };
                if !is_last {
                    return Ok(self.hold(Held::Trade(order.clone(), trade)));
                }
                What::Trade(trade)
            }
            Action::Fill if !is_last => {
                return Ok(self.hold(Held::Fill { fill: order.clone(), trade: None }));
            }
            Action::Modify => {
                let reference = OrderReferenceNumber::new(order.order_id);
                let (side, shares) = (Some(side(order)?), Shares::new(order.size));
                let priority = priority_of(order);
                let modified = |price| {
                    What::OrderModified(Modified { reference, side, shares, price, priority })
                };
                price(order.price)?.map_or(What::PriceOutOfRange(Some(reference)), modified)
            }
            Action::Clear => What::BookCleared,
            // A fill alone changes no book and prints no trade.
            Action::Fill | Action::None => return Ok(None),
        };
        Ok(Some(what))
    }

    fn hold(&mut self, held: Held) -> Option<What> {
        self.held = Some(held);
        None
    }

    /// Keeps a fill until its cancel comes.
    fn keep(&mut self, fill: MboMsg) {
        if self.fills.last().is_some_and(|last| !are_of_one_message(last, &fill)) {
            self.fills.clear();
        }
        if self.fills.len() < MOST_FILLS {
            self.fills.push(fill);
        }
    }

    /// A replace, if the order replaces the one of the cancel before it.
    ///
    /// Records without sequence numbers are events of their own: a cancel of a part of an order
    /// would be taken for a replace of the whole order.
    #[inline]
    fn replaced_by(&mut self, order: &MboMsg) -> Result<Option<What>, BadOrder> {
        let Some(Held::Cancel(left)) = &self.held else { return Ok(None) };
        if order.sequence == 0 || !are_of_one_message(left, order) || left.side != order.side {
            return Ok(None);
        }
        let original = OrderReferenceNumber::new(left.order_id);
        let added = added(order)?;
        self.held = None;
        let Some(BookEvent::Add { stock_locate, reference, shares, price, .. }) = added else {
            return Ok(Some(What::PriceOutOfRange(Some(original))));
        };
        let replacement = reference;
        let event = BookEvent::Replace { stock_locate, original, replacement, shares, price };
        Ok(Some(What::Order(event)))
    }

    /// An execution, if the cancel takes off the shares of a fill before it.
    #[inline]
    fn executed_by(&mut self, order: &MboMsg) -> Result<Option<What>, BadOrder> {
        let is_of = |fill: &MboMsg| {
            (fill.order_id, fill.size) == (order.order_id, order.size)
                && are_of_one_message(fill, order)
        };
        match &self.held {
            Some(Held::Fill { fill, trade }) if is_of(fill) => {
                let what = executed(order, fill, trade.is_some())?;
                self.held = None;
                Ok(Some(what))
            }
            _ if self.fills.is_empty() => Ok(None),
            Some(Held::Fill { trade: None, .. }) | None => {
                let Some(place) = self.fills.iter().position(is_of) else { return Ok(None) };
                let fill = self.fills.swap_remove(place);
                if let Some(Held::Fill { fill, .. }) = self.held.take() {
                    self.keep(fill);
                }
                Ok(Some(executed(order, &fill, false)?))
            }
            Some(_) => Ok(None),
        }
    }

    /// Whether the record is the only fill of the trade before it. If it is one of several, the
    /// trade is that of several orders.
    fn is_fill_of_trade(&mut self, order: &MboMsg) -> bool {
        let Some(Held::Trade(first, trade)) = &mut self.held else { return false };
        if !are_of_one_message(first, order) {
            return false;
        }
        trade.kind = TradeKind::Displayed;
        first.size == order.size
    }

    /// A number that does not increase, as in a snapshot, leaves the message's number unchanged.
    #[inline]
    fn advance(&mut self, sequence: u32) {
        let later = sequence.wrapping_sub(self.number as u32);
        if self.number == 0 || later.cast_signed() > 0 {
            self.number += u64::from(later);
        }
    }

    fn definition(&self, entry: &dbn::InstrumentDefMsg) -> Result<MarketEvent, BadOrder> {
        let definition = Definition {
            round_lot_shares: entry.min_lot_size_round_lot.cast_unsigned(),
            listing_venue: Alpha::new(padded(&entry.exchange)),
            issue_class: first_of(&entry.security_type),
            issue_sub_type: Alpha::new(padded(&entry.secsubtype)),
            segment: first_of(&entry.group),
        };
        let mut event = self.event(&entry.hd, What::Definition(definition))?;
        event.symbol = Maybe::of(Symbol::new(padded(&entry.raw_symbol)));
        Ok(event)
    }

    #[inline]
    fn event(&self, header: &RecordHeader, what: What) -> Result<MarketEvent, BadOrder> {
        Ok(MarketEvent {
            time: is_time(header.ts_event).then_some(EventTime::new(header.ts_event)),
            stock_locate: locate(header)?,
            symbol: Maybe::NONE,
            is_last: true,
            what,
        })
    }
}

fn status_of(status: &dbn::StatusMsg) -> Option<StatusChange> {
    Some(StatusChange {
        action: TradingAction::of(status.action)?,
        reason: StatusReason::of(status.reason)?,
        is_trading: status.is_trading(),
        is_quoting: status.is_quoting(),
        is_short_sell_restricted: status.is_short_sell_restricted(),
    })
}

fn imbalance_of(imbalance: &dbn::ImbalanceMsg) -> Option<AuctionImbalance> {
    let price_if = |nanos: i64| match nanos {
        dbn::UNDEF_PRICE => Some(Maybe::NONE),
        nanos => PriceScale::WIDE.of_nanos(nanos).map(Maybe::of),
    };
    Some(AuctionImbalance {
        side: match imbalance.side as u8 {
            b'B' => Some(Side::Buy),
            b'A' => Some(Side::Sell),
            _ => None,
        },
        reference_price: PriceScale::WIDE.of_nanos(imbalance.ref_price)?,
        near_price: price_if(imbalance.cont_book_clr_price)?,
        far_price: price_if(imbalance.auct_interest_clr_price)?,
        paired_shares: TotalShares::new(imbalance.paired_qty.into()),
        imbalance_shares: TotalShares::new(imbalance.total_imbalance_qty.into()),
        auction: imbalance.auction_type as u8,
        significance: imbalance.significant_imbalance as u8,
    })
}

/// Whether an order record is that of a price level.
#[inline]
pub fn is_level(order: &MboMsg) -> bool {
    order.flags.raw() & (dbn::flags::MBP | dbn::flags::TOB) != 0
}

/// What a record of a modified order has to say about the order's place in its queue. DBN has no
/// flag for an order that grows and keeps it.
#[inline]
pub fn priority_of(order: &MboMsg) -> Priority {
    let is_kept = order.flags.raw() & GROWS_IN_PLACE != 0;
    if is_kept { Priority::Kept } else { Priority::KeptIfLess }
}

/// Whether a record has an exchange's time.
#[inline]
fn is_time(ts_event: u64) -> bool {
    ts_event != 0 && ts_event != dbn::UNDEF_TIMESTAMP
}

#[inline]
fn are_of_one_message(first: &MboMsg, second: &MboMsg) -> bool {
    let of = |order: &MboMsg| (order.hd.instrument_id, order.hd.ts_event, order.sequence);
    of(first) == of(second)
}

#[inline]
fn locate(header: &RecordHeader) -> Result<StockLocate, BadOrder> {
    match u16::try_from(header.instrument_id) {
        Ok(locate) => Ok(StockLocate::new(locate)),
        Err(_) => Err(BadOrder::Instrument(header.instrument_id)),
    }
}

#[inline]
fn side(order: &MboMsg) -> Result<Side, BadOrder> {
    match order.side() {
        Ok(DbnSide::Bid) => Ok(Side::Buy),
        Ok(DbnSide::Ask) => Ok(Side::Sell),
        _ => Err(BadOrder::Side(order.side as u8)),
    }
}

/// `None` for a price that only books of ITCH have.
#[inline]
fn added(order: &MboMsg) -> Result<Option<BookEvent>, BadOrder> {
    let (stock_locate, side) = (locate(&order.hd)?, side(order)?);
    let reference = OrderReferenceNumber::new(order.order_id);
    let shares = Shares::new(order.size);
    let added = |price| BookEvent::Add { stock_locate, reference, side, shares, price };
    Ok(price(order.price)?.map(added))
}

#[inline]
fn cancelled(order: &MboMsg) -> What {
    What::Order(BookEvent::Cancel {
        stock_locate: StockLocate::new(order.hd.instrument_id as u16),
        reference: OrderReferenceNumber::new(order.order_id),
        shares: Shares::new(order.size),
    })
}

/// An execution of a fill and the cancel of as many shares.
#[inline]
fn executed(order: &MboMsg, fill: &MboMsg, is_printed: bool) -> Result<What, BadOrder> {
    let is_at_its_own = fill.price == order.price;
    Ok(What::Execution(Execution {
        reference: OrderReferenceNumber::new(order.order_id),
        shares: Shares::new(order.size),
        price: if is_at_its_own { None } else { price(fill.price)? },
        is_printed,
        match_number: MatchNumber::default(),
        remaining: None,
    }))
}

/// A price of the books, which have [`PriceScale::WIDE`]; `None` for one that only those of ITCH
/// have: above 200,000 and between two steps.
#[inline]
fn price(nanounits: i64) -> Result<Option<Price>, BadOrder> {
    match PriceScale::WIDE.of_nanos(nanounits) {
        None if PriceScale::ITCH.of_nanos(nanounits).is_none() => Err(BadOrder::Price(nanounits)),
        price => Ok(price),
    }
}

/// A trade without its fills. A cross of no shares has no price. `None` for a price that only books
/// of ITCH have.
fn print(order: &MboMsg) -> Result<Option<Trade>, BadOrder> {
    let is_empty = order.size == 0;
    let trade = |price| Trade {
        shares: TotalShares::new(u64::from(order.size)),
        price,
        match_number: MatchNumber::default(),
        kind: if is_empty { TradeKind::Auction } else { TradeKind::Hidden },
        aggressor: side(order).ok(),
    };
    Ok(if is_empty { Some(trade(Price::new(0))) } else { price(order.price)?.map(trade) })
}

/// A field of text without its trailing zeros.
fn trimmed(field: &[core::ffi::c_char]) -> impl Iterator<Item = u8> + '_ {
    field.iter().map(|&c| c as u8).take_while(|&byte| byte != 0)
}

fn padded<const N: usize>(field: &[core::ffi::c_char]) -> [u8; N] {
    let mut bytes = [b' '; N];
    for (to, from) in bytes.iter_mut().zip(trimmed(field)) {
        *to = from;
    }
    bytes
}

fn first_of(field: &[core::ffi::c_char]) -> u8 {
    trimmed(field).next().unwrap_or(b' ')
}

#[cfg(test)]
mod tests;
