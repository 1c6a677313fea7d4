//! One follower, as the leader serves it: a state machine without sockets, clocks or threads.
//!
//! Protocol: the follower states what it has, and the leader answers where both continue. From
//! there on it sends words in the order of their positions: catching up and live are one state. The
//! follower states again what it has whenever it cannot continue, and after the leader's journal
//! has changed: was given back, lost, or repaired.
//! Bounds: what is sent waits in the buffer of the link, and the rest stays in the journal. A
//! follower that takes nothing costs no more.
//! Failure: a copy that differs is refused with the first excerpt that does. It is found by digests
//! of the beginning of its last segment, in as many steps as the number of excerpts has bits.

use std::time::Duration;

use nanotape_journal::{
    ContentDigest, Copied, Copier, CopyState, Disk, Folder, Position, Resume, SegmentHead,
};
use nanotape_link::{Arrival, ClockOffset, Hello, Now, Peer};
use nanotape_shm::copy_out;

use crate::{
    error::LeaderError,
    message::{CopyProgress, FRAME_BYTES, Refusal, Report, Supply, WORDS_HEADER_BYTES},
};

/// The time between two checks of the journal that make system calls, in ns.
const CHECK_NS: u64 = 20_000_000;

/// The time between two tips while nothing is sent, in ns.
const TIP_NS: u64 = 50_000_000;

/// No more frames are made while so many bytes wait to be sent.
const ENOUGH_BYTES: usize = 1 << 18;

/// What a call of [`LeaderLink::turn`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turned {
    /// Something arrived or was made to be sent.
    Worked,
    /// Nothing is to be done.
    Idle,
}

/// What is known of a follower.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FollowerStatus {
    /// How far it is, as it reported last.
    pub progress: CopyProgress,
    /// The number after the last excerpt that was sent to it.
    pub sent_next: u64,
    /// Whether it has been sent everything.
    pub is_live: bool,
    /// How often it fell behind what the leader has ready to send, after it had everything.
    pub catch_ups: u64,
    /// How often both began to continue at a position.
    pub resumes: u64,
    /// Bytes of excerpts that were sent.
    pub sent_bytes: u64,
}

/// How a leader serves its followers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LeaderOptions {
    /// Whether commits wait for followers. Then a follower has promised what it has, and never sets
    /// it aside because the leader lost it.
    pub commits: bool,
    /// The time between two reads of the end of the journal. An appender waits for its cache line
    /// after each of them.
    pub poll: Duration,
}

/// The leader's side of the link to one follower.
#[derive(Debug)]
pub struct LeaderLink<D: Disk = Folder> {
    peer: Peer,
    disk: D,
    options: LeaderOptions,
    /// Whether the hello of the follower was checked.
    is_open: bool,
    phase: Phase<D>,
    status: FollowerStatus,
    /// The number below which some follower has all excerpts.
    acknowledged: u64,
    checked_ns: u64,
    /// When the end of the journal was reached; `None` if it is not known to be there.
    end_ns: Option<u64>,
    tip_ns: u64,
    tip: (u64, u64),
    /// What is sent next, as bytes; the part of a long excerpt that was not sent yet.
    bytes: Vec<u8>,
    rest: Option<Rest>,
}

/// The part of `bytes` that has not been sent, and the message that ends it.
#[derive(Clone, Copy, Debug)]
struct Rest {
    from: usize,
    position: Position,
    digest: ContentDigest,
}

#[derive(Debug)]
enum Phase<D: Disk> {
    /// The hello, or what the follower has, is not there yet.
    Waiting,
    Sending(Box<Copier<D>>),
    /// The follower cannot go on, and reports when it can.
    Paused,
    /// The contents of the copy's segments are compared, one in each turn.
    Comparing(Box<Comparison>),
    /// The copy differs; the first excerpt that does is searched.
    Searching(Search),
}

