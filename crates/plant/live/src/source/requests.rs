//! Requests to re-request servers and their answers.
//!
//! Protocol: each server has a socket that is connected to it, so that no other sender can answer.
//! Requests go to one server until it fails: it cannot be reached, or has not answered a request
//! for the time of an answer. Then they go to the next one.
//! Bounds: the servers of a [configuration](crate::LiveConfig). A server that cannot be reached is
//! tried again after pauses that grow to a second.
//! Failure: an error is a state of its server, and never the end of the plant.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::mpsc::{Receiver, TryRecvError, sync_channel},
    thread,
};

use nanotape_feed::udp::{
    BATCH, ControlMessages, Datagram, MOST_DATAGRAM_BYTES, UdpAddress, UdpError, UdpOptions,
    UdpSocket,
};

use super::{LiveError, NewsLine, outage::Outage};
use crate::ServerAddress;

/// How long after a request its answer is read, or twice the time that an answer may take. A later
/// one is read after the next request.
const LISTEN_NS: u64 = 1_000_000_000;

/// The re-request servers of a session.
#[derive(Debug)]
pub(super) struct Rerequests {
    servers: Vec<Server>,
    /// The server that gets the next request.
    current: usize,
    options: UdpOptions,
    /// Memory for an answer.
    buffer: Box<[u8]>,
    control: ControlMessages,
    /// How long an answer may take, and how long it is read, in ns.
    timeout_ns: u64,
    listen_ns: u64,
    /// Errors of the sockets.
    pub(super) errors: u64,
    /// What an operator should read.
    pub(super) news: Vec<NewsLine>,
}

#[derive(Debug)]
struct Server {
    name: ServerAddress,
    address: SocketAddr,
    /// Connected to the address; `None` before the first request.
    socket: Option<UdpSocket>,
    outage: Outage,
    /// Whether it is reported that it does not answer.
    is_silent: bool,
    /// When the first request was sent that has no answer yet.
    unanswered_ns: Option<u64>,
    /// Until when answers are read.
    until_ns: u64,
    /// The address of the name, which is looked up after a failure.
    lookup: Option<Receiver<io::Result<SocketAddr>>>,
}

impl Rerequests {
    /// Finds the addresses of the servers.
    pub(super) fn open(
        servers: &[ServerAddress],
        options: UdpOptions,
        timeout_ns: u64,
    ) -> Result<Self, LiveError> {
        let server = |name: &ServerAddress| {
            let failed = |source| LiveError::Server { server: name.clone(), source };
            Ok(Server {
                name: name.clone(),
                address: name.resolve().map_err(failed)?,
                socket: None,
                outage: Outage::default(),
                is_silent: false,
                unanswered_ns: None,
                until_ns: 0,
                lookup: None,
            })
        };
        let servers = servers.iter().map(server).collect::<Result<_, LiveError>>()?;
        Ok(Self {
            servers,
            current: 0,
            options,
            buffer: vec![0; MOST_DATAGRAM_BYTES].into_boxed_slice(),
            control: ControlMessages::default(),
            timeout_ns,
            listen_ns: LISTEN_NS.max(timeout_ns.saturating_mul(2)),
            errors: 0,
            news: Vec::new(),
        })
    }

    /// The sockets that may have answers.
    pub(super) fn sockets(&self, now_ns: u64) -> impl Iterator<Item = &UdpSocket> {
        let listening = self.servers.iter().filter(move |server| server.listens(now_ns));
        listening.filter_map(|server| server.socket.as_ref())
    }

    /// Servers that cannot be reached or do not answer.
    pub(super) fn down(&self) -> u64 {
        self.servers.iter().filter(|server| server.is_down()).count() as u64
    }

    /// Whether no server answers.
    pub(super) fn are_down(&self) -> bool {
        self.servers.iter().all(Server::is_down)
    }

    /// Sends a request to the current server, or to the next one that can be reached. A request
    /// that cannot be sent is lost: the session repeats it.
    pub(super) fn send(&mut self, request: &[u8], now_ns: u64) {
        self.leave_silent(now_ns);
        for _ in 0..self.servers.len() {
            let server = &mut self.servers[self.current];
            server.finish_lookup();
            if server.outage.is_due(now_ns) {
                match server.send(request, &self.options) {
                    Ok(()) => {
                        server.unanswered_ns.get_or_insert(now_ns);
                        server.until_ns = now_ns.saturating_add(self.listen_ns);
                        return;
                    }
                    Err(error) => self.failed(self.current, now_ns, &error),
                }
            }
            self.current = (self.current + 1) % self.servers.len();
        }
    }

