//! A live session as a source of events: UDP lines, a re-request server, a GLIMPSE server, and the
//! clock.
//!
//! ```text
//! line A, line B, answers --> UdpReader --+
//!                   clock --> tick -------+--> LiveSession --> Delivery --> EventHandler
//!          GLIMPSE server --> Snapshots --+        |              |
//!                                                  +--> Keeper    +--> requests, fetches, news
//! ```
//!
//! The [`NasdaqReceiver`](nanotape_feed::session::NasdaqReceiver) decides what to deliver and what
//! to request; this module gives it packets and the time, and does what it requests.
//! Bounds: the buffers of the sockets, and the memory of the session's settings.
//! Failure: an address that cannot be opened or read is a [`LiveError`]. Whatever is missing or
//! damaged in packets is reported to the handler, and reading continues.
//! Cost: no allocation after the start, except for gaps and other news; one system call for up to
//! 64 packets of a line.

mod drops;
mod error;
mod keep;
mod kept;
mod session;
mod sink;
mod snapshots;

use std::{net::SocketAddrV4, sync::Arc, time::Duration};

use nanotape_board::{LineStat, LiveStat};
use nanotape_clock::{Clock, Timeline};
use nanotape_feed::{
    DayEnd, DaySummary, Delivery,
    session::{Line, MAX_LINES, PacketOrigin},
    source::Progress,
    udp::{DatagramReceiver as _, UdpAddress, UdpError, UdpOptions, UdpSocket},
};
use nanotape_market::{EventHandler, EventSource};
use nanotape_records::TradeDate;

use drops::DropCounter;
pub use error::LiveError;
use keep::{Keeper, KeptSettings};
pub use kept::KeptSource;
use session::{LiveDelivery, LiveSession};
use sink::LiveSink;
use snapshots::Snapshots;

use crate::LiveConfig;

/// How long the source waits without a packet before the plant shows that it is alive, and checks
/// for a requested stop.
const PATIENCE_NS: u64 = 100_000_000;

/// The longest sleep while a snapshot is fetched, whose end no socket of the session shows.
const FETCH_PATIENCE_NS: u64 = 2_000_000;

/// A live session.
#[derive(Debug)]
pub struct LiveSource {
    name: String,
    sockets: Arc<Sockets>,
    snapshots: Option<Snapshots>,
    session: LiveSession,
    drops: DropCounter,
    timeline: Timeline,
    spins: bool,
    bytes: u64,
    stat: LiveStat,
    news: Vec<String>,
    /// Whether packets were to be kept, and some were not.
    has_unkept: bool,
}

/// The sockets of a session.
#[derive(Debug)]
struct Sockets {
    lines: Vec<UdpSocket>,
    requests: Option<RequestSocket>,
}

/// The socket of the requests and their answers.
#[derive(Debug)]
struct RequestSocket {
    socket: UdpSocket,
    server: SocketAddrV4,
}

