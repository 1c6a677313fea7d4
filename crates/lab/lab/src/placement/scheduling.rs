//! The scheduling class of a thread: real-time and back.

use std::fmt;

use rustix::{
    io::Errno,
    process::{getpriority_process, setpriority_process},
};
use thread_priority::{
    Error, NormalThreadSchedulePolicy, RealtimeThreadSchedulePolicy, ThreadPriority,
    ThreadPriorityValue, ThreadSchedulePolicy,
    unix::{set_thread_priority_and_policy, thread_native_id, thread_schedule_policy_param},
};

/// The kernel's own threads have 50: above it a thread could starve threads that it needs.
pub(super) const HIGHEST_PRIORITY: u8 = 49;

/// The value that the library turns into niceness 0 when it sets a normal class.
const VALUE_OF_NICENESS_ZERO: u8 = 47;

/// The scheduling of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    Normal { policy: NormalThreadSchedulePolicy, niceness: i32 },
    RealTime { policy: RealtimeThreadSchedulePolicy, priority: i32 },
}

/// The reason why a class was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error("priority {priority} is not between 1 and {HIGHEST_PRIORITY}")]
    Priority { priority: u8 },
    #[error("{0} (needs CAP_SYS_NICE or an rtprio limit)")]
    NotPermitted(Errno),
    #[error("{0}")]
    System(Errno),
    #[error("the system did not apply it")]
    Unknown,
}

impl Class {
    pub(super) fn of_this_thread() -> Option<Self> {
        let (policy, parameters) = thread_schedule_policy_param(thread_native_id()).ok()?;
        Some(match policy {
            ThreadSchedulePolicy::Normal(policy) => {
                Self::Normal { policy, niceness: getpriority_process(None).ok()? }
            }
            ThreadSchedulePolicy::Realtime(policy) => {
                Self::RealTime { policy, priority: parameters.sched_priority }
            }
        })
    }

    pub(super) fn normal() -> Self {
        Self::Normal { policy: NormalThreadSchedulePolicy::Other, niceness: 0 }
    }

    /// Puts the calling thread into this class.
    pub(super) fn restore(self) -> Result<(), Refusal> {
        match self {
            Self::RealTime { policy, priority } => {
                let priority = u8::try_from(priority).map_err(|_| Refusal::Unknown)?;
                set(ThreadSchedulePolicy::Realtime(policy), priority)
            }
            Self::Normal { policy, niceness } => {
                // The library sets a niceness after the class. This can be refused although the
                // class was set and the niceness is already right, so only the final state counts.
                let result = set(ThreadSchedulePolicy::Normal(policy), VALUE_OF_NICENESS_ZERO);
                if getpriority_process(None).is_ok_and(|now| now != niceness) {
                    setpriority_process(None, niceness).map_err(Refusal::of)?;
                }
                match Self::of_this_thread() {
                    Some(now) if now == self => Ok(()),
                    _ => result.and(Err(Refusal::Unknown)),
                }
            }
        }
    }
}

/// Sets real-time scheduling, first in first out, with this priority, for the calling thread.
pub(super) fn set_real_time(priority: u8) -> Result<(), Refusal> {
    if !(1..=HIGHEST_PRIORITY).contains(&priority) {
        return Err(Refusal::Priority { priority });
    }
    set(ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo), priority)
}

fn set(policy: ThreadSchedulePolicy, priority: u8) -> Result<(), Refusal> {
    let value = ThreadPriorityValue::try_from(priority).map_err(|_| Refusal::Unknown)?;
    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Crossplatform(value), policy)
        .map_err(|error| match error {
            Error::OS(number) => Refusal::of(Errno::from_raw_os_error(number)),
            _ => Refusal::Unknown,
        })
}

impl Refusal {
    fn of(errno: Errno) -> Self {
        match errno {
            Errno::PERM | Errno::ACCESS => Self::NotPermitted(errno),
            other => Self::System(other),
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Normal { policy, niceness } => {
                let name = match policy {
                    NormalThreadSchedulePolicy::Other => "normal",
                    NormalThreadSchedulePolicy::Batch => "batch",
                    NormalThreadSchedulePolicy::Idle => "idle",
                };
                write!(f, "{name} scheduling, niceness {niceness}")
            }
            Self::RealTime { policy, priority } => {
                let name = match policy {
                    RealtimeThreadSchedulePolicy::Fifo => "first in first out",
                    RealtimeThreadSchedulePolicy::RoundRobin => "round robin",
                    RealtimeThreadSchedulePolicy::Deadline => "deadline",
                };
                write!(f, "{name}, priority {priority}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_outside_the_range_are_refused_before_a_system_call() {
        for priority in [0, 50, 99, 255] {
            assert_eq!(set_real_time(priority), Err(Refusal::Priority { priority }));
        }
        assert_eq!(
            Refusal::Priority { priority: 50 }.to_string(),
            "priority 50 is not between 1 and 49"
        );
    }

    #[test]
    fn a_refusal_says_what_is_needed() {
        let text = Refusal::of(Errno::PERM).to_string();
        assert!(text.ends_with("(needs CAP_SYS_NICE or an rtprio limit)"), "{text}");
        assert!(matches!(Refusal::of(Errno::INVAL), Refusal::System(_)));
    }

    #[test]
    fn classes_read_as_text() {
        assert_eq!(Class::normal().to_string(), "normal scheduling, niceness 0");
        let fifo = Class::RealTime { policy: RealtimeThreadSchedulePolicy::Fifo, priority: 10 };
        assert_eq!(fifo.to_string(), "first in first out, priority 10");
    }
}
