//! The exchange of another protocol with its sockets: the lines of each stream, and the servers of
//! PITCH.
//!
//! Threads: the caller's thread reads the day and sends all lines. The gap server has a thread, and
//! the spin servers of all units have one.

use std::{
    cell::RefCell,
    net::{SocketAddr, SocketAddrV4, TcpListener},
    path::Path,
    rc::Rc,
    thread::JoinHandle,
    time::Duration,
};

use nanotape_clock::Clock;
use nanotape_feed::{Damage, DaySource};
use nanotape_synth::{FeedProtocol, MarketConfig, ProtocolConfig, ProtocolDay};
use nanotape_tape::ShutdownFlag;
use nanotape_types::Alpha;
use nanotape_wire::{
    framing::{iextp::IexSession, pitch::PitchUnit},
    iex_deep, iex_deep_plus, iex_tops,
};

use super::{
    dialogue::PitchDialogue,
    gap::{GapAnswers, GapFaults, GapLimits, GapProxy, GapServerSummary, GapService},
    login::{Logins, PitchLogin},
    spin::{SpinCounts, SpinServerSummary, SpinService, SpinUnit},
    translation::send_day,
};
use crate::{
    Faults, History, LineFraming, ServerFaults,
    rng::Rng,
    sender::{LINES, LineSummary, Sender},
    server::{
        ExchangeError, ExchangeOptions, ExchangeSummary, PATIENCE, join, listen, sender_of, spawn,
        summary,
    },
    tcp::{Connections, serve_all},
    transport::SocketTransport,
};

/// The most connections of the gap server.
const MOST_GAP_CLIENTS: usize = 64;

/// The most connections of the spin server of a unit: each can keep an image.
const MOST_SPIN_CLIENTS: usize = 8;

/// What an exchange of another protocol sends, where, and with which faults.
#[derive(Clone, Debug)]
pub struct FeedExchangeOptions {
    /// The lines, their faults and the pace. The name of the session and the servers of ITCH are
    /// not used.
    pub lines: ExchangeOptions,
    /// The protocol.
    pub protocol: FeedProtocol,
    /// Matching units of PITCH, from 1 to 250. Unit n has the ports n - 1 above the first.
    pub units: u8,
    /// Midnight of the day at the exchange, in nanoseconds since the UNIX epoch.
    pub midnight_ns: u64,
    /// The sessions that clients can log in to; without any, every login is accepted.
    pub logins: Vec<PitchLogin>,
    /// The gap server; only PITCH has one.
    pub gap: Option<GapServerOptions>,
    /// The spin servers; only PITCH has them.
    pub spin: Option<SpinServerOptions>,
}

/// Where and how missed messages are requested.
#[derive(Clone, Debug)]
pub struct GapServerOptions {
    /// Where requests arrive.
    pub server: SocketAddr,
    /// Where the messages of the first unit go.
    pub answers: SocketAddrV4,
    /// What can be requested.
    pub limits: GapLimits,
    /// The faults of the server.
    pub faults: GapFaults,
    /// The faults of the packets of answers. Their times are those since the start.
    pub answer_faults: Faults,
}

/// Where images are requested.
#[derive(Clone, Copy, Debug)]
pub struct SpinServerOptions {
    /// Where requests for the first unit arrive. With port 0 the system chooses all ports.
    pub server: SocketAddr,
    /// The faults of the servers.
    pub faults: ServerFaults,
}

/// The addresses of the servers, with the ports that the system chose.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FeedAddresses {
    /// The gap server.
    pub gap: Option<SocketAddr>,
    /// The spin server of each unit.
    pub spins: Vec<SocketAddr>,
}

/// What was sent of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UnitSummary {
    /// Number of the last message.
    pub last: u64,
    /// The lines A and B.
    pub lines: [LineSummary; LINES],
}

/// What an exchange of another protocol did.
#[derive(Debug)]
pub struct FeedSummary {
    /// The day and the lines, over all streams. There are no servers of ITCH.
    pub sent: ExchangeSummary,
    /// Each matching unit, or the only stream of IEX.
    pub units: Vec<UnitSummary>,
    /// The gap server.
    pub gap: GapServerSummary,
    /// The spin servers.
    pub spin: SpinServerSummary,
}

/// An exchange of another protocol whose sockets are bound and whose servers run.
#[derive(Debug)]
pub struct SimulatedFeed {
    sender: Sender<SocketTransport>,
    day: ProtocolDay,
    protocol: FeedProtocol,
    wait: Duration,
    linger: Duration,
    addresses: FeedAddresses,
    servers: FeedServers,
}

/// The threads of the servers. Dropping the value ends them.
#[derive(Debug, Default)]
struct FeedServers {
    end: ShutdownFlag,
    gap: Option<JoinHandle<GapServerSummary>>,
    spin: Option<JoinHandle<SpinServerSummary>>,
}

