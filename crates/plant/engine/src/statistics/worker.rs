//! Counts messages on a thread of its own, if there is a second processor.
//!
//! Bounds: [`BATCHES`] batches of messages besides the caller's. If all are full, the caller waits.

use std::{
    mem,
    panic::resume_unwind,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread::{Builder, JoinHandle, available_parallelism},
};

use nanotape_book::Condition;
use nanotape_types::StockLocate;

use super::{counting::Counting, stock::Message};

/// Enough that the thread always has one while the caller fills another.
const BATCHES: usize = 4;

/// Counts, in the order of the calls.
#[derive(Debug)]
pub(super) enum Worker {
    Thread { jobs: SyncSender<Job>, empty: Receiver<Vec<Message>>, thread: JoinHandle<Counting> },
    Here(Box<Counting>),
}

/// What a thread counts.
#[derive(Debug)]
pub(super) enum Job {
    Messages(Vec<Message>),
    MessageWithoutTime,
    Condition(StockLocate, Condition, u64),
}

impl Worker {
    pub(super) fn start() -> Self {
        if available_parallelism().is_ok_and(|processors| processors.get() > 1) {
            Self::thread().unwrap_or_else(Self::here)
        } else {
            Self::here()
        }
    }

    fn here() -> Self {
        Self::Here(Box::new(Counting::new()))
    }

    fn thread() -> Option<Self> {
        let (jobs, to_count) = sync_channel(BATCHES);
        let (counted, empty) = sync_channel(BATCHES);
        for _ in 0..BATCHES {
            // There is room for all of them.
            let _ = counted.try_send(Vec::new());
        }
        let counting = move || {
            let mut counting = Counting::new();
            for job in to_count {
                match job {
                    Job::Messages(mut messages) => {
                        counting.messages(&messages);
                        messages.clear();
                        // The caller needs no more batches if it ends now.
                        let _ = counted.send(messages);
                    }
                    Job::MessageWithoutTime => counting.message_without_time(),
                    Job::Condition(locate, condition, nanos) => {
                        counting.condition(locate, condition, nanos);
                    }
                }
            }
            counting
        };
        let thread = Builder::new().name("nanotape-stats".to_owned()).spawn(counting).ok()?;
        Some(Self::Thread { jobs, empty, thread })
    }

    /// Counts messages, in the order of the day, and empties the batch.
    pub(super) fn messages(&mut self, batch: &mut Vec<Message>) {
        match self {
            Self::Thread { empty, .. } => {
                // Without an answer the thread has panicked, as `end` reports.
                let empty = empty.recv().unwrap_or_default();
                let full = mem::replace(batch, empty);
                batch.reserve_exact(full.capacity());
                self.job(Job::Messages(full));
            }
            Self::Here(counting) => {
                counting.messages(batch);
                batch.clear();
            }
        }
    }

    /// Counts a message without a time.
    pub(super) fn message_without_time(&mut self) {
        match self {
            Self::Thread { .. } => self.job(Job::MessageWithoutTime),
            Self::Here(counting) => counting.message_without_time(),
        }
    }

    /// Sets the condition of a stock's book from `nanos` on.
    pub(super) fn condition(&mut self, locate: StockLocate, condition: Condition, nanos: u64) {
        match self {
            Self::Thread { .. } => self.job(Job::Condition(locate, condition, nanos)),
            Self::Here(counting) => counting.condition(locate, condition, nanos),
        }
    }

    fn job(&self, job: Job) {
        if let Self::Thread { jobs, .. } = self {
            // An error means that the thread has panicked, as `end` reports.
            let _ = jobs.send(job);
        }
    }

    /// Waits until everything is counted. A panic of the thread goes on here.
    pub(super) fn end(self) -> Counting {
        match self {
            Self::Thread { jobs, thread, .. } => {
                drop(jobs);
                thread.join().unwrap_or_else(|panic| resume_unwind(panic))
            }
            Self::Here(counting) => *counting,
        }
    }
}

#[cfg(test)]
mod tests {
    use nanotape_types::LocateTable;

    use super::*;

    #[test]
    fn a_thread_counts_what_is_counted_here() {
        let count = |mut worker: Worker| {
            for batch in 0..20_u32 {
                let message = |number: u32| Message {
                    nanos: u64::from(batch * 1_000_000 + number * number * 37),
                    processing_nanos: number.into(),
                    depth_ticks: number,
                    levels: [number, batch],
                    locate: StockLocate::new((number % 7) as u16),
                    inside: number.is_multiple_of(3).then_some(Condition::Locked),
                };
                let mut messages = (0..100).map(message).collect();
                worker.messages(&mut messages);
                assert!(messages.is_empty());
                worker.message_without_time();
                worker.condition(StockLocate::new(9), Condition::Crossed, batch.into());
            }
            let mut counting = worker.end();
            let mut traded = LocateTable::filled(None);
            traded[StockLocate::new(3)] = Some((1, 100));
            counting.finish(&traded);
            let figures: Vec<_> = counting.stocks().collect();
            format!("{:?} {figures:?}", counting.total)
        };
        assert!(count(Worker::thread().unwrap()) == count(Worker::here()), "figures differ");
    }
}
