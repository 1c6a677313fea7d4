//! Converts records back to market events: the same commands read a journal and a day file.
//!
//! Protocol: the plant publishes the records of one message together, and the last record of each
//! kind has the flag `F_LAST`. A replace is a cancel and an add. An execution is a fill and a
//! cancel, after a trade if it is printed. So an order record with `F_LAST` completes an event.
//! Bounds: one event is buffered, with at most three order records.
//! Failure: a group of order records that is not an event is [`BadGroup`]. Status and imbalance
//! records become [`What::Other`]: they change no book and print no trade. An event from records
//! has no match number.

use dbn::{Action, MboMsg, Side as DbnSide};
use nanotape_market::{Definition, Execution, MarketEvent, Trade, TradeKind, What};
use nanotape_types::{
    Alpha, BookEvent, MatchNumber, Maybe, NanosSinceMidnight, OrderReferenceNumber, Price4, Shares,
    Side, StockLocate, Symbol, TotalShares,
};

use crate::{Notice, Record, encode::SCALE};

/// Order records that do not form an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("message {message}: its order records are not an add, cancel, replace, execution or trade")]
pub struct BadGroup {
    /// The number of the message in its day, modulo 2^32.
    pub message: u32,
}

/// Converts the records of one run of a plant to events.
#[derive(Clone, Debug, Default)]
pub struct EventReader {
    midnight_ns: u64,
    /// Order records of an incomplete message.
    trade: Option<MboMsg>,
    fill: Option<MboMsg>,
    cancel: Option<MboMsg>,
}

impl EventReader {
    /// Takes the next record. Returns an event if the record completes one.
    pub fn next(&mut self, record: &Record<'_>) -> Result<Option<MarketEvent>, BadGroup> {
        match record {
            Record::Mbo(order) => self.order(order),
            Record::Definition(entry) => {
                let symbol = Symbol::new(padded(&entry.raw_symbol));
                let definition = Definition {
                    round_lot_shares: entry.min_lot_size_round_lot.cast_unsigned(),
                    listing_venue: Alpha::new(padded(&entry.exchange)),
                    issue_class: first_of(&entry.security_type),
                    issue_sub_type: Alpha::new(padded(&entry.secsubtype)),
                    segment: first_of(&entry.group),
                };
                let mut event = self.event(&entry.hd, What::Definition(definition));
                event.symbol = Maybe::of(symbol);
                Ok(Some(event))
            }
            Record::Status(status) => Ok(Some(self.event(&status.hd, What::Other))),
            Record::Imbalance(imbalance) => Ok(Some(self.event(&imbalance.hd, What::Other))),
            Record::Notice(Notice::Start(start)) => {
                *self = Self { midnight_ns: start.midnight_ns, ..Self::default() };
                Ok(None)
            }
            // The inside and the prints follow from the order records.
            Record::Bbo(_) | Record::Trade(_) | Record::Notice(_) => Ok(None),
        }
    }

    fn order(&mut self, order: &MboMsg) -> Result<Option<MarketEvent>, BadGroup> {
        let bad = BadGroup { message: order.sequence };
        let is_last = order.flags.is_last();
        let kept = match order.action() {
            Ok(Action::Trade) => &mut self.trade,
            Ok(Action::Fill) => &mut self.fill,
            Ok(Action::Cancel) => &mut self.cancel,
            Ok(Action::Add) if is_last => {
                let what = self.added(order).ok_or(bad)?;
                return Ok(Some(self.event(&order.hd, What::Order(what))));
            }
            _ => return Err(bad),
        };
        if !is_last {
            return match kept.replace(order.clone()) {
                None => Ok(None),
                Some(_) => Err(bad),
            };
        }
        let (trade, fill, cancel) = (self.trade.take(), self.fill.take(), self.cancel.take());
        let what = match (order.action(), trade, fill, cancel) {
            (Ok(Action::Trade), None, None, None) => What::Trade(print(order).ok_or(bad)?),
            (Ok(Action::Cancel), None, None, None) => What::Order(BookEvent::Cancel {
                stock_locate: locate(order),
                reference: OrderReferenceNumber::new(order.order_id),
                shares: Shares::new(order.size),
            }),
            (Ok(Action::Cancel), trade, Some(fill), None) => What::Execution(Execution {
                reference: OrderReferenceNumber::new(order.order_id),
                shares: Shares::new(order.size),
                price: (fill.price != order.price)
                    .then(|| price(fill.price).ok_or(bad))
                    .transpose()?,
                is_printed: trade.is_some(),
                match_number: MatchNumber::default(),
            }),
            _ => return Err(bad),
        };
        Ok(Some(self.event(&order.hd, what)))
    }

    /// An order that was entered, alone or as a replacement.
    fn added(&mut self, order: &MboMsg) -> Option<BookEvent> {
        let left = self.cancel.take();
        if self.trade.take().is_some() || self.fill.take().is_some() {
            return None;
        }
        let (stock_locate, price) = (locate(order), price(order.price)?);
        let (reference, shares) =
            (OrderReferenceNumber::new(order.order_id), Shares::new(order.size));
        Some(match left {
            Some(left) => BookEvent::Replace {
                stock_locate,
                original: OrderReferenceNumber::new(left.order_id),
                replacement: reference,
                shares,
                price,
            },
            None => {
                let side = match order.side() {
                    Ok(DbnSide::Bid) => Side::Buy,
                    Ok(DbnSide::Ask) => Side::Sell,
                    _ => return None,
                };
                BookEvent::Add { stock_locate, reference, side, shares, price }
            }
        })
    }

