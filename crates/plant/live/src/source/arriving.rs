//! Packets that arrive while a plant catches up with what it has kept: a thread receives them into
//! a journal of their own, and the plant reads them there until it has read all.
//!
//! Protocol: the journal is the folder `arriving` in that of the kept session. A plant that is
//! killed while it catches up leaves it, and the next one begins with it. The plant that has read
//! all ends the thread, reads what it received last, and removes the folder.
//! Time: that of the session is that of the next packet, up to which all lines were read. While
//! messages are missing, packets are passed on no faster than they came, so that requests get the
//! time that they should have.
//! Failure: if the journal cannot be written, the thread reports it, and what arrives from then on
//! waits in the sockets.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use nanotape_clock::Timeline;
use nanotape_feed::{
    session::{Line, PacketOrigin},
    udp::{MOST_WAITED, UdpSocket},
};
use nanotape_journal::Start;

use super::{
    LiveError, NewsLine,
    keep::{Input, Keeper},
    lines::{LineReader, LineSocket},
    replay::{Found, InputReader},
};

/// The folder of the journal, in that of the kept session.
pub(super) const FOLDER: &str = "arriving";

/// The size of its segments. A larger one takes longer to make, and until then packets wait in the
/// sockets, which a plant that is killed takes with it.
const SEGMENT_BYTES: u64 = 4 << 20;

/// How long the thread waits for a packet before it checks for its end.
const PATIENCE: Duration = Duration::from_millis(10);

/// A session may be behind by this when it goes on with the sockets while messages are missing.
const NEAR_NS: u64 = 100_000_000;

/// Packets that arrived, and the thread that receives more.
#[derive(Debug)]
pub(super) struct Arriving {
    folder: PathBuf,
    /// Whether a plant before has left it.
    is_old: bool,
    reader: InputReader,
    /// Whether the reader has a packet that was not passed on.
    has_packet: bool,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<NewsLine>>>,
    /// What the thread reported.
    pub(super) news: Vec<NewsLine>,
    /// When packets were passed on last, and the time of the session that was allowed then, in ns.
    passed_ns: u64,
    allowed_ns: u64,
}

/// What there is to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arrived {
    /// A packet, whose time has come.
    Packet,
    /// To wait for messages that are missing.
    Wait,
    /// Nothing: everything was passed on.
    Done,
}

impl Arriving {
    /// Begins to receive. `waiting` are packets that came before, at `now_ns` at the latest.
    pub(super) fn start<'p>(
        session: &Path,
        lines: &Arc<[LineSocket]>,
        timeline: &Timeline,
        now_ns: u64,
        waiting: impl IntoIterator<Item = (Line, u64, &'p [u8])>,
    ) -> Result<Self, LiveError> {
        let folder = session.join(FOLDER);
        let is_old = folder.exists();
        let mut keeper = Keeper::open(&folder, SEGMENT_BYTES)?;
        for (line, ts_recv_ns, bytes) in waiting {
            keep(&mut keeper, now_ns, line, ts_recv_ns, bytes);
        }
        let reader = InputReader::open(&folder, Start::Oldest)?;
        let stop = Arc::new(AtomicBool::new(false));
        let (lines, is_stopped) = (Arc::clone(lines), Arc::clone(&stop));
        let mut timeline = timeline.clone();
        let work = move || receive(&lines, keeper, &mut timeline, now_ns, &is_stopped);
        let thread = thread::Builder::new().name("arriving".to_owned()).spawn(work);
        let thread = Some(thread.map_err(LiveError::Thread)?);
        Ok(Self {
            folder,
            is_old,
            reader,
            has_packet: false,
            stop,
            thread,
            news: Vec::new(),
            passed_ns: now_ns,
            allowed_ns: now_ns,
        })
    }

