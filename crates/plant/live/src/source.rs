//! A live session as a source of events: UDP lines, a re-request server, a GLIMPSE server, and the
//! clock.
//!
//! ```text
//!          line A, line B --> LineReader --+
//!      re-request servers --> Rerequests --+
//!      SoupBinTCP servers --> Bulk --------+
//!                   clock --> tick --------+--> LiveSession --> Delivery --> EventHandler
//!         GLIMPSE servers --> Snapshots ---+        |              |
//!                                                   +--> Keeper    +--> requests, fetches, news
//! ```
//!
//! The [`NasdaqReceiver`](nanotape_feed::session::NasdaqReceiver) decides what to deliver and what
//! to request; this module gives it packets and the time, and does what it requests.
//! Bounds: the buffers of the sockets, and the memory of the session's settings.
//! Failure: what cannot be opened at the start is a [`LiveError`]. A later error of a socket is a
//! state of its line or server, which is reported, and tried again. Whatever is missing or damaged
//! in packets is reported to the handler, and reading continues.
//! Cost: no allocation after the start, except for gaps and other news; one system call for up to
//! 64 packets of a line.

mod arriving;
pub(crate) mod attention;
mod between;
mod bulk;
mod catching_up;
mod delivery;
pub(crate) mod drops;
mod error;
mod keep;
mod kept;
pub(crate) mod lines;
pub(crate) mod news;
pub(crate) mod outage;
mod overlap;
pub(crate) mod receive_times;
mod replay;
mod requests;
mod session;
mod snapshots;
pub(crate) mod task;

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use nanotape_board::{LineStat, LiveStat};
use nanotape_clock::{Clock, Timeline};
use nanotape_feed::{
    DayEnd, DaySummary,
    session::{PacketOrigin, RequestSettings, SessionSettings, SnapshotSettings},
    source::Progress,
    udp::{MOST_WAITED, UdpOptions, UdpSocket},
    venues::NASDAQ_ITCH,
};
use nanotape_market::{EventHandler, EventSource, SessionChange, Venue};
use nanotape_records::TradeDate;
use nanotape_types::Alpha;

use arriving::Arriving;
use attention::Attention;
use between::Waiting;
pub use between::{Begun, Between};
use bulk::Bulk;
pub use delivery::Delivery;
pub(crate) use delivery::is_problem;
use drops::DropCounter;
pub use error::LiveError;
use keep::Keeper;
pub use kept::KeptSource;
use lines::{LineReader, LineSocket};
pub use news::NewsLine;
use replay::Replay;
use requests::Rerequests;
use session::LiveSession;
use snapshots::Snapshots;

use crate::{LiveConfig, ServerAddress};

/// How long the source waits without a packet before the plant shows that it is alive, and checks
/// for a requested stop.
pub(crate) const PATIENCE_NS: u64 = 100_000_000;

/// Time between two comparisons with the kernel's clock, which take about ten microseconds.
const ANCHOR_AT_WORK_NS: u64 = 60_000_000_000;

/// The largest step of the clock in a session, in ns.
pub(crate) const MOST_STEP_NS: u64 = 1_000_000_000;

/// The longest sleep while a thread fetches something, whose end no socket of the session shows.
const FETCH_PATIENCE_NS: u64 = 2_000_000;

/// A live session.
#[derive(Debug)]
pub struct LiveSource {
    name: String,
    lines: Arc<[LineSocket]>,
    requests: Option<Rerequests>,
    bulk: Option<Bulk>,
    snapshots: Option<Snapshots>,
    session: LiveSession,
    drops: DropCounter,
    timeline: Timeline,
    spins: bool,
    bytes: u64,
    stat: LiveStat,
    news: Vec<NewsLine>,
    /// What an operator should read with the next news.
    notes: Vec<NewsLine>,
    /// The time up to which all lines were read, in ns: that of the session.
    read_to_ns: u64,
    settings: SessionSettings,
    /// The folder of the folders of kept sessions, if the source has several.
    keep: Option<PathBuf>,
    /// The sessions whose first message is waited for, because no folder has a part of them.
    later: Vec<Alpha<10>>,
    /// When the session is left although it has not ended, in ns.
    until_ns: u64,
    has_left: bool,
    /// Packets that came while no session was to be joined.
    outside: u64,
    /// When the clock was compared with the kernel's, in ns.
    anchored_ns: u64,
    /// The inputs that an earlier plant has kept of the session, until they are delivered.
    replay: Option<Replay>,
    /// The packets that arrived since, until they are delivered.
    arriving: Option<Arriving>,
    /// When the sockets were open, in ns.
    started_ns: u64,
    /// When the last session ended or was left, in ns.
    counted_ns: u64,
    /// Those that arrived before, if there are no others.
    waiting: Waiting,
    /// Whether packets were to be kept, and some were not.
    has_unkept: bool,
}

