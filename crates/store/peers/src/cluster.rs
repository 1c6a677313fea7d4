//! A node with its connections: one thread that listens, connects, and takes turns.
//!
//! Protocol: of two nodes the one with the higher number connects to the other one, again and
//! again. A later connection of a node replaces the one before it.
//! Bounds: [`MOST_LINKS`] connections, of which those without a hello end after the patience.
//! Failure: a connection that ends is reported, and followed by the next one. What only an operator
//! can settle ends the node: a map of other sizes, a life that was dropped.

use std::{
    collections::BTreeMap,
    fs, io,
    net::{SocketAddr, TcpListener, ToSocketAddrs as _},
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::Duration,
};

use nanotape_clock::Clock;
use nanotape_latest::{LatestReader, LatestSpec, LatestWriter};
use nanotape_link::{Connection, Hello, Identity, LinkClocks, Now, Peer, PeerConfig, Role, random};
use nanotape_shm::{Refusal, RegionError, RegionOptions};
use nanotape_tape::ShutdownFlag;

use crate::{
    ConfiguredName, FRAME_BYTES, MemberState, NodeFile, NodeFileError, NodeIdentity,
    PeerConnection, PeerEvent, PeerNode, PeerOptions, PeersError, PeersRefusal, RegionIndex,
    SERVICE,
    member_file::{is_of_owner, node_path, put},
    peer_map,
    request::{DONE, REFUSED, answer_path, request_path},
};

/// The most connections at a time.
pub const MOST_LINKS: usize = 512;

/// The time between two looks for a request of another process, and at the file of the map.
const BEAT_NS: u64 = 50_000_000;

/// The same after one that could not be stored.
const RETRY_NS: u64 = 1_000_000_000;

/// The first and the longest pause between two attempts to connect.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MOST_PAUSE: Duration = Duration::from_secs(2);

/// Bytes that wait to be sent to a node.
const OUTGOING_BYTES: usize = 3 * FRAME_BYTES;

/// How a node is connected.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    /// What the node is among the others; its life is that of the file beside the map.
    pub node: PeerOptions,
    /// The name of this node.
    pub name: String,
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The other nodes: their numbers, names and addresses.
    pub others: BTreeMap<u16, (String, String)>,
    /// The certificates; `None`: no TLS.
    pub identity: Option<Identity>,
    /// How often each side sends at least something.
    pub heartbeat: Duration,
    /// How long a connection may take until its hello, and the state of its node.
    pub patience: Duration,
    /// The pause after a turn in which nothing was to be done: changes of the map are found after
    /// it at the latest.
    pub pause: Duration,
    /// The map, if it is new: without the words of stamps.
    pub map: LatestSpec,
    /// The memory of the map, and permissions.
    pub region: RegionOptions,
}

impl ClusterOptions {
    /// Refuses a side that is not the node that was dialed, or whose name or certificate is not
    /// that of the node that it states to be. A node that is not configured here can be one that
    /// was added: its members decide.
    fn check_name(
        &self,
        connection: &Connection,
        dialed: Option<u16>,
        node: u16,
        stated: &str,
    ) -> Result<(), PeersError> {
        if let Some(dialed) = dialed.filter(|dialed| *dialed != node) {
            return Err(PeersError::OtherNumber { node, dialed });
        }
        let name = stated.to_owned();
        let others = self.others.iter().map(|(number, (name, _))| (*number, name));
        let mut all = others.chain([(self.node.node, &self.name)]);
        let configured = match all.clone().find(|(number, _)| *number == node) {
            Some((_, known)) if known == stated => None,
            Some((_, known)) => Some(ConfiguredName::OfNode { name: known.clone() }),
            None => {
                let other = all.find(|(_, known)| *known == stated);
                other.map(|(node, _)| ConfiguredName::OfName { node })
            }
        };
        if let Some(configured) = configured {
            return Err(PeersError::Name { node, name, configured });
        }
        if !connection.is_of(stated) {
            return Err(PeersError::Certificate { node, name });
        }
        Ok(())
    }
}

