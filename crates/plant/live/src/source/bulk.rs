//! Many missing messages from a SoupBinTCP server, while re-request servers send a few at a time.
//!
//! Protocol: when enough messages are missing, a thread logs in at the first of them, and passes
//! what the server sends as packets of the session: they are answers as those of a re-request
//! server. Requests for messages that come in this way are not sent. A fetch ends with the last
//! message that was missing when it began, or when none is missing.
//! Bounds: [`QUEUED`] packets wait for the session; then the server waits.
//! Failure: a server that refuses, has another session or other numbers, or sends too few messages
//! in its time gives way to the next one, which goes on where it stopped. After the last one comes
//! a pause, which grows, while requests go on.

use std::{
    ops::Range,
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, TryRecvError, sync_channel},
    },
    time::Duration,
};

use nanotape_clock::Clock;
use nanotape_feed::soupbintcp::{
    FetchError, MESSAGES_IN_TIME, SessionEnd, attended_ns, fetch_messages,
};
use nanotape_types::Alpha;

use super::{
    LiveError,
    snapshots::pause_ns,
    task::{Cancelled, Task},
};
use crate::{ServerAddress, config::BulkSettings};

/// Packets that wait for the session, and those that it takes before it reads its lines again.
const QUEUED: usize = 32;
const BATCH: usize = 2;

/// How long the next packet of a fetch may take before requests are sent again.
const PATIENCE_NS: u64 = 50_000_000;

/// The longest pause after all servers failed.
const MOST_PAUSE_NS: u64 = 10_000_000_000;

/// The SoupBinTCP servers of a session.
#[derive(Debug)]
pub(super) struct Bulk {
    servers: Arc<[ServerAddress]>,
    settings: BulkSettings,
    /// The server that is tried first.
    first: usize,
    /// Fetches in a row that no server could end, and until when none begins.
    fetch_failures: u32,
    paused_to_ns: u64,
    current: Option<Fetch>,
    /// Failures of servers.
    pub(super) failures: u64,
    /// What an operator should read.
    pub(super) news: Vec<String>,
}

#[derive(Debug)]
struct Fetch {
    session: Alpha<10>,
    /// The number of the next message, up to that after the last one.
    numbers: Range<u64>,
    /// When the last packet came; 0 before the first one.
    packet_ns: u64,
    parts: Receiver<Part>,
    _task: Task,
}

/// What the thread passes on. It ends without [`Part::Done`] if no server has the last message.
enum Part {
    /// A packet of the session, and the number of the next message.
    Packet(Vec<u8>, u64),
    /// A server has failed.
    Failed(String),
    /// This server has sent the last message.
    Done(usize),
}

/// A fetch, in its thread.
struct Work {
    session: Alpha<10>,
    numbers: Range<u64>,
    servers: Arc<[ServerAddress]>,
    first: usize,
    settings: BulkSettings,
}

impl Bulk {
    /// Checks that each server has an address.
    pub(super) fn open(
        servers: &[ServerAddress],
        settings: BulkSettings,
    ) -> Result<Self, LiveError> {
        for server in servers {
            let failed = |source| LiveError::Server { server: server.clone(), source };
            server.resolve().map_err(failed)?;
        }
        Ok(Self {
            servers: servers.into(),
            settings,
            first: 0,
            fetch_failures: 0,
            paused_to_ns: 0,
            current: None,
            failures: 0,
            news: Vec::new(),
        })
    }

    /// Begins a fetch if enough messages are missing, `numbers.start` the first of them, unless one
    /// is under way.
    pub(super) fn consider(
        &mut self,
        session: Alpha<10>,
        numbers: Range<u64>,
        missing: u64,
        now_ns: u64,
    ) {
        let is_due = now_ns >= self.paused_to_ns && !numbers.is_empty();
        if self.current.is_none() && is_due && missing >= self.settings.least_messages {
            self.begin(session, numbers);
        }
    }

    /// Whether a request for a message need not be sent, because a fetch brings it. Before the
    /// first packet, and when the next one does not come, requests may be faster.
    pub(super) fn brings(&self, first: u64, now_ns: u64) -> bool {
        self.current.as_ref().is_some_and(|fetch| {
            let patient_to_ns = fetch.packet_ns.saturating_add(PATIENCE_NS);
            fetch.numbers.contains(&first) && now_ns < patient_to_ns
        })
    }

