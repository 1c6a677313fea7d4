//! A day of quotes is valid, and its books show the quotes.

use std::collections::HashMap;

use nanotape_synth::{MarketConfig, Quote, QuoteConfig, QuoteDay, QuoteStream, QuoteUpdate};
use nanotape_types::{Side, Symbol};
use nanotape_wire::itch50::{EventCode, Message};

fn market(symbols: u16) -> MarketConfig {
    MarketConfig { symbols, ..MarketConfig::default() }
}

/// The messages of a day with their times and locates.
fn messages(bytes: &[u8]) -> Vec<(u64, u16, Message<'_>)> {
    let (mut rest, mut messages) = (bytes, Vec::new());
    while let Some((length, after)) = rest.split_first_chunk() {
        let (body, after) = after.split_at(usize::from(u16::from_be_bytes(*length)));
        let time = body[5..11].iter().fold(0, |time, &byte| time << 8 | u64::from(byte));
        let locate = u16::from_be_bytes([body[1], body[2]]);
        messages.push((time, locate, Message::decode(body).unwrap()));
        rest = after;
    }
    messages
}

/// Orders by reference, read naively; the quote of a stock is the sum of its orders.
#[derive(Default)]
struct Books(HashMap<u64, (u16, Side, u32, u32)>);

impl Books {
    fn apply(&mut self, locate: u16, message: Message<'_>) {
        match message {
            Message::AddOrder(m) => {
                let side = m.buy_sell_indicator().side().unwrap();
                let order = (locate, side, m.price().get(), m.shares().get());
                assert_eq!(self.0.insert(m.order_reference_number().get(), order), None);
            }
            Message::OrderCancel(m) => {
                let order = self.0.get_mut(&m.order_reference_number().get()).unwrap();
                order.3 -= m.cancelled_shares().get();
                assert!(order.3 > 0);
            }
            Message::OrderDelete(m) => {
                self.0.remove(&m.order_reference_number().get()).unwrap();
            }
            Message::OrderReplace(m) => {
                let old = self.0.remove(&m.original_order_reference_number().get()).unwrap();
                let order = (locate, old.1, m.price().get(), m.shares().get());
                let new = m.new_order_reference_number().get();
                assert_eq!(self.0.insert(new, order), None);
            }
            _ => {}
        }
    }

    fn quote(&self, locate: u16) -> Quote {
        let mut quote = Quote::default();
        for &(_, side, price, shares) in self.0.values().filter(|order| order.0 == locate) {
            let own = match side {
                Side::Buy => (&mut quote.bid_price, &mut quote.bid_shares),
                Side::Sell => (&mut quote.offer_price, &mut quote.offer_shares),
            };
            assert_eq!(*own.1, 0, "a side has one order");
            (*own.0, *own.1) = (price, shares);
        }
        quote
    }
}

#[test]
fn the_books_of_a_day_show_its_quotes_and_never_cross() {
    let from_ns = QuoteDay::OPENS_NS;
    let config = QuoteConfig { stocks: 4, updates_per_s: 0.3, from_ns, seed: 3 };
    let mut updates: Vec<_> = QuoteStream::new(config).take(20_000).collect();
    // Empty sides, and jumps beyond the other side's price.
    for (number, update) in updates.iter_mut().enumerate() {
        let quote = &mut update.quote;
        match number % 7 {
            0 => (quote.bid_price, quote.bid_shares) = (0, 0),
            1 => (quote.offer_price, quote.offer_shares) = (0, 0),
            2 => *quote = Quote::default(),
            3 => {
                (quote.bid_price, quote.offer_price) =
                    (quote.bid_price * 2, quote.bid_price * 2 + 1)
            }
            _ => {}
        }
    }
    let mut day = QuoteDay::new(&market(4), &[]).unwrap();
    updates.iter().for_each(|update| day.push(update));
    let mut bytes = Vec::new();
    day.finish(&mut bytes);

    let mut expected = updates.iter().peekable();
    let (mut shown, mut books, mut last) = ([Quote::default(); 4], Books::default(), 0);
    let mut events = Vec::new();
    for (time, locate, message) in messages(&bytes) {
        assert!(time >= last);
        last = time;
        // What is due before this message must be shown already.
        while let Some(update) = expected.next_if(|update| update.time_ns < time) {
            shown[usize::from(update.stock)] = update.quote;
            if expected.peek().is_none_or(|next| next.time_ns > update.time_ns) {
                assert_eq!(books.quote(update.stock + 1), shown[usize::from(update.stock)]);
            }
        }
        if let Message::SystemEvent(event) = message {
            events.push(event.event_code());
        }
        books.apply(locate, message);
        let quote = books.quote(locate);
        let is_apart = quote.bid_price < quote.offer_price || quote.offer_shares == 0;
        assert!(is_apart, "{quote:?}");
    }
    assert!(books.0.is_empty() && expected.next().is_none());
    assert_eq!((events.len(), events[5]), (6, EventCode::EndOfMessages));
}

#[test]
fn a_day_without_updates_and_one_that_ends_late_are_whole() {
    for time_ns in [0, 80_000_000_000_000] {
        let mut day = QuoteDay::new(&market(2), &[]).unwrap();
        let quote = Quote { bid_price: 100, bid_shares: 5, ..Quote::default() };
        if time_ns > 0 {
            day.push(&QuoteUpdate { time_ns, stock: 1, quote });
        }
        let mut bytes = Vec::new();
        day.finish(&mut bytes);
        let messages = messages(&bytes);
        // Six events, three messages for each stock, an order that enters and leaves.
        assert_eq!(messages.len(), 6 + 6 + if time_ns > 0 { 2 } else { 0 });
        assert!(messages.is_sorted_by_key(|(time, ..)| *time));
        assert!(matches!(messages.last(), Some((_, 0, Message::SystemEvent(_)))));
    }
}

#[test]
fn a_day_of_some_stocks_keeps_their_locates() {
    let all = QuoteDay::new(&market(50), &[]).unwrap();
    let symbol = all.symbol(17).unwrap();
    let mut day = QuoteDay::new(&market(50), &[symbol]).unwrap();
    assert_eq!((day.symbol(17), day.symbol(16), day.symbol(50)), (Some(symbol), None, None));
    let config =
        QuoteConfig { stocks: 50, updates_per_s: 1.0, from_ns: QuoteDay::OPENS_NS, seed: 1 };
    QuoteStream::new(config).take(1_000).for_each(|update| day.push(&update));
    let mut bytes = Vec::new();
    day.drain(&mut bytes);
    day.finish(&mut bytes);
    let messages = messages(&bytes);
    assert!(messages.len() > 10);
    assert!(messages.iter().all(|(_, locate, _)| [0, 18].contains(locate)));
    let unknown = QuoteDay::new(&market(50), &[Symbol::new(*b"NOT_HERE")]).unwrap_err();
    assert_eq!(unknown.to_string(), "the market has no stock NOT_HERE");
}
