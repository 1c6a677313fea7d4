//! The exchange with its sockets: two lines over UDP, a re-request server, SoupBinTCP and GLIMPSE.
//!
//! Threads: the caller's thread reads the day and sends both lines. Each server has a thread of its
//! own, which reads the history. So no server delays a packet.
//! Network: a line can be a multicast group or one receiver. Multicast packets leave by the chosen
//! interface with a TTL of 0 by default, which keeps them on the machine.

mod error;
mod rerequests;

use std::{
    cell::RefCell,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, UdpSocket},
    path::Path,
    rc::Rc,
    thread::{self, JoinHandle},
    time::Duration,
};

pub use error::ExchangeError;
use nanotape_clock::Clock;
use nanotape_feed::{Damage, DaySource, DaySummary};
use nanotape_tape::{LongWaits, Pacer, ShutdownFlag};
use nanotape_types::{Alpha, NanosSinceMidnight};
pub use rerequests::ServedRequests;

use crate::{
    Cut, Faults, Glimpse, GlimpseSession, History, HistoryWriter, Line, Packetiser, Rerequests,
    ServerFaults,
    framing::LineFraming,
    rng::{Rng, mixed},
    sender::{LINES, Outcome, Sender, SendingLine},
    tcp::{Connections, Soup},
    transport::{SocketTransport, Transport},
};
pub use crate::{faithfulness::Faithfulness, sender::LineSummary, tcp::ConnectionCounts};

/// The most connections of the SoupBinTCP server.
const MOST_CLIENTS: usize = 64;

/// The most connections of the GLIMPSE server: each keeps a snapshot.
const MOST_GLIMPSE_CLIENTS: usize = 8;

/// Messages that GLIMPSE follows between two turns of its connections.
const FOLLOW: u64 = 10_000;

/// Time between two checks of a server thread for the end.
const TURN: Duration = Duration::from_millis(20);

/// The silence of a pipe after which complete packets are sent.
pub(crate) const PATIENCE: Duration = Duration::from_millis(50);

/// What an exchange sends, where, and with which faults.
#[derive(Clone, Debug)]
pub struct ExchangeOptions {
    /// The name of the session.
    pub session: Alpha<10>,
    /// The pace in thousandths of the recorded one; 0 is unlimited.
    pub pace_milli: u32,
    /// Where line A and line B go; `None` sends nothing on a line.
    pub lines: [Option<SocketAddrV4>; 2],
    /// The faults of each line.
    pub faults: [Faults; 2],
    /// The faults of both lines at once.
    pub faults_of_both: Faults,
    /// The interface that multicast packets leave by.
    pub interface: Ipv4Addr,
    /// The number of routers that multicast packets pass, plus one; 0 keeps them on the machine.
    pub ttl: u32,
    /// The re-request server.
    pub rerequests: Option<SocketAddr>,
    /// The faults of the re-request server.
    pub rerequest_faults: ServerFaults,
    /// The SoupBinTCP server.
    pub soup: Option<SocketAddr>,
    /// The faults of the SoupBinTCP server.
    pub soup_faults: ServerFaults,
    /// The GLIMPSE server.
    pub glimpse: Option<SocketAddr>,
    /// The faults of the GLIMPSE server.
    pub glimpse_faults: ServerFaults,
    /// The seed of all faults, and of the cuts.
    pub seed: u64,
    /// The limits of packets; the seed is set for each line.
    pub cut: Cut,
    /// Messages before this time are not sent on the lines, and the servers have them.
    pub from: Option<NanosSinceMidnight>,
    /// The session ends before the first message of this time or later.
    pub until: Option<NanosSinceMidnight>,
    /// Messages before this time are not paced.
    pub pace_from: Option<NanosSinceMidnight>,
    /// Time of heartbeats before the first message.
    pub wait: Duration,
    /// Time of ends of session, and of the servers, after the last message.
    pub linger: Duration,
    /// Receives lines for an operator: until when nothing is sent.
    pub report: fn(&str),
}

