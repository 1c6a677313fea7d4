//! What each message of the ITCH day changes, in words that fit every protocol.
//!
//! Where: [`ProtocolDay`](super::ProtocolDay) gives the messages to [`DayState`], whose answers the
//! writers of the protocols encode. The book is a map of orders and maps of levels, independent of
//! the one that reads such feeds.
//! Bounds: memory follows the live orders and the trades of the day, which a broken trade needs.

use std::collections::BTreeMap;

use nanotape_types::{MatchNumber, Mpid, OrderReferenceNumber, Side, StockLocate};
use nanotape_wire::itch50::{
    CrossType, EventCode, HaltAction, IpoFlag, MarketCode, Message, NetOrderImbalance,
    RegShoAction, StockDirectory, YesNo,
};

use super::{
    numbers::{FeedNumbers, NumberStyle},
    stock::TranslatedStock,
};
use crate::rng::Rng;

/// One in so many takers of displayed orders is an intermarket sweep.
const SWEEP_ONE_IN: u64 = 4;

/// One in so many cancels is shown as a new size, not as shares less.
const RESIZED_ONE_IN: u64 = 3;

/// A displayed order, under its number in the other protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ShownOrder {
    pub(super) id: u64,
    pub(super) stock: u16,
    pub(super) side: Side,
    pub(super) price: u32,
    pub(super) shares: u32,
}

/// A trade that is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DayPrint {
    pub(super) id: u64,
    pub(super) stock: u16,
    pub(super) shares: u32,
    pub(super) price: u32,
    pub(super) is_cross: bool,
    /// Whether the trade was before or after regular hours; no cross is.
    pub(super) is_extended: bool,
    pub(super) is_sweep: bool,
}

/// What a message changes. An order is as it is afterwards; without shares it has left.
#[derive(Clone, Copy, Debug)]
pub(super) enum DayChange<'a> {
    Added {
        order: ShownOrder,
        attribution: Option<Mpid>,
    },
    /// With `print`, the trade is printed; `is_own_price` if it is at the price of the order.
    Executed {
        order: ShownOrder,
        shares: u32,
        print: Option<DayPrint>,
        is_own_price: bool,
    },
    Cancelled {
        order: ShownOrder,
        shares: u32,
        is_resized: bool,
    },
    Deleted {
        order: ShownOrder,
    },
    Replaced {
        before: ShownOrder,
        order: ShownOrder,
    },
    HiddenTrade {
        print: DayPrint,
        hidden_order: u64,
    },
    Cross {
        cross_type: CrossType,
        price: u32,
        print: Option<DayPrint>,
        hidden_order: u64,
    },
    Broken(DayPrint),
    Event(EventCode),
    Directory(StockDirectory<'a>),
    TradingState,
    ShortSaleTest {
        action: RegShoAction,
        was_restricted: bool,
    },
    OperationalHalt,
    Imbalance(NetOrderImbalance<'a>),
}

/// A change, and when and where it happens.
#[derive(Clone, Copy, Debug)]
pub(super) struct DayHappening<'a> {
    /// Nanoseconds since midnight.
    pub(super) time: u64,
    /// Locate of the stock; 0 for the whole market.
    pub(super) stock: u16,
    pub(super) change: DayChange<'a>,
}

/// Everything that the messages so far have said.
#[derive(Debug)]
pub(super) struct DayState {
    stocks: Vec<TranslatedStock>,
    /// By the reference number of ITCH.
    orders: BTreeMap<u64, ShownOrder>,
    /// By the match number of ITCH.
    prints: BTreeMap<u64, DayPrint>,
    numbers: FeedNumbers,
    /// Whether it is between the open and the close.
    pub(super) is_regular: bool,
}

impl DayState {
    pub(super) fn new(style: NumberStyle, rng: Rng) -> Self {
        Self {
            stocks: vec![TranslatedStock::default(); StockLocate::COUNT],
            orders: BTreeMap::new(),
            prints: BTreeMap::new(),
            numbers: FeedNumbers::new(style, rng),
            is_regular: false,
        }
    }