impl Drop for FeedServers {
    fn drop(&mut self) {
        self.end.request();
    }
}

impl FeedExchangeOptions {
    /// Streams of the feed.
    fn streams(&self) -> usize {
        self.config().streams()
    }

    fn config(&self) -> ProtocolConfig {
        let Self { protocol, midnight_ns, units, .. } = *self;
        ProtocolConfig { protocol, midnight_ns, units, has_line_b: false }
    }

    fn framings(&self) -> Vec<LineFraming> {
        let midnight_ns = self.midnight_ns;
        let message_protocol_id = match self.protocol {
            FeedProtocol::IexDeep => iex_deep::MESSAGE_PROTOCOL_ID,
            FeedProtocol::IexDeepPlus => iex_deep_plus::MESSAGE_PROTOCOL_ID,
            FeedProtocol::IexTops => iex_tops::MESSAGE_PROTOCOL_ID,
            FeedProtocol::CboePitch => {
                let unit = |stream| LineFraming::Pitch(PitchUnit(stream as u8 + 1));
                return (0..self.streams()).map(unit).collect();
            }
        };
        // As the real ones: above a thousand million, and another one every day.
        let session_id = 1 << 30 | (midnight_ns / 86_400_000_000_000) as u32;
        let session = IexSession { message_protocol_id, channel_id: 1, session_id };
        vec![LineFraming::IexTp { session, midnight_ns }]
    }

    /// Returns an error if a unit would have no port.
    fn require_ports(&self) -> Result<(), ExchangeError> {
        let further = self.streams() as u16 - 1;
        let lines = self.lines.lines.into_iter().flatten().map(SocketAddr::V4);
        let answers = self.gap.iter().map(|gap| SocketAddr::V4(gap.answers));
        let spins = self.spin.iter().map(|spin| spin.server);
        for address in lines.chain(answers).chain(spins) {
            if address.port().checked_add(further).is_none() {
                return Err(ExchangeError::Ports { address, units: further + 1 });
            }
        }
        Ok(())
    }
}

impl SimulatedFeed {
    /// Binds the sockets and starts the servers. The messages of PITCH for the servers are in
    /// temporary files in `folder`. `stop` ends the exchange early.
    pub fn open(
        mut options: FeedExchangeOptions,
        folder: &Path,
        stop: ShutdownFlag,
    ) -> Result<Self, ExchangeError> {
        options.require_ports()?;
        if options.protocol != FeedProtocol::CboePitch {
            (options.gap, options.spin) = (None, None);
        }
        let lines = &options.lines;
        let transport = SocketTransport::open(lines.interface, lines.ttl)?;
        let mut sender = sender_of(lines, &options.framings(), transport, stop);
        sender.midnight_ns = options.midnight_ns;
        let mut histories = Vec::new();
        if options.gap.is_some() || options.spin.is_some() {
            for _ in 0..options.streams() {
                let (writer, history) = History::spooled(Alpha::new(*b"PITCH     "), folder)?;
                sender.histories.push(writer);
                histories.push(history);
            }
        }
        let (addresses, servers) = FeedServers::start(&options, &histories)?;
        // The seed of a market chooses the numbers of orders: they do not depend on that of faults.
        let day = ProtocolDay::new(&MarketConfig::default(), options.config());
        let (protocol, wait, linger) = (options.protocol, lines.wait, lines.linger);
        Ok(Self { sender, day, protocol, wait, linger, addresses, servers })
    }

    /// Where the servers are.
    pub fn addresses(&self) -> &FeedAddresses {
        &self.addresses
    }

    /// Sends the day, stays for the time of `linger`, and ends the servers. Calls `progress` once
    /// per block, and `on_damage` for bytes that do not follow the format.
    pub fn run(
        mut self,
        source: &mut DaySource,
        progress: impl FnMut(&DaySource),
        on_damage: impl FnMut(Damage),
    ) -> Result<FeedSummary, ExchangeError> {
        source.set_patience(PATIENCE);
        let sender = &mut self.sender;
        sender.stay_idle(self.wait);
        // The servers end, whatever failed.
        let day = (self.day, self.protocol);
        let sent = send_day(sender, day, source, progress, on_damage).and_then(|sent| {
            sender.linger(self.linger)?;
            Ok(sent)
        });
        self.servers.end.request();
        let gap = join(self.servers.gap.take());
        let spin = join(self.servers.spin.take());
        let (day, sending_ns) = sent?;
        let units = self.sender.lines.chunks(LINES).map(|lines| UnitSummary {
            last: lines.first().map_or(0, |line| line.packetiser.next() - 1),
            lines: [0, 1]
                .map(|line| lines.get(line).map_or_else(Default::default, |l| l.summary())),
        });
        let units = units.collect();
        Ok(FeedSummary { sent: summary(self.sender, day, sending_ns), units, gap, spin })
    }
}

