//! A span of the journal: its number, its values, and the segment in which it was announced.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

/// A span of one logger. The registry keeps it until the span closes.
#[derive(Debug)]
pub(crate) struct Span {
    /// From 1, never used again in this process.
    pub(crate) number: u64,
    pub(crate) call_site: u32,
    /// The segment in which its current values were announced; 0: none. Stored while the
    /// announcement is locked.
    announced: AtomicU64,
    /// Bytes of the announcement.
    bytes: AtomicUsize,
    /// The payload that announces it.
    announcement: Mutex<Vec<u8>>,
}

impl Span {
    pub(crate) fn next_number() -> u64 {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        // Only uniqueness matters, not order.
        NUMBER.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn new(number: u64, call_site: u32, announcement: Vec<u8>) -> Self {
        let bytes = AtomicUsize::new(announcement.len());
        let announcement = Mutex::new(announcement);
        Self { number, call_site, announced: AtomicU64::new(0), bytes, announcement }
    }

    /// Whether this segment has its announcement. Callers use the result under the logger's lock,
    /// under which it is stored, or check it again there.
    #[inline]
    pub(crate) fn is_announced(&self, segment: u64) -> bool {
        self.announced.load(Ordering::Relaxed) == segment
    }

    /// Length of its announcement.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Appends its announcement, and marks it as made in this segment.
    pub(crate) fn announce(&self, segment: u64, payload: &mut Vec<u8>) {
        let announcement = self.announcement.lock().unwrap_or_else(PoisonError::into_inner);
        payload.extend_from_slice(&announcement);
        self.announced.store(segment, Ordering::Relaxed);
    }

    /// Marks the announcement as made in this segment, in which the span began.
    pub(crate) fn has_begun(&self, segment: u64) {
        self.announced.store(segment, Ordering::Relaxed);
    }

    /// Marks the announcement as not made.
    pub(crate) fn forget(&self) {
        self.announced.store(0, Ordering::Relaxed);
    }

    /// Changes its values, which must then be announced again.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Vec<u8>)) {
        let mut announcement = self.announcement.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut announcement);
        self.bytes.store(announcement.len(), Ordering::Relaxed);
        self.announced.store(0, Ordering::Relaxed);
    }
}
