//! Order records to events: in the groups of a plant, and in the packets of Databento.

use proptest::prelude::*;

use super::*;
use crate::{
    Common, PublisherInstrument, RecordBuffer, RecordKind, definition,
    encode::{Change, LAST, bytes, mbo, opposite},
};

const COMMON: Common = Common {
    instrument: PublisherInstrument::none_of(2).numbered(13),
    ts_event: 1_000_007,
    ts_recv: 9,
    sequence: 5,
    flags: 0,
};

const STOCK: StockLocate = StockLocate::new(13);

/// An order record as it is read, with the message's number.
#[derive(Clone, Copy, Debug)]
struct Given {
    sequence: u32,
    last: u8,
    order_id: u64,
    change: Change,
}

fn change(action: Action, price: u32, size: u32) -> Change {
    let price = PriceScale::WIDE.nanos(Price::new(price));
    Change { action, side: DbnSide::Bid, price, size }
}

fn given(last: u8, order_id: u64, change: Change) -> Given {
    Given { sequence: COMMON.sequence, last, order_id, change }
}

/// The events of each record, and at the end those of an incomplete message.
fn read(records: &[Given]) -> Vec<Result<Vec<(u64, What)>, BadOrder>> {
    let mut reader = EventReader::default();
    let mut buffer = RecordBuffer::default();
    let mut read = Vec::new();
    for &Given { sequence, last, order_id, change } in records {
        let words = bytes(mbo(&Common { sequence, ..COMMON }, last, order_id, change));
        let type_id = RecordKind::Mbo.type_id();
        let record = buffer.decode(1, type_id, words.as_flattened()).unwrap().unwrap();
        let mut events = Vec::new();
        let flow = reader.next(&record, &mut visitor(&mut events));
        read.push(flow.map(|_| events));
    }
    let mut rest = Vec::new();
    let _ = reader.flush(&mut visitor(&mut rest));
    read.push(Ok(rest));
    read
}

fn visitor(events: &mut Vec<(u64, What)>) -> impl FnMut(u64, &MarketEvent) -> ControlFlow<()> + '_ {
    |number, event| {
        assert_eq!(event.time, Some(EventTime::new(1_000_007)));
        assert_eq!(event.stock_locate, STOCK);
        events.push((number, event.what));
        ControlFlow::Continue(())
    }
}

/// The events of all records.
fn events(records: &[Given]) -> Vec<What> {
    let all = read(records).into_iter().flat_map(Result::unwrap);
    all.map(|(_, what)| what).collect()
}

fn add(reference: u64, price: u32, shares: u32) -> What {
    What::Order(BookEvent::Add {
        stock_locate: STOCK,
        reference: OrderReferenceNumber::new(reference),
        side: Side::Buy,
        shares: Shares::new(shares),
        price: Price::new(price),
    })
}

fn cancel(reference: u64, shares: u32) -> What {
    What::Order(BookEvent::Cancel {
        stock_locate: STOCK,
        reference: OrderReferenceNumber::new(reference),
        shares: Shares::new(shares),
    })
}

fn replace(original: u64, replacement: u64, price: u32, shares: u32) -> What {
    What::Order(BookEvent::Replace {
        stock_locate: STOCK,
        original: OrderReferenceNumber::new(original),
        replacement: OrderReferenceNumber::new(replacement),
        shares: Shares::new(shares),
        price: Price::new(price),
    })
}

fn hidden(price: u32, shares: u32) -> What {
    What::Trade(Trade {
        shares: TotalShares::new(shares.into()),
        price: Price::new(price),
        match_number: MatchNumber::default(),
        kind: TradeKind::Hidden,
        aggressor: Some(Side::Buy),
    })
}

/// A trade with several fills.
fn of_several(price: u32, shares: u32) -> What {
    let What::Trade(trade) = hidden(price, shares) else { unreachable!("it is one") };
    What::Trade(Trade { kind: TradeKind::Displayed, ..trade })
}

fn execution(reference: u64, price: Option<u32>, shares: u32, is_printed: bool) -> What {
    What::Execution(Execution {
        reference: OrderReferenceNumber::new(reference),
        shares: Shares::new(shares),
        price: price.map(Price::new),
        is_printed,
        match_number: MatchNumber::default(),
        remaining: None,
    })
}

#[test]
fn order_records_of_one_message_become_one_event() {
    assert_eq!(events(&[given(LAST, 7, change(Action::Add, 500, 30))]), [add(7, 500, 30)]);
    assert_eq!(events(&[given(LAST, 7, change(Action::Cancel, 500, 30))]), [cancel(7, 30)]);
    let replaced = [
        given(0, 7, change(Action::Cancel, 500, 30)),
        given(LAST, 8, change(Action::Add, 600, 20)),
    ];
    assert_eq!(read(&replaced)[0], Ok(vec![]));
    assert_eq!(events(&replaced), [replace(7, 8, 600, 20)]);
}

