//! Events of the kernel, by processor and time.

use nanotape_clock::Stamp;

/// One event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// When.
    pub at: Stamp,
    /// The thread that was running.
    pub thread: u32,
    /// What happened.
    pub what: What,
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// The timer of the processor.
    Timer,
    /// An interrupt from another processor, or of the processor itself; its name.
    Vector(String),
    /// The interrupt of a device; the name of its handler.
    Interrupt(String),
    /// Deferred work of an interrupt; its name.
    Softirq(String),
    /// An interrupt that cannot be masked.
    NonMaskable,
    /// A page fault of the running thread.
    PageFault,
    /// A signal that the running thread gets.
    Signal(u32),
    /// Work of the kernel; the name of its function.
    Work(String),
    /// The processor changed its frequency.
    Frequency,
    /// Another thread gets the processor.
    Switch(Switch),
}

/// A switch from the running thread to another one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Switch {
    /// The thread that loses the processor.
    pub from: u32,
    /// Its state, in the kernel's letters: `R` could run on.
    pub state: String,
    /// Its priority in the kernel's numbers: below 100 is real-time.
    pub from_priority: u32,
    /// The thread that gets it.
    pub to: u32,
    /// Its name.
    pub to_name: String,
    /// Its priority.
    pub to_priority: u32,
}

/// Events of several processors.
#[derive(Clone, Debug, Default)]
pub struct KernelEvents {
    processors: Vec<(u32, Vec<Event>)>,
    lost: u64,
}

impl KernelEvents {
    /// Adds the events of a processor, in any order.
    pub(super) fn add(&mut self, cpu: u32, mut events: Vec<Event>, lost: u64) {
        // The kernel's buffer is in order, except where an interrupt came between two events.
        events.sort_by_key(|event| event.at);
        self.processors.push((cpu, events));
        self.lost = self.lost.saturating_add(lost);
    }

    /// Events that the kernel could not keep.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Number of all events.
    pub fn count(&self) -> usize {
        self.processors.iter().map(|(_, events)| events.len()).sum()
    }

    /// The events of a processor between two moments, in order.
    pub fn between(&self, cpu: u32, from: Stamp, to: Stamp) -> &[Event] {
        let own = self.processors.iter().find(|(own, _)| *own == cpu);
        own.map_or(&[], |(_, events)| within(events, from, to))
    }

    /// The events of all processors between two moments, processor by processor.
    pub(super) fn between_anywhere(&self, from: Stamp, to: Stamp) -> impl Iterator<Item = &Event> {
        self.processors.iter().flat_map(move |(_, events)| within(events, from, to))
    }

    /// The first moment from which the events of a processor are complete.
    pub(super) fn begins(&self, cpu: u32) -> Option<Stamp> {
        let own = self.processors.iter().find(|(own, _)| *own == cpu);
        own.and_then(|(_, events)| events.first()).map(|event| event.at)
    }
}

fn within(events: &[Event], from: Stamp, to: Stamp) -> &[Event] {
    let first = events.partition_point(|event| event.at < from);
    let end = events.partition_point(|event| event.at <= to);
    events.get(first..end).unwrap_or(&[])
}
