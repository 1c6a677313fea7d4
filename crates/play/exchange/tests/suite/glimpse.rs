//! Snapshots at random moments of a day: books from a snapshot and the messages after it equal the
//! books of the day, at every later message, with the order of every queue.

use std::collections::BTreeMap;

use nanotape_book::{DefaultBooks, Order};
use nanotape_exchange::{Glimpse, Snapshot};
use nanotape_feed::book_event;
use nanotape_harness::Random;
use nanotape_testkit::naive::NaiveBooks;
use nanotape_types::{
    BookEvent, Mpid, NanosSinceMidnight, OrderReferenceNumber, Price, Price4, Shares, Side,
    StockLocate, Symbol, TrackingNumber,
};
use nanotape_wire::{
    itch50::{
        AddOrderFields, AddOrderMpidFields, BuySellIndicator, Message, OrderDeleteFields,
        OrderReplaceFields,
    },
    soupbintcp::{GlimpseEndOfSnapshot, parse_number},
};

use super::support::{day, history, messages};

/// The number of the first message after a snapshot, from its last message.
fn first_after(snapshot: &Snapshot) -> u64 {
    let end = GlimpseEndOfSnapshot::wrap(snapshot.message(snapshot.count()).unwrap()).unwrap();
    parse_number(end.sequence_number().as_bytes()).unwrap()
}

/// The book events of a snapshot.
fn events(snapshot: &Snapshot) -> Vec<BookEvent> {
    let event = |message| book_event(&Message::decode(message).ok()?);
    snapshot.messages().filter_map(event).collect()
}

/// The live orders in queue order, without the numbers of arrival.
fn queued(books: &DefaultBooks) -> Vec<(OrderReferenceNumber, Order)> {
    let mut orders = books.in_queue_order();
    orders.iter_mut().for_each(|(_, order)| order.arrival = 0);
    orders
}

/// All orders of naive books, each with its position in its queue.
fn all(books: &NaiveBooks) -> BTreeMap<OrderReferenceNumber, (StockLocate, Price, u32, u32)> {
    let position = |reference| {
        let order = books.order(reference).unwrap();
        let (ahead, _) = books.ahead(reference).unwrap();
        (reference, (order.stock_locate, order.price, order.shares, ahead))
    };
    books.live().map(position).collect()
}

#[derive(Default)]
struct Joined {
    at: u64,
    naive: NaiveBooks,
}

#[test]
fn books_from_a_snapshot_at_any_moment_equal_those_of_the_day_ever_after() {
    for seed in 1..=3 {
        let bytes = day(8_000, 40, seed);
        let messages = messages(&bytes);
        let mut random = Random::new(seed);
        let mut glimpse = Glimpse::with_capacity(16);
        let (mut naive, mut books) = (NaiveBooks::default(), DefaultBooks::with_capacity(1_000));
        let mut joined: Vec<Joined> = Vec::new();
        let mut pairs: Vec<(u64, DefaultBooks)> = Vec::new();
        for (number, (_, message)) in (1..).zip(&messages) {
            if random.below(250) == 0 {
                let snapshot = glimpse.snapshot();
                assert_eq!((first_after(&snapshot), snapshot.first_after()), (number, number));
                let mut late = Joined { at: number, ..Joined::default() };
                let mut books = DefaultBooks::with_capacity(1_000);
                for event in events(&snapshot) {
                    late.naive.apply(event);
                    assert_eq!(books.apply(event).anomaly, None);
                }
                assert_eq!(all(&late.naive), all(&naive), "at {number}");
                joined.push(late);
                pairs.push((number, books));
            }
            glimpse.apply(message);
            let Some(event) = book_event(&Message::decode(message).unwrap()) else { continue };
            let locate = naive.apply(event);
            let _ = books.apply(event);
            for late in &mut joined {
                late.naive.apply(event);
                for side in Side::BOTH {
                    let depth = naive.depth(locate, side);
                    assert_eq!(late.naive.depth(locate, side), depth, "{} at {number}", late.at);
                    for (price, ..) in depth.into_iter().take(3) {
                        let queue = naive.queue(locate, side, price);
                        assert_eq!(late.naive.queue(locate, side, price), queue, "at {number}");
                    }
                }
            }
            for (at, late) in &mut pairs {
                let _ = late.apply(event);
                if number % 1_000 == 0 || number == *at {
                    assert_eq!(queued(late), queued(&books), "{at} at {number}");
                }
            }
        }
        assert!(joined.len() > 15 && naive.live().next().is_none());
        assert_eq!(glimpse.live_orders(), 0);
    }
}

