//! The copy of a journal, as a follower writes it: a state machine without sockets, clocks or
//! threads.
//!
//! Protocol: it states what it has, removes what the leader does not have, and appends what comes.
//! It reports how far it is after each group of frames that came together.
//! Failure: while there is no space for a segment, what comes is dropped, the leader gets the
//! reason, and a retry each [`RETRY_NS`] states again what the copy has. A leader that ends before
//! the copy, and did not lose that with its power or give it back, is refused: it may be an older
//! state of the journal that was restored.

use nanotape_journal::{Disk, ErrorKind, Folder, Position, Quarantined, Replica, SegmentHead};
use nanotape_link::{Arrival, ClockOffset, Now, Peer};

use crate::{
    error::FollowError,
    message::{CopyProgress, Report, Supply},
};

/// The time between two attempts to continue after a trouble, in ns.
pub const RETRY_NS: u64 = 500_000_000;

/// The time between two checks that the files of the copy are in their place, in ns.
const CHECK_NS: u64 = 5_000_000;

/// Epochs from here on are not possible: each promotion adds one.
const END_OF_EPOCHS: u64 = 1 << 62;

/// A leader and its epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Term {
    /// The number of the epoch: each promotion adds one.
    pub epoch: u64,
    /// A random number of the promotion, which tells two leaders of one epoch apart; 0: unknown.
    pub leader: u64,
}

/// What a call of [`FollowerLink::turn`] did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Followed {
    /// The copy is about to follow a leader for the first time. The caller stores the term, and
    /// then calls [`FollowerLink::join`]: from then on no earlier leader is followed.
    Joins(Term),
    /// Something arrived or was made to be sent.
    Worked,
    /// Nothing is to be done.
    Idle,
}

/// What the follower knows of its leader.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LeaderStatus {
    /// The next number of the leader, at least.
    pub next_sequence: u64,
    /// The number below which some follower has all excerpts, as the leader knows it.
    pub acknowledged: u64,
    /// When the last of these came, by the own clock, in ns since the UNIX epoch; 0: never.
    pub arrived_ns: u64,
}

/// Excerpts that arrived together, and how long they took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArrivedGroup {
    /// The number of the first one.
    pub first_sequence: u64,
    /// The number of the last one.
    pub last_sequence: u64,
    /// When they were sent, by the clock of the leader, in ns since the UNIX epoch.
    pub sent_ns: u64,
    /// When they arrived, by the own clock, in ns since the UNIX epoch.
    pub arrived_ns: u64,
    /// How far the clock of the leader was ahead; `None` if that is unknown yet.
    pub offset: Option<ClockOffset>,
}

impl ArrivedGroup {
    /// The least and the most time from sent to arrived, in ns. `None` also if both are below zero,
    /// which shows that a clock was set after the last heartbeat.
    pub fn took_ns(&self) -> Option<(u64, u64)> {
        let by_two_clocks = self.arrived_ns.wrapping_sub(self.sent_ns).cast_signed();
        let ClockOffset { least_ns, most_ns } = self.offset?;
        let most_ns = u64::try_from(by_two_clocks.saturating_add(most_ns)).ok()?;
        Some((by_two_clocks.saturating_add(least_ns).max(0).cast_unsigned(), most_ns))
    }
}

/// How a follower follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FollowOptions {
    /// The term that the copy followed last.
    pub term: Term,
    /// Whether excerpts that the leader does not have are set aside, for whatever reason.
    pub sets_aside: bool,
    /// Whether the contents of all segments are compared with those of the leader.
    pub compares_all: bool,
    /// Whether each group of excerpts is synced to disk before it is reported.
    pub syncs: bool,
    /// Whether [`take_arrived`](FollowerLink::take_arrived) has what arrived.
    pub keeps_times: bool,
}

