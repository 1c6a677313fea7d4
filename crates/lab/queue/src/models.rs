//! Service times for a prediction: constant, by type, by type and idle time, and of each message.
//!
//! Where: [`validation`](crate::validation) measures them in replays of the same messages with
//! other due times: each at once after the one before it, and each after an idle time, which is
//! that of another message of the input.
//!
//! A message takes the longer the longer the receiver was idle, and the messages after it are still
//! slow. Caches and predicted branches are the likely reason, and were not measured apart. So the
//! classes of service times are those of the recent idle time: half of the idle time before the
//! message, a quarter of that before the message before it, and so on. Classes end at 250 ns,
//! 500 ns, 1 us and so on, and the last one has no end. Messages that wait for the one before them
//! have classes of their own.

use std::collections::BTreeMap;

use crate::{Costs, Interruption, MAX_SERVICE_NS, Replay, Steps};

/// Quantiles of a distribution, apart from the largest ones.
const EVEN_STEPS: usize = 400;

/// The largest quantiles.
const LARGE_STEPS: [f64; 5] = [0.999, 0.9995, 0.999_9, 0.999_95, 1.0];

/// Classes of recent idle times.
const CLASSES: usize = 10;

/// The end of the first class.
const FIRST_CLASS_NS: u64 = 250;

/// A type with fewer messages in a class has the times of all types.
const FEWEST: usize = 30;

/// A prediction of service times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Model {
    /// All messages take the mean time of messages without an idle time between them.
    Constant,
    /// Each message draws from the times of its type, measured without idle times.
    Types,
    /// Each message draws from the times of its type after such an idle time.
    TypesAndIdle,
    /// Each message takes its own time of one replay after idle times, corrected by how much longer
    /// messages take after its recent idle time than after that of the replay. So slow messages
    /// come together as they did there.
    Own,
}

impl Model {
    /// All of them, from the coarsest to the finest.
    pub const ALL: [Self; 4] = [Self::Constant, Self::Types, Self::TypesAndIdle, Self::Own];

    /// The name in tables and records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Types => "by type",
            Self::TypesAndIdle => "by type and idle time",
            Self::Own => "own and idle time",
        }
    }
}

/// The measured service times of some messages.
#[derive(Clone, Debug)]
pub struct ServiceTimes {
    letters: Vec<u8>,
    /// Those of messages that wait, then those of messages that find the receiver idle.
    classes: Vec<Class>,
    /// The median time of each message without an idle time, and after one.
    of_message: [Vec<u64>; 2],
    /// The replays after idle times: the time of each message, and its class; `None` for a message
    /// that was interrupted.
    replayed: Vec<Vec<Option<(u64, usize)>>>,
}

/// The times of messages with recent idle times of one class.
#[derive(Clone, Debug)]
struct Class {
    mean_ns: u64,
    median_ns: u64,
    all: Steps,
    of_type: BTreeMap<u8, Steps>,
}

/// The recent idle time of a receiver, message by message.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    doubled_ns: u64,
}

impl Recent {
    /// The class of the next message.
    fn class(&mut self, idle_ns: Option<u64>) -> usize {
        let idle_ns = idle_ns.unwrap_or(0);
        // A day has 2^47 ns.
        self.doubled_ns = idle_ns.min(1 << 50) + self.doubled_ns / 2;
        let times = self.doubled_ns / 2 / FIRST_CLASS_NS;
        let class = times.checked_ilog2().map_or(0, |log| log as usize + 1);
        class.min(CLASSES - 1) + if idle_ns > 0 { CLASSES } else { 0 }
    }
}

