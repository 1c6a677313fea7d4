//! Spans: where the time of a message went, stage by stage, while the program runs.
//!
//! Where: the code of a stage calls [`Tracer::end`]; any process reads with a [`SpanReader`].
//! Protocol: a thread owns a region with the names of its sites and a switch for each, and a slot
//! ring for its spans (`docs/formats/spans.md`). One stamp is the end of a stage and the beginning
//! of the next one. Both files outlive the thread, so a killed program leaves its last spans.
//! Cost: off, a load and a comparison with zero. On, an unfenced stamp and a message in the ring,
//! without a lock, an allocation or a system call.
//! Failure: a reader trusts no word: names, switches and spans that no tracer stores are damage.

mod build;
mod layout;
mod reader;
mod request;
mod sites;
mod span;
mod switch;
mod timescale;
mod tracer;

pub use build::build_of_this_program;
pub use layout::{FIELDS, KIND, LAYOUT};
pub use reader::{Polled, SiteStat, SpanReader};
pub use request::{Answers, Request, RequestError};
#[doc(hidden)]
pub use request::{FIELDS as REQUEST_FIELDS, KIND as REQUEST_KIND, LAYOUT as REQUEST_LAYOUT};
pub use sites::{MAX_NAME_BYTES, MAX_SITES, Site, SiteName, Sites};
pub use span::{SPAN_BYTES, Span};
pub use switch::Rate;
pub use timescale::Timescale;
pub use tracer::{Switches, TraceError, Tracer, TracerOptions, spans_path};

#[cfg(test)]
mod tests;
