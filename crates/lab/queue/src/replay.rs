//! One replay of recorded arrivals: when each message was due, when it was done, and what
//! interrupted the thread.
//!
//! Where: the benchmarks replay through a real pipeline; [`validation`](crate::validation) compares
//! with predictions. This module works on numbers only.
//!
//! Definitions, beside those of [`nanotape_queue`](crate):
//!
//! 1. The delay of a message is from its due time to its end. It begins at the later of its due
//!    time and the end of the message before it; from there its service time counts.
//! 2. A message finds the receiver idle if it is due at or after the end of the message before it.
//! 3. A message is quiet if nothing interrupted the thread from the due time of the message that
//!    began its busy time up to its own end: nothing that was seen, and no message of that time
//!    that took longer than [`MOST_QUIET_NS`]. Such a time has no explanation, whatever was seen.

/// A message that takes longer is interrupted, with or without a cause. The longest work of a plant
/// on one message, apart from the growth of a table, takes a few microseconds.
pub const MOST_QUIET_NS: u64 = 50_000;

/// The cause of such a message if nothing else is known of it.
const UNEXPLAINED: &str = "unexplained";

/// A moment in which the thread did not run, or a message took long.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interruption {
    /// Its beginning.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
    /// The message that was processed meanwhile, by its index; `None`: the thread waited.
    pub message: Option<usize>,
    /// The cause, as the accounts of the thread show.
    pub cause: &'static str,
}

/// A replay. Times have one beginning, and are in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// When each message was due.
    pub due_ns: Vec<u64>,
    /// When each message was done.
    pub end_ns: Vec<u64>,
    /// What interrupted the thread, in order.
    pub interruptions: Vec<Interruption>,
    /// Interruptions that were not kept.
    pub not_kept: u64,
}

/// The processing of one message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Its beginning.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
    /// How long the receiver had been idle; `None` if the message waited for the one before it.
    pub idle_ns: Option<u64>,
}

impl Step {
    /// The service time.
    pub fn service_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

impl Replay {
    /// The processing of each message.
    pub fn steps(&self) -> impl Iterator<Item = Step> {
        let mut before_ns = 0;
        self.due_ns.iter().zip(&self.end_ns).map(move |(&due_ns, &end_ns)| {
            let idle_ns = due_ns.checked_sub(before_ns);
            let start_ns = due_ns.max(before_ns);
            before_ns = end_ns;
            Step { start_ns, end_ns, idle_ns }
        })
    }

    /// The delay of each message.
    pub fn delays_ns(&self) -> Vec<u64> {
        let both = self.due_ns.iter().zip(&self.end_ns);
        both.map(|(due_ns, end_ns)| end_ns.saturating_sub(*due_ns)).collect()
    }

    /// For each message, whether something interrupted the thread since the beginning of its busy
    /// time.
    pub fn interrupted(&self) -> Vec<bool> {
        let mut began_ns = 0;
        self.overlapping(|step| {
            if step.idle_ns.is_some() {
                began_ns = step.start_ns;
            }
            began_ns
        })
    }

    /// For each message, whether something interrupted the thread during it.
    pub fn steps_interrupted(&self) -> Vec<bool> {
        self.overlapping(|step| step.start_ns)
    }

    /// The same for the interruptions whose cause is known.
    pub fn steps_interrupted_by_a_cause(&self) -> Vec<bool> {
        let mut known = self.clone();
        known.interruptions.retain(|one| is_explained(one.cause));
        known.steps_interrupted()
    }

    /// Adds an interruption for each message that took longer than [`MOST_QUIET_NS`] and has none.
    pub fn add_unexplained(&mut self) {
        let interrupted = self.steps_overlapping();
        let steps = self.steps().zip(interrupted).enumerate();
        let is_unexplained =
            |(step, is_known): &(Step, bool)| !is_known && step.service_ns() > MOST_QUIET_NS;
        let unexplained: Vec<Interruption> = steps
            .filter(|(_, step)| is_unexplained(step))
            .map(|(index, (step, _))| Interruption {
                from_ns: step.start_ns,
                to_ns: step.end_ns,
                message: Some(index),
                cause: UNEXPLAINED,
            })
            .collect();
        self.interruptions.extend(unexplained);
        self.interruptions.sort_by_key(|one| (one.from_ns, one.to_ns));
    }

    /// For each message, whether what was seen overlaps it.
    fn steps_overlapping(&self) -> Vec<bool> {
        self.seen_from(|step| step.start_ns)
    }

    /// For each message, whether the thread was interrupted between `from_ns`, which does not
    /// shrink, and its end.
    fn overlapping(&self, mut from_ns: impl FnMut(&Step) -> u64) -> Vec<bool> {
        let mut froms = Vec::with_capacity(self.due_ns.len());
        let seen = self.seen_from(|step| {
            let from_ns = from_ns(step);
            froms.push(from_ns);
            from_ns
        });
        let mut long_from_ns = None;
        let steps = self.steps().zip(froms).zip(seen).map(|((step, from_ns), is_seen)| {
            if step.service_ns() > MOST_QUIET_NS {
                long_from_ns = Some(step.start_ns);
            }
            is_seen || long_from_ns.is_some_and(|long_from_ns| long_from_ns >= from_ns)
        });
        steps.collect()
    }