impl FeedServers {
    fn start(
        options: &FeedExchangeOptions,
        histories: &[History],
    ) -> Result<(FeedAddresses, Self), ExchangeError> {
        let (mut servers, mut addresses) = (Self::default(), FeedAddresses::default());
        let seed = options.lines.seed;
        if let Some(gap) = &options.gap {
            let (listener, bound) = listen(gap.server)?;
            addresses.gap = Some(bound);
            let interface = options.lines.interface;
            let transport = SocketTransport::open(interface, options.lines.ttl)?;
            let answers = GapAnswers::new(
                (transport, interface),
                gap.answers,
                histories.len(),
                &gap.answer_faults,
                (options.lines.cut, seed),
            );
            let faults = (gap.faults.unavailable, Rng::new(seed, 6));
            let proxy = GapProxy::new(histories.to_vec(), gap.limits, faults, options.logins.len());
            let (faults, end) = (gap.faults.connections, servers.end.clone());
            let (logins, faults) = (options.logins.clone(), (faults, Rng::new(seed, 7)));
            let serve = move || serve_gap((listener, faults), logins, proxy, answers, &end);
            servers.gap = Some(spawn("gap", serve)?);
        }
        if let Some(spin) = &options.spin {
            let mut listeners = Vec::new();
            for stream in 0..histories.len() {
                let mut address = spin.server;
                if address.port() != 0 {
                    address.set_port(address.port() + stream as u16);
                }
                let (listener, bound) = listen(address)?;
                addresses.spins.push(bound);
                listeners.push(listener);
            }
            let (histories, end) = (histories.to_vec(), servers.end.clone());
            let (logins, faults) = (options.logins.clone(), (spin.faults, seed));
            let serve = move || serve_spins((listeners, faults), &logins, histories, &end);
            servers.spin = Some(spawn("spin", serve)?);
        }
        Ok((addresses, servers))
    }
}

/// Serves requests, and sends the answers between the turns of the connections.
fn serve_gap(
    (listener, faults): (TcpListener, (ServerFaults, Rng)),
    logins: Vec<PitchLogin>,
    proxy: GapProxy,
    mut answers: GapAnswers,
    end: &ShutdownFlag,
) -> GapServerSummary {
    let proxy = Rc::new(RefCell::new(proxy));
    let logins = Rc::new(RefCell::new(Logins::new(logins)));
    let clock = Clock::monotonic();
    let began = clock.stamp();
    let make =
        |now_ns| PitchDialogue::new(GapService::new(Rc::clone(&proxy)), Rc::clone(&logins), now_ns);
    let connections = Connections::new(listener, MOST_GAP_CLIENTS, faults, make);
    let connections = connections.serve(end, || {
        let now_ns = clock.nanos_between(began, clock.stamp());
        answers.turn(&mut proxy.borrow_mut(), now_ns)
    });
    let (answers, send_errors) = answers.counts();
    let requests = proxy.borrow().counts();
    GapServerSummary { connections, requests, answers, send_errors }
}

/// Serves all units, which follow the day between the turns of the connections.
fn serve_spins(
    (listeners, (faults, seed)): (Vec<TcpListener>, (ServerFaults, u64)),
    logins: &[PitchLogin],
    histories: Vec<History>,
    end: &ShutdownFlag,
) -> SpinServerSummary {
    let clock = Clock::monotonic();
    let began = clock.stamp();
    let mut units = Vec::new();
    let mut servers = Vec::new();
    for (number, (listener, history)) in (0..).zip(listeners.into_iter().zip(histories)) {
        let unit = Rc::new(RefCell::new(SpinUnit::new(history)));
        units.push(Rc::clone(&unit));
        let logins = Rc::new(RefCell::new(Logins::new(logins.to_vec())));
        let make = move |now_ns| {
            PitchDialogue::new(SpinService::new(Rc::clone(&unit)), Rc::clone(&logins), now_ns)
        };
        let faults = (faults, Rng::new(seed, 400 + number));
        servers.push(Connections::new(listener, MOST_SPIN_CLIENTS, faults, make));
    }
    let connections = serve_all(servers, end, || {
        let now_ns = clock.nanos_between(began, clock.stamp());
        units.iter().fold(false, |is_busy, unit| unit.borrow_mut().turn(now_ns) | is_busy)
    });
    let mut requests = SpinCounts::default();
    units.iter().for_each(|unit| requests += unit.borrow().counts());
    SpinServerSummary { connections, requests }
}