impl LiveSource {
    /// Opens the sockets of the lines, joins their groups, and begins the journal of packets if
    /// there is to be one. If an earlier plant has kept packets of the session there, the source
    /// begins with these.
    /// A source that follows several sessions and keeps them opens
    /// [between](Self::open_between) two of them.
    pub fn open(config: &LiveConfig, date: TradeDate) -> Result<Self, LiveError> {
        config.check_one_session()?;
        let mut source = Self::open_sockets(config)?;
        // The last step that can fail: without a session nothing is kept.
        source.begin(config.keep.as_deref(), date)?;
        Ok(source)
    }

    fn open_sockets(config: &LiveConfig) -> Result<Self, LiveError> {
        config.check()?;
        // Before the sockets are open, because it takes a while.
        let mut timeline = Timeline::new(Clock::calibrate());
        let options = config.line_options();
        let lines = config.lines();
        let _kept = receive_times::wait_for_receive_times();
        let lines = lines.iter().map(|line| LineSocket::open(line, &options));
        let lines = lines.collect::<Result<Arc<[_]>, LiveError>>()?;
        let settings = config.settings();
        let options = UdpOptions { busy_poll_us: 0, card_times: false, ..options };
        let open = |settings: RequestSettings| {
            Rerequests::open(&config.rerequest, options, settings.timeout_ns)
        };
        let with = |servers: &[ServerAddress]| !servers.is_empty();
        let requests = settings.requests.filter(|_| with(&config.rerequest));
        let requests = requests.map(open).transpose()?;
        let bulk = with(&config.soupbintcp)
            .then(|| Bulk::open(&config.soupbintcp, config.bulk_settings()))
            .transpose()?;
        let open = |settings: SnapshotSettings| {
            let login = config.snapshot_login();
            Snapshots::open(&config.glimpse, login, settings.timeout_ns, config.keep.is_some())
        };
        let snapshots = settings.snapshots.map(open).transpose()?;
        let sockets = || lines.iter().map(|line| &line.socket);
        let names: Vec<String> = sockets().map(|socket| socket.address().to_string()).collect();
        let stats = sockets().map(|socket| LineStat::of(socket.address())).collect();
        let drops = sockets().map(UdpSocket::kernel_drops).collect::<Result<Vec<_>, _>>()?;
        let started_ns = timeline.now_ns();
        Ok(Self {
            name: names.join(" and "),
            lines,
            requests,
            bulk,
            snapshots,
            session: LiveSession::new(settings, None),
            drops: DropCounter::start(drops),
            timeline,
            spins: config.spin,
            bytes: 0,
            stat: LiveStat { lines: stats, ..LiveStat::default() },
            news: Vec::new(),
            notes: Vec::new(),
            read_to_ns: 0,
            settings,
            keep: None,
            later: Vec::new(),
            until_ns: u64::MAX,
            has_left: false,
            outside: 0,
            anchored_ns: 0,
            replay: None,
            arriving: None,
            waiting: Waiting::new(),
            started_ns,
            counted_ns: 0,
            has_unkept: false,
        })
    }