impl ServiceTimes {
    /// The times from replays in which no message waits for a due time (`busy`), and from replays
    /// in which each comes after an idle time. Each replay has the messages of `letters`, and there
    /// is one of each kind at least; otherwise `None`.
    pub fn of(letters: &[u8], busy: &[Replay], idle: &[Replay]) -> Option<Self> {
        let fits = |replay: &Replay| replay.end_ns.len() == letters.len();
        let is_whole = busy.iter().chain(idle).all(fits) && !letters.is_empty();
        if !is_whole || busy.is_empty() || idle.is_empty() {
            return None;
        }
        let of_message = [own_times(busy), own_times(idle)];
        let mut times: Vec<BTreeMap<u8, Vec<u64>>> = vec![BTreeMap::new(); 2 * CLASSES];
        let mut replayed = Vec::new();
        for (replays, own) in [busy, idle].into_iter().zip(&of_message) {
            for replay in replays {
                let mut replay = replay.clone();
                replay.leave_out_long_messages(|index| own[index]);
                let steps = replay.steps().zip(replay.steps_interrupted());
                let mut recent = Recent::default();
                let of_replay = steps.map(|(step, was_interrupted)| {
                    let class = recent.class(step.idle_ns);
                    (!was_interrupted).then(|| (step.service_ns().max(1), class))
                });
                let of_replay: Vec<Option<(u64, usize)>> = of_replay.collect();
                for (step, &letter) in of_replay.iter().zip(letters) {
                    if let Some((service_ns, class)) = *step {
                        times[class].entry(letter).or_default().push(service_ns);
                    }
                }
                replayed.push(of_replay);
            }
        }
        replayed.drain(..busy.len());
        // A class that no idle time of the input has is hardly needed: it is as the one before it.
        let found: Vec<Option<Class>> = times.into_iter().map(Class::of).collect();
        let mut usual = found.iter().flatten().next()?.clone();
        let classes = found.into_iter().map(|class| {
            usual = class.unwrap_or_else(|| usual.clone());
            usual.clone()
        });
        let classes = classes.collect();
        Some(Self { letters: letters.to_vec(), classes, of_message, replayed })
    }

    /// The mean time without an idle time, and after the longest ones.
    pub fn mean_ns(&self) -> [u64; 2] {
        [self.classes.first(), self.classes.last()].map(|class| class.map_or(1, |one| one.mean_ns))
    }

    /// The longer one of the median times of a message.
    pub fn own_ns(&self, index: usize) -> u64 {
        self.of_message.iter().filter_map(|own| own.get(index)).max().copied().unwrap_or(1)
    }

    /// The median time of a message without an idle time.
    fn busy_ns(&self, index: usize) -> u64 {
        self.of_message[0].get(index).copied().unwrap_or(1)
    }

    /// The time of a message in one of the replays after idle times, corrected for its class.
    fn replayed_ns(&self, index: usize, class: usize, seed: u64) -> u64 {
        let replay = &self.replayed[(seed % self.replayed.len() as u64) as usize];
        let usual = (self.busy_ns(index), 0);
        let (service_ns, was) = replay.get(index).copied().flatten().unwrap_or(usual);
        let longer_ns = service_ns + self.classes[class].median_ns;
        longer_ns.saturating_sub(self.classes[was].median_ns).max(1)
    }

    /// The delays that a model predicts for messages with these due times. `blocked`: moments in
    /// which the receiver does not work, in order. The seed is that of the draws.
    pub fn predict(
        &self,
        model: Model,
        due_ns: &[u64],
        blocked: &[Interruption],
        seed: u64,
    ) -> Vec<u64> {
        let mut costs: Vec<Costs> = self.classes.iter().map(|class| class.costs(seed)).collect();
        let letter = |index: usize| self.letters.get(index).copied().unwrap_or(0);
        let mut recent = Recent::default();
        let service = |index: usize, idle_ns: Option<u64>| {
            let class = recent.class(idle_ns);
            match model {
                Model::Constant => self.classes[0].mean_ns,
                Model::Types => costs[0].draw(letter(index)),
                Model::TypesAndIdle => costs[class].draw(letter(index)),
                Model::Own => self.replayed_ns(index, class, seed),
            }
        };
        delays(due_ns, service, &self.lengths(blocked))
    }

    /// Interruptions as times that add to the service: a message that was interrupted has its own
    /// time in the interruption.
    fn lengths(&self, blocked: &[Interruption]) -> Vec<(u64, u64)> {
        let length = |one: &Interruption| {
            let own_ns = one.message.map_or(0, |index| self.busy_ns(index));
            (one.from_ns, one.to_ns.saturating_sub(one.from_ns).saturating_sub(own_ns))
        };
        blocked.iter().map(length).collect()
    }
}

