//! The layer that writes `tracing` spans into rings of shared memory, where `nanotape trace` and
//! the flight recorder read them.
//!
//! Where: beside [`JournalLayer`](crate::JournalLayer), or alone. Each thread that makes spans owns
//! a region and a ring (`docs/formats/spans.md`): `NAME.trace.THREAD`. Its sites are the names of
//! the spans of the source. They appear when a thread first makes such a span.
//! Protocol: each time that a thread leaves a span is a span in its ring, from the stamp at the
//! enter to the stamp at the exit. Its number is the field `sequence` or `number`, or else that of
//! the span around it, or else one of its own, from 2^63 on. Its value is the field `value`.
//! Bounds: [`MAX_SITES`] names, [`SpanLayerOptions::threads`] threads at the same time, and
//! [`MAX_OPEN`] spans that exist at the same time. [`SpanLayer::left_out`] counts what is beyond.
//! Failure: a thread whose files cannot be created is not traced, and is counted. A span that was
//! made while all sites of its thread were off is not recorded.
//! Cost: off, a load of a shared word for each new span. On, two stamps and a slot of the ring; no
//! lock, no allocation and no system call after the first span of a site in a thread.

mod local;
mod open;
mod shared;
mod thread_names;

use std::{path::PathBuf, sync::Arc};

use nanotape_clock::Clock;
use nanotape_shm::{RegionError, RegionOptions};
pub use nanotape_trace::spans::MAX_SITES;
use tracing_core::{
    Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{Layer, layer::Context};

pub use open::MAX_OPEN;
use open::Numbers;
use shared::Shared;

/// A layer of tracing-subscriber that writes spans into rings. Clone the [`SpanLayer::counts`] for
/// its counts before it goes into a subscriber.
#[derive(Debug)]
pub struct SpanLayer(Arc<Shared>);

/// The sizes of a [`SpanLayer`].
#[derive(Clone, Debug)]
pub struct SpanLayerOptions {
    /// Spans that the ring of a thread keeps, a power of two. Each takes 64 bytes.
    pub spans: usize,
    /// Threads that are traced at the same time. Each has two files.
    pub threads: usize,
    /// Permissions of the files.
    pub region: RegionOptions,
}

impl Default for SpanLayerOptions {
    fn default() -> Self {
        Self { spans: 1 << 14, threads: 64, region: RegionOptions::default() }
    }
}

/// What was not recorded.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LeftOut {
    /// Threads beyond the largest number, or whose files could not be created.
    pub threads: u64,
    /// Spans of names beyond the largest number.
    pub names: u64,
    /// Spans that were made while too many others existed.
    pub open: u64,
}

/// Counts of a layer, also when it is part of a subscriber.
#[derive(Clone, Debug)]
pub struct SpanCounts(Arc<Shared>);

impl SpanCounts {
    /// What was not recorded so far.
    pub fn left_out(&self) -> LeftOut {
        self.0.left_out()
    }
}

impl SpanLayer {
    /// A layer whose threads are those of this name, or of this path if it has a slash:
    /// `nanotape trace list NAME` finds them. The first layer of a process calibrates the clock,
    /// which takes about 51 ms. Everything is off until `nanotape trace on NAME`.
    pub fn open(name: &str) -> Result<Self, RegionError> {
        Self::open_with(name, SpanLayerOptions::default())
    }

    /// [`SpanLayer::open`] with other sizes.
    pub fn open_with(name: &str, options: SpanLayerOptions) -> Result<Self, RegionError> {
        let path: PathBuf = nanotape_shm::named(name)?;
        Ok(Self(Shared::start(path, Clock::calibrate(), options)))
    }

    /// The counts of what is left out.
    pub fn counts(&self) -> SpanCounts {
        SpanCounts(Arc::clone(&self.0))
    }

    /// What was not recorded so far.
    pub fn left_out(&self) -> LeftOut {
        self.0.left_out()
    }
}

impl<S: Subscriber> Layer<S> for SpanLayer {
    #[inline]
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        local::with_thread(&self.0, |thread| {
            if thread.tracer.rate().is_none() {
                return;
            }
            let Some(site) = thread.site(&self.0, attributes.metadata()) else {
                return self.0.leave_out_name();
            };
            let mut fields = Fields::default();
            attributes.record(&mut fields);
            let parent = match attributes.parent() {
                Some(id) => self.0.open.find(id.into_u64()).map(|open| open.number),
                None if attributes.is_contextual() => thread.innermost(),
                None => None,
            };
            let number = fields.number.or(parent).unwrap_or_else(|| self.0.next_number());
            let numbers = Numbers { site, number, value: fields.value.unwrap_or(0) };
            if !self.0.open.insert(id.into_u64(), numbers) {
                self.0.leave_out_open();
            }
        });
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        record.record(&mut fields);
        if fields != Fields::default() {
            self.0.open.change(id.into_u64(), fields.number, fields.value);
        }
    }

    #[inline]
    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        // Before the thread is looked up: a span that is not recorded costs only this.
        let Some(numbers) = self.0.open.find(id.into_u64()) else { return };
        local::with_thread(&self.0, |thread| thread.enter(&self.0, id.into_u64(), numbers));
    }

    #[inline]
    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        let Some(numbers) = self.0.open.find(id.into_u64()) else { return };
        local::with_thread(&self.0, |thread| thread.exit(&self.0, id.into_u64(), numbers));
    }

    #[inline]
    fn on_close(&self, id: Id, _: Context<'_, S>) {
        self.0.open.remove(id.into_u64());
    }
}

/// The fields of a span that its record has.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Fields {
    number: Option<u64>,
    value: Option<u64>,
}

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "sequence" | "number" => self.number = Some(value),
            "value" => self.value = Some(value),
            _ => {}
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        if let Ok(value) = u64::try_from(value) {
            self.record_u64(field, value);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}
