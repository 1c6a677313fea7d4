//! GLIMPSE: the books of the exchange at one moment, from the messages of a SoupBinTCP session.
//!
//! Protocol: each login gets a snapshot of its moment: states, then an add for every live order,
//! then the number of the first message that is not in the snapshot. The server names its session,
//! which must be that of the lines, and numbers the messages of the snapshot from 1.
//! Bounds: [`MOST_ORDERS`] orders and [`MOST_STATES`] states.
//! Failure: a message that is no part of a snapshot ends it, with its number. So does a server of
//! another session, before its first message.

use std::{net::SocketAddr, ops::ControlFlow, time::Duration};

use nanotape_market::{MarketEvent, MarketSnapshot, RestingOrder, What};
use nanotape_types::{Alpha, BookEvent};
use nanotape_wire::{
    itch50::Message,
    soupbintcp::{GlimpseEndOfSnapshot, parse_number},
};

use crate::{
    normalise::market_event,
    soupbintcp::{
        Client, ClientEvent, ClientOptions, Resume, SessionEnd, is_same_session, other_session,
        run_session,
    },
};

/// Orders of a snapshot, at most: four times those of a busy day.
pub const MOST_ORDERS: usize = 8 << 20;

/// States of a snapshot, at most: sixteen for each stock.
pub const MOST_STATES: usize = 1 << 20;

/// Messages of a snapshot, at most, also those that are neither.
const MOST_MESSAGES: u64 = (MOST_ORDERS + MOST_STATES) as u64;

/// Why there is no snapshot.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GlimpseError {
    /// The session ended before the snapshot.
    #[error("{0}, before the end of the snapshot")]
    Session(#[from] SessionEnd),
    /// The server has the snapshot of another session.
    #[error("{}", other_session(*found, *expected))]
    OtherSession {
        /// The session of the server.
        found: Alpha<10>,
        /// The session of the lines.
        expected: Alpha<10>,
    },
    /// The server does not begin with the message that was requested.
    #[error("the server begins with message {found} of the snapshot, expected {expected}")]
    OtherStart {
        /// The number of its first message.
        found: u64,
        /// The number that was requested.
        expected: u64,
    },
    /// A message is no part of a snapshot.
    #[error("message {number} of the snapshot, {bytes} bytes of type '{}': expected a state, an add \
             of an order, or the end of the snapshot", tag.escape_ascii())]
    Message {
        /// Its number.
        number: u64,
        /// Its type.
        tag: u8,
        /// Its length.
        bytes: usize,
    },
    /// The snapshot has more messages than a market can need.
    #[error(
        "message {number} of the snapshot: expected at most {MOST_ORDERS} orders and \
             {MOST_STATES} states"
    )]
    TooMany {
        /// The number of the first message that was refused.
        number: u64,
    },
}

/// Collects the messages of a snapshot, whose times are times of day.
#[derive(Debug, Default)]
pub struct GlimpseReader {
    snapshot: MarketSnapshot,
    count: u64,
}

impl GlimpseReader {
    /// Takes the next message; the snapshot after the last one.
    pub fn message(&mut self, bytes: &[u8]) -> Result<Option<MarketSnapshot>, GlimpseError> {
        self.count += 1;
        let number = self.count;
        if number > MOST_MESSAGES {
            return Err(GlimpseError::TooMany { number });
        }
        if let Ok(end) = GlimpseEndOfSnapshot::wrap(bytes)
            && let Some(next) = parse_number(end.sequence_number().as_bytes())
            && next > 0
        {
            let snapshot = core::mem::take(&mut self.snapshot);
            return Ok(Some(MarketSnapshot { next, ..snapshot }));
        }
        let refused = || GlimpseError::Message {
            number,
            tag: bytes.first().copied().unwrap_or_default(),
            bytes: bytes.len(),
        };
        let message = Message::decode(bytes).map_err(|_| refused())?;
        let event = market_event(&message);
        let time = event.time.unwrap_or_default();
        self.snapshot.time = self.snapshot.time.max(time);
        match event.what {
            What::Order(BookEvent::Add { stock_locate, reference, side, shares, price }) => {
                if self.snapshot.orders.len() == MOST_ORDERS {
                    return Err(GlimpseError::TooMany { number });
                }
                let order = RestingOrder { stock_locate, reference, side, shares, price };
                self.snapshot.orders.push(order);
            }
            What::Definition(_) | What::Status(_) => self.state(event)?,
            What::Other if bytes.first() != Some(&b'G') => {}
            _ => return Err(refused()),
        }
        Ok(None)
    }