/// A comparison of the segments of a copy.
#[derive(Clone, Debug)]
struct Comparison {
    state: CopyState,
    /// How many of them are left, the oldest first.
    left: usize,
    /// Whether a newer one is the same on both sides.
    has_common: bool,
    /// The segment whose digest was requested: its number, the number at its end here, and the
    /// digest here.
    requested: Option<(u64, u64, ContentDigest)>,
    /// Where both continue if that digest is the same.
    then: Option<Supply<'static>>,
}

/// A search for the first excerpt that differs in a segment: that before `equal` does not, and one
/// below `different` does.
#[derive(Clone, Copy, Debug)]
struct Search {
    segment: u64,
    equal: u64,
    different: u64,
}

impl Search {
    fn middle(&self) -> u64 {
        self.equal + (self.different - self.equal) / 2
    }

    fn is_over(&self) -> bool {
        self.different <= self.equal + 1
    }
}

impl<D: Disk> LeaderLink<D> {
    /// The side of a new connection. The peer is new, or has its hello, and its service is
    /// [`SERVICE`](crate::SERVICE).
    pub fn new(disk: D, peer: Peer, options: LeaderOptions) -> Self {
        Self {
            peer,
            disk,
            options,
            is_open: false,
            phase: Phase::Waiting,
            status: FollowerStatus::default(),
            acknowledged: 0,
            checked_ns: 0,
            end_ns: None,
            tip_ns: 0,
            tip: (0, 0),
            bytes: Vec::with_capacity(FRAME_BYTES),
            rest: None,
        }
    }

    /// The link, for the bytes of the socket.
    #[inline]
    pub fn peer(&mut self) -> &mut Peer {
        &mut self.peer
    }

    /// What the follower has stated of itself, once it has.
    pub fn follower(&self) -> Option<&Hello> {
        self.peer.other()
    }

    /// What is known of the follower.
    #[inline]
    pub fn status(&self) -> &FollowerStatus {
        &self.status
    }

    /// How far the clock of the follower is ahead.
    pub fn offset(&self, now: Now) -> Option<ClockOffset> {
        self.peer.offset(now)
    }

    /// Sets the number below which some follower has all excerpts, so that each one knows it.
    #[inline]
    pub fn set_acknowledged(&mut self, sequence: u64) {
        self.acknowledged = self.acknowledged.max(sequence);
    }

    /// Handles what arrived, and makes what is to be sent. After an error the connection is over;
    /// the peer still has the reason to send.
    #[inline]
    pub fn turn(&mut self, now: Now) -> Result<Turned, LeaderError> {
        let turned = self.try_turn(now);
        if let Err(error) = &turned {
            self.end(error);
        }
        turned
    }

    #[cold]
    fn end(&mut self, error: &LeaderError) {
        if let LeaderError::Refused(refusal) = error {
            let _ = self.send(&Supply::Refusal(*refusal));
        }
        self.peer.close(&error.to_string());
    }

    #[inline]
    fn try_turn(&mut self, now: Now) -> Result<Turned, LeaderError> {
        let has_arrived = self.receive(now)?;
        let has_sent = self.supply(now)?;
        self.peer.tick(now)?;
        Ok(if has_arrived || has_sent { Turned::Worked } else { Turned::Idle })
    }

