//! What every reader can do, whichever ring it reads.

use std::ops::ControlFlow;

use nanotape_shm::SharedRegion;

use crate::{Message, Read, ReadError, Received, Rejoin, RingError, Start};

/// A reader of a ring. It writes nothing: the writer and other readers never notice it.
///
/// No method waits. What to do when there is [nothing](Read::Empty) is the caller's choice:
/// [`Waiter`](nanotape_tape::Waiter) has the usual ones.
pub trait Subscribe {
    /// Reads the next message into the beginning of `buffer`.
    fn try_read(&mut self, buffer: &mut [u8]) -> Result<Read<Received>, ReadError>;

    /// Shows the next message in place to `visit`, and returns what that made of it if nothing was
    /// overwritten meanwhile. Copies nothing. See [`Message`] for what a visitor must bear.
    fn try_visit<T>(&mut self, visit: impl FnOnce(&Message<'_>) -> T)
    -> Result<Read<T>, ReadError>;

    /// Copies as many messages as are published and fit into `buffer`, and then shows each of them
    /// to `visit`, in order: whole messages, checked. Returns how many, at least one.
    ///
    /// A buffer of some ten thousand bytes is enough to be quick. It must hold the longest message
    /// there is, and what the ring keeps beside it; else the error says what it needs.
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

    /// The same, and `Break` stops after that message: the next one is read again another time.
    fn read_batch_while(
        &mut self,
        buffer: &mut [u8],
        visit: impl FnMut(Received, &[u8]) -> ControlFlow<()>,
    ) -> Result<Read<u64>, ReadError>;

    /// The sequence number of the next message to be read: to go on there another time, join at
    /// [`Start::Sequence`] of it.
    fn next_sequence(&self) -> u64;

    /// Goes on elsewhere.
    fn seek(&mut self, start: Start) -> Result<(), RingError>;

    /// Where to go on after a lap.
    fn set_rejoin(&mut self, rejoin: Rejoin);

    /// The region that the ring is in: who owns it, and whether the owner lives.
    fn region(&self) -> &SharedRegion;
}
