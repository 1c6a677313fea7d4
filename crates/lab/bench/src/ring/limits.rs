//! The limit of the machine: copies of messages.

use core::hint::black_box;

use crate::engine::{
    Written,
    message::{Length, fill},
    pace::Until,
};

/// Copies messages into a buffer of the ring's size, one after the other, and then out again, on
/// one processor. A message counts when it was copied in and out.
pub(super) fn copy(length: impl Length, capacity_bytes: usize, until: &Until) -> Written {
    let stride = length.bytes().next_multiple_of(8);
    let mut ring = vec![1_u8; capacity_bytes];
    let message = &mut vec![0; length.bytes()][..length.bytes()];
    fill(message, 1);
    let mut done = 0;
    while until.next_block(done) > 0 {
        for place in ring.chunks_exact_mut(stride) {
            place[..length.bytes()].copy_from_slice(black_box(&*message));
            done += 1;
        }
        for place in black_box(&mut *ring).chunks_exact(stride) {
            message.copy_from_slice(&place[..length.bytes()]);
            black_box(&mut *message);
        }
    }
    Written { messages: done, nanos: until.nanos() }
}
