//! The cost of a day without books, over the same blocks of the same file: the lower limits of
//! every book.

use core::{hint::black_box, ops::ControlFlow};

use nanotape_clock::Clock;
use nanotape_feed::{
    Damage, DaySource, MessageHandler, Position, SourceError, book_event, capture::read_messages,
    read_day,
};
use nanotape_market::{EventHandler, EventSource as _, MarketEvent, Origin};
use nanotape_shm::prefetch;
use nanotape_wire::{
    framing::binary_file::{End, Record, Records},
    itch50::Message,
};

use super::{
    Day,
    reading::{Answer, DayReading},
    usage::{Peak, Stopwatch},
};
use crate::{
    decode::{sum_of_event, sum_of_market_event},
    engine::Reading,
    error::Error,
};

/// Distance in front of the walk at which the file is prefetched.
const FILE_AHEAD_BYTES: usize = 1024;

/// Sums over a day, so that the compiler cannot remove a read.
#[derive(Default)]
pub(super) struct Tally {
    sum: u64,
    messages: u64,
}

/// A function that sums a whole day.
pub(super) type AddDay = fn(&mut Tally, &mut DaySource) -> Result<(), SourceError>;

pub(super) fn measure(day: &Day, clock: Clock, add: AddDay) -> Result<Reading, Error> {
    let mut tally = Tally::default();
    let watch = Stopwatch::start(clock);
    for _ in 0..day.repeat {
        add(&mut tally, &mut day.open()?)?;
    }
    black_box(tally.sum);
    let reading = watch.reading(0, day.operations(), Peak::default());
    // None if messages are not separated.
    let messages = (tally.messages > 0).then_some(tally.messages);
    let answer = Answer { messages, ..Answer::default() };
    Ok(DayReading { answer, ..reading }.into())
}

impl Tally {
    /// All bytes, eight at a time: the file alone.
    pub(super) fn bytes(&mut self, source: &mut DaySource) -> Result<(), SourceError> {
        let mut used_bytes = 0;
        loop {
            let block = source.next_block(used_bytes)?;
            let (words, rest) = block.bytes.as_chunks();
            for word in words {
                self.sum = self.sum.wrapping_add(u64::from_le_bytes(*word));
            }
            self.sum = rest.iter().fold(self.sum, |sum, &byte| sum.wrapping_add(byte.into()));
            used_bytes = block.bytes.len();
            if block.is_last {
                return Ok(());
            }
        }
    }

    /// The length of every message, which leads to the next one; in a capture also its packets, in
    /// order.
    pub(super) fn framing(&mut self, source: &mut DaySource) -> Result<(), SourceError> {
        for_each_message(source, |bytes| {
            self.messages += 1;
            self.sum += bytes.len() as u64;
        })
    }

    /// Also the first bytes of every message: of ITCH its type and its stock locate.
    pub(super) fn touch(&mut self, source: &mut DaySource) -> Result<(), SourceError> {
        for_each_message(source, |bytes| {
            self.messages += 1;
            if let Some(&[tag, high, low]) = bytes.first_chunk() {
                self.sum += u64::from(tag) + u64::from(u16::from_be_bytes([high, low]));
            }
        })
    }

    /// Every field that a book would receive.
    pub(super) fn decode(&mut self, source: &mut DaySource) -> Result<(), SourceError> {
        // Damage was refused before the measurement.
        if source.is_capture()? {
            self.messages += source.read(self, |_| ())?.records;
            return Ok(());
        }
        read_day(source, self, |_| ()).map(|_| ())
    }
}

/// The events of a capture. Its messages are counted at its end: one can have several events.
impl EventHandler for Tally {
    type Hint = ();

    #[inline(always)]
    fn event(&mut self, _: Position, event: &MarketEvent, _: impl Origin) -> ControlFlow<()> {
        self.sum = self.sum.wrapping_add(sum_of_market_event(event));
        ControlFlow::Continue(())
    }

    fn damage(&mut self, _: Damage) {}
}

impl MessageHandler for Tally {
    #[inline(always)]
    fn message(&mut self, _: Position, message: Message<'_>) -> ControlFlow<()> {
        self.messages += 1;
        if let Some(event) = book_event(&message) {
            self.sum = self.sum.wrapping_add(sum_of_event(event));
        }
        ControlFlow::Continue(())
    }

    fn damage(&mut self, _: Damage) {}
}

/// Iterates over the messages of a valid day or capture and does nothing else.
#[inline]
fn for_each_message(
    source: &mut DaySource,
    mut take: impl FnMut(&[u8]),
) -> Result<(), SourceError> {
    let captured = read_messages(source, |bytes| {
        take(bytes);
        ControlFlow::Continue(())
    })?;
    match captured {
        Some(_) => Ok(()),
        None => for_each_record(source, |record| take(record.bytes)),
    }
}

/// Iterates over the messages of a valid day and does nothing else.
#[inline]
pub(super) fn for_each_record(
    source: &mut DaySource,
    mut take: impl FnMut(Record<'_>),
) -> Result<(), SourceError> {
    try_for_each_record(source, |record| {
        take(record);
        ControlFlow::Continue(())
    })
}

/// The same until `take` breaks.
#[inline]
pub(super) fn try_for_each_record(
    source: &mut DaySource,
    mut take: impl FnMut(Record<'_>) -> ControlFlow<()>,
) -> Result<(), SourceError> {
    let mut used_bytes = 0;
    loop {
        let block = source.next_block(used_bytes)?;
        let mut records = Records::new(block.bytes, block.offset);
        let flow = records.by_ref().try_for_each(|record| {
            // The decoder prefetches too: without it the walk would measure waiting for the file.
            prefetch(record.bytes, FILE_AHEAD_BYTES);
            take(record)
        });
        used_bytes = block.bytes.len() - records.remaining().len();
        let is_end = matches!(records.end(), Some(End::EndOfSession { .. }));
        if flow.is_break() || block.is_last || is_end {
            return Ok(());
        }
    }
}
