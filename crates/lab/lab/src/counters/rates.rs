//! Converts counts to numbers per operation. Pure, so that it can be tested without counters.

use serde_json::{Map, Value, json};

use super::Event;

/// The kernel's reading of one event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// The event.
    pub event: Event,
    /// How often it happened while it was counted.
    pub count: u64,
    /// The time during which it was started and on a processor.
    pub enabled_ns: u64,
    /// The time during which it was counted: less if the processor's counters are shared in turns.
    pub running_ns: u64,
}

/// Counts of one operation. Values that were not counted are None.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Rates {
    /// Counts per operation, scaled to the whole time, in the order of [`Event::ALL`].
    pub events: Vec<(Event, Option<f64>)>,
    /// Instructions completed in one cycle.
    pub instructions_per_cycle: Option<f64>,
    /// Share of the branches that were predicted wrongly.
    pub branch_miss_share: Option<f64>,
    /// Share of the references to the last level that missed.
    pub cache_miss_share: Option<f64>,
    /// Cycles in user mode per nanosecond on the processor: time in the kernel lowers it.
    pub ghz: Option<f64>,
    /// Share of the slots that did useful work.
    pub retiring: Option<f64>,
    /// Share of the slots whose work was thrown away.
    pub bad_speculation: Option<f64>,
    /// Share of the slots that waited for instructions.
    pub front_end_bound: Option<f64>,
    /// Share of the slots that waited for data or for a unit.
    pub back_end_bound: Option<f64>,
    /// The smallest share of time during which an event was counted. Below 1 the counters were
    /// shared in turns, and the numbers are scaled estimates.
    pub counted_share: Option<f64>,
    /// The reasons for events without a number.
    pub absent: Vec<(Event, String)>,
}

impl Reading {
    /// The difference to an earlier reading of the same event.
    pub(super) fn since(&self, before: &[Self]) -> Self {
        match before.iter().find(|earlier| earlier.event == self.event) {
            None => *self,
            Some(earlier) => Self {
                event: self.event,
                count: self.count.saturating_sub(earlier.count),
                enabled_ns: self.enabled_ns.saturating_sub(earlier.enabled_ns),
                running_ns: self.running_ns.saturating_sub(earlier.running_ns),
            },
        }
    }

    /// The count over the whole time; None if it was never counted.
    fn scaled(&self) -> Option<f64> {
        let share = self.counted_share()?;
        Some(self.count as f64 / share)
    }

    fn counted_share(&self) -> Option<f64> {
        (self.running_ns > 0)
            .then(|| (self.running_ns as f64 / self.enabled_ns.max(1) as f64).min(1.0))
    }
}

impl Rates {
    pub(super) fn of(
        readings: &[Reading],
        operations: u64,
        mut absent: Vec<(Event, String)>,
    ) -> Self {
        let reading = |event: Event| readings.iter().find(|reading| reading.event == event);
        let total = |event: Event| reading(event)?.scaled();
        for reading in readings.iter().filter(|reading| reading.running_ns == 0) {
            let why = match reading.enabled_ns {
                0 => "the counter was not started, or the thread did not run",
                _ => "the processor had no free counter for it",
            };
            absent.push((reading.event, why.to_owned()));
        }
        absent.sort_by_key(|(event, _)| *event);
        let per_operation =
            |event| total(event).filter(|_| operations > 0).map(|total| total / operations as f64);
        let slots =
            [Event::Retiring, Event::BadSpeculation, Event::FrontEndBound, Event::BackEndBound]
                .map(total);
        let all_slots = slots.into_iter().try_fold(0.0, |sum, part| Some(sum + part?));
        let [retiring, bad_speculation, front_end_bound, back_end_bound] =
            slots.map(|part| ratio(part, all_slots));
        let cycles = reading(Event::Cycles);
        Self {
            events: Event::ALL.map(|event| (event, per_operation(event))).to_vec(),
            instructions_per_cycle: ratio(total(Event::Instructions), total(Event::Cycles)),
            branch_miss_share: ratio(total(Event::BranchMisses), total(Event::Branches)),
            cache_miss_share: ratio(total(Event::CacheMisses), total(Event::CacheReferences)),
            ghz: cycles.and_then(|c| ratio(Some(c.count as f64), Some(c.running_ns as f64))),
            retiring,
            bad_speculation,
            front_end_bound,
            back_end_bound,
            counted_share: readings.iter().filter_map(Reading::counted_share).reduce(f64::min),
            absent,
        }
    }

    /// The count of this event per operation.
    pub fn get(&self, event: Event) -> Option<f64> {
        self.events.iter().find(|(other, _)| *other == event)?.1
    }

    /// The record's `counters` object: events by name, `null` if not counted, derived rates, and
    /// the reasons by name under `absent`.
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        for (event, rate) in &self.events {
            object.insert(event.name().to_owned(), json!(rate));
        }
        for (name, rate) in [
            ("instructions_per_cycle", self.instructions_per_cycle),
            ("branch_miss_share", self.branch_miss_share),
            ("cache_miss_share", self.cache_miss_share),
            ("ghz", self.ghz),
            ("retiring", self.retiring),
            ("bad_speculation", self.bad_speculation),
            ("front_end_bound", self.front_end_bound),
            ("back_end_bound", self.back_end_bound),
            ("counted_share", self.counted_share),
        ] {
            object.insert(name.to_owned(), json!(rate));
        }
        let reasons = self.absent.iter().map(|(event, why)| (event.name().to_owned(), json!(why)));
        object.insert("absent".to_owned(), Value::Object(reasons.collect()));
        Value::Object(object)
    }
}

