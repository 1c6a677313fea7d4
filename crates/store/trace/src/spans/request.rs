//! Switches the sites of a thread in another process.
//!
//! Where: `nanotape trace on` sends; a thread of the traced process polls for requests, such as the
//! watch of a plant.
//! Protocol: a region has one writer, so the requesting process writes a region of its own beside
//! that of the thread (`docs/formats/spans.md`). The traced process finds it, checks it, stores the
//! switches and then its answer in the region of the thread. The requesting process waits for that.
//! Failure: a request of another user, another build or for an earlier process is refused, by both
//! sides.
//! Cost: one system call of the traced process for each poll that finds no request.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use nanotape_shm::{
    OwnedRegion, Owner, OwnerState, Refusal, RegionError, RegionOptions, RegionSpec, SharedRegion,
    Word, beside, field,
};

use super::{
    build::build_of_this_program,
    layout::{self, ANSWER},
    reader::SpanReader,
    sites::MAX_SITES,
    switch::Rate,
    tracer::Switches,
};

/// The kind of region.
pub const KIND: [u8; 8] = *b"TRACEASK";

/// Changes whenever the meaning of a word changes.
pub const LAYOUT: u64 = u64::from_be_bytes(*b"asking 1");

// Parameters in the header.
/// Creation time of the region of the thread.
const CREATED_NS: usize = 0;
/// The build of the requesting program.
const BUILD: usize = 1;

/// A rate for each site.
const RATES: usize = 0;
const WORDS: usize = RATES + MAX_SITES;

/// Offset and size in bytes and the name of each field.
pub const FIELDS: [(usize, usize, &str); 1] = [field(RATES, MAX_SITES, "rates")];

/// How long a request waits for its answer: so many checks, and the time between two of them. A
/// plant polls for requests four times a second.
const CHECKS: u32 = 1000;
const BETWEEN: Duration = Duration::from_millis(5);

/// Why the sites of a thread cannot be switched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The process of the thread ended.
    #[error("{}: process {pid} has ended, so its sites cannot be switched", path.display())]
    Ended {
        /// The region of the thread.
        path: PathBuf,
        /// The process.
        pid: u32,
    },
    /// The process runs another program, or another build of this one.
    #[error(
        "{}: process {pid} runs another build of this program: use the program that it runs, \
         /proc/{pid}/exe",
        path.display()
    )]
    OtherBuild {
        /// The region of the thread.
        path: PathBuf,
        /// The process.
        pid: u32,
    },
    /// The process belongs to another user.
    #[error(
        "{}: process {pid} belongs to user {owner}, and answers only that user: run this command as \
         that user",
        path.display()
    )]
    OtherUser {
        /// The region of the thread.
        path: PathBuf,
        /// The process.
        pid: u32,
        /// Its user.
        owner: u32,
    },
    /// Another process has a request.
    #[error("{}: process {requester} is switching its sites just now: try again", path.display())]
    Busy {
        /// The region of the thread.
        path: PathBuf,
        /// The requesting process.
        requester: u32,
    },
    /// The process did not answer.
    #[error(
        "{}: process {pid} has not answered within {} s: is it stopped?",
        path.display(),
        (BETWEEN * CHECKS).as_secs()
    )]
    NoAnswer {
        /// The region of the thread.
        path: PathBuf,
        /// The process.
        pid: u32,
    },
    /// The process refused the request.
    #[error("{}: process {pid} refused the request", path.display())]
    Refused {
        /// The region of the thread.
        path: PathBuf,
        /// The process.
        pid: u32,
    },
    /// The request cannot be written, or the files not examined.
    #[error(transparent)]
    Region(#[from] RegionError),
}

/// A request to switch the sites of a thread. Dropping it withdraws it.
#[derive(Debug)]
pub struct Request {
    traced: SharedRegion,
    path: PathBuf,
    region: OwnedRegion,
    request: PathBuf,
}

