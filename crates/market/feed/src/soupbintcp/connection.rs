//! A SoupBinTCP client on a TCP connection: the calling thread sends, receives and waits.
//!
//! Bounds: after the connection no call of the kernel takes longer than [`TURN`], so a cancelled
//! session ends at once.

use std::{
    cell::Cell,
    io::{self, ErrorKind, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    ops::ControlFlow,
    time::Duration,
};

use super::{Client, ClientClosed, ClientEvent};

/// The longest wait for the server.
const TURN: Duration = Duration::from_millis(20);

/// The longest time between two turns that counts, in ns.
const MOST_TURN_NS: u64 = 100_000_000;

/// The time that a thread spends on a connection, in ns of `now_ns`, which does not go back. While
/// the process is stopped, or the thread waits for another one, the server has no time: what it
/// sent waits in the socket.
pub fn attended_ns(now_ns: impl Fn() -> u64) -> impl Fn() -> u64 {
    let (last_ns, attended_ns) = (Cell::new(now_ns()), Cell::new(0));
    move || {
        let now_ns = now_ns();
        let passed_ns = now_ns.saturating_sub(last_ns.replace(now_ns));
        attended_ns.set(attended_ns.get() + passed_ns.min(MOST_TURN_NS));
        attended_ns.get()
    }
}

/// Why a session on a connection ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionEnd {
    /// The visitor stopped, or the caller cancelled the session.
    #[error("cancelled")]
    Cancelled,
    /// The client closed.
    #[error("{address}: {why}")]
    Closed {
        /// The server.
        address: SocketAddr,
        /// The reason.
        why: ClientClosed,
    },
    /// The connection failed.
    #[error("{address}: {source}")]
    Connection {
        /// The server.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
}

/// Connects to a server, within the time that is beside its address, logs in, and calls `visit`
/// with what arrives, until it breaks, the session ends, or `is_cancelled`. `now_ns` is any clock
/// that does not go back, in ns.
pub fn run_session(
    (address, connect): (SocketAddr, Duration),
    client: &mut Client,
    now_ns: impl Fn() -> u64,
    is_cancelled: impl Fn() -> bool,
    mut visit: impl FnMut(ClientEvent<'_>) -> ControlFlow<()>,
) -> SessionEnd {
    let failed = |source| SessionEnd::Connection { address, source };
    let mut stream = match open(address, connect) {
        Ok(stream) => stream,
        Err(error) => return failed(error),
    };
    let mut buffer = vec![0; 256 << 10];
    client.connected(now_ns());
    // A server that has closed the connection may have sent something before.
    let mut send_error = None;
    loop {
        if is_cancelled() {
            return SessionEnd::Cancelled;
        }
        if let Some(why) = client.closed() {
            return SessionEnd::Closed { address, why };
        }
        if send_error.is_none() {
            match send(&mut stream, client.output()) {
                Ok(count) => client.sent(count, now_ns()),
                Err(error) => send_error = Some(error),
            }
        }
        let mut flow = ControlFlow::Continue(());
        match stream.read(&mut buffer) {
            Ok(0) => client.disconnected(),
            Ok(count) => client.receive(&buffer[..count], now_ns(), |event| {
                if flow.is_continue() {
                    flow = visit(event);
                }
            }),
            Err(error) if is_pause(&error) && send_error.is_none() => {}
            Err(error) => return failed(send_error.unwrap_or(error)),
        }
        if flow.is_break() {
            return SessionEnd::Cancelled;
        }
        client.poll(now_ns());
    }
}

fn open(address: SocketAddr, connect: Duration) -> io::Result<TcpStream> {
    // The least time that can be waited for.
    let connect = connect.max(Duration::from_millis(1));
    let stream = TcpStream::connect_timeout(&address, connect)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TURN))?;
    stream.set_write_timeout(Some(TURN))?;
    Ok(stream)
}

fn send(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<usize> {
    if bytes.is_empty() {
        return Ok(0);
    }
    match stream.write(bytes) {
        Err(error) if is_pause(&error) => Ok(0),
        sent => sent,
    }
}

fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
