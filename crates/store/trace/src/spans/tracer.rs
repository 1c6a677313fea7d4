//! The tracer of a thread: it stamps the ends of stages, and writes spans into its ring.

use std::{
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use nanotape_clock::{Clock, Stamp};
use nanotape_ring::{Publish as _, RingError, slots};
use nanotape_shm::{OwnedRegion, Refusal, RegionError, RegionOptions, SharedRegion, Word, beside};

use super::{
    layout::{self, ANCHOR_TICKS, ANCHOR_UTC_NS, RATE, SWITCHES, TICKS_PER_SECOND},
    reader::SpanReader,
    request::Answers,
    sites::{MAX_SITES, Site, SiteName, Sites},
    span::{SPAN_BYTES, Span},
    switch::{self, OFF, Rate},
};

/// Why a thread cannot be traced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The region of the thread cannot be created or opened.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// The ring of its spans cannot be created or opened.
    #[error("{}: {error}", path.display())]
    Ring {
        /// The ring.
        path: PathBuf,
        /// The reason.
        error: Box<RingError>,
    },
    /// The ring of the spans is not the one that the region was made with.
    #[error(
        "{}: its spans are of another start of the thread, so the names of its sites do not belong to \
         them; start the program again",
        path.display()
    )]
    Unpaired {
        /// The region.
        path: PathBuf,
    },
}

/// What a thread that is traced needs.
#[derive(Clone, Debug)]
pub struct TracerOptions {
    /// Spans that the ring keeps, a power of two. Each takes 64 bytes.
    pub spans: usize,
    /// A number that differs between builds of the program, as of
    /// [`build_of_this_program`](super::build_of_this_program).
    pub build: u64,
    /// Permissions of the files.
    pub region: RegionOptions,
}

impl Default for TracerOptions {
    fn default() -> Self {
        Self { spans: 1 << 16, build: 0, region: RegionOptions::default() }
    }
}

/// The switches of a thread, for any thread of its process.
#[derive(Clone, Debug)]
pub struct Switches {
    region: Arc<OwnedRegion>,
    /// Sites that have a switch.
    count: usize,
}

/// Writes the spans of one thread. Its process is the only one that writes; other processes read.
#[derive(Debug)]
pub struct Tracer {
    switches: Switches,
    spans: slots::Writer,
    clock: Clock,
    /// The end of the last stage that was stamped.
    last: Stamp,
    /// Sites that have a name.
    named: usize,
}

impl Tracer {
    /// Creates the region of a thread at `path` and the ring of its spans beside it. Everything is
    /// off. Both replace those of a thread that ended.
    pub fn create(
        path: &Path,
        sites: Sites,
        clock: Clock,
        options: &TracerOptions,
    ) -> Result<Self, TraceError> {
        let names = names_of(sites);
        Self::create_with(path, (&names, names.len()), None, clock, options)
    }

    /// The same with the rate and the UTC of another thread of this machine, whose clock has the
    /// same source: both threads then give a stamp the same time.
    pub fn create_beside(
        other: &SpanReader,
        path: &Path,
        sites: Sites,
        clock: Clock,
        options: &TracerOptions,
    ) -> Result<Self, TraceError> {
        let names = names_of(sites);
        Self::create_with(path, (&names, names.len()), Some(other), clock, options)
    }

    /// As [`Tracer::create`], for a program whose sites appear while it runs: see
    /// [`Tracer::add_site`]. There are none yet, and each of up to [`MAX_SITES`] has a switch.
    pub fn create_open(
        path: &Path,
        clock: Clock,
        options: &TracerOptions,
    ) -> Result<Self, TraceError> {
        Self::create_with(path, (&[], MAX_SITES), None, clock, options)
    }

    fn create_with(
        path: &Path,
        (names, count): (&[SiteName], usize),
        other: Option<&SpanReader>,
        clock: Clock,
        options: &TracerOptions,
    ) -> Result<Self, TraceError> {
        // Readers that find no region try again. With the region of an earlier thread they would
        // give its names to the new spans.
        match nanotape_shm::remove(path) {
            Err(error) if *error.refusal() != Refusal::NotFound => return Err(error.into()),
            _ => {}
        }
        let ring = spans_path(path);
        let (spans, _) = slots::Writer::replace(&ring, options.spans, SPAN_BYTES, &options.region)
            .map_err(|error| TraceError::Ring { path: ring, error: Box::new(error) })?;
        let spec = layout::spec(count, options.build, spans.region().share().created_ns());
        let begin = |words: &[Word]| {
            begin(words, names, &clock);
            for place in [TICKS_PER_SECOND, ANCHOR_TICKS, ANCHOR_UTC_NS] {
                if let Some(other) = other {
                    words[place].store(other.region().words()[place].load());
                }
            }
        };
        // The ring comes first: a reader that finds the region finds its ring.
        let (region, _) = OwnedRegion::replace(path, spec, &options.region, begin)?;
        Ok(Self::on(region, (count, names.len()), spans, clock))
    }

    /// A tracer in private memory, for tests and measurements.
    ///
    /// # Panics
    ///
    /// If `spans` is not a power of two from 8 on.
    pub fn on_heap(sites: Sites, clock: Clock, spans: usize) -> Self {
        let names = names_of(sites);
        let region = OwnedRegion::on_heap(layout::spec(names.len(), 0, 0));
        begin(region.words(), &names, &clock);
        let spans = slots::Writer::on_heap(spans, SPAN_BYTES).expect("a power of two of slots");
        Self::on(region, (names.len(), names.len()), spans, clock)
    }