#[test]
fn an_execution_keeps_its_price_and_whether_it_is_printed() {
    let printed = [
        given(0, 0, change(Action::Trade, 510, 30)),
        given(0, 7, change(Action::Fill, 510, 30)),
        given(LAST, 7, change(Action::Cancel, 500, 30)),
    ];
    assert_eq!(events(&printed), [execution(7, Some(510), 30, true)]);
    assert_eq!(events(&printed[1..]), [execution(7, Some(510), 30, false)]);
    let at_its_own = [printed[0], given(0, 7, change(Action::Fill, 500, 30)), printed[2]];
    assert_eq!(events(&at_its_own), [execution(7, None, 30, true)]);
}

#[test]
fn actions_of_other_venues_are_events() {
    let cleared = given(LAST, 0, Change { side: DbnSide::None, ..Change::NONE });
    let cleared = Given { change: Change { action: Action::Clear, ..cleared.change }, ..cleared };
    let snapshot = given(LAST | dbn::flags::SNAPSHOT, 7, change(Action::Add, 500, 30));
    assert_eq!(events(&[cleared, snapshot]), [What::BookCleared, add(7, 500, 30)]);
    let modified = What::OrderModified(Modified {
        reference: OrderReferenceNumber::new(7),
        side: Some(Side::Buy),
        shares: Shares::new(20),
        price: Price::new(400),
        priority: Priority::KeptIfLess,
    });
    assert_eq!(events(&[given(LAST, 7, change(Action::Modify, 400, 20))]), [modified]);
    assert_eq!(events(&[given(LAST, 0, Change::NONE)]), []);
}

#[test]
fn records_that_only_resemble_a_message_are_events_of_their_own() {
    // One aggressor, two orders: the trade is printed once.
    let two_fills = [
        given(0, 0, change(Action::Trade, 500, 50)),
        given(0, 7, change(Action::Fill, 500, 30)),
        given(0, 7, change(Action::Cancel, 500, 30)),
        given(0, 8, change(Action::Fill, 500, 20)),
        given(LAST, 8, change(Action::Cancel, 500, 20)),
    ];
    let expected =
        [of_several(500, 50), execution(7, None, 30, false), execution(8, None, 20, false)];
    assert_eq!(events(&two_fills), expected);
    // All fills before the first cancel, at another price than that of one order.
    let [trade, fill, gone, other, last] = two_fills;
    let lower = Given { change: change(Action::Fill, 490, 30), ..fill };
    let expected =
        [of_several(500, 50), execution(7, Some(490), 30, false), execution(8, None, 20, false)];
    assert_eq!(events(&[trade, lower, other, gone, last]), expected);
    // A first fill of all shares, which is not the only one.
    let whole = Given { change: change(Action::Fill, 500, 50), ..fill };
    let expected = [of_several(500, 50), execution(8, None, 20, false)];
    assert_eq!(events(&[trade, whole, other, last]), expected);
    // A trade that no record gives a side.
    let unknown = Given { change: Change { side: DbnSide::None, ..trade.change }, ..trade };
    let What::Trade(print) = hidden(500, 50) else { unreachable!("it is one") };
    assert_eq!(events(&[unknown]), [What::Trade(Trade { aggressor: None, ..print })]);
    // A cancel of another message, and of a message without a number.
    for sequences in [[5, 6], [0, 0]] {
        let [first, second] = sequences;
        let apart = [
            Given { sequence: first, ..given(0, 7, change(Action::Cancel, 500, 10)) },
            Given { sequence: second, ..given(LAST, 8, change(Action::Add, 600, 20)) },
        ];
        assert_eq!(events(&apart), [cancel(7, 10), add(8, 600, 20)]);
    }
    // The end of the input inside a message.
    assert_eq!(events(&two_fills[..1]), [hidden(500, 50)]);
    assert_eq!(events(&[given(0, 7, change(Action::Cancel, 500, 10))]), [cancel(7, 10)]);
}

#[test]
fn a_record_that_is_no_event_is_refused_with_its_reason() {
    let refused = |given: Given| read(&[given])[0].clone().unwrap_err().to_string();
    let bid = change(Action::Add, 500, 30);
    let reason = refused(given(LAST, 7, Change { price: -100_000, ..bid }));
    assert!(reason.starts_with("price -100000e-9, expected 0 to 200000"), "{reason}");
    let reason = refused(given(LAST, 7, Change { price: 99_999, ..bid }));
    assert!(reason.starts_with("price 99999e-9"), "{reason}");
    let reason = refused(given(LAST, 7, Change { side: DbnSide::None, ..bid }));
    assert_eq!(reason, "order of side 'N', expected B or A");
    let mut order = MboMsg { action: b'A' as _, ..MboMsg::default() };
    order.hd.instrument_id = 65_536;
    let mut visit = |_, _: &MarketEvent| ControlFlow::Continue(());
    let error = EventReader::default().next(&Record::Mbo(&order), &mut visit).unwrap_err();
    assert_eq!(error, BadOrder::Instrument(65_536));
    order = MboMsg { action: b'Z' as _, ..MboMsg::default() };
    let error = EventReader::default().next(&Record::Mbo(&order), &mut visit).unwrap_err();
    assert_eq!(error, BadOrder::Action(b'Z'));
}

