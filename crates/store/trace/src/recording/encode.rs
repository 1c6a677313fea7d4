//! Writes entries.

use super::{
    ThreadInfo,
    layout::{LOST_FIELDS, MAX_NAME_BYTES, SPANS_FIELDS, START_FIELDS, bytes_of},
};
use crate::spans::{MAX_NAME_BYTES as SITE_BYTES, Span};

/// The payload of a [`START`](super::START) entry: the collector of this program starts. It ends
/// the validity of all numbers of threads.
pub fn start_entry(program: &str) -> Vec<u8> {
    let mut payload = vec![0; bytes_of(&START_FIELDS)];
    payload.extend_from_slice(cut(program));
    payload
}

/// The payload that announces a thread.
pub(super) fn thread_entry(number: u32, thread: &ThreadInfo) -> Vec<u8> {
    let mut payload = Vec::with_capacity(64 + SITE_BYTES * thread.sites.len() + MAX_NAME_BYTES);
    payload.extend_from_slice(&number.to_le_bytes());
    payload.extend_from_slice(&thread.pid.to_le_bytes());
    let time = &thread.timescale;
    for word in [
        thread.created_ns,
        thread.build,
        time.ticks_per_second.to_bits(),
        time.anchor.ticks(),
        time.anchor_utc_ns,
        thread.sites.len() as u64,
    ] {
        payload.extend_from_slice(&word.to_le_bytes());
    }
    for site in &thread.sites {
        payload.extend_from_slice(site.as_ref().map_or(&[0; SITE_BYTES], |name| name.bytes()));
    }
    payload.extend_from_slice(cut(&thread.name));
    payload
}

/// Begins the payload of an entry with spans, of which the first has this number in the ring.
pub(super) fn begin_spans(payload: &mut Vec<u8>, number: u32, first: u64) {
    payload.clear();
    payload.extend_from_slice(&number.to_le_bytes());
    payload.extend_from_slice(&[0; 4]);
    payload.extend_from_slice(&first.to_le_bytes());
}

/// Adds a span.
#[inline]
pub(super) fn add_span(payload: &mut Vec<u8>, span: &Span) {
    let words =
        [span.site.index() as u64, span.from.ticks(), span.to.ticks(), span.number, span.value];
    words.iter().for_each(|word| payload.extend_from_slice(&word.to_le_bytes()));
}

/// Ends the payload of an entry with so many spans.
pub(super) fn end_spans(payload: &mut [u8], count: usize) {
    let (offset, size, _) = SPANS_FIELDS[1];
    payload[offset..][..size].copy_from_slice(&(count as u32).to_le_bytes());
}

/// The payload of an entry about missing spans.
pub(super) fn put_lost(payload: &mut Vec<u8>, number: u32, reason: u32, first: u64, count: u64) {
    payload.clear();
    payload.extend_from_slice(&number.to_le_bytes());
    payload.extend_from_slice(&reason.to_le_bytes());
    payload.extend_from_slice(&first.to_le_bytes());
    payload.extend_from_slice(&count.to_le_bytes());
    debug_assert_eq!(payload.len(), bytes_of(&LOST_FIELDS));
}

/// The beginning of a text, at most as long as a name can be.
fn cut(text: &str) -> &[u8] {
    &text.as_bytes()[..text.floor_char_boundary(MAX_NAME_BYTES)]
}
