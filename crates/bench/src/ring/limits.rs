//! What the machine can do at best: move one cache line between two processors, and copy messages.

use core::hint::black_box;

use nanotape_clock::Clock;
use nanotape_shm::Word;

use super::{
    error::RingBenchError,
    message::{Length, fill},
    pace::Until,
    reading::{Taken, Times, Written},
    timed::Rounds,
};
use crate::wait::Patience;

/// Tells the other side that it is over.
const STOP: u64 = u64::MAX;

/// Makes the word odd, and waits until the other side has made it even.
pub(super) fn bounce(
    word: &Word,
    clock: Clock,
    until: &Until,
    patience: &mut Patience,
) -> Result<(Written, Times), RingBenchError> {
    let mut rounds = Rounds::new(until);
    let mut done = 0;
    while rounds.goes_on(done) {
        let odd = 2 * done + 1;
        let sent = clock.stamp_start();
        word.store(odd);
        while word.load() == odd {
            patience.idle(done)?;
        }
        rounds.sample.add(&clock, sent, clock.stamp());
        done += 1;
    }
    word.store(STOP);
    Ok((Written { messages: done, nanos: until.nanos() }, rounds.sample.times(clock)))
}

/// Makes the word even as soon as it is odd.
pub(super) fn bounce_back(
    word: &Word,
    ready: &Word,
    patience: &mut Patience,
) -> Result<Taken, RingBenchError> {
    ready.store(1);
    let mut taken = Taken::default();
    loop {
        match word.load() {
            STOP => return Ok(taken),
            odd if odd % 2 == 1 => {
                word.store(odd + 1);
                taken.messages += 1;
            }
            _ => patience.idle(taken.messages)?,
        }
    }
}

/// Copies messages into as many bytes as the ring has, one behind the other, and then out again, on
/// one processor. A message counts when it was copied in and out.
pub(super) fn copy(
    length: impl Length,
    capacity_bytes: usize,
    until: &Until,
) -> Result<Written, RingBenchError> {
    let stride = length.bytes().next_multiple_of(8);
    let mut ring = vec![1_u8; capacity_bytes];
    let mut buffer = vec![0; length.bytes()];
    let message = &mut buffer[..length.bytes()];
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
    Ok(Written { messages: done, nanos: until.nanos() })
}