    pub(super) fn stock(&self, locate: u16) -> &TranslatedStock {
        // There is one for each locate.
        &self.stocks[usize::from(locate)]
    }

    fn stock_mut(&mut self, locate: u16) -> &mut TranslatedStock {
        &mut self.stocks[usize::from(locate)]
    }

    /// Applies a message. `None` if no protocol shows what it says, or if its order is unknown.
    pub(super) fn apply<'a>(&mut self, message: &Message<'a>) -> Option<DayHappening<'a>> {
        let time = message.timestamp()?.get();
        let stock = message.stock_locate()?.get();
        let change = match message {
            Message::AddOrder(m) => {
                let side = m.buy_sell_indicator().side()?;
                let reference = m.order_reference_number();
                let level = (side, m.price().get(), m.shares().get());
                self.add(stock, reference, level, None)
            }
            Message::AddOrderMpid(m) => {
                let side = m.buy_sell_indicator().side()?;
                let reference = m.order_reference_number();
                let level = (side, m.price().get(), m.shares().get());
                self.add(stock, reference, level, Some(m.attribution()))
            }
            Message::OrderExecuted(m) => {
                let (order, shares) =
                    self.take(m.order_reference_number(), m.executed_shares().get())?;
                let print = self.displayed(m.match_number(), order, shares, order.price);
                DayChange::Executed { order, shares, print: Some(print), is_own_price: true }
            }
            Message::OrderExecutedWithPrice(m) => {
                let (order, shares) =
                    self.take(m.order_reference_number(), m.executed_shares().get())?;
                let price = m.execution_price().get();
                let print = (m.printable() == YesNo::Yes)
                    .then(|| self.displayed(m.match_number(), order, shares, price));
                DayChange::Executed { order, shares, print, is_own_price: false }
            }
            Message::OrderCancel(m) => {
                let (order, shares) =
                    self.take(m.order_reference_number(), m.cancelled_shares().get())?;
                let is_resized = self.numbers.one_in(RESIZED_ONE_IN);
                DayChange::Cancelled { order, shares, is_resized }
            }
            Message::OrderDelete(m) => {
                let (order, _) = self.take(m.order_reference_number(), u32::MAX)?;
                self.stock_mut(order.stock).deleted = Some(order.id);
                DayChange::Deleted { order }
            }
            Message::OrderReplace(m) => {
                let original = m.original_order_reference_number();
                let before = *self.orders.get(&original.get())?;
                self.take(original, u32::MAX)?;
                let (price, shares) = (m.price().get(), m.shares().get());
                let order = ShownOrder { price, shares, ..before };
                self.insert(m.new_order_reference_number(), order);
                DayChange::Replaced { before, order }
            }
            other => self.apply_rare(other, stock)?,
        };
        Some(DayHappening { time, stock, change })
    }

    /// The messages that change no displayed order.
    fn apply_rare<'a>(&mut self, message: &Message<'a>, stock: u16) -> Option<DayChange<'a>> {
        Some(match message {
            Message::Trade(m) => {
                let (shares, price) = (m.shares().get(), m.price().get());
                let print = self.print(m.match_number(), stock, (shares, price), false);
                DayChange::HiddenTrade { print, hidden_order: self.numbers.next(stock) }
            }
            Message::CrossTrade(m) => {
                // No other protocol has room for more shares in a trade.
                let shares = u32::try_from(m.shares().get()).unwrap_or(u32::MAX);
                let price = m.cross_price().get();
                let print = (shares > 0)
                    .then(|| self.print(m.match_number(), stock, (shares, price), true));
                let hidden_order = self.numbers.next(stock);
                DayChange::Cross { cross_type: m.cross_type(), price, print, hidden_order }
            }
            Message::BrokenTrade(m) => {
                DayChange::Broken(self.prints.remove(&m.match_number().get())?)
            }
            Message::SystemEvent(m) => {
                match m.event_code() {
                    EventCode::StartOfMarketHours => self.is_regular = true,
                    EventCode::EndOfMarketHours => self.is_regular = false,
                    _ => {}
                }
                DayChange::Event(m.event_code())
            }
            Message::StockDirectory(m) => {
                let about = self.stock_mut(stock);
                about.symbol = m.stock();
                about.is_new_issue = m.ipo_flag() == IpoFlag::Yes;
                DayChange::Directory(*m)
            }
            Message::StockTradingAction(m) => {
                let about = self.stock_mut(stock);
                (about.trading_state, about.reason) = (m.trading_state(), *m.reason().as_bytes());
                DayChange::TradingState
            }
            Message::RegShoRestriction(m) => {
                let (about, action) = (self.stock_mut(stock), m.reg_sho_action());
                let was_restricted = about.is_short_sale_restricted;
                about.is_short_sale_restricted = action != RegShoAction::NoPriceTest;
                DayChange::ShortSaleTest { action, was_restricted }
            }
            // Halts of the other markets of Nasdaq are not those of this exchange.
            Message::OperationalHalt(m) if m.market_code() == MarketCode::Nasdaq => {
                self.stock_mut(stock).is_halted_here = m.halt_action() == HaltAction::Halted;
                DayChange::OperationalHalt
            }
            Message::LuldAuctionCollar(m) => {
                // The next imbalance shows it.
                self.stock_mut(stock).set_collar(*m);
                return None;
            }
            Message::NetOrderImbalance(m) => DayChange::Imbalance(*m),
            _ => return None,
        })
    }

    fn add<'a>(
        &mut self,
        stock: u16,
        reference: OrderReferenceNumber,
        (side, price, shares): (Side, u32, u32),
        attribution: Option<Mpid>,
    ) -> DayChange<'a> {
        let Self { numbers, stocks, .. } = self;
        let id = numbers.order(stock, &mut stocks[usize::from(stock)].deleted);
        let order = ShownOrder { id, stock, side, price, shares };
        self.insert(reference, order);
        DayChange::Added { order, attribution }
    }

    fn insert(&mut self, reference: OrderReferenceNumber, order: ShownOrder) {
        self.stock_mut(order.stock).add_shares(order.side, order.price, order.shares);
        self.orders.insert(reference.get(), order);
    }

    /// Takes shares off an order, at most all of them. Returns the order as it is then, and how
    /// many shares it lost.
    fn take(&mut self, reference: OrderReferenceNumber, shares: u32) -> Option<(ShownOrder, u32)> {
        let order = self.orders.get_mut(&reference.get())?;
        let taken = shares.min(order.shares);
        order.shares -= taken;
        let order = *order;
        if order.shares == 0 {
            self.orders.remove(&reference.get());
        }
        self.stock_mut(order.stock).take_shares(order.side, order.price, taken);
        Some((order, taken))
    }

    /// The print of a trade with a displayed order.
    fn displayed(
        &mut self,
        match_number: MatchNumber,
        order: ShownOrder,
        shares: u32,
        price: u32,
    ) -> DayPrint {
        let is_sweep = self.numbers.one_in(SWEEP_ONE_IN);
        let print = self.print(match_number, order.stock, (shares, price), false);
        let print = DayPrint { is_sweep, ..print };
        self.prints.insert(match_number.get(), print);
        print
    }

    fn print(
        &mut self,
        match_number: MatchNumber,
        stock: u16,
        (shares, price): (u32, u32),
        is_cross: bool,
    ) -> DayPrint {
        let id = self.numbers.next(stock);
        let is_extended = !is_cross && !self.is_regular;
        let print = DayPrint { id, stock, shares, price, is_cross, is_extended, is_sweep: false };
        self.prints.insert(match_number.get(), print);
        print
    }
}
