//! fastrace: local spans below a root for each run, with a reporter that reads them.
//!
//! The number is a property, which fastrace keeps as text. `fastrace-name` has no number. Spans are
//! flushed to the reporter between runs and not in the time of a span: a program has a thread for
//! that. Off: there is neither a root nor a reporter.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use fastrace::{
    Span,
    collector::{Config, Reporter, SpanContext, SpanRecord},
    local::LocalSpan,
};
use rivals_measure::Failure;

use crate::{
    loops::{Found, Spans, State, TURNS, work},
    rivals::NAME,
};

const NUMBER: &str = "number";
const ROOT: &str = "run";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    Off,
    /// Spans without a number.
    Name,
    Number,
}

pub(crate) struct Fastrace {
    what: What,
    found: Arc<Mutex<Found>>,
}

struct Counting(Arc<Mutex<Found>>);

impl Reporter for Counting {
    fn report(&mut self, spans: Vec<SpanRecord>) {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for span in spans.iter().filter(|span| span.name != ROOT) {
            let number = span.properties.iter().find(|(key, _)| key == NUMBER);
            let number = number.and_then(|(_, number)| number.parse().ok());
            found.add(number.unwrap_or(0), span.name == NAME && span.begin_time_unix_ns > 0);
        }
    }
}

impl Fastrace {
    pub(crate) fn boxed(what: What) -> Result<Box<dyn Spans>, Failure> {
        let found = Arc::new(Mutex::new(Found::default()));
        if what != What::Off {
            // Only when it is flushed.
            let config = Config::default().report_interval(Duration::from_secs(3_600));
            fastrace::set_reporter(Counting(Arc::clone(&found)), config);
        }
        Ok(Box::new(Self { what, found }))
    }
}

#[inline(never)]
fn with_numbers(first: u64, mut state: State) -> State {
    for number in first..first + TURNS {
        let _span =
            LocalSpan::enter_with_local_parent(NAME).with_property(|| (NUMBER, number.to_string()));
        state = work(state);
    }
    state
}

#[inline(never)]
fn with_names(mut state: State) -> State {
    for _ in 0..TURNS {
        let _span = LocalSpan::enter_with_local_parent(NAME);
        state = work(state);
    }
    state
}

impl Spans for Fastrace {
    fn run(&mut self, first: u64, state: State) -> State {
        if self.what == What::Off {
            return with_numbers(first, state);
        }
        let root = Span::root(ROOT, SpanContext::random());
        let _guard = root.set_local_parent();
        match self.what {
            What::Name => with_names(state),
            What::Off | What::Number => with_numbers(first, state),
        }
    }

    fn settle(&mut self) -> Result<(), Failure> {
        if self.what != What::Off {
            fastrace::flush();
        }
        Ok(())
    }

    fn is_on(&self) -> bool {
        self.what != What::Off
    }

    fn has_numbers(&self) -> bool {
        self.what == What::Number
    }

    fn read(&mut self) -> Result<Found, Failure> {
        Ok(*self.found.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn version(&self) -> &'static str {
        "0.7.19"
    }
}