/// The follower's side of the link to its leader.
#[derive(Debug)]
pub struct FollowerLink<D: Disk = Folder> {
    peer: Peer,
    replica: Replica<D>,
    options: FollowOptions,
    leader_term: Term,
    has_joined: bool,
    phase: Phase,
    progress: CopyProgress,
    /// Whether the progress is to be reported.
    has_news: bool,
    leader: LeaderStatus,
    checked_ns: u64,
    /// The beginning of an excerpt that is too long for a frame.
    parts: Vec<u8>,
    /// What was set aside since the last call of [`take_set_aside`](Self::take_set_aside).
    set_aside: Vec<Quarantined>,
    /// What arrived since the last call of [`take_arrived`](Self::take_arrived), if it is wanted.
    arrived: Vec<ArrivedGroup>,
    message: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The hello is not there yet.
    Waiting,
    /// The leader gets the state of the copy, and answers where both continue.
    Stated,
    /// The caller has not stored the term yet.
    Joining,
    Following,
    /// Nothing can be appended until a retry at this time.
    Troubled(u64),
}

impl<D: Disk> FollowerLink<D> {
    /// The side of a new connection. The peer is new, its service is [`SERVICE`](crate::SERVICE),
    /// and its epoch is that of the options.
    pub fn new(replica: Replica<D>, peer: Peer, options: FollowOptions) -> Self {
        let progress = CopyProgress {
            incarnation: replica.state().incarnation,
            next_sequence: replica.state().next_sequence,
            ..CopyProgress::default()
        };
        Self {
            peer,
            replica,
            options,
            leader_term: Term::default(),
            has_joined: false,
            phase: Phase::Waiting,
            progress,
            has_news: false,
            leader: LeaderStatus::default(),
            checked_ns: 0,
            parts: Vec::new(),
            set_aside: Vec::new(),
            arrived: Vec::new(),
            message: Vec::new(),
        }
    }

    /// The copy, for the next connection.
    pub fn into_replica(self) -> Replica<D> {
        self.replica
    }

    /// The link, for the bytes of the socket.
    #[inline]
    pub fn peer(&mut self) -> &mut Peer {
        &mut self.peer
    }

    /// How far the copy is.
    #[inline]
    pub fn progress(&self) -> &CopyProgress {
        &self.progress
    }

    /// Whether the copy has a segment.
    pub fn has_segments(&self) -> bool {
        !self.replica.state().heads.is_empty()
    }

    /// What is known of the leader.
    #[inline]
    pub fn leader(&self) -> &LeaderStatus {
        &self.leader
    }

    /// How far the clock of the leader is ahead.
    pub fn offset(&self, now: Now) -> Option<ClockOffset> {
        self.peer.offset(now)
    }

    /// The files of what was set aside since the last call, because the leader does not have it.
    pub fn take_set_aside(&mut self) -> Vec<Quarantined> {
        std::mem::take(&mut self.set_aside)
    }

