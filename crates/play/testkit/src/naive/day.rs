//! A day file without damage, counted byte by byte: the last inside, the trades and the trading
//! state of every stock. It uses nothing of the decoder and of the books.

use std::collections::{BTreeMap, HashMap};

/// A stock, as its messages say.
#[derive(Clone, Default, Debug)]
pub struct NaiveDayStock {
    /// Its name, without padding.
    pub symbol: String,
    /// In the order of the file.
    pub trades: Vec<NaiveTrade>,
    /// The code of the last trading action.
    pub trading_state: Option<u8>,
}

/// A trade.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NaiveTrade {
    /// In units of 0.0001.
    pub price: u64,
    /// Shares.
    pub shares: u64,
}

#[derive(Clone, Copy, Debug)]
struct DayOrder {
    locate: u16,
    is_bid: bool,
    price: u64,
    shares: u64,
}

/// A day.
#[derive(Default, Debug)]
pub struct NaiveDay {
    /// By stock locate.
    pub stocks: BTreeMap<u16, NaiveDayStock>,
    orders: HashMap<u64, DayOrder>,
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

impl NaiveDay {
    /// Counts the bytes of a plain day file.
    ///
    /// # Panics
    ///
    /// If they are damaged.
    pub fn of(bytes: &[u8]) -> Self {
        let (mut day, mut rest) = (Self::default(), bytes);
        while let [high, low, more @ ..] = rest {
            let (message, after) = more.split_at(number(&[*high, *low]) as usize);
            day.message(message);
            rest = after;
        }
        day
    }

    fn message(&mut self, bytes: &[u8]) {
        let locate = number(&bytes[1..3]) as u16;
        let field = |from: usize, to: usize| number(&bytes[from..to]);
        match bytes[0] {
            b'R' => {
                let symbol = String::from_utf8_lossy(&bytes[11..19]).trim_end().to_owned();
                self.stocks.entry(locate).or_default().symbol = symbol;
            }
            b'H' => self.stocks.entry(locate).or_default().trading_state = Some(bytes[19]),
            b'A' | b'F' => {
                let (is_bid, shares, price) = (bytes[19] == b'B', field(20, 24), field(32, 36));
                self.orders.insert(field(11, 19), DayOrder { locate, is_bid, price, shares });
            }
            b'E' => {
                let order = self.orders[&field(11, 19)];
                self.print(order.locate, order.price, field(19, 23));
                self.reduce(field(11, 19), field(19, 23));
            }
            b'C' => {
                if bytes[31] == b'Y' {
                    self.print(locate, field(32, 36), field(19, 23));
                }
                self.reduce(field(11, 19), field(19, 23));
            }
            b'X' => self.reduce(field(11, 19), field(19, 23)),
            b'D' => _ = self.orders.remove(&field(11, 19)),
            b'U' => {
                let old = self.orders.remove(&field(11, 19)).expect("the order is live");
                let (shares, price) = (field(27, 31), field(31, 35));
                self.orders.insert(field(19, 27), DayOrder { price, shares, ..old });
            }
            b'P' => self.print(locate, field(32, 36), field(20, 24)),
            b'Q' if field(11, 19) > 0 => self.print(locate, field(27, 31), field(11, 19)),
            _ => {}
        }
    }

    fn print(&mut self, locate: u16, price: u64, shares: u64) {
        self.stocks.entry(locate).or_default().trades.push(NaiveTrade { price, shares });
    }

    fn reduce(&mut self, reference: u64, shares: u64) {
        let order = self.orders.get_mut(&reference).expect("the order is live");
        order.shares -= shares;
        if order.shares == 0 {
            self.orders.remove(&reference);
        }
    }

    /// Price and shares of the best level of a side; `None` if there is none.
    pub fn best(&self, locate: u16, is_bid: bool) -> Option<(u64, u64)> {
        let of_side = || {
            let orders = self.orders.values();
            orders.filter(|order| order.locate == locate && order.is_bid == is_bid)
        };
        let prices = of_side().map(|order| order.price);
        let price = if is_bid { prices.max() } else { prices.min() }?;
        let level = of_side().filter(|order| order.price == price);
        Some((price, level.map(|order| order.shares).sum()))
    }
}

impl NaiveDayStock {
    /// Shares of all trades.
    pub fn volume(&self) -> u64 {
        self.trades.iter().map(|trade| trade.shares).sum()
    }

    /// The sum of price times shares of all trades, in units of 0.0001.
    pub fn notional(&self) -> u128 {
        self.trades.iter().map(|trade| u128::from(trade.price) * u128::from(trade.shares)).sum()
    }
}