    #[cold]
    fn begin(&mut self, session: Alpha<10>, numbers: Range<u64>) {
        let (sender, parts) = sync_channel(QUEUED);
        let work = Work {
            session,
            numbers: numbers.clone(),
            servers: Arc::clone(&self.servers),
            first: self.first,
            settings: self.settings,
        };
        match Task::start("soupbintcp", move |cancelled| work.run(&sender, cancelled)) {
            Ok(_task) => {
                self.current = Some(Fetch { session, numbers, packet_ns: 0, parts, _task });
            }
            Err(error) => self.news.push(format!("SoupBinTCP: cannot start a thread: {error}")),
        }
    }

    /// Whether a fetch is under way.
    pub(super) fn is_fetching(&self) -> bool {
        self.current.is_some()
    }

    /// Calls `visit` with some of the packets that are there, and returns their number.
    pub(super) fn receive(&mut self, now_ns: u64, mut visit: impl FnMut(&[u8])) -> usize {
        let mut count = 0;
        while count < BATCH
            && let Some(fetch) = &mut self.current
        {
            match fetch.parts.try_recv() {
                Err(TryRecvError::Empty) => break,
                Ok(Part::Packet(bytes, next)) => {
                    (fetch.numbers.start, fetch.packet_ns) = (next, now_ns);
                    count += 1;
                    visit(&bytes);
                }
                Ok(Part::Failed(text)) => {
                    self.failures += 1;
                    self.news.push(text);
                }
                Ok(Part::Done(server)) => {
                    (self.first, self.fetch_failures, self.current) = (server, 0, None);
                }
                Err(TryRecvError::Disconnected) => {
                    self.current = None;
                    self.fetch_failures += 1;
                    let pause_ns = pause_ns(self.fetch_failures, 4 * MOST_PAUSE_NS);
                    self.paused_to_ns = now_ns.saturating_add(pause_ns);
                }
            }
        }
        count
    }

    /// Ends a fetch that is not needed any more: one of another session, or with nothing missing.
    pub(super) fn check(&mut self, session: Option<Alpha<10>>, missing: u64) {
        let is_old = |fetch: &Fetch| missing == 0 || session != Some(fetch.session);
        if self.current.as_ref().is_some_and(is_old) {
            self.current = None;
        }
    }
}

impl Work {
    /// Fetches from one server after the other, until one has sent the last message. What is passed
    /// on has no receiver any more if the fetch is cancelled.
    fn run(mut self, parts: &SyncSender<Part>, cancelled: &Cancelled) {
        for place in 0..self.servers.len() {
            let server = (self.first + place) % self.servers.len();
            let result = self.fetch_from(server, parts, cancelled);
            if cancelled.get() {
                return;
            }
            let is_done = result.is_ok();
            let part = result.map_or_else(Part::Failed, |()| Part::Done(server));
            if parts.send(part).is_err() || is_done {
                return;
            }
        }
    }

    fn fetch_from(
        &mut self,
        server: usize,
        parts: &SyncSender<Part>,
        cancelled: &Cancelled,
    ) -> Result<(), String> {
        let name = &self.servers[server];
        let failed = |why: &dyn core::fmt::Display| format!("SoupBinTCP server {name}: {why}");
        let address = name.resolve().map_err(|error| failed(&error))?;
        let BulkSettings { login, timeout_ns, .. } = self.settings;
        let clock = Clock::monotonic();
        let began = clock.stamp();
        let now_ns = attended_ns(|| clock.nanos_between(began, clock.stamp()));
        let fetched = fetch_messages(
            (address, Duration::from_nanos(timeout_ns)),
            login,
            self.session,
            &mut self.numbers,
            &now_ns,
            |since_ns| cancelled.get() || now_ns().saturating_sub(since_ns) >= timeout_ns,
            |packet, next| drop(parts.send(Part::Packet(packet, next))),
        );
        fetched.map_err(|error| match error {
            FetchError::Session { end: SessionEnd::Cancelled, number } => failed(&format_args!(
                "fewer than {MESSAGES_IN_TIME} messages within {} ms, before message {number}",
                timeout_ns / 1_000_000
            )),
            // Its text has the address.
            FetchError::Session { .. } => format!("SoupBinTCP server {error}"),
            error => failed(&error),
        })
    }
}
