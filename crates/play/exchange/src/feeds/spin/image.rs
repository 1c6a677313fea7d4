//! The open orders of a unit in the order of their priority, and the messages of an image.
//!
//! Bounds: memory follows the open orders and the stocks of the unit.

use std::collections::{BTreeMap, HashMap};

use nanotape_types::{
    Decimal, Mpid, NanosOffset, OrderReferenceNumber, SecondsSinceMidnight, Shares, Symbol,
};
use nanotape_wire::{
    framing::pitch::PitchUnit,
    pitch::{
        AddFlags, AddOrderExpandedFields, CustomerIndicator, Message, ModifyFlags, SideIndicator,
        TimeFields, TradingStatusFields, symbol_of,
    },
};

use crate::framing::{HeaderValues, LineFraming};

/// Bytes of a unit of an image.
const UNIT_BYTES: usize = 1_400;

/// The units are of no matching unit in particular.
const FRAMING: LineFraming = LineFraming::Pitch(PitchUnit(0));

type LongPrice = Decimal<u64, 4>;

/// An open order.
#[derive(Clone, Copy, Debug)]
struct OpenOrder {
    reference: OrderReferenceNumber,
    side: SideIndicator,
    shares: u32,
    symbol: Symbol,
    price: LongPrice,
    flags: AddFlags,
    /// Of an expanded message.
    owner: Option<(Mpid, CustomerIndicator)>,
}

/// A message of an image.
#[derive(Clone, Copy, Debug)]
enum ImageItem {
    Order(OpenOrder),
    Status(TradingStatusFields),
}

/// What a unit has, message by message.
#[derive(Debug, Default)]
pub(super) struct OpenOrders {
    /// By place: what came later has a later place. With the second and the nanoseconds in it.
    items: BTreeMap<u64, (u32, NanosOffset, ImageItem)>,
    orders: HashMap<OrderReferenceNumber, u64>,
    statuses: HashMap<Symbol, u64>,
    next_place: u64,
    second: u32,
}

/// An image, ready for a stream.
#[derive(Debug)]
pub(super) struct SpinImage {
    /// Number of the last message that it has.
    pub(super) sequence: u64,
    pub(super) orders: u32,
    /// Whole units without numbers.
    pub(super) units: Vec<u8>,
}

impl OpenOrders {
    /// Applies the next message of the unit.
    pub(super) fn apply(&mut self, bytes: &[u8]) {
        let Ok(message) = Message::decode(bytes) else { return };
        let offset = message.time_offset().unwrap_or(NanosOffset::new(0));
        match message {
            Message::Time(time) => self.second = time.time().get(),
            Message::UnitClear(_) => {
                self.items.clear();
                self.orders.clear();
                self.statuses.clear();
            }
            Message::AddOrderShort(m) => self.add(
                offset,
                OpenOrder {
                    reference: m.order_reference_number(),
                    side: m.side_indicator(),
                    shares: m.shares().into(),
                    symbol: symbol_of(m.symbol()),
                    price: long_price(m.price()),
                    flags: m.add_flags(),
                    owner: None,
                },
            ),
            Message::AddOrderLong(m) => self.add(
                offset,
                OpenOrder {
                    reference: m.order_reference_number(),
                    side: m.side_indicator(),
                    shares: m.shares().get(),
                    symbol: symbol_of(m.symbol()),
                    price: m.price(),
                    flags: m.add_flags(),
                    owner: None,
                },
            ),
            Message::AddOrderExpanded(m) => self.add(
                offset,
                OpenOrder {
                    reference: m.order_reference_number(),
                    side: m.side_indicator(),
                    shares: m.shares().get(),
                    symbol: m.symbol(),
                    price: m.price(),
                    flags: m.add_flags(),
                    owner: Some((m.participant_id(), m.customer_indicator())),
                },
            ),
            Message::OrderExecuted(m) => {
                self.reduce(m.order_reference_number(), m.executed_shares().get());
            }
            Message::OrderExecutedAtPriceSize(m) => {
                self.resize(m.order_reference_number(), |_| m.remaining_shares().get());
            }
            Message::ReduceSizeLong(m) => {
                self.reduce(m.order_reference_number(), m.cancelled_shares().get());
            }
            Message::ReduceSizeShort(m) => {
                self.reduce(m.order_reference_number(), m.cancelled_shares().into());
            }
            Message::ModifyOrderLong(m) => {
                let to = (m.shares().get(), m.price(), m.modify_flags());
                self.modify(offset, m.order_reference_number(), to);
            }
            Message::ModifyOrderShort(m) => {
                let to = (m.shares().into(), long_price(m.price()), m.modify_flags());
                self.modify(offset, m.order_reference_number(), to);
            }
            Message::DeleteOrder(m) => self.resize(m.order_reference_number(), |_| 0),
            Message::TradingStatus(m) => self.status(
                offset,
                TradingStatusFields {
                    time_offset: offset,
                    symbol: m.symbol(),
                    trading_status: m.trading_status(),
                    reg_sho_action: m.reg_sho_action(),
                    reserved_1: m.reserved_1(),
                    reserved_2: m.reserved_2(),
                },
            ),
            _ => {}
        }
    }

