//! A handler that records every call, for comparison.

use std::ops::ControlFlow;

use nanotape_feed::{Damage, MessageHandler, Position};
use nanotape_wire::itch50::Message;

#[derive(Default, PartialEq, Debug)]
pub struct Seen {
    pub messages: Vec<(Position, Vec<u8>)>,
    pub damage: Vec<Damage>,
}

impl MessageHandler for Seen {
    fn message(&mut self, position: Position, message: Message<'_>) -> ControlFlow<()> {
        self.messages.push((position, message.as_bytes().to_vec()));
        ControlFlow::Continue(())
    }

    fn damage(&mut self, damage: Damage) {
        self.damage.push(damage);
    }
}