impl Class {
    /// `None` without times.
    fn of(mut times: BTreeMap<u8, Vec<u64>>) -> Option<Self> {
        let mut all: Vec<u64> = times.values().flatten().copied().collect();
        if all.is_empty() {
            return None;
        }
        let sum: u128 = all.iter().copied().map(u128::from).sum();
        let mean_ns = (sum as f64 / all.len() as f64).round().max(1.0) as u64;
        times.retain(|_, times| times.len() >= FEWEST);
        let of_type = times.iter_mut().map(|(letter, times)| (*letter, steps(times)));
        let of_type = of_type.collect();
        all.sort_unstable();
        let median_ns = all[all.len() / 2];
        Some(Self { mean_ns, median_ns, of_type, all: steps(&mut all) })
    }

    fn costs(&self, seed: u64) -> Costs {
        let mut costs = Costs::new(self.all.clone(), seed);
        for (letter, steps) in &self.of_type {
            costs.set(*letter, steps.clone());
        }
        costs
    }
}

/// The lower median time of each message over replays of equal messages, without those in which it
/// was interrupted. A message that was interrupted in all of them has the median of all messages.
fn own_times(replays: &[Replay]) -> Vec<u64> {
    let messages = replays.first().map_or(0, |replay| replay.end_ns.len());
    let mut of_message = vec![Vec::with_capacity(replays.len()); messages];
    for replay in replays {
        let steps = replay.steps().zip(replay.steps_interrupted_by_a_cause());
        for (times, (step, was_interrupted)) in of_message.iter_mut().zip(steps) {
            if !was_interrupted {
                times.push(step.service_ns().max(1));
            }
        }
    }
    let median = |mut times: Vec<u64>| {
        times.sort_unstable();
        times.get(times.len().saturating_sub(1) / 2).copied()
    };
    let own: Vec<Option<u64>> = of_message.into_iter().map(median).collect();
    let usual = median(own.iter().flatten().copied().collect()).unwrap_or(1);
    own.into_iter().map(|own| own.unwrap_or(usual)).collect()
}

/// The distribution of measured times.
fn steps(times: &mut [u64]) -> Steps {
    times.sort_unstable();
    let even = (1..EVEN_STEPS).map(|step| step as f64 / EVEN_STEPS as f64);
    let shares = even.chain(LARGE_STEPS);
    let most_ns = MAX_SERVICE_NS;
    let quantile = |share: f64| {
        let rank = (share * times.len() as f64).ceil() as usize;
        Some((share, (*times.get(rank.max(1) - 1)?).min(most_ns)))
    };
    let quantiles: Vec<(f64, u64)> = shares.filter_map(quantile).collect();
    // Only a type without any quiet message has no quantiles.
    Steps::new(quantiles).unwrap_or(Steps::constant(1))
}

