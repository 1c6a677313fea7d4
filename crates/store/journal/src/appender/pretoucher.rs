//! The appender's threads, which keep its slow work off the path of an append.
//!
//! The pretoucher prepares the next segment, brings pages ahead of the appender into memory, and
//! frees the unused end of closed segments. Ten times a second it checks that the active segment
//! still has its name, and the folder its path: a removed journal is an error of the next append.
//! With `SyncPolicy::Every` another thread syncs, so that
//! a disk that is slow to create a segment does not delay a sync.
//!
//! Failure: if a thread panics, every later append returns an error.
//! Cost: the pretoucher polls every millisecond while the appender appends, more often while the
//! appender is fast, and every 20 ms while it is idle.

use std::{sync::Arc, thread::JoinHandle, time::Duration};

use nanotape_clock::Clock;
use rustix::process::{Resource, getrlimit};

use super::{exchange::Exchange, prepare::Plan, sync::SyncFailure};
use crate::{
    SyncPolicy,
    disk::{Disk, WritableFile as _},
};

/// Sleep of the pretoucher while the appender appends as fast as it can.
const SHORTEST: Duration = Duration::from_micros(50);

/// Sleep of the pretoucher while the appender appends.
const SHORT: Duration = Duration::from_millis(1);

/// Sleep of the pretoucher while the appender is idle.
const LONG: Duration = Duration::from_millis(20);

/// The shortest sleep of the syncing thread.
const LEAST: Duration = Duration::from_micros(50);

/// Short sleeps without progress after which the pretoucher sleeps long.
const PATIENCE: u32 = 100;

/// The time between two checks that the journal is still in its place.
const PLACE_NS: u64 = 100_000_000;

/// The part of the files that the process can have open that prepared segments may take, as a
/// divisor. Each has two.
const PART_OF_OPEN_FILES: u64 = 4;

/// Long sleeps between two attempts to create a segment after a failure.
const RETRY: u32 = 5;

/// The state of the pretoucher.
#[derive(Debug)]
struct Pretoucher<D: Disk> {
    disk: D,
    plan: Plan,
    /// Words ahead of the appender to keep in memory.
    ahead: usize,
    /// Segments to have prepared for that.
    wanted: usize,
    exchange: Arc<Exchange<D>>,
    /// The segment and the word before which pages are in memory.
    touched: (u64, usize),
    /// Rounds until the next attempt to prepare a segment.
    pause: u32,
}

/// The running threads; dropping this ends and joins them.
#[derive(Debug)]
pub(crate) struct Running<D: Disk> {
    exchange: Arc<Exchange<D>>,
    threads: Vec<JoinHandle<()>>,
}

impl<D: Disk> Running<D> {
    /// Starts the threads.
    pub(crate) fn start(
        disk: &D,
        plan: Plan,
        policy: SyncPolicy,
        ahead_bytes: u64,
        exchange: &Arc<Exchange<D>>,
    ) -> std::io::Result<Self> {
        let mut running = Self { exchange: Arc::clone(exchange), threads: Vec::new() };
        if let SyncPolicy::Every(period) = policy {
            let (disk_to_sync, shared) = (disk.clone(), Arc::clone(exchange));
            let run = move || sync_every(&disk_to_sync, period, &shared);
            running.threads.push(exchange.start("journal-sync", disk, run)?);
        }
        let ahead = usize::try_from(ahead_bytes / 8).unwrap_or(usize::MAX / 2);
        let wanted = (1 + ahead / plan.layout.words).min(most_prepared());
        let pretoucher = Pretoucher {
            disk: disk.clone(),
            plan,
            ahead,
            wanted,
            exchange: Arc::clone(exchange),
            touched: (0, 0),
            pause: 0,
        };
        running.threads.push(exchange.start("journal-touch", disk, move || pretoucher.run())?);
        Ok(running)
    }
}

impl<D: Disk> Drop for Running<D> {
    fn drop(&mut self) {
        self.exchange.stop();
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            // Its watch has already reported a panic.
            let _ = thread.join();
        }
    }
}

/// Most segments that are prepared, however small they are.
fn most_prepared() -> usize {
    let open_files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(open_files / PART_OF_OPEN_FILES / 2).unwrap_or(usize::MAX).max(1)
}