impl Default for ExchangeOptions {
    fn default() -> Self {
        Self {
            session: Alpha::new(*b"NANOTAPE  "),
            pace_milli: 1_000,
            lines: [None; 2],
            faults: [Faults::default(), Faults::default()],
            faults_of_both: Faults::default(),
            interface: Ipv4Addr::LOCALHOST,
            ttl: 0,
            rerequests: None,
            rerequest_faults: ServerFaults::default(),
            soup: None,
            soup_faults: ServerFaults::default(),
            glimpse: None,
            glimpse_faults: ServerFaults::default(),
            seed: 1,
            cut: Cut::default(),
            from: None,
            until: None,
            pace_from: None,
            wait: Duration::ZERO,
            linger: Duration::from_secs(3),
            report: |_| (),
        }
    }
}

/// The addresses of the servers, with the ports that the system chose.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Addresses {
    /// The re-request server.
    pub rerequests: Option<SocketAddr>,
    /// The SoupBinTCP server.
    pub soup: Option<SocketAddr>,
    /// The GLIMPSE server.
    pub glimpse: Option<SocketAddr>,
}

/// What an exchange did.
#[derive(Debug)]
pub struct ExchangeSummary {
    /// How the reading of the day ended.
    pub day: DaySummary,
    /// Messages of the session.
    pub messages: u64,
    /// Messages before [`ExchangeOptions::from`].
    pub skipped: u64,
    /// The lines A and B.
    pub lines: [LineSummary; 2],
    /// The lateness of packets; without packets if the pace is unlimited.
    pub faithfulness: Faithfulness,
    /// Time from the first message to the last packet.
    pub sending_ns: u64,
    /// The same time as the day has it.
    pub recorded_ns: u64,
    /// The re-request server.
    pub rerequests: ServedRequests,
    /// The SoupBinTCP server.
    pub soup: ConnectionCounts,
    /// The GLIMPSE server.
    pub glimpse: ConnectionCounts,
}

/// An exchange whose sockets are bound and whose servers run.
#[derive(Debug)]
pub struct SimulatedExchange {
    sender: Sender<SocketTransport>,
    addresses: Addresses,
    wait: Duration,
    linger: Duration,
    servers: Servers,
}

/// The threads of the servers. Dropping the value ends them.
#[derive(Debug, Default)]
struct Servers {
    end: ShutdownFlag,
    rerequests: Option<JoinHandle<ServedRequests>>,
    soup: Option<JoinHandle<ConnectionCounts>>,
    glimpse: Option<JoinHandle<ConnectionCounts>>,
}

impl Servers {
    fn start(
        options: &ExchangeOptions,
        history: History,
    ) -> Result<(Addresses, Self), ExchangeError> {
        let (mut servers, mut addresses) = (Self::default(), Addresses::default());
        if let Some(address) = options.rerequests {
            let socket = UdpSocket::bind(address).map_err(ExchangeError::bind(address))?;
            let bound = socket.local_addr().map_err(ExchangeError::bind(address))?;
            addresses.rerequests = Some(bound);
            let (max_bytes, faults) = (options.cut.max_bytes, options.rerequest_faults);
            let server = Rerequests::new(history.clone(), faults, max_bytes, options.seed);
            let end = servers.end.clone();
            let serve = move || rerequests::serve(&socket, server, &end);
            servers.rerequests = Some(spawn("rerequests", serve)?);
        }
        if let Some(address) = options.soup {
            let (listener, bound) = listen(address)?;
            addresses.soup = Some(bound);
            let (history, end) = (history.clone(), servers.end.clone());
            let faults = (options.soup_faults, Rng::new(options.seed, 4));
            let serve = move || {
                let make = |now_ns| Soup::new(history.clone(), now_ns);
                Connections::new(listener, MOST_CLIENTS, faults, make).serve(&end, || false)
            };
            servers.soup = Some(spawn("soup", serve)?);
        }
        if let Some(address) = options.glimpse {
            let (listener, bound) = listen(address)?;
            addresses.glimpse = Some(bound);
            let end = servers.end.clone();
            let faults = (options.glimpse_faults, Rng::new(options.seed, 5));
            let serve = move || serve_glimpse(listener, history, faults, &end);
            servers.glimpse = Some(spawn("glimpse", serve)?);
        }
        Ok((addresses, servers))
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.end.request();
    }
}

