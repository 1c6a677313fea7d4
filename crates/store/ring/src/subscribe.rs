//! The common interface of the readers of both rings.

use std::ops::ControlFlow;

use nanotape_shm::SharedRegion;

use crate::{Message, Read, ReadError, Received, Rejoin, RingError, Start};

/// A reader of a ring. It writes nothing, so it affects neither the writer nor other readers.
///
/// No method waits for a message. When there is [nothing](Read::Empty) the caller chooses what to
/// do: [`Waiter`](nanotape_tape::Waiter) has the usual strategies. On AMD's processors a poll that
/// finds nothing ends with a pause instruction. There, a reader that has read everything rests for
/// half a microsecond, or for one if it reads batches, as long as each rest brings at least eight
/// messages: both sides are then several times faster.
pub trait Subscribe {
    /// Reads the next message into the beginning of `buffer`.
    fn try_read(&mut self, buffer: &mut [u8]) -> Result<Read<Received>, ReadError>;

    /// Passes the next message in place to `visit`, and returns its result if nothing was
    /// overwritten meanwhile. Copies nothing. [`Message`] has the rules for visitors.
    fn try_visit<T>(&mut self, visit: impl FnOnce(&Message<'_>) -> T)
    -> Result<Read<T>, ReadError>;

    /// Copies all published messages that fit into `buffer`, and then passes each of them to
    /// `visit`, in order: whole messages, checked. Returns how many, at least one.
    ///
    /// A buffer of about ten thousand bytes is large enough for full speed. It must hold the
    /// longest message and its header; otherwise the error has the required size.
    #[inline]
    fn read_batch(
        &mut self,
        buffer: &mut [u8],
        mut visit: impl FnMut(Received, &[u8]),
    ) -> Result<Read<u64>, ReadError> {
        self.read_batch_while(buffer, |received, payload| {
            visit(received, payload);
            ControlFlow::Continue(())
        })
    }

    /// Like [`read_batch`](Self::read_batch); `Break` stops after that message, and later reads
    /// continue there.
    fn read_batch_while(
        &mut self,
        buffer: &mut [u8],
        visit: impl FnMut(Received, &[u8]) -> ControlFlow<()>,
    ) -> Result<Read<u64>, ReadError>;

    /// The sequence number of the next message. To continue there later, join with
    /// [`Start::Sequence`] and this number.
    fn next_sequence(&self) -> u64;

    /// The position of the next message, in bytes since the ring was created, headers included.
    fn position_bytes(&self) -> u64;

    /// Moves to another position.
    fn seek(&mut self, start: Start) -> Result<(), RingError>;

    /// Sets where to continue after a lap.
    fn set_rejoin(&mut self, rejoin: Rejoin);

    /// The region that contains the ring: its owner, and whether the owner is alive.
    fn region(&self) -> &SharedRegion;
}