    /// The addresses of the lines.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whose messages it has.
    pub fn venue(&self) -> &'static Venue {
        NASDAQ_ITCH
    }

    /// The bound addresses of the lines, with the ports that the system chose.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.lines.iter().map(|line| line.socket.address())
    }

    /// What the sockets of the lines lack of what was requested, in lines for an operator.
    pub fn warnings(&self) -> Vec<String> {
        lines::warnings(&self.lines, self.spins)
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
    pub fn news(&self) -> &[NewsLine] {
        &self.news
    }

    /// Whether packets were to be kept, and some were not.
    pub fn has_unkept(&self) -> bool {
        self.has_unkept
    }

    /// Waits for a packet, or until the session has something to do.
    fn wait(&self, now_ns: u64) {
        self.wait_until(self.session.receiver.deadline_ns(), now_ns);
    }

    /// Waits for a packet, for a while, or until this time of the session.
    fn wait_until(&self, deadline_ns: u64, now_ns: u64) {
        let is_fetching = self.snapshots.as_ref().is_some_and(Snapshots::is_fetching)
            || self.bulk.as_ref().is_some_and(Bulk::is_fetching);
        let patience_ns = if is_fetching { FETCH_PATIENCE_NS } else { PATIENCE_NS };
        let session_ns = if self.arriving.is_some() { self.read_to_ns } else { now_ns };
        let due_ns = deadline_ns.saturating_sub(session_ns).min(patience_ns);
        if self.spins || due_ns < 1_000_000 {
            return core::hint::spin_loop();
        }
        let Some(first) = self.lines.first() else { return };
        let mut sockets = [&first.socket; MOST_WAITED];
        let answers = self.requests.iter().flat_map(|requests| requests.sockets(now_ns));
        let all = self.lines.iter().map(|line| &line.socket).chain(answers);
        let count = sockets.iter_mut().zip(all).map(|(place, socket)| *place = socket).count();
        // Without memory for the wait the sockets are polled.
        let _ = UdpSocket::wait(&sockets[..count], Duration::from_nanos(due_ns));
    }

    /// Takes what servers send again, and returns the number of packets.
    fn receive_answers<H: EventHandler>(
        &mut self,
        (now_ns, read_to_ns): (u64, u64),
        delivery: &mut Delivery<'_, H>,
    ) -> usize {
        let is_behind = self.arriving.is_some();
        let Self { requests, bulk, session, bytes, .. } = self;
        let mut answer = |ts_recv_ns: u64, packet: &[u8]| {
            *bytes += packet.len() as u64;
            delivery.handler.arrived(ts_recv_ns);
            // Records of packets that came earlier follow it.
            let times = (if is_behind { read_to_ns } else { ts_recv_ns }, read_to_ns);
            let counts = |session: &LiveSession| {
                (session.receiver.answers().messages, session.receiver.position().missing)
            };
            let (messages, missing) = counts(session);
            session.packet(PacketOrigin::Retransmission, times, packet, delivery);
            // Of another session, without a message, or with other numbers, it answers nothing.
            let (messages_now, missing_now) = counts(session);
            messages_now > messages && (missing_now < missing || missing_now == 0)
        };
        let mut count = 0;
        if let Some(requests) = requests {
            count += requests.receive(now_ns, |datagram| {
                answer(datagram.ts_recv_ns.unwrap_or(now_ns), datagram.bytes)
            });
        }
        if let Some(bulk) = bulk.as_mut().filter(|bulk| bulk.is_fetching()) {
            count += bulk.receive(now_ns, |packet| {
                answer(now_ns, packet);
            });
            bulk.check(session.receiver.session(), session.receiver.position().missing);
            bulk.news.drain(..).for_each(|news| delivery.news.push(&news));
        }
        if let Some(requests) = requests {
            requests.news.drain(..).for_each(|news| delivery.news.add(|| news));
        }
        count
    }

    /// Sends requests, and begins or ends the fetch of a snapshot.
    fn act<H: EventHandler>(
        &mut self,
        now_ns: u64,
        read_to_ns: u64,
        delivery: &mut Delivery<'_, H>,
    ) {
        let receiver = &self.session.receiver;
        if let (Some(bulk), Some(session)) = (&mut self.bulk, receiver.session())
            && receiver.position().missing > 0
        {
            let are_down = self.requests.as_ref().is_some_and(Rerequests::are_down);
            let missing = if are_down { u64::MAX } else { receiver.position().missing };
            bulk.consider(session, receiver.missing(), missing, now_ns);
        }
        for (first, messages) in delivery.take_requests() {
            if self.bulk.as_ref().is_some_and(|bulk| bulk.brings(first, now_ns)) {
                continue;
            }
            let mut packet = [0; 64];
            if let Some(requests) = &mut self.requests
                && let Some(length) = receiver.encode_request(first, messages, &mut packet)
            {
                requests.send(&packet[..length], now_ns);
            }
        }
        let Some(snapshots) = &mut self.snapshots else { return };
        let session = self.session.receiver.session();
        if core::mem::take(&mut delivery.needs_snapshot)
            && let Some(session) = session
        {
            snapshots.fetch(session);
        }
        if !snapshots.is_fetching() {
            return;
        }
        let position = self.session.receiver.position();
        if !position.is_holding {
            // The missing messages came.
            return snapshots.cancel();
        }
        let result = snapshots.result(session, position);
        snapshots.news.drain(..).for_each(|news| delivery.news.push(&news));
        if let Some(result) = result {
            let next = result.as_ref().map(|fetched| fetched.snapshot.next);
            let snapshot = result.map(|fetched| {
                if let Some(keeper) = &mut self.session.keeper {
                    keeper.keep_messages(read_to_ns, &fetched.messages);
                }
                fetched.snapshot
            });
            let is_used = self.session.snapshot(snapshot, read_to_ns, delivery);
            if let Some(next) = next.filter(|_| !is_used) {
                snapshots.refused();
                let expected = position.expected;
                delivery.news.push(&format_args!(
                    "snapshot: it ends before message {next}, and has nothing of what is missing \
                     from message {expected} on"
                ));
            }
        }
    }

    /// Brings what others see up to date.
    fn show<H: EventHandler>(&mut self, now_ns: u64, delivery: &mut Delivery<'_, H>) {
        self.session.show(delivery, &mut self.stat);
        for (line, index) in self.stat.lines.iter_mut().zip(0..) {
            let drops = self.drops.of(index);
            let new = drops.saturating_sub(core::mem::replace(&mut line.kernel_drops, drops));
            if new > 0 {
                let (line, full) = (char::from(b'A' + index as u8), "its receive buffer was full");
                delivery
                    .news
                    .push(&format_args!("line {line}: the kernel dropped {new} packets: {full}"));
            }
        }
        if let Some(requests) = &self.requests {
            self.stat.rerequest_errors = requests.errors;
            self.stat.rerequest_servers_down = requests.down();
        }
        self.stat.soupbintcp_failures = self.bulk.as_ref().map_or(0, |bulk| bulk.failures);
        self.news.clear();
        self.news.append(&mut self.notes);
        delivery.news.take(now_ns, &mut self.news);
        if let Some(error) = self.session.keeper.as_mut().and_then(Keeper::take_error) {
            self.has_unkept = true;
            self.news.push(NewsLine::problem(error));
        }
    }
}

