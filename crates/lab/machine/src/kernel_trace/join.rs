//! The cause of a gap from the events of the kernel within it.
//!
//! ```text
//!   gap    |------------------------------------------------|
//!   events     [timer][softirq]      [another thread]
//!   covered    ################      ################          else: nothing that this kernel did
//! ```
//!
//! Several events are the rule: a timer interrupt wakes a thread, which then gets the processor.
//! The event that explains the others is the cause: a switch before a signal, a signal before a
//! fault, and each of them before the interrupt that brought it.
//! A gap is no longer than its events: if they cover less than half of it, they are not its cause.
//! A page fault, a signal and a change of the frequency have no end: they last as long as the gap.

use nanotape_clock::Stamp;

use super::event::{Coverage, Event, KernelEvents, Left, Processor, Switch, What};
use crate::{cause::Cause, gaps::Gap};

/// The kernel's numbers of real-time priorities are below this one.
const NORMAL_PRIORITY: u32 = 100;

/// The way into the kernel and back, which no event covers; in a guest also that of the interrupt
/// through the hypervisor.
const WAY_NS: u64 = 6_000;

/// The kernel's threads that move others between processors.
const MOVER: &str = "migration";

/// What is known of an interruption after the events were joined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judged {
    /// The cause.
    pub cause: Cause,
    /// The time that events of the kernel cover, in nanoseconds; `None` if they are not known.
    pub covered_ns: Option<u64>,
}

impl KernelEvents {
    /// The cause of a gap of `thread`, which is on `cpu` after it, from its accounts and from the
    /// events. `lost_ns` of the gap are to be explained. If events were lost within it, those that
    /// remain explain nothing.
    pub fn judge(
        &self,
        gap: &Gap,
        lost_ns: u64,
        (thread, cpu): (u32, u32),
        accounts: &Cause,
    ) -> Judged {
        match self.coverage(gap, cpu) {
            Coverage::Outside => return Judged { cause: accounts.clone(), covered_ns: None },
            Coverage::Lost => return Judged { cause: without_events(accounts), covered_ns: None },
            Coverage::Kept => {}
        }
        let own = self.between(cpu, gap.from, gap.to);
        let (away, back) = (self.longest_away(gap, thread), switched_in(own, thread));
        if away.is_none() && back.is_some() && self.has_lost_anywhere(gap) {
            // It lost another processor, whose events are incomplete.
            return Judged { cause: without_events(accounts), covered_ns: None };
        }
        let length = |away: &Gap| self.nanos(away.to.ticks().saturating_sub(away.from.ticks()));
        let (cause, covered_ns) = match (away, back) {
            (Some((processor, switch, away)), _) => {
                let cause = of_switch(self, processor, switch, &away, accounts);
                let before = Gap { from: gap.from, to: away.from };
                (Some(cause), covered(own, &before, thread, self).1 + length(&away))
            }
            // It had no processor when the gap began: it slept, was stopped, or waited.
            (None, Some(back)) => {
                let away = Gap { from: gap.from, to: back };
                let lost = self.lost_before(gap.from, thread);
                let cause = lost
                    .map(|(processor, switch)| of_switch(self, processor, switch, &away, accounts));
                (cause, length(&away))
            }
            (None, None) => covered(own, gap, thread, self),
        };
        let is_enough = covered_ns.saturating_add(WAY_NS) >= lost_ns.div_ceil(2);
        let cause = both(accounts, cause.filter(|_| is_enough));
        Judged { cause, covered_ns: Some(covered_ns) }
    }

    /// The processor that a thread lost for the longest time in a gap, the switch, and the time.
    /// A thread that is not pinned may lose one and get another one.
    fn longest_away(&self, gap: &Gap, thread: u32) -> Option<(&Processor, &Switch, Gap)> {
        let within = || {
            let each =
                |own| Processor::between(own, gap.from, gap.to).iter().map(move |one| (own, one));
            self.processors.iter().flat_map(each)
        };
        let back_after = |at: Stamp| {
            let backs = within().filter_map(|(_, event)| match &event.what {
                What::Switch(switch) if switch.to == thread && event.at > at => Some(event.at),
                _ => None,
            });
            backs.min().unwrap_or(gap.to)
        };
        let outs = within().filter_map(|(processor, event)| match &event.what {
            What::Switch(switch) if switch.from == thread => {
                Some((processor, switch, Gap { from: event.at, to: back_after(event.at) }))
            }
            _ => None,
        });
        outs.max_by_key(|(.., away)| away.to.ticks() - away.from.ticks())
    }

