//! A journal for its followers: a listener, and a thread for each follower.
//!
//! Protocol: the listener accepts, and keeps each connection until its hello came. Then the
//! connection gets a thread. A follower that connects again replaces its earlier connection.
//! Bounds: [`MOST_PENDING`] connections without a hello, each for [`ServeOptions::patience`]; the
//! oldest gives way to a new one. [`MOST_FOLLOWERS`](crate::MOST_FOLLOWERS) followers.
//! Failure: a follower that is refused, slow, stopped or gone costs its buffers, and no process
//! waits for it.

use std::{
    collections::BTreeMap,
    io,
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use nanotape_clock::{Clock, UtcNanos};
use nanotape_journal::{Disk as _, Folder, JournalError, REPLICA, Start, Tailer, last_incarnation};
use nanotape_link::{
    Arrival, Connection, Hello, Identity, LinkClocks, Now, Peer, PeerConfig, Role, random,
};
use nanotape_shm::RegionError;
use nanotape_tape::ShutdownFlag;

use crate::{
    FRAME_BYTES, LeaderError, LeaderLink, LeaderOptions, MOST_FOLLOWERS, ReplicasBoard, SERVICE,
    Term, TermEntry, Terms, TermsError,
    pace::{LinkPace, Rate},
    serving::{Serving, Shared},
};

/// Connections without a hello.
pub const MOST_PENDING: usize = 64;

/// Bytes that wait to be sent to a follower.
const OUTGOING_BYTES: usize = 3 * FRAME_BYTES;

/// The time between two reads of the end of the journal.
const BEAT: Duration = Duration::from_millis(100);

/// The pause of the listener when nothing happens.
const NAP: Duration = Duration::from_millis(2);

/// How a journal is served.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The name of the leader.
    pub name: String,
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The certificates; `None`: no TLS, and every process that can connect reads the journal.
    pub identity: Option<Identity>,
    /// Followers that are waited for by commits to all before they connect.
    pub followers: Vec<String>,
    /// Whether commits wait for followers.
    pub commits: bool,
    /// How each thread waits.
    pub pace: LinkPace,
    /// How often each side sends at least something.
    pub heartbeat: Duration,
    /// How long a connection may take until its hello.
    pub patience: Duration,
    /// The mode of files that are created.
    pub mode: u32,
}

/// Why a journal is not served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The journal is a copy.
    #[error(
        "{}: a copy of another journal: serve the leader, or run `nanotape journal promote` first",
        path.display()
    )]
    IsACopy {
        /// The journal.
        path: PathBuf,
    },
    /// More followers are named than a journal can have.
    #[error("--follower: at most {most} followers can be known")]
    TooMany {
        /// The limit.
        most: usize,
    },
    /// Its leaders.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// The region of its followers.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// The address.
    #[error("{address}: cannot listen: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The reason.
        source: io::Error,
    },
    /// A later leader exists.
    #[error(
        "follower {follower} has epoch {epoch}: this leader was replaced. To follow the new one, run \
         `nanotape journal replicate` on this journal"
    )]
    Deposed {
        /// The follower.
        follower: String,
        /// Its epoch.
        epoch: u64,
    },
}

/// What an operator reads.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ServeEvent {
    /// A follower has connected.
    Connected {
        /// Its name.
        follower: String,
        /// Its address.
        address: SocketAddr,
    },
    /// A follower is no longer connected.
    Gone {
        /// Its name.
        follower: String,
        /// The reason.
        reason: String,
    },
    /// A connection got no byte of the journal.
    Refused {
        /// Its address.
        address: SocketAddr,
        /// The reason.
        reason: String,
    },
}

/// A served journal.
#[derive(Debug)]
pub struct Server {
    options: ServeOptions,
    shared: Arc<Shared>,
    listener: TcpListener,
    clock: Clock,
    pending: Vec<Pending>,
    links: BTreeMap<String, Link>,
    events: Receiver<Outcome>,
    sender: Sender<Outcome>,
    end: Option<Tailer>,
}

/// A connection without a hello.
#[derive(Debug)]
struct Pending {
    connection: Connection,
    peer: Peer,
    address: SocketAddr,
    since_ns: u64,
}

