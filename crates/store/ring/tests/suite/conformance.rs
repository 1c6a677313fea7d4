//! Both rings pass the conformance suite of the numbered stream.

use std::{fs, path::PathBuf};

use nanotape_ring::{AnyReader, Publish as _, RingError, RingSource, Start, slots, stream};
use nanotape_shm::RegionOptions;
use nanotape_tape::conformance::{Subject, append};

/// A ring in a file, removed at the end.
struct Ring<const IS_STREAM: bool>(PathBuf);

impl<const IS_STREAM: bool> Ring<IS_STREAM> {
    fn at(test: &str) -> Self {
        let name = format!("nanotape-conformance-{}-{IS_STREAM}-{test}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl<const IS_STREAM: bool> Drop for Ring<IS_STREAM> {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

impl Subject for Ring<true> {
    type Sink = stream::Writer;
    type Source = RingSource<stream::Reader>;
    const HAS_TIMES: bool = false;
    const TAKES_BACK: bool = false;

    fn new(test: &str) -> Self {
        Self::at(test)
    }

    fn sink(&self) -> stream::Writer {
        stream::Writer::create(&self.0, 16 << 10, &RegionOptions::default()).unwrap().0
    }

    fn source(&self, start: Start) -> Result<Self::Source, RingError> {
        stream::Reader::open(&self.0, start).map(RingSource::new)
    }

    fn lose(&self, sink: &mut stream::Writer) {
        append(sink, 1_000..1_900);
        assert!(sink.next_sequence() > 900);
    }
}

impl Subject for Ring<false> {
    type Sink = slots::Writer;
    type Source = RingSource<AnyReader>;
    const HAS_TIMES: bool = false;
    const TAKES_BACK: bool = false;

    fn new(test: &str) -> Self {
        Self::at(test)
    }

    fn sink(&self) -> slots::Writer {
        slots::Writer::create(&self.0, 128, 90, &RegionOptions::default()).unwrap().0
    }

    fn source(&self, start: Start) -> Result<Self::Source, RingError> {
        RingSource::open(&self.0, start)
    }

    fn lose(&self, sink: &mut slots::Writer) {
        append(sink, 1_000..1_900);
    }
}

nanotape_tape::conformance!(stream_ring: Ring<true>);
nanotape_tape::conformance!(slot_ring: Ring<false>);
