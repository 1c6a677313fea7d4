//! The channels of a feed: whether their messages begin with the first one of the day, and whether
//! their bytes follow each other.

use nanotape_market::{ChannelMessages, Position};

use crate::{Rule, tally::RuleTally};

/// The channels that a capture has, and the current one.
#[derive(Debug, Default)]
pub(crate) struct CheckedChannels {
    channels: Vec<CheckedChannel>,
    current: usize,
}

#[derive(Debug)]
struct CheckedChannel {
    channel: u32,
    /// The number of the next message.
    next: u64,
    /// The offset of the next message among the bytes of the channel, if it is known.
    next_byte: Option<u64>,
    /// Whether its first message is not in the capture.
    is_late: bool,
}

impl CheckedChannels {
    /// The next messages are these. Returns whether their channel begins again.
    pub(crate) fn messages(&mut self, these: &ChannelMessages, tally: &mut RuleTally) -> bool {
        let ChannelMessages { channel, first, next, bytes, number } = *these;
        let at = Position { number, offset: number };
        let place = match self.channels.iter().position(|of| of.channel == channel) {
            Some(place) => place,
            None => {
                let new = CheckedChannel { channel, next: 1, next_byte: Some(0), is_late: false };
                self.channels.push(new);
                self.begin(self.channels.len() - 1, first, at, tally);
                self.channels.len() - 1
            }
        };
        self.current = place;
        let begins_again = first < self.channels[place].next;
        if begins_again {
            self.begin(place, first, at, tally);
        }
        let of = &mut self.channels[place];
        if let (Some((found, _)), Some(expected)) = (bytes, of.next_byte) {
            // After missing messages the offset is unknown.
            tally.broken_if(first == of.next && found != expected, Rule::StreamOffsets, at);
        }
        (of.next, of.next_byte) = (next, bytes.map(|(_, end)| end));
        begins_again
    }

    fn begin(&mut self, place: usize, first: u64, at: Position, tally: &mut RuleTally) {
        let of = &mut self.channels[place];
        (of.next, of.next_byte, of.is_late) = (1, Some(0), first > 1);
        tally.broken_if(of.is_late, Rule::WholeDay, at);
    }

    /// The rule that a message breaks which names something unknown. What came before a late
    /// beginning is unknown, and the capture cannot be expected to have it.
    pub(crate) fn of_unknown(&self, rule: Rule) -> Rule {
        let is_late = self.channels.get(self.current).is_some_and(|of| of.is_late);
        if is_late { Rule::WholeDay } else { rule }
    }

    /// The current channel.
    pub(crate) fn current(&self) -> u32 {
        self.channels.get(self.current).map_or(0, |of| of.channel)
    }
}
