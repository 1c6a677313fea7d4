//! The processor's own counters: how many cycles, instructions and misses one operation takes.
//!
//! Where: around the measured part of a run, on the measuring thread. The kernel counts in user
//! mode, for the thread that opened the counters. `start` and `stop` are system calls and belong
//! outside of the timed part.
//! Bounds: a processor has few counters, so events are opened in groups of at most four, which the
//! kernel can serve in turns. Counts are then scaled to the whole time, and
//! [`Rates::counted_share`] states the share of time with real counts.
//! Failure: an unavailable event is absent, with the reason in [`Rates::absent`]. Opening
//! [`Counters`] fails only if no event at all can be opened.
//!
//! Virtual machines often hide the hardware counters. Then only the kernel's events (page faults,
//! switches) are counted, and [`Counters::hardware`] returns the reason. The code for hardware
//! events is tested with synthetic readings and with the kernel's events instead. This crate's
//! tests use real ones only on machines that have them, and report if there are none.

mod bundle;
mod event;
mod rates;
mod topdown;
mod unavailable;

use self::bundle::Bundle;
pub use self::{
    event::Event,
    rates::{Rates, Reading},
    unavailable::CountersUnavailable,
};

/// Events that are counted together, so that their ratios are of the same time.
const GROUPS: [&[Event]; 2] = [
    &[Event::Cycles, Event::Instructions, Event::Branches, Event::BranchMisses],
    &[Event::CacheReferences, Event::CacheMisses, Event::L1dReadMisses, Event::DtlbReadMisses],
];

/// Counted by the kernel, so they need no counter of the processor.
const OF_THE_KERNEL: &[Event] = &[Event::PageFaults, Event::ContextSwitches, Event::CpuMigrations];

/// The counters of the thread that opened them. They do not count before they are started.
#[derive(Debug)]
pub struct Counters {
    bundles: Vec<Bundle>,
    absent: Vec<(Event, CountersUnavailable)>,
    /// The counts before the last reset.
    before: Vec<Reading>,
}

impl Counters {
    /// Opens all counters that this machine has, for the calling thread.
    pub fn open() -> Result<Self, CountersUnavailable> {
        let mut counters = Self { bundles: Vec::new(), absent: Vec::new(), before: Vec::new() };
        for group in GROUPS {
            counters.add(group);
        }
        counters.add_topdown();
        counters.add(OF_THE_KERNEL);
        match counters.absent.first() {
            Some((_, reason)) if counters.bundles.is_empty() => Err(reason.clone()),
            _ => Ok(counters),
        }
    }

    /// Whether the processor's own counters are available; the error is the reason.
    pub fn hardware(&self) -> Result<(), &CountersUnavailable> {
        let opened = |event: Event| self.absent.iter().all(|(absent, _)| *absent != event);
        if GROUPS.concat().into_iter().any(opened) {
            return Ok(());
        }
        self.absent
            .iter()
            .find(|(event, _)| event.is_of_hardware())
            .map_or(Ok(()), |(_, why)| Err(why))
    }

    /// Starts or continues counting.
    pub fn start(&mut self) -> Result<(), CountersUnavailable> {
        self.bundles.iter_mut().try_for_each(Bundle::start)
    }

    /// Stops counting. The counts are kept, and further windows add to them.
    pub fn stop(&mut self) -> Result<(), CountersUnavailable> {
        self.bundles.iter_mut().try_for_each(Bundle::stop)
    }

    /// Resets the counts.
    pub fn reset(&mut self) -> Result<(), CountersUnavailable> {
        self.before = self.read()?;
        Ok(())
    }

    /// The counts since the last reset, divided by `operations`.
    pub fn per_operation(&mut self, operations: u64) -> Result<Rates, CountersUnavailable> {
        let readings: Vec<Reading> =
            self.read()?.iter().map(|now| now.since(&self.before)).collect();
        let absent = self.absent.iter().map(|(event, why)| (*event, why.to_string())).collect();
        Ok(Rates::of(&readings, operations, absent))
    }

    fn read(&mut self) -> Result<Vec<Reading>, CountersUnavailable> {
        let mut readings = Vec::new();
        for bundle in &mut self.bundles {
            bundle.read_into(&mut readings)?;
        }
        Ok(readings)
    }

    /// An event that does not fit into the group gets its own group.
    fn add(&mut self, events: &[Event]) {
        let mut together = match Bundle::new() {
            Ok(bundle) => bundle,
            Err(reason) => {
                self.absent.extend(events.iter().map(|&event| (event, reason.clone())));
                return;
            }
        };
        for &event in events {
            let Err(reason) = together.add(event) else { continue };
            if !matches!(reason, CountersUnavailable::NotAccepted { .. }) {
                self.absent.push((event, reason));
                continue;
            }
            match Bundle::new().and_then(|mut alone| alone.add(event).map(|()| alone)) {
                Ok(alone) => self.bundles.push(alone),
                Err(reason) => self.absent.push((event, reason)),
            }
        }
        if !together.is_empty() {
            self.bundles.push(together);
        }
    }

    fn add_topdown(&mut self) {
        match topdown::open() {
            Ok(bundle) => self.bundles.push(bundle),
            Err(reason) => {
                self.absent.extend(topdown::EVENTS.map(|(event, _)| (event, reason.clone())));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_opened_or_absent_with_a_reason() {
        let counters = match Counters::open() {
            Ok(counters) => counters,
            Err(reason) => return nanotape_harness::skipped(reason),
        };
        let opened: usize = counters.bundles.iter().map(Bundle::len).sum();
        assert_eq!(opened + counters.absent.len(), Event::ALL.len());
        assert!(counters.absent.iter().all(|(_, reason)| !reason.to_string().is_empty()));
    }

    #[test]
    fn an_event_that_was_refused_does_not_take_the_others_along() {
        let mut counters = Counters { bundles: vec![], absent: vec![], before: vec![] };
        counters.add(&[Event::PageFaults, Event::Slots, Event::PageFaults]);
        if counters.bundles.is_empty() {
            return nanotape_harness::skipped(format_args!("{:?}", counters.absent));
        }
        assert_eq!(counters.bundles.iter().map(Bundle::len).sum::<usize>(), 2);
        assert!(matches!(counters.absent[..], [(Event::Slots, _)]));
    }
}