    /// Handles everything that arrived.
    fn receive(&mut self, now: Now) -> Result<bool, LeaderError> {
        let mut has_arrived = false;
        loop {
            if !self.is_open
                && let Some(hello) = self.peer.other()
            {
                self.is_open = true;
                let own = self.peer.own_epoch();
                if hello.epoch > own {
                    return Err(LeaderError::Deposed { found: hello.epoch, own });
                }
                if (hello.most_payload as usize) < FRAME_BYTES {
                    return Err(LeaderError::ShortFrames { found: hello.most_payload });
                }
                // The offset of the clocks is known after two of them.
                self.peer.beat(now);
            }
            let report = match self.peer.next(now)? {
                Arrival::Nothing => return Ok(has_arrived),
                Arrival::Open(_) => continue,
                Arrival::Frame { kind, payload } => (kind, Report::decode(kind, payload)?),
            };
            has_arrived = true;
            match report {
                (_, Report::Progress(progress)) => self.progressed(progress)?,
                (_, Report::State(state, compares_all)) => {
                    self.rest = None;
                    let left = if compares_all { state.heads.len() } else { 0 };
                    let (requested, then, has_common) = (None, None, false);
                    let comparison = Comparison { state, left, has_common, requested, then };
                    self.phase = Phase::Comparing(Box::new(comparison));
                }
                (kind, Report::Digest { segment, before, digest }) => {
                    let search = match &mut self.phase {
                        Phase::Searching(search) => *search,
                        Phase::Comparing(comparison) => {
                            let requested = comparison.requested.take();
                            let Some((number, end, own)) = requested else {
                                return Err(LeaderError::Order { kind });
                            };
                            if (segment, before) != (number, end) {
                                return Err(LeaderError::Order { kind });
                            }
                            let then = comparison.then.take();
                            self.compared((segment, end, own), digest, then.is_none())?;
                            if let (Some(resume), Phase::Comparing(_)) = (then, &self.phase) {
                                self.phase = Phase::Waiting;
                                self.send(&resume)?;
                            }
                            continue;
                        }
                        _ => return Err(LeaderError::Order { kind }),
                    };
                    if (segment, before) != (search.segment, search.middle()) {
                        return Err(LeaderError::Order { kind });
                    }
                    let own = ContentDigest::before(&self.disk, segment, before)?;
                    let of = |found: Option<(ContentDigest, u64)>| found.map(|found| found.0);
                    let search = match of(own) == of(digest) {
                        true => Search { equal: before, ..search },
                        false => Search { different: before, ..search },
                    };
                    self.search(search)?;
                }
            }
        }
    }

    fn progressed(&mut self, progress: CopyProgress) -> Result<(), LeaderError> {
        // Only what was sent, or what both were found to have.
        let (found, sent) = (progress.next_sequence.max(progress.on_disk), self.status.sent_next);
        if found > sent || progress.on_disk > progress.next_sequence {
            return Err(LeaderError::Unsent { found, sent });
        }
        if !progress.trouble.is_empty() {
            self.phase = Phase::Paused;
            self.rest = None;
        }
        self.status.progress = progress;
        Ok(())
    }

    /// Compares one segment of a copy, the newest first, or continues where the copy ends. Those
    /// before the newest one that both have must be equal: both went on after them.
    #[cold]
    fn compare(&mut self) -> Result<bool, LeaderError> {
        let Phase::Comparing(comparison) = &mut self.phase else { return Ok(false) };
        if comparison.requested.is_some() {
            return Ok(false);
        }
        let Some(left) = comparison.left.checked_sub(1) else {
            let state = std::mem::take(&mut comparison.state);
            return self.resume(&state).map(|()| true);
        };
        comparison.left = left;
        let heads = &comparison.state.heads;
        let known = heads[left];
        let next = heads.get(left + 1).map_or(known.number + 1, |next| next.number);
        let Some(own) = SegmentHead::of(&self.disk, known.number)? else { return Ok(true) };
        let (segment, sequence) = (known.number, own.first_sequence());
        match (comparison.has_common, own.digest().identity == known.identity) {
            (false, is_same) => comparison.has_common = is_same,
            (true, false) => return Err(Refusal::Differs { segment, sequence }.into()),
            (true, true) => {
                if next != segment + 1 {
                    return Err(Refusal::Lacks { segment: segment + 1 }.into());
                }
                let own = ContentDigest::before(&self.disk, segment, u64::MAX)?;
                if let Some((digest, end)) = own {
                    comparison.requested = Some((segment, end, digest));
                    self.send(&Supply::DigestRequest { segment, before: end })?;
                }
            }
        }
        Ok(true)
    }

