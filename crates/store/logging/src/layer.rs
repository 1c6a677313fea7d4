//! The layer for tracing-subscriber: encodes spans and events and passes them to the logger.
//!
//! Bounds: a span keeps its values in memory, at most [`MAX_SPAN_VALUE_BYTES`].
//! Cost: an event allocates nothing; a new span allocates its values.

mod merge;
mod visitor;

use std::{fmt, sync::Arc};

use merge::merge;
use nanotape_journal::{Disk, Folder};
use tracing_core::{
    Event, Subscriber,
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    Layer,
    layer::Context,
    registry::{LookupSpan, SpanRef},
};
use visitor::Visitor;

use crate::{
    Logger,
    layout::{
        EVENT, MAX_PAYLOAD_BYTES, MAX_SPAN_DEPTH, MAX_SPAN_VALUE_BYTES, MAX_SPANS_BYTES,
        SPAN_CLOSE, SPAN_ENTER, SPAN_EXIT, SPAN_NEW,
    },
    logger::{Entry, Outcome},
    span::Span,
    thread::{Local, with_local},
};

/// Bytes before the values of a span.
const SPAN_HEADER_BYTES: usize = 24;

/// How often an excerpt is prepared again because the journal rolled in between.
const MOVES: usize = 4;

/// What to write about spans, besides what events need.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum SpanDetail {
    /// Nothing: a span without events is not written.
    Context,
    /// Their beginning and end.
    #[default]
    Lifetime,
    /// Also each time that a thread enters or leaves one.
    Steps,
}

/// A layer of tracing-subscriber that logs to a journal. A filter chooses the levels:
/// `layer.with_filter(LevelFilter::INFO)`.
#[derive(Debug)]
pub struct JournalLayer<D: Disk = Folder> {
    logger: Logger<D>,
    detail: SpanDetail,
}

/// A tracing span in each journal that it is logged to, by the number of the logger.
#[derive(Debug, Default)]
struct Spans(Vec<(u64, Arc<Span>)>);

impl Spans {
    fn of(&self, logger: u64) -> Option<&Arc<Span>> {
        self.0.iter().find(|(number, _)| *number == logger).map(|(_, span)| span)
    }
}

impl<D: Disk> Logger<D> {
    /// A layer that logs to this journal.
    pub fn layer(&self) -> JournalLayer<D> {
        JournalLayer { logger: self.clone(), detail: SpanDetail::default() }
    }
}

impl<D: Disk> JournalLayer<D> {
    /// Sets what to write about spans.
    #[must_use]
    pub fn with_span_detail(self, detail: SpanDetail) -> Self {
        Self { detail, ..self }
    }

