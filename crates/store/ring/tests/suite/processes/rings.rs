//! Both rings behind one interface, messages with checkable contents, and the three ways to read.

use std::path::Path;

use nanotape_harness::{bytes_of, mixed};
use nanotape_ring::{
    Publish, Read, ReadError, Received, RingError, Start, Subscribe, slots, stream,
};
use nanotape_shm::{Origin, RegionOptions};

/// A kind of ring.
pub(crate) trait Ring: 'static {
    type Writer: Publish<Reader = Self::Reader>;
    type Reader: Subscribe + Clone + Send;

    const NAME: &'static str;

    /// A ring of about `bytes` bytes.
    fn create(
        path: &Path,
        bytes: usize,
        options: &RegionOptions,
    ) -> Result<(Self::Writer, Origin), RingError>;

    fn replace(path: &Path, bytes: usize) -> Result<(Self::Writer, Origin), RingError>;

    fn open(path: &Path, start: Start) -> Result<Self::Reader, RingError>;
}

pub(crate) struct Stream;

pub(crate) struct Slots;

/// The longest payload of the tests: the limit of a slot of 256 bytes.
pub(crate) const LONGEST: usize = 240;

/// Small, for frequent laps.
pub(crate) const SMALL: usize = 4096;

impl Ring for Stream {
    type Writer = stream::Writer;
    type Reader = stream::Reader;

    const NAME: &'static str = "stream";

    fn create(
        path: &Path,
        bytes: usize,
        options: &RegionOptions,
    ) -> Result<(Self::Writer, Origin), RingError> {
        stream::Writer::create(path, bytes, options)
    }

    fn replace(path: &Path, bytes: usize) -> Result<(Self::Writer, Origin), RingError> {
        stream::Writer::replace(path, bytes, &RegionOptions::default())
    }

    fn open(path: &Path, start: Start) -> Result<Self::Reader, RingError> {
        stream::Reader::open(path, start)
    }
}

impl Ring for Slots {
    type Writer = slots::Writer;
    type Reader = slots::Reader;

    const NAME: &'static str = "slots";

    fn create(
        path: &Path,
        bytes: usize,
        options: &RegionOptions,
    ) -> Result<(Self::Writer, Origin), RingError> {
        slots::Writer::create(path, bytes / 256, LONGEST, options)
    }

    fn replace(path: &Path, bytes: usize) -> Result<(Self::Writer, Origin), RingError> {
        slots::Writer::replace(path, bytes / 256, LONGEST, &RegionOptions::default())
    }

    fn open(path: &Path, start: Start) -> Result<Self::Reader, RingError> {
        slots::Reader::open(path, start)
    }
}

/// The payload of message `sequence` of a writer: all words of all messages differ.
pub(crate) fn payload(sequence: u64, writer: u16, length: usize) -> Vec<u8> {
    let seed = mixed(mixed(sequence) ^ u64::from(writer)) ^ length as u64;
    bytes_of(seed, length)
}

/// Whether the payload is complete and unchanged. Writers put their number in its type.
pub(crate) fn is_whole(received: Received, bytes: &[u8]) -> bool {
    bytes == payload(received.sequence, received.type_id, received.length as usize)
}

/// A way to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Read,
    Visit,
    Batch,
}

pub(crate) const WAYS: [Way; 3] = [Way::Read, Way::Visit, Way::Batch];

/// Reads the next message or messages, and checks them: numbers are consecutive, every message is
/// whole, and a loss is exactly the messages that were not read.
pub(crate) fn next<S: Subscribe>(
    reader: &mut S,
    way: Way,
    mut show: impl FnMut(Received),
) -> Result<Read<()>, ReadError> {
    let first = reader.next_sequence();
    let mut expected = first;
    let mut check = |received: Received, bytes: &[u8]| {
        assert_eq!(received.sequence, expected, "{way:?}: numbers are consecutive");
        assert!(is_whole(received, bytes), "{way:?}: {received:?} is torn: {bytes:x?}");
        expected += 1;
        show(received);
    };
    let mut buffer = [0; 2 * SMALL];
    let read = match way {
        Way::Read => match reader.try_read(&mut buffer)? {
            Read::Message(received) => {
                check(received, &buffer[..received.length as usize]);
                Read::Message(())
            }
            Read::Empty => Read::Empty,
            Read::Lapped(lapped) => Read::Lapped(lapped),
        },
        Way::Visit => {
            let read = reader.try_visit(|message| {
                let length = message.copy_to(&mut buffer);
                (message.received(), length)
            })?;
            match read {
                Read::Message((received, length)) => {
                    check(received, &buffer[..length]);
                    Read::Message(())
                }
                Read::Empty => Read::Empty,
                Read::Lapped(lapped) => Read::Lapped(lapped),
            }
        }
        Way::Batch => match reader.read_batch(&mut buffer, &mut check)? {
            Read::Message(count) => {
                assert_eq!(count, expected - first);
                Read::Message(())
            }
            Read::Empty => Read::Empty,
            Read::Lapped(lapped) => Read::Lapped(lapped),
        },
    };
    match read {
        Read::Message(()) => assert_eq!(reader.next_sequence(), expected),
        Read::Empty => assert_eq!(reader.next_sequence(), first),
        Read::Lapped(lapped) => {
            assert!(lapped.to >= lapped.from, "{lapped:?}");
            assert_eq!((lapped.from, lapped.to + 1), (first, reader.next_sequence()));
        }
    }
    Ok(read)
}