    /// What arrived since the last call, if the options keep it.
    pub fn take_arrived(&mut self) -> std::vec::Drain<'_, ArrivedGroup> {
        self.arrived.drain(..)
    }

    /// Whether the copy has begun to follow since the last call.
    pub fn take_joined(&mut self) -> bool {
        std::mem::take(&mut self.has_joined)
    }

    /// Follows the leader of [`Followed::Joins`].
    pub fn join(&mut self) {
        self.options.term = self.leader_term;
        self.phase = Phase::Following;
        self.has_news = true;
        self.options.compares_all = false;
        self.has_joined = true;
    }

    /// States what the copy has.
    fn state(&mut self) -> Result<(), FollowError> {
        self.phase = Phase::Stated;
        self.parts.clear();
        let compares_all = self.options.compares_all;
        self.send(&Report::State(self.replica.state().clone(), compares_all))
    }

    /// Handles what arrived, and makes what is to be sent. After an error the connection is over;
    /// the peer still has the reason to send.
    #[inline]
    pub fn turn(&mut self, now: Now) -> Result<Followed, FollowError> {
        let turned = self.try_turn(now);
        if let Err(error) = &turned {
            self.peer.close(&error.to_string());
        }
        turned
    }

    #[inline]
    fn try_turn(&mut self, now: Now) -> Result<Followed, FollowError> {
        if let Phase::Troubled(retry_ns) = self.phase
            && now.monotonic_ns >= retry_ns
        {
            self.state()?;
        }
        let mut has_arrived = false;
        while self.phase != Phase::Joining {
            let (kind, supply) = match self.peer.next(now)? {
                Arrival::Nothing => break,
                Arrival::Open(hello) => {
                    let term = Term { epoch: hello.epoch, leader: hello.session };
                    self.check(term)?;
                    self.leader_term = term;
                    self.peer.beat(now);
                    self.state()?;
                    continue;
                }
                Arrival::Frame { kind, payload } => (kind, Supply::decode(kind, payload)?),
            };
            has_arrived = true;
            let is_following = self.phase == Phase::Following;
            match supply {
                Supply::Words { position, digest, sent_ns, bytes } if is_following => {
                    let first_sequence = self.replica.state().next_sequence;
                    if self.parts.is_empty() {
                        self.replica.append(position, bytes)?;
                    } else {
                        self.parts.extend_from_slice(bytes);
                        self.replica.append(position, &self.parts)?;
                        self.parts.clear();
                    }
                    let state = self.replica.state();
                    if state.digest != digest {
                        return Err(FollowError::Differs { position: state.end });
                    }
                    let next_sequence = state.next_sequence;
                    if self.options.keeps_times && next_sequence > first_sequence {
                        let (last_sequence, arrived_ns) = (next_sequence - 1, now.utc_ns);
                        let offset = self.peer.offset(now);
                        self.arrived.push(ArrivedGroup {
                            first_sequence,
                            last_sequence,
                            sent_ns,
                            arrived_ns,
                            offset,
                        });
                    }
                    self.progress.next_sequence = next_sequence;
                    (self.progress.arrived_ns, self.progress.sent_ns) = (now.utc_ns, sent_ns);
                    self.leader.next_sequence =
                        self.leader.next_sequence.max(self.progress.next_sequence);
                    self.has_news = true;
                }
                Supply::Part(bytes) if is_following => {
                    let parts_bytes = (self.parts.len() + bytes.len()) as u64;
                    let most_bytes = self.replica.room_bytes();
                    if parts_bytes > most_bytes {
                        return Err(FollowError::Parts { parts_bytes, most_bytes });
                    }
                    self.parts.extend_from_slice(bytes);
                }
                Supply::Segment(head) if is_following => self.enter(&head, now)?,
                Supply::Corrected(head) if is_following => {
                    self.replica.correct(&head)?;
                    self.progress.incarnation = self.replica.state().incarnation;
                    self.has_news = true;
                }
                Supply::Resume { position, next_sequence, has_lost }
                    if self.phase == Phase::Stated =>
                {
                    self.resume(position, next_sequence, has_lost)?;
                    if self.phase == Phase::Joining {
                        return Ok(Followed::Joins(self.leader_term));
                    }
                }
                Supply::Again => self.state()?,
                Supply::Tip { next_sequence, acknowledged } => {
                    let arrived_ns = now.utc_ns;
                    self.leader = LeaderStatus { next_sequence, acknowledged, arrived_ns };
                }
                Supply::DigestRequest { segment, before } => {
                    let digest = self.replica.digest_before(segment, before)?;
                    self.send(&Report::Digest { segment, before, digest })?;
                }
                Supply::Refusal(refusal) => return Err(FollowError::Refused(refusal)),
                // Sent before the leader knew that the copy cannot follow.
                Supply::Words { .. } | Supply::Part(_) if self.phase != Phase::Waiting => {}
                Supply::Segment(_) | Supply::Corrected(_) if self.phase != Phase::Waiting => {}
                _ => return Err(FollowError::Order { kind }),
            }
        }
        if self.has_news {
            self.report(now)?;
        }
        self.peer.tick(now)?;
        Ok(if has_arrived { Followed::Worked } else { Followed::Idle })
    }

    /// Checks that the leader is not one from before.
    fn check(&self, term: Term) -> Result<(), FollowError> {
        let own = self.options.term;
        if term.epoch == 0 || term.epoch >= END_OF_EPOCHS {
            return Err(FollowError::Epoch { found: term.epoch });
        }
        if term.epoch < own.epoch {
            return Err(FollowError::Fenced { found: term.epoch, own: own.epoch });
        }
        if term.epoch == own.epoch && own.leader != 0 && term.leader != own.leader {
            return Err(FollowError::TwoLeaders { epoch: own.epoch });
        }
        Ok(())
    }

    /// Removes what the leader does not have, and continues.
    #[cold]
    fn resume(
        &mut self,
        position: Position,
        leader_next: u64,
        has_lost: bool,
    ) -> Result<(), FollowError> {
        // The leader has accepted the copy.
        self.replica.mark()?;
        let end = self.replica.state().end;
        let is_beginning = position.offset_bytes == 0 && position.segment > end.segment;
        let is_nowhere = position.segment == 0 && position.offset_bytes > 0;
        if position > end && !is_beginning || is_nowhere {
            return Err(FollowError::Position { position, end });
        }
        if position < end {
            let copy_next = self.replica.state().next_sequence;
            // A later leader does not have what no follower acknowledged to the one before.
            let own = self.options.term.epoch;
            let is_later = own > 0 && self.leader_term.epoch > own;
            // Only a segment without excerpts, or an end mark, is more on the copy.
            let own_next = self.replica.number_at(position)?;
            let is_empty = own_next == Some(copy_next);
            let leader_next = own_next.unwrap_or(leader_next);
            if !has_lost && !is_later && !is_empty && !self.options.sets_aside {
                return Err(FollowError::Ahead { leader_next, copy_next });
            }
            let taken = self.replica.back_to(position)?;
            self.set_aside.extend(taken);
            self.progress.next_sequence = self.replica.state().next_sequence;
            self.progress.on_disk = self.progress.on_disk.min(self.progress.next_sequence);
            self.progress.incarnation = self.replica.state().incarnation;
            // Up to there both may differ.
            return self.state();
        }
        if self.leader_term != self.options.term {
            self.phase = Phase::Joining;
            return Ok(());
        }
        self.join();
        Ok(())
    }

    /// Begins a segment, or waits until there is space for it.
    #[cold]
    fn enter(&mut self, head: &SegmentHead, now: Now) -> Result<(), FollowError> {
        match self.replica.begin(head) {
            Ok(()) => {
                self.progress.incarnation = head.incarnation();
                self.progress.trouble.clear();
            }
            Err(error) if is_of_space(error.kind()) => {
                self.progress.trouble = error.kind().to_string();
                self.phase = Phase::Troubled(now.monotonic_ns + RETRY_NS);
            }
            Err(error) => return Err(error.into()),
        }
        self.has_news = true;
        Ok(())
    }

    fn report(&mut self, now: Now) -> Result<(), FollowError> {
        self.has_news = false;
        // What is acknowledged must be under its name.
        if self.options.syncs || now.monotonic_ns.saturating_sub(self.checked_ns) >= CHECK_NS {
            self.checked_ns = now.monotonic_ns;
            self.replica.check_place()?;
        }
        if self.options.syncs && self.progress.on_disk < self.progress.next_sequence {
            self.replica.sync()?;
            self.progress.on_disk = self.progress.next_sequence;
        }
        let report = Report::Progress(std::mem::take(&mut self.progress));
        let sent = self.send(&report);
        if let Report::Progress(progress) = report {
            self.progress = progress;
        }
        sent
    }

    #[inline]
    fn send(&mut self, report: &Report) -> Result<(), FollowError> {
        let kind = report.encode(&mut self.message);
        self.peer.send(kind, &[&self.message]).map_err(|_| FollowError::Full)
    }
}

/// Whether a segment cannot begin for a reason that an operator removes.
fn is_of_space(kind: &ErrorKind) -> bool {
    matches!(kind, ErrorKind::NoSpace { .. } | ErrorKind::Quota { .. })
}

#[cfg(test)]
mod tests {
    use super::{ArrivedGroup, ClockOffset};

    #[test]
    fn the_time_on_the_way_is_that_by_one_clock() {
        // The clock of the leader is ahead by 10 to 20 ns: it sent at 80 to 90 by this clock.
        let offset = Some(ClockOffset { least_ns: 10, most_ns: 20 });
        let group = ArrivedGroup {
            first_sequence: 1,
            last_sequence: 1,
            sent_ns: 100,
            arrived_ns: 300,
            offset,
        };
        assert_eq!(group.took_ns(), Some((210, 220)));
        assert_eq!(ArrivedGroup { offset: None, ..group }.took_ns(), None);
        // No time is below zero.
        assert_eq!(ArrivedGroup { arrived_ns: 85, ..group }.took_ns(), Some((0, 5)));
        assert_eq!(ArrivedGroup { arrived_ns: 79, ..group }.took_ns(), None);
    }
}
