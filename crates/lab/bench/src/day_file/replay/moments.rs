//! Random moments of a day, with the books that the day file has then.

use core::ops::ControlFlow;
use std::{
    fs::File,
    io::{BufReader, BufWriter},
    path::Path,
};

use nanotape_book::{DefaultBooks, OrderStore as _};
use nanotape_engine::{BookEngine, Observer};
use nanotape_feed::{Damage, MessageHandler, Position, market_event, read_day};
use nanotape_lab::rng::{Rng, mix};
use nanotape_market::{MarketEvent, StockDirectory};
use nanotape_types::{LocateTable, NanosSinceMidnight, Side, StockLocate, Symbol};
use nanotape_wire::itch50::Message;
use serde::{Deserialize, Serialize};

use super::super::{Day, survey::refuse_damage};
use crate::error::Error;

/// The same moments of a day in every run.
const SEED: u64 = 18;

/// Most moments of all books.
const OF_ALL_BOOKS: usize = 10;

/// The moments of both kinds, in the order in which they were drawn.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Moments {
    pub(super) of_stocks: Vec<Moment>,
    pub(super) of_all: Vec<Moment>,
}

/// A moment, and the right answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Moment {
    /// The stock; None: all of them.
    pub(super) stock: Option<(u16, String)>,
    /// Ns since midnight. Messages with this time are included.
    pub(super) at: u64,
    pub(super) answer: Answer,
}

impl Moment {
    /// The time of day.
    pub(super) fn time_text(&self) -> String {
        let time = NanosSinceMidnight::new(self.at);
        time.map_or_else(|| format!("{} ns", self.at), |time| time.to_string())
    }
}

/// The contents of books: counts, and a digest of levels and orders in queue order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Answer {
    levels: u64,
    orders: u64,
    shares: u64,
    digest: u64,
}

impl Answer {
    /// The books of one stock, or of all.
    pub(super) fn of(books: &DefaultBooks, stock: Option<StockLocate>) -> Self {
        let mut answer = Self::default();
        let is_wanted = |locate| stock.is_none_or(|stock| stock == locate);
        for locate in StockLocate::all().filter(|&locate| is_wanted(locate)) {
            for side in Side::BOTH {
                for level in books.book(locate).depth(side) {
                    answer.levels += 1;
                    answer.shares += level.shares.get();
                    let orders = u64::from(level.orders.get());
                    answer.add([u64::from(level.price.code()), level.shares.get(), orders]);
                }
            }
        }
        let orders = books.orders().iter().filter(|(_, order)| is_wanted(order.stock_locate));
        let mut orders: Vec<_> = orders.collect();
        // A day has fewer than 2^32 arrivals, so their numbers do not wrap.
        orders.sort_by_key(|(_, order)| {
            (order.stock_locate.get(), order.side == Side::Sell, order.price.code(), order.arrival)
        });
        for (reference, order) in orders {
            answer.orders += 1;
            let level = u64::from(order.stock_locate.get()) << 32 | u64::from(order.price.code());
            answer.add([level, reference.get(), u64::from(order.shares.get())]);
        }
        answer
    }

    fn add(&mut self, words: [u64; 3]) {
        self.digest = words.into_iter().fold(self.digest, |digest, word| mix(digest ^ word, 1));
    }
}

impl core::fmt::Display for Answer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { levels, orders, shares, digest } = self;
        write!(f, "{levels} levels, {orders} orders, {shares} shares, digest {digest:016x}")
    }
}

impl Moments {
    /// Draws moments from a fixed seed, and reads the day for their answers.
    pub(super) fn draw(day: &Day, count: usize) -> Result<Self, Error> {
        let mut stocks = Stocks {
            stocks: StockDirectory::default(),
            has_messages: LocateTable::filled(false),
            span: None,
        };
        read_day(&mut day.open()?, &mut stocks, |_| ())?;
        let named = stocks.named();
        let Some((first, last)) = stocks.span.filter(|_| !named.is_empty()) else {
            return Err(Error::found(
                day.path().display(),
                "no stock with a name has messages; exclude book-at and books-at with --only",
            ));
        };
        let mut rng = Rng::new(SEED);
        let mut at = || first + rng.below((last - first + 1) as usize) as u64;
        let times: Vec<u64> = (0..count).map(|_| at()).collect();
        let of_all: Vec<u64> = (0..count.min(OF_ALL_BOOKS)).map(|_| at()).collect();
        let of_stock = |at| {
            let (locate, symbol) = named[rng.below(named.len())];
            let stock = Some((locate.get(), symbol.to_string()));
            Moment { stock, at, answer: Answer::default() }
        };
        let of_stocks = times.into_iter().map(of_stock).collect();
        let of_all = of_all.into_iter();
        let of_all =
            of_all.map(|at| Moment { stock: None, at, answer: Answer::default() }).collect();
        let mut moments = Self { of_stocks, of_all };
        moments.answer(day)?;
        Ok(moments)
    }

    /// Takes the answers of all moments in one pass of the day.
    fn answer(&mut self, day: &Day) -> Result<(), Error> {
        let mut by_time: Vec<_> = self.of_stocks.iter_mut().chain(&mut self.of_all).collect();
        by_time.sort_by_key(|moment| moment.at);
        let mut answers = Answers { by_time, next: 0 };
        let mut engine = BookEngine::new(DefaultBooks::with_capacity(day.orders()));
        let report = engine.run(&mut day.open()?, &mut answers, |_| ())?;
        refuse_damage(day.path(), report)?;
        answers.take_until(&engine, u64::MAX);
        Ok(())
    }