    /// The innermost span, from this one outwards, that this layer has recorded.
    fn nearest<'a, S>(&self, span: SpanRef<'a, S>) -> Option<(SpanRef<'a, S>, Arc<Span>)>
    where
        S: for<'lookup> LookupSpan<'lookup>,
    {
        span.scope().find_map(|span| {
            let found = self.own(&span);
            found.map(|own| (span, own))
        })
    }

    fn own<S>(&self, span: &SpanRef<'_, S>) -> Option<Arc<Span>>
    where
        S: for<'lookup> LookupSpan<'lookup>,
    {
        span.extensions().get::<Spans>()?.of(self.logger.number()).map(Arc::clone)
    }

    /// Writes an excerpt that is within a span.
    fn write_within<S>(&self, local: &Local, entry: Entry<'_>, span: &SpanRef<'_, S>) -> Outcome
    where
        S: for<'lookup> LookupSpan<'lookup>,
    {
        let mut expected = self.logger.segment();
        for _ in 0..MOVES {
            let outcome = local.with_spans(|spans| {
                let mut left = MAX_SPANS_BYTES;
                for span in span.scope().take(MAX_SPAN_DEPTH) {
                    let extensions = span.extensions();
                    let known = extensions.get::<Spans>();
                    let Some(own) = known.and_then(|spans| spans.of(self.logger.number())) else {
                        continue;
                    };
                    let Some(rest) = left.checked_sub(own.bytes()) else { break };
                    left = rest;
                    if !own.is_announced(expected) {
                        spans.push(Arc::clone(own));
                    }
                }
                spans.reverse();
                self.logger.write(&Entry { spans, expected: Some(expected), ..entry })
            });
            match outcome {
                Outcome::Moved(segment) => expected = segment,
                outcome => return outcome,
            }
        }
        // Segments hold only a few excerpts: this one is written without its spans.
        self.logger.write(&entry)
    }

    fn step<S>(&self, type_id: u16, id: &Id, context: &Context<'_, S>)
    where
        S: Subscriber + for<'lookup> LookupSpan<'lookup>,
    {
        let Some(span) = context.span(id) else { return };
        let Some(own) = self.own(&span) else { return };
        with_local(|local| {
            let mut payload = [0; 16];
            payload[..8].copy_from_slice(&own.number.to_le_bytes());
            payload[8..12].copy_from_slice(&local.label.number.to_le_bytes());
            self.write_within(local, Entry::new(type_id, &payload, &local.label), &span);
        });
    }
}

impl<S, D> Layer<S> for JournalLayer<D>
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
    D: Disk,
{
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        with_local(|local| {
            local.with_buffer(|payload| {
                let call_site = local.call_sites.number(event.metadata());
                let within = context.event_span(event).and_then(|span| self.nearest(span));
                let number = within.as_ref().map_or(0, |(_, own)| own.number);
                payload.extend_from_slice(&call_site.to_le_bytes());
                payload.extend_from_slice(&local.label.number.to_le_bytes());
                payload.extend_from_slice(&number.to_le_bytes());
                let mut visitor = Visitor::new(payload, MAX_PAYLOAD_BYTES);
                event.record(&mut visitor);
                visitor.finish();
                let entry = Entry::new(EVENT, payload, &local.label);
                let entry = Entry { call_site: Some(call_site), ..entry };
                match &within {
                    Some((span, _)) => self.write_within(local, entry, span),
                    None => self.logger.write(&entry),
                };
            });
        });
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        with_local(|local| {
            let within = span.parent().and_then(|span| self.nearest(span));
            let call_site = local.call_sites.number(attributes.metadata());
            let number = Span::next_number();
            let parent = within.as_ref().map_or(0, |(_, own)| own.number);
            let mut payload = Vec::with_capacity(128);
            payload.extend_from_slice(&call_site.to_le_bytes());
            payload.extend_from_slice(&local.label.number.to_le_bytes());
            payload.extend_from_slice(&number.to_le_bytes());
            payload.extend_from_slice(&parent.to_le_bytes());
            let mut visitor = Visitor::new(&mut payload, SPAN_HEADER_BYTES + MAX_SPAN_VALUE_BYTES);
            attributes.record(&mut visitor);
            visitor.finish();
            let mut written = Outcome::Lost;
            if self.detail >= SpanDetail::Lifetime {
                let entry = Entry::new(SPAN_NEW, &payload, &local.label);
                let entry = Entry { call_site: Some(call_site), ..entry };
                written = match &within {
                    Some((span, _)) => self.write_within(local, entry, span),
                    None => self.logger.write(&entry),
                };
            }
            let own = Span::new(number, call_site, payload);
            if let Outcome::Written(segment) = written {
                own.has_begun(segment);
            }
            let mut extensions = span.extensions_mut();
            let own = (self.logger.number(), Arc::new(own));
            match extensions.get_mut::<Spans>() {
                Some(spans) => spans.0.push(own),
                None => extensions.insert(Spans(vec![own])),
            }
        });
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let Some(own) = self.own(&span) else { return };
        with_local(|local| {
            // Uses a separate buffer, because a value may log while it is formatted.
            local.with_buffer(|values| {
                let mut visitor = Visitor::new(values, MAX_SPAN_VALUE_BYTES);
                record.record(&mut visitor);
                visitor.finish();
                own.change(|payload| merge(payload, SPAN_HEADER_BYTES, values));
            });
        });
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if self.detail >= SpanDetail::Steps {
            self.step(SPAN_ENTER, id, &context);
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        if self.detail >= SpanDetail::Steps {
            self.step(SPAN_EXIT, id, &context);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        if self.detail >= SpanDetail::Lifetime {
            self.step(SPAN_CLOSE, &id, &context);
        }
    }
}

impl fmt::Display for SpanDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Context => "context",
            Self::Lifetime => "lifetime",
            Self::Steps => "steps",
        })
    }
}