    /// Compares a digest here, of the excerpts of a segment before `end`, with that of the copy,
    /// which can have fewer of them if it need not be whole: its segment ended before.
    #[cold]
    fn compared(
        &mut self,
        (segment, end, own): (u64, u64, ContentDigest),
        copied: Option<(ContentDigest, u64)>,
        must_be_whole: bool,
    ) -> Result<(), LeaderError> {
        match copied {
            None => Err(Refusal::Lacks { segment }.into()),
            Some((copied, _)) if copied == own => Ok(()),
            // The copy is damaged there, or ends.
            Some((copied, copy_end)) if copy_end < end => {
                let before = ContentDigest::before(&self.disk, segment, copy_end)?;
                match before.is_some_and(|(before, _)| before == copied) {
                    true if must_be_whole => {
                        Err(Refusal::Differs { segment, sequence: copy_end }.into())
                    }
                    true => Ok(()),
                    false => self.find_difference(segment, copy_end),
                }
            }
            Some(_) => self.find_difference(segment, end),
        }
    }

    /// Continues where a follower ends, or refuses it.
    #[cold]
    fn resume(&mut self, state: &CopyState) -> Result<(), LeaderError> {
        self.phase = Phase::Waiting;
        let mut pairs = state.heads.windows(2);
        if let Some(pair) = pairs.find(|pair| pair[1].number != pair[0].number + 1) {
            return Err(Refusal::Lacks { segment: pair[0].number + 1 }.into());
        }
        let (copier, resume) = Copier::resume(self.disk.clone(), state)?;
        let position = match resume {
            Resume::At(position) => position,
            Resume::Differs { segment } => {
                return self.find_difference(segment, state.next_sequence);
            }
            Resume::OtherJournal { journal: leader } => {
                return Err(Refusal::OtherJournal { leader, copy: state.journal }.into());
            }
            Resume::Pruned { first_sequence } => {
                let next_sequence = state.next_sequence;
                return Err(Refusal::Pruned { next_sequence, first_sequence }.into());
            }
        };
        let has_lost = copier.has_lost() && !self.options.commits;
        let next_sequence = copier.next_sequence();
        let resume = Supply::Resume { position, next_sequence, has_lost };
        self.status.resumes += 1;
        self.status.is_live = false;
        // The follower removes what it has more, and states again what it has: only if both have
        // the same before that.
        if position < state.end && position.offset_bytes > 0 {
            let (segment, digest) = (position.segment, copier.digest());
            let requested = Some((segment, next_sequence, digest));
            let state = CopyState::default();
            let (left, has_common, then) = (0, true, Some(resume));
            let comparison = Comparison { state, left, has_common, requested, then };
            self.phase = Phase::Comparing(Box::new(comparison));
            return self.send(&Supply::DigestRequest { segment, before: next_sequence });
        }
        self.send(&resume)?;
        if position >= state.end {
            self.status.sent_next = next_sequence;
            self.phase = Phase::Sending(Box::new(copier));
        }
        Ok(())
    }

    /// Begins to search the first excerpt of a segment that differs.
    #[cold]
    fn find_difference(&mut self, segment: u64, different: u64) -> Result<(), LeaderError> {
        let head = SegmentHead::of(&self.disk, segment)?;
        let first = head.map_or(0, |head| head.first_sequence());
        self.search(Search { segment, equal: first, different })
    }

    #[cold]
    fn search(&mut self, search: Search) -> Result<(), LeaderError> {
        let Search { segment, equal: sequence, .. } = search;
        if search.is_over() {
            return Err(Refusal::Differs { segment, sequence }.into());
        }
        self.phase = Phase::Searching(search);
        self.send(&Supply::DigestRequest { segment, before: search.middle() })
    }

    /// Makes frames while there is something to send and room for it.
    #[inline]
    fn supply(&mut self, now: Now) -> Result<bool, LeaderError> {
        if self.due_in(now).is_some_and(|due| !due.is_zero()) {
            return self.idle(now);
        }
        self.end_ns = None;
        let mut has_sent = false;
        while self.peer.room() >= FRAME_BYTES && self.peer.outgoing().len() < ENOUGH_BYTES {
            if !self.supply_one(now)? {
                let is_at_end = matches!(self.phase, Phase::Sending(_));
                self.end_ns = is_at_end.then_some(now.monotonic_ns);
                if has_sent {
                    return Ok(true);
                }
                return self.idle(now);
            }
            has_sent = true;
        }
        if self.status.is_live && self.peer.outgoing().len() >= ENOUGH_BYTES {
            (self.status.is_live, self.status.catch_ups) = (false, self.status.catch_ups + 1);
        }
        Ok(has_sent)
    }