    /// For each message, whether what was seen overlaps the time from `from_ns` to its end.
    fn seen_from(&self, mut from_ns: impl FnMut(&Step) -> u64) -> Vec<bool> {
        let mut next = 0;
        // Behind the last interruption that was kept there are others.
        let last = self.interruptions.last().filter(|_| self.not_kept > 0);
        let known_until_ns = last.map_or(u64::MAX, |last| last.to_ns);
        let steps = self.steps().map(|step| {
            let from_ns = from_ns(&step);
            let rest = self.interruptions.get(next..).unwrap_or(&[]);
            next += rest.iter().take_while(|one| one.to_ns <= from_ns).count();
            let is_seen = self.interruptions.get(next).is_some_and(|one| one.from_ns < step.end_ns);
            is_seen || step.end_ns > known_until_ns
        });
        steps.collect()
    }

    /// Leaves out messages that took long without a cause, if they take at least half as long
    /// whenever they are processed, and no longer than [`MOST_QUIET_NS`]: that is not an
    /// interruption. `own_ns`: the usual time of a
    /// message, by its index.
    pub fn leave_out_long_messages(&mut self, own_ns: impl Fn(usize) -> u64) {
        self.interruptions.retain(|one| {
            let Some(index) = one.message.filter(|_| !is_explained(one.cause)) else { return true };
            let length_ns = one.to_ns.saturating_sub(one.from_ns);
            length_ns > MOST_QUIET_NS || own_ns(index) < length_ns / 2
        });
    }
}

/// Whether the accounts of the thread show an event.
fn is_explained(cause: &str) -> bool {
    !["unexplained", "too short to attribute"].contains(&cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replay(interruptions: &[(u64, u64, Option<usize>, &'static str)]) -> Replay {
        let interruption =
            |&(from_ns, to_ns, message, cause)| Interruption { from_ns, to_ns, message, cause };
        Replay {
            // The second and third wait, the fourth finds the receiver idle, and the fifth as well.
            due_ns: vec![0, 10, 20, 500, 1_000],
            end_ns: vec![100, 200, 300, 600, 1_100],
            interruptions: interruptions.iter().map(interruption).collect(),
            not_kept: 0,
        }
    }

    #[test]
    fn delays_count_from_the_due_time_and_steps_from_the_begin() {
        let replay = replay(&[]);
        assert_eq!(replay.delays_ns(), [100, 190, 280, 100, 100]);
        let steps: Vec<_> = replay.steps().map(|step| (step.service_ns(), step.idle_ns)).collect();
        assert_eq!(
            steps,
            [(100, Some(0)), (100, None), (100, None), (100, Some(200)), (100, Some(400))]
        );
        assert_eq!(replay.interrupted(), [false; 5]);
    }

    #[test]
    fn an_interruption_reaches_to_the_end_of_the_busy_time() {
        let during_second = replay(&[(150, 160, Some(1), "preempted")]);
        assert_eq!(during_second.interrupted(), [false, true, true, false, false]);
        assert_eq!(during_second.steps_interrupted(), [false, true, false, false, false]);
        // A wait that ended late, and one that ended in time.
        let waits = replay(&[(450, 520, None, "stolen"), (700, 1_000, None, "stolen")]);
        assert_eq!(waits.interrupted(), [false, false, false, true, false]);
    }

    #[test]
    fn a_long_time_without_an_explanation_is_not_quiet() {
        // Message 1 takes 5 ms, and nothing was seen; 2 waits for it, and 3 finds the plant idle.
        let mut replay = Replay {
            due_ns: vec![0, 10, 20, 6_000_000],
            end_ns: vec![100, 5_000_100, 5_000_200, 6_000_100],
            ..Replay::default()
        };
        assert_eq!(replay.interrupted(), [false, true, true, false]);
        assert_eq!(replay.steps_interrupted(), [false, true, false, false]);
        replay.add_unexplained();
        let expected =
            Interruption { from_ns: 100, to_ns: 5_000_100, message: Some(1), cause: "unexplained" };
        assert_eq!(replay.interruptions, [expected]);
        // That it takes as long in another replay does not make it quiet.
        replay.leave_out_long_messages(|_| 5_000_000);
        assert_eq!(replay.interruptions.len(), 1);
        replay.add_unexplained();
        assert_eq!(replay.interruptions.len(), 1);
    }

    #[test]
    fn behind_interruptions_that_were_not_kept_nothing_is_quiet() {
        let mut replay = replay(&[(150, 160, Some(1), "preempted")]);
        replay.not_kept = 1;
        assert_eq!(replay.interrupted(), [false, true, true, true, true]);
    }

    #[test]
    fn a_message_that_always_takes_long_is_no_interruption() {
        let long = |cause| replay(&[(100, 200, Some(1), cause)]);
        for (cause, own_ns, left) in [
            ("unexplained", 60, 0),
            ("too short to attribute", 50, 0),
            ("unexplained", 49, 1),
            ("page fault", 60, 1),
        ] {
            let mut replay = long(cause);
            replay.leave_out_long_messages(|index| {
                assert_eq!(index, 1);
                own_ns
            });
            assert_eq!(replay.interruptions.len(), left, "{cause} {own_ns}");
        }
    }
}