/// The delays of messages that are processed strictly one after another. `service` gets the index
/// of each message and how long the receiver was idle before it, if it was; `blocked` are the
/// beginnings and lengths of moments without work, in order.
pub fn delays(
    due_ns: &[u64],
    mut service: impl FnMut(usize, Option<u64>) -> u64,
    blocked: &[(u64, u64)],
) -> Vec<u64> {
    let mut blocked = blocked.iter().peekable();
    let mut end_ns = 0;
    let delay = |(index, &due_ns): (usize, &u64)| {
        // What passed while the receiver was idle delays nothing.
        let idle_ns = due_ns.checked_sub(end_ns);
        let mut start_ns: u64 = due_ns.max(end_ns);
        while let Some((from_ns, length_ns)) = blocked.next_if(|one| one.0 < start_ns) {
            start_ns = start_ns.max(from_ns.saturating_add(*length_ns));
        }
        end_ns = start_ns.saturating_add(service(index, idle_ns));
        while let Some((_, length_ns)) = blocked.next_if(|one| one.0 < end_ns) {
            end_ns = end_ns.saturating_add(*length_ns);
        }
        end_ns - due_ns
    };
    due_ns.iter().enumerate().map(delay).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Simulation;

    proptest! {
        #[test]
        fn with_a_constant_time_the_delays_are_those_of_the_simulation(
            gaps in prop::collection::vec(prop_oneof![Just(0), 0..300_u64], 1..200),
            service in 1..200_u64,
        ) {
            let mut now = 0;
            let due: Vec<u64> = gaps.iter().map(|gap| { now += gap; now }).collect();
            let delays = delays(&due, |_, _| service, &[]);
            let mut simulation = Simulation::new(&[service], &[500], 1_000).unwrap();
            due.iter().for_each(|&at| simulation.arrive(at));
            let outcome = simulation.finish();
            prop_assert_eq!(delays.iter().max(), Some(&outcome.services[0].largest_delay_ns));
            let over = delays.iter().filter(|&&delay| delay > 500).count() as u64;
            prop_assert_eq!(over, outcome.services[0].over[0]);
        }

        /// The same nanosecond by nanosecond: the receiver works unless it is blocked.
        #[test]
        fn a_blocked_receiver_works_later(
            gaps in prop::collection::vec(0..30_u64, 1..40),
            service in 1..20_u64,
            blocked in prop::collection::vec((0..60_u64, 1..40_u64), 0..10),
        ) {
            let mut now = 0;
            let due: Vec<u64> = gaps.iter().map(|gap| { now += gap; now }).collect();
            let mut at = 0;
            let blocked: Vec<(u64, u64)> = blocked.iter().map(|&(gap, length)| {
                let from = at + gap;
                at = from + length;
                (from, length)
            }).collect();
            let is_blocked = |ns| blocked.iter().any(|(from, length)| (*from..from + length).contains(&ns));
            let (mut clock, mut expected) = (0, Vec::new());
            for &due in &due {
                clock = clock.max(due);
                let mut left = service;
                while left > 0 {
                    left -= u64::from(!is_blocked(clock));
                    clock += 1;
                }
                expected.push(clock - due);
            }
            prop_assert_eq!(delays(&due, |_, _| service, &blocked), expected);
        }
    }

    fn replay(gap_ns: u64, services: &[u64]) -> Replay {
        let mut replay = Replay::default();
        let mut now = 0;
        for service in services {
            replay.due_ns.push(now + gap_ns);
            now += gap_ns + service;
            replay.end_ns.push(now);
        }
        replay
    }

    #[test]
    fn models_have_the_times_of_their_messages() {
        let busy = [[100, 300, 100], [120, 340, 120], [900, 320, 110]].map(|one| replay(0, &one));
        let idle = [[200, 500, 200]; 3].map(|one| replay(300, &one));
        let times = ServiceTimes::of(b"ADA", &busy, &idle).unwrap();
        assert_eq!([0, 1, 2].map(|index| times.busy_ns(index)), [120, 320, 110]);
        assert_eq!((times.own_ns(0), times.own_ns(1)), (200, 500));
        // Medians of 120 without an idle time, and of 500 and 200 ns in two classes after one.
        assert_eq!(times.mean_ns(), [268, 200]);
        let due = [0, 10, 2_000];
        assert_eq!(times.predict(Model::Own, &due, &[], 1), [1, 500, 200]);
        assert_eq!(times.predict(Model::Constant, &due, &[], 1), [268, 526, 268]);
        let wait = Interruption { from_ns: 1_900, to_ns: 2_050, message: None, cause: "stolen" };
        assert_eq!(times.predict(Model::Own, &due, &[wait], 1), [1, 500, 250]);
        assert!(ServiceTimes::of(b"AD", &busy, &idle).is_none());
        assert!(ServiceTimes::of(b"", &[], &[]).is_none());
    }

    #[test]
    fn a_draw_is_of_the_type_and_the_idle_class() {
        let letters: Vec<u8> = b"AD".repeat(40);
        let busy = replay(0, &[10, 20].repeat(40));
        let idle = replay(5_000, &[70, 90].repeat(40));
        let times = ServiceTimes::of(&letters, &[busy], &[idle]).unwrap();
        let due: Vec<u64> = (0..80).map(|at| at * 5_000 - (at % 2) * 4_990).collect();
        let found = times.predict(Model::TypesAndIdle, &due, &[], 7);
        // The first one of the day comes after no idle time.
        assert_eq!(found[2..], [70, 80].repeat(39));
    }

    #[test]
    fn recent_idle_times_fade() {
        let mut recent = Recent::default();
        let idle = [None, Some(0), Some(400), Some(600), None, None, Some(64_000), None, Some(1)];
        // Halves of 0, 0, 400, 800, 400, 200, 64,100, 32,050 and 16,026 ns.
        let expected = [0, 0, 10, 11, 0, 0, 18, 7, 16];
        assert_eq!(idle.map(|idle_ns| recent.class(idle_ns)), expected);
        assert_eq!(recent.class(Some(u64::MAX)), 2 * CLASSES - 1);
    }
}
