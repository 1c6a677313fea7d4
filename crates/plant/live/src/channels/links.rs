//! The connections of a feed of channels: to the Gap Request Proxy, and to the spin server of each
//! unit.
//!
//! Protocol: a thread connects, so that the thread of the plant never waits for a server. The plant
//! itself reads and writes the connection to the proxy, without waiting; an image is fetched in a
//! thread of its own.
//! Bounds: [`MOST_WAITING`] requests before the proxy has accepted the login.
//! Failure: a lost connection is reported, and made again after pauses that grow to a second.
//! Until then an image is fetched where a server has one, and requests are repeated elsewhere.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
    sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel},
    thread,
    time::Duration,
};

use nanotape_clock::Clock;
use nanotape_feed::{
    SpinImage,
    pitch_tcp::{GapLogin, ProxyEvent, ProxySession, RefusedFor, SpinExchange, gap_status},
    soupbintcp::attended_ns,
};

use super::{config::SpinServer, set::Refusal};
use crate::{
    ServerAddress,
    source::{
        news::NewsLine,
        outage::Outage,
        task::{Cancelled, Task},
    },
};

/// How long a server may take to accept a connection.
const MOST_CONNECT: Duration = Duration::from_secs(2);

/// Requests that wait for a login.
const MOST_WAITING: usize = 256;

/// Time between two readings of a connection, in ns.
const POLL_NS: u64 = 500_000;

/// The pause before an image is fetched again after a failure, in ns; it doubles.
const PAUSE_NS: u64 = 100_000_000;

/// How long a read of a spin server waits.
const READ: Duration = Duration::from_millis(20);

/// The connection to a proxy.
#[derive(Debug)]
pub(crate) struct ProxyLink {
    address: ServerAddress,
    session: ProxySession,
    stream: Option<TcpStream>,
    connecting: Option<Receiver<std::io::Result<TcpStream>>>,
    outage: Outage,
    waiting: Vec<(u8, u64, u16)>,
    /// Requests that were refused, or that cannot be sent.
    pub(crate) refused: Vec<Refusal>,
    polled_ns: u64,
    buffer: Box<[u8]>,
    /// Failures of the connection.
    pub(crate) errors: u64,
    pub(crate) news: Vec<NewsLine>,
}

impl ProxyLink {
    pub(crate) fn new(address: ServerAddress, login: GapLogin) -> Self {
        Self {
            address,
            session: ProxySession::new(login),
            stream: None,
            connecting: None,
            outage: Outage::default(),
            waiting: Vec::new(),
            refused: Vec::new(),
            polled_ns: 0,
            buffer: vec![0; 64 << 10].into_boxed_slice(),
            errors: 0,
            news: Vec::new(),
        }
    }

    /// Whether it cannot be reached.
    pub(crate) fn is_down(&self) -> bool {
        self.outage.is_open()
    }

    /// Whether a response is awaited, or the connection itself.
    pub(crate) fn is_waiting(&self) -> bool {
        self.connecting.is_some() || !self.waiting.is_empty() || self.session.is_waiting()
    }

    /// Requests messages now, or after the login.
    pub(crate) fn request(&mut self, (key, first, count): (u8, u64, u16)) {
        if self.session.request(key, first, count) {
            self.polled_ns = 0;
            return;
        }
        if self.outage.is_open() || self.waiting.len() == MOST_WAITING {
            self.refused.push(Refusal { key, first, lasts: RefusedFor::Now });
        } else {
            self.waiting.push((key, first, count));
        }
    }

    /// Goes on with the connection, and calls `answer` with units of messages. Returns how many.
    pub(crate) fn poll(&mut self, now_ns: u64, mut answer: impl FnMut(&[u8])) -> usize {
        if now_ns.saturating_sub(self.polled_ns) < POLL_NS {
            return 0;
        }
        self.polled_ns = now_ns;
        if self.stream.is_none() {
            self.connect(now_ns);
        }
        let Some(stream) = &mut self.stream else { return 0 };
        let (mut count, mut has_login) = (0, false);
        let (refused, news, address) = (&mut self.refused, &mut self.news, &self.address);
        match stream.read(&mut self.buffer) {
            Ok(0) => self.session.disconnected(),
            Ok(length) => {
                self.session.receive(&self.buffer[..length], now_ns, |event| match event {
                    ProxyEvent::LoggedIn => has_login = true,
                    ProxyEvent::Packet(unit) => {
                        count += 1;
                        answer(unit);
                    }
                    ProxyEvent::Refused { key, first, status } => {
                        let why = gap_status(status);
                        let text = format!(
                            "gap server {address}: unit {key}: messages from {first} on refused: \
                             {why}"
                        );
                        news.push(NewsLine::problem(text));
                        refused.push(Refusal { key, first, lasts: RefusedFor::of(status) });
                    }
                });
            }
            Err(error) if is_pause(error.kind()) => {}
            Err(_) => self.session.disconnected(),
        }
        if has_login {
            self.works(now_ns);
        }
        self.session.poll(now_ns);
        self.send(now_ns);
        if let Some(why) = self.session.closed() {
            self.failed(now_ns, &why.to_string());
        }
        count
    }