    /// Calls `visit`, which decides whether it is an answer, with the packets that are there, at
    /// most [`BATCH`] of a server, and returns their number.
    pub(super) fn receive(
        &mut self,
        now_ns: u64,
        mut visit: impl FnMut(Datagram<'_>) -> bool,
    ) -> usize {
        let mut count = 0;
        for index in 0..self.servers.len() {
            for _ in 0..BATCH {
                let server = &mut self.servers[index];
                let Some(socket) = server.socket.as_ref().filter(|_| server.listens(now_ns)) else {
                    break;
                };
                match socket.receive(&mut self.buffer, &mut self.control) {
                    Ok(None) => break,
                    Ok(Some(datagram)) => {
                        count += 1;
                        if !visit(datagram) {
                            continue;
                        }
                        server.unanswered_ns = None;
                        if server.outage.is_open() || server.is_silent {
                            self.answers(index);
                        }
                    }
                    Err(error) => {
                        self.failed(index, now_ns, &error);
                        if index == self.current {
                            self.current = (index + 1) % self.servers.len();
                        }
                    }
                }
            }
        }
        count
    }

    /// Goes on to the next server if the current one has not answered in time. It may still answer.
    fn leave_silent(&mut self, now_ns: u64) {
        let server = &mut self.servers[self.current];
        if !server.listens(now_ns) {
            // The session did without this answer.
            server.unanswered_ns = None;
        }
        let silent_ns =
            server.unanswered_ns.map_or(0, |unanswered_ns| now_ns.saturating_sub(unanswered_ns));
        if silent_ns < self.timeout_ns {
            return;
        }
        // A single request may be lost, or be one that the server has no messages for.
        if silent_ns >= self.timeout_ns.saturating_mul(2)
            && !core::mem::replace(&mut server.is_silent, true)
        {
            let (name, silent_ms) = (&server.name, silent_ns / 1_000_000);
            let text = format!("re-request server {name}: no answer for {silent_ms} ms");
            self.news.push(NewsLine::problem(text));
            server.look_up();
        }
        self.current = (self.current + 1) % self.servers.len();
    }

    #[cold]
    fn answers(&mut self, index: usize) {
        let server = &mut self.servers[index];
        server.outage = Outage::default();
        server.is_silent = false;
        let text = format!("re-request server {}: answers again", server.name);
        self.news.push(NewsLine::note(text));
    }

    #[cold]
    fn failed(&mut self, index: usize, now_ns: u64, error: &UdpError) {
        self.errors += 1;
        let server = &mut self.servers[index];
        // The way to the server may be another one then, from another address of this machine.
        (server.unanswered_ns, server.socket) = (None, None);
        if server.outage.begin(now_ns) {
            let text = format!("re-request server {}: {}", server.name, error.source);
            self.news.push(NewsLine::problem(text));
            server.look_up();
        }
    }
}

impl Server {
    fn is_down(&self) -> bool {
        self.outage.is_open() || self.is_silent
    }

    /// Whether an answer may come.
    #[inline]
    fn listens(&self, now_ns: u64) -> bool {
        now_ns < self.until_ns
    }

    fn send(&mut self, request: &[u8], options: &UdpOptions) -> Result<(), UdpError> {
        let socket = match &mut self.socket {
            Some(socket) => socket,
            none => {
                let here = UdpAddress {
                    address: any_port(self.address.is_ipv4()),
                    interface: 0,
                    sender: None,
                };
                let socket = UdpSocket::open(&here, options)?;
                socket.connect(self.address)?;
                none.insert(socket)
            }
        };
        socket.send(request)
    }

    /// Looks the name up again: the server may have another address now.
    fn look_up(&mut self) {
        if !self.name.can_change() || self.lookup.is_some() {
            return;
        }
        let (sender, lookup) = sync_channel(1);
        let name = self.name.clone();
        let work = move || drop(sender.send(name.resolve()));
        // Without a thread the address stays as it is.
        if thread::Builder::new().name("names".to_owned()).spawn(work).is_ok() {
            self.lookup = Some(lookup);
        }
    }

    /// Takes the address that was found, if there is another one.
    fn finish_lookup(&mut self) {
        let Some(lookup) = &self.lookup else { return };
        match lookup.try_recv() {
            Err(TryRecvError::Empty) => return,
            Ok(Ok(address)) if address != self.address => {
                (self.address, self.socket) = (address, None);
            }
            Ok(_) | Err(TryRecvError::Disconnected) => {}
        }
        self.lookup = None;
    }
}

/// Any address and port of this machine.
fn any_port(is_ipv4: bool) -> SocketAddr {
    let ip: IpAddr =
        if is_ipv4 { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    SocketAddr::new(ip, 0)
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket as Bare;

    use nanotape_harness::eventually;

    use super::*;

    #[test]
    fn a_host_name_is_looked_up_again_after_a_failure() {
        let server = Bare::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        server.set_nonblocking(true).unwrap();
        let port = server.local_addr().unwrap().port();
        let name = format!("localhost:{port}").parse().unwrap();
        let mut requests = Rerequests::open(&[name], UdpOptions::default(), 1_000_000).unwrap();
        // The host had another address before, where there is no server now.
        requests.servers[0].address = SocketAddr::from(([127, 0, 0, 9], port));
        let mut now_ns = 1;
        eventually("the server gets a request at its address of today", || {
            now_ns += 2_000_000_000;
            requests.send(b"request", now_ns);
            requests.receive(now_ns, |_| true);
            server.recv(&mut [0; 64]).is_ok()
        });
        assert_eq!(requests.down(), 1, "it has not answered yet");
        let [news] = &requests.news[..] else { panic!("{:?}", requests.news) };
        assert!(news.is_problem && news.text.contains("Connection refused"), "{news:?}");
    }
}