impl LiveSource {
    /// Passes what the sockets have to the session, and brings the time up to which they were read
    /// up to date. Returns the number of packets.
    #[inline]
    fn read_round<H: EventHandler>(
        &mut self,
        readers: &mut [LineReader<'_>],
        now_ns: u64,
        delivery: &mut Delivery<'_, H>,
    ) -> usize {
        let (mut count, mut all_read_to_ns) = (0, now_ns);
        let read_to_ns = self.read_to_ns;
        for reader in readers {
            let origin = PacketOrigin::Line(reader.line);
            // An empty socket has been read up to now, another one up to its last datagram.
            let mut last_ns = now_ns;
            count += reader.receive(now_ns, |packet| {
                self.bytes += packet.bytes.len() as u64;
                last_ns = packet.timer_ns;
                delivery.handler.arrived(packet.ts_recv_ns);
                let times = (packet.ts_recv_ns, read_to_ns);
                self.session.packet(origin, times, packet.bytes, delivery);
            });
            all_read_to_ns = all_read_to_ns.min(last_ns);
            if let Some(news) = reader.news.take() {
                self.note_line(reader, news, delivery);
            }
        }
        count += self.receive_answers((now_ns, read_to_ns), delivery);
        self.read_to_ns = all_read_to_ns.max(read_to_ns);
        count
    }

    /// Receives until the session ends or the handler breaks.
    fn receive<H: EventHandler>(
        &mut self,
        delivery: &mut Delivery<'_, H>,
        progress: &mut impl FnMut(&Self),
    ) -> Result<DayEnd, LiveError> {
        if self.replay.is_some() {
            self.deliver_kept(delivery, progress)?;
            if delivery.flow.is_break() {
                return Ok(DayEnd::Stopped);
            }
        }
        // A session that was waited for is joined at the time at which it could be: later it may
        // appear to have ended.
        self.session.tick(self.read_to_ns, delivery);
        let sockets = Arc::clone(&self.lines);
        let mut shown_ns = 0;
        // When the handler requested the end: what the sockets have from before is delivered first.
        let mut ends_ns = None;
        let mut readers = LineReader::of(&sockets, self.timeline.now_ns());
        let mut attention = Attention::new(self.timeline.now_ns());
        loop {
            let now_ns = self.timeline.now_ns();
            let count = if self.arriving.is_none() {
                let count = self.read_round(&mut readers, now_ns, delivery);
                if attention.was_missing(now_ns, self.read_to_ns) && !delivery.has_ended {
                    self.session.restart(self.read_to_ns, delivery);
                }
                count
            } else {
                attention = Attention::new(now_ns);
                self.deliver_arrived(now_ns, delivery)?
            };
            if !delivery.has_ended {
                self.session.tick(self.read_to_ns, delivery);
                self.act(now_ns, self.read_to_ns, delivery);
            }
            if delivery.flow.is_break() {
                return Ok(DayEnd::Stopped);
            }
            if self.read_to_ns >= self.until_ns && !delivery.has_ended {
                self.note_left();
                return Ok(DayEnd::Stopped);
            }
            if delivery.has_ended {
                let offset = self.session.receiver.position().expected;
                return Ok(DayEnd::EndOfSession { offset, bytes_follow: false });
            }
            if now_ns.saturating_sub(shown_ns) >= PATIENCE_NS {
                shown_ns = now_ns;
                self.follow_clock(ANCHOR_AT_WORK_NS, MOST_STEP_NS);
                self.show(now_ns, delivery);
                progress(self);
                if delivery.handler.idle().is_break() {
                    ends_ns.get_or_insert(now_ns);
                }
            }
            if let Some(ends_ns) = ends_ns
                && (self.read_to_ns >= ends_ns || self.arriving.is_some())
            {
                return Ok(DayEnd::Stopped);
            }
            if count == 0 {
                self.wait(now_ns);
            }
        }
    }

    /// The socket of a line cannot be read, or can be read again.
    #[cold]
    fn note_line<H: EventHandler>(
        &mut self,
        reader: &LineReader<'_>,
        news: NewsLine,
        delivery: &mut Delivery<'_, H>,
    ) {
        delivery.news.add(|| news);
        if let Some(line) = self.stat.lines.get_mut(reader.line.index()) {
            (line.socket_errors, line.is_failing) = (reader.errors, reader.is_failing());
        }
    }
}

impl EventSource for LiveSource {
    type Summary = DaySummary;
    type Error = LiveError;

    fn read(
        &mut self,
        handler: &mut impl EventHandler,
        mut progress: impl FnMut(&Self),
    ) -> Result<DaySummary, LiveError> {
        handler.session(&SessionChange::EndsWhenIdle);
        let mut delivery = Delivery::new(handler, self.session.midnight_ns.unwrap_or_default());
        let end = self.receive(&mut delivery, &mut progress)?;
        let now_ns = self.timeline.now_ns();
        self.session.close(now_ns, &mut delivery);
        self.counted_ns = self.read_to_ns;
        let is_kept = self.session.keeper.as_mut().is_none_or(Keeper::finish);
        self.has_unkept |= !is_kept;
        if delivery.has_ended && self.keep.is_none() {
            let arriving = self.arriving.take();
            self.notes.extend(arriving.and_then(Arriving::remove));
        }
        self.drops.finish();
        self.show(u64::MAX, &mut delivery);
        progress(self);
        self.session.receiver.leave(now_ns);
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