impl LiveSource {
    /// Opens the sockets of the lines, joins their groups, and begins the journal of packets if
    /// there is to be one.
    pub fn open(config: &LiveConfig, date: TradeDate) -> Result<Self, LiveError> {
        let options = UdpOptions { buffer_bytes: config.buffer_bytes, ..UdpOptions::default() };
        let lines = config.lines();
        let lines = lines.iter().map(|line| UdpSocket::open(line, &options));
        let lines = lines.collect::<Result<Vec<_>, _>>()?;
        let requests = match config.rerequest {
            Some(server) => {
                let here =
                    UdpAddress { address: UNSPECIFIED, interface: *server.ip(), sender: None };
                Some(RequestSocket { socket: UdpSocket::open(&here, &options)?, server })
            }
            None => None,
        };
        let settings = config.settings();
        let keeper = match &config.keep {
            Some(folder) => Some(Keeper::open(folder, &KeptSettings { date, session: settings })?),
            None => None,
        };
        let snapshots = config
            .glimpse
            .map(|server| Snapshots::new(server.into(), config.snapshot_login(), keeper.is_some()));
        let names: Vec<String> = lines.iter().map(|line| line.address().to_string()).collect();
        let stats = lines.iter().map(|line| LineStat::of(line.address())).collect();
        let drops = lines.iter().map(UdpSocket::kernel_drops).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            name: names.join(" and "),
            sockets: Arc::new(Sockets { lines, requests }),
            snapshots,
            session: LiveSession::new(settings, keeper),
            drops: DropCounter::start(drops),
            timeline: Timeline::new(Clock::calibrate()),
            spins: config.spin,
            bytes: 0,
            stat: LiveStat { lines: stats, ..LiveStat::default() },
            news: Vec::new(),
            has_unkept: false,
        })
    }

    /// The addresses of the lines.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bound addresses of the lines, with the ports that the system chose.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddrV4> + '_ {
        self.sockets.lines.iter().map(UdpSocket::address)
    }

    /// The sizes of the kernel's receive buffers of the lines.
    pub fn buffer_bytes(&self) -> impl Iterator<Item = usize> + '_ {
        self.sockets.lines.iter().map(UdpSocket::buffer_bytes)
    }

    /// The bytes received so far. The total is unknown.
    pub fn progress(&self) -> Progress {
        Progress { done_bytes: self.bytes, total_bytes: None }
    }

    /// The statistics of the session, as of the last report of progress.
    pub fn stat(&self) -> &LiveStat {
        &self.stat
    }

    /// What happened since the last report of progress, in lines for an operator.
    pub fn news(&self) -> &[String] {
        &self.news
    }

    /// Whether packets were to be kept, and some were not.
    pub fn has_unkept(&self) -> bool {
        self.has_unkept
    }

    /// Waits for a packet, or until the session has something to do.
    fn wait(&self, now_ns: u64) -> Result<(), UdpError> {
        let is_fetching = self.snapshots.as_ref().is_some_and(Snapshots::is_fetching);
        let patience_ns = if is_fetching { FETCH_PATIENCE_NS } else { PATIENCE_NS };
        let due_ns = self.session.receiver.deadline_ns().saturating_sub(now_ns).min(patience_ns);
        if self.spins || due_ns < 1_000_000 {
            core::hint::spin_loop();
            return Ok(());
        }
        let Sockets { lines, requests } = &*self.sockets;
        let Some(first) = lines.first() else { return Ok(()) };
        let mut sockets = [first; MAX_LINES + 1];
        let answers = requests.as_ref().map(|requests| &requests.socket);
        let all = lines.iter().chain(answers);
        let count = sockets.iter_mut().zip(all).map(|(place, socket)| *place = socket).count();
        UdpSocket::wait(&sockets[..count], Duration::from_nanos(due_ns))
    }

    /// Sends requests, and begins or ends the fetch of a snapshot.
    fn act<H: EventHandler>(
        &mut self,
        now_ns: u64,
        delivery: &mut LiveDelivery<'_, H>,
    ) -> Result<(), UdpError> {
        for (first, messages) in delivery.take_requests() {
            let mut packet = [0; 64];
            let receiver = &self.session.receiver;
            if let Some(to) = &self.sockets.requests
                && let Some(length) = receiver.encode_request(first, messages, &mut packet)
            {
                to.socket.send_to(&packet[..length], to.server)?;
            }
        }
        let Some(snapshots) = &mut self.snapshots else { return Ok(()) };
        if core::mem::take(&mut delivery.needs_snapshot) {
            snapshots.fetch();
        }
        if !snapshots.is_fetching() {
            return Ok(());
        }
        if !self.session.receiver.position().is_holding {
            // The missing messages came.
            snapshots.cancel();
        } else if let Some(result) = snapshots.result() {
            let snapshot = match result {
                Ok(fetched) => {
                    if let Some(keeper) = &mut self.session.keeper {
                        keeper.keep_messages(now_ns, &fetched.messages);
                    }
                    Some(fetched.snapshot)
                }
                Err(error) => {
                    delivery.sink.news.push(&error);
                    None
                }
            };
            self.session.snapshot(snapshot, now_ns, delivery);
        }
        Ok(())
    }

    /// Brings what others see up to date.
    fn show<H: EventHandler>(&mut self, now_ns: u64, delivery: &mut LiveDelivery<'_, H>) {
        self.session.show(delivery, &mut self.stat);
        for (index, line) in self.stat.lines.iter_mut().enumerate() {
            line.kernel_drops = self.drops.of(index);
        }
        self.news.clear();
        delivery.sink.news.take(now_ns, &mut self.news);
        if let Some(error) = self.session.keeper.as_mut().and_then(Keeper::take_error) {
            self.has_unkept = true;
            self.news.push(error);
        }
    }
}

