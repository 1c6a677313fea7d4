//! Serves SoupBinTCP connections in one thread: accepts, reads, writes, and never waits for one of
//! them.

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

struct Connection<S> {
    stream: TcpStream,
    server: Server,
    store: S,
    /// Before this time the connection is not read: a slow or dead server.
    opens_ns: u64,
    first: Option<u64>,
    /// When the last byte was sent after the end.
    ended: Option<Stamp>,
}

/// A listener, and the connections of one kind of server.
pub(crate) struct Connections<S, M> {
    listener: TcpListener,
    make_store: M,
    most: usize,
    faults: ServerFaults,
    rng: Rng,
    clock: Clock,
    began: Stamp,
    open: Vec<Connection<S>>,
    counts: ConnectionCounts,
    buffer: Vec<u8>,
}

impl<S: MessageStore, M: FnMut() -> S> Connections<S, M> {
    /// `make_store` gives each connection its messages; there are at most `most` at a time.
    pub(crate) fn new(
        listener: TcpListener,
        most: usize,
        (faults, rng): (ServerFaults, Rng),
        make_store: M,
    ) -> Self {
        let clock = Clock::monotonic();
        Self {
            listener,
            make_store,
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
        mut self,
        stop: &ShutdownFlag,
        mut between: impl FnMut() -> bool,
    ) -> ConnectionCounts {
        while !stop.is_requested() {
            let is_busy = self.turn() | between();
            if !is_busy {
                thread::sleep(if self.open.is_empty() { ALONE } else { IDLE });
            }
        }
        self.open.iter().for_each(|connection| count(&mut self.counts, connection));
        self.counts
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
                count(counts, connection);
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
        let server = Server::new(ServerOptions::default(), now_ns);
        let store = (self.make_store)();
        let delay_ns = if self.faults.is_dead { u64::MAX } else { self.faults.delay_ns };
        let opens_ns = now_ns.saturating_add(delay_ns);
        let (first, ended) = (None, None);
        self.open.push(Connection { stream, server, store, opens_ns, first, ended });
        true
    }
}

impl<S: MessageStore> Connection<S> {
    fn turn(&mut self, now_ns: u64, buffer: &mut [u8], counts: &mut ConnectionCounts) -> bool {
        if now_ns < self.opens_ns {
            if self.stream.peek(&mut [0]).is_ok_and(|length| length == 0) {
                self.server.disconnected();
            }
            return false;
        }
        let mut is_busy = false;
        match self.stream.read(buffer) {
            Ok(0) => self.server.disconnected(),
            Ok(length) => {
                is_busy = true;
                let first = &mut self.first;
                self.server.receive(&buffer[..length], now_ns, &mut self.store, |event| {
                    if let ServerEvent::Accepted { next, .. } = event {
                        counts.logins += 1;
                        *first = Some(next);
                    }
                });
            }
            Err(error) if is_pending(&error) => {}
            Err(_) => self.server.disconnected(),
        }
        self.server.poll(now_ns, &mut self.store);
        let output = self.server.output();
        if !output.is_empty() {
            let piece = &output[..output.len().min(PIECE)];
            match self.stream.write(piece) {
                Ok(length) => {
                    is_busy |= length > 0;
                    self.server.sent(length, now_ns);
                }
                Err(error) if is_pending(&error) => {}
                Err(_) => self.server.disconnected(),
            }
        }
        is_busy
    }

    /// Whether the connection can be closed: the client closed it, or had time to.
    fn is_over(&mut self, clock: &Clock) -> bool {
        if !self.server.is_finished() {
            return false;
        }
        let now = clock.stamp();
        let Some(ended) = self.ended else {
            self.ended = Some(now);
            // A client that is gone needs no end of the stream.
            let _ = self.stream.shutdown(Shutdown::Write);
            return self.server.closed() == Some(ServerClosed::ConnectionLost);
        };
        let mut byte = [0];
        let is_closed = match self.stream.read(&mut byte) {
            Ok(length) => length == 0,
            Err(error) => !is_pending(&error),
        };
        is_closed || clock.nanos_between(ended, now) >= DRAIN_NS
    }
}

fn count<S>(counts: &mut ConnectionCounts, connection: &Connection<S>) {
    let first = connection.first.unwrap_or(connection.server.next_number());
    counts.messages += connection.server.next_number() - first;
    match connection.server.closed() {
        Some(ServerClosed::Rejected(_) | ServerClosed::LoginTimeout { .. }) => counts.rejected += 1,
        Some(ServerClosed::Slow { .. }) => counts.slow += 1,
        Some(ServerClosed::Violation(_)) => counts.violations += 1,
        Some(ServerClosed::ConnectionLost | ServerClosed::Silence { .. }) => counts.lost += 1,
        _ => {}
    }
}

fn is_pending(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
