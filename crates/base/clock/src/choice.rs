//! Chooses the source by five checks of the counter before the counter is used.
//!
//! The order matters. The processor's flags come first because they cost nothing, the kernel's
//! permission next because a forbidden read ends the process. Only then is the counter read, to
//! measure its cost. The sixth check, whether the counter moves at all, is part of calibration.

use core::fmt;

use crate::{
    kernel::{self, Readability, Verdict},
    source::Source,
    tsc,
};

/// A read of the counter that costs more is not just the instruction: natively it takes 10 to 20
/// ns, a trap into a hypervisor a microsecond and more.
const TRAPPED_NANOS: u64 = 250;

/// Reads in a round, and rounds. The cheapest round counts: a trap slows every round, an
/// interruption only one.
const TRAP_READS: u32 = 64;
const TRAP_ROUNDS: u32 = 8;

/// Why a clock uses its source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// The counter is read; processor, kernel and measurement agree.
    KernelKeepsCounter,
    /// The counter is read; the kernel does not report its quality.
    ProcessorVouches,
    /// The counter is not read because the caller chose another source.
    Requested,
    /// This program has no counter on this architecture.
    NoCounter,
    /// The counter's rate depends on power states.
    NotInvariant,
    /// The kernel forbids programs to read the counter. This also forbids its finer clocks, which a
    /// program reads without a system call.
    Forbidden,
    /// The kernel did not report whether programs may read the counter, and a forbidden read would
    /// end the process.
    PermissionNotSaid,
    /// The kernel does not have the counter among its clock sources.
    ThrownOut,
    /// A read of the counter costs more than the instruction.
    Trapped {
        /// Cost of one read.
        read_nanos: u64,
    },
    /// The counter did not move while the kernel's clock did.
    Stuck,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::KernelKeepsCounter => {
                "the processor's counter is invariant, readable and not trapped, and the kernel \
                 keeps it as a clock source"
            }
            Self::ProcessorVouches => {
                "the processor's counter is invariant, readable and not trapped; the kernel does \
                 not say what it thinks of it"
            }
            Self::Requested => "the operating system's clock was requested",
            Self::NoCounter => "this program reads no counter on this architecture",
            Self::NotInvariant => "the processor's counter is not invariant",
            Self::Forbidden => "the kernel forbids programs to read the processor's counter",
            Self::PermissionNotSaid => {
                "the kernel does not report whether programs can read the processor's counter"
            }
            Self::ThrownOut => "the kernel does not list the processor's counter as a clock source",
            Self::Trapped { read_nanos } => {
                return write!(
                    f,
                    "a read of the processor's counter takes {read_nanos} ns, so reads are trapped"
                );
            }
            Self::Stuck => "the processor's counter does not advance",
        })
    }
}

/// The results of all checks, separate from the checks, so that a test can choose each.
#[derive(Clone, Copy, Debug)]
struct Answers {
    exists: bool,
    invariant: bool,
    readability: Readability,
    verdict: Verdict,
}

/// Whether to read the counter (`Ok`) or not, and why.
pub(crate) fn counter() -> Result<Reason, Reason> {
    let reason = judge(Answers {
        exists: tsc::EXISTS,
        invariant: tsc::is_invariant(),
        readability: kernel::readability(),
        verdict: kernel::verdict(kernel::available_sources().as_deref()),
    })?;
    untrapped(read_nanos())?;
    Ok(reason)
}

/// The reason for the operating system's clock if the caller requests it. If the counter is
/// forbidden, that is the reason, since then only the coarse clock can be read.
pub(crate) fn without_counter() -> Reason {
    match kernel::readability() {
        Readability::Forbidden => Reason::Forbidden,
        _ => Reason::Requested,
    }
}

/// The source that reads the operating system's clock.
pub(crate) fn kernel_clock() -> Source {
    source_without_counter(without_counter())
}

/// The source to read if not the counter.
pub(crate) fn source_without_counter(why: Reason) -> Source {
    if why == Reason::Forbidden { Source::Coarse } else { Source::Monotonic }
}

