//! Both links of a process, driven by one thread: as in a program that has replication built in.

use std::{
    fs, io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::Path,
    time::Duration,
};

use nanotape_journal::{Folder, Replica};
use nanotape_link::{
    CertificateOptions, Connection, Hello, Identity, LinkClocks, Peer, PeerConfig, Role,
    make_certificates,
};
use nanotape_replication::{
    FRAME_BYTES, FollowOptions, Followed, FollowerLink, LeaderLink, LeaderOptions, SERVICE, Turned,
};

use super::Replicate;
use crate::{engine::Worker, error::Error};

/// The names of the two sides, by the number of their process.
pub(super) const SIDES: [&str; 2] = ["side-0", "side-1"];

/// How often a link sends at least something. A process that waits for the others to begin sends
/// nothing.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(20);

/// How long a connection may take until its hello.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// The mode of files.
pub(super) const MODE: u32 = 0o600;

const CERTIFICATES: &str = "certificates";

/// Makes certificates for both sides, under their name when all are written.
fn certify(folder: &Path) -> Result<(), Error> {
    let options = CertificateOptions { years: (2000, 2200), replaces: false };
    let next = folder.with_extension("next");
    make_certificates(&next, &SIDES.map(str::to_owned), options)?;
    fs::rename(&next, folder).map_err(Error::system("name the certificates"))
}

/// The certificate of this side, once the first process has made all of them.
pub(super) fn identity(worker: &Worker<Replicate>) -> Result<Identity, Error> {
    let (folder, side) = (worker.path(CERTIFICATES), worker.job.process);
    if side == 0 {
        certify(&folder)?;
    }
    Ok(worker.meet(|_| Identity::read(&folder, SIDES[side]))?)
}

/// Listens on loopback, and lets the other process know where.
pub(super) fn listen(worker: &Worker<Replicate>) -> Result<TcpListener, Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let listener = listener.map_err(Error::system("listen on loopback"))?;
    let address = listener.local_addr().map_err(Error::system("read the address of a socket"))?;
    announce(worker, worker.job.process, address)?;
    Ok(listener)
}

/// Writes the address of a process.
pub(super) fn announce(
    worker: &Worker<Replicate>,
    process: usize,
    address: SocketAddr,
) -> Result<(), Error> {
    let path = worker.path(&format!("address-{process}"));
    let next = path.with_extension("next");
    let written = fs::write(&next, address.to_string()).and_then(|()| fs::rename(&next, &path));
    written.map_err(Error::system("write the address of a socket"))
}

/// The address of a process, once it listens.
pub(super) fn address_of(worker: &Worker<Replicate>, process: usize) -> Result<SocketAddr, Error> {
    let path = worker.path(&format!("address-{process}"));
    let read = worker.meet(|_| fs::read_to_string(&path));
    let text = read.map_err(Error::system("read the address of another process"))?;
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    text.parse().map_err(|error| Error::system("parse the address")(invalid(error)))
}

fn peer(role: Role, side: usize, clocks: &LinkClocks) -> Peer {
    // A follower that has no leader yet states no term.
    let term = u64::from(role == Role::Accepting);
    let hello = Hello {
        service: SERVICE,
        session: term,
        epoch: term,
        nonce: 1 + side as u64,
        heartbeat_ns: HEARTBEAT.as_nanos() as u64,
        most_payload: FRAME_BYTES as u32,
        name: SIDES[side].to_owned(),
    };
    let outgoing_bytes = 3 * FRAME_BYTES;
    let config = PeerConfig { hello, patience: PATIENCE, outgoing_bytes };
    Peer::new(role, config, clocks.now())
}

/// The leader's side of a link.
pub(super) struct Leading {
    link: LeaderLink,
    connection: Connection,
    clocks: LinkClocks,
}

impl Leading {
    /// Accepts one follower.
    pub(super) fn accept(
        worker: &Worker<Replicate>,
        listener: &TcpListener,
        identity: Option<&Identity>,
        journal: &Path,
    ) -> Result<Self, Error> {
        let accepted = listener.accept().map_err(Error::system("accept a connection"))?;
        let connection = Connection::accepted(accepted.0, identity);
        let connection = connection.map_err(Error::system("accept a connection"))?;
        let clocks = LinkClocks::new(&worker.clock);
        let peer = peer(Role::Accepting, worker.job.process, &clocks);
        let disk = Folder::new(journal, MODE);
        let link = LeaderLink::new(disk, peer, LeaderOptions::default());
        Ok(Self { link, connection, clocks })
    }

