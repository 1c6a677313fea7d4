//! Fetches snapshots in a thread of its own, while the session keeps what the lines bring.
//!
//! Protocol: an attempt tries each server once, first the one that gave the last snapshot. After an
//! attempt without a snapshot the next one pauses first, so that a server has time to come back.
//! Bounds: one attempt at a time; a new one cancels the last. A pause is a quarter of the time for
//! an attempt at most, and the servers share the rest.
//! Failure: a snapshot that is not of this session is a failed attempt.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, SyncSender, TryRecvError, sync_channel},
    },
    time::Duration,
};

use nanotape_clock::Clock;
use nanotape_feed::{
    glimpse::{GlimpseError, fetch_snapshot},
    session::SessionPosition,
    soupbintcp::{ClientOptions, SessionEnd, attended_ns},
};
use nanotape_market::MarketSnapshot;
use nanotape_types::Alpha;

use super::{
    LiveError,
    task::{Cancelled, Task},
};
use crate::ServerAddress;

/// The pause after the first attempt without a snapshot; each further one is twice as long.
const FIRST_PAUSE_NS: u64 = 250_000_000;

/// How long a server may take to accept a connection.
const MOST_CONNECT: Duration = Duration::from_secs(5);

/// How far after the messages that are known a snapshot can be: lines can be silent for a while.
const MOST_AHEAD: u64 = 1 << 20;

/// A snapshot, and its messages if they are kept: each with its length before it.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) snapshot: Box<MarketSnapshot>,
    pub(super) messages: Vec<u8>,
    /// The index of the server.
    server: usize,
}

/// The GLIMPSE servers of a session.
#[derive(Debug)]
pub(super) struct Snapshots {
    servers: Arc<[ServerAddress]>,
    options: ClientOptions,
    /// How long an attempt may take, in ns.
    timeout_ns: u64,
    keeps_messages: bool,
    /// The server that is tried first.
    first: usize,
    /// Attempts in a row without a snapshot.
    failures: u32,
    current: Option<Fetch>,
    /// What an operator should read.
    pub(super) news: Vec<String>,
}

#[derive(Debug)]
struct Fetch {
    session: Alpha<10>,
    /// Failures of servers, and the snapshot as the last one. It ends without a snapshot if no
    /// server has one.
    results: Receiver<Result<Fetched, String>>,
    /// `None` if there is no thread for it.
    _task: Option<Task>,
}

/// An attempt, in its thread.
struct Attempt {
    session: Alpha<10>,
    servers: Arc<[ServerAddress]>,
    first: usize,
    options: ClientOptions,
    pause: Duration,
    /// How long each server may take, in ns.
    share_ns: u64,
    keeps_messages: bool,
}

impl Snapshots {
    /// Checks that each server has an address.
    pub(super) fn open(
        servers: &[ServerAddress],
        options: ClientOptions,
        timeout_ns: u64,
        keeps_messages: bool,
    ) -> Result<Self, LiveError> {
        for server in servers {
            let failed = |source| LiveError::Server { server: server.clone(), source };
            server.resolve().map_err(failed)?;
        }
        let (servers, news) = (servers.into(), Vec::new());
        let (first, failures, current) = (0, 0, None);
        Ok(Self { servers, options, timeout_ns, keeps_messages, first, failures, current, news })
    }

    /// Begins to fetch a snapshot of this session.
    pub(super) fn fetch(&mut self, session: Alpha<10>) {
        if self.current.take().is_some() {
            // The session does not wait any longer for the last attempt.
            self.failures += 1;
        }
        let (sender, results) = sync_channel(self.servers.len());
        let pause_ns = pause_ns(self.failures, self.timeout_ns);
        // The last share ends before the session gives up.
        let time_ns = self.timeout_ns.saturating_sub(pause_ns) / 10 * 9;
        let attempt = Attempt {
            session,
            servers: Arc::clone(&self.servers),
            first: self.first,
            options: self.options,
            pause: Duration::from_nanos(pause_ns),
            share_ns: time_ns / self.servers.len() as u64,
            keeps_messages: self.keeps_messages,
        };
        let task = Task::start("glimpse", move |cancelled| attempt.run(&sender, cancelled));
        if let Err(error) = &task {
            self.news.push(format!("snapshot: cannot start a thread for it: {error}"));
        }
        self.current = Some(Fetch { session, results, _task: task.ok() });
    }

    /// Whether a fetch is under way.
    pub(super) fn is_fetching(&self) -> bool {
        self.current.is_some()
    }