    /// What there is to do at `now_ns`. `read_to_ns` is the time of the session, which this brings
    /// up to date; `lacks`: whether messages of it are missing.
    pub(super) fn next(
        &mut self,
        now_ns: u64,
        read_to_ns: &mut u64,
        lacks: bool,
    ) -> Result<Arrived, LiveError> {
        let passed_ns = core::mem::replace(&mut self.passed_ns, now_ns);
        let elapsed_ns = now_ns.saturating_sub(passed_ns);
        let limit_ns = if lacks { self.allowed_ns.saturating_add(elapsed_ns) } else { u64::MAX };
        while !self.has_packet {
            match self.reader.advance()? {
                Found::Input => self.has_packet = true,
                // They are missing as any others that no line brought.
                Found::Missing(_) => {}
                // The thread may have packets that were received a moment ago.
                Found::Nothing if limit_ns < now_ns.saturating_sub(NEAR_NS) => {
                    self.allowed_ns = limit_ns;
                    *read_to_ns = limit_ns.max(*read_to_ns);
                    return Ok(Arrived::Wait);
                }
                Found::Nothing if self.thread.is_some() => self.end(),
                Found::Nothing => return Ok(Arrived::Done),
            }
        }
        let (at_ns, ..) = self.reader.input()?;
        *read_to_ns = at_ns.min(limit_ns).max(*read_to_ns);
        self.allowed_ns = if lacks { limit_ns } else { *read_to_ns };
        Ok(if at_ns > limit_ns { Arrived::Wait } else { Arrived::Packet })
    }

    /// The packet that is there.
    pub(super) fn take(&mut self) -> Result<Input<'_>, LiveError> {
        self.has_packet = false;
        Ok(self.reader.input()?.2)
    }

    /// Ends the thread of a plant that cannot begin, and leaves no new folder.
    pub(super) fn undo(mut self) {
        self.end();
        if !self.is_old {
            drop(self.remove());
        }
    }

    /// Removes the journal, from which everything was passed on; the reason if that fails.
    pub(super) fn remove(mut self) -> Option<NewsLine> {
        self.end();
        let folder = self.folder.display();
        std::fs::remove_dir_all(&self.folder)
            .err()
            .map(|error| NewsLine::problem(format!("{folder}: cannot remove it: {error}")))
    }

    /// Ends the thread.
    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported.
            self.news.extend(thread.join().unwrap_or_default());
        }
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        self.end();
    }
}

/// Receives until the end is requested, in a thread of its own.
fn receive(
    lines: &[LineSocket],
    mut keeper: Keeper,
    timeline: &mut Timeline,
    mut read_to_ns: u64,
    stop: &AtomicBool,
) -> Vec<NewsLine> {
    let mut readers = LineReader::of(lines, timeline.now_ns());
    let mut news = Vec::new();
    let Some(first) = lines.first() else { return news };
    let mut sockets = [&first.socket; MOST_WAITED];
    let all = lines.iter().map(|line| &line.socket);
    let count = sockets.iter_mut().zip(all).map(|(place, socket)| *place = socket).count();
    while !stop.load(Ordering::Relaxed) {
        let now_ns = timeline.now_ns();
        let (mut received, mut all_read_to_ns) = (0, now_ns);
        for reader in &mut readers {
            let (line, mut last_ns) = (reader.line, now_ns);
            received += reader.receive(now_ns, |packet| {
                last_ns = packet.timer_ns;
                keep(&mut keeper, read_to_ns, line, packet.ts_recv_ns, packet.bytes);
            });
            all_read_to_ns = all_read_to_ns.min(last_ns);
            news.extend(reader.news.take());
        }
        if let Some(error) = keeper.take_error() {
            // What the sockets still have is read from them.
            news.push(NewsLine::problem(error));
            break;
        }
        read_to_ns = all_read_to_ns.max(read_to_ns);
        if received == 0 {
            // Without memory for the wait the sockets are polled.
            let _ = UdpSocket::wait(&sockets[..count], PATIENCE);
        }
    }
    if !keeper.finish() {
        news.extend(keeper.take_error().map(NewsLine::problem));
    }
    news
}

