//! Payloads of reports about the log itself: a program's start, lost events, a clock that was set
//! back.

use super::Loss;
use crate::{
    Level,
    encode::{put_formatted, put_last_name, put_name},
    layout::MAX_PAYLOAD_BYTES,
};

/// The target of texts that the log writes about itself.
const OURS: &str = "nanotape_logging";

const SECOND_NS: u64 = 1_000_000_000;

/// `START`: this program.
pub(super) fn put_start(payload: &mut Vec<u8>) {
    payload.extend_from_slice(&std::process::id().to_le_bytes());
    payload.extend_from_slice(&[0; 4]);
    let program = std::env::current_exe().unwrap_or_default();
    let name = program.file_name().unwrap_or_default();
    put_last_name(payload, &name.to_string_lossy());
}

/// `LOST`: these events.
pub(super) fn put_loss(payload: &mut Vec<u8>, loss: &Loss) {
    for number in [loss.count, loss.first_ns, loss.last_ns] {
        payload.extend_from_slice(&number.to_le_bytes());
    }
    put_last_name(payload, &loss.reason);
}

/// `TEXT`: the machine's clock was set back, and times with it.
pub(super) fn put_set_back(payload: &mut Vec<u8>, set_back_ns: u64) {
    payload.extend_from_slice(&[Level::Warn as u8, 0, 0, 0]);
    // No thread, no line, and four bytes of zeros.
    payload.extend_from_slice(&[0; 12]);
    put_name(payload, OURS);
    put_name(payload, "");
    let (seconds, nanos) = (set_back_ns / SECOND_NS, set_back_ns % SECOND_NS);
    let text = format_args!("the clock was set back: times step back by {seconds}.{nanos:09} s");
    put_formatted(payload, MAX_PAYLOAD_BYTES, text);
}
