//! A journal passes the suite of the numbered stream.

use nanotape_harness::Scratch;
use nanotape_journal::{Appender, AppenderOptions, JournalError, Start, Tailer, TailerSource};
use nanotape_tape::conformance::{Subject, append};

struct Journal(Scratch);

impl Subject for Journal {
    type Sink = Appender;
    type Source = TailerSource;
    const HAS_TIMES: bool = true;
    const TAKES_BACK: bool = true;

    fn new(test: &str) -> Self {
        Self(Scratch::on_disk(&format!("conformance-{test}")))
    }

    fn sink(&self) -> Appender {
        let options = AppenderOptions { segment_bytes: 64 << 10, ..AppenderOptions::default() };
        Appender::open(self.0.path(), &options).unwrap()
    }

    fn source(&self, start: Start) -> Result<TailerSource, JournalError> {
        Tailer::open(self.0.path(), start).map(TailerSource::new)
    }

    /// Skips numbers and fills the segment: the next excerpt is in the next one.
    fn lose(&self, sink: &mut Appender) {
        sink.skip_to(sink.next_sequence() + 7).unwrap();
        append(sink, (0..1_000).map(|count| 1_000 + count % 500));
        sink.skip_to(sink.next_sequence() + 1).unwrap();
    }
}

nanotape_tape::conformance!(journal: Journal);
