//! Call sites, threads and spans that a reader has seen: stored as announced, decoded on use.

use std::collections::HashMap;

use crate::{
    decode::{CallSite, Record, Values, decode},
    layout::{CALL_SITE, SPAN_AGAIN},
};

/// Maximum bytes of stored announcements. A program has some hundred call sites of a hundred bytes
/// each, and as many spans as are open at a time.
pub const MAX_KEPT_BYTES: usize = 64 << 20;

/// Approximate memory of an announcement besides its bytes.
const ENTRY_BYTES: usize = 64;

/// Announcements of a segment.
#[derive(Debug, Default)]
pub(super) struct Known {
    call_sites: HashMap<u32, Box<[u8]>>,
    threads: HashMap<u32, Box<[u8]>>,
    spans: HashMap<u64, Box<[u8]>>,
    bytes: usize,
}

impl Known {
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    pub(super) fn call_site(&mut self, number: u32, payload: &[u8]) {
        self.grow(payload.len());
        let before = self.call_sites.insert(number, payload.into());
        self.shrink(before);
    }

    pub(super) fn thread(&mut self, number: u32, name: &[u8]) {
        self.grow(name.len());
        let before = self.threads.insert(number, name.into());
        self.shrink(before);
    }

    pub(super) fn span(&mut self, number: u64, payload: &[u8]) {
        self.grow(payload.len());
        let before = self.spans.insert(number, payload.into());
        self.shrink(before);
    }

    pub(super) fn end_span(&mut self, number: u64) {
        let before = self.spans.remove(&number);
        self.shrink(before);
    }

    pub(super) fn find_call_site(&self, number: u32) -> Option<CallSite<'_>> {
        match decode(CALL_SITE, self.call_sites.get(&number)?) {
            Some(Ok(Record::CallSite(site))) => Some(site),
            _ => None,
        }
    }

    pub(super) fn thread_name(&self, number: u32) -> Option<&[u8]> {
        self.threads.get(&number).map(|name| &**name)
    }

    /// A span's parent, call site and values.
    pub(super) fn find_span(&self, number: u64) -> Option<(u64, Option<CallSite<'_>>, Values<'_>)> {
        match decode(SPAN_AGAIN, self.spans.get(&number)?) {
            Some(Ok(Record::Span { call_site, parent, values, .. })) => {
                Some((parent, self.find_call_site(call_site), values))
            }
            _ => None,
        }
    }

    fn grow(&mut self, bytes: usize) {
        if self.bytes + bytes + ENTRY_BYTES > MAX_KEPT_BYTES {
            self.forget();
        }
        self.bytes += bytes + ENTRY_BYTES;
    }

    fn shrink(&mut self, replaced: Option<Box<[u8]>>) {
        if let Some(replaced) = replaced {
            self.bytes -= replaced.len() + ENTRY_BYTES;
        }
    }
}