#[test]
fn a_snapshot_has_the_events_and_the_latest_states_of_the_day_in_order() {
    let bytes = day(20_000, 60, 5);
    let messages = messages(&bytes);
    let mut glimpse = Glimpse::with_capacity(16);
    let mut latest: BTreeMap<(u8, [u8; 2], u8), Vec<u8>> = BTreeMap::new();
    let mut system_events = Vec::new();
    for (index, (_, message)) in messages.iter().enumerate() {
        glimpse.apply(message);
        match message[0] {
            b'S' => system_events.push(message.to_vec()),
            tag @ (b'R' | b'H' | b'Y' | b'N') => {
                latest.insert((tag, [message[1], message[2]], 0), message.to_vec());
            }
            // A halt is of one market.
            b'h' => {
                latest.insert((b'h', [message[1], message[2]], message[19]), message.to_vec());
            }
            _ => {}
        }
        if index % 4_000 != 3_999 {
            continue;
        }
        let snapshot = glimpse.snapshot();
        let tags: Vec<u8> = snapshot.messages().map(|message| message[0]).collect();
        let order: Vec<u8> = tags.chunk_by(|a, b| a == b).map(|run| run[0]).collect();
        let parts = b"SRHYNh".iter().filter(|tag| tags.contains(tag)).copied();
        assert!(order.starts_with(&parts.collect::<Vec<_>>()), "{:?}", order.escape_ascii());
        assert_eq!(tags.iter().filter(|&&tag| tag == b'G').count(), 1);
        let of = |tag: u8| snapshot.messages().filter(move |message| message[0] == tag);
        assert_eq!(of(b'S').collect::<Vec<_>>(), system_events);
        for tag in *b"RHYNh" {
            let expected: Vec<_> =
                latest.iter().filter(|((t, ..), _)| *t == tag).map(|(_, m)| m.clone()).collect();
            assert_eq!(of(tag).collect::<Vec<_>>(), expected, "{}", tag as char);
        }
    }
    assert!(latest.len() > 120, "{}", latest.len());
}

const TIME: u64 = 34_200_000_000_000;

fn add(reference: u64, shares: u32, attribution: Option<&[u8; 4]>) -> Vec<u8> {
    let (stock_locate, tracking_number) = (StockLocate::new(7), TrackingNumber::new(0));
    let timestamp = NanosSinceMidnight::new(TIME).unwrap();
    let order_reference_number = OrderReferenceNumber::new(reference);
    let buy_sell_indicator = BuySellIndicator::from(Side::Sell);
    let (shares, stock) = (Shares::new(shares), Symbol::new(*b"AAPL    "));
    let price = Price4::new(1_000_000);
    match attribution {
        None => AddOrderFields {
            stock_locate,
            tracking_number,
            timestamp,
            order_reference_number,
            buy_sell_indicator,
            shares,
            stock,
            price,
        }
        .encode()
        .to_vec(),
        Some(mpid) => AddOrderMpidFields {
            stock_locate,
            tracking_number,
            timestamp,
            order_reference_number,
            buy_sell_indicator,
            shares,
            stock,
            price,
            attribution: Mpid::new(*mpid),
        }
        .encode()
        .to_vec(),
    }
}

fn replace(original: u64, new: u64) -> Vec<u8> {
    OrderReplaceFields {
        stock_locate: StockLocate::new(7),
        tracking_number: TrackingNumber::new(0),
        timestamp: NanosSinceMidnight::new(TIME + 5).unwrap(),
        original_order_reference_number: OrderReferenceNumber::new(original),
        new_order_reference_number: OrderReferenceNumber::new(new),
        shares: Shares::new(50),
        price: Price4::new(1_000_000),
    }
    .encode()
    .to_vec()
}

fn delete(reference: u64) -> Vec<u8> {
    OrderDeleteFields {
        stock_locate: StockLocate::new(7),
        tracking_number: TrackingNumber::new(0),
        timestamp: NanosSinceMidnight::new(TIME).unwrap(),
        order_reference_number: OrderReferenceNumber::new(reference),
    }
    .encode()
    .to_vec()
}

#[test]
fn an_order_keeps_its_attribution_over_replaces_and_a_reference_that_is_used_again_has_its_own() {
    let mut glimpse = Glimpse::with_capacity(16);
    for message in [
        add(1, 100, Some(b"MSCO")),
        add(2, 200, None),
        add(3, 300, Some(b"GSCO")),
        // The reference is live: the order without attribution stays.
        add(2, 999, Some(b"BARC")),
        replace(1, 4),
        delete(3),
        add(3, 10, None),
        // Unknown, and replaced onto a live reference: the original is gone, the other stays.
        replace(77, 78),
        add(5, 60, Some(b"UBSS")),
        replace(5, 2),
    ] {
        glimpse.apply(&message);
    }
    let snapshot = glimpse.snapshot();
    let orders: Vec<String> = snapshot
        .messages()
        .filter_map(|message| match Message::decode(message).unwrap() {
            Message::AddOrder(m) => {
                Some(format!("{} {}", m.order_reference_number().get(), m.shares().get()))
            }
            Message::AddOrderMpid(m) => Some(format!(
                "{} {} {} {}",
                m.order_reference_number().get(),
                m.shares().get(),
                m.stock(),
                m.attribution()
            )),
            _ => None,
        })
        .collect();
    assert_eq!(orders, ["2 200", "4 50 AAPL MSCO", "3 10"]);
    assert_eq!(snapshot.first_after(), 11);
}

#[test]
fn a_glimpse_follows_what_the_history_has_published() {
    let bytes = day(5_000, 20, 9);
    let messages = messages(&bytes);
    let (mut writer, mut history) = history(&bytes);
    let (mut follower, mut direct) = (Glimpse::with_capacity(16), Glimpse::with_capacity(16));
    for (index, (offset, message)) in messages.iter().enumerate() {
        if index == 3_000 {
            writer.publish(3_001).unwrap();
        }
        writer.push(*offset, message).unwrap();
        if index < 3_000 {
            direct.apply(message);
        }
    }
    assert!(!follower.follow(&mut history, 10));
    assert_eq!(follower.next(), 11);
    assert!(follower.follow(&mut history, u64::MAX));
    assert_eq!((follower.next(), direct.next()), (3_001, 3_001));
    let (one, other) = (follower.snapshot(), direct.snapshot());
    assert!(one.messages().eq(other.messages()) && one.count() > 100);
    assert_eq!((one.message(0), one.message(one.count() + 1)), (None, None));
}