    pub(super) fn store(&self, path: &Path) -> Result<(), Error> {
        let failed = || Error::system("store the moments");
        let file = BufWriter::new(File::create(path).map_err(failed())?);
        serde_json::to_writer(file, self).map_err(|error| failed()(error.into()))
    }

    pub(super) fn load(path: &Path) -> Result<Self, Error> {
        let failed = || Error::system("load the moments");
        let file = BufReader::new(File::open(path).map_err(failed())?);
        serde_json::from_reader(file).map_err(|error| failed()(error.into()))
    }
}

/// The stocks of a day that have messages, and its first and last time.
struct Stocks {
    stocks: StockDirectory,
    has_messages: LocateTable<bool>,
    span: Option<(u64, u64)>,
}

impl Stocks {
    /// The stocks whose name is one word.
    fn named(&self) -> Vec<(StockLocate, Symbol)> {
        let is_word = |symbol: &Symbol| symbol.to_string().parse().ok() == Some(*symbol);
        let locates = StockLocate::all().skip(1).filter(|&locate| self.has_messages[locate]);
        let named = locates
            .filter_map(|locate| Some((locate, self.stocks.symbol(locate).filter(is_word)?)));
        named.collect()
    }
}

impl MessageHandler for Stocks {
    #[inline]
    fn message(&mut self, _: Position, message: Message<'_>) -> ControlFlow<()> {
        let event = market_event(&message);
        self.stocks.learn(&event);
        if let Some(locate) = message.stock_locate() {
            self.has_messages[locate] |= event.book_event().is_some();
        }
        if let Some(time) = event.time {
            let (first, last) = self.span.unwrap_or((time.get(), time.get()));
            self.span = Some((first.min(time.get()), last.max(time.get())));
        }
        ControlFlow::Continue(())
    }

    /// The survey has refused damage.
    fn damage(&mut self, _: Damage) {}
}

/// Takes the answer of each moment before the first later message.
struct Answers<'a> {
    by_time: Vec<&'a mut Moment>,
    next: usize,
}

impl Answers<'_> {
    /// Takes the answers of the moments before a time.
    #[inline]
    fn take_until(&mut self, engine: &BookEngine<DefaultBooks>, time: u64) {
        while let Some(moment) = self.by_time.get_mut(self.next).filter(|one| one.at < time) {
            let stock = moment.stock.as_ref().map(|(locate, _)| StockLocate::new(*locate));
            moment.answer = Answer::of(engine.books(), stock);
            self.next += 1;
        }
    }
}

impl Observer<DefaultBooks> for Answers<'_> {
    #[inline]
    fn before(&mut self, engine: &BookEngine<DefaultBooks>, _: Position, event: &MarketEvent) {
        if let Some(time) = event.time {
            self.take_until(engine, time.get());
        }
    }
}

#[cfg(test)]
mod tests {
    use nanotape_types::{BookEvent, OrderReferenceNumber, Price, Shares};

    use super::*;
    use crate::{day, engine::Folder};

    #[test]
    fn a_day_gives_the_same_moments_with_different_books_each_time() {
        let folder = Folder::new("moments").unwrap();
        let path = folder.path().join("day.itch50");
        std::fs::write(&path, &*day::Day::small().bytes).unwrap();
        let day = Day {
            file: Some(path),
            orders: Some(1 << 16),
            repeat: 1,
            bytes: 0,
            messages: 20_000,
            is_capture: false,
            busiest: None,
        };
        let moments = Moments::draw(&day, 30).unwrap();
        assert_eq!((moments.of_stocks.len(), moments.of_all.len()), (30, OF_ALL_BOOKS));
        assert!(moments.of_all.iter().all(|moment| moment.stock.is_none()));
        assert!(moments.of_stocks.iter().any(|moment| moment.answer.orders > 0));
        let stocks = moments.of_stocks.iter().filter_map(|moment| moment.stock.clone());
        assert!(stocks.collect::<std::collections::BTreeSet<_>>().len() > 10);
        let file = folder.path().join("moments");
        moments.store(&file).unwrap();
        assert_eq!(Moments::load(&file).unwrap(), moments);
        assert_eq!(Moments::draw(&day, 30).unwrap(), moments);
    }

    #[test]
    fn an_answer_depends_on_the_queue_of_a_level() {
        let of = |references: [u64; 2]| {
            let mut books = DefaultBooks::with_capacity(16);
            for reference in references {
                let _ = books.apply(BookEvent::Add {
                    stock_locate: StockLocate::new(1),
                    reference: OrderReferenceNumber::new(reference),
                    side: Side::Buy,
                    shares: Shares::new(100),
                    price: Price::new(10_000),
                });
            }
            Answer::of(&books, None)
        };
        let (one, other) = (of([1, 2]), of([2, 1]));
        assert_eq!((one.levels, one.orders, one.shares), (1, 2, 200));
        assert_eq!(
            (one.levels, one.orders, one.shares),
            (other.levels, other.orders, other.shares)
        );
        assert_ne!(one.digest, other.digest);
        assert_eq!(one, of([1, 2]));
    }
}
