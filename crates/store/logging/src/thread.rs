//! The data of each thread that logs: its number, and its encoding buffers.
//!
//! Bounds: numbers of ended threads are used again, so there are at most as many as threads alive
//! at a time. A buffer is as large as the largest excerpt of its thread.

use std::{
    cell::Cell,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// Identity of a thread, for all journals of the process.
#[derive(Debug)]
pub(crate) struct Label {
    /// Its number, from 1; 0 for a thread that is ending.
    pub(crate) number: u32,
    /// Never used for another thread, unlike the number.
    pub(crate) identity: u64,
    pub(crate) name: String,
}

/// Label of a thread that logs while its data are being dropped.
pub(crate) const ENDING: Label = Label { number: 0, identity: 0, name: String::new() };

/// Numbers of threads that have ended, and the highest one given out.
struct Numbers {
    free: Vec<u32>,
    highest: u32,
}

static NUMBERS: Mutex<Numbers> = Mutex::new(Numbers { free: Vec::new(), highest: 0 });

impl Label {
    fn of_this_thread() -> Self {
        static IDENTITY: AtomicU64 = AtomicU64::new(1);
        let mut numbers = NUMBERS.lock().unwrap_or_else(PoisonError::into_inner);
        let number = numbers.free.pop().unwrap_or_else(|| {
            numbers.highest += 1;
            numbers.highest
        });
        drop(numbers);
        let thread = std::thread::current();
        let name = thread.name().unwrap_or_default().to_owned();
        // Only uniqueness matters, not order.
        Self { number, identity: IDENTITY.fetch_add(1, Ordering::Relaxed), name }
    }
}

impl Drop for Label {
    fn drop(&mut self) {
        if self.number != 0 {
            NUMBERS.lock().unwrap_or_else(PoisonError::into_inner).free.push(self.number);
        }
    }
}

/// The data of a thread.
pub(crate) struct Local {
    pub(crate) label: Label,
    buffer: Cell<Vec<u8>>,
    #[cfg(feature = "tracing")]
    pub(crate) call_sites: crate::call_site::Cache,
    #[cfg(feature = "tracing")]
    spans: Cell<Vec<std::sync::Arc<crate::span::Span>>>,
}

thread_local! {
    static LOCAL: Local = Local::new(Label::of_this_thread());
}

impl Local {
    fn new(label: Label) -> Self {
        Self {
            label,
            buffer: Cell::default(),
            #[cfg(feature = "tracing")]
            call_sites: crate::call_site::Cache::default(),
            #[cfg(feature = "tracing")]
            spans: Cell::default(),
        }
    }

    /// Calls `run` with an empty buffer. If a value logs while it is formatted, the inner event
    /// gets another buffer.
    pub(crate) fn with_buffer<T>(&self, run: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let mut buffer = self.buffer.take();
        buffer.clear();
        let outcome = run(&mut buffer);
        self.buffer.set(buffer);
        outcome
    }

    /// Calls `run` with an empty list of spans.
    #[cfg(feature = "tracing")]
    pub(crate) fn with_spans<T>(
        &self,
        run: impl FnOnce(&mut Vec<std::sync::Arc<crate::span::Span>>) -> T,
    ) -> T {
        let mut spans = self.spans.take();
        let outcome = run(&mut spans);
        spans.clear();
        self.spans.set(spans);
        outcome
    }
}

/// Calls `run` with the data of this thread.
pub(crate) fn with_local<T>(run: impl FnOnce(&Local) -> T) -> T {
    let mut run = Some(run);
    let outcome = LOCAL.try_with(|local| run.take().map(|run| run(local)));
    match (outcome, run) {
        (Ok(Some(value)), _) => value,
        (_, Some(run)) => run(&Local::new(ENDING)),
        (_, None) => unreachable!("the thread that took it has returned its value"),
    }
}
