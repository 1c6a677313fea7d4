//! tracing: the registry of tracing-subscriber, and a layer that keeps each span when it closes.
//!
//! The layer does what one for traces must do: it keeps the number and the begin with the span, and
//! at its end stores name, begin, end and number. It keeps them in memory of the thread, and takes
//! nanotape's stamps. Off: a level filter disables the callsite.

use std::cell::RefCell;

use nanotape_clock::{Clock, Stamp};
use rivals_measure::Failure;
use tracing::{
    Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id},
};
use tracing_subscriber::{
    Layer,
    filter::LevelFilter,
    layer::{Context, SubscriberExt as _},
    registry::LookupSpan,
};

use crate::{
    loops::{Found, Spans, State, TURNS, work},
    rivals::NAME,
};

thread_local! {
    static CLOSED: RefCell<Vec<Closed>> = RefCell::new(Vec::with_capacity(2 * TURNS as usize));
}

/// A span that was closed.
struct Closed {
    name: &'static str,
    begun: Begun,
    end: Stamp,
}

/// What the layer keeps with a span.
#[derive(Clone, Copy)]
struct Begun {
    number: u64,
    begin: Stamp,
}

struct Keep {
    clock: Clock,
}

struct Number(u64);

impl Visit for Number {
    fn record_u64(&mut self, _: &Field, value: u64) {
        self.0 = value;
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

impl<S: Subscriber + for<'span> LookupSpan<'span>> Layer<S> for Keep {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut number = Number(u64::MAX);
        attributes.record(&mut number);
        if let Some(span) = context.span(id) {
            let begin = self.clock.stamp_unfenced();
            span.extensions_mut().insert(Begun { number: number.0, begin });
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let end = self.clock.stamp_unfenced();
        if let Some(span) = context.span(&id)
            && let Some(&begun) = span.extensions().get::<Begun>()
        {
            let name = span.name();
            CLOSED.with_borrow_mut(|closed| closed.push(Closed { name, begun, end }));
        }
    }
}

pub(crate) struct Tracing {
    is_on: bool,
    found: Found,
}

impl Tracing {
    pub(crate) fn boxed(is_on: bool) -> Result<Box<dyn Spans>, Failure> {
        let level = if is_on { LevelFilter::INFO } else { LevelFilter::OFF };
        let layer = Keep { clock: Clock::calibrate() };
        let subscriber = tracing_subscriber::registry().with(layer).with(level);
        tracing::subscriber::set_global_default(subscriber)?;
        Ok(Box::new(Self { is_on, found: Found::default() }))
    }
}

impl Spans for Tracing {
    #[inline(never)]
    fn run(&mut self, first: u64, mut state: State) -> State {
        for number in first..first + TURNS {
            let _span = tracing::info_span!("bench.stage", number).entered();
            state = work(state);
        }
        state
    }

    fn settle(&mut self) -> Result<(), Failure> {
        CLOSED.with_borrow_mut(|closed| {
            for Closed { name, begun, end } in closed.drain(..) {
                self.found.add(begun.number, name == NAME && begun.begin <= end);
            }
        });
        Ok(())
    }

    fn is_on(&self) -> bool {
        self.is_on
    }

    fn read(&mut self) -> Result<Found, Failure> {
        Ok(self.found)
    }

    fn version(&self) -> &'static str {
        "0.1.44"
    }
}