    /// Sends what is to be sent; returns whether anything was done.
    #[inline]
    pub(super) fn turn(&mut self) -> Result<bool, Error> {
        let now = self.clocks.now();
        let turned = self.link.turn(now)?;
        let exchanged = self.connection.exchange(self.link.peer(), now);
        let exchanged = exchanged.map_err(Error::system("exchange bytes with a follower"))?;
        Ok(turned == Turned::Worked || exchanged.received > 0 || exchanged.sent > 0)
    }

    /// The follower has all excerpts before this one.
    pub(super) fn acknowledged(&self) -> u64 {
        self.link.status().progress.next_sequence
    }

    /// Whether both sides continue somewhere, and nothing waits to be sent.
    fn is_settled(&mut self) -> bool {
        self.link.status().resumes > 0 && !self.connection.has_waiting(self.link.peer())
    }
}

/// The follower's side of a link.
pub(super) struct Following {
    link: FollowerLink,
    connection: Connection,
    clocks: LinkClocks,
    has_joined: bool,
}

impl Following {
    /// Connects to the process of a leader.
    pub(super) fn connect(
        worker: &Worker<Replicate>,
        leader: usize,
        identity: Option<&Identity>,
        copy: &Path,
    ) -> Result<Self, Error> {
        let mut replica = Replica::open(copy, MODE)?;
        replica.prepare_ahead();
        let address = address_of(worker, leader)?;
        let tls = identity.map(|identity| (identity, SIDES[leader]));
        let connection = Connection::connect(address, tls, PATIENCE);
        let connection = connection.map_err(Error::system("connect to a leader"))?;
        let clocks = LinkClocks::new(&worker.clock);
        let peer = peer(Role::Connecting, worker.job.process, &clocks);
        let link = FollowerLink::new(replica, peer, FollowOptions::default());
        Ok(Self { link, connection, clocks, has_joined: false })
    }

    /// Takes what has arrived; returns whether anything was done.
    #[inline]
    pub(super) fn turn(&mut self) -> Result<bool, Error> {
        let now = self.clocks.now();
        let exchanged = self.connection.exchange(self.link.peer(), now);
        let exchanged = exchanged.map_err(Error::system("exchange bytes with a leader"))?;
        let followed = self.link.turn(self.clocks.after(&exchanged, now))?;
        if let Followed::Joins(_) = followed {
            self.link.join();
            self.has_joined = true;
        }
        Ok(followed != Followed::Idle || exchanged.received > 0 || exchanged.sent > 0)
    }

    /// Whether it has begun to follow.
    pub(super) fn has_joined(&self) -> bool {
        self.has_joined
    }

    /// The copy has all excerpts before this one.
    pub(super) fn next_sequence(&self) -> u64 {
        self.link.progress().next_sequence
    }

    /// Whether its reports are sent.
    fn has_reported(&mut self) -> bool {
        !self.connection.has_waiting(self.link.peer())
    }
}

/// Both links of one process.
pub(super) struct Embedded {
    leading: Leading,
    following: Following,
}

impl Embedded {
    /// Connects both processes with each other, both ways.
    pub(super) fn connect(
        worker: &Worker<Replicate>,
        identity: Option<&Identity>,
        journal: &Path,
        copy: &Path,
    ) -> Result<Self, Error> {
        let listener = listen(worker)?;
        let other = 1 - worker.job.process;
        let following = Following::connect(worker, other, identity, copy)?;
        let leading = Leading::accept(worker, &listener, identity, journal)?;
        Ok(Self { leading, following })
    }

    /// Whether this process needs nothing more of the other one to begin.
    pub(super) fn is_settled(&mut self) -> bool {
        self.leading.is_settled() && self.following.has_joined() && self.following.has_reported()
    }

    /// The copy has all excerpts before this one.
    pub(super) fn copied(&self) -> u64 {
        self.following.next_sequence()
    }

    /// What was appended is sent first, and then what has arrived is taken.
    #[inline]
    pub(super) fn turn(&mut self) -> Result<bool, Error> {
        let has_sent = self.leading.turn()?;
        Ok(self.following.turn()? || has_sent)
    }

    /// Whether the other process has all excerpts before this one.
    pub(super) fn has_delivered(&self, next_sequence: u64) -> bool {
        self.leading.acknowledged() >= next_sequence
    }

    /// Whether the reports of this process are sent.
    pub(super) fn has_reported(&mut self) -> bool {
        self.following.has_reported()
    }
}
