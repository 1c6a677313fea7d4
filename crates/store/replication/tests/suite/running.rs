//! Leaders and followers in threads, for the tests.

use std::{
    net::SocketAddr,
    path::Path,
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::Duration,
};

use nanotape_harness::eventually;
use nanotape_journal::{Appender, AppenderOptions, Reused, Start, Tail, Tailer};
use nanotape_link::{CertificateOptions, Identity, make_certificates};
use nanotape_replication::{
    LinkPace, ReplicateError, ReplicateEvent, ReplicateOptions, Replication, ServeError,
    ServeEvent, ServeOptions, Server,
};
use nanotape_tape::ShutdownFlag;

pub(crate) const MODE: u32 = 0o600;

pub(crate) fn options() -> AppenderOptions {
    AppenderOptions { segment_bytes: 1 << 16, has_pretoucher: false, ..AppenderOptions::default() }
}

/// Appends excerpts of any lengths, each with its number in it.
pub(crate) fn append(appender: &mut Appender, count: u64) {
    for _ in 0..count {
        let number = appender.next_sequence();
        let payload = nanotape_harness::bytes_of(number, (number * 37 % 400) as usize);
        appender.append(1, number, &payload).unwrap();
    }
}

/// The numbers and payloads of a journal.
pub(crate) fn contents(journal: &Path) -> Vec<(u64, Vec<u8>)> {
    let Ok(mut tailer) = Tailer::open(journal, Start::Oldest) else { return Vec::new() };
    let mut contents: Vec<(u64, Vec<u8>)> = Vec::new();
    loop {
        match tailer.next().unwrap() {
            Tail::Excerpt(excerpt) => contents.push((excerpt.sequence(), excerpt.to_vec())),
            // A follower sets these aside while the test reads.
            Tail::Reused(Reused { from, .. }) => contents.retain(|&(number, _)| number < from),
            Tail::Nothing => return contents,
            other => panic!("{other:?}"),
        }
    }
}

/// Waits until a copy has the contents of its leader.
pub(crate) fn wait_until_equal(leader: &Path, copy: &Path) {
    eventually("the copy has all excerpts", || contents(leader) == contents(copy));
}

pub(crate) fn serve_options() -> ServeOptions {
    ServeOptions {
        name: "leader".to_owned(),
        listen: "127.0.0.1:0".parse().unwrap(),
        identity: None,
        followers: Vec::new(),
        commits: false,
        pace: LinkPace::Sleep(Duration::from_millis(1)),
        heartbeat: Duration::from_millis(100),
        patience: Duration::from_secs(5),
        mode: MODE,
    }
}

pub(crate) fn replicate_options(address: SocketAddr) -> ReplicateOptions {
    ReplicateOptions {
        name: "follower".to_owned(),
        address: address.to_string(),
        leader: "leader".to_owned(),
        identity: None,
        syncs: false,
        keeps_times: false,
        sets_aside: false,
        compares_all: false,
        pace: LinkPace::Sleep(Duration::from_millis(1)),
        heartbeat: Duration::from_millis(100),
        patience: Duration::from_secs(5),
        mode: MODE,
    }
}

/// Certificates of these sides, in a folder.
pub(crate) fn certificates(folder: &Path, names: &[&str]) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let options = CertificateOptions { years: (2020, 2120), replaces: false };
    make_certificates(folder, &names, options).unwrap();
}

pub(crate) fn identity(folder: &Path, name: &str) -> Option<Identity> {
    Some(Identity::read(folder, name).unwrap())
}

/// A leader that runs in a thread.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) events: Arc<Mutex<Vec<ServeEvent>>>,
    stop: ShutdownFlag,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

impl Served {
    pub(crate) fn start(journal: &Path, options: ServeOptions) -> Self {
        let mut server = Server::open(journal, options).unwrap();
        let (stop, events) = (ShutdownFlag::new(), Arc::<Mutex<Vec<_>>>::default());
        let address = server.address().unwrap();
        let (stops, reported) = (stop.clone(), Arc::clone(&events));
        let thread = std::thread::spawn(move || {
            server.run(&stops, |event| reported.lock().unwrap().push(event))
        });
        Self { address, events, stop, thread: Some(thread) }
    }

    pub(crate) fn end(mut self) -> Result<(), ServeError> {
        self.stop.request();
        self.thread.take().unwrap().join().unwrap()
    }

    /// Waits until it has ended by itself.
    pub(crate) fn ended(mut self) -> Result<(), ServeError> {
        self.thread.take().unwrap().join().unwrap()
    }

    /// How many connections were refused for a reason with these words.
    pub(crate) fn refused(&self, words: &str) -> usize {
        let is_one = |event: &&ServeEvent| matches!(event, ServeEvent::Refused { reason, .. } if reason.contains(words));
        self.events.lock().unwrap().iter().filter(is_one).count()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.request();
    }
}

/// A follower that runs in a thread.
pub(crate) struct Followed {
    pub(crate) events: Arc<Mutex<Vec<ReplicateEvent>>>,
    stop: ShutdownFlag,
    thread: Option<JoinHandle<Result<(), ReplicateError>>>,
}

impl Followed {
    pub(crate) fn start(copy: &Path, options: ReplicateOptions) -> Self {
        let mut replication = Replication::open(copy, options).unwrap();
        let (stop, events) = (ShutdownFlag::new(), Arc::<Mutex<Vec<_>>>::default());
        let (stops, reported) = (stop.clone(), Arc::clone(&events));
        let thread = std::thread::spawn(move || {
            replication.run(&stops, |event| {
                if !matches!(event, ReplicateEvent::Progress { .. }) {
                    reported.lock().unwrap().push(event);
                }
            })
        });
        Self { events, stop, thread: Some(thread) }
    }

    pub(crate) fn end(mut self) -> Result<(), ReplicateError> {
        self.stop.request();
        self.thread.take().unwrap().join().unwrap()
    }

    /// Waits until it has ended by itself; returns why.
    pub(crate) fn ended(mut self) -> String {
        self.thread.take().unwrap().join().unwrap().unwrap_err().to_string()
    }

    /// Whether a break was reported with these words.
    pub(crate) fn was_broken(&self, words: &str) -> bool {
        let is_one = |event: &ReplicateEvent| matches!(event, ReplicateEvent::Broken { reason, .. } if reason.contains(words));
        self.events.lock().unwrap().iter().any(is_one)
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.stop.request();
    }
}
