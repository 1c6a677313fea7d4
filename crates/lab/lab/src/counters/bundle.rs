//! Events that the kernel counts together or not at all.

use perf_event::{Builder, Counter, ReadFormat, events::Software};

use super::{CountersUnavailable, Event, Reading};

/// A leader, and events that are counted whenever the leader is.
#[derive(Debug)]
pub(super) struct Bundle {
    leader: Counter,
    /// The event that the leader counts, if it counts any.
    leader_event: Option<Event>,
    members: Vec<(Event, Counter)>,
}

impl Bundle {
    /// Its leader counts nothing, so that any event can be missing.
    pub(super) fn new() -> Result<Self, CountersUnavailable> {
        Self::led_by(Builder::new(Software::DUMMY), None)
    }

    pub(super) fn led_by(
        mut builder: Builder<'_>,
        leader_event: Option<Event>,
    ) -> Result<Self, CountersUnavailable> {
        builder.read_format(
            ReadFormat::GROUP
                | ReadFormat::ID
                | ReadFormat::TOTAL_TIME_ENABLED
                | ReadFormat::TOTAL_TIME_RUNNING,
        );
        let leader = builder.build().map_err(|error| CountersUnavailable::of(&error))?;
        Ok(Self { leader, leader_event, members: Vec::new() })
    }

    /// An event without a builder does not exist on this machine.
    pub(super) fn add(&mut self, event: Event) -> Result<(), CountersUnavailable> {
        let builder = event.builder().ok_or(CountersUnavailable::NoTopdown)?;
        self.add_by(event, &builder)
    }

    pub(super) fn add_by(
        &mut self,
        event: Event,
        builder: &Builder<'_>,
    ) -> Result<(), CountersUnavailable> {
        let counter = builder
            .build_with_group(&mut self.leader)
            .map_err(|error| CountersUnavailable::of(&error))?;
        self.members.push((event, counter));
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.members.len() + usize::from(self.leader_event.is_some())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn start(&mut self) -> Result<(), CountersUnavailable> {
        self.leader.enable_group().map_err(|error| CountersUnavailable::of(&error))
    }

    pub(super) fn stop(&mut self) -> Result<(), CountersUnavailable> {
        self.leader.disable_group().map_err(|error| CountersUnavailable::of(&error))
    }

    pub(super) fn read_into(
        &mut self,
        readings: &mut Vec<Reading>,
    ) -> Result<(), CountersUnavailable> {
        let data = self.leader.read_group().map_err(|error| CountersUnavailable::of(&error))?;
        let nanos = |time: Option<std::time::Duration>| {
            time.and_then(|time| u64::try_from(time.as_nanos()).ok()).unwrap_or(0)
        };
        let (enabled_ns, running_ns) = (nanos(data.time_enabled()), nanos(data.time_running()));
        let leader = self.leader_event.map(|event| (event, &self.leader));
        let members = self.members.iter().map(|(event, counter)| (*event, counter));
        for (event, counter) in leader.into_iter().chain(members) {
            let Some(entry) = data.get(counter) else { continue };
            readings.push(Reading { event, count: entry.value(), enabled_ns, running_ns });
        }
        Ok(())
    }
}
