//! The work under the lock: announces what is new, appends, and counts losses.
//!
//! Bounds: numbers of call sites and of live threads; one excerpt and its announcements.

mod news;

use std::{fmt::Display, sync::OnceLock, time::Duration};

use nanotape_clock::{Clock, Stamp, Timeline};
use nanotape_journal::{Appender, Disk, ErrorKind, JournalError, excerpt_bytes};

#[cfg(feature = "tracing")]
use crate::{
    call_site,
    layout::{CALL_SITE, SPAN_AGAIN},
    span::Span,
};
use crate::{
    encode::put_last_name,
    layout::{LOST, START, TEXT, THREAD},
    thread::Label,
};

/// Pause after a failure: a full disk must not cost the program a system call for each event.
const PAUSE_NS: u64 = 1_000_000;

/// Default time that a call waits for the next segment.
const PATIENCE: Duration = Duration::from_secs(1);

/// The content and the references of an excerpt.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) type_id: u16,
    pub(crate) payload: &'a [u8],
    pub(crate) thread: &'a Label,
    #[cfg(feature = "tracing")]
    pub(crate) call_site: Option<u32>,
    /// The spans without an announcement in the expected segment, the outermost first.
    #[cfg(feature = "tracing")]
    pub(crate) spans: &'a [std::sync::Arc<Span>],
    /// The segment for which `spans` was collected; `None` if the excerpt is within no span.
    #[cfg(feature = "tracing")]
    pub(crate) expected: Option<u64>,
}

impl<'a> Entry<'a> {
    /// An entry that refers to its thread only.
    pub(crate) fn new(type_id: u16, payload: &'a [u8], thread: &'a Label) -> Self {
        Self {
            type_id,
            payload,
            thread,
            #[cfg(feature = "tracing")]
            call_site: None,
            #[cfg(feature = "tracing")]
            spans: &[],
            #[cfg(feature = "tracing")]
            expected: None,
        }
    }
}

/// What happened to an excerpt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// It is in this segment.
    Written(u64),
    /// It was not written, and is counted.
    Lost,
    /// It is not written yet: it belongs to this segment, where other spans need announcing.
    #[cfg(feature = "tracing")]
    Moved(u64),
}

/// Events that were not written.
#[derive(Debug)]
struct Loss {
    count: u64,
    first_ns: u64,
    last_ns: u64,
    /// Stamp of the last attempt. Not a time, since times can stand still.
    tried: Stamp,
    reason: String,
}

/// An announcement in the scratch buffer.
#[derive(Clone, Copy, Debug)]
struct Piece {
    type_id: u16,
    start: usize,
    end: usize,
    what: What,
}

/// The subject of an announcement.
#[derive(Clone, Copy, Debug)]
enum What {
    Program,
    Loss,
    SetBack,
    Thread(u32),
    #[cfg(feature = "tracing")]
    CallSite(u32),
    /// Its index in the entry.
    #[cfg(feature = "tracing")]
    Span(usize),
}

#[derive(Debug)]
pub(super) struct State<D: Disk> {
    appender: Appender<D>,
    /// Source of times: none is earlier than that of the excerpt before it.
    timeline: Timeline,
    is_started: bool,
    /// For each number, the segment in which it was announced.
    #[cfg(feature = "tracing")]
    call_sites: Vec<u64>,
    /// The same for threads, with the identity of the thread that had the number then.
    threads: Vec<(u64, u64)>,
    loss: Option<Loss>,
    lost: u64,
    /// How long a call waits for the next segment.
    pub(super) patience: Duration,
    scratch: Vec<u8>,
    pieces: Vec<Piece>,
}

impl<D: Disk> State<D> {
    pub(super) fn new(appender: Appender<D>) -> Self {
        static CLOCK: OnceLock<Clock> = OnceLock::new();
        let clock = *CLOCK.get_or_init(Clock::calibrate);
        Self {
            appender,
            timeline: Timeline::recalibrating(clock),
            is_started: false,
            #[cfg(feature = "tracing")]
            call_sites: Vec::new(),
            threads: Vec::new(),
            loss: None,
            lost: 0,
            patience: PATIENCE,
            scratch: Vec::new(),
            pieces: Vec::new(),
        }
    }

