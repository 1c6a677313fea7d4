//! Events of the kernel, by processor and time.

use core::fmt;
use std::{collections::BTreeMap, sync::Arc};

use nanotape_clock::Stamp;
use serde_json::{Value, json};

use crate::gaps::Gap;

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
    /// The timer of the processor begins.
    Timer,
    /// An interrupt from another processor, or of the processor itself, begins; its name.
    Vector(&'static str),
    /// The interrupt of a device begins; the name of its handler.
    Interrupt(Arc<str>),
    /// Deferred work of an interrupt begins; its name.
    Softirq(&'static str),
    /// The innermost of these ends.
    End,
    /// An interrupt that cannot be masked has ended.
    NonMaskable {
        /// Its length in nanoseconds.
        nanos: u64,
    },
    /// A page fault of the running thread.
    PageFault,
    /// A signal that the running thread gets.
    Signal(u32),
    /// Work of the kernel; the address of its function.
    Work(u64),
    /// The processor changed its frequency.
    Frequency,
    /// Another thread gets the processor.
    Switch(Switch),
    /// A thread is moved to another processor.
    Move {
        /// The thread.
        thread: u32,
    },
}

/// A switch from the running thread to another one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Switch {
    /// The thread that loses the processor.
    pub from: u32,
    /// Why.
    pub state: Left,
    /// Its priority in the kernel's numbers: below 100 is real-time.
    pub from_priority: u32,
    /// The thread that gets it.
    pub to: u32,
    /// Its name, as the kernel keeps it.
    pub to_name: [u8; 16],
    /// Its priority.
    pub to_priority: u32,
}

/// Why a thread lost its processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// It could run on.
    Runnable,
    /// A signal stopped it, or a debugger.
    Stopped,
    /// It sleeps, waits or ends.
    Blocked,
}

/// A time in which events of a processor were lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Loss {
    /// The last event before.
    pub(super) from: Stamp,
    /// The first one after.
    pub(super) to: Stamp,
}

/// Events that a trace has lost since it began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Losses {
    /// Events that were read.
    pub read: u64,
    /// Events that the kernel overwrote before they were read: its count `overrun`.
    pub overwritten: u64,
    /// Events that the kernel had no place for: its counts `dropped events` and `commit overrun`.
    pub dropped: u64,
    /// Events that are missing before a page, as the headers of the pages say.
    pub missing: u64,
    /// Events that were read and not kept, because there were too many.
    pub not_kept: u64,
}

/// Whether the events in a gap are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coverage {
    /// All of them.
    Kept,
    /// Some were lost.
    Lost,
    /// Nothing was traced at that time, or not on that processor.
    Outside,
}

/// The events of a processor.
#[derive(Clone, Debug, Default)]
pub(super) struct Processor {
    pub(super) cpu: u32,
    /// In order.
    pub(super) events: Vec<Event>,
    pub(super) losses: Vec<Loss>,
}

/// Events of several processors.
#[derive(Clone, Debug)]
pub struct KernelEvents {
    pub(super) processors: Vec<Processor>,
    /// The time whose events are here, apart from those that were lost.
    pub(super) whole: Gap,
    /// When the trace began.
    pub(super) began: Stamp,
    pub(super) nanos_per_tick: f64,
    pub(super) losses: Losses,
    /// The names of functions of the kernel, by address.
    pub(super) functions: Arc<BTreeMap<u64, String>>,
}

/// `events of the kernel: 1200 read, none lost`
impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { read, overwritten, dropped, missing, not_kept } = self;
        match self.lost() {
            0 => write!(f, "events of the kernel: {read} read, none lost"),
            lost => write!(
                f,
                "events of the kernel: {read} read, {lost} lost (overrun {overwritten}, dropped \
                 {dropped}, missing before pages {missing}, not kept {not_kept}); an interruption at \
                 such a time has the cause \"events lost\""
            ),
        }
    }
}

impl Losses {
    /// The object `kernel_events` of docs/formats/lab-machine.md.
    pub fn to_json(&self) -> Value {
        let Self { read, overwritten, dropped, missing, not_kept } = self;
        json!({
            "read": read,
            "lost": self.lost(),
            "overrun": overwritten,
            "dropped": dropped,
            "missing": missing,
            "not_kept": not_kept,
        })
    }

    /// Events that are missing.
    pub fn lost(&self) -> u64 {
        // The headers of pages count what was overwritten once more.
        self.overwritten
            .max(self.missing)
            .saturating_add(self.dropped)
            .saturating_add(self.not_kept)
    }
}

/// Nothing was traced.
impl Default for KernelEvents {
    fn default() -> Self {
        let never = Stamp::from_ticks(0);
        Self {
            processors: Vec::new(),
            whole: Gap { from: never, to: never },
            began: never,
            nanos_per_tick: 1.0,
            losses: Losses::default(),
            functions: Arc::default(),
        }
    }
}

impl KernelEvents {
    /// Of a processor, since ever, with a tick a nanosecond.
    #[cfg(test)]
    pub(crate) fn of_one(cpu: u32, events: Vec<Event>) -> Self {
        let own = Processor { cpu, events, losses: Vec::new() };
        let whole = Gap { from: Stamp::from_ticks(0), to: Stamp::from_ticks(u64::MAX) };
        Self { processors: vec![own], whole, ..Self::default() }
    }

    /// Events that were lost since the trace began.
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// Number of all events.
    pub fn count(&self) -> usize {
        self.processors.iter().map(|processor| processor.events.len()).sum()
    }

    /// The events of a processor between two moments, in order.
    pub fn between(&self, cpu: u32, from: Stamp, to: Stamp) -> &[Event] {
        self.processor(cpu).map_or(&[], |own| own.between(from, to))
    }

    /// Whether the events of `cpu` at the time of a gap were kept.
    pub fn coverage(&self, gap: &Gap, cpu: u32) -> Coverage {
        match self.processor(cpu) {
            Some(_) if gap.from < self.began => Coverage::Outside,
            Some(own) if own.has_lost(gap) || !self.is_within(gap) => Coverage::Lost,
            Some(_) => Coverage::Kept,
            None => Coverage::Outside,
        }
    }

    /// Whether events of any processor were lost within a gap.
    pub(super) fn has_lost_anywhere(&self, gap: &Gap) -> bool {
        self.processors.iter().any(|processor| processor.has_lost(gap))
    }

    fn is_within(&self, gap: &Gap) -> bool {
        self.whole.from <= gap.from && gap.to <= self.whole.to
    }

    pub(super) fn processor(&self, cpu: u32) -> Option<&Processor> {
        self.processors.iter().find(|own| own.cpu == cpu)
    }

    pub(super) fn nanos(&self, ticks: u64) -> u64 {
        (ticks as f64 * self.nanos_per_tick) as u64
    }
}

impl Processor {
    pub(super) fn between(&self, from: Stamp, to: Stamp) -> &[Event] {
        let first = self.events.partition_point(|event| event.at < from);
        let end = self.events.partition_point(|event| event.at <= to);
        self.events.get(first..end).unwrap_or(&[])
    }

    fn has_lost(&self, gap: &Gap) -> bool {
        self.losses.iter().any(|loss| loss.from <= gap.to && gap.from <= loss.to)
    }
}

impl Switch {
    /// The name of the thread that gets the processor.
    pub fn to_name(&self) -> String {
        let end = self.to_name.iter().position(|&byte| byte == 0);
        let name = self.to_name.get(..end.unwrap_or(self.to_name.len())).unwrap_or(&[]);
        String::from_utf8_lossy(name).into_owned()
    }
}