/// What an operator reads.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ClusterEvent {
    /// A node is connected.
    Connected {
        /// The node.
        node: u16,
        /// Its address.
        address: SocketAddr,
    },
    /// A connection ended, or there was none.
    Broken {
        /// The node, or the IP address of one that is not known yet.
        from: String,
        /// The reason.
        reason: String,
    },
    /// What the node itself reports.
    Node(PeerEvent),
    /// What became of a request to drop or to add a node.
    Members(String),
}

/// Why a node ends.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The map, the index or the members.
    #[error(transparent)]
    Peers(#[from] PeersError),
    /// The map.
    #[error(transparent)]
    Latest(#[from] nanotape_latest::LatestError),
    /// The index.
    #[error(transparent)]
    Region(#[from] RegionError),
    /// The file of the node.
    #[error(transparent)]
    File(#[from] NodeFileError),
    /// The map belongs to another cluster.
    #[error(
        "{}: the map of a node of cluster {found:#018x}, the name in the configuration makes cluster \
         {expected:#018x}; correct the name, name another map, or remove the map and this file",
        path.display()
    )]
    OtherCluster {
        /// The file of the node.
        path: PathBuf,
        /// The cluster of the file.
        found: u64,
        /// The cluster of the configuration.
        expected: u64,
    },
    /// The map belongs to another node.
    #[error(
        "{}: the map of node {found} of cluster {cluster:#x}, expected node {expected}; name another map, or \
         remove the map and this file",
        path.display()
    )]
    OtherNode {
        /// The file of the node.
        path: PathBuf,
        /// The node of the file.
        found: u16,
        /// Its cluster.
        cluster: u64,
        /// The node of the configuration.
        expected: u16,
    },
    /// The map has room for fewer entries than the configuration has.
    #[error(
        "{}: for {found} entries, the configuration has {expected}: nanotape latest upgrade {} --entries \
         {expected} makes it larger",
        path.display(),
        path.display()
    )]
    Small {
        /// The map.
        path: PathBuf,
        /// Its entries.
        found: u64,
        /// Entries of the configuration.
        expected: u64,
    },
    /// The map has entries, and was never shared: they have no time and no node.
    #[error(
        "{}: has {entries} entries and was not shared before, or its .node file is missing: share begins \
         with an empty map; look at it (nanotape latest dump), move it away, and set its entries again \
         once the new map is shared (nanotape latest set)",
        path.display()
    )]
    NotShared {
        /// The map.
        path: PathBuf,
        /// Its entries.
        entries: u64,
    },
    /// The machine was started again, and a map on a disk may have lost changes.
    #[error(
        "{}: the machine was started again since this map was used, so that it may lack changes that \
         others have acknowledged: drop this node on another one, remove the map and this file, and \
         add it again",
        path.display()
    )]
    OtherBoot {
        /// The file of the node.
        path: PathBuf,
    },
    /// The address.
    #[error("{address}: cannot listen: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
    /// The map was removed, replaced or truncated while the node had it.
    #[error(
        "{source}; drop this node on another one, add it again, and start it with an empty map"
    )]
    MapGone {
        /// What has become of it.
        source: RegionError,
    },
    /// This node was dropped.
    #[error(
        "this node was dropped at {at_ns} ns since 1970: to join again, remove its map and the .node \
         file beside it, add it on another node, and start it"
    )]
    Dropped {
        /// When, in ns since the UNIX epoch.
        at_ns: u64,
    },
}

impl ClusterError {
    /// Whether the map, its index or its members are damaged or an older copy, or this node was
    /// dropped. All others belong to the environment.
    pub fn is_bad_data(&self) -> bool {
        match self {
            Self::Peers(error) => error.is_bad_data(),
            Self::Latest(error) => error.is_bad_data(),
            Self::Region(error) => error.is_bad_data(),
            Self::Dropped { .. } => true,
            _ => false,
        }
    }
}