    fn state(&mut self, event: MarketEvent) -> Result<(), GlimpseError> {
        if self.snapshot.states.len() == MOST_STATES {
            return Err(GlimpseError::TooMany { number: self.count });
        }
        self.snapshot.states.push(event);
        Ok(())
    }
}

/// Fetches a snapshot of `session` from a server: its address, and the time for a connection.
/// `now_ns` is any clock that does not go back, in ns. `keep` gets every message of the snapshot
/// before it is used.
pub fn fetch_snapshot(
    server: (SocketAddr, Duration),
    options: ClientOptions,
    session: Alpha<10>,
    now_ns: impl Fn() -> u64,
    is_cancelled: impl Fn() -> bool,
    mut keep: impl FnMut(&[u8]),
) -> Result<MarketSnapshot, GlimpseError> {
    let mut client = Client::new(options, Resume::BEGINNING);
    let mut reader = GlimpseReader::default();
    let mut result = Ok(None);
    let end = run_session(server, &mut client, now_ns, is_cancelled, |event| {
        match event {
            ClientEvent::Accepted { session: found, .. } if !is_same_session(found, session) => {
                result = Err(GlimpseError::OtherSession { found, expected: session });
            }
            ClientEvent::Accepted { requested: expected, next: found, .. } if found != expected => {
                result = Err(GlimpseError::OtherStart { found, expected });
            }
            ClientEvent::Sequenced { message, .. } => {
                keep(message);
                result = reader.message(message);
            }
            _ => {}
        }
        match result {
            Ok(None) => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    });
    result?.ok_or(GlimpseError::Session(end))
}

#[cfg(test)]
mod tests {
    use nanotape_types::{NanosSinceMidnight, OrderReferenceNumber, Price4, Shares, StockLocate};
    use nanotape_wire::{
        itch50::{AddOrderFields, BuySellIndicator, OrderDeleteFields},
        soupbintcp::{GlimpseEndOfSnapshotFields, format_number},
    };

    use super::*;

    fn add(reference: u64) -> Vec<u8> {
        let fields = AddOrderFields {
            stock_locate: StockLocate::new(7),
            tracking_number: nanotape_types::TrackingNumber::default(),
            timestamp: NanosSinceMidnight::new(500 + reference).unwrap(),
            order_reference_number: OrderReferenceNumber::new(reference),
            buy_sell_indicator: BuySellIndicator::Buy,
            shares: Shares::new(100),
            stock: nanotape_types::Symbol::new(*b"AAPL    "),
            price: Price4::new(1_000_000),
        };
        fields.encode().to_vec()
    }

    #[test]
    fn a_snapshot_has_its_orders_in_order_and_the_number_after_it() {
        let mut reader = GlimpseReader::default();
        for reference in [9, 4] {
            assert_eq!(reader.message(&add(reference)).unwrap(), None);
        }
        let sequence_number = format_number(31).unwrap();
        let end = GlimpseEndOfSnapshotFields { sequence_number }.encode();
        let snapshot = reader.message(&end).unwrap().unwrap();
        assert_eq!((snapshot.next, snapshot.time.get()), (31, 509));
        let references = snapshot.orders.iter().map(|order| order.reference.get());
        assert!(references.eq([9, 4]), "the priority in a level is that of the messages");
    }

    #[test]
    fn what_is_no_part_of_a_snapshot_is_named() {
        let deleted = OrderDeleteFields {
            stock_locate: StockLocate::new(7),
            tracking_number: nanotape_types::TrackingNumber::default(),
            timestamp: NanosSinceMidnight::default(),
            order_reference_number: OrderReferenceNumber::new(4),
        };
        for (bytes, tag) in [(deleted.encode().as_slice(), "'D'"), (b"", "'\\x00'"), (b"G1", "'G'")]
        {
            let mut reader = GlimpseReader::default();
            assert!(reader.message(&add(4)).is_ok());
            let error = reader.message(bytes).unwrap_err().to_string();
            assert!(error.starts_with("message 2 of the snapshot, "), "{error}");
            assert!(error.contains(tag), "{error}");
        }
    }
}