impl Request {
    /// Requests that the process of a thread switches its sites to these rates, in their order.
    pub fn send(thread: &SpanReader, rates: &[Rate]) -> Result<Self, RequestError> {
        let traced = thread.region().clone();
        let path = traced.path().unwrap_or(Path::new("memory")).to_owned();
        let Owner { pid, state, .. } = traced.owner();
        if state != OwnerState::Alive {
            return Err(RequestError::Ended { path, pid });
        }
        let user = |file: &Path| fs::metadata(file).map(|file| file.uid());
        // The folder of a process belongs to its effective user.
        if let (Ok(owner), Ok(this)) = (user(&path), user(Path::new("/proc/self")))
            && owner != this
        {
            return Err(RequestError::OtherUser { path, pid, owner });
        }
        // A program without a number takes requests of any build: names are in its region.
        let build = if thread.build() == 0 { 0 } else { build_of_this_program() };
        if thread.build() != build {
            return Err(RequestError::OtherBuild { path, pid });
        }
        let mut parameters = [0; 4];
        parameters[CREATED_NS] = traced.created_ns();
        parameters[BUILD] = build;
        let spec = RegionSpec { kind: KIND, layout: LAYOUT, parameters, words: WORDS };
        let request = request_path(&path);
        let begin = |words: &[Word]| {
            for (word, rate) in words[RATES..].iter().zip(rates) {
                word.store(rate.code());
            }
        };
        let made = OwnedRegion::replace(&request, spec, &RegionOptions::default(), begin);
        let (region, _) = made.map_err(|error| match *error.refusal() {
            Refusal::OwnerAlive { pid: requester, .. } => {
                RequestError::Busy { path: path.clone(), requester }
            }
            _ => RequestError::Region(error),
        })?;
        Ok(Self { traced, path, region, request })
    }

    /// Waits until the process has switched its sites.
    pub fn wait(self) -> Result<(), RequestError> {
        let id = self.region.share().created_ns();
        let path = self.path.clone();
        for _ in 0..CHECKS {
            let Owner { pid, state, .. } = self.traced.owner();
            match self.traced.words()[ANSWER].load() {
                answer if answer == done(id) => return Ok(()),
                answer if answer == refused(id) => return Err(RequestError::Refused { path, pid }),
                _ if state != OwnerState::Alive => return Err(RequestError::Ended { path, pid }),
                _ => thread::sleep(BETWEEN),
            }
        }
        Err(RequestError::NoAnswer { path, pid: self.traced.owner().pid })
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        // If the file stays, its owner is gone, and it is no request any more.
        let _ = fs::remove_file(&self.request);
    }
}

/// Answers the requests to a thread, in any thread of its process.
#[derive(Debug)]
pub struct Answers {
    switches: Switches,
    path: PathBuf,
    request: PathBuf,
    /// The last request that was answered.
    answered: u64,
}

impl Answers {
    /// `None` in private memory.
    pub(super) fn new(switches: Switches) -> Option<Self> {
        let path = switches.region().path()?.to_owned();
        let request = request_path(&path);
        Some(Self { switches, path, request, answered: 0 })
    }

    /// Answers a request, if there is one.
    pub fn poll(&mut self) {
        // Most often there is no such file.
        let Ok(region) = SharedRegion::open_as(&self.request, KIND, LAYOUT, WORDS) else { return };
        let id = region.created_ns();
        if id == self.answered || region.owner().state != OwnerState::Alive {
            return;
        }
        let parameters = region.spec().parameters;
        let here = self.switches.region();
        // One to an earlier process of this path is withdrawn by its owner.
        if parameters[CREATED_NS] != here.share().created_ns() {
            return;
        }
        let is_good =
            self.is_of_this_user() && parameters[BUILD] == here.spec().parameters[layout::BUILD];
        let rates = is_good.then(|| rates(&region)).flatten();
        if let Some(rates) = &rates {
            self.switches.set(rates);
        }
        self.answered = id;
        here.words()[ANSWER].store(if rates.is_some() { done(id) } else { refused(id) });
    }

