//! The followers that a plant waits for: who joined, who ended, and what each has read.

use std::sync::{Arc, atomic::Ordering};

use nanotape_board::{
    FollowerReader, FollowerStat, follower_names, follower_path, is_of_the_rings_user,
};
use nanotape_shm::OwnerState;

use super::{FollowerState, FollowerSummary, HeldRing, MOST_FOLLOWERS, Report, Shared};

/// Checks of the known followers per search for new ones, which reads a folder.
const CHECKS_PER_SEARCH: u32 = 5;

/// All followers of a run.
#[derive(Debug)]
pub(super) struct Roster {
    ring: HeldRing,
    report: Report,
    pub(super) shared: Arc<Shared>,
    followers: Vec<Held>,
    checks: u32,
}

/// A follower of the run.
#[derive(Debug)]
struct Held {
    name: String,
    reader: FollowerReader,
    /// `None` while it follows.
    exit: Option<Exit>,
    was_promised: bool,
    /// The first message of the run that a follower of this name was to read.
    began: u64,
    /// Messages between the end of a follower of this name and the beginning of the next one.
    skipped: u64,
}

/// The end of a follower.
#[derive(Clone, Copy, Debug)]
struct Exit {
    how: How,
    next_sequence: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum How {
    Ended,
    Killed,
    /// Its region was truncated, so its position is unknown.
    Truncated,
}

impl Roster {
    pub(super) fn new(ring: HeldRing, report: Report, shared: Arc<Shared>) -> Self {
        Self { ring, report, shared, followers: Vec::new(), checks: 0 }
    }

    /// The names of the followers that have joined a plant without a record.
    pub(super) fn before_the_run(&mut self) -> Vec<String> {
        // One that ended before the first record was promised nothing.
        self.followers.retain(|held| held.reader.sample().owner.state == OwnerState::Alive);
        self.search(true);
        self.followers.iter().map(|held| held.name.clone()).collect()
    }

    /// The publisher waits for them from now on.
    pub(super) fn begin(&mut self) {
        self.share();
    }

    /// Reports who ended and who joined.
    pub(super) fn check(&mut self) {
        let ended = self.note_exits();
        // Loaded after the exits were found: the last record is published after it is stored.
        if self.shared.is_ending.load(Ordering::Acquire) {
            return;
        }
        for &place in &ended {
            let held = &self.followers[place];
            let Some(exit) = held.exit else { continue };
            let how = match exit.how {
                How::Ended => "ended",
                How::Killed => "was killed or crashed",
                How::Truncated => "has a truncated region: it stopped counting",
            };
            let pid = held.reader.sample().owner.pid;
            self.report.problem(&format!(
                "follower {} (process {pid}) {how} before message {}; the plant goes on without it",
                held.name, exit.next_sequence
            ));
        }
        self.checks += 1;
        let joined = self.checks.is_multiple_of(CHECKS_PER_SEARCH) && self.search(false);
        if joined || !ended.is_empty() {
            self.share();
        }
    }

    /// The places of the followers that have ended since the last call.
    fn note_exits(&mut self) -> Vec<usize> {
        let mut ended = Vec::new();
        for (place, held) in self.followers.iter_mut().enumerate() {
            if held.exit.is_none() {
                held.exit = exit_of(&held.reader);
                if held.exit.is_some() {
                    ended.push(place);
                }
            }
        }
        ended
    }

    /// Finds followers that joined, or joined again; returns whether there are any.
    fn search(&mut self, is_promised: bool) -> bool {
        let mut is_changed = false;
        for name in follower_names(&self.ring.path) {
            let known = self.followers.iter().position(|held| held.name == name);
            let is_followed = known.is_some_and(|place| self.followers[place].exit.is_none());
            if is_followed || known.is_none() && self.followers.len() >= MOST_FOLLOWERS {
                continue;
            }
            let Some((reader, stat)) = self.open(&name) else { continue };
            is_changed = true;
            let first = stat.first_sequence;
            let began = first.max(self.ring.first_sequence);
            let Some(place) = known else {
                if !is_promised {
                    self.note(&format!("follower {name} joined at message {first}"));
                }
                let (exit, was_promised, skipped) = (None, is_promised, 0);
                self.followers.push(Held { name, reader, exit, was_promised, began, skipped });
                continue;
            };
            self.note(&format!("follower {name} joined again at message {first}"));
            let held = &mut self.followers[place];
            let ended_at = held.exit.take().map_or(0, |exit| exit.next_sequence);
            held.skipped += began.saturating_sub(ended_at.max(held.began));
            held.began = held.began.min(began);
            held.reader = reader;
        }
        is_changed
    }

    fn note(&self, line: &str) {
        self.report.note(line);
    }

    /// Opens the region of a living follower of this plant.
    fn open(&self, name: &str) -> Option<(FollowerReader, FollowerStat)> {
        let HeldRing { path, created_ns, epoch, .. } = &self.ring;
        is_of_the_rings_user(&follower_path(path, name).ok()?, path).ok()?;
        let reader = FollowerReader::open(path, name).ok()?;
        let stat = reader.sample();
        let is_good = stat.owner.state == OwnerState::Alive && stat.follows(*created_ns, *epoch);
        is_good.then_some((reader, stat))
    }

    /// Gives the living followers to the publisher.
    fn share(&self) {
        let living = self.followers.iter().filter(|held| held.exit.is_none());
        self.shared.replace(living.map(|held| held.reader.clone()).collect());
    }

    /// Whether a living follower has not read the message before `end`.
    pub(super) fn is_reading(&mut self, end: u64) -> bool {
        self.note_exits();
        let mut living = self.followers.iter().filter(|held| held.exit.is_none());
        living.any(|held| held.reader.sample().next_sequence < end)
    }

    /// What each follower has read of the messages before `end`.
    pub(super) fn summary(&self, end: u64) -> Vec<FollowerSummary> {
        let first = self.ring.first_sequence;
        let summary_of = |held: &Held| {
            let stat = held.reader.sample();
            let next = stat.next_sequence.clamp(first, end);
            let state = match (next >= end, held.exit) {
                (true, _) => FollowerState::Finished,
                (false, None) => FollowerState::Following,
                (false, Some(Exit { how: How::Ended, .. })) => FollowerState::Ended,
                (false, Some(_)) => FollowerState::Killed,
            };
            // What was lost before the run began is in the same counter.
            let has_lost = stat.last_lost_sequence >= first;
            let lost = if has_lost { stat.lost } else { 0 };
            let all = end.saturating_sub(held.began);
            let read = next.saturating_sub(held.began);
            let read = read.saturating_sub(held.skipped).saturating_sub(lost);
            let is_alive = matches!(state, FollowerState::Finished | FollowerState::Following);
            FollowerSummary {
                name: held.name.clone(),
                state,
                read,
                missing: all.saturating_sub(read),
                was_promised: held.was_promised,
                is_whole: is_alive && !has_lost && held.skipped == 0,
            }
        };
        let mut summaries: Vec<_> = self.followers.iter().map(summary_of).collect();
        summaries.sort_by(|one, other| one.name.cmp(&other.name));
        summaries
    }
}

/// The end of a follower that does not own its region any more, or whose region was truncated.
fn exit_of(reader: &FollowerReader) -> Option<Exit> {
    let stat = reader.sample();
    let how = match stat.owner.state {
        OwnerState::Alive if reader.is_truncated() => How::Truncated,
        OwnerState::Alive => return None,
        OwnerState::Closed => How::Ended,
        OwnerState::Dead => How::Killed,
    };
    Some(Exit { how, next_sequence: stat.next_sequence })
}
