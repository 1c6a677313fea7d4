//! The roll from one segment to the next, and other rare work of an append.
//!
//! Protocol: an append waits for the disk if its segment is full and the pretoucher has not
//! prepared the next one yet. A caller that must not wait for the disk calls `wait_until_ready`
//! before it appends: it waits for a signal of the pretoucher, with a limit.
//! Failure: if the pretoucher could not create a segment, the reason is returned, and it retries
//! soon.

use std::{sync::Arc, time::Duration};

use nanotape_shm::WORD_BYTES;

use super::{Appender, check_numbers, exchange::Retired, prepare::Prepared};
use crate::{
    ErrorKind, JournalError,
    disk::{Disk, WritableFile as _},
    names,
    segment::{
        excerpt::{MAX_LENGTH, excerpt_words},
        header::Activation,
        layout::position_bytes,
        writer::SegmentWriter,
    },
};

impl<D: Disk> Appender<D> {
    /// Rolls to the next segment now. Later excerpts are in a new file.
    pub fn roll(&mut self) -> Result<(), JournalError> {
        self.check_alarm()?;
        match &self.writer {
            Some(writer) => self.enter_next(writer.place().max_ts),
            // The next append begins a segment in any case.
            None => Ok(()),
        }
    }

    /// Waits until `bytes` bytes of excerpts, as [`excerpt_bytes`](crate::excerpt_bytes) counts
    /// them, can be appended without waiting for the disk, for at most `patience`. The error states
    /// the reason and changes nothing. An append that follows at once does not wait, unless the
    /// policy syncs with it.
    ///
    /// Without a pretoucher it returns at once: the append creates the next segment itself.
    #[inline]
    pub fn wait_until_ready(
        &mut self,
        ts_ns: u64,
        bytes: usize,
        patience: Duration,
    ) -> Result<(), JournalError> {
        let words = bytes.div_ceil(8);
        // If a thread has an error, the append returns it.
        if self.is_ready(words, ts_ns) || self.running.is_none() || self.exchange.has_alarm() {
            return Ok(());
        }
        self.wait_for_segment(patience)
    }

    #[cold]
    fn wait_for_segment(&self, patience: Duration) -> Result<(), JournalError> {
        self.exchange.wait_until_prepared(patience).map_err(|(number, problem)| {
            JournalError::new(self.disk.path(&names::segment(number)), problem)
        })
    }

    /// Makes room for an excerpt with `length` bytes of payload, or returns the reason why it
    /// cannot.
    #[cold]
    pub(super) fn make_room(&mut self, length: usize, ts_ns: u64) -> Result<(), JournalError> {
        // An existing segment might allow a longer payload than new segments.
        let has_room = length <= MAX_LENGTH as usize && self.has_room(excerpt_words(length), ts_ns);
        self.make_room_if(!has_room, length, self.plan.layout.max_length(), ts_ns)
    }

    /// The same for excerpts of `bytes` bytes in total.
    #[cold]
    pub(super) fn make_room_for_batch(
        &mut self,
        bytes: usize,
        ts_ns: u64,
    ) -> Result<(), JournalError> {
        let layout = self.plan.layout;
        let has_room = self.has_room(bytes.div_ceil(WORD_BYTES), ts_ns);
        self.make_room_if(!has_room, bytes, (layout.limit() - layout.data) * WORD_BYTES, ts_ns)
    }

    fn make_room_if(
        &mut self,
        is_full: bool,
        length: usize,
        max: usize,
        ts_ns: u64,
    ) -> Result<(), JournalError> {
        self.check_alarm()?;
        if is_full && length > max {
            return Err(JournalError::new(self.disk.path(""), ErrorKind::TooLong { length, max }));
        }
        check_numbers(&self.disk, self.next_sequence())?;
        if is_full { self.enter_next(ts_ns) } else { Ok(()) }
    }

    fn has_room(&self, words: usize, ts_ns: u64) -> bool {
        matches!(&self.writer, Some(writer) if writer.has_room(words, ts_ns))
    }

    /// Returns the error of a thread of the appender, if there is one.
    fn check_alarm(&self) -> Result<(), JournalError> {
        match self.exchange.has_alarm() {
            true => self.exchange.take_alarm().map_or(Ok(()), Err),
            false => Ok(()),
        }
    }

    /// Ends the active segment and activates the next one, for an excerpt of this time.
    fn enter_next(&mut self, ts_ns: u64) -> Result<(), JournalError> {
        // Before any change: without a next segment, this one does not end.
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
        // From the activation on, the old segment may be pruned: no thread opens its name.
        self.exchange.lock().active = None;
        let mut writer = SegmentWriter::activate(file, header, activation, self.boot);
        writer.end_cycle_at(self.roll_times.last_ns(max_ts.max(ts_ns)));
        (self.sequence, self.max_ts) = (sequence, max_ts);
        let unattended = self.running.is_none();
        {
            let mut state = self.exchange.lock();
            state.active = Some((writer.number(), Arc::clone(writer.file())));
            self.exchange.progress.set(writer.place().at);
            if let Some(old) = old {
                state.retired.push_back(old);
            }
        }
        self.writer = Some(writer);
        // The lock of the previous segment is released only now.
        self.segment_lock = lock;
        if unattended {
            self.exchange.give_back_ends(&self.disk);
            self.exchange.watch_place(&self.disk);
        }
        Ok(())
    }
}