    fn is_of_this_user(&self) -> bool {
        let user = |path: &Path| -> io::Result<u32> { Ok(fs::metadata(path)?.uid()) };
        matches!((user(&self.request), user(&self.path)), (Ok(from), Ok(owner)) if from == owner)
    }
}

/// The rates of a request; `None` if it has others than a request has.
fn rates(region: &SharedRegion) -> Option<Vec<Rate>> {
    region.words()[RATES..][..MAX_SITES].iter().map(|word| Rate::of_code(word.load())).collect()
}

/// The answers to the request that was created at a time, in one word.
fn done(created_ns: u64) -> u64 {
    created_ns
}
fn refused(created_ns: u64) -> u64 {
    !created_ns
}

fn request_path(path: &Path) -> PathBuf {
    beside(path, ".request")
}

#[cfg(test)]
mod tests {
    use nanotape_clock::Clock;
    use nanotape_harness::Scratch;

    use super::*;
    use crate::spans::{Sites, Tracer, TracerOptions};

    const SITES: Sites = Sites::new(&["work.parse", "work.store"]);

    /// Writes a request with these parameters and rate codes, and lets the process poll for it.
    fn answer(
        tracer: &Tracer,
        parameters: [u64; 4],
        codes: [u64; 2],
        kind: [u8; 8],
    ) -> Option<bool> {
        let path = tracer.region().path().unwrap().to_owned();
        let spec = RegionSpec { kind, layout: LAYOUT, parameters, words: WORDS };
        let begin = |words: &[Word]| {
            words.iter().zip(codes).for_each(|(word, code)| word.store(code));
        };
        let made =
            OwnedRegion::replace(&request_path(&path), spec, &RegionOptions::default(), begin);
        let id = made.unwrap().0.share();
        // The region above is closed, and no request.
        tracer.answers().unwrap().poll();
        assert_eq!(tracer.region().words()[ANSWER].load(), 0);
        let made =
            OwnedRegion::replace(&request_path(&path), spec, &RegionOptions::default(), begin);
        let (region, _) = made.unwrap();
        assert_ne!(region.share().created_ns(), id.created_ns());
        tracer.answers().unwrap().poll();
        let id = region.share().created_ns();
        match tracer.region().words()[ANSWER].load() {
            0 => None,
            answer if answer == done(id) => Some(true),
            answer if answer == refused(id) => Some(false),
            other => panic!("answer {other}"),
        }
    }

    #[test]
    fn a_request_is_done_as_a_whole_or_not_at_all() {
        let off = [Rate::Off; 2];
        for (build, wrong_region, codes, kind, expected) in [
            (7, 0, [1, 5], KIND, Some(true)),
            (8, 0, [1, 5], KIND, Some(false)),
            (7, 1, [1, 5], KIND, None),
            (7, 0, [1, 99], KIND, Some(false)),
            (7, 0, [1, 5], *b"TRACED  ", None),
        ] {
            let scratch = Scratch::new("thread");
            let options = TracerOptions { build: 7, spans: 8, ..TracerOptions::default() };
            let tracer =
                Tracer::create(scratch.path(), SITES, Clock::monotonic(), &options).unwrap();
            let created_ns = tracer.region().created_ns() + wrong_region;
            let answered = answer(&tracer, [created_ns, build, 0, 0], codes, kind);
            assert_eq!(answered, expected, "{build} {wrong_region} {codes:?}");
            let rates = [Rate::ALL, Rate::one_in(16).unwrap()];
            let expected = if answered == Some(true) { rates } else { off };
            assert_eq!(tracer.switches().rates(), expected);
        }
        assert!(Tracer::on_heap(SITES, Clock::monotonic(), 8).answers().is_none());
    }
}
