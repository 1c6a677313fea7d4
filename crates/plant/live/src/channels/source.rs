//! The sockets and the clock of a feed of channels.
//!
//! Where: a plant reads it as it reads a [`LiveSource`](crate::LiveSource).
//! Bounds: the buffers of the sockets, and the memory of each channel's settings.
//! Failure: what cannot be opened at the start is a [`LiveError`]. A later error of a socket or a
//! server is a state of it, which is reported, and it is tried again.

use std::{net::SocketAddr, time::Duration};

use nanotape_board::{LineStat, LiveStat};
use nanotape_clock::{Clock, Timeline};
use nanotape_feed::{
    DayEnd, DaySummary, Feed, SessionSummary,
    channels::{ChannelFraming, IexTp, Pitch},
    session::{Line, PacketOrigin},
    source::Progress,
    udp::{MOST_WAITED, UdpSocket},
};
use nanotape_market::{EventHandler, EventSource, SessionChange, Venue};
use nanotape_records::TradeDate;

use super::{
    config::ChannelsConfig,
    delivery::Wish,
    links::{ProxyLink, SpinLinks},
    set::{ChannelSet, SetSettings},
};
use crate::{
    LineAddress, LiveError, SettingsError,
    source::{
        MOST_STEP_NS, NewsLine, PATIENCE_NS,
        attention::Attention,
        drops::DropCounter,
        lines::{LineReader, LineSocket, warnings},
        receive_times,
    },
};

/// The longest sleep while an answer is awaited that no socket of the lines shows, and while there
/// are more sockets than can be waited for.
const SHORT_PATIENCE_NS: u64 = 1_000_000;

/// Time between two comparisons with the kernel's clock.
const ANCHOR_NS: u64 = 60_000_000_000;

/// How long after the last message of all channels the source goes on: another one may begin.
const END_NS: u64 = 1_000_000_000;

/// A live feed of channels.
#[derive(Debug)]
pub struct ChannelSource {
    name: String,
    feed: Feed,
    day_begins_ns: u64,
    settings: SetSettings,
    /// The sockets of the lines, those of one line after the other, and those of answers.
    sockets: Vec<LineSocket>,
    /// Whose packets each socket has.
    origins: Vec<PacketOrigin>,
    proxy: Option<ProxyLink>,
    spins: SpinLinks,
    drops: DropCounter,
    timeline: Timeline,
    polls: bool,
    bytes: u64,
    read_to_ns: u64,
    anchored_ns: u64,
    image_failures: u64,
    stat: LiveStat,
    news: Vec<NewsLine>,
}

/// How a reading ended, and what it had.
struct ReadResult {
    end: DayEnd,
    summary: SessionSummary,
}

impl ChannelSource {
    /// Opens the sockets of the lines and of gap answers, and joins their groups. Servers are
    /// connected while the feed is read.
    pub fn open(config: &ChannelsConfig, date: TradeDate) -> Result<Self, LiveError> {
        config.check()?;
        let Some(feed) = config.feed else {
            return Err(LiveError::Settings(SettingsError("no feed")));
        };
        let feed = feed.feed();
        let mut timeline = Timeline::new(Clock::calibrate());
        let _kept = receive_times::wait_for_receive_times();
        let options = config.options();
        let (mut sockets, mut origins, mut stats) = (Vec::new(), Vec::new(), Vec::new());
        let mut open = |at: &LineAddress, origin| {
            let socket = LineSocket::open(at, &options)?;
            let address = socket.socket.address();
            sockets.push(socket);
            origins.push(origin);
            Ok::<SocketAddr, LiveError>(address)
        };
        for (line, addresses) in config.lines().iter().enumerate() {
            let Some(line) = Line::new(line) else { continue };
            for (place, at) in addresses.iter().enumerate() {
                let address = open(at, PacketOrigin::Line(line))?;
                if place == 0 {
                    stats.push(LineStat::of(address));
                }
            }
        }
        for at in &config.answers() {
            open(at, PacketOrigin::Retransmission)?;
        }
        let drops = sockets.iter().map(|socket| socket.socket.kernel_drops());
        let drops = drops.collect::<Result<Vec<_>, _>>()?;
        let names: Vec<String> = stats.iter().map(|line| line.address.to_string()).collect();
        let login = config.login();
        let spin_login = config.spin_login.then_some(login);
        let settings = config.settings();
        let timeout_ns = settings.session.snapshots.map_or(0, |snapshots| snapshots.timeout_ns);
        let anchored_ns = timeline.now_ns();
        Ok(Self {
            name: names.join(" and "),
            feed,
            day_begins_ns: date.begins_ns(feed.venue()),
            settings,
            sockets,
            origins,
            proxy: config.gap_server.clone().map(|server| ProxyLink::new(server, login)),
            spins: SpinLinks::new(config.spin_servers.clone(), spin_login, timeout_ns),
            drops: DropCounter::start(drops),
            timeline,
            polls: config.poll,
            bytes: 0,
            read_to_ns: 0,
            anchored_ns,
            image_failures: 0,
            stat: LiveStat { lines: stats, ..LiveStat::default() },
            news: Vec::new(),
        })
    }

