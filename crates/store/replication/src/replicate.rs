//! A copy of a journal that is on another machine: connects, follows, and connects again.
//!
//! Protocol: each break is followed by a pause, which grows up to [`MOST_PAUSE`], and by a new
//! connection that continues behind the last good excerpt.
//! Failure: what only an operator can settle ends it: a leader that refuses the copy, one that was
//! replaced, a copy that is ahead. All else is tried again.

use std::{
    io,
    net::{SocketAddr, ToSocketAddrs as _},
    path::{Path, PathBuf},
    time::Duration,
};

use nanotape_clock::{Clock, UtcNanos};
use nanotape_journal::{Folder, JournalError, LEADER, Quarantined, Replica};
use nanotape_link::{
    Connection, Exchanged, Hello, Identity, LinkClocks, Peer, PeerConfig, Role, random,
};
use nanotape_shm::{OwnedRegion, RegionError, RegionOptions, RegionSpec, SharedRegion};
use nanotape_tape::ShutdownFlag;

use crate::{
    ArrivedGroup, FRAME_BYTES, FollowError, FollowOptions, Followed, FollowerLink, LeaderStatus,
    ReplicasReader, SERVICE, Term, TermEntry, Terms, TermsError, pace::LinkPace,
};

/// The longest pause between two attempts to connect.
pub const MOST_PAUSE: Duration = Duration::from_secs(2);

/// The first pause.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The time between two stores of what is known of the leader.
const UPDATE_NS: u64 = 20_000_000;

/// The kind of the region `leader`.
pub const LEADER_KIND: [u8; 8] = *b"LEADER  ";

/// Changes whenever the meaning of any of its words changes.
pub const LEADER_LAYOUT: u64 = u64::from_be_bytes(*b"leader 1");

const SPEC: RegionSpec =
    RegionSpec { kind: LEADER_KIND, layout: LEADER_LAYOUT, parameters: [0; 4], words: 8 };

/// How a journal is replicated.
#[derive(Clone, Debug)]
pub struct ReplicateOptions {
    /// The name of this follower.
    pub name: String,
    /// The address of the leader: a host and a port.
    pub address: String,
    /// The name of the leader, for its certificate.
    pub leader: String,
    /// The certificates; `None`: no TLS.
    pub identity: Option<Identity>,
    /// Whether each group of excerpts is synced to disk before it is acknowledged.
    pub syncs: bool,
    /// Whether excerpts that the leader does not have are set aside, for whatever reason.
    pub sets_aside: bool,
    /// Whether the contents of all segments are compared with those of the leader at first.
    pub compares_all: bool,
    /// Whether each group of excerpts is a [`ReplicateEvent::Arrived`].
    pub keeps_times: bool,
    /// How the thread waits.
    pub pace: LinkPace,
    /// How often each side sends at least something.
    pub heartbeat: Duration,
    /// How long a connection may take until its hello.
    pub patience: Duration,
    /// The mode of files that are created.
    pub mode: u32,
}

/// What an operator reads.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReplicateEvent {
    /// The copy follows a leader.
    Follows {
        /// The address of the leader.
        address: SocketAddr,
        /// Its term.
        term: Term,
        /// The next number of the copy; `None` if it has nothing, so that it begins with the oldest
        /// excerpt of the leader.
        next_sequence: Option<u64>,
    },
    /// The connection ended, or there was none.
    Broken {
        /// The reason.
        reason: String,
        /// The pause until the next attempt.
        pause: Duration,
    },
    /// The copy cannot go on for a reason that an operator can remove.
    Troubled {
        /// The reason.
        reason: String,
    },
    /// The copy goes on.
    GoesOn,
    /// What the leader does not have was moved out of the copy.
    SetAside {
        /// The files with it.
        files: Vec<Quarantined>,
    },
    /// Excerpts arrived.
    Arrived(ArrivedGroup),
    /// The copy is here now. Comes up to fifty times a second.
    Progress {
        /// Its next number.
        next_sequence: u64,
        /// The next number of the leader, at least.
        leader_next: u64,
    },
}

/// Why a copy is no longer written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplicateError {
    /// The copy.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Its leaders.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// The region of its leader.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// The leader, or what it sends.
    #[error("{address}: {source}")]
    Follow {
        /// The address of the leader.
        address: String,
        /// The reason.
        source: FollowError,
    },
    /// The journal is served, so that it is that of a leader.
    #[error(
        "{}: a process serves this journal as a leader: end `nanotape journal serve` first, or give \
         another folder for the copy",
        path.display()
    )]
    IsServed {
        /// The journal.
        path: PathBuf,
    },
    /// The address is not one.
    #[error("{address}: not an address: {source}")]
    Address {
        /// The text.
        address: String,
        /// The reason.
        source: io::Error,
    },
    /// The certificate of the leader is for another name.
    #[error("{address}: the leader states the name `{found}`, and its certificate is not for it")]
    Name {
        /// The address.
        address: String,
        /// What it states.
        found: String,
    },
}