fn ratio(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    let (part, whole) = (part?, whole?);
    (whole > 0.0).then_some(part / whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: u64 = 1_000_000;

    fn whole(event: Event, count: u64) -> Reading {
        Reading { event, count, enabled_ns: 10 * MILLISECOND, running_ns: 10 * MILLISECOND }
    }

    #[test]
    fn counts_become_rates_of_one_operation() {
        let readings = [
            whole(Event::Cycles, 30_000_000),
            whole(Event::Instructions, 60_000_000),
            whole(Event::Branches, 10_000_000),
            whole(Event::BranchMisses, 100_000),
            whole(Event::CacheReferences, 4_000),
            whole(Event::CacheMisses, 1_000),
        ];
        let rates = Rates::of(&readings, 100_000, vec![]);
        assert_eq!(rates.get(Event::Cycles), Some(300.0));
        assert_eq!(rates.get(Event::BranchMisses), Some(1.0));
        assert_eq!(rates.get(Event::CacheMisses), Some(0.01));
        assert_eq!(rates.get(Event::DtlbReadMisses), None);
        assert_eq!(rates.instructions_per_cycle, Some(2.0));
        assert_eq!(rates.branch_miss_share, Some(0.01));
        assert_eq!(rates.cache_miss_share, Some(0.25));
        assert_eq!(rates.ghz, Some(3.0));
        assert_eq!(rates.counted_share, Some(1.0));
        assert_eq!(rates.retiring, None);
    }

    #[test]
    fn counters_that_were_shared_are_scaled_and_say_so() {
        let half = |event, count| Reading { running_ns: 5 * MILLISECOND, ..whole(event, count) };
        let readings = [half(Event::Cycles, 15_000_000), whole(Event::Instructions, 30_000_000)];
        let rates = Rates::of(&readings, 1_000_000, vec![]);
        assert_eq!(rates.get(Event::Cycles), Some(30.0));
        assert_eq!(rates.instructions_per_cycle, Some(1.0));
        assert_eq!(rates.counted_share, Some(0.5));
        assert_eq!(rates.ghz, Some(3.0));
    }

    #[test]
    fn what_was_never_counted_is_absent_and_not_zero() {
        let never = Reading { running_ns: 0, ..whole(Event::CacheMisses, 0) };
        let unstarted = Reading { enabled_ns: 0, running_ns: 0, ..whole(Event::Cycles, 0) };
        let given = vec![(Event::Slots, "why".to_owned())];
        let rates = Rates::of(&[never, unstarted], 10, given);
        assert_eq!((rates.get(Event::CacheMisses), rates.get(Event::Cycles)), (None, None));
        assert_eq!((rates.ghz, rates.counted_share), (None, None));
        let absent: Vec<Event> = rates.absent.iter().map(|(event, _)| *event).collect();
        assert_eq!(absent, [Event::Cycles, Event::CacheMisses, Event::Slots]);
    }

    #[test]
    fn slots_are_divided_into_four_or_not_at_all() {
        let mut readings = vec![
            whole(Event::Slots, 1_000),
            whole(Event::Retiring, 600),
            whole(Event::BadSpeculation, 100),
            whole(Event::FrontEndBound, 100),
            whole(Event::BackEndBound, 200),
        ];
        let rates = Rates::of(&readings, 1, vec![]);
        assert_eq!(rates.retiring, Some(0.6));
        assert_eq!(rates.back_end_bound, Some(0.2));
        readings.pop();
        assert_eq!(Rates::of(&readings, 1, vec![]).retiring, None);
    }

    #[test]
    fn nothing_is_divided_by_nothing() {
        let readings = [whole(Event::Cycles, 0), whole(Event::Instructions, 5)];
        let rates = Rates::of(&readings, 0, vec![]);
        assert_eq!(rates.get(Event::Instructions), None);
        assert_eq!(rates.instructions_per_cycle, None);
        assert_eq!(Rates::of(&[], 5, vec![]).get(Event::Cycles), None);
    }

    #[test]
    fn a_reset_takes_away_what_was_before() {
        let (early, late) = (
            whole(Event::Cycles, 100),
            Reading {
                event: Event::Cycles,
                count: 350,
                enabled_ns: 30 * MILLISECOND,
                running_ns: 25 * MILLISECOND,
            },
        );
        let since = late.since(&[early]);
        assert_eq!((since.count, since.running_ns), (250, 15 * MILLISECOND));
        assert_eq!(early.since(&[late]).count, 0);
        assert_eq!(late.since(&[]), late);
    }

    #[test]
    fn the_object_names_every_event_and_every_reason() {
        let rates = Rates::of(&[whole(Event::Cycles, 50)], 5, vec![(Event::Slots, "why".into())]);
        let object = rates.to_json();
        assert_eq!(object["cycles"], 10.0);
        assert!(Event::ALL.iter().all(|event| object.get(event.name()).is_some()));
        assert!(object["instructions"].is_null());
        assert_eq!(object["absent"], json!({ "slots": "why" }));
    }
}