    /// The first address of each line.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whose messages it has.
    pub fn venue(&self) -> &'static Venue {
        self.feed.venue()
    }

    /// The bound addresses of all sockets, with the ports that the system chose: those of the
    /// lines, one line after the other, and then those of gap answers.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.sockets.iter().map(|socket| socket.socket.address())
    }

    /// What the sockets lack of what was requested, in lines for an operator.
    pub fn warnings(&self) -> Vec<String> {
        warnings(&self.sockets, self.polls)
    }

    /// The bytes received so far. The total is unknown.
    pub fn progress(&self) -> Progress {
        Progress { done_bytes: self.bytes, total_bytes: None }
    }

    /// The statistics of the lines and of all channels together, as of the last report of progress.
    pub fn stat(&self) -> &LiveStat {
        &self.stat
    }

    /// What happened since the last report of progress, in lines for an operator.
    pub fn news(&self) -> &[NewsLine] {
        &self.news
    }

    /// Reads the feed until it ends, or the handler breaks.
    fn read_set<F: ChannelFraming, H: EventHandler>(
        &mut self,
        handler: &mut H,
        progress: &mut impl FnMut(&Self),
    ) -> ReadResult {
        let mut set = ChannelSet::<F>::new(self.feed, self.settings, self.day_begins_ns);
        // The readers borrow the sockets, and everything else changes meanwhile.
        let sockets = core::mem::take(&mut self.sockets);
        let now_ns = self.timeline.now_ns();
        let readers = sockets.iter().zip(&self.origins);
        let mut readers: Vec<LineReader<'_>> = readers
            .map(|(socket, origin)| {
                let line = match origin {
                    PacketOrigin::Line(line) => *line,
                    PacketOrigin::Retransmission => Line::A,
                };
                LineReader::new(line, socket, now_ns)
            })
            .collect();
        let end = self.receive(&mut set, (&sockets, &mut readers), handler, progress);
        let now_ns = self.timeline.now_ns();
        set.close(now_ns, handler);
        self.drops.finish();
        self.show(&mut set, &readers, u64::MAX);
        drop(readers);
        self.sockets = sockets;
        progress(self);
        self.news.clear();
        let (channels, session) = set.channels();
        let lines = self.stat.lines.iter().map(|line| (line.address, line.counts)).collect();
        let summary = SessionSummary {
            session,
            channels,
            lines,
            first_message: set.common.first,
            messages: set.common.messages,
            missing: set.common.missing,
            is_late: set.is_late(),
            ..SessionSummary::default()
        };
        ReadResult { end, summary }
    }

    fn receive<F: ChannelFraming, H: EventHandler>(
        &mut self,
        set: &mut ChannelSet<F>,
        (sockets, readers): (&[LineSocket], &mut [LineReader<'_>]),
        handler: &mut H,
        progress: &mut impl FnMut(&Self),
    ) -> DayEnd {
        let mut attention = Attention::new(self.timeline.now_ns());
        let (mut shown_ns, mut ends_ns, mut ended_ns) = (0, None, None);
        loop {
            let now_ns = self.timeline.now_ns();
            let count = self.read_round(set, readers, now_ns, handler);
            if attention.was_missing(now_ns, self.read_to_ns) {
                set.restarted(self.read_to_ns, handler);
            }
            set.tick(self.read_to_ns, handler);
            self.act(set, handler);
            if set.common.flow.is_break() {
                return DayEnd::Stopped;
            }
            ended_ns = set.has_ended(now_ns).then(|| ended_ns.unwrap_or(now_ns));
            if ended_ns.is_some_and(|ns| now_ns.saturating_sub(ns) >= END_NS) {
                let offset = set.common.next;
                return DayEnd::EndOfSession { offset, bytes_follow: false };
            }
            if now_ns.saturating_sub(shown_ns) >= PATIENCE_NS {
                shown_ns = now_ns;
                self.follow_clock(now_ns);
                self.show(set, readers, now_ns);
                progress(self);
                if handler.idle().is_break() {
                    ends_ns.get_or_insert(now_ns);
                }
            }
            if ends_ns.is_some_and(|ends_ns| self.read_to_ns >= ends_ns) {
                return DayEnd::Stopped;
            }
            if count == 0 {
                self.wait(sockets, set.deadline_ns(), now_ns);
            }
        }
    }

    /// Passes what the sockets have to the channels. Returns the number of packets.
    fn read_round<F: ChannelFraming, H: EventHandler>(
        &mut self,
        set: &mut ChannelSet<F>,
        readers: &mut [LineReader<'_>],
        now_ns: u64,
        handler: &mut H,
    ) -> usize {
        let (mut count, mut all_read_to_ns) = (0, now_ns);
        let Self { bytes, origins, read_to_ns, proxy, .. } = self;
        for (reader, origin) in readers.iter_mut().zip(origins) {
            // An empty socket has been read up to now, another one up to its last datagram.
            let mut last_ns = now_ns;
            count += reader.receive(now_ns, |packet| {
                *bytes += packet.bytes.len() as u64;
                last_ns = packet.timer_ns;
                handler.arrived(packet.ts_recv_ns);
                set.packet(*origin, (packet.ts_recv_ns, *read_to_ns), packet.bytes, handler);
            });
            all_read_to_ns = all_read_to_ns.min(last_ns);
            if let Some(news) = reader.news.take() {
                set.common.news.add(|| news);
            }
        }
        if let Some(proxy) = proxy {
            count += proxy.poll(now_ns, |unit| {
                *bytes += unit.len() as u64;
                handler.arrived(now_ns);
                set.packet(PacketOrigin::Retransmission, (now_ns, *read_to_ns), unit, handler);
            });
        }
        *read_to_ns = all_read_to_ns.max(*read_to_ns);
        count
    }

    /// Sends requests, fetches images, and passes on what became of them.
    fn act<F: ChannelFraming, H: EventHandler>(
        &mut self,
        set: &mut ChannelSet<F>,
        handler: &mut H,
    ) {
        let read_to_ns = self.read_to_ns;
        let wishes = core::mem::take(&mut set.common.wishes);
        for wish in &wishes {
            match (*wish, &mut self.proxy) {
                (Wish::Request { key, first, count }, Some(proxy)) => {
                    proxy.request((key, first, count));
                }
                (Wish::Request { .. }, None) => {}
                (Wish::Image { key, next }, _) => self.spins.fetch(key, next),
            }
        }
        set.common.give_back(wishes);
        if let Some(proxy) = &mut self.proxy {
            for refused in core::mem::take(&mut proxy.refused) {
                set.refused(refused, read_to_ns, handler);
            }
            proxy.news.drain(..).for_each(|news| set.common.news.add(|| news));
        }
        if !self.spins.is_fetching() {
            return;
        }
        self.spins.keep(|key| set.is_holding(key));
        for (key, image) in self.spins.results() {
            let next = image.as_ref().map(|(_, next)| *next);
            if !set.image(key, image, read_to_ns, handler) {
                self.image_failures += 1;
                if let Some(next) = next {
                    let what = format_args!(
                        "unit {key}: image: it ends before message {next}, and is of no use"
                    );
                    set.common.news.push(&what);
                }
            }
        }
        self.spins.news.drain(..).for_each(|news| set.common.news.add(|| news));
    }

    /// Waits for a packet, for a while, or until the channels have something to do.
    fn wait(&self, sockets: &[LineSocket], deadline_ns: u64, now_ns: u64) {
        let is_short = self.spins.is_fetching()
            || self.proxy.as_ref().is_some_and(ProxyLink::is_waiting)
            || sockets.len() > MOST_WAITED;
        let patience_ns = if is_short { SHORT_PATIENCE_NS } else { PATIENCE_NS };
        let due_ns = deadline_ns.saturating_sub(now_ns).min(patience_ns);
        if self.polls || due_ns < SHORT_PATIENCE_NS / 2 {
            return core::hint::spin_loop();
        }
        let Some(first) = sockets.first() else { return };
        let mut waited = [&first.socket; MOST_WAITED];
        let all = sockets.iter().map(|socket| &socket.socket);
        let count = waited.iter_mut().zip(all).map(|(place, socket)| *place = socket).count();
        // Without memory for the wait the sockets are polled.
        let _ = UdpSocket::wait(&waited[..count], Duration::from_nanos(due_ns));
    }

    /// Follows the kernel's clock, a little at a time.
    fn follow_clock(&mut self, now_ns: u64) {
        if now_ns.saturating_sub(self.anchored_ns) < ANCHOR_NS {
            return;
        }
        let clock = self.timeline.clock().re_anchored();
        if clock.utc_ns().abs_diff(now_ns) <= MOST_STEP_NS {
            self.timeline.follow(clock);
        }
        self.anchored_ns = now_ns;
    }

    /// Brings what others see up to date.
    fn show<F: ChannelFraming>(
        &mut self,
        set: &mut ChannelSet<F>,
        readers: &[LineReader<'_>],
        now_ns: u64,
    ) {
        set.show(&mut self.stat);
        for (index, line) in self.stat.lines.iter_mut().enumerate() {
            let of = Line::new(index).map(PacketOrigin::Line);
            let places =
                || (0..self.origins.len()).filter(|place| Some(self.origins[*place]) == of);
            let drops: u64 = places().map(|place| self.drops.of(place)).sum();
            let new = drops.saturating_sub(core::mem::replace(&mut line.kernel_drops, drops));
            if new > 0 {
                let (line, full) = (char::from(b'A' + index as u8), "a receive buffer was full");
                set.common
                    .news
                    .push(&format_args!("line {line}: the kernel dropped {new} packets: {full}"));
            }
            let readers = || places().filter_map(|place| readers.get(place));
            line.socket_errors = readers().map(|reader| reader.errors).sum();
            line.is_failing = readers().any(LineReader::is_failing);
        }
        if let Some(proxy) = &self.proxy {
            self.stat.rerequest_errors = proxy.errors;
            self.stat.rerequest_servers_down = u64::from(proxy.is_down());
        }
        self.stat.snapshot_failures = self.image_failures;
        self.news.clear();
        set.common.news.take(now_ns, &mut self.news);
    }
}

impl EventSource for ChannelSource {
    type Summary = DaySummary;
    type Error = LiveError;

    fn read(
        &mut self,
        handler: &mut impl EventHandler,
        mut progress: impl FnMut(&Self),
    ) -> Result<DaySummary, LiveError> {
        handler.venue(self.venue());
        handler.day_begins(self.day_begins_ns);
        handler.session(&SessionChange::EndsWhenIdle);
        let ReadResult { end, summary } = match self.feed {
            Feed::Pitch => self.read_set::<Pitch, _>(handler, &mut progress),
            _ => self.read_set::<IexTp, _>(handler, &mut progress),
        };
        Ok(DaySummary {
            records: summary.messages,
            bytes: self.bytes,
            end,
            fault: None,
            session: Some(Box::new(summary)),
        })
    }
}
