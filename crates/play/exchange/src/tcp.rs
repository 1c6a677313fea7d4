//! Serves connections in one thread: accepts, reads, writes, and never waits for one of them.
//!
//! A [`Conversation`] is the protocol of a connection; that of SoupBinTCP is here.

use std::{
    io::{self, ErrorKind, Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    thread,
    time::Duration,
};

use nanotape_clock::{Clock, Stamp};
use nanotape_feed::soupbintcp::{MessageStore, Server, ServerClosed, ServerEvent, ServerOptions};
use nanotape_tape::ShutdownFlag;

use crate::{faults::ServerFaults, rng::Rng};

/// Sleep of a thread whose connections are idle.
const IDLE: Duration = Duration::from_micros(500);

/// Sleep of a thread without connections.
const ALONE: Duration = Duration::from_millis(5);

/// Time for a client to close a connection that has ended.
const DRAIN_NS: u64 = 2_000_000_000;

/// Bytes that are read or written at once.
const PIECE: usize = 64 << 10;

/// What a server of connections did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ConnectionCounts {
    /// Connections that were accepted.
    pub connections: u64,
    /// Connections beyond the maximum, which were closed.
    pub refused: u64,
    /// Connections that a fault closed.
    pub dropped: u64,
    /// Logins that were accepted.
    pub logins: u64,
    /// Logins that were rejected, and connections without a login in time.
    pub rejected: u64,
    /// Messages that were put into the outputs of clients.
    pub messages: u64,
    /// Clients that took nothing for too long.
    pub slow: u64,
    /// Connections that were lost, and clients that were silent for too long.
    pub lost: u64,
    /// Clients that broke the protocol.
    pub violations: u64,
}

impl core::ops::AddAssign for ConnectionCounts {
    fn add_assign(&mut self, other: Self) {
        self.connections += other.connections;
        self.refused += other.refused;
        self.dropped += other.dropped;
        self.logins += other.logins;
        self.rejected += other.rejected;
        self.messages += other.messages;
        self.slow += other.slow;
        self.lost += other.lost;
        self.violations += other.violations;
    }
}

/// The server's side of one connection: bytes in, bytes out, and no socket.
pub(crate) trait Conversation {
    /// Takes bytes of the client.
    fn receive(&mut self, bytes: &[u8], now_ns: u64, counts: &mut ConnectionCounts);
    /// Does what is due.
    fn poll(&mut self, now_ns: u64, counts: &mut ConnectionCounts);
    /// Whether it takes bytes now; if not, they wait in the system and the client is slowed down.
    fn is_ready(&self) -> bool {
        true
    }
    /// Bytes for the client.
    fn output(&self) -> &[u8];
    /// The first bytes of the output were sent.
    fn sent(&mut self, length: usize, now_ns: u64);
    /// The client is gone.
    fn disconnected(&mut self);
    /// Whether the server ended the conversation, and all output was sent.
    fn is_finished(&self) -> bool;
    /// Whether the client is gone.
    fn is_lost(&self) -> bool;
    /// Counts how it ended, or where it is.
    fn count(&self, counts: &mut ConnectionCounts);
}

/// A conversation of SoupBinTCP.
pub(crate) struct Soup<S> {
    server: Server,
    store: S,
    first: Option<u64>,
}

impl<S: MessageStore> Soup<S> {
    pub(crate) fn new(store: S, now_ns: u64) -> Self {
        Self { server: Server::new(ServerOptions::default(), now_ns), store, first: None }
    }
}

impl<S: MessageStore> Conversation for Soup<S> {
    fn receive(&mut self, bytes: &[u8], now_ns: u64, counts: &mut ConnectionCounts) {
        let Self { server, store, first } = self;
        server.receive(bytes, now_ns, store, |event| {
            if let ServerEvent::Accepted { next, .. } = event {
                counts.logins += 1;
                *first = Some(next);
            }
        });
    }

    fn poll(&mut self, now_ns: u64, _: &mut ConnectionCounts) {
        self.server.poll(now_ns, &mut self.store);
    }

    fn output(&self) -> &[u8] {
        self.server.output()
    }

    fn sent(&mut self, length: usize, now_ns: u64) {
        self.server.sent(length, now_ns);
    }

    fn disconnected(&mut self) {
        self.server.disconnected();
    }

    fn is_finished(&self) -> bool {
        self.server.is_finished()
    }

    fn is_lost(&self) -> bool {
        self.server.closed() == Some(ServerClosed::ConnectionLost)
    }

    fn count(&self, counts: &mut ConnectionCounts) {
        let first = self.first.unwrap_or(self.server.next_number());
        counts.messages += self.server.next_number() - first;
        match self.server.closed() {
            Some(ServerClosed::Rejected(_) | ServerClosed::LoginTimeout { .. }) => {
                counts.rejected += 1;
            }
            Some(ServerClosed::Slow { .. }) => counts.slow += 1,
            Some(ServerClosed::Violation(_)) => counts.violations += 1,
            Some(ServerClosed::ConnectionLost | ServerClosed::Silence { .. }) => counts.lost += 1,
            _ => {}
        }
    }
}

struct Connection<C> {
    stream: TcpStream,
    conversation: C,
    /// Before this time the connection is not read: a slow or dead server.
    opens_ns: u64,
    /// When the last byte was sent after the end.
    ended: Option<Stamp>,
}