    /// Writes an excerpt after the announcements that it needs.
    #[inline]
    pub(super) fn write(&mut self, entry: &Entry<'_>) -> Outcome {
        // Unfenced: the processor may read the counter before it has the lock. The timeline keeps
        // the order.
        let stamp = self.timeline.clock().stamp_unfenced();
        let ts_ns = self.timeline.at(stamp);
        if let Some(loss) = &mut self.loss
            && self.timeline.clock().nanos_between(loss.tried, stamp) < PAUSE_NS
        {
            (loss.count, loss.last_ns) = (loss.count + 1, ts_ns);
            self.lost += 1;
            return Outcome::Lost;
        }
        match self.try_write(ts_ns, entry) {
            Ok(outcome) => outcome,
            Err(error) => self.lose(ts_ns, stamp, &error),
        }
    }

    #[inline]
    fn try_write(&mut self, ts_ns: u64, entry: &Entry<'_>) -> Result<Outcome, JournalError> {
        let own_bytes = excerpt_bytes(entry.payload.len());
        let segment = self.make_room(ts_ns, own_bytes)?;
        #[cfg(feature = "tracing")]
        if entry.expected.is_some_and(|expected| expected != segment) {
            return Ok(Outcome::Moved(segment));
        }
        if self.is_announced(segment, entry) {
            self.append(entry.type_id, ts_ns, entry.payload)?;
            return Ok(Outcome::Written(segment));
        }
        self.announce(ts_ns, segment, entry)
    }

    /// Whether a segment already has everything that an excerpt refers to.
    #[inline]
    fn is_announced(&self, segment: u64, entry: &Entry<'_>) -> bool {
        let Label { number, identity, .. } = *entry.thread;
        let is_known = self.is_started
            && self.loss.is_none()
            && self.timeline.set_back_ns() == 0
            && (number == 0 || self.threads.get(number as usize) == Some(&(identity, segment)));
        #[cfg(feature = "tracing")]
        let is_known = is_known
            && entry.spans.is_empty()
            && entry.call_site.is_none_or(|number| self.has_call_site(number, segment));
        is_known
    }

    #[cfg(feature = "tracing")]
    #[inline]
    fn has_call_site(&self, number: u32, segment: u64) -> bool {
        self.call_sites.get(number as usize) == Some(&segment)
    }

    /// Writes an excerpt together with its announcements.
    #[cold]
    fn announce(
        &mut self,
        ts_ns: u64,
        segment: u64,
        entry: &Entry<'_>,
    ) -> Result<Outcome, JournalError> {
        self.gather(segment, entry);
        let bytes = self.pieces.iter().map(|piece| excerpt_bytes(piece.end - piece.start));
        let bytes = bytes.sum::<usize>() + excerpt_bytes(entry.payload.len());
        let made = self.make_room(ts_ns, bytes);
        let (is_together, found) = match made {
            Ok(found) => (true, found),
            // The segment is too small for all of it: write as much as possible, one by one.
            Err(error) if matches!(error.kind(), ErrorKind::TooLong { .. }) => (false, segment),
            Err(error) => {
                self.retract(0, entry);
                return Err(error);
            }
        };
        if found != segment {
            self.retract(0, entry);
            #[cfg(feature = "tracing")]
            if entry.expected.is_some() {
                return Ok(Outcome::Moved(found));
            }
            // There is now room for this and more, so the recursion ends here.
            return self.announce(ts_ns, found, entry);
        }
        let written = if is_together {
            self.append_together(ts_ns, bytes, entry)
        } else {
            self.append_singly(ts_ns, entry)
        };
        written.map(|()| Outcome::Written(self.appender.segment()))
    }

