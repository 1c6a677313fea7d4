//! Small days with known content, and a handler that records every call.

use std::ops::ControlFlow;

use nanotape_feed::{Damage, DayDecoder, DayEnd, MessageHandler, Position, source::Block};
use nanotape_types::{
    MatchNumber, NanosSinceMidnight, OrderReferenceNumber, Price4, Shares, Side, StockLocate,
    Symbol, TrackingNumber,
};
use nanotape_wire::itch50::{
    AddOrderFields, BuySellIndicator, EventCode, Message, OrderDeleteFields, OrderExecutedFields,
    SystemEventFields,
};

/// Messages of three types and lengths, `count` of each.
pub(crate) fn messages(count: u64) -> Vec<Vec<u8>> {
    let (stock_locate, tracking_number) = (StockLocate::new(13), TrackingNumber::new(0));
    let mut messages = Vec::new();
    for i in 0..count {
        let timestamp = NanosSinceMidnight::new(34_200_000_000_000 + i).unwrap();
        let order_reference_number = OrderReferenceNumber::new(1000 + i);
        let add = AddOrderFields {
            stock_locate,
            tracking_number,
            timestamp,
            order_reference_number,
            buy_sell_indicator: BuySellIndicator::from(Side::Buy),
            shares: Shares::new(300),
            stock: Symbol::new(*b"AAPL    "),
            price: Price4::new(1_899_500),
        };
        let executed = OrderExecutedFields {
            stock_locate,
            tracking_number,
            timestamp,
            order_reference_number,
            executed_shares: Shares::new(100),
            match_number: MatchNumber::new(i),
        };
        let delete =
            OrderDeleteFields { stock_locate, tracking_number, timestamp, order_reference_number };
        messages.push(add.encode().to_vec());
        messages.push(executed.encode().to_vec());
        messages.push(delete.encode().to_vec());
    }
    messages
}

/// Puts the length in front of each message.
pub(crate) fn framed<'a>(messages: impl IntoIterator<Item = &'a Vec<u8>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for message in messages {
        bytes.extend_from_slice(&(message.len() as u16).to_be_bytes());
        bytes.extend_from_slice(message);
    }
    bytes
}

/// The offset of each record.
pub(crate) fn offsets(messages: &[Vec<u8>]) -> Vec<usize> {
    let mut end = 0;
    let start = |message: &Vec<u8>| {
        let start = end;
        end += 2 + message.len();
        start
    };
    messages.iter().map(start).collect()
}

/// The system event that is the last message of a day.
pub(crate) fn end_of_messages() -> Vec<u8> {
    let event = SystemEventFields {
        stock_locate: StockLocate::new(0),
        tracking_number: TrackingNumber::new(0),
        timestamp: NanosSinceMidnight::new(72_300_000_000_000).unwrap(),
        event_code: EventCode::EndOfMessages,
    };
    event.encode().to_vec()
}

/// All calls that a handler received.
#[derive(Default, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) messages: Vec<(u64, u64, Vec<u8>)>,
    pub(crate) damage: Vec<Damage>,
    pub(crate) stop_after: Option<usize>,
}

impl MessageHandler for Seen {
    fn message(&mut self, position: Position, message: Message<'_>) -> ControlFlow<()> {
        self.messages.push((position.number, position.offset, message.as_bytes().to_vec()));
        if self.stop_after == Some(self.messages.len()) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn damage(&mut self, damage: Damage) {
        self.damage.push(damage);
    }
}

impl Seen {
    pub(crate) fn bodies(&self) -> Vec<Vec<u8>> {
        self.messages.iter().map(|(_, _, body)| body.clone()).collect()
    }
}

/// Decodes a day that is in memory, as one block.
pub(crate) fn decode(bytes: &[u8]) -> (Seen, DayEnd) {
    let mut seen = Seen::default();
    let block = Block { offset: 0, bytes, is_last: true };
    let step = DayDecoder::new().decode(block, &mut seen);
    (seen, step.end.expect("the last block ends the day"))
}