/// A node with its connections.
#[derive(Debug)]
pub struct Cluster {
    options: ClusterOptions,
    map: PathBuf,
    node: PeerNode<RegionIndex, NodeFile>,
    listener: TcpListener,
    links: Vec<Link>,
    dials: BTreeMap<u16, Dial>,
    dialed: (Sender<Dialed>, Receiver<Dialed>),
    clocks: LinkClocks,
    /// When it looks for a request again.
    request_ns: u64,
}

#[derive(Debug)]
struct Link {
    connection: Connection,
    peers: PeerConnection,
    address: SocketAddr,
    /// The node that was dialed, or that the other side has stated.
    node: Option<u16>,
    /// Whether it was reported as connected: it is admitted, with its name.
    is_known: bool,
}

/// The next attempt to connect to a node.
#[derive(Debug, Default)]
struct Dial {
    is_under_way: bool,
    at_ns: u64,
    pause: Duration,
}

type Dialed = (u16, io::Result<(Connection, SocketAddr)>);

fn index_path(map: &Path) -> PathBuf {
    nanotape_shm::beside(map, ".peers")
}

/// Removes the index of changes beside a map whose node does not run, before the map is replaced by
/// a larger one: the next process of the node makes a new index, and all entries are sent again.
pub fn remove_index(map: &Path) -> Result<(), RegionError> {
    match nanotape_shm::remove(&index_path(map)) {
        Err(error) if *error.refusal() != Refusal::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The sizes of a map that is there, which can be for more entries than a new one, or of a new one.
fn sizes(
    map: &Path,
    found: Option<&NodeFile>,
    new: LatestSpec,
) -> Result<LatestSpec, ClusterError> {
    // Why a map cannot be opened is an error of the writer.
    let Ok(reader) = LatestReader::open(map) else { return Ok(new) };
    let created_ns = reader.region().created_ns();
    if found.is_none_or(|file| file.identity().map_created_ns != created_ns) {
        return refuse_entries(map, &reader).map(|()| new);
    }
    let (found, expected, path) = (reader.spec().entries, new.entries, map.to_owned());
    if found < expected {
        return Err(ClusterError::Small { path, found, expected });
    }
    Ok(LatestSpec { entries: found, ..new })
}

/// Refuses the entries of a map without a node: their values have no time.
fn refuse_entries(map: &Path, reader: &LatestReader) -> Result<(), ClusterError> {
    match reader.len() {
        0 => Ok(()),
        entries => Err(ClusterError::NotShared { path: map.to_owned(), entries }),
    }
}

impl Cluster {
    /// Joins or creates the map of this node, and begins to listen.
    pub fn open(map: &Path, mut options: ClusterOptions) -> Result<Self, ClusterError> {
        let (path, mode) = (node_path(map), options.region.mode);
        let found = NodeFile::of_map(map, mode)?;
        let spec = sizes(map, found.as_ref(), peer_map(options.map)?)?;
        let writer = LatestWriter::join(map, spec, &options.region)?;
        // Without a map, its user was not known, so that the file was not read.
        let found = NodeFile::of_map(map, mode)?;
        let reader = writer.reader();
        let (created_ns, boot) = (reader.region().created_ns(), boot());
        let PeerOptions { cluster, node, .. } = options.node;
        let file = match found.filter(|file| file.identity().map_created_ns == created_ns) {
            Some(file) => {
                let NodeIdentity { cluster: of, node: found, .. } = file.identity();
                if of != cluster {
                    let (found, expected) = (of, cluster);
                    return Err(ClusterError::OtherCluster { path, found, expected });
                }
                if found != node {
                    let expected = node;
                    return Err(ClusterError::OtherNode { path, found, cluster: of, expected });
                }
                if file.identity().boot != boot {
                    return Err(ClusterError::OtherBoot { path });
                }
                file
            }
            None => {
                refuse_entries(map, &reader)?;
                let life = random();
                let identity =
                    NodeIdentity { cluster, node, life, map_created_ns: created_ns, boot };
                NodeFile::create(&path, mode, identity)?
            }
        };
        options.node.life = file.identity().life;
        let index = RegionIndex::open(&index_path(map), &reader, boot, random(), &options.region)?;
        let node = PeerNode::new(writer, index, file, options.node.clone())?;
        if let Some(at_ns) = node.dropped_ns() {
            return Err(ClusterError::Dropped { at_ns });
        }
        let address = options.listen;
        let failed = |source| ClusterError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let clocks = LinkClocks::new(&Clock::calibrate());
        let map = map.to_owned();
        let own = options.node.node;
        let dials = options.others.keys().filter(|other| **other < own);
        let dials = dials.map(|other| (*other, Dial::default())).collect();
        let (links, dialed) = (Vec::new(), channel());
        Ok(Self { options, map, node, listener, links, dials, dialed, clocks, request_ns: 0 })
    }

    /// The node.
    pub fn node(&self) -> &PeerNode<RegionIndex, NodeFile> {
        &self.node
    }

    /// Works until a shutdown is requested.
    pub fn run(
        &mut self,
        shutdown: &ShutdownFlag,
        mut report: impl FnMut(ClusterEvent),
    ) -> Result<(), ClusterError> {
        let mut beat_ns = 0;
        while !shutdown.is_requested() {
            let now = self.clocks.now();
            let mut has_worked = self.accept(now, &mut report);
            has_worked |= self.dial(now, &mut report);
            has_worked |= self.exchange(now, &mut report);
            self.node.turn(now)?;
            while let Some(event) = self.node.take_event() {
                if let PeerEvent::Dropped { at_ns } = event {
                    // Stored for `latest nodes` and for the next start of this node. If it cannot
                    // be stored, another node reports it again.
                    let _ = self.node.drop_own(at_ns);
                    return Err(ClusterError::Dropped { at_ns });
                }
                report(ClusterEvent::Node(event));
            }
            if now.monotonic_ns >= beat_ns {
                beat_ns = now.monotonic_ns + BEAT_NS;
                self.check_map()?;
            }
            if now.monotonic_ns >= self.request_ns {
                self.request_ns = now.monotonic_ns + BEAT_NS;
                self.take_request(now, &mut report)?;
            }
            match has_worked {
                true => {}
                false if self.options.pause.is_zero() => thread::yield_now(),
                false => thread::sleep(self.options.pause),
            }
        }
        let now = self.clocks.now();
        for link in &mut self.links {
            link.peers.peer().close("the node ends");
            link.connection.finish(link.peers.peer(), now);
        }
        Ok(())
    }

    /// Why a connection ends, with the files that an operator has to remove.
    fn reason(&self, error: &PeersError) -> String {
        match error {
            PeersError::Refused { refusal: PeersRefusal::NotEmpty { .. }, .. } => {
                let (map, node) = (self.map.display(), node_path(&self.map));
                format!("{error}; these are {map} and {}", node.display())
            }
            error => error.to_string(),
        }
    }

    /// Finds out whether the map was removed or replaced: other processes write another one then.
    fn check_map(&self) -> Result<(), ClusterError> {
        let checked = self.node.reader.region().check();
        checked.map_err(|source| ClusterError::MapGone { source })
    }

    fn peer(&self, role: Role, now: Now) -> PeerConnection {
        let hello = Hello {
            service: SERVICE,
            session: self.options.node.cluster,
            epoch: 0,
            nonce: random(),
            heartbeat_ns: self.options.heartbeat.as_nanos() as u64,
            most_payload: FRAME_BYTES as u32,
            name: self.options.name.clone(),
        };
        let patience = self.options.patience;
        let config = PeerConfig { hello, patience, outgoing_bytes: OUTGOING_BYTES };
        PeerConnection::new(Peer::new(role, config, now))
    }

    fn accept(&mut self, now: Now, report: &mut impl FnMut(ClusterEvent)) -> bool {
        let Ok((stream, address)) = self.listener.accept() else { return false };
        let accepted = Connection::accepted(stream, self.options.identity.as_ref());
        match accepted {
            Ok(connection) if self.links.len() < MOST_LINKS => {
                let peers = self.peer(Role::Accepting, now);
                self.links.push(Link { connection, peers, address, node: None, is_known: false });
            }
            Ok(_) => broken(report, address.ip(), format!("{MOST_LINKS} connections are open")),
            Err(error) => broken(report, address.ip(), error),
        }
        true
    }

    /// Begins connections that are due, and takes those that were made.
    fn dial(&mut self, now: Now, report: &mut impl FnMut(ClusterEvent)) -> bool {
        let mut has_worked = false;
        while let Ok((node, dialed)) = self.dialed.1.try_recv() {
            has_worked = true;
            match dialed {
                Ok((connection, address)) => {
                    let peers = self.peer(Role::Connecting, now);
                    let node = Some(node);
                    self.links.push(Link { connection, peers, address, node, is_known: false });
                }
                Err(error) => {
                    broken(report, format!("node {node}"), error);
                    self.dial_later(node, now);
                }
            }
        }
        let links = &self.links;
        let is_linked = |node: u16| links.iter().any(|link| link.node == Some(node));
        for (node, dial) in &mut self.dials {
            if dial.is_under_way || now.monotonic_ns < dial.at_ns || is_linked(*node) {
                continue;
            }
            dial.is_under_way = true;
            let Some((name, address)) = self.options.others.get(node).cloned() else { continue };
            let (identity, patience) = (self.options.identity.clone(), self.options.patience);
            let (sender, node) = (self.dialed.0.clone(), *node);
            // A host that does not answer keeps nothing but this thread.
            let connect = move || {
                let tls = identity.as_ref().map(|identity| (identity, &*name));
                let connected = connect(&address, tls, patience);
                // The node ends without its threads.
                let _ = sender.send((node, connected));
            };
            if thread::Builder::new().name(format!("to-{node}")).spawn(connect).is_err() {
                dial.is_under_way = false;
            }
        }
        has_worked
    }

    fn dial_later(&mut self, node: u16, now: Now) {
        if let Some(dial) = self.dials.get_mut(&node) {
            dial.pause = (dial.pause * 2).clamp(FIRST_PAUSE, MOST_PAUSE);
            dial.at_ns = now.monotonic_ns + dial.pause.as_nanos() as u64;
            dial.is_under_way = false;
        }
    }

    /// Moves bytes and takes turns; ends connections that cannot continue.
    fn exchange(&mut self, now: Now, report: &mut impl FnMut(ClusterEvent)) -> bool {
        let mut has_worked = false;
        for mut link in std::mem::take(&mut self.links) {
            match self.exchange_one(&mut link, now, report) {
                Ok(has_moved) => {
                    has_worked |= has_moved;
                    self.links.push(link);
                }
                Err(reason) => {
                    has_worked = true;
                    let from = match link.node {
                        Some(node) => format!("node {node}"),
                        None => link.address.ip().to_string(),
                    };
                    broken(report, from, &reason);
                    link.peers.peer().close(&reason);
                    link.connection.finish(link.peers.peer(), now);
                    link.node.into_iter().for_each(|node| self.dial_later(node, now));
                }
            }
        }
        has_worked
    }

    fn exchange_one(
        &mut self,
        link: &mut Link,
        now: Now,
        report: &mut impl FnMut(ClusterEvent),
    ) -> Result<bool, String> {
        let moved = link.connection.exchange(link.peers.peer(), now);
        let Link { connection, peers, node: dialed, .. } = link;
        let check =
            |node: u16, name: &str| self.options.check_name(connection, *dialed, node, name);
        let turned = peers.turn_with(&mut self.node, now, check);
        // What came before the end has the reason.
        turned.map_err(|error| self.reason(&error))?;
        let moved = moved.map_err(|error| error.to_string())?;
        if let Some(node) = link.peers.other().filter(|_| !link.is_known) {
            (link.node, link.is_known) = (Some(node), true);
            let address = link.address;
            report(ClusterEvent::Connected { node, address });
        }
        let sent = link.connection.exchange(link.peers.peer(), now);
        let sent = sent.map_err(|error| error.to_string())?;
        Ok(moved.received + moved.sent + sent.received + sent.sent > 0)
    }

    /// Does what another process of this machine has requested, and answers it.
    fn take_request(
        &mut self,
        now: Now,
        report: &mut impl FnMut(ClusterEvent),
    ) -> Result<(), ClusterError> {
        let path = request_path(&self.map);
        if !is_of_owner(&self.map, &path).unwrap_or(false) {
            return Ok(());
        }
        let Ok(text) = fs::read_to_string(&path) else { return Ok(()) };
        let (line, number) = text.trim_end().split_once('\n').unwrap_or((text.trim_end(), ""));
        let (verb, node) = line.split_once(' ').unwrap_or((line, ""));
        let done = match (verb, node.parse::<u16>()) {
            ("drop", Ok(node)) => self.node.drop_node(node, now).map(|is_done| match is_done {
                true => Ok(format!("node {node} was dropped")),
                false => Err(self.why_not(node)),
            }),
            ("add", Ok(node)) => self.node.add(node).map(|is_done| match is_done {
                true => Ok(format!("node {node} was added")),
                false => Err(self.why_not(node)),
            }),
            _ => Ok(Err(format!("'{line}' is no request: expected drop N or add N"))),
        };
        let done = match done {
            Err(error @ PeersError::Store { .. }) => {
                // The request stays, and is tried again as long as the other process waits.
                report(ClusterEvent::Members(format!("'{line}': {error}")));
                self.request_ns = now.monotonic_ns + RETRY_NS;
                return Ok(());
            }
            // The members are as before, and the node goes on.
            Err(error @ (PeersError::TooMany { .. } | PeersError::Node)) => Err(error.to_string()),
            done => done?,
        };
        let (word, what) = match &done {
            Ok(what) => (DONE, what),
            Err(what) => (REFUSED, what),
        };
        // The other process waits for the end of its request, and then finds no answer.
        let _ = put(&answer_path(&self.map), 0o600, &format!("{number}\n{word}\n{what}\n"));
        let _ = fs::remove_file(&path);
        let (Ok(what) | Err(what)) = done;
        report(ClusterEvent::Members(what));
        Ok(())
    }

    /// Why a node cannot be dropped or added: what it is.
    fn why_not(&self, node: u16) -> String {
        let members = self.node.members();
        match members.member(node).map(|member| member.state) {
            None => {
                let all = members.members().filter(|(_, it)| it.state != MemberState::Left);
                let all: Vec<String> = all.map(|(number, _)| number.to_string()).collect();
                format!("node {node} is no member: the members are {}", all.join(", "))
            }
            Some(MemberState::Pending) => format!("node {node} was added already, and is pending"),
            Some(MemberState::Joined(_)) => format!("node {node} has joined already"),
            Some(MemberState::Left) => format!("node {node} was dropped already"),
        }
    }
}

fn broken(
    report: &mut impl FnMut(ClusterEvent),
    from: impl std::fmt::Display,
    reason: impl std::fmt::Display,
) {
    let (from, reason) = (from.to_string(), reason.to_string());
    report(ClusterEvent::Broken { from, reason });
}

fn connect(
    address: &str,
    tls: Option<(&Identity, &str)>,
    patience: Duration,
) -> io::Result<(Connection, SocketAddr)> {
    let mut addresses = address.to_socket_addrs()?;
    let address = addresses.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
    Ok((Connection::connect(address, tls, patience)?, address))
}

/// The boot of the machine; 0 if it has no number.
fn boot() -> u64 {
    let id = fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    fnv(&id)
}

/// The number of a cluster, from its name.
pub fn cluster_number(name: &str) -> u64 {
    fnv(name.as_bytes())
}

/// FNV-1a.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