/// Chooses where the messages of a day stay for the servers: in a day file that is not compressed,
/// or else in a temporary file in `folder`.
pub fn history_of(
    session: Alpha<10>,
    path: Option<&Path>,
    folder: &Path,
) -> Result<(HistoryWriter, History), crate::HistoryError> {
    match path.filter(|path| is_plain(path)) {
        Some(path) => History::of_file(session, path),
        None => History::spooled(session, folder),
    }
}

fn is_plain(path: &Path) -> bool {
    use std::io::Read as _;

    use nanotape_feed::Compression;
    use nanotape_wire::capture::CaptureFormat;

    let Ok(file) = std::fs::File::open(path) else { return false };
    let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
    let mut first = Vec::new();
    is_file
        && file.take(Compression::MAGIC_BYTES as u64).read_to_end(&mut first).is_ok()
        && Compression::of(&first) == Compression::None
        && CaptureFormat::detect(&first).is_none()
}

impl SimulatedExchange {
    /// Binds the sockets and starts the servers. `stop` ends the exchange early.
    pub fn open(
        options: ExchangeOptions,
        (writer, history): (HistoryWriter, History),
        stop: ShutdownFlag,
    ) -> Result<Self, ExchangeError> {
        let transport = SocketTransport::open(options.interface, options.ttl)?;
        let (addresses, servers) = Servers::start(&options, history)?;
        let sender = Sender { histories: vec![writer], ..sender(&options, transport, stop) };
        let (wait, linger) = (options.wait, options.linger);
        Ok(Self { sender, addresses, wait, linger, servers })
    }

    /// Where the servers are.
    pub fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// Sends the day, stays for the time of `linger`, and ends the servers. Calls `progress` once
    /// per block, and `on_damage` for bytes that do not follow the format.
    pub fn run(
        mut self,
        source: &mut DaySource,
        progress: impl FnMut(&DaySource),
        on_damage: impl FnMut(Damage),
    ) -> Result<ExchangeSummary, ExchangeError> {
        source.set_patience(PATIENCE);
        self.sender.stay_idle(self.wait);
        // The servers end, whatever failed.
        let sent = self.sender.day(source, progress, on_damage).and_then(|sent| {
            self.sender.linger(self.linger)?;
            Ok(sent)
        });
        let servers = &mut self.servers;
        servers.end.request();
        let rerequests = join(servers.rerequests.take());
        let (soup, glimpse) = (join(servers.soup.take()), join(servers.glimpse.take()));
        let (day, sending_ns) = sent?;
        Ok(ExchangeSummary { rerequests, soup, glimpse, ..summary(self.sender, day, sending_ns) })
    }
}

/// The sender of the lines, without servers.
pub(crate) fn sender<T: Transport>(
    options: &ExchangeOptions,
    transport: T,
    stop: ShutdownFlag,
) -> Sender<T> {
    sender_of(options, &[LineFraming::MoldUdp64(options.session)], transport, stop)
}

