//! The last spans of a thread, in memory that is taken once.

use nanotape_clock::Stamp;

use crate::spans::{Site, Span};

/// A span, and what was lost before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct KeptSpan {
    pub(super) from: Stamp,
    pub(super) to: Stamp,
    pub(super) number: u64,
    pub(super) value: u64,
    /// Spans that were lost between the one before and this one; `u32::MAX` also for more.
    pub(super) lost_before: u32,
    pub(super) site: Site,
}

/// Bytes of a kept span.
pub(super) const KEPT_BYTES: usize = size_of::<KeptSpan>();
const _: () = assert!(KEPT_BYTES == 40, "the loss is in the padding beside the site");

impl KeptSpan {
    #[inline(always)]
    pub(super) fn of(span: Span, lost: u64) -> Self {
        let Span { site, number, value, from, to } = span;
        let lost_before = u32::try_from(lost).unwrap_or(u32::MAX);
        Self { from, to, number, value, lost_before, site }
    }
}

#[derive(Debug)]
pub(super) struct Kept {
    spans: Vec<KeptSpan>,
    /// One less than the capacity, which is a power of two.
    mask: usize,
    /// The place of the next span.
    next: usize,
}

impl Kept {
    pub(super) fn new(capacity: usize) -> Self {
        assert!(capacity.is_power_of_two());
        Self { spans: Vec::with_capacity(capacity), mask: capacity - 1, next: 0 }
    }

    #[inline(always)]
    pub(super) fn push(&mut self, kept: KeptSpan) {
        match self.spans.get_mut(self.next) {
            Some(oldest) => *oldest = kept,
            // Until the first round is over; within the capacity.
            None => self.spans.push(kept),
        }
        self.next = (self.next + 1) & self.mask;
    }

    /// Copies the spans, oldest first.
    pub(super) fn copy_to(&self, to: &mut Vec<KeptSpan>) {
        to.clear();
        let oldest = if self.spans.len() > self.mask { self.next } else { 0 };
        to.extend_from_slice(&self.spans[oldest..]);
        to.extend_from_slice(&self.spans[..oldest]);
    }
}