    fn works(&mut self, now_ns: u64) {
        let text = match self.outage.end(now_ns) {
            Some(down_ns) => {
                let down_ms = down_ns / 1_000_000;
                format!("gap server {}: connected again after {down_ms} ms", self.address)
            }
            None => format!("gap server {}: connected", self.address),
        };
        self.news.push(NewsLine::note(text));
        for (key, first, count) in core::mem::take(&mut self.waiting) {
            if !self.session.request(key, first, count) {
                self.refused.push(Refusal { key, first, lasts: RefusedFor::Now });
            }
        }
    }

    fn send(&mut self, now_ns: u64) {
        let Some(stream) = &mut self.stream else { return };
        while !self.session.output().is_empty() {
            match stream.write(self.session.output()) {
                Ok(0) => return self.session.disconnected(),
                Ok(count) => self.session.sent(count, now_ns),
                Err(error) if is_pause(error.kind()) => return,
                Err(_) => return self.session.disconnected(),
            }
        }
    }

    /// Begins to connect if it is time, or takes the connection.
    fn connect(&mut self, now_ns: u64) {
        let Some(connecting) = &self.connecting else {
            if !self.outage.is_due(now_ns) {
                return;
            }
            let (sender, receiver) = sync_channel(1);
            let address = self.address.clone();
            let work = move || drop(sender.send(connected(&address)));
            match thread::Builder::new().name("gap server".to_owned()).spawn(work) {
                Ok(_) => self.connecting = Some(receiver),
                Err(error) => self.failed(now_ns, &error.to_string()),
            }
            return;
        };
        let result = match connecting.try_recv() {
            Err(TryRecvError::Empty) => return,
            Err(TryRecvError::Disconnected) => Err(ErrorKind::BrokenPipe.into()),
            Ok(result) => result,
        };
        self.connecting = None;
        let taken = result.and_then(|stream| stream.set_nonblocking(true).map(|()| stream));
        match taken {
            Ok(stream) => {
                self.stream = Some(stream);
                self.session.connected(now_ns);
            }
            Err(error) => self.failed(now_ns, &error.to_string()),
        }
    }

    #[cold]
    fn failed(&mut self, now_ns: u64, why: &str) {
        self.errors += 1;
        self.stream = None;
        self.session = self.session.renewed();
        if self.outage.begin(now_ns) {
            let text = format!("gap server {}: {why}; it is tried again", self.address);
            self.news.push(NewsLine::problem(text));
        }
        let waiting = core::mem::take(&mut self.waiting);
        let refused = waiting.into_iter();
        self.refused.extend(refused.map(|(key, first, _)| Refusal {
            key,
            first,
            lasts: RefusedFor::Now,
        }));
    }
}

fn connected(address: &ServerAddress) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address.resolve()?, MOST_CONNECT)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Whether nothing could be read or written now.
fn is_pause(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::TimedOut)
}

/// The spin servers, and the images that are being fetched.
#[derive(Debug)]
pub(crate) struct SpinLinks {
    servers: Vec<SpinServer>,
    login: Option<GapLogin>,
    timeout_ns: u64,
    fetches: Vec<SpinFetch>,
    /// Failures in a row, by unit.
    failures: [u8; 256],
    pub(crate) news: Vec<NewsLine>,
}

#[derive(Debug)]
struct SpinFetch {
    key: u8,
    result: Receiver<Result<(SpinImage, u64), String>>,
    _task: Option<Task>,
}

/// The end of a fetch: the unit, and the image with the number of the next message.
pub(crate) type SpinResult = (u8, Option<(SpinImage, u64)>);

impl SpinLinks {
    pub(crate) fn new(servers: Vec<SpinServer>, login: Option<GapLogin>, timeout_ns: u64) -> Self {
        let (fetches, failures, news) = (Vec::new(), [0; 256], Vec::new());
        Self { servers, login, timeout_ns, fetches, failures, news }
    }

    /// Whether an image is being fetched.
    pub(crate) fn is_fetching(&self) -> bool {
        !self.fetches.is_empty()
    }