    /// The processor that a thread lost last before a moment, and the switch.
    fn lost_before(&self, moment: Stamp, thread: u32) -> Option<(&Processor, &Switch)> {
        let lost = self.processors.iter().filter_map(|processor| {
            let before = processor.events.partition_point(|event| event.at < moment);
            let before = processor.events.get(..before)?;
            before.iter().rev().find_map(|event| match &event.what {
                What::Switch(switch) if switch.from == thread => {
                    Some((event.at, processor, switch))
                }
                _ => None,
            })
        });
        let lost = lost.max_by_key(|(at, ..)| *at);
        lost.map(|(_, processor, switch)| (processor, switch))
    }

    /// The thread that had a processor for most of a time, if it was not idle.
    fn ran_instead(&self, cpu: u32, away: &Gap) -> Option<Cause> {
        let own = self.processor(cpu)?;
        // The switch before that time is to the thread that ran at its beginning.
        let is_switch = |event: &&Event| matches!(event.what, What::Switch(_));
        let before = own.events.partition_point(|event| event.at <= away.from);
        let first = own.events.get(..before)?.iter().rfind(is_switch)?.at;
        let longest = longest_run(own.between(first, away.to), Some(away.from), away.to)?;
        (longest.to != 0).then(|| preempted_by(self, own, longest, away))
    }
}

/// The last moment at which a thread gets the processor.
fn switched_in(own: &[Event], thread: u32) -> Option<Stamp> {
    own.iter().rev().find_map(|event| match &event.what {
        What::Switch(switch) if switch.to == thread => Some(event.at),
        _ => None,
    })
}

/// Whether the accounts show that the thread waited in the queue.
fn is_preempted(accounts: &Cause) -> bool {
    matches!(accounts, Cause::Preempted { .. })
}

/// The cause of the accounts, if they show one: the events that remain show none.
fn without_events(accounts: &Cause) -> Cause {
    let accounts = match accounts {
        Cause::Unexplained | Cause::NotAttributed => None,
        Cause::EventsLost { accounts } => *accounts,
        accounts => Some(accounts.kind()),
    };
    Cause::EventsLost { accounts }
}

/// The cause from the accounts and the one from the events of the kernel.
fn both(accounts: &Cause, seen: Option<Cause>) -> Cause {
    match (accounts, seen) {
        // The accounts know that the fault was a major one.
        (Cause::MajorFault, Some(Cause::Blocked | Cause::PageFault)) => Cause::MajorFault,
        // And that a control group had no time left, for which there is no event.
        (Cause::Throttled, Some(_)) => Cause::Throttled,
        // And that the thread was off the processor, which no interrupt explains: the time was not
        // the kernel's, or the switch was before the first event.
        (
            Cause::Stolen | Cause::Blocked | Cause::Preempted { .. } | Cause::MajorFault,
            Some(
                Cause::Timer | Cause::Device { .. } | Cause::Remote { .. } | Cause::Softirq { .. },
            ),
        ) => accounts.clone(),
        (_, Some(seen)) => seen,
        (Cause::NotAttributed, None) => Cause::Unexplained,
        (accounts, None) => accounts.clone(),
    }
}

/// `away`: the time without a processor, which began on this one.
fn of_switch(
    events: &KernelEvents,
    processor: &Processor,
    out: &Switch,
    away: &Gap,
    accounts: &Cause,
) -> Cause {
    match out.state {
        Left::Stopped => return Cause::Stopped,
        // It slept, and then waited in the queue for most of the time.
        Left::Blocked if is_preempted(accounts) => {
            let instead = events.ran_instead(processor.cpu, away);
            return instead.unwrap_or_else(|| accounts.clone());
        }
        Left::Blocked => return Cause::Blocked,
        Left::Runnable => {}
    }
    let there = processor.between(away.from, away.to);
    let moved = there.iter().find_map(|event| match event.what {
        What::Move { thread } if thread == out.from => Some(event.at),
        _ => None,
    });
    let longest = longest_run(there, None, moved.unwrap_or(away.to)).unwrap_or(out);
    let is_real_time = |priority: u32| priority < NORMAL_PRIORITY;
    // It could have run, and its processor had nothing else to do.
    if longest.to == 0 && moved.is_none() {
        return Cause::Throttled;
    }
    let name = longest.to_name();
    if moved.is_some() && name.split('/').next() == Some(MOVER) {
        return Cause::Moved;
    }
    if is_real_time(out.from_priority) && !is_real_time(longest.to_priority) {
        return Cause::FairServer;
    }
    preempted_by(events, processor, longest, away)
}