impl LiveSource {
    /// Receives until the session ends or the handler breaks.
    fn receive<H: EventHandler>(
        &mut self,
        delivery: &mut LiveDelivery<'_, H>,
        progress: &mut impl FnMut(&Self),
    ) -> Result<DayEnd, LiveError> {
        let sockets = Arc::clone(&self.sockets);
        let lines = sockets.lines.iter().enumerate().filter_map(|(index, socket)| {
            Line::new(index).map(|line| (PacketOrigin::Line(line), socket.reader()))
        });
        let answers = sockets.requests.as_ref();
        let answers = answers.map(|to| (PacketOrigin::Retransmission, to.socket.reader()));
        let mut readers: Vec<_> = lines.chain(answers).collect();
        let mut shown_ns = 0;
        loop {
            let now_ns = self.timeline.now_ns();
            let mut count = 0;
            for (origin, reader) in &mut readers {
                count += reader.receive(|datagram| {
                    self.bytes += datagram.bytes.len() as u64;
                    let times = (datagram.ts_recv_ns.unwrap_or(now_ns), now_ns);
                    delivery.sink.handler.arrived(times.0);
                    self.session.packet(*origin, times, datagram.bytes, delivery);
                })?;
            }
            self.session.tick(now_ns, delivery);
            self.act(now_ns, delivery)?;
            if delivery.flow.is_break() {
                return Ok(DayEnd::Stopped);
            }
            if delivery.has_ended {
                let offset = self.session.receiver.position().expected;
                return Ok(DayEnd::EndOfSession { offset, bytes_follow: false });
            }
            if now_ns.saturating_sub(shown_ns) >= PATIENCE_NS {
                shown_ns = now_ns;
                self.show(now_ns, delivery);
                progress(self);
                if count == 0 && delivery.sink.handler.idle().is_break() {
                    return Ok(DayEnd::Stopped);
                }
            }
            if count == 0 {
                self.wait(now_ns)?;
            }
        }
    }
}

/// Any address and port of this machine.
const UNSPECIFIED: SocketAddrV4 = SocketAddrV4::new(std::net::Ipv4Addr::UNSPECIFIED, 0);

impl EventSource for LiveSource {
    type Summary = DaySummary;
    type Error = LiveError;

    fn read(
        &mut self,
        handler: &mut impl EventHandler,
        mut progress: impl FnMut(&Self),
    ) -> Result<DaySummary, LiveError> {
        let mut delivery = Delivery::new(LiveSink::new(handler));
        let end = self.receive(&mut delivery, &mut progress);
        let end = end?;
        let now_ns = self.timeline.now_ns();
        self.session.close(now_ns, &mut delivery);
        let is_kept = self.session.keeper.as_mut().is_none_or(Keeper::finish);
        self.has_unkept |= !is_kept;
        self.drops.finish();
        self.show(u64::MAX, &mut delivery);
        progress(self);
        self.news.clear();
        Ok(DaySummary {
            records: delivery.messages,
            bytes: self.bytes,
            end,
            fault: None,
            session: Some(Box::new(self.session.summary(&delivery, &self.stat))),
        })
    }
}
