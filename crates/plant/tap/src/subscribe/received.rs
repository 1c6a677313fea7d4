//! A stream that a thread of this process receives from elsewhere, onto a ring in private memory.
//!
//! Protocol: the thread only receives, so that a subscriber that is slow, or reads a journal, does
//! not hold the sender back: it is lapped on its own ring, and goes on as on any ring. The stream
//! begins at the number that arrives first. Its names come from its own definitions, and from the
//! journal that heals it, since a board is memory of another host.

use std::{
    error::Error,
    sync::{Arc, OnceLock},
    time::Duration,
};

use nanotape_ring::{RingSource, Start, Subscribe as _, stream};
use nanotape_tape::{Deadline, WriterState};

use super::{
    Failed, SubscribeError, Subscriber, Subscription,
    completed::{Completed, require_origin},
    feed::Feed,
};
use crate::symbols::SymbolTable;

/// The ring that a thread fills.
#[derive(Debug)]
pub struct ReceivedRing {
    /// Its reader, at the first message or before it.
    pub reader: stream::Reader,
    /// The creation time of the ring at the sender, which a journal of it has; 0 if it is unknown.
    pub created_ns: u64,
    /// Set by the thread at the end of the stream.
    pub end: ReceivedEnd,
}

/// The end of a stream that is received. Copies share it.
#[derive(Clone, Debug, Default)]
pub struct ReceivedEnd(Arc<OnceLock<Result<WriterState, Arc<dyn Error + Send + Sync>>>>);

impl ReceivedEnd {
    /// The writer at the sender has ended. All messages must be on the ring.
    pub fn end(&self, state: WriterState) {
        // The first end counts.
        let _ = self.0.set(Ok(state));
    }

    /// The stream cannot be received any more.
    pub fn fail(&self, error: impl Error + Send + Sync + 'static) {
        let _ = self.0.set(Err(Arc::new(error)));
    }

    pub(super) fn writer(&self) -> Option<WriterState> {
        self.0.get().and_then(|end| end.as_ref().ok().copied())
    }

    pub(super) fn failure(&self) -> Option<Arc<dyn Error + Send + Sync>> {
        self.0.get().and_then(|end| end.as_ref().err().cloned())
    }
}

impl Subscription {
    /// Reads a stream that a thread receives. The name of the subscription is its address. By
    /// default it begins with the first message that arrived. An earlier start, and
    /// [`whole`](Self::whole), need the journal of [`heal_from`](Self::heal_from).
    pub fn open_received(self, received: ReceivedRing) -> Result<Subscriber, SubscribeError> {
        let path = self.ring.clone();
        let ReceivedRing { mut reader, created_ns, end } = received;
        reader.seek(Start::Oldest).map_err(|error| Failed::Ring(error).on(&path))?;
        reader.set_rejoin(self.rejoin);
        let symbols = SymbolTable::new(&path, None, self.symbols.clone());
        // The thread has received something, so nothing is waited for.
        let deadline = Deadline::after(Duration::ZERO);
        let Some((journal, patience)) = self.heal.clone() else {
            let feed = Feed::ring(RingSource::new(reader)).ending_as(end);
            return Ok(self.subscriber(feed, path, symbols, None, None, deadline));
        };
        let origin = (path.clone(), created_ns);
        require_origin(&journal, &origin).map_err(|error| error.on(&path))?;
        let (snapshot, next) = self.begin(&journal, None, reader.next_sequence())?;
        let ring = (RingSource::new(reader), origin);
        let completed = Completed::new(ring, &journal, patience, next);
        let feed = Feed::completed(completed.map_err(|error| error.on(&path))?).ending_as(end);
        let symbols = symbols.completed_from(&journal);
        Ok(self.subscriber(feed, path, symbols, snapshot, None, deadline))
    }
}