    fn append_together(
        &mut self,
        ts_ns: u64,
        bytes: usize,
        entry: &Entry<'_>,
    ) -> Result<(), JournalError> {
        let before = self.appender.next_sequence();
        let written = (|| {
            let mut batch = self.appender.batch(ts_ns, bytes)?;
            for piece in &self.pieces {
                batch.append(piece.type_id, ts_ns, &self.scratch[piece.start..piece.end])?;
            }
            batch.append(entry.type_id, ts_ns, entry.payload)?;
            batch.commit()
        })();
        match written {
            // Committed, even if the sync failed.
            _ if self.appender.next_sequence() > before => {}
            Ok(_) => {}
            Err(error) => {
                self.retract(0, entry);
                return Err(error);
            }
        }
        self.mark_written(0..self.pieces.len());
        Ok(())
    }

    fn append_singly(&mut self, ts_ns: u64, entry: &Entry<'_>) -> Result<(), JournalError> {
        for index in 0..self.pieces.len() {
            if let Err(error) = self.append_piece(ts_ns, index) {
                self.retract(index, entry);
                return Err(error);
            }
            self.mark_written(index..index + 1);
        }
        self.make_room(ts_ns, excerpt_bytes(entry.payload.len()))?;
        self.append(entry.type_id, ts_ns, entry.payload)
    }

    fn append_piece(&mut self, ts_ns: u64, index: usize) -> Result<(), JournalError> {
        let Piece { type_id, start, end, .. } = self.pieces[index];
        self.make_room(ts_ns, excerpt_bytes(end - start))?;
        let scratch = std::mem::take(&mut self.scratch);
        let appended = self.append(type_id, ts_ns, &scratch[start..end]);
        self.scratch = scratch;
        appended
    }

    /// Appends; an error means that the excerpt is not in the journal.
    #[inline]
    fn append(&mut self, type_id: u16, ts_ns: u64, payload: &[u8]) -> Result<(), JournalError> {
        let before = self.appender.next_sequence();
        match self.appender.append(type_id, ts_ns, payload) {
            Ok(_) => Ok(()),
            Err(_) if self.appender.next_sequence() > before => Ok(()),
            Err(error) if is_of_a_sync(&error) => {
                self.appender.append(type_id, ts_ns, payload).map(|_| ())
            }
            Err(error) => Err(error),
        }
    }

    /// Makes room for `bytes` bytes of excerpts; returns their segment.
    #[inline]
    fn make_room(&mut self, ts_ns: u64, bytes: usize) -> Result<u64, JournalError> {
        // After a loss no call waits: the first one already did.
        let patience = if self.loss.is_some() { Duration::ZERO } else { self.patience };
        self.appender.wait_until_ready(ts_ns, bytes, patience)?;
        let mut room = self.appender.batch(ts_ns, bytes).map(drop);
        if let Err(error) = &room
            && is_of_a_sync(error)
        {
            room = self.appender.batch(ts_ns, bytes).map(drop);
        }
        room.map(|()| self.appender.segment())
    }

    /// Collects the announcements that a segment needs, and marks them as made there.
    fn gather(&mut self, segment: u64, entry: &Entry<'_>) {
        self.scratch.clear();
        self.pieces.clear();
        self.gather_news();
        let Label { number, identity, name } = entry.thread;
        let index = *number as usize;
        if self.threads.len() <= index {
            self.threads.resize(index + 1, (0, 0));
        }
        if *number != 0 && self.threads[index] != (*identity, segment) {
            self.threads[index] = (*identity, segment);
            self.piece(THREAD, What::Thread(*number), |payload| {
                payload.extend_from_slice(&number.to_le_bytes());
                payload.extend_from_slice(&[0; 4]);
                put_last_name(payload, name);
            });
        }
        #[cfg(feature = "tracing")]
        self.gather_places(segment, entry);
    }

    /// Collects reports: the program's start, losses, and a clock that was set back.
    fn gather_news(&mut self) {
        if !self.is_started {
            self.piece(START, What::Program, news::put_start);
        }
        if let Some(loss) = self.loss.take() {
            self.piece(LOST, What::Loss, |payload| news::put_loss(payload, &loss));
            self.loss = Some(loss);
        }
        let set_back_ns = self.timeline.set_back_ns();
        if set_back_ns > 0 {
            self.piece(TEXT, What::SetBack, |payload| news::put_set_back(payload, set_back_ns));
        }
    }