/// The thread of a follower.
#[derive(Debug)]
struct Link {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// How a thread ended.
#[derive(Debug)]
struct Outcome {
    follower: String,
    error: LeaderError,
}

impl Server {
    /// Begins to listen. Creates the term of the first leader of a journal.
    pub fn open(journal: &Path, options: ServeOptions) -> Result<Self, ServeError> {
        let disk = Folder::new(journal, options.mode);
        // Before anything is created in a folder that is no journal.
        nanotape_journal::stat(journal)?;
        if disk.path(REPLICA).exists() {
            return Err(ServeError::IsACopy { path: journal.to_owned() });
        }
        let mut terms = Terms::read(&disk)?;
        if terms.entries().is_empty() {
            let (ts, name) = (UtcNanos::now(), options.name.clone());
            let entry = TermEntry { term: terms.next(), from_sequence: 1, ts, name };
            terms.add(&disk, entry)?;
        }
        let board = ReplicasBoard::create(journal, terms.current(), options.mode)?;
        let now_ns = UtcNanos::now().unix_ns();
        for name in &options.followers {
            board.slot(name, now_ns).ok_or(ServeError::TooMany { most: MOST_FOLLOWERS })?;
        }
        let address = options.listen;
        let failed = |source| ServeError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let (sender, events) = channel();
        let shared = Shared {
            journal: journal.to_owned(),
            board,
            term: terms.current(),
            acknowledged: AtomicU64::new(0),
        };
        Ok(Self {
            options,
            shared: Arc::new(shared),
            listener,
            clock: Clock::calibrate(),
            pending: Vec::new(),
            links: BTreeMap::new(),
            events,
            sender,
            end: None,
        })
    }

    /// The address on which it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The term of this leader.
    pub fn term(&self) -> Term {
        self.shared.term
    }

    /// Serves until a shutdown is requested, or a later leader exists.
    pub fn run(
        &mut self,
        shutdown: &ShutdownFlag,
        mut report: impl FnMut(ServeEvent),
    ) -> Result<(), ServeError> {
        let clocks = LinkClocks::new(&self.clock);
        let (mut beat_ns, mut growth) = (0, Growth::default());
        let served = loop {
            if shutdown.is_requested() {
                break Ok(());
            }
            let now = clocks.now();
            let mut has_worked = self.accept(now, &mut report);
            has_worked |= self.advance(now, &mut report);
            if let Err(error) = self.collect(&mut report) {
                break Err(error);
            }
            if now.monotonic_ns >= beat_ns {
                beat_ns = now.monotonic_ns + BEAT.as_nanos() as u64;
                self.beat(now, &mut growth);
                // Commits of other processes need the region under its name.
                if let Err(error) = self.shared.board.check() {
                    break Err(error.into());
                }
            }
            if !has_worked {
                thread::sleep(NAP);
            }
        };
        self.end(&mut report);
        served
    }

    fn accept(&mut self, now: Now, report: &mut impl FnMut(ServeEvent)) -> bool {
        let Ok((stream, address)) = self.listener.accept() else { return false };
        let connection = match Connection::accepted(stream, self.options.identity.as_ref()) {
            Ok(connection) => connection,
            Err(error) => {
                self.refuse(address, error.to_string(), report);
                return true;
            }
        };
        if self.pending.len() >= MOST_PENDING {
            let oldest = self.pending.remove(0);
            let reason = format!("no hello, and {MOST_PENDING} more connections wait");
            self.refuse(oldest.address, reason, report);
        }
        let hello = Hello {
            service: SERVICE,
            session: self.shared.term.leader,
            epoch: self.shared.term.epoch,
            nonce: random(),
            heartbeat_ns: self.options.heartbeat.as_nanos() as u64,
            most_payload: FRAME_BYTES as u32,
            name: self.options.name.clone(),
        };
        let patience = self.options.patience;
        let config = PeerConfig { hello, patience, outgoing_bytes: OUTGOING_BYTES };
        let peer = Peer::new(Role::Accepting, config, now);
        let since_ns = now.monotonic_ns;
        self.pending.push(Pending { connection, peer, address, since_ns });
        true
    }

    fn refuse(&self, address: SocketAddr, reason: String, report: &mut impl FnMut(ServeEvent)) {
        self.shared.board.refuse();
        report(ServeEvent::Refused { address, reason });
    }

    /// Goes on with the connections without a hello.
    fn advance(&mut self, now: Now, report: &mut impl FnMut(ServeEvent)) -> bool {
        let mut has_worked = false;
        let mut index = 0;
        while index < self.pending.len() {
            let Pending { connection, peer, since_ns, .. } = &mut self.pending[index];
            let patience_ns = self.options.patience.as_nanos() as u64;
            let is_late = now.monotonic_ns.saturating_sub(*since_ns) >= patience_ns;
            let exchanged = connection.exchange(peer, now);
            has_worked |= exchanged.as_ref().is_ok_and(|moved| moved.received > 0);
            let opened = match exchanged {
                Err(error) => Err(error.to_string()),
                Ok(_) => match peer.next(now) {
                    Ok(Arrival::Open(hello)) => Ok(Some(hello.name.clone())),
                    Ok(_) => Ok(None),
                    Err(error) => {
                        peer.close(&error.to_string());
                        let _ = connection.exchange(peer, now);
                        Err(error.to_string())
                    }
                },
            };
            match opened {
                Err(reason) => {
                    let pending = self.pending.remove(index);
                    self.refuse(pending.address, reason, report);
                }
                Ok(Some(name)) => {
                    let pending = self.pending.remove(index);
                    self.open_link(pending, name, now, report);
                }
                Ok(_) if is_late => {
                    let mut pending = self.pending.remove(index);
                    let waited = self.options.patience.as_millis();
                    let reason = format!("no hello within {waited} ms");
                    pending.peer.close(&reason);
                    let _ = pending.connection.exchange(&mut pending.peer, now);
                    self.refuse(pending.address, reason, report);
                }
                Ok(_) => index += 1,
            }
        }
        has_worked
    }