/// A listener, and the connections of one kind of server.
pub(crate) struct Connections<C, M> {
    listener: TcpListener,
    make: M,
    most: usize,
    faults: ServerFaults,
    rng: Rng,
    clock: Clock,
    began: Stamp,
    open: Vec<Connection<C>>,
    counts: ConnectionCounts,
    buffer: Vec<u8>,
}

impl<C: Conversation, M: FnMut(u64) -> C> Connections<C, M> {
    /// `make` begins a conversation at a time; there are at most `most` at once.
    pub(crate) fn new(
        listener: TcpListener,
        most: usize,
        (faults, rng): (ServerFaults, Rng),
        make: M,
    ) -> Self {
        let clock = Clock::monotonic();
        Self {
            listener,
            make,
            most,
            faults,
            rng,
            clock,
            began: clock.stamp(),
            open: Vec::new(),
            counts: ConnectionCounts::default(),
            buffer: vec![0; PIECE],
        }
    }

    /// Serves until a shutdown is requested. Calls `between` in each turn; it returns whether it
    /// has more to do.
    pub(crate) fn serve(
        self,
        stop: &ShutdownFlag,
        between: impl FnMut() -> bool,
    ) -> ConnectionCounts {
        serve_all(vec![self], stop, between)
    }

    /// Moves bytes of all connections. Returns whether there were any.
    fn turn(&mut self) -> bool {
        let mut is_busy = self.accept();
        let now_ns = self.clock.nanos_between(self.began, self.clock.stamp());
        for connection in &mut self.open {
            is_busy |= connection.turn(now_ns, &mut self.buffer, &mut self.counts);
        }
        let (clock, counts) = (self.clock, &mut self.counts);
        self.open.retain_mut(|connection| {
            let is_over = connection.is_over(&clock);
            if is_over {
                connection.conversation.count(counts);
            }
            !is_over
        });
        is_busy
    }

    fn accept(&mut self) -> bool {
        // An error of a client that is gone already concerns no other.
        let Ok((stream, _)) = self.listener.accept() else { return false };
        let is_usable = stream.set_nonblocking(true).is_ok() && stream.set_nodelay(true).is_ok();
        if self.open.len() == self.most || !is_usable {
            self.counts.refused += 1;
            return true;
        }
        if self.rng.chance(self.faults.drop.get()) {
            self.counts.dropped += 1;
            return true;
        }
        self.counts.connections += 1;
        let now_ns = self.clock.nanos_between(self.began, self.clock.stamp());
        let conversation = (self.make)(now_ns);
        let delay_ns = if self.faults.is_dead { u64::MAX } else { self.faults.delay_ns };
        let opens_ns = now_ns.saturating_add(delay_ns);
        self.open.push(Connection { stream, conversation, opens_ns, ended: None });
        true
    }
}

/// Serves the connections of several listeners, as [`Connections::serve`] does. The counts are the
/// sums of all.
pub(crate) fn serve_all<C: Conversation, M: FnMut(u64) -> C>(
    mut servers: Vec<Connections<C, M>>,
    stop: &ShutdownFlag,
    mut between: impl FnMut() -> bool,
) -> ConnectionCounts {
    while !stop.is_requested() {
        let is_busy = servers.iter_mut().fold(false, |is_busy, server| server.turn() | is_busy);
        if !(between() | is_busy) {
            let is_alone = servers.iter().all(|server| server.open.is_empty());
            thread::sleep(if is_alone { ALONE } else { IDLE });
        }
    }
    let mut counts = ConnectionCounts::default();
    for mut server in servers {
        let open = &server.open;
        open.iter().for_each(|connection| connection.conversation.count(&mut server.counts));
        counts += server.counts;
    }
    counts
}

impl<C: Conversation> Connection<C> {
    fn turn(&mut self, now_ns: u64, buffer: &mut [u8], counts: &mut ConnectionCounts) -> bool {
        let conversation = &mut self.conversation;
        if now_ns < self.opens_ns {
            if self.stream.peek(&mut [0]).is_ok_and(|length| length == 0) {
                conversation.disconnected();
            }
            return false;
        }
        let mut is_busy = false;
        if conversation.is_ready() {
            match self.stream.read(buffer) {
                Ok(0) => conversation.disconnected(),
                Ok(length) => {
                    is_busy = true;
                    conversation.receive(&buffer[..length], now_ns, counts);
                }
                Err(error) if is_pending(&error) => {}
                Err(_) => conversation.disconnected(),
            }
        }
        conversation.poll(now_ns, counts);
        let output = conversation.output();
        if !output.is_empty() {
            let piece = &output[..output.len().min(PIECE)];
            match self.stream.write(piece) {
                Ok(length) => {
                    is_busy |= length > 0;
                    conversation.sent(length, now_ns);
                }
                Err(error) if is_pending(&error) => {}
                Err(_) => conversation.disconnected(),
            }
        }
        is_busy
    }

    /// Whether the connection can be closed: the client closed it, or had time to.
    fn is_over(&mut self, clock: &Clock) -> bool {
        if !self.conversation.is_finished() {
            return false;
        }
        let now = clock.stamp();
        let Some(ended) = self.ended else {
            self.ended = Some(now);
            // A client that is gone needs no end of the stream.
            let _ = self.stream.shutdown(Shutdown::Write);
            return self.conversation.is_lost();
        };
        let mut byte = [0];
        let is_closed = match self.stream.read(&mut byte) {
            Ok(length) => length == 0,
            Err(error) => !is_pending(&error),
        };
        is_closed || clock.nanos_between(ended, now) >= DRAIN_NS
    }
}

fn is_pending(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