    /// The image after the last message that was applied.
    pub(super) fn image(&self, sequence: u64) -> SpinImage {
        let orders = u32::try_from(self.orders.len()).unwrap_or(u32::MAX);
        let mut writer = ImageWriter::default();
        for (second, offset, item) in self.items.values() {
            writer.time(*second);
            match *item {
                ImageItem::Order(order) => writer.order(&order, *offset),
                ImageItem::Status(status) => writer.put(&status.encode()),
            }
        }
        SpinImage { sequence, orders, units: writer.finish() }
    }

    fn place(&mut self, offset: NanosOffset, item: ImageItem) -> u64 {
        self.next_place += 1;
        self.items.insert(self.next_place, (self.second, offset, item));
        self.next_place
    }

    fn add(&mut self, offset: NanosOffset, order: OpenOrder) {
        let place = self.place(offset, ImageItem::Order(order));
        if let Some(before) = self.orders.insert(order.reference, place) {
            self.items.remove(&before);
        }
    }

    fn status(&mut self, offset: NanosOffset, status: TradingStatusFields) {
        let place = self.place(offset, ImageItem::Status(status));
        if let Some(before) = self.statuses.insert(status.symbol, place) {
            self.items.remove(&before);
        }
    }

    fn reduce(&mut self, reference: OrderReferenceNumber, by: u32) {
        self.resize(reference, |shares| shares.saturating_sub(by));
    }

    /// Changes the shares of an order, which keeps its place; without shares it is gone.
    fn resize(&mut self, reference: OrderReferenceNumber, change: impl FnOnce(u32) -> u32) {
        let Some(&place) = self.orders.get(&reference) else { return };
        let Some((.., ImageItem::Order(order))) = self.items.get_mut(&place) else { return };
        order.shares = change(order.shares);
        if order.shares == 0 {
            self.items.remove(&place);
            self.orders.remove(&reference);
        }
    }

    fn modify(
        &mut self,
        offset: NanosOffset,
        reference: OrderReferenceNumber,
        (shares, price, flags): (u32, LongPrice, ModifyFlags),
    ) {
        let Some(&place) = self.orders.get(&reference) else { return };
        let Some(&(.., ImageItem::Order(order))) = self.items.get(&place) else { return };
        if shares == 0 || flags.is_priority_kept() && price == order.price {
            return self.resize(reference, |_| shares);
        }
        // At the end of its price level.
        self.add(offset, OpenOrder { shares, price, ..order });
    }
}

/// The price of a short message in a long one.
fn long_price(price: Decimal<u16, 2>) -> LongPrice {
    Decimal::new(u64::from(price.get()) * 100)
}

/// Writes the units of an image.
#[derive(Default)]
struct ImageWriter {
    units: Vec<u8>,
    /// Where the unit begins that is not complete.
    start: usize,
    count: u16,
    second: Option<u32>,
}

impl ImageWriter {
    fn time(&mut self, second: u32) {
        if self.second.replace(second) == Some(second) {
            return;
        }
        let message = TimeFields { time: SecondsSinceMidnight::new(second), epoch_time: None };
        if let Ok(bytes) = message.encode(&mut [0; 16]) {
            self.put(bytes);
        }
    }

    /// An order in the shortest message that can say it.
    fn order(&mut self, order: &OpenOrder, time_offset: NanosOffset) {
        let unstated = (Mpid::new(*b"    "), CustomerIndicator::NonCustomer);
        let (participant_id, customer_indicator) = order.owner.unwrap_or(unstated);
        let message = AddOrderExpandedFields {
            time_offset,
            order_reference_number: order.reference,
            side_indicator: order.side,
            shares: Shares::new(order.shares),
            symbol: order.symbol,
            price: order.price,
            add_flags: order.flags,
            participant_id,
            customer_indicator,
        };
        message.put_shortest(order.owner.is_some(), |message| self.put(message));
    }

    fn put(&mut self, message: &[u8]) {
        let bytes = self.units.len() - self.start;
        if self.count == FRAMING.most_messages() || bytes + message.len() > UNIT_BYTES {
            self.end_unit();
        }
        if self.count == 0 {
            self.start = self.units.len();
            self.units.resize(self.start + FRAMING.header_bytes(), 0);
        }
        self.units.extend_from_slice(message);
        self.count += 1;
    }

    fn end_unit(&mut self) {
        let Self { units, start, count, .. } = self;
        if *count == 0 {
            return;
        }
        let block_bytes = units.len() - *start - FRAMING.header_bytes();
        let values =
            HeaderValues { first: 0, count: *count, block_bytes, stream_offset: 0, due_ns: 0 };
        FRAMING.write_header(values, &mut units[*start..]);
        (*start, *count) = (units.len(), 0);
    }

    fn finish(mut self) -> Vec<u8> {
        self.end_unit();
        self.units
    }
}
