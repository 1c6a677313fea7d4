//! Logs of programs in a journal: written as values at the cost of an append, formatted when read.
//!
//! Where: store, on JOURNAL. A program logs with `tracing` or `log`; a reader formats lines.
//! Layout: `docs/formats/log.md`. Reasons: `docs/decisions/0025-logs-in-a-journal.md`.
//! `SpanLayer` is apart from the journal: it writes the times of `tracing` spans into rings.
//! Failure: events that cannot be written are counted, and the next event that can be written
//! reports the count. A program never ends because of its log. If a program is killed, its log
//! contains every call that returned. Cost: an event allocates nothing and makes no system call;
//! see `examples/cost.rs`.
//!
#![cfg_attr(feature = "tracing", doc = "```")]
#![cfg_attr(not(feature = "tracing"), doc = "```ignore")]
//! # fn main() -> Result<(), nanotape_journal::JournalError> {
//! # let path = std::env::temp_dir().join(format!("nanotape-doc-logging-{}", std::process::id()));
//! use nanotape_journal::{Start, Tail, Tailer};
//! use nanotape_logging::{Formatter, Logger};
//! use tracing_subscriber::layer::SubscriberExt as _;
//!
//! let logger = Logger::open(&path)?;
//! let subscriber = tracing_subscriber::registry().with(logger.layer());
//! tracing::subscriber::with_default(subscriber, || {
//!     let _session = tracing::info_span!("session", day = 325).entered();
//!     tracing::warn!(gap = 17_u64, line = "B", "lost messages");
//! });
//!
//! let mut formatter = Formatter::new();
//! let mut tailer = Tailer::open(&path, Start::Oldest)?; // in any process, at any time
//! let mut lines = Vec::new();
//! while let Tail::Excerpt(excerpt) = tailer.next()? {
//!     lines.extend(formatter.line(&excerpt));
//! }
//! let line = lines.last().unwrap();
//! assert!(line.contains("WARN session{day=325}: "), "{line}");
//! assert!(line.ends_with(r#": lost messages gap=17 line="B""#), "{line}");
//! # drop(logger);
//! # std::fs::remove_dir_all(path).unwrap();
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

#[cfg(feature = "tracing")]
mod call_site;
pub mod decode;
mod encode;
mod formatter;
#[cfg(feature = "tracing")]
mod layer;
pub mod layout;
#[cfg(feature = "log")]
mod log_back_end;
mod logger;
#[cfg(feature = "tracing")]
mod span;
#[cfg(feature = "tracing")]
mod span_layer;
mod thread;

pub use formatter::{Formatter, MAX_KEPT_BYTES};
#[cfg(feature = "tracing")]
pub use layer::{JournalLayer, SpanDetail};
pub use layout::{Level, is_line, is_log};
#[cfg(feature = "log")]
pub use log_back_end::JournalLog;
pub use logger::{Logger, Origin, log_options};
#[cfg(feature = "tracing")]
pub use span_layer::{LeftOut, MAX_OPEN, MAX_SITES, SpanCounts, SpanLayer, SpanLayerOptions};
