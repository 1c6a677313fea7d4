//! The cause of a gap from the events of the kernel within it.
//!
//! Several events are the rule: a timer interrupt wakes a thread, which then gets the processor.
//! The event that explains the others is the cause: a switch before a signal, a signal before a
//! fault, and each of them before the interrupt that brought it.

use super::event::{Event, KernelEvents, Switch, What};
use crate::{cause::Cause, gaps::Gap};

/// The kernel's numbers of real-time priorities are below this one.
const NORMAL_PRIORITY: u32 = 100;

impl KernelEvents {
    /// The cause of a gap of `thread` on `cpu`; `None` if no event lies within it. Where events
    /// were lost before the gap, they are missing: see [`covers`](Self::covers).
    pub fn cause(&self, gap: &Gap, cpu: u32, thread: u32) -> Option<Cause> {
        let switched_out = |event: &&Event| match &event.what {
            What::Switch(switch) => switch.from == thread,
            _ => false,
        };
        // A thread that is not pinned may lose one processor and get another one.
        let out = self.between_anywhere(gap.from, gap.to).find(switched_out);
        let own = self.between(cpu, gap.from, gap.to);
        if let Some(Event { what: What::Switch(switch), .. }) = out {
            return Some(of_switch(switch, own, gap));
        }
        own.iter().filter_map(|event| of_event(event, thread)).min_by_key(rank)
    }

    /// Whether the events of `cpu` at the time of a gap were kept.
    pub fn covers(&self, gap: &Gap, cpu: u32) -> bool {
        self.lost() == 0 || self.begins(cpu).is_some_and(|begin| begin <= gap.from)
    }
}

fn of_switch(out: &Switch, own: &[Event], gap: &Gap) -> Cause {
    match out.state.chars().next() {
        Some('T' | 't') => Cause::Stopped,
        Some('R') => {
            let longest = longest_run(own, gap).unwrap_or(out);
            let is_real_time = |priority: u32| priority < NORMAL_PRIORITY;
            if is_real_time(out.from_priority) && !is_real_time(longest.to_priority) {
                return Cause::FairServer;
            }
            let work = own.iter().find_map(|event| match &event.what {
                What::Work(function) if event.thread == longest.to => Some(function),
                _ => None,
            });
            Cause::Preempted { by: Some(name_of(longest, work.map(String::as_str))) }
        }
        _ => Cause::Blocked,
    }
}

/// The switch to the thread that had the processor longest within the gap.
fn longest_run<'a>(own: &'a [Event], gap: &Gap) -> Option<&'a Switch> {
    let switches = own.iter().filter_map(|event| match &event.what {
        What::Switch(switch) => Some((event.at, switch)),
        _ => None,
    });
    let switches: Vec<_> = switches.collect();
    let ends = switches.iter().skip(1).map(|(at, _)| *at).chain([gap.to]);
    let runs = switches.iter().zip(ends);
    runs.max_by_key(|((at, _), end)| end.ticks().saturating_sub(at.ticks()))
        .map(|((_, switch), _)| *switch)
}

/// The name of a thread without the numbers of the kernel's workers.
fn name_of(switch: &Switch, work: Option<&str>) -> String {
    let name = switch.to_name.split('/').next().unwrap_or_default();
    match (switch.to, work) {
        (0, _) => "nothing (idle)".to_owned(),
        (_, Some(function)) => format!("{name} {function}"),
        (_, None) => name.to_owned(),
    }
}

fn of_event(event: &Event, thread: u32) -> Option<Cause> {
    Some(match &event.what {
        What::Signal(number) if event.thread == thread => Cause::Signal { number: *number },
        What::PageFault if event.thread == thread => Cause::PageFault,
        What::Timer => Cause::Timer,
        What::Vector(name) => Cause::Remote { name: name.clone() },
        What::Interrupt(name) => Cause::Device { name: name.clone() },
        What::Softirq(name) => Cause::Softirq { name: name.clone() },
        What::NonMaskable => Cause::NonMaskable,
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
mod tests {
    use nanotape_clock::Stamp;

    use super::*;

    const SPINNER: u32 = 42;

    fn event(at: u64, what: What) -> Event {
        Event { at: Stamp::from_ticks(at), thread: SPINNER, what }
    }

    fn switch(at: u64, state: &str, priorities: (u32, u32)) -> Event {
        let what = What::Switch(Switch {
            from: SPINNER,
            state: state.to_owned(),
            from_priority: priorities.0,
            to: 77,
            to_name: "kworker/1:2".to_owned(),
            to_priority: priorities.1,
        });
        event(at, what)
    }

    fn cause(events: Vec<Event>) -> Option<Cause> {
        let mut all = KernelEvents::default();
        all.add(1, events, 0);
        let gap = Gap { from: Stamp::from_ticks(100), to: Stamp::from_ticks(200) };
        all.cause(&gap, 1, SPINNER)
    }

    #[test]
    fn the_event_that_explains_the_others_is_the_cause() {
        let timer = || event(110, What::Timer);
        let soft = event(111, What::Softirq("TIMER".to_owned()));
        let cases = [
            (vec![], None),
            (vec![event(99, What::Timer), event(201, What::Timer)], None),
            (vec![timer(), soft], Some(Cause::Timer)),
            (vec![timer(), event(120, What::Signal(14))], Some(Cause::Signal { number: 14 })),
            (vec![timer(), event(120, What::PageFault)], Some(Cause::PageFault)),
            (vec![timer(), switch(130, "T", (120, 120))], Some(Cause::Stopped)),
            (vec![switch(130, "S", (120, 120))], Some(Cause::Blocked)),
            (
                vec![timer(), switch(130, "R", (120, 120))],
                Some(Cause::Preempted { by: Some("kworker".to_owned()) }),
            ),
            (vec![timer(), switch(130, "R+", (50, 120))], Some(Cause::FairServer)),
        ];
        for (events, expected) in cases {
            assert_eq!(cause(events.clone()), expected, "{events:?}");
        }
    }

    #[test]
    fn of_several_threads_the_one_that_ran_longest_is_the_cause() {
        let mut to_neighbour = switch(170, "R", (120, 10));
        if let What::Switch(next) = &mut to_neighbour.what {
            next.to_name = "neighbour".to_owned();
            next.from = 77;
        }
        let both = |at: u64| {
            let mut first = switch(110, "R", (50, 120));
            first.at = Stamp::from_ticks(at);
            cause(vec![first, to_neighbour.clone()])
        };
        assert_eq!(both(110), Some(Cause::FairServer));
        assert_eq!(both(165), Some(Cause::Preempted { by: Some("neighbour".to_owned()) }));
    }

    #[test]
    fn work_of_the_kernel_is_named() {
        let mut work = event(140, What::Work("vmstat_update".to_owned()));
        work.thread = 77;
        let found = cause(vec![switch(130, "R", (120, 120)), work]);
        assert_eq!(found, Some(Cause::Preempted { by: Some("kworker vmstat_update".to_owned()) }));
    }

    #[test]
    fn events_of_other_threads_are_not_its_own() {
        let mut fault = event(120, What::PageFault);
        fault.thread = 5;
        assert_eq!(cause(vec![fault]), None);
    }

    #[test]
    fn what_was_lost_is_not_covered() {
        let mut all = KernelEvents::default();
        all.add(1, vec![event(150, What::Timer)], 3);
        let gap = |from| Gap { from: Stamp::from_ticks(from), to: Stamp::from_ticks(300) };
        assert!(!all.covers(&gap(100), 1) && all.covers(&gap(160), 1));
        assert!(!all.covers(&gap(160), 0));
    }
}