    fn on(
        region: OwnedRegion,
        (count, named): (usize, usize),
        spans: slots::Writer,
        clock: Clock,
    ) -> Self {
        let switches = Switches { region: Arc::new(region), count };
        Self { switches, spans, clock, last: clock.stamp_unfenced(), named }
    }

    /// Names the next site of an [open](Tracer::create_open) thread. Its switch may be on already.
    /// `None`: there is no further one.
    pub fn add_site(&mut self, name: &SiteName) -> Option<Site> {
        let place = self.named;
        let site = Site::at(place).filter(|_| place < self.switches.count)?;
        layout::store_name(self.switches.region.words(), place, name);
        self.named += 1;
        Some(site)
    }

    /// The number of sites that have a name.
    pub fn sites(&self) -> usize {
        self.named
    }

    /// Whether a site records the message with this number.
    #[inline]
    pub fn records(&self, site: Site, number: u64) -> bool {
        switch::records(self.switches.words()[site.index()].load(), number)
    }

    /// The switches, for other threads.
    pub fn switches(&self) -> Switches {
        self.switches.clone()
    }

    /// The region of the thread, such as to check its file.
    pub fn region(&self) -> SharedRegion {
        self.switches.region.share()
    }

    /// Answers requests of other processes to switch the sites; `None` in private memory.
    pub fn answers(&self) -> Option<Answers> {
        Answers::new(self.switches.clone())
    }

    /// The ring of the spans.
    pub fn spans(&self) -> &slots::Writer {
        &self.spans
    }

    /// Spans that were written since the ring was made.
    pub fn written(&self) -> u64 {
        self.spans.next_sequence() - 1
    }

    /// The sites together record messages of one number in so many, a power of two; `None` if all
    /// are off. One load.
    #[inline]
    pub fn rate(&self) -> Option<u64> {
        match self.switches.region.words()[RATE].load() {
            OFF => None,
            code => Rate::of_code(code).and_then(Rate::count),
        }
    }

    /// Whether a site records any message. One load.
    #[inline]
    pub fn is_on(&self, site: Site) -> bool {
        switch::recorded(self.switches.words()[site.index()].load())
            .is_some_and(|rate| rate != Rate::Off)
    }

    /// Records a stage with stamps that were taken for another purpose too, if its site records the
    /// message.
    #[inline(always)]
    pub fn span(&mut self, site: Site, number: u64, value: u64, stamps: Range<Stamp>) {
        if switch::records(self.switches.words()[site.index()].load(), number) {
            self.publish(Span { site, number, value, from: stamps.start, to: stamps.end });
        }
    }

    /// The first stage of the message with this number begins.
    #[inline(always)]
    pub fn begin(&mut self, first: Site, number: u64) {
        if switch::records(self.switches.words()[first.index()].load(), number) {
            self.last = self.clock.stamp_unfenced();
        }
    }

    /// A stage of the message with this number ends, and the next one begins. `value` is for
    /// people: a number of records, a position.
    #[inline(always)]
    pub fn end(&mut self, site: Site, number: u64, value: u64) {
        let word = self.switches.words()[site.index()].load();
        if word != OFF {
            self.record(site, word, number, value);
        }
    }

    #[inline(never)]
    fn record(&mut self, site: Site, word: u64, number: u64, value: u64) {
        if !switch::stamps(word, number) {
            return;
        }
        let now = self.clock.stamp_unfenced();
        let from = std::mem::replace(&mut self.last, now);
        if switch::records(word, number) {
            self.publish(Span { site, number, value, from, to: now });
        }
    }

    #[inline(always)]
    fn publish(&mut self, span: Span) {
        // The ring takes every span: it is as long as its slots.
        let _ = self.spans.publish(span.site.index() as u16, &span.to_bytes());
    }
}

impl Switches {
    /// The number of sites that have a switch.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The region with the switches.
    pub(super) fn region(&self) -> &OwnedRegion {
        &self.region
    }

    /// The rate of each site.
    pub fn rates(&self) -> Vec<Rate> {
        let rate = |word: &Word| switch::recorded(word.load()).unwrap_or(Rate::Off);
        self.words()[..self.count].iter().map(rate).collect()
    }

    /// Sets the rate of each site, in their order; sites without a rate are off. The thread notices
    /// it at its next message. Spans around that moment may begin too early.
    pub fn set(&self, rates: &[Rate]) {
        let count = self.count;
        let mut all = [Rate::Off; super::MAX_SITES];
        all[..count].iter_mut().zip(rates).for_each(|(to, &rate)| *to = rate);
        for (word, value) in self.words().iter().zip(switch::words(&all[..count])) {
            word.store(value);
        }
        let together = all.iter().fold(Rate::Off, |one, &other| one.or(other));
        self.region.words()[RATE].store(together.code());
    }

    #[inline(always)]
    fn words(&self) -> &[Word; super::MAX_SITES] {
        // The region has them: its size is constant.
        self.region.words()[SWITCHES..].first_chunk().expect("a region of traced threads")
    }
}

fn begin(words: &[Word], names: &[SiteName], clock: &Clock) {
    let now = clock.stamp();
    words[TICKS_PER_SECOND].store(clock.rate().ticks_per_second.to_bits());
    words[ANCHOR_TICKS].store(now.ticks());
    words[ANCHOR_UTC_NS].store(u64::try_from(clock.utc(now).get()).unwrap_or(0));
    names.iter().zip(0..).for_each(|(name, place)| layout::store_name(words, place, name));
}

fn names_of(sites: Sites) -> Vec<SiteName> {
    sites.names().iter().map(|name| SiteName::of(name)).collect()
}

/// The path of the ring of a thread's spans.
pub fn spans_path(path: &Path) -> PathBuf {
    beside(path, ".spans")
}