    /// Begins to fetch an image of a unit with all messages before `needed`. A fetch for the unit
    /// before it is cancelled.
    pub(crate) fn fetch(&mut self, key: u8, needed: u64) {
        self.fetches.retain(|fetch| fetch.key != key);
        let of_unit = self.servers.iter().filter(|server| server.unit == key);
        let servers: Vec<ServerAddress> = of_unit.map(|server| server.address.clone()).collect();
        let (sender, result) = sync_channel(1);
        let failures = self.failures[usize::from(key)];
        let pause_ns = match failures {
            0 => 0,
            many => (PAUSE_NS << many.min(6)).min(self.timeout_ns / 4),
        };
        let share_ns =
            self.timeout_ns.saturating_sub(pause_ns) / 10 * 9 / servers.len().max(1) as u64;
        let login = self.login;
        let work = move |cancelled: &Cancelled| {
            cancelled.pause(Duration::from_nanos(pause_ns));
            let result = fetch_image(&servers, failures, (needed, login), share_ns, cancelled);
            send(&sender, result);
        };
        let task = Task::start("spin", work);
        if let Err(error) = &task {
            let text = format!("unit {key}: image: cannot start a thread for it: {error}");
            self.news.push(NewsLine::problem(text));
        }
        self.fetches.push(SpinFetch { key, result, _task: task.ok() });
    }

    /// Ends fetches that are not needed any more.
    pub(crate) fn keep(&mut self, is_needed: impl Fn(u8) -> bool) {
        self.fetches.retain(|fetch| is_needed(fetch.key));
    }

    /// The fetches that have ended, each once.
    pub(crate) fn results(&mut self) -> Vec<SpinResult> {
        let mut results = Vec::new();
        let Self { fetches, news, failures, .. } = self;
        fetches.retain(|fetch| {
            let key = fetch.key;
            let failed = match fetch.result.try_recv() {
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => "no server has one".to_owned(),
                Ok(Ok(image)) => {
                    failures[usize::from(key)] = 0;
                    results.push((key, Some(image)));
                    return false;
                }
                Ok(Err(error)) => error,
            };
            let failures = &mut failures[usize::from(key)];
            *failures = failures.saturating_add(1);
            news.push(NewsLine::problem(format!("unit {key}: image: {failed}")));
            results.push((key, None));
            false
        });
        results
    }
}

fn send(
    sender: &SyncSender<Result<(SpinImage, u64), String>>,
    result: Result<(SpinImage, u64), String>,
) {
    // A fetch that was cancelled has no receiver any more.
    let _ = sender.send(result);
}

/// Tries the servers of a unit, each for a share of the time, first another one after a failure.
fn fetch_image(
    servers: &[ServerAddress],
    failures: u8,
    (needed, login): (u64, Option<GapLogin>),
    share_ns: u64,
    cancelled: &Cancelled,
) -> Result<(SpinImage, u64), String> {
    let mut error = "no server for the unit".to_owned();
    for place in 0..servers.len() {
        let server = &servers[(place + usize::from(failures)) % servers.len()];
        match fetch_from(server, (needed, login), share_ns, cancelled) {
            Ok(image) => return Ok(image),
            Err(why) => error = format!("spin server {server}: {why}"),
        }
        if cancelled.get() {
            break;
        }
    }
    Err(error)
}

fn fetch_from(
    server: &ServerAddress,
    (needed, login): (u64, Option<GapLogin>),
    share_ns: u64,
    cancelled: &Cancelled,
) -> Result<(SpinImage, u64), String> {
    let clock = Clock::monotonic();
    let began = clock.stamp();
    let now_ns = attended_ns(|| clock.nanos_between(began, clock.stamp()));
    let mut stream = connected(server).map_err(|error| error.to_string())?;
    stream.set_read_timeout(Some(READ)).map_err(|error| error.to_string())?;
    stream.set_write_timeout(Some(READ)).map_err(|error| error.to_string())?;
    let mut exchange = SpinExchange::new(needed, login);
    exchange.connected(now_ns());
    let mut buffer = vec![0; 256 << 10];
    loop {
        while !exchange.output().is_empty() {
            match stream.write(exchange.output()) {
                Ok(count @ 1..) => exchange.sent(count, now_ns()),
                Err(error) if is_pause(error.kind()) => break,
                Ok(0) => return Err("the connection was closed".to_owned()),
                Err(error) => return Err(error.to_string()),
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) => return Err("the connection was closed before the end".to_owned()),
            Ok(length) => match exchange.receive(&buffer[..length], now_ns()) {
                Ok(Some(image)) => return Ok(image),
                Ok(None) => {}
                Err(end) => return Err(end.to_string()),
            },
            Err(error) if is_pause(error.kind()) => {}
            Err(error) => return Err(error.to_string()),
        }
        exchange.poll(now_ns()).map_err(|end| end.to_string())?;
        if cancelled.get() || now_ns() >= share_ns {
            let ms = share_ns / 1_000_000;
            return Err(format!("no image that ends before message {needed} or later in {ms} ms"));
        }
    }
}
