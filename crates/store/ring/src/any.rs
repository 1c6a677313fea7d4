//! A reader of a ring of either kind.

use std::{ops::ControlFlow, path::Path};

use nanotape_shm::{RegionError, SharedRegion};

use crate::{
    Message, Read, ReadError, Received, Rejoin, RingError, Start, Subscribe, slots, stream,
};

/// A reader that selects its kind from the region's header: for tools. A caller that knows the kind
/// uses that ring's reader, and saves a branch for each message.
#[derive(Clone, Debug)]
pub enum AnyReader {
    /// Reads a stream ring.
    Stream(stream::Reader),
    /// Reads a slot ring.
    Slots(slots::Reader),
}

impl AnyReader {
    /// Joins the ring at `path`.
    pub fn open(path: &Path, start: Start) -> Result<Self, RingError> {
        let region = open_any(path)?;
        if region.spec().kind == slots::KIND {
            slots::Reader::join(region, start).map(Self::Slots)
        } else {
            stream::Reader::join(region, start).map(Self::Stream)
        }
    }
}

/// Opens the region of a ring of either kind.
pub(crate) fn open_any(path: &Path) -> Result<SharedRegion, RegionError> {
    let kind = match nanotape_shm::inspect(path)?.header {
        Some(header) if header.spec.kind == slots::KIND => slots::KIND,
        // For any other kind, opening fails with an error that has the kind.
        _ => stream::KIND,
    };
    SharedRegion::open(path, kind)
}

macro_rules! either {
    ($self:ident, $reader:ident => $call:expr) => {
        match $self {
            Self::Stream($reader) => $call,
            Self::Slots($reader) => $call,
        }
    };
}

impl Subscribe for AnyReader {
    fn try_read(&mut self, buffer: &mut [u8]) -> Result<Read<Received>, ReadError> {
        either!(self, reader => reader.try_read(buffer))
    }

    fn try_visit<T>(
        &mut self,
        visit: impl FnOnce(&Message<'_>) -> T,
    ) -> Result<Read<T>, ReadError> {
        either!(self, reader => reader.try_visit(visit))
    }

    fn read_batch_while(
        &mut self,
        buffer: &mut [u8],
        visit: impl FnMut(Received, &[u8]) -> ControlFlow<()>,
    ) -> Result<Read<u64>, ReadError> {
        either!(self, reader => reader.read_batch_while(buffer, visit))
    }

    fn next_sequence(&self) -> u64 {
        either!(self, reader => reader.next_sequence())
    }

    fn position_bytes(&self) -> u64 {
        either!(self, reader => reader.position_bytes())
    }

    fn seek(&mut self, start: Start) -> Result<(), RingError> {
        either!(self, reader => reader.seek(start))
    }

    fn set_rejoin(&mut self, rejoin: Rejoin) {
        either!(self, reader => reader.set_rejoin(rejoin));
    }

    fn region(&self) -> &SharedRegion {
        either!(self, reader => reader.region())
    }
}
