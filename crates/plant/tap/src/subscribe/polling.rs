//! A poll of a subscriber: filters what the feed has, and shows how far it is.

use std::ops::ControlFlow;

use nanotape_board::NamedFollower;
use nanotape_history::Entry;
use nanotape_ring::{Rejoin, Subscribe as _};
use nanotape_tape::{Item, Progress, Step, Tape as _};

use super::{
    completed::Completed,
    error::Failed,
    event::Event,
    feed::{Amount, Feed},
    filter::SubscriptionFilter,
};
use crate::spans::{ReaderTrace, RunNumbers};

/// What a poll needs beside the feed.
#[derive(Debug)]
pub(super) struct Polling {
    pub(super) filter: SubscriptionFilter,
    /// The rejoin option after a lap, until the first read has reported what was lost before it.
    pub(super) rejoin: Option<Rejoin>,
    /// Shows the position to the plant, if the subscriber has a name.
    pub(super) named: Option<NamedFollower>,
    pub(super) spans: Option<ReaderTrace>,
}

impl Polling {
    /// Reads available messages, and delivers the wanted ones.
    #[inline]
    pub(super) fn poll(
        &mut self,
        feed: &mut Feed,
        amount: Amount,
        mut visit: impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Progress, Failed> {
        let Self { filter, rejoin, named, spans } = self;
        if let Some(spans) = spans {
            let next = feed.next_sequence();
            spans.begin_poll(|| filter.symbols.board(next).and_then(RunNumbers::of));
        }
        // An invalid record ends the poll, so that its error comes in its place.
        let mut bad = None;
        let mut or_stop = |delivered: Result<ControlFlow<()>, _>| {
            delivered.unwrap_or_else(|error| {
                bad = Some(error);
                ControlFlow::Break(())
            })
        };
        let polled = feed.poll(amount, |entry| match entry {
            Entry::Item(Item::Message(message)) => {
                spans.iter_mut().for_each(|spans| spans.read(&message));
                let flow = or_stop(filter.deliver(&message, &mut visit));
                spans.iter_mut().for_each(ReaderTrace::done);
                flow
            }
            Entry::Opening(message) => {
                // The plant did not publish it, so no digest has it.
                let digests = filter.digests.take();
                let flow = or_stop(filter.deliver(&message, &mut visit));
                filter.digests = digests;
                flow
            }
            Entry::Item(Item::Gap(gap)) => {
                filter.lose(&gap);
                named.as_mut().into_iter().for_each(|named| named.lose(&gap));
                match filter.is_loss_inside(Some(&gap)) {
                    true => visit(Event::Lost(gap)),
                    false => ControlFlow::Continue(()),
                }
            }
            // A ring uses each number once, and the journal of a ring has its numbers.
            Entry::Item(Item::Reused(_)) => ControlFlow::Continue(()),
            // A DBN file stores its notices as text, and its feed makes records of them.
            Entry::Notice { .. } => ControlFlow::Continue(()),
            Entry::Handover(handover) => visit(Event::Healed(handover)),
            Entry::Name(locate, symbol) => {
                filter.name(locate, symbol);
                ControlFlow::Continue(())
            }
            Entry::Loss { sequence, text } => {
                filter.lose_one();
                match filter.is_loss_inside(None) {
                    true => visit(Event::Reported { sequence, text }),
                    false => ControlFlow::Continue(()),
                }
            }
        });
        if rejoin.is_some()
            && !matches!(polled, Ok(Progress::Nothing))
            && let Some(reader) = feed.reader_mut()
        {
            reader.set_rejoin(rejoin.take().unwrap_or_default());
        }
        if let Some(named) = named {
            // While records come from the journal, the position in the ring stays.
            let next = feed.next_sequence();
            if let Some(reader) = feed.reader_mut() {
                named.show(next, reader.position_bytes());
            }
        }
        if let Some(error) = bad {
            // The next poll continues behind it.
            filter.lose_one();
            return Err(Failed::Bad(error));
        }
        if !matches!(polled, Ok(Progress::Nothing)) {
            filter.symbols.check_sometimes().map_err(Failed::Board)?;
        }
        polled
    }

    /// A step that may be the end, with a last check of the names that the records needed.
    pub(super) fn end_of(&self, step: Result<Step, Failed>) -> Result<Step, Failed> {
        let step = step?;
        if matches!(step, Step::Gone(_)) {
            self.filter.symbols.check().map_err(Failed::Board)?;
        }
        Ok(self.filter.end_of(step))
    }

    /// [`poll`](Self::poll) for a follower: a feed that waits for its recorder has not ended.
    #[inline]
    pub(super) fn poll_or_wait(
        &mut self,
        feed: &mut Feed,
        amount: Amount,
        visit: impl FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Progress, Failed> {
        let polled = self.poll(feed, amount, visit)?;
        if polled == Progress::Nothing && feed.is_waiting() {
            Completed::pause();
            return Ok(Progress::Read);
        }
        Ok(polled)
    }
}
