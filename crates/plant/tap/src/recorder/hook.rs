//! What a recorder does beside the journal: names of stocks, progress, position, spans, reports.

use nanotape_board::{NamedFollower, RecorderProgress, RecorderState};
use nanotape_journal::KeeperHook;
use nanotape_ring::RingSource;
use nanotape_tape::{Gap, Item, Message};

use super::{RecorderError, RecorderEvent, names::Names, spans::RecorderSpans};

/// The parts of a recorder that a [`Keeper`](nanotape_journal::Keeper) calls.
pub(super) struct RecorderHook<'a, R> {
    pub(super) names: &'a mut Names,
    /// `None` if the progress is not shown.
    pub(super) progress: Option<&'a mut RecorderProgress>,
    pub(super) named: &'a mut Option<NamedFollower>,
    pub(super) spans: &'a mut Option<RecorderSpans>,
    pub(super) report: &'a mut R,
}

impl<R: FnMut(RecorderEvent<'_>)> KeeperHook<RingSource> for RecorderHook<'_, R> {
    type Error = RecorderError;

    fn is_full(error: &RecorderError) -> bool {
        error.is_full()
    }

    #[inline]
    fn begin_poll(&mut self, source: &RingSource) {
        let region = nanotape_ring::Subscribe::region(source.reader());
        self.spans.iter_mut().for_each(|spans| spans.begin_poll(region));
    }

    #[inline]
    fn read(&mut self, item: &Item<'_>) {
        self.spans.iter_mut().for_each(|spans| spans.read(item));
    }

    #[inline(always)]
    fn before(&mut self, message: &Message<'_>) -> Result<(), RecorderError> {
        let Message { sequence, type_id, payload, .. } = *message;
        Ok(self.names.before(sequence, type_id, payload)?)
    }

    #[inline]
    fn appended(&mut self) {
        self.spans.iter_mut().for_each(RecorderSpans::appended);
    }

    #[inline]
    fn synced(&mut self) {
        self.spans.iter_mut().for_each(RecorderSpans::synced);
    }

    #[cold]
    fn lost(&mut self, gap: &Gap) {
        self.names.lose(gap);
        if let Some(named) = self.named {
            named.lose(gap);
        }
        if let Some(progress) = &mut self.progress {
            progress.lost(gap.count());
        }
        (self.report)(RecorderEvent::Lost(*gap));
    }

    fn no_room(&mut self, error: &RecorderError) {
        self.set_state(RecorderState::WaitingForRoom);
        (self.report)(RecorderEvent::NoRoom(error));
    }

    fn room_again(&mut self) {
        self.set_state(RecorderState::Recording);
        (self.report)(RecorderEvent::RoomAgain);
    }
}

impl<R> RecorderHook<'_, R> {
    fn set_state(&self, state: RecorderState) {
        if let Some(progress) = &self.progress {
            progress.set_state(state);
        }
    }
}