    /// Starts the thread of a follower whose hello came.
    fn open_link(
        &mut self,
        pending: Pending,
        name: String,
        now: Now,
        report: &mut impl FnMut(ServeEvent),
    ) {
        let Pending { mut connection, mut peer, address, .. } = pending;
        if !connection.is_of(&name) {
            let reason = format!("its certificate is not for the name `{name}`");
            peer.close(&reason);
            let _ = connection.exchange(&mut peer, now);
            return self.refuse(address, reason, report);
        }
        if let Some(earlier) = self.links.remove(&name) {
            earlier.ends.store(true, Ordering::Release);
            let _ = earlier.thread.join();
        }
        let Some(slot) = self.shared.board.slot(&name, now.utc_ns) else {
            let reason = format!("{} followers are known already", crate::MOST_FOLLOWERS);
            peer.close(&reason);
            let _ = connection.exchange(&mut peer, now);
            return self.refuse(address, reason, report);
        };
        let disk = Folder::new(&self.shared.journal, self.options.mode);
        let poll = match self.options.pace {
            LinkPace::Sleep(most) => most,
            LinkPace::Spin | LinkPace::Yield => Duration::ZERO,
        };
        let options = LeaderOptions { commits: self.options.commits, poll };
        let serving = Serving {
            link: LeaderLink::new(disk, peer, options),
            connection,
            slot,
            pace: self.options.pace,
            shared: Arc::clone(&self.shared),
            ends: Arc::default(),
        };
        let ends = Arc::clone(&serving.ends);
        let (sender, clock) = (self.sender.clone(), self.clock);
        let follower = name.clone();
        let work = move || {
            let error = serving.run(&clock);
            // The server ends only after its threads.
            let _ = sender.send(Outcome { follower, error });
        };
        let started = thread::Builder::new().name(format!("to-{name}")).spawn(work);
        match started {
            Ok(thread) => {
                self.links.insert(name.clone(), Link { ends, thread });
                report(ServeEvent::Connected { follower: name, address });
            }
            Err(error) => self.refuse(address, error.to_string(), report),
        }
    }

    /// Reports the threads that ended.
    fn collect(&mut self, report: &mut impl FnMut(ServeEvent)) -> Result<(), ServeError> {
        while let Ok(Outcome { follower, error }) = self.events.try_recv() {
            let reason = error.to_string();
            if self.links.get(&follower).is_some_and(|link| link.thread.is_finished()) {
                self.links.remove(&follower);
            }
            report(ServeEvent::Gone { follower: follower.clone(), reason });
            if let LeaderError::Deposed { found: epoch, .. } = error {
                self.shared.board.depose(epoch);
                return Err(ServeError::Deposed { follower, epoch });
            }
        }
        Ok(())
    }

    /// Stores what is known of the journal itself.
    fn beat(&mut self, now: Now, growth: &mut Growth) {
        let disk = Folder::new(&self.shared.journal, self.options.mode);
        let board = &self.shared.board;
        if let Ok(Some(incarnation)) = last_incarnation(&disk) {
            let acknowledged = board.acknowledged(incarnation);
            self.shared.acknowledged.store(acknowledged, Ordering::Release);
        }
        if self.end.is_none() {
            self.end = Tailer::open(&self.shared.journal, Start::Newest).ok();
        }
        let Some(end) = &mut self.end else { return };
        // An error, such as of a journal that is being repaired, is not one of serving it.
        let is_there = end.seek(Start::Newest).is_ok();
        if !is_there {
            self.end = None;
            return;
        }
        let bytes = growth.bytes_at(end.position());
        board.beat(now.utc_ns, end.next_sequence(), growth.rate.at(now.monotonic_ns, bytes));
    }

    fn end(&mut self, report: &mut impl FnMut(ServeEvent)) {
        for link in self.links.values() {
            link.ends.store(true, Ordering::Release);
        }
        for (_, link) in std::mem::take(&mut self.links) {
            let _ = link.thread.join();
        }
        let _ = self.collect(report);
    }
}

/// How much a journal has grown, as the end of its last segment shows.
#[derive(Debug, Default)]
struct Growth {
    end: (u64, u64),
    bytes: u64,
    rate: Rate,
}

impl Growth {
    /// The bytes since the first call, at least.
    fn bytes_at(&mut self, end: (u64, u64)) -> u64 {
        let before = std::mem::replace(&mut self.end, end);
        if before.0 > 0 {
            let from = if before.0 == end.0 { before.1 } else { 0 };
            self.bytes += end.1.saturating_sub(from);
        }
        self.bytes
    }
}
