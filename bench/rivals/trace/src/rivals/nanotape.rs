//! nanotape: a tracer with its files in shared memory, read by a reader of its own.
//!
//! A span begins where the one before ended, so a turn takes one stamp. The others take two.

use std::{fs, hint::black_box, path::PathBuf};

use nanotape_clock::Clock;
use nanotape_ring::Start;
use nanotape_trace::spans::{Polled, Rate, Site, Sites, SpanReader, Tracer, TracerOptions};
use rivals_measure::{Failure, scratch};

use crate::{
    loops::{Found, Spans, State, TURNS, work},
    rivals::NAME,
};

const SITES: Sites = Sites::new(&[NAME]);
const SITE: Site = SITES.site(NAME);
const VERSION: &str = "this checkout";

pub(crate) struct Nanotape {
    tracer: Tracer,
    reader: SpanReader,
    found: Found,
    is_on: bool,
    _folder: Folder,
}

/// Removed at the end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // The harness removes what is left.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Nanotape {
    pub(crate) fn boxed(is_on: bool) -> Result<Box<dyn Spans>, Failure> {
        let folder = PathBuf::from(format!("/dev/shm/{}trace", scratch::prefix()));
        fs::create_dir(&folder)?;
        let path = folder.join("thread");
        let folder = Folder(folder);
        let tracer = Tracer::create(&path, SITES, Clock::calibrate(), &TracerOptions::default())?;
        tracer.switches().set(&[if is_on { Rate::ALL } else { Rate::Off }]);
        let reader = SpanReader::open(&path, Start::Oldest)?;
        Ok(Box::new(Self { tracer, reader, found: Found::default(), is_on, _folder: folder }))
    }
}

impl Spans for Nanotape {
    #[inline(never)]
    fn run(&mut self, first: u64, mut state: State) -> State {
        self.tracer.begin(SITE, first);
        for number in first..first + TURNS {
            state = work(state);
            self.tracer.end(SITE, number, number);
        }
        state
    }

    fn is_on(&self) -> bool {
        self.is_on
    }

    /// The last 65,536 spans: those before were overwritten, and are counted.
    fn read(&mut self) -> Result<Found, Failure> {
        let is_named = self.reader.sites()[0].name.is_some_and(|name| name.as_str() == NAME);
        loop {
            match self.reader.try_next()? {
                Polled::Span(span) => {
                    let is_right = is_named && span.from <= span.to && span.site == SITE;
                    self.found.add(span.number, is_right && span.value == span.number);
                }
                Polled::Lost(gap) => self.found.lost += gap.count(),
                Polled::Damaged { .. } => self.found.add(0, false),
                Polled::Empty => return Ok(self.found),
            }
        }
    }

    fn version(&self) -> &'static str {
        VERSION
    }
}

/// A stamp at the end of each turn, and nothing else: the limit.
pub(crate) struct Stamps {
    clock: Clock,
}

impl Stamps {
    pub(crate) fn new() -> Self {
        Self { clock: Clock::calibrate() }
    }
}

impl Spans for Stamps {
    #[inline(never)]
    fn run(&mut self, first: u64, mut state: State) -> State {
        for _ in first..first + TURNS {
            state = work(state);
            black_box(self.clock.stamp_unfenced());
        }
        state
    }

    fn is_on(&self) -> bool {
        false
    }

    fn read(&mut self) -> Result<Found, Failure> {
        Ok(Found::default())
    }

    fn version(&self) -> &'static str {
        VERSION
    }
}