impl<D: Disk> Pretoucher<D> {
    fn run(mut self) {
        let (mut seen, mut idle) = (usize::MAX, 0);
        let clock = Clock::monotonic();
        let mut watched = clock.stamp();
        while !self.exchange.is_stopped() {
            let round = clock.stamp();
            if clock.nanos_between(watched, round) >= PLACE_NS {
                watched = round;
                self.exchange.watch_place(&self.disk);
            }
            let is_behind = self.keep_prepared();
            self.touch_ahead();
            self.exchange.give_back_ends(&self.disk);
            let now = self.exchange.progress.get();
            idle = if now == seen { idle + 1 } else { 0 };
            // In a longer sleep, an appender that is this fast would pass what is in memory.
            let is_fast = now < seen || now - seen > self.ahead / 64;
            seen = now;
            if !is_behind && !self.is_segment_due() {
                std::thread::park_timeout(match idle < PATIENCE {
                    true if is_fast => SHORTEST,
                    true => SHORT,
                    false => LONG,
                });
            }
        }
        self.exchange.give_back_ends(&self.disk);
    }

    /// Prepares one segment if fewer are prepared than the bytes ahead need; returns whether more
    /// are needed.
    fn keep_prepared(&mut self) -> bool {
        if self.pause > 0 {
            self.pause -= 1;
            if !self.exchange.lock().is_wanted {
                return false;
            }
        }
        self.exchange.prepare_ahead(&self.disk, &self.plan, self.wanted).unwrap_or_else(|_| {
            // The appender returns the reason if it needs the segment.
            self.pause = RETRY * (LONG.as_millis() / SHORT.as_millis()) as u32;
            false
        })
    }

    /// Whether the appender has taken the last prepared segment, so that the next one comes first:
    /// an append can touch a page itself, but it would wait for a segment.
    fn is_segment_due(&self) -> bool {
        self.pause == 0 && self.exchange.is_segment_due()
    }

    /// Brings the pages ahead of the appender into memory, including those of the next segments.
    /// Stops if a segment is due.
    fn touch_ahead(&mut self) {
        let (mut files, mut at) = {
            let state = self.exchange.lock();
            let Some(active) = &state.active else { return };
            let mut files = vec![(active.0, Arc::clone(&active.1))];
            files.extend(state.prepared.iter().map(|p| (p.header.number, Arc::clone(&p.file))));
            (files.into_iter(), self.exchange.progress.get())
        };
        let mut left = self.ahead;
        while let Some((number, file)) = files.next()
            && left > 0
        {
            let end = (at + left).min(file.words().len());
            let from = match self.touched {
                (touched, to) if touched == number => to.max(at),
                (touched, _) if touched > number => end,
                _ => at,
            };
            // In pieces, so that a roll does not wait for the kernel's lock on the memory map.
            const PIECE: usize = 1 << 17;
            let mut to = from;
            while to < end && !self.is_segment_due() {
                let next = (to + PIECE).min(end);
                file.touch(to..next);
                to = next;
            }
            if (number, to) > self.touched {
                self.touched = (number, to);
            }
            left -= (to - at).min(left);
            if to < end {
                break;
            }
            at = 0;
        }
        self.exchange.set_words_ahead(self.ahead - left);
    }
}

/// Syncs once per `period` while there are new excerpts.
fn sync_every<D: Disk>(disk: &D, period: Duration, exchange: &Exchange<D>) {
    let clock = Clock::monotonic();
    let mut synced = clock.stamp();
    while !exchange.is_stopped() {
        let since = Duration::from_nanos(clock.nanos_between(synced, clock.stamp()));
        if since < period {
            std::thread::park_timeout((period - since).max(LEAST));
            continue;
        }
        synced = clock.stamp();
        sync_active(disk, exchange);
        if period < LEAST {
            std::thread::park_timeout(LEAST);
        }
    }
}

fn sync_active<D: Disk>(disk: &D, exchange: &Exchange<D>) {
    let mut syncer = exchange.lock_syncer();
    let Some((number, file)) = exchange.lock().active.clone() else { return };
    let at = exchange.progress.get();
    // The progress might already be that of the next segment.
    let is_still = exchange.lock().active.as_ref().is_some_and(|now| now.0 == number);
    if !is_still || syncer.is_done(number, at) {
        return;
    }
    match syncer.sync(disk, &file, number, at) {
        Ok(()) => {}
        Err(failure @ SyncFailure::System(_)) => exchange.warn(failure.into_error(disk, number)),
        Err(lost) => exchange.fail(lost.into_error(disk, number)),
    }
}
