//! What all threads of a layer share: the names of sites, the spans that exist, and the thread that
//! answers requests to switch sites.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use nanotape_clock::Clock;
use nanotape_shm::beside;
use nanotape_trace::spans::{Answers, MAX_SITES, SiteName, TraceError, Tracer, TracerOptions};

use super::{LeftOut, SpanLayerOptions, open::Open, thread_names::ThreadNames};

/// The first number of spans that have none.
const OWN_NUMBERS: u64 = 1 << 63;

/// How often requests are answered: within the quarter of a second that a command expects.
const ANSWER_EVERY: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Shared {
    /// Differs between the layers of a process.
    pub(super) number: u64,
    pub(super) clock: Clock,
    pub(super) open: Open,
    path: PathBuf,
    options: SpanLayerOptions,
    next_number: AtomicU64,
    threads_left_out: AtomicU64,
    names_left_out: AtomicU64,
    open_left_out: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The names of the sites of all threads, in the order in which they appeared.
    sites: Vec<SiteName>,
    threads: ThreadNames,
    /// By the name of the thread.
    answers: Vec<(String, Answers)>,
}

impl Shared {
    /// Starts the thread that answers requests, which ends with the last reference.
    pub(super) fn start(path: PathBuf, clock: Clock, options: SpanLayerOptions) -> Arc<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let shared = Arc::new(Self {
            number: NUMBER.fetch_add(1, Relaxed),
            clock,
            open: Open::new(),
            path,
            options,
            next_number: AtomicU64::new(OWN_NUMBERS),
            threads_left_out: AtomicU64::new(0),
            names_left_out: AtomicU64::new(0),
            open_left_out: AtomicU64::new(0),
            state: Mutex::default(),
        });
        let answering = Arc::downgrade(&shared);
        let answer = move || {
            while let Some(shared) = answering.upgrade() {
                shared.state().answers.iter_mut().for_each(|(_, answers)| answers.poll());
                drop(shared);
                std::thread::sleep(ANSWER_EVERY);
            }
        };
        // Without the thread the sites stay as they are, which commands report.
        let _ = std::thread::Builder::new().name("span-switches".to_owned()).spawn(answer);
        shared
    }

    /// The files of this thread; `None`: it is counted as left out.
    #[cold]
    pub(super) fn trace_this_thread(&self) -> Option<(String, Tracer)> {
        let mut state = self.state();
        let made = (state.threads.count() < self.options.threads).then(|| {
            let name = state.threads.take(std::thread::current().name());
            let tracer = self.tracer(&name);
            match tracer {
                Ok(tracer) => {
                    let answers = tracer.answers();
                    state.answers.extend(answers.map(|answers| (name.clone(), answers)));
                    Some((name, tracer))
                }
                Err(_) => {
                    state.threads.give_back(&name);
                    None
                }
            }
        });
        if !matches!(made, Some(Some(_))) {
            self.threads_left_out.fetch_add(1, Relaxed);
        }
        made.flatten()
    }

    fn tracer(&self, name: &str) -> Result<Tracer, TraceError> {
        let path = beside(&self.path, &format!(".trace.{name}"));
        let SpanLayerOptions { spans, region, .. } = &self.options;
        let options = TracerOptions { spans: *spans, build: 0, region: region.clone() };
        Tracer::create_open(&path, self.clock, &options)
    }

    /// The thread of this name has ended.
    pub(super) fn end_thread(&self, name: &str) {
        let mut state = self.state();
        state.answers.retain(|(other, _)| other != name);
        state.threads.give_back(name);
    }

    /// The place of the site of a name, and the names up to it that a tracer lacks are added.
    #[cold]
    pub(super) fn site(&self, name: &str, tracer: &mut Tracer) -> Option<usize> {
        let name = SiteName::like(name)?;
        let sites = &mut self.state().sites;
        let place = sites.iter().position(|site| *site == name).or_else(|| {
            let is_room = sites.len() < MAX_SITES;
            is_room.then(|| sites.push(name)).map(|()| sites.len() - 1)
        })?;
        while tracer.sites() <= place {
            tracer.add_site(&sites[tracer.sites()])?;
        }
        Some(place)
    }

    /// The names that a tracer lacks up to a place are added.
    #[cold]
    pub(super) fn name_up_to(&self, place: usize, tracer: &mut Tracer) {
        let sites = &self.state().sites;
        while tracer.sites() <= place {
            let added = sites.get(tracer.sites()).and_then(|name| tracer.add_site(name));
            if added.is_none() {
                return;
            }
        }
    }

    /// A number of a span that has none.
    #[inline]
    pub(super) fn next_number(&self) -> u64 {
        self.next_number.fetch_add(1, Relaxed) | OWN_NUMBERS
    }

    #[cold]
    pub(super) fn leave_out_name(&self) {
        self.names_left_out.fetch_add(1, Relaxed);
    }

    #[cold]
    pub(super) fn leave_out_open(&self) {
        self.open_left_out.fetch_add(1, Relaxed);
    }

    pub(super) fn left_out(&self) -> LeftOut {
        LeftOut {
            threads: self.threads_left_out.load(Relaxed),
            names: self.names_left_out.load(Relaxed),
            open: self.open_left_out.load(Relaxed),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