    /// The time until the journal is read again; `None` while that waits for the follower.
    #[inline]
    pub fn due_in(&self, now: Now) -> Option<Duration> {
        let end_ns = self.end_ns.filter(|_| matches!(self.phase, Phase::Sending(_)))?;
        let passed = Duration::from_nanos(now.monotonic_ns.saturating_sub(end_ns));
        Some(self.options.poll.saturating_sub(passed))
    }

    /// Makes one frame; returns whether there was something.
    #[inline]
    fn supply_one(&mut self, now: Now) -> Result<bool, LeaderError> {
        if self.rest.is_some() {
            return self.send_rest(now).map(|()| true);
        }
        let Phase::Sending(copier) = &mut self.phase else { return self.compare() };
        let most_bytes = FRAME_BYTES - WORDS_HEADER_BYTES;
        match copier.next(most_bytes)? {
            Copied::Words { position, words, next_sequence, digest } => {
                let length = words.len() * 8;
                self.bytes.resize(length, 0);
                copy_out(words, &mut self.bytes);
                self.status.sent_next = next_sequence;
                self.status.sent_bytes += length as u64;
                self.rest = Some(Rest { from: 0, position, digest });
                self.send_rest(now)?;
                Ok(true)
            }
            Copied::Segment(head) => {
                self.status.sent_next = self.status.sent_next.max(head.first_sequence());
                self.send(&Supply::Segment(head)).map(|()| true)
            }
            Copied::Corrected(head) => self.send(&Supply::Corrected(head)).map(|()| true),
            Copied::Nothing => Ok(false),
            Copied::Changed => self.changed().map(|()| true),
        }
    }

    /// Sends what is left of an excerpt, or as much as a frame takes.
    #[inline]
    fn send_rest(&mut self, now: Now) -> Result<(), LeaderError> {
        let Some(Rest { from, position, digest }) = self.rest.take() else { return Ok(()) };
        let most = FRAME_BYTES - WORDS_HEADER_BYTES;
        let bytes = std::mem::take(&mut self.bytes);
        let left = &bytes[from..];
        let sent = if left.len() > most {
            self.rest = Some(Rest { from: from + most, position, digest });
            self.send(&Supply::Part(&left[..most]))
        } else {
            self.send(&Supply::Words { position, digest, sent_ns: now.utc_ns, bytes: left })
        };
        self.bytes = bytes;
        sent
    }

    /// The journal no longer has what was sent: the follower states again what it has.
    #[cold]
    fn changed(&mut self) -> Result<(), LeaderError> {
        self.phase = Phase::Waiting;
        self.send(&Supply::Again)
    }

    /// Nothing is to be sent.
    fn idle(&mut self, now: Now) -> Result<bool, LeaderError> {
        if now.monotonic_ns.saturating_sub(self.checked_ns) >= CHECK_NS {
            self.checked_ns = now.monotonic_ns;
            if let Phase::Sending(copier) = &mut self.phase
                && !copier.check()?
            {
                self.changed()?;
                return Ok(true);
            }
        }
        let Phase::Sending(copier) = &self.phase else { return Ok(false) };
        self.status.is_live = true;
        let tip = (copier.next_sequence(), self.acknowledged);
        if tip == self.tip || now.monotonic_ns.saturating_sub(self.tip_ns) < TIP_NS {
            return Ok(false);
        }
        (self.tip, self.tip_ns) = (tip, now.monotonic_ns);
        self.send(&Supply::Tip { next_sequence: tip.0, acknowledged: tip.1 })?;
        Ok(true)
    }

    #[inline]
    fn send(&mut self, supply: &Supply<'_>) -> Result<(), LeaderError> {
        let (kind, first, rest) = supply.encode();
        let sent = self.peer.send(kind, &[first.bytes(), rest]);
        sent.map_err(|_| LeaderError::Full)
    }
}
