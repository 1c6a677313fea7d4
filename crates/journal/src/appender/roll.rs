//! Going over from one segment to the next, and everything else that an append seldom does.

use std::sync::Arc;

use super::{
    Appender, SEQUENCES_LEFT,
    helper::{self, Retired},
    prepare::{Prepared, prepare},
};
use crate::{
    ClosedSegment, JournalError, Problem,
    disk::{Disk, WritableFile as _},
    names,
    segment::{
        excerpt::{MAX_SEQUENCE, excerpt_words},
        header::Activation,
        layout::position_bytes,
        writer::SegmentWriter,
    },
};

impl<D: Disk> Appender<D> {
    /// Goes over to the next segment now. What is appended next is in a file of its own.
    pub fn roll(&mut self) -> Result<(), JournalError> {
        match &self.writer {
            Some(writer) => self.enter_next(writer.place().max_ts),
            // The next append begins one anyhow.
            None => Ok(()),
        }
    }

    /// Makes room for an excerpt of so many words, or says why there is none.
    #[cold]
    pub(super) fn make_room(
        &mut self,
        words: usize,
        ts_ns: u64,
        length: usize,
    ) -> Result<(), JournalError> {
        if self.exchange.has_alarm()
            && let Some(error) = self.exchange.take_alarm()
        {
            return Err(error);
        }
        let max = self.plan.layout.max_length();
        // A batch has no header of its own, and may be as long as an excerpt with its header.
        if words > excerpt_words(max) {
            let path = self.disk.path("");
            return Err(JournalError::new(path, Problem::TooLong { length, max }));
        }
        let next = self.next_sequence();
        if next > MAX_SEQUENCE - SEQUENCES_LEFT {
            let problem = Problem::Sequence { sequence: next, next, max: MAX_SEQUENCE };
            return Err(JournalError::new(self.disk.path(""), problem));
        }
        if matches!(&self.writer, Some(writer) if writer.has_room(words, ts_ns)) {
            return Ok(());
        }
        self.enter_next(ts_ns)
    }

    /// Ends the active segment and makes the next one active, for an excerpt of this time.
    fn enter_next(&mut self, ts_ns: u64) -> Result<(), JournalError> {
        // Before anything is changed: without a next segment this one is not ended.
        let Prepared { file, header } = self.take_prepared()?;
        let (mut sequence, mut max_ts) = (self.sequence, self.max_ts);
        let old = self.writer.take().map(|mut writer| {
            (sequence, max_ts) = (writer.place().sequence, writer.place().max_ts);
            let bytes = position_bytes(writer.end());
            let first_sequence = writer.first_sequence();
            let number = writer.number();
            let path = self.disk.path(&names::segment(number));
            let closed =
                ClosedSegment { number, path, bytes, first_sequence, next_sequence: sequence };
            Retired { file: Arc::clone(writer.file()), closed }
        });
        let activation = Activation {
            first_sequence: sequence,
            max_ts_before: max_ts,
            cycle: header.cycle_of(max_ts.max(ts_ns)),
        };
        self.incarnation.store(&header, file.words());
        let writer = SegmentWriter::activate(file, header, activation, self.boot);
        (self.sequence, self.max_ts) = (sequence, max_ts);
        let unattended = self.running.is_none();
        {
            let mut state = self.exchange.lock();
            state.active = Some((writer.number(), Arc::clone(writer.file())));
            self.exchange.set_progress(writer.place().at);
            if let Some(old) = old {
                state.retired.push_back(old);
            }
        }
        self.writer = Some(writer);
        if unattended {
            self.look_after_closed();
        }
        Ok(())
    }

    /// The next segment: the one that the helper has prepared, or one made now.
    fn take_prepared(&mut self) -> Result<Prepared<D::Writable>, JournalError> {
        let mut state = self.exchange.lock_when_made();
        if let Some(prepared) = state.prepared.pop_front() {
            return Ok(prepared);
        }
        // The helper waits for the lock meanwhile, and so does not make the same one.
        let prepared = prepare(&self.disk, &self.plan, state.next_number)?;
        state.next_number += 1;
        Ok(prepared)
    }

    fn look_after_closed(&mut self) {
        loop {
            let Some(Retired { closed, .. }) = self.exchange.lock().retired.pop_front() else {
                return;
            };
            let hook = self.on_roll.as_mut().map(|hook| &mut hook.0);
            helper::close(&self.disk, &closed, hook);
        }
    }
}
