//! Between two sessions: the sockets are read, until a session can be joined. Then it begins, with
//! a receiver and a journal of its own.
//!
//! Protocol: packets of a session that is not joined are with the receiver. A session begins with a
//! new receiver, which gets these packets first. So the inputs that are kept from there on
//! determine what it does, whatever came before.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};

use nanotape_feed::session::{Line, NextSession, PacketOrigin};
use nanotape_journal::{ErrorKind, Start, Tailer};
use nanotape_market::{Damage, EventHandler, MarketEvent, Origin, Position};
use nanotape_records::TradeDate;
use nanotape_types::Alpha;

use super::{
    Delivery, LiveError, LiveSource, NewsLine,
    arriving::Arriving,
    keep::{Keeper, KeptSettings, cause_of},
    lines::LineReader,
    overlap,
    replay::Replay,
    session::LiveSession,
    snapshots::Snapshots,
};
use crate::LiveConfig;

/// Time between two comparisons with the kernel's clock while the source waits.
const ANCHOR_OFTEN_NS: u64 = 1_000_000_000;

/// What a source does between two sessions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Between {
    /// It joins the next session.
    Joins,
    /// It joins none, and counts packets.
    Shut,
    /// It ends.
    Ends,
}

/// What a source did with a session that could be joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begun {
    /// It began the session.
    Yes,
    /// An earlier plant has kept it to its end: its packets are forgotten.
    Over,
    /// It waits for the session's first message: no earlier plant has kept a part of it.
    Later,
}

/// Packets of sessions that were not joined.
pub(super) type Waiting = Vec<(Line, u64, Vec<u8>)>;

/// Between two sessions nothing is delivered.
struct Discard;

impl EventHandler for Discard {
    type Hint = ();

    fn event(&mut self, _: Position, _: &MarketEvent, _: impl Origin) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn damage(&mut self, _: Damage) {}
}

impl LiveSource {
    /// Opens the sockets of the lines, and joins their groups. The source is then
    /// [between](Self::wait_for_session) two sessions. If packets are to be kept, the folder is
    /// that of a folder for each session.
    pub fn open_between(config: &LiveConfig) -> Result<Self, LiveError> {
        let mut source = Self::open_sockets(config)?;
        if let Some(folder) = &config.keep {
            if Tailer::open(folder, Start::Oldest).is_ok() {
                return Err(LiveError::OneSession { folder: folder.clone() });
            }
            let failed = |source| LiveError::Folder { folder: folder.clone(), source };
            std::fs::create_dir_all(folder).map_err(failed)?;
            source.keep = Some(folder.clone());
        }
        Ok(source)
    }

    /// Receives until the next session can be joined. `between` is called at each time, in ns since
    /// the UNIX epoch, at least ten times a second. `None` if it ends the wait.
    pub fn wait_for_session(
        &mut self,
        mut between: impl FnMut(u64) -> Between,
    ) -> Result<Option<NextSession<Alpha<10>>>, LiveError> {
        let sockets = Arc::clone(&self.lines);
        let mut readers = LineReader::of(&sockets, self.timeline.now_ns());
        let mut discard = Discard;
        let mut delivery = Delivery::new(&mut discard, 0);
        let mut was_shut = false;
        loop {
            self.follow_clock(ANCHOR_OFTEN_NS, u64::MAX);
            let now_ns = self.timeline.now_ns();
            // The clock may have been set back.
            self.read_to_ns = self.read_to_ns.min(now_ns);
            let state = between(now_ns);
            if state == Between::Ends {
                return Ok(None);
            }
            let is_shut = state == Between::Shut;
            if core::mem::replace(&mut was_shut, is_shut) && !is_shut {
                // Its session may have the name of the one before.
                self.renew();
            }
            let is_behind = self.arriving.is_some();
            let count = if is_behind {
                self.deliver_arrived(now_ns, &mut delivery)?
            } else {
                self.read_round(&mut readers, now_ns, &mut delivery)
            };
            if is_shut {
                self.outside += count as u64;
            } else if !is_behind
                && let Some(next) = self.session.receiver.next_session(self.read_to_ns, |session| {
                    self.keep.is_none() || self.later.contains(&session)
                })
            {
                return Ok(Some(next));
            }
            if count == 0 {
                // A session that could be joined is no reason to hurry while none is.
                let deadline_ns = self.session.receiver.deadline_ns();
                self.wait_until(if is_shut { u64::MAX } else { deadline_ns }, now_ns);
            }
        }
    }