/// How a connection ended that is followed by another one.
enum Break {
    /// The operator ends it.
    Stopped,
    Link(String),
}

/// The copy of a journal.
#[derive(Debug)]
pub struct Replication {
    options: ReplicateOptions,
    disk: Folder,
    terms: Terms,
    replica: Option<Replica<Folder>>,
    region: OwnedRegion,
    clock: Clock,
    compares_all: bool,
}

impl Replication {
    /// Opens the copy, or makes a folder for it.
    pub fn open(journal: &Path, options: ReplicateOptions) -> Result<Self, ReplicateError> {
        // A leader that became its own follower would be no leader.
        if ReplicasReader::open(journal).is_ok_and(|reader| reader.is_served()) {
            return Err(ReplicateError::IsServed { path: journal.to_owned() });
        }
        let replica = Replica::open(journal, options.mode)?;
        let disk = Folder::new(journal, options.mode);
        let terms = Terms::read(&disk)?;
        let region_options = RegionOptions { mode: options.mode, ..RegionOptions::default() };
        let path = journal.join(LEADER);
        let region = match OwnedRegion::create(&path, SPEC, &region_options, |_| ()) {
            Err(_) => OwnedRegion::replace_zeros(&path, SPEC, &region_options, |_| ()),
            created => created,
        };
        // A copy that was made by other means is not known to have the contents of its leader.
        let is_seeded = terms.entries().is_empty() && !replica.state().heads.is_empty();
        Ok(Self {
            compares_all: options.compares_all || is_seeded,
            options,
            disk,
            terms,
            replica: Some(replica),
            region: region?.0,
            clock: Clock::calibrate(),
        })
    }

    /// The number of its next excerpt.
    pub fn next_sequence(&self) -> u64 {
        self.replica.as_ref().map_or(0, |replica| replica.state().next_sequence)
    }

    /// Follows until a shutdown is requested, or until only an operator can settle it.
    pub fn run(
        &mut self,
        shutdown: &ShutdownFlag,
        mut report: impl FnMut(ReplicateEvent),
    ) -> Result<(), ReplicateError> {
        let mut pause = FIRST_PAUSE;
        loop {
            if shutdown.is_requested() {
                return Ok(());
            }
            let before = self.next_sequence();
            match self.follow(shutdown, &mut report)? {
                Break::Stopped => return Ok(()),
                Break::Link(reason) => {
                    if self.next_sequence() != before {
                        pause = FIRST_PAUSE;
                    }
                    report(ReplicateEvent::Broken { reason, pause });
                }
            }
            shutdown.sleep(pause);
            pause = (pause * 2).min(MOST_PAUSE);
        }
    }