fn keep(keeper: &mut Keeper, now_ns: u64, line: Line, ts_recv_ns: u64, bytes: &[u8]) {
    let origin = PacketOrigin::Line(line);
    keeper.keep(now_ns, Input::Packet { origin, ts_recv_ns, bytes });
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket as Sender;

    use nanotape_clock::Clock;
    use nanotape_feed::udp::UdpOptions;
    use nanotape_harness::{Scratch, eventually};

    use super::*;
    use crate::{Interface, LineAddress};

    const MS: u64 = 1_000_000;

    fn open() -> Arc<[LineSocket]> {
        let address = "127.0.0.1:0".parse::<std::net::SocketAddr>().unwrap().into();
        let line = LineAddress { address, interface: Interface::Any, sender: None };
        Arc::new([LineSocket::open(&line, &UdpOptions::default()).unwrap()])
    }

    fn send(lines: &[LineSocket], packets: &[&[u8]]) {
        let sender = Sender::bind("127.0.0.1:0").unwrap();
        for packet in packets {
            sender.send_to(packet, lines[0].socket.address()).unwrap();
        }
    }

    /// What is there now, at full speed.
    fn take(arriving: &mut Arriving, timeline: &mut Timeline, packets: &mut Vec<Vec<u8>>) -> bool {
        let mut read_to_ns = 0;
        match arriving.next(timeline.now_ns(), &mut read_to_ns, false).unwrap() {
            Arrived::Packet => {
                let Input::Packet { bytes, .. } = arriving.take().unwrap() else { panic!() };
                packets.push(bytes.to_vec());
                true
            }
            Arrived::Wait | Arrived::Done => false,
        }
    }

    #[test]
    fn what_a_killed_plant_left_comes_before_what_arrives() {
        let (folder, lines) = (Scratch::folder("arriving"), open());
        let mut timeline = Timeline::new(Clock::calibrate());
        let mut start = |waiting: &'static [u8]| {
            let now_ns = timeline.now_ns();
            let waiting = [(Line::A, now_ns, waiting)];
            Arriving::start(folder.path(), &lines, &timeline, now_ns, waiting).unwrap()
        };
        let (mut first, mut second) = (Vec::new(), Vec::new());
        let mut arriving = start(b"one");
        send(&lines, &[b"two", b"three"]);
        let read = || InputReader::open(&folder.join(FOLDER), Start::Oldest).unwrap();
        let count = |mut reader: InputReader| {
            (0..).take_while(|_| reader.advance().unwrap() == Found::Input).count()
        };
        eventually("the thread has received both", || count(read()) == 3);
        let mut clock = Timeline::new(Clock::calibrate());
        assert!(take(&mut arriving, &mut clock, &mut first));
        // A plant that is killed ends nothing; its journal has all that arrived.
        drop(arriving);

        let mut arriving = start(b"four");
        send(&lines, &[b"five"]);
        eventually("the thread has received it", || count(read()) == 5);
        while take(&mut arriving, &mut clock, &mut second) {}
        assert_eq!(first, [b"one"]);
        let all: [&[u8]; 5] = [b"one", b"two", b"three", b"four", b"five"];
        assert_eq!(second, all);
        assert_eq!(arriving.remove(), None);
        assert!(!folder.join(FOLDER).exists());
    }

    #[test]
    fn while_messages_are_missing_packets_come_no_faster_than_they_came() {
        let (folder, lines) = (Scratch::folder("arriving-paced"), open());
        let timeline = Timeline::new(Clock::calibrate());
        let mut keeper = Keeper::open(&folder.join(FOLDER), SEGMENT_BYTES).unwrap();
        let began_ns = 1_000 * MS;
        for at_ns in [0, 10, 10, 30].map(|after| began_ns + after * MS) {
            keep(&mut keeper, at_ns, Line::A, at_ns + 1, b"packet");
        }
        assert!(keeper.finish());
        let mut arriving = Arriving::start(folder.path(), &lines, &timeline, began_ns, []).unwrap();
        let mut read_to_ns = began_ns;
        let mut next = |after: u64, lacks| {
            // A minute behind.
            let now_ns = began_ns + (60_000 + after) * MS;
            if after == 0 {
                (arriving.passed_ns, arriving.allowed_ns) = (now_ns, began_ns);
            }
            let next = arriving.next(now_ns, &mut read_to_ns, lacks).unwrap();
            if next == Arrived::Packet {
                arriving.take().unwrap();
            }
            (next, (read_to_ns - began_ns) / MS)
        };
        assert_eq!(next(0, true), (Arrived::Packet, 0));
        assert_eq!(next(4, true), (Arrived::Wait, 4));
        assert_eq!(next(13, true), (Arrived::Packet, 10), "up to what was read");
        assert_eq!(next(13, true), (Arrived::Packet, 10));
        assert_eq!(next(20, true), (Arrived::Wait, 20));
        assert_eq!(next(20, false), (Arrived::Packet, 30));
        assert_eq!(next(21, true), (Arrived::Wait, 31), "behind, with nothing to read");
        assert_eq!(next(22, false), (Arrived::Done, 31));
    }
}