    /// The end of an attempt, once: a snapshot that fits the session, or `None`.
    pub(super) fn result(
        &mut self,
        session: Option<Alpha<10>>,
        position: SessionPosition,
    ) -> Option<Option<Fetched>> {
        let fetch = self.current.as_ref()?;
        let fetched = loop {
            match fetch.results.try_recv() {
                Err(TryRecvError::Empty) => return None,
                Err(TryRecvError::Disconnected) => break None,
                Ok(Err(error)) => self.news.push(format!("snapshot: {error}")),
                Ok(Ok(fetched)) => break Some(fetched),
            }
        };
        let of = fetch.session;
        self.current = None;
        let Some(fetched) = fetched else {
            self.failures += 1;
            return Some(None);
        };
        let (next, known) = (fetched.snapshot.next, position.highest);
        let server = &self.servers[fetched.server];
        let refusal = match session {
            Some(now) if now != of => {
                Some(format!("{server}: it is of session {of}, the lines have session {now} now"))
            }
            _ if next > known.saturating_add(MOST_AHEAD) => Some(format!(
                "{server}: it ends before message {next}, the lines are at message {known}: \
                 expected at most {MOST_AHEAD} more"
            )),
            _ => None,
        };
        if let Some(refusal) = refusal {
            self.news.push(format!("snapshot: {refusal}"));
            self.failures += 1;
            self.first = (fetched.server + 1) % self.servers.len();
            return Some(None);
        }
        (self.failures, self.first) = (0, fetched.server);
        Some(Some(fetched))
    }

    /// The session has no use for the last snapshot. The next attempt pauses, and begins with
    /// another server.
    pub(super) fn refused(&mut self) {
        self.failures += 1;
        self.first = (self.first + 1) % self.servers.len();
    }

    /// The session needs no snapshot any more.
    pub(super) fn cancel(&mut self) {
        self.current = None;
    }
}

/// The pause before an attempt, after so many without a snapshot.
pub(super) fn pause_ns(failures: u32, timeout_ns: u64) -> u64 {
    match failures.checked_sub(1) {
        None => 0,
        Some(doubled) => (FIRST_PAUSE_NS << doubled.min(10)).min(timeout_ns / 4),
    }
}

impl Attempt {
    /// Tries the servers until one gives a snapshot.
    fn run(&self, results: &SyncSender<Result<Fetched, String>>, cancelled: &Cancelled) {
        cancelled.pause(self.pause);
        for place in 0..self.servers.len() {
            if cancelled.get() {
                return;
            }
            let result = self.fetch_from((self.first + place) % self.servers.len(), cancelled);
            let is_last = result.is_ok();
            // An attempt that was cancelled has no receiver any more.
            if results.send(result).is_err() || is_last {
                return;
            }
        }
    }

    fn fetch_from(&self, server: usize, cancelled: &Cancelled) -> Result<Fetched, String> {
        let name = &self.servers[server];
        let address = name.resolve().map_err(|error| format!("{name}: {error}"))?;
        let (mut messages, clock) = (Vec::new(), Clock::monotonic());
        let began = clock.stamp();
        let now_ns = attended_ns(|| clock.nanos_between(began, clock.stamp()));
        let snapshot = fetch_snapshot(
            (address, Duration::from_nanos(self.share_ns).min(MOST_CONNECT)),
            self.options,
            self.session,
            &now_ns,
            || cancelled.get() || now_ns() >= self.share_ns,
            |message| {
                if self.keeps_messages {
                    let length = u16::try_from(message.len()).unwrap_or(u16::MAX);
                    messages.extend_from_slice(&length.to_be_bytes());
                    messages.extend_from_slice(message);
                }
            },
        );
        match snapshot {
            Ok(snapshot) => Ok(Fetched { snapshot: Box::new(snapshot), messages, server }),
            Err(GlimpseError::Session(SessionEnd::Cancelled)) => {
                Err(format!("{name}: no whole snapshot within {} ms", self.share_ns / 1_000_000))
            }
            // Its text has the address.
            Err(GlimpseError::Session(end)) => Err(end.to_string()),
            Err(error) => Err(format!("{name}: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_leave_time_for_the_attempt() {
        let pauses_ms = [0, 1, 2, 3, 99].map(|failures| pause_ns(failures, 30_000_000_000));
        assert_eq!(pauses_ms.map(|ns| ns / 1_000_000), [0, 250, 500, 1_000, 7_500]);
        assert_eq!(pause_ns(9, 1_000_000_000), 250_000_000);
    }
}