    #[cfg(feature = "tracing")]
    fn gather_places(&mut self, segment: u64, entry: &Entry<'_>) {
        for (index, span) in entry.spans.iter().enumerate() {
            // Another thread may have announced it meanwhile.
            if !span.is_announced(segment) {
                self.gather_call_site(segment, span.call_site);
                self.piece(SPAN_AGAIN, What::Span(index), |payload| {
                    span.announce(segment, payload);
                });
            }
        }
        if let Some(number) = entry.call_site {
            self.gather_call_site(segment, number);
        }
    }

    #[cfg(feature = "tracing")]
    fn gather_call_site(&mut self, segment: u64, number: u32) {
        if self.has_call_site(number, segment) {
            return;
        }
        let Some(announcement) = call_site::announcement_of(number) else { return };
        let index = number as usize;
        if self.call_sites.len() <= index {
            self.call_sites.resize(index + 1, 0);
        }
        self.call_sites[index] = segment;
        self.piece(CALL_SITE, What::CallSite(number), |payload| {
            payload.extend_from_slice(&announcement);
        });
    }

    fn piece(&mut self, type_id: u16, what: What, put: impl FnOnce(&mut Vec<u8>)) {
        let start = self.scratch.len();
        put(&mut self.scratch);
        self.pieces.push(Piece { type_id, start, end: self.scratch.len(), what });
    }

    /// Marks reports as written.
    fn mark_written(&mut self, pieces: std::ops::Range<usize>) {
        for piece in &self.pieces[pieces] {
            match piece.what {
                What::Program => self.is_started = true,
                What::Loss => self.loss = None,
                What::SetBack => self.timeline.forget_set_back(),
                _ => {}
            }
        }
    }

    /// Marks announcements from `from` on as not made.
    fn retract(&mut self, from: usize, entry: &Entry<'_>) {
        for piece in &self.pieces[from..] {
            match piece.what {
                What::Program | What::Loss | What::SetBack => {}
                What::Thread(number) => self.threads[number as usize] = (0, 0),
                #[cfg(feature = "tracing")]
                What::CallSite(number) => self.call_sites[number as usize] = 0,
                #[cfg(feature = "tracing")]
                What::Span(index) => entry.spans[index].forget(),
            }
        }
        let _ = entry;
    }

    #[cold]
    fn lose(&mut self, ts_ns: u64, tried: Stamp, reason: &dyn Display) -> Outcome {
        self.lost += 1;
        let loss = self.loss.get_or_insert_with(|| Loss {
            count: 0,
            first_ns: ts_ns,
            last_ns: ts_ns,
            tried,
            reason: reason.to_string(),
        });
        loss.count += 1;
        (loss.last_ns, loss.tried) = (ts_ns, tried);
        Outcome::Lost
    }

    /// Writes the reports that are due: the program's start, losses, and a clock that was set back.
    pub(super) fn flush(&mut self) {
        if self.is_started && self.loss.is_none() && self.timeline.set_back_ns() == 0 {
            return;
        }
        let ts_ns = self.timeline.now_ns();
        self.scratch.clear();
        self.pieces.clear();
        self.gather_news();
        for index in 0..self.pieces.len() {
            // The next event tries again.
            if self.append_piece(ts_ns, index).is_err() {
                return;
            }
            self.mark_written(index..index + 1);
        }
    }

    pub(super) fn sync(&mut self) -> Result<(), JournalError> {
        self.flush();
        self.appender.sync()
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost
    }
}

/// Whether an append was refused because an earlier sync failed. The appender reports that once,
/// and the next append succeeds; the journal's owner checks [`Logger::sync`](crate::Logger::sync).
fn is_of_a_sync(error: &JournalError) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotOnDisk { .. } | ErrorKind::System { operation: "sync", .. }
    )
}

impl<D: Disk> Drop for State<D> {
    fn drop(&mut self) {
        self.flush();
    }
}

#[cfg(test)]
mod tests;
