//! The bytes of a link over TCP, with TLS or without.
//!
//! Failure: a side whose certificate is not signed by the authority of the other one, or is for
//! another name than it states, gets no byte of the service.
//! Cost: an exchange makes at most one system call in each direction where there is nothing to do;
//! with TLS also a record for what waits. It allocates nothing without TLS, and with it twice for a
//! record (`rustls`).

use std::{
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    os::fd::AsFd as _,
    time::Duration,
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::{ClientConnection, ServerConnection, pki_types::ServerName};

use crate::{Identity, Now, Peer, identity::is_for};

/// Bytes of plain text that wait in TLS: as much as a few records have.
const TLS_BUFFER_BYTES: usize = 1 << 16;

/// The socket of one side.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    tls: Option<Box<rustls::Connection>>,
    is_ended: bool,
}

/// What moved in an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Exchanged {
    /// Bytes that arrived for the peer.
    pub received: usize,
    /// Bytes that the peer has sent.
    pub sent: usize,
}

impl Connection {
    /// Connects to an address, with TLS to the side of this name.
    pub fn connect(
        address: SocketAddr,
        tls: Option<(&Identity, &str)>,
        patience: Duration,
    ) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, patience)?;
        let tls = match tls {
            None => None,
            Some((identity, name)) => {
                let name = ServerName::try_from(name.to_owned()).map_err(invalid)?;
                let config = std::sync::Arc::clone(&identity.client);
                Some(ClientConnection::new(config, name).map_err(invalid)?.into())
            }
        };
        Self::of(stream, tls)
    }

    /// A connection that was accepted.
    pub fn accepted(stream: TcpStream, identity: Option<&Identity>) -> io::Result<Self> {
        let tls = match identity {
            None => None,
            Some(identity) => {
                let config = std::sync::Arc::clone(&identity.server);
                Some(ServerConnection::new(config).map_err(invalid)?.into())
            }
        };
        Self::of(stream, tls)
    }

    fn of(stream: TcpStream, tls: Option<rustls::Connection>) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let tls = tls.map(|mut tls| {
            tls.set_buffer_limit(Some(TLS_BUFFER_BYTES));
            Box::new(tls)
        });
        Ok(Self { stream, tls, is_ended: false })
    }

    /// The address of the other side.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.stream.peer_addr()
    }

    /// Moves bytes between the peer and the socket, as far as both can. An error ends the
    /// connection, and so does the end of the stream.
    #[inline]
    pub fn exchange(&mut self, peer: &mut Peer, now: Now) -> io::Result<Exchanged> {
        let exchanged = match &mut self.tls {
            None => exchange_plain(&mut self.stream, peer, now, &mut self.is_ended),
            Some(tls) => exchange_tls(&mut self.stream, tls, peer, now, &mut self.is_ended),
        }?;
        if self.is_ended && exchanged.received == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(exchanged)
    }

    /// Sends what the peer still has, such as why it closes, for a limited time.
    pub fn finish(&mut self, peer: &mut Peer, now: Now) {
        for _ in 0..20 {
            let is_done = peer.outgoing().is_empty()
                && self.tls.as_ref().is_none_or(|tls| !tls.wants_write());
            if is_done || self.exchange(peer, now).is_err() {
                break;
            }
            let _ = self.wait(true, Duration::from_millis(10));
        }
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            let _ = tls.write_tls(&mut self.stream);
        }
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
    }

    /// Whether the other side has a certificate for this name; `true` without TLS.
    pub fn is_of(&self, name: &str) -> bool {
        let Some(tls) = &self.tls else { return true };
        let certificate = tls.peer_certificates().and_then(|chain| chain.first());
        certificate.is_some_and(|certificate| is_for(certificate, name))
    }

    /// Whether bytes wait that the socket did not take.
    pub fn has_waiting(&self, peer: &Peer) -> bool {
        !peer.outgoing().is_empty() || self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }

    /// Waits until something arrives, or can be sent, or the time is over.
    pub fn wait(&self, for_writing: bool, most: Duration) -> io::Result<()> {
        let flags = if for_writing { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let mut sockets = [PollFd::from_borrowed_fd(self.stream.as_fd(), flags)];
        let most = Timespec::try_from(most).map_err(invalid)?;
        match poll(&mut sockets, Some(&most)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn invalid(error: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, error.to_string())
}

/// The bytes of a call that might have had none; 0 at the end of a stream, `None` if it would wait.
#[inline]
fn moved(outcome: io::Result<usize>) -> io::Result<Option<usize>> {
    match outcome {
        Ok(count) => Ok(Some(count)),
        Err(error) => match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
            _ => Err(error),
        },
    }
}

#[inline]
fn exchange_plain(
    stream: &mut TcpStream,
    peer: &mut Peer,
    now: Now,
    is_ended: &mut bool,
) -> io::Result<Exchanged> {
    let mut exchanged = Exchanged::default();
    if !peer.outgoing().is_empty()
        && let Some(sent) = moved(stream.write(peer.outgoing()))?
    {
        peer.sent(sent);
        exchanged.sent = sent;
    }
    let space = peer.space();
    if !space.is_empty()
        && let Some(count) = moved(stream.read(space))?
    {
        *is_ended |= count == 0;
        peer.arrived(count, now);
        exchanged.received = count;
    }
    Ok(exchanged)
}

fn exchange_tls(
    stream: &mut TcpStream,
    tls: &mut rustls::Connection,
    peer: &mut Peer,
    now: Now,
    is_ended: &mut bool,
) -> io::Result<Exchanged> {
    let mut exchanged = Exchanged::default();
    if !tls.is_handshaking() && !peer.outgoing().is_empty() {
        let sent = tls.writer().write(peer.outgoing())?;
        peer.sent(sent);
        exchanged.sent = sent;
    }
    while tls.wants_write() && moved(tls.write_tls(stream))?.is_some_and(|count| count > 0) {}
    if tls.wants_read() {
        if let Some(count) = moved(tls.read_tls(stream))? {
            *is_ended |= count == 0;
        }
        let processed = tls.process_new_packets();
        if let Err(error) = processed {
            // The other side learns why.
            let _ = tls.write_tls(stream);
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
    }
    let space = peer.space();
    if !space.is_empty() {
        match moved(tls.reader().read(space)) {
            Ok(count) => {
                let count = count.unwrap_or(0);
                peer.arrived(count, now);
                exchanged.received = count;
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => *is_ended = true,
            Err(error) => return Err(error),
        }
    }
    Ok(exchanged)
}