/// The sender of the lines of several streams. Further streams have the ports after those of the
/// first one, and faults of their own.
pub(crate) fn sender_of<T: Transport>(
    options: &ExchangeOptions,
    streams: &[LineFraming],
    transport: T,
    stop: ShutdownFlag,
) -> Sender<T> {
    let clock = Clock::calibrate();
    let mut lines = Vec::new();
    for (stream, &framing) in (0u16..).zip(streams) {
        let seed = match stream {
            0 => options.seed,
            _ => mixed(options.seed ^ mixed(stream.into())),
        };
        for ((number, target), faults) in (0..).zip(&options.lines).zip(&options.faults) {
            let cut = Cut { seed: Some(seed.wrapping_mul(2).wrapping_add(number)), ..options.cut };
            let packetiser = Packetiser::framed(framing, 1, cut);
            let both = &options.faults_of_both;
            let line = Line::framed(framing, faults.clone(), both, seed, number);
            let target = target.map(|target| further(target, stream));
            lines.push(SendingLine::new(packetiser, line, target, clock.stamp()));
        }
    }
    Sender {
        lines,
        transport,
        interface: options.interface,
        midnight_ns: 0,
        histories: Vec::new(),
        restart: options.faults_of_both.restart,
        clock,
        pacer: Pacer::new(
            options.pace_milli,
            options.from.max(options.pace_from).unwrap_or_default().get(),
        ),
        from: options.from,
        until: options.until,
        stop,
        faithfulness: Faithfulness::default(),
        outcome: Outcome::default(),
        report: options.report,
        waits: LongWaits::default(),
    }
}

/// The address of a further stream.
pub(crate) fn further(first: SocketAddrV4, stream: u16) -> SocketAddrV4 {
    SocketAddrV4::new(*first.ip(), first.port().saturating_add(stream))
}

/// What was sent, without servers.
pub(crate) fn summary<T: Transport>(
    sender: Sender<T>,
    day: DaySummary,
    sending_ns: u64,
) -> ExchangeSummary {
    let Sender { lines: of_streams, faithfulness, outcome, .. } = sender;
    let mut lines = [LineSummary::default(); LINES];
    for (index, line) in of_streams.iter().enumerate() {
        lines[index % LINES] += line.summary();
    }
    ExchangeSummary {
        day,
        messages: outcome.messages,
        skipped: outcome.skipped,
        lines,
        faithfulness,
        sending_ns,
        recorded_ns: outcome.recorded_ns(),
        rerequests: ServedRequests::default(),
        soup: ConnectionCounts::default(),
        glimpse: ConnectionCounts::default(),
    }
}

pub(crate) fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ExchangeError> {
    let listener = TcpListener::bind(address).map_err(ExchangeError::bind(address))?;
    listener.set_nonblocking(true).map_err(ExchangeError::bind(address))?;
    let bound = listener.local_addr().map_err(ExchangeError::bind(address))?;
    Ok((listener, bound))
}

/// GLIMPSE follows the day between the turns of its connections.
fn serve_glimpse(
    listener: TcpListener,
    history: History,
    faults: (ServerFaults, Rng),
    end: &ShutdownFlag,
) -> ConnectionCounts {
    let glimpse = Rc::new(RefCell::new(Glimpse::with_capacity(1 << 16)));
    let mut followed = history.clone();
    let make =
        |now_ns| Soup::new(GlimpseSession::new(Rc::clone(&glimpse), history.clone()), now_ns);
    let connections = Connections::new(listener, MOST_GLIMPSE_CLIENTS, faults, make);
    connections.serve(end, || {
        let mut glimpse = glimpse.borrow_mut();
        let before = glimpse.next();
        glimpse.follow(&mut followed, FOLLOW);
        glimpse.next() > before
    })
}

pub(crate) fn spawn<T: Send + 'static>(
    name: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, ExchangeError> {
    let builder = thread::Builder::new().name(name.to_owned());
    builder.spawn(work).map_err(|source| ExchangeError::Thread { name, source })
}

/// The result of a server; a panic of its thread continues here.
pub(crate) fn join<T: Default>(server: Option<JoinHandle<T>>) -> T {
    match server.map(JoinHandle::join) {
        None => T::default(),
        Some(Ok(result)) => result,
        Some(Err(panic)) => std::panic::resume_unwind(panic),
    }
}