fn judge(answers: Answers) -> Result<Reason, Reason> {
    if answers.readability == Readability::Forbidden {
        // First, because it also decides which of the kernel's clocks can be read.
        Err(Reason::Forbidden)
    } else if !answers.exists {
        Err(Reason::NoCounter)
    } else if !answers.invariant {
        Err(Reason::NotInvariant)
    } else if answers.readability == Readability::NotSaid {
        Err(Reason::PermissionNotSaid)
    } else {
        match answers.verdict {
            Verdict::Kept => Ok(Reason::KernelKeepsCounter),
            Verdict::NotSaid => Ok(Reason::ProcessorVouches),
            Verdict::ThrownOut => Err(Reason::ThrownOut),
        }
    }
}

fn untrapped(read_nanos: u64) -> Result<(), Reason> {
    if read_nanos > TRAPPED_NANOS { Err(Reason::Trapped { read_nanos }) } else { Ok(()) }
}

/// Minimum cost of one read of the counter, by the kernel's clock.
fn read_nanos() -> u64 {
    let round = || {
        let from = kernel::raw_nanos();
        for _ in 0..TRAP_READS {
            core::hint::black_box(tsc::read_unfenced());
        }
        kernel::raw_nanos().saturating_sub(from).unsigned_abs() / u64::from(TRAP_READS)
    };
    (0..TRAP_ROUNDS).map(|_| round()).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Answers = Answers {
        exists: true,
        invariant: true,
        readability: Readability::Readable,
        verdict: Verdict::Kept,
    };

    #[test]
    fn good_answers_choose_the_counter() {
        assert_eq!(judge(GOOD), Ok(Reason::KernelKeepsCounter));
        assert_eq!(
            judge(Answers { verdict: Verdict::NotSaid, ..GOOD }),
            Ok(Reason::ProcessorVouches)
        );
    }

    #[test]
    fn each_bad_answer_is_a_reason_of_its_own() {
        let forbidden = Answers { readability: Readability::Forbidden, ..GOOD };
        assert_eq!(judge(Answers { exists: false, ..GOOD }), Err(Reason::NoCounter));
        assert_eq!(judge(Answers { invariant: false, ..GOOD }), Err(Reason::NotInvariant));
        assert_eq!(judge(forbidden), Err(Reason::Forbidden));
        assert_eq!(judge(Answers { invariant: false, ..forbidden }), Err(Reason::Forbidden));
        assert_eq!(
            judge(Answers { readability: Readability::NotSaid, ..GOOD }),
            Err(Reason::PermissionNotSaid)
        );
        assert_eq!(judge(Answers { verdict: Verdict::ThrownOut, ..GOOD }), Err(Reason::ThrownOut));
    }

    #[test]
    fn a_dear_read_is_a_trap() {
        assert_eq!(untrapped(0), Ok(()));
        assert_eq!(untrapped(TRAPPED_NANOS), Ok(()));
        assert_eq!(untrapped(1_200), Err(Reason::Trapped { read_nanos: 1_200 }));
    }

    #[test]
    fn reasons_are_sentences_that_name_what_decided() {
        let said = |reason: Reason| reason.to_string();
        assert_eq!(said(Reason::NotInvariant), "the processor's counter is not invariant");
        assert_eq!(said(Reason::Requested), "the operating system's clock was requested");
        assert_eq!(said(Reason::Stuck), "the processor's counter does not advance");
        assert_eq!(
            said(Reason::Trapped { read_nanos: 1_200 }),
            "a read of the processor's counter takes 1200 ns, so reads are trapped"
        );
        assert_eq!(
            said(Reason::KernelKeepsCounter),
            "the processor's counter is invariant, readable and not trapped, and the kernel keeps \
             it as a clock source"
        );
        for reason in [
            Reason::ProcessorVouches,
            Reason::NoCounter,
            Reason::Forbidden,
            Reason::PermissionNotSaid,
            Reason::ThrownOut,
        ] {
            assert!(said(reason).contains("counter"), "{reason:?}");
            assert!(!said(reason).contains("  "), "{reason:?}");
        }
    }
}