#[test]
fn a_definition_carries_the_symbol() {
    let entry = Definition {
        round_lot_shares: 100,
        listing_venue: Alpha::new(*b"XNAS"),
        issue_class: b'C',
        issue_sub_type: Alpha::new(*b"Z "),
        segment: b'Q',
    };
    let symbol: Symbol = "AAPL".parse().unwrap();
    let record = definition(&COMMON, Maybe::of(symbol), &entry);
    let mut seen = None;
    let mut visit = |_, event: &MarketEvent| {
        seen = Some((event.symbol.get(), event.what));
        ControlFlow::Continue(())
    };
    let flow = EventReader::default().next(&Record::Definition(&record), &mut visit);
    assert_eq!(flow, Ok(ControlFlow::Continue(())));
    assert_eq!(seen, Some((Some(symbol), What::Definition(entry))));
}

/// The order records of a message, as a plant and Databento write them, without `F_LAST`.
fn records_of(sequence: u32, what: What) -> Vec<Given> {
    let given = |order_id, change| Given { sequence, last: 0, order_id, change };
    let units = |price: Option<Price>| price.map_or(500, Price::code);
    match what {
        What::Order(BookEvent::Add { reference, shares, price, .. }) => {
            vec![given(reference.get(), change(Action::Add, price.code(), shares.get()))]
        }
        What::Order(BookEvent::Cancel { reference, shares, .. }) => {
            vec![given(reference.get(), change(Action::Cancel, 500, shares.get()))]
        }
        What::Order(BookEvent::Replace { original, replacement, shares, price, .. }) => vec![
            given(original.get(), change(Action::Cancel, 500, 9)),
            given(replacement.get(), change(Action::Add, price.code(), shares.get())),
        ],
        What::Execution(execution) => {
            let (order_id, size) = (execution.reference.get(), execution.shares.get());
            let fill = change(Action::Fill, units(execution.price), size);
            let trade = Change { action: Action::Trade, side: opposite(fill.side), ..fill };
            let mut records =
                vec![given(order_id, fill), given(order_id, change(Action::Cancel, 500, size))];
            if execution.is_printed {
                records.insert(0, given(0, trade));
            }
            records
        }
        What::Trade(trade) => {
            let size = trade.shares.get() as u32;
            vec![given(0, change(Action::Trade, trade.price.code(), size))]
        }
        other => panic!("{other:?} is not drawn"),
    }
}

fn any_message() -> impl Strategy<Value = What> {
    // Few references, sizes and prices, so that messages resemble each other.
    let (reference, shares, price) = (1u64..4, 1u32..4, 498u32..500);
    (0..5u8, reference, 1u64..4, shares, price, any::<bool>()).prop_map(
        |(kind, reference, replacement, shares, price, flag)| match kind {
            0 => add(reference, price, shares),
            1 => cancel(reference, shares),
            2 => replace(reference, replacement, price, shares),
            3 => hidden(price, shares),
            _ => execution(reference, flag.then_some(price), shares, !flag || shares > 1),
        },
    )
}

proptest! {
    /// A packet is any number of messages: its last record has `F_LAST`.
    #[test]
    fn messages_read_back_as_they_were_from_packets_of_any_size(
        messages in prop::collection::vec((any_message(), any::<bool>()), 0..30)
    ) {
        let mut records = Vec::new();
        let mut expected = Vec::new();
        for (place, (what, ends_packet)) in messages.into_iter().enumerate() {
            let number = place as u32 + 1;
            records.extend(records_of(number, what));
            if ends_packet && let Some(record) = records.last_mut() {
                record.last = LAST;
            }
            expected.push((u64::from(number), what));
        }
        let events: Vec<_> = read(&records).into_iter().flat_map(Result::unwrap).collect();
        prop_assert_eq!(events, expected);
    }

    #[test]
    fn any_order_records_are_events_or_refused(
        groups in prop::collection::vec(
            (any::<bool>(), any::<u64>(), 0..7usize, any::<u32>(), any::<u32>(), 0..3u32), 0..20
        )
    ) {
        const ACTIONS: [Action; 7] = [
            Action::Add, Action::Cancel, Action::Trade, Action::Fill, Action::Modify,
            Action::Clear, Action::None,
        ];
        let records: Vec<_> = groups
            .into_iter()
            .map(|(last, order, action, price, size, sequence)| {
                let last = if last { LAST } else { 0 };
                Given { sequence, ..given(last, order, change(ACTIONS[action], price, size)) }
            })
            .collect();
        let read = read(&records);
        prop_assert_eq!(read.len(), records.len() + 1);
        // A record completes at most its own message and the one before it, and after `F_LAST`
        // nothing waits.
        for (place, events) in read.iter().enumerate() {
            let follows_last = place > 0 && records[place - 1].last == LAST;
            let most = if place == records.len() || follows_last { 1 } else { 2 };
            prop_assert!(events.as_ref().is_ok_and(|events| events.len() <= most));
        }
        let is_complete = records.last().is_none_or(|record| record.last == LAST);
        prop_assert!(!is_complete || read[records.len()] == Ok(vec![]));
    }
}