    /// One connection.
    fn follow(
        &mut self,
        shutdown: &ShutdownFlag,
        report: &mut impl FnMut(ReplicateEvent),
    ) -> Result<Break, ReplicateError> {
        let options = &self.options;
        let address = options.address.to_socket_addrs();
        let address = match address.map(|mut addresses| addresses.next()) {
            Ok(Some(address)) => address,
            Ok(None) => return Ok(Break::Link(format!("{}: no address", options.address))),
            Err(source) if source.kind() == io::ErrorKind::InvalidInput => {
                let address = options.address.clone();
                return Err(ReplicateError::Address { address, source });
            }
            Err(error) => return Ok(Break::Link(format!("{}: {error}", options.address))),
        };
        let tls = options.identity.as_ref().map(|identity| (identity, &*options.leader));
        let connection = match Connection::connect(address, tls, options.patience) {
            Ok(connection) => connection,
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                let (address, source) = (options.address.clone(), error);
                return Err(ReplicateError::Address { address, source });
            }
            Err(error) => return Ok(Break::Link(format!("{address}: {error}"))),
        };
        let mut replica = match self.replica.take() {
            Some(replica) => replica,
            None => Replica::open_on(self.disk.clone())?,
        };
        replica.prepare_ahead();
        let clocks = LinkClocks::new(&self.clock);
        let now = clocks.now();
        let term = self.terms.current();
        let hello = Hello {
            service: SERVICE,
            session: term.leader,
            epoch: term.epoch,
            nonce: random(),
            heartbeat_ns: options.heartbeat.as_nanos() as u64,
            most_payload: FRAME_BYTES as u32,
            name: options.name.clone(),
        };
        let patience = options.patience;
        let config = PeerConfig { hello, patience, outgoing_bytes: FRAME_BYTES };
        let peer = Peer::new(Role::Connecting, config, now);
        let follow = FollowOptions {
            term,
            sets_aside: options.sets_aside,
            compares_all: self.compares_all,
            syncs: options.syncs,
            keeps_times: options.keeps_times,
        };
        let link = FollowerLink::new(replica, peer, follow);
        let mut following = Following { link, connection, address, is_known: false, updated_ns: 0 };
        let outcome = self.exchange(&mut following, &clocks, shutdown, report);
        let Following { mut link, mut connection, .. } = following;
        // Those of the last turn.
        link.take_arrived().for_each(|group| report(ReplicateEvent::Arrived(group)));
        if matches!(outcome, Ok(Break::Stopped)) {
            link.peer().close("the follower ends");
        }
        connection.finish(link.peer(), clocks.now());
        self.replica = Some(link.into_replica());
        outcome
    }

    fn exchange(
        &mut self,
        following: &mut Following,
        clocks: &LinkClocks,
        shutdown: &ShutdownFlag,
        report: &mut impl FnMut(ReplicateEvent),
    ) -> Result<Break, ReplicateError> {
        let (mut trouble, mut follows) = (String::new(), None);
        loop {
            let now = clocks.now();
            let Following { link, connection, address, is_known, updated_ns } = following;
            let exchanged = match connection.exchange(link.peer(), now) {
                Ok(exchanged) => exchanged,
                Err(error) => {
                    // What came before the end has the reason.
                    let last = link.turn(now).err();
                    let reason = last.map_or_else(|| error.to_string(), |last| last.to_string());
                    return Ok(Break::Link(format!("{address}: {reason}")));
                }
            };
            let now = clocks.after(&exchanged, now);
            if !*is_known && let Some(hello) = link.peer().other() {
                *is_known = true;
                if !connection.is_of(&hello.name) {
                    let (address, found) = (self.options.address.clone(), hello.name.clone());
                    return Err(ReplicateError::Name { address, found });
                }
            }
            let followed = match link.turn(now) {
                Ok(followed) => followed,
                Err(FollowError::Link(error)) => {
                    return Ok(Break::Link(format!("{address}: {error}")));
                }
                Err(source) => {
                    let address = self.options.address.clone();
                    return Err(ReplicateError::Follow { address, source });
                }
            };
            if let Followed::Joins(term) = followed {
                let from_sequence = link.progress().next_sequence;
                let name = link.peer().other().map_or_else(String::new, |hello| hello.name.clone());
                let ts = UtcNanos::of_unix_ns(now.utc_ns);
                self.terms.add(&self.disk, TermEntry { term, from_sequence, ts, name })?;
                link.join();
            }
            let files = link.take_set_aside();
            if !files.is_empty() {
                report(ReplicateEvent::SetAside { files });
            }
            if now.monotonic_ns.saturating_sub(*updated_ns) >= UPDATE_NS {
                *updated_ns = now.monotonic_ns.max(1);
                if shutdown.is_requested() {
                    return Ok(Break::Stopped);
                }
                self.publish(link.leader(), link.progress().next_sequence);
                let progress = link.progress();
                if progress.trouble != trouble {
                    trouble.clone_from(&progress.trouble);
                    report(match trouble.is_empty() {
                        true => ReplicateEvent::GoesOn,
                        false => ReplicateEvent::Troubled { reason: trouble.clone() },
                    });
                }
                let (next_sequence, leader_next) =
                    (progress.next_sequence, link.leader().next_sequence);
                report(ReplicateEvent::Progress { next_sequence, leader_next });
            }
            if link.take_joined() {
                self.compares_all = false;
                // After a trouble, or a change of the leader's journal, it is the same leader.
                if follows.replace(self.terms.current()) == Some(self.terms.current()) {
                    continue;
                }
                report(ReplicateEvent::Follows {
                    address: *address,
                    term: self.terms.current(),
                    next_sequence: link.has_segments().then_some(link.progress().next_sequence),
                });
            }
            link.take_arrived().for_each(|group| report(ReplicateEvent::Arrived(group)));
            let pace = self.options.pace;
            let is_idle = followed == Followed::Idle && exchanged == Exchanged::default();
            if is_idle && let Err(error) = pace.pause(connection, link.peer(), Duration::MAX) {
                return Ok(Break::Link(format!("{address}: {error}")));
            }
        }
    }

    /// Stores what is known of the leader, for a promotion.
    fn publish(&self, leader: &LeaderStatus, next_sequence: u64) {
        let words = self.region.words();
        if leader.arrived_ns > 0 {
            words[1].store(leader.acknowledged);
            words[2].store(leader.arrived_ns);
        }
        if leader.next_sequence > 0 {
            words[0].store(leader.next_sequence);
        }
        words[3].store(next_sequence);
    }
}

/// What is known of the leader of a copy, from its region; `None` if nothing is.
pub fn last_leader(journal: &Path) -> Result<Option<LeaderStatus>, RegionError> {
    let path = journal.join(LEADER);
    if !path.exists() {
        return Ok(None);
    }
    let region = SharedRegion::open_as(&path, SPEC.kind, SPEC.layout, SPEC.words)?;
    let word = |at: usize| region.words()[at].load();
    Ok(Some(LeaderStatus { next_sequence: word(0), acknowledged: word(1), arrived_ns: word(2) }))
}

/// A connection to the leader.
struct Following {
    link: FollowerLink,
    connection: Connection,
    address: SocketAddr,
    /// Whether the name of the leader was checked.
    is_known: bool,
    updated_ns: u64,
}