    /// Begins a session that can be joined, until a time in ns since the UNIX epoch.
    pub fn begin_session(
        &mut self,
        next: &NextSession<Alpha<10>>,
        date: TradeDate,
        until_ns: u64,
    ) -> Result<Begun, LiveError> {
        let name = next.session;
        let folder = self.keep.as_ref().map(|keep| keep.join(folder_of(date, &name)));
        let is_due = self.give_overlapping(next, folder.as_deref()) || next.is_due;
        if !is_due {
            let settings = KeptSettings { date, session: self.settings };
            let has_part = |folder: &PathBuf| Keeper::has_session(folder, &settings);
            match folder.as_ref().map_or(Ok(false), has_part) {
                Ok(true) => {}
                Ok(false) | Err(LiveError::Over { .. }) => {
                    self.later.push(name);
                    return Ok(Begun::Later);
                }
                Err(error) => return Err(error),
            }
        }
        (self.until_ns, self.has_left, self.has_unkept) = (until_ns, false, false);
        match self.begin(folder.as_deref(), date) {
            Ok(()) => {}
            Err(LiveError::Over { .. }) => {
                self.session.receiver.forget(name);
                return Ok(Begun::Over);
            }
            // A full disk does not keep the plant from its session.
            Err(LiveError::Journal(error)) if is_of_system(error.kind()) => {
                let text = format!("{error}; the packets of session {name} are not kept");
                self.notes.push(NewsLine::problem(text));
                self.has_unkept = true;
                self.begin(None, date)?;
            }
            Err(error) => return Err(error),
        }
        self.later.clear();
        let outside = core::mem::take(&mut self.outside);
        if outside > 0 {
            let text = format!("{outside} packets came outside of the schedule");
            self.notes.push(NewsLine::note(text));
        }
        Ok(Begun::Yes)
    }

    /// Gives the waiting receiver what a plant before has received of a session that it had not yet
    /// joined. Returns whether there is something.
    fn give_overlapping(&mut self, next: &NextSession<Alpha<10>>, folder: Option<&Path>) -> bool {
        let Some(keep) = self.keep.as_ref().filter(|_| !folder.is_some_and(Path::exists)) else {
            return false;
        };
        let packets = overlap::packets_of(next, keep, self.started_ns);
        if packets.is_empty() {
            return false;
        }
        let (session, count) = (next.session, packets.len());
        let text = format!("session {session}: {count} packets are kept with the session before");
        self.notes.push(NewsLine::note(text));
        self.give(packets);
        true
    }

    /// Whether the session was left at the end of its time.
    pub fn has_left(&self) -> bool {
        self.has_left
    }

    /// Notes that the session is left, which goes on.
    #[cold]
    pub(super) fn note_left(&mut self) {
        self.has_left = true;
        let next = self.session.receiver.position().expected;
        if let Some(session) = self.session.receiver.session() {
            let text = format!("session {session}: left at message {next}: the schedule ends");
            self.notes.push(NewsLine::note(text));
        }
    }

    /// Follows the kernel's clock at most once a period, by `most_ns` at most: a larger step would
    /// end the timers of a session, or stop them.
    pub(super) fn follow_clock(&mut self, period_ns: u64, most_ns: u64) {
        let now_ns = self.timeline.now_ns();
        if now_ns.saturating_sub(self.anchored_ns) < period_ns {
            return;
        }
        let clock = self.timeline.clock().re_anchored();
        if clock.utc_ns().abs_diff(now_ns) <= most_ns {
            self.timeline.follow(clock);
        }
        self.anchored_ns = self.timeline.now_ns();
    }

    /// Begins a session, and its journal in this folder.
    pub(super) fn begin(
        &mut self,
        folder: Option<&Path>,
        date: TradeDate,
    ) -> Result<(), LiveError> {
        let now_ns = self.timeline.now_ns();
        let settings = KeptSettings { date, session: self.settings };
        let continued = match folder {
            Some(folder) => Keeper::has_session(folder, &settings)?.then_some(folder),
            None => None,
        };
        let waiting = self.take_waiting();
        // First of all: until then packets wait in the sockets, which a kill takes with the plant.
        let arriving = continued.map(|folder| self.start_arriving(folder, now_ns, &waiting));
        let begun = arriving.transpose().and_then(|arriving| {
            match folder.map(|folder| self.begin_keeping(folder, &settings, now_ns)).transpose() {
                Ok(kept) => Ok((arriving, kept)),
                Err(error) => {
                    arriving.into_iter().flatten().for_each(Arriving::undo);
                    Err(error)
                }
            }
        });
        let (arriving, kept) = match begun {
            Ok(begun) => begun,
            Err(error) => {
                // The session can still begin without a journal.
                self.renew_with(waiting);
                return Err(error);
            }
        };
        if self.session.receiver.session().is_some() || !waiting.is_empty() {
            self.session = LiveSession::new(self.settings, None);
        }
        self.session.receiver.set_counted_ns(self.counted_ns);
        self.session.midnight_ns = Some(date.midnight_ns());
        self.snapshots.iter_mut().for_each(Snapshots::cancel);
        let (keeper, replay) = kept.unzip();
        self.session.keeper = keeper.flatten();
        let (Some(folder), Some(mut replay)) = (folder, replay.flatten()) else {
            if !waiting.is_empty() {
                self.give(waiting);
            }
            return Ok(());
        };
        // A journal that had to be repaired has no session before that.
        let late = || self.start_arriving(folder, now_ns, &waiting);
        self.arriving = arriving.map_or_else(late, Ok)?;
        if self.arriving.is_some() {
            replay.leave_arriving();
        } else {
            self.waiting = waiting;
        }
        self.read_to_ns = now_ns;
        let (folder, bytes) = (folder.display(), replay.total_bytes);
        let text = format!("{folder}: catching up with {bytes} bytes of a plant before");
        self.notes.push(NewsLine::note(text));
        self.replay = Some(replay);
        Ok(())
    }