/// The name of a thread without the numbers of the kernel's workers, and what it worked on.
fn preempted_by(events: &KernelEvents, processor: &Processor, other: &Switch, away: &Gap) -> Cause {
    let work = processor.between(away.from, away.to).iter().find_map(|event| match event.what {
        What::Work(function) if event.thread == other.to => events.functions.get(&function),
        _ => None,
    });
    let name = other.to_name();
    let name = name.split('/').next().unwrap_or_default();
    let by = match (other.to, work) {
        (0, _) => "nothing (idle)".to_owned(),
        (_, Some(function)) => format!("{name} {function}"),
        (_, None) => name.to_owned(),
    };
    Cause::Preempted { by: Some(by) }
}

/// The switch to the thread that had the processor longest up to `end`, and since `begin`.
fn longest_run(there: &[Event], begin: Option<Stamp>, end: Stamp) -> Option<&Switch> {
    let switches: Vec<(Stamp, &Switch)> = there
        .iter()
        .filter_map(|event| match &event.what {
            What::Switch(switch) if event.at <= end => Some((event.at, switch)),
            _ => None,
        })
        .collect();
    let ends = switches.iter().skip(1).map(|(at, _)| *at).chain([end]);
    let runs = switches.iter().zip(ends);
    let since = |at: Stamp| begin.map_or(at, |begin| at.max(begin));
    runs.max_by_key(|((at, _), end)| end.ticks().saturating_sub(since(*at).ticks()))
        .map(|((_, switch), _)| *switch)
}

/// An interruption within a gap.
struct Part {
    from: Stamp,
    nanos: u64,
    cause: Cause,
}

/// The cause of a gap in which the thread kept its processor, and the time that events cover.
fn covered(own: &[Event], gap: &Gap, thread: u32, events: &KernelEvents) -> (Option<Cause>, u64) {
    let since = |from: Stamp, to: Stamp| events.nanos(to.ticks().saturating_sub(from.ticks()));
    let mut open: Vec<(Stamp, Cause)> = Vec::new();
    // Those that are in no other one.
    let mut parts: Vec<Part> = Vec::new();
    // The first event of a kind that has no end, and the one that explains the gap.
    let mut endless: Option<(Stamp, Cause)> = None;
    for event in own.iter().filter(|event| event.at <= gap.to) {
        let Some(cause) = of_event(event, thread) else {
            if event.what == What::End
                && let Some((from, cause)) = open.pop()
                && open.is_empty()
            {
                parts.push(Part { from, nanos: since(from, event.at), cause });
            }
            continue;
        };
        match event.what {
            What::Signal(_) | What::PageFault | What::Frequency => {
                let (from, known) = endless.take().unwrap_or((event.at, cause.clone()));
                let explains = if rank(&cause) < rank(&known) { cause } else { known };
                endless = Some((from, explains));
            }
            What::NonMaskable { nanos } => parts.push(Part { from: event.at, nanos, cause }),
            _ => open.push((event.at, cause)),
        }
    }
    if let Some((from, cause)) = open.into_iter().next() {
        parts.push(Part { from, nanos: since(from, gap.to), cause });
    }
    let whole_ns = since(gap.from, gap.to);
    let sum = |parts: &mut dyn Iterator<Item = &Part>| {
        parts.fold(0, |sum: u64, part| sum.saturating_add(part.nanos)).min(whole_ns)
    };
    if let Some((from, cause)) = endless {
        let before = sum(&mut parts.iter().filter(|part| part.from < from));
        return (Some(cause), (before + since(from, gap.to)).min(whole_ns));
    }
    // One that has half of the time is the cause; else the one that brought the others.
    let longest = parts.iter().max_by_key(|part| part.nanos);
    let longest = longest.filter(|part| part.nanos >= whole_ns.div_ceil(2));
    let first = || parts.iter().min_by_key(|part| rank(&part.cause));
    let cause = longest.or_else(first).map(|part| part.cause.clone());
    (cause, sum(&mut parts.iter()))
}

fn of_event(event: &Event, thread: u32) -> Option<Cause> {
    Some(match &event.what {
        What::Signal(number) if event.thread == thread => Cause::Signal { number: *number },
        What::PageFault if event.thread == thread => Cause::PageFault,
        What::Timer => Cause::Timer,
        What::Vector(name) => Cause::Remote { name: (*name).to_owned() },
        What::Interrupt(name) => Cause::Device { name: name.to_string() },
        What::Softirq(name) => Cause::Softirq { name: (*name).to_owned() },
        What::NonMaskable { .. } => Cause::NonMaskable,
        What::Frequency => Cause::Frequency,
        _ => return None,
    })
}

/// Smaller explains more.
fn rank(cause: &Cause) -> u8 {
    match cause {
        Cause::Signal { .. } => 0,
        Cause::PageFault => 1,
        Cause::NonMaskable => 2,
        Cause::Frequency => 3,
        Cause::Device { .. } => 4,
        Cause::Timer => 5,
        Cause::Remote { .. } => 6,
        _ => 7,
    }
}

#[cfg(test)]
mod tests;