    fn event(&self, header: &dbn::RecordHeader, what: What) -> MarketEvent {
        let since_midnight = header.ts_event.checked_sub(self.midnight_ns);
        MarketEvent {
            time: since_midnight.and_then(NanosSinceMidnight::new),
            instrument: StockLocate::new(header.instrument_id as u16),
            symbol: Maybe::NONE,
            what,
        }
    }
}

fn locate(order: &MboMsg) -> StockLocate {
    StockLocate::new(order.hd.instrument_id as u16)
}

/// A price of the books; `None` if not representable.
fn price(nanounits: i64) -> Option<Price4> {
    (nanounits % SCALE == 0).then(|| u32::try_from(nanounits / SCALE).ok().map(Price4::new))?
}

fn print(order: &MboMsg) -> Option<Trade> {
    Some(Trade {
        shares: TotalShares::new(u64::from(order.size)),
        price: price(order.price)?,
        match_number: MatchNumber::default(),
        kind: TradeKind::Hidden,
    })
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        Common, RecordBuffer, RecordKind, definition,
        encode::{Change, LAST, bytes, mbo, price_of},
    };

    const COMMON: Common =
        Common { instrument_id: 13, ts_event: 1_000_007, ts_recv: 9, sequence: 5, flags: 0 };

    fn change(action: Action, price: u32, size: u32) -> Change {
        let price = price_of(Price4::new(price));
        Change { action, side: DbnSide::Bid, price, size }
    }

    /// The events of order records, each given by its last flag, order and change.
    fn read(records: &[(u8, u64, Change)]) -> Vec<Result<Option<What>, BadGroup>> {
        let mut reader = EventReader { midnight_ns: 1_000_000, ..EventReader::default() };
        let mut buffer = RecordBuffer::default();
        let mut events = Vec::new();
        for &(last, order_id, change) in records {
            let words = bytes(mbo(&COMMON, last, order_id, change));
            let type_id = RecordKind::Mbo.type_id();
            let record = buffer.decode(1, type_id, words.as_flattened()).unwrap().unwrap();
            let event = reader.next(&record);
            if let Ok(Some(event)) = event {
                assert_eq!(event.time, NanosSinceMidnight::new(7));
                assert_eq!(event.instrument, StockLocate::new(13));
            }
            events.push(event.map(|event| event.map(|event| event.what)));
        }
        events
    }

    #[test]
    fn order_records_of_one_message_become_one_event() {
        let (stock_locate, price) = (StockLocate::new(13), Price4::new(500));
        let (reference, shares) = (OrderReferenceNumber::new(7), Shares::new(30));
        let add = BookEvent::Add { stock_locate, reference, side: Side::Buy, shares, price };
        assert_eq!(read(&[(LAST, 7, change(Action::Add, 500, 30))]), [Ok(Some(What::Order(add)))]);
        let cancel = BookEvent::Cancel { stock_locate, reference, shares };
        assert_eq!(
            read(&[(LAST, 7, change(Action::Cancel, 500, 30))]),
            [Ok(Some(What::Order(cancel)))]
        );
        let replacement = OrderReferenceNumber::new(8);
        let replace = BookEvent::Replace {
            stock_locate,
            original: reference,
            replacement,
            shares: Shares::new(20),
            price: Price4::new(600),
        };
        assert_eq!(
            read(&[
                (0, 7, change(Action::Cancel, 500, 30)),
                (LAST, 8, change(Action::Add, 600, 20))
            ]),
            [Ok(None), Ok(Some(What::Order(replace)))]
        );
    }

    #[test]
    fn an_execution_keeps_its_price_and_whether_it_is_printed() {
        let printed = [
            (0, 0, change(Action::Trade, 510, 30)),
            (0, 7, change(Action::Fill, 510, 30)),
            (LAST, 7, change(Action::Cancel, 500, 30)),
        ];
        let execution = Execution {
            reference: OrderReferenceNumber::new(7),
            shares: Shares::new(30),
            price: Some(Price4::new(510)),
            is_printed: true,
            match_number: MatchNumber::default(),
        };
        assert_eq!(read(&printed)[2], Ok(Some(What::Execution(execution))));
        let hidden = Execution { is_printed: false, ..execution };
        assert_eq!(read(&printed[1..])[1], Ok(Some(What::Execution(hidden))));
        let at_its_own = [printed[0], (0, 7, change(Action::Fill, 500, 30)), printed[2]];
        let own = Execution { price: None, ..execution };
        assert_eq!(read(&at_its_own)[2], Ok(Some(What::Execution(own))));
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
        let event = EventReader::default().next(&Record::Definition(&record)).unwrap().unwrap();
        assert_eq!((event.symbol.get(), event.what), (Some(symbol), What::Definition(entry)));
    }

    proptest! {
        #[test]
        fn any_order_records_are_events_or_refused(
            groups in prop::collection::vec(
                (any::<bool>(), any::<u64>(), 0..5usize, any::<u32>(), any::<u32>()), 0..20
            )
        ) {
            let actions =
                [Action::Add, Action::Cancel, Action::Trade, Action::Fill, Action::Modify];
            let records: Vec<_> = groups
                .into_iter()
                .map(|(last, order, action, price, size)| {
                    let last = if last { LAST } else { 0 };
                    (last, order, change(actions[action], price, size))
                })
                .collect();
            let events = read(&records);
            prop_assert_eq!(events.len(), records.len());
            // A record that is not the last one of its message does not complete an event.
            for (event, (last, ..)) in events.iter().zip(&records) {
                prop_assert!(*last == LAST || !matches!(event, Ok(Some(_))));
            }
        }
    }
}
