//! Going over from one segment to the next, and everything else that an append seldom does.

use std::sync::Arc;

use nanotape_shm::WORD_BYTES;

use super::{Appender, SEQUENCES_LEFT, exchange::Retired, prepare::Prepared};
use crate::{
    JournalError, Problem,
    disk::{Disk, WritableFile as _},
    segment::{
        excerpt::{MAX_LENGTH, MAX_SEQUENCE, excerpt_words},
        header::Activation,
        layout::position_bytes,
        writer::SegmentWriter,
    },
};

impl<D: Disk> Appender<D> {
    /// Goes over to the next segment now. What is appended next is in a file of its own.
    pub fn roll(&mut self) -> Result<(), JournalError> {
        self.check_alarm()?;
        match &self.writer {
            Some(writer) => self.enter_next(writer.place().max_ts),
            // The next append begins one anyhow.
            None => Ok(()),
        }
    }

    /// Makes room for an excerpt with a payload of so many bytes, or says why there is none.
    #[cold]
    pub(super) fn make_room(&mut self, length: usize, ts_ns: u64) -> Result<(), JournalError> {
        self.check_alarm()?;
        let words = excerpt_words(length);
        // In a segment that is there a payload may be longer than in new ones.
        if length <= MAX_LENGTH as usize && self.has_room(words, ts_ns) {
            return self.check_sequence();
        }
        let max = self.plan.layout.max_length();
        if length > max {
            return Err(JournalError::new(self.disk.path(""), Problem::TooLong { length, max }));
        }
        self.check_sequence()?;
        self.enter_next(ts_ns)
    }

    /// The same for excerpts that have so many bytes together.
    #[cold]
    pub(super) fn make_room_for_batch(
        &mut self,
        bytes: usize,
        ts_ns: u64,
    ) -> Result<(), JournalError> {
        self.check_alarm()?;
        let layout = self.plan.layout;
        let max = (layout.limit() - layout.data) * WORD_BYTES;
        if !self.has_room(bytes.div_ceil(WORD_BYTES), ts_ns) && bytes > max {
            let problem = Problem::TooLong { length: bytes, max };
            return Err(JournalError::new(self.disk.path(""), problem));
        }
        self.check_sequence()?;
        match self.has_room(bytes.div_ceil(WORD_BYTES), ts_ns) {
            true => Ok(()),
            false => self.enter_next(ts_ns),
        }
    }

    fn has_room(&self, words: usize, ts_ns: u64) -> bool {
        matches!(&self.writer, Some(writer) if writer.has_room(words, ts_ns))
    }

    /// The error that a thread of the appender has, if one has.
    fn check_alarm(&self) -> Result<(), JournalError> {
        match self.exchange.has_alarm() {
            true => self.exchange.take_alarm().map_or(Ok(()), Err),
            false => Ok(()),
        }
    }

    fn check_sequence(&self) -> Result<(), JournalError> {
        let next = self.next_sequence();
        if next > MAX_SEQUENCE - SEQUENCES_LEFT {
            let problem = Problem::Sequence { sequence: next, next, max: MAX_SEQUENCE };
            return Err(JournalError::new(self.disk.path(""), problem));
        }
        Ok(())
    }

    /// Ends the active segment and makes the next one active, for an excerpt of this time.
    fn enter_next(&mut self, ts_ns: u64) -> Result<(), JournalError> {
        // Before anything is changed: without a next segment this one is not ended.
        let Prepared { file, header, lock } =
            self.exchange.take_prepared(&self.disk, &self.plan)?;
        let (mut sequence, mut max_ts) = (self.sequence, self.max_ts);
        let old = self.writer.take().map(|mut writer| {
            (sequence, max_ts) = (writer.place().sequence, writer.place().max_ts);
            let bytes = position_bytes(writer.end());
            Retired { number: writer.number(), bytes, file: Arc::clone(writer.file()) }
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
        // That of the segment before is given up only now.
        self.segment_lock = lock;
        if unattended {
            self.exchange.give_back_ends(&self.disk);
        }
        Ok(())
    }
}