    /// Begins the journal of a session. If the system lets nothing be added to what a plant before
    /// has kept, as on a full disk, that is delivered, and nothing is kept from now on.
    fn begin_keeping(
        &mut self,
        folder: &Path,
        settings: &KeptSettings,
        now_ns: u64,
    ) -> Result<(Option<Keeper>, Option<Replay>), LiveError> {
        match Keeper::begin(folder, settings, now_ns) {
            Err(LiveError::Journal(error))
                if is_of_system(error.kind()) && Keeper::has_session(folder, settings)? =>
            {
                let text = format!("{}; packets from now on are not kept", cause_of(&error));
                self.notes.push(NewsLine::problem(text));
                self.has_unkept = true;
                Ok((None, Some(Replay::open(folder)?)))
            }
            begun => begun.map(|(keeper, replay)| (Some(keeper), replay)),
        }
    }

    /// `None` if the system does not let packets be kept while the plant catches up.
    fn start_arriving(
        &mut self,
        folder: &Path,
        now_ns: u64,
        waiting: &Waiting,
    ) -> Result<Option<Arriving>, LiveError> {
        let waiting =
            waiting.iter().map(|(line, ts_recv_ns, bytes)| (*line, *ts_recv_ns, &**bytes));
        match Arriving::start(folder, &self.lines, &self.timeline, now_ns, waiting) {
            Err(LiveError::Journal(error)) if is_of_system(error.kind()) => {
                let cause = cause_of(&error);
                let text =
                    format!("{cause}; packets wait in the sockets while the plant catches up");
                self.notes.push(NewsLine::problem(text));
                Ok(None)
            }
            started => started.map(Some),
        }
    }

    /// A receiver that has joined no session, with the packets of those that were not joined.
    fn renew(&mut self) {
        let waiting = self.take_waiting();
        self.renew_with(waiting);
    }

    fn renew_with(&mut self, waiting: Waiting) {
        self.session = LiveSession::new(self.settings, None);
        self.give(waiting);
    }

    fn take_waiting(&mut self) -> Waiting {
        let mut waiting = Vec::new();
        self.session.receiver.take_waiting(|line, ts_recv_ns, bytes| {
            waiting.push((line, ts_recv_ns, bytes.to_vec()));
        });
        waiting
    }

    /// Passes packets that came before to the session.
    pub(super) fn pass<H: EventHandler>(
        &mut self,
        waiting: Waiting,
        delivery: &mut Delivery<'_, H>,
    ) {
        for (line, ts_recv_ns, bytes) in waiting {
            let times = (ts_recv_ns, self.read_to_ns);
            self.session.packet(PacketOrigin::Line(line), times, &bytes, delivery);
        }
    }

    /// Gives packets to a receiver that has joined no session.
    fn give(&mut self, waiting: Waiting) {
        let mut discard = Discard;
        let mut delivery = Delivery::new(&mut discard, 0);
        self.pass(waiting, &mut delivery);
        // Of heartbeats that were repeated only the first is there: no line was silent since.
        self.session.restart(self.read_to_ns, &mut delivery);
    }
}

/// Whether an error is one of the system, such as a full disk or a file in the place of the folder,
/// and not of the packets in the folder.
fn is_of_system(kind: &ErrorKind) -> bool {
    use ErrorKind::{NoSpace, NotAFolder, NotReady, Quota, Region, System};
    match kind {
        System { .. } | NotAFolder | NoSpace { .. } | Quota { .. } | NotReady { .. } => true,
        // The file that the appender locks has no packets.
        Region(_) => true,
        _ => false,
    }
}

/// The name of the folder of a session: its trade date and its name, of which other characters than
/// letters, digits, `-` and `_` are written as in URLs.
fn folder_of(date: TradeDate, session: &Alpha<10>) -> PathBuf {
    let mut name = format!("{date}-");
    for &byte in session.trimmed() {
        if byte.is_ascii_alphanumeric() || b"-_".contains(&byte) {
            name.push(char::from(byte));
        } else {
            name += &format!("%{byte:02X}");
        }
    }
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_a_folder_of_its_name_whatever_its_bytes() {
        let date = TradeDate::of_number(20_261_127).unwrap();
        for (session, folder) in [
            (b"000001234A", "2026-11-27-000001234A"),
            (b"DAY       ", "2026-11-27-DAY"),
            (b"../../../x", "2026-11-27-%2E%2E%2F%2E%2E%2F%2E%2E%2Fx"),
            (b"a b\0\xff%    ", "2026-11-27-a%20b%00%FF%25"),
            (b"          ", "2026-11-27-"),
        ] {
            assert_eq!(folder_of(date, &Alpha::new(*session)), Path::new(folder));
        }
    }
}
