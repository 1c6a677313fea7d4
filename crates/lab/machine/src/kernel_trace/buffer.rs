//! The events of one processor, read while it writes them.
//!
//! ```text
//!   kernel: ring of a processor -- trace_pipe_raw --> pages --> events --> kept until taken
//!                                   |                   |
//!                 read when it is half full, and   what is missing before a page:
//!                 when the events are taken        a time in which nothing is certain
//! ```
//!
//! Bounds: [`Buffer::most`] events are kept. Later ones are counted, and their time is a loss.

use std::{
    fs::File,
    io::{self, PipeReader, Read as _},
    os::fd::AsFd as _,
    sync::Mutex,
};

use nanotape_clock::Stamp;
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};

use super::{
    event::{Event, Loss, Losses, Processor},
    format::Formats,
    page::{MOST_BYTES, Page},
};

/// The events of one processor.
#[derive(Debug)]
pub(super) struct Buffer {
    pipe: File,
    formats: Formats,
    page: Vec<u8>,
    own: Processor,
    /// The last event, or the beginning.
    last: Stamp,
    /// Most events that are kept.
    most: usize,
    losses: Losses,
    /// Events are not kept since this one.
    full_since: Option<Stamp>,
}

impl Buffer {
    pub(super) fn new(cpu: u32, pipe: File, formats: Formats, most: usize, began: Stamp) -> Self {
        let own = Processor { cpu, ..Processor::default() };
        let page = vec![0; MOST_BYTES];
        let losses = Losses::default();
        Self { pipe, formats, page, own, last: began, most, losses, full_since: None }
    }

    /// Reads the pages that are there, at most so many; returns whether these were all.
    pub(super) fn drain(&mut self, most_pages: usize) -> io::Result<bool> {
        for _ in 0..most_pages {
            match self.pipe.read(&mut self.page) {
                Ok(0) => return Ok(true),
                Ok(length) => self.add_page(length),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// The moment up to which events were read.
    pub(super) fn last(&self) -> Stamp {
        self.last
    }

    fn add_page(&mut self, length: usize) {
        let bytes = core::mem::take(&mut self.page);
        match bytes.get(..length).and_then(Page::of) {
            Some(page) => self.add(&page),
            // Not a page that this program knows: everything in it is missing.
            None => {
                self.losses.missing += 1;
                self.lost(self.last, self.last);
            }
        }
        self.page = bytes;
    }

    pub(super) fn add(&mut self, page: &Page<'_>) {
        if page.lost > 0 {
            self.losses.missing = self.losses.missing.saturating_add(page.lost);
            self.lost(self.last, Stamp::from_ticks(page.begins));
        }
        for (at, data) in page.events() {
            self.losses.read += 1;
            let at = Stamp::from_ticks(at);
            self.last = self.last.max(at);
            if self.own.events.len() >= self.most {
                self.losses.not_kept += 1;
                self.full_since.get_or_insert(at);
            } else if let Some(event) = self.formats.event(at.ticks(), data) {
                self.own.events.push(event);
            }
        }
    }

    /// Nothing is certain between these moments.
    pub(super) fn lost(&mut self, from: Stamp, to: Stamp) {
        match self.own.losses.last_mut() {
            Some(loss) if loss.to >= from => loss.to = loss.to.max(to),
            _ => self.own.losses.push(Loss { from, to }),
        }
    }

    /// The events up to `now`; those since `kept_from` are here the next time too.
    pub(super) fn take(&mut self, now: Stamp, kept_from: Stamp) -> Processor {
        if let Some(from) = self.full_since.take() {
            self.lost(from, now.max(self.last));
        }
        // The kernel writes in order, except where an interrupt came between two events.
        self.own.events.sort_by_key(|event| event.at);
        let first_kept = self.own.events.partition_point(|event| event.at < kept_from);
        // Half of the room at most, so that there is some for new ones.
        let begin = first_kept.max(self.own.events.len().saturating_sub(self.most / 2));
        let next: Vec<Event> = self.own.events.get(begin..).unwrap_or(&[]).to_vec();
        let mut losses: Vec<Loss> =
            self.own.losses.iter().filter(|loss| loss.to >= kept_from).copied().collect();
        if let Some(first) = next.first().filter(|_| begin > first_kept) {
            losses.insert(0, Loss { from: kept_from, to: first.at });
        }
        let cpu = self.own.cpu;
        let next = Processor { cpu, events: next, losses };
        core::mem::replace(&mut self.own, next)
    }

    pub(super) fn losses(&self) -> Losses {
        self.losses
    }
}

/// Reads the events of a processor when its ring is half full, until `stop` is closed. `ready` is
/// the same pipe as that of the buffer.
pub(super) fn read_on(buffer: &Mutex<Buffer>, ready: &File, stop: &PipeReader, most_pages: usize) {
    loop {
        let mut both = [
            PollFd::new(stop.as_fd(), PollFlags::POLLIN),
            PollFd::new(ready.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut both, PollTimeout::NONE) {
            Err(Errno::EINTR) => continue,
            Err(_) => return,
            Ok(_) => {}
        }
        let [is_over, is_ready] = both.map(|one| one.any().unwrap_or(true));
        if is_over {
            return;
        }
        // An error shows again when the events are taken.
        let Ok(mut buffer) = buffer.lock() else { return };
        if is_ready && buffer.drain(most_pages).is_err() {
            return;
        }
    }
}
