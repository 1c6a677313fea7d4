//! Subscribers rebuild the plant's books from records.

use std::{collections::HashMap, ops::ControlFlow};

use nanotape_book::{DefaultBooks, Inside, Outcome};
use nanotape_engine::{BookEngine, Observer};
use nanotape_feed::DaySource;
use nanotape_market::{MarketEvent, Position};
use nanotape_plant::records::{Notice, Record, StopReason};
use nanotape_ring::Start;
use nanotape_tap::{Event, Subscription};
use nanotape_types::{PriceScale, Side, StockLocate};

use crate::published::support::{Folder, run};

/// The inside after every message that changed it, directly from the books.
#[derive(Default)]
struct Insides(Vec<(u64, StockLocate, Inside)>);

impl Observer<DefaultBooks> for Insides {
    fn after(
        &mut self,
        engine: &BookEngine<DefaultBooks>,
        position: Position,
        _: &MarketEvent,
        outcome: Option<Outcome>,
    ) -> ControlFlow<()> {
        if let Some(outcome) = outcome
            && outcome.inside_changed
        {
            let locate = outcome.stock_locate;
            self.0.push((position.number, locate, engine.books().book(locate).inside()));
        }
        ControlFlow::Continue(())
    }
}

#[test]
fn insides_on_the_ring_are_those_of_the_books_and_so_are_books_rebuilt_from_orders() {
    let folder = Folder::new();
    let day = folder.day(60_000, 40);
    let mut expected = Insides::default();
    let mut source = DaySource::open(&day).unwrap();
    let mut plant = BookEngine::new(DefaultBooks::with_capacity(1 << 12));
    assert!(plant.run(&mut source, &mut expected, |_| ()).unwrap().is_good());

    let ended = run(&folder.config(&day));
    assert_eq!(ended.stop.reason, StopReason::EndOfInput);
    assert_eq!((ended.stop.messages, ended.stop.damaged), (60_000, 0));

    let mut subscriber =
        Subscription::to(&folder.ring()).from(Start::Oldest).keep_books().open().unwrap();
    let mut rows = expected.0.iter();
    let mut open_messages: HashMap<u32, u32> = HashMap::new();
    let (mut records, mut last_sequence, mut stopped) = (0, 0, None);
    while stopped.is_none() {
        let read = subscriber.poll(|event| {
            let Event::Record(delivery) = event else { panic!("nothing is lost: {event:?}") };
            records += 1;
            assert_eq!(delivery.sequence, last_sequence + 1);
            last_sequence = delivery.sequence;
            let books = delivery.books.unwrap();
            match delivery.record {
                Record::Mbo(mbo) => {
                    // Only the last order record of a message has F_LAST.
                    let seen = open_messages.entry(mbo.sequence).or_default();
                    assert!(*seen < 3);
                    *seen = if mbo.flags.is_last() { 100 } else { *seen + 1 };
                }
                Record::Bbo(bbo) => {
                    let (number, locate, inside) = rows.next().unwrap();
                    assert_eq!(u64::from(bbo.sequence), *number);
                    assert_eq!(bbo.hd.instrument_id, u32::from(locate.get()));
                    assert!(bbo.flags.is_last());
                    let level = &bbo.levels[0];
                    for (side, price, size) in [
                        (Side::Buy, level.bid_px, level.bid_sz),
                        (Side::Sell, level.ask_px, level.ask_sz),
                    ] {
                        let expected = inside.side(side);
                        assert_eq!(
                            expected.map(|quote| (
                                PriceScale::ITCH.nanos(quote.price),
                                quote.shares.get()
                            )),
                            (price != dbn::UNDEF_PRICE).then_some((price, u64::from(size))),
                        );
                    }
                    // Order records come first, so the local book equals the plant's at that
                    // message.
                    assert_eq!(books.book(*locate).inside(), *inside);
                    assert!(books.is_whole());
                }
                Record::Notice(Notice::Stop(stop)) => stopped = Some(stop),
                _ => {}
            }
        });
        assert!(read.unwrap() > 0, "a stop is the last record");
    }
    assert_eq!(rows.next(), None);
    assert!(open_messages.values().all(|&seen| seen == 100));
    assert_eq!(stopped.unwrap(), ended.stop);
    assert_eq!(records, ended.stop.records);

    let books = subscriber.books().unwrap();
    assert_eq!(books.anomalies().total(), 0);
    for (locate, _) in subscriber.symbols() {
        for side in Side::BOTH {
            let (ours, theirs) = (books.book(locate), plant.books().book(locate));
            assert!(ours.depth(side).eq(theirs.depth(side)), "stock {locate}");
        }
    }
    // The names equal those of the directory, and the counters those of the stop record.
    let names: Vec<_> = plant.directory().iter().collect();
    assert_eq!(subscriber.symbols(), names);
    let stat = subscriber.board().unwrap().sample();
    assert_eq!((stat.messages, stat.total_records()), (60_000, records));
}
