//! Which source is read and why: five questions about the counter, asked before it is read.
//!
//! The order matters. The processor is asked first because that costs nothing, the kernel next
//! because a forbidden read ends the process; only then is the counter read, to see what that
//! costs. The sixth question, whether the counter moves at all, is answered by calibration.

use core::fmt;

use crate::{
    kernel::{self, Readability, Verdict},
    source::Source,
    tsc,
};

/// A read of the counter that costs more is not the instruction but somebody behind it: natively it
/// takes 10 to 20 ns, a trap into a hypervisor a microsecond and more.
const TRAPPED_NANOS: u64 = 250;

/// Reads from which the cost of one is taken, and how often; the cheapest round counts, because a
/// trap makes every one of them dear and an interruption only one.
const TRAP_READS: u32 = 64;
const TRAP_ROUNDS: u32 = 8;

/// Why a clock reads what it reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// The counter is read; processor, kernel and measurement agree.
    KernelKeepsCounter,
    /// The counter is read; the kernel says nothing of its quality.
    ProcessorVouches,
    /// The counter is not read because the caller said so.
    AskedFor,
    /// There is no counter that this program reads on this architecture.
    NoCounter,
    /// The counter's rate depends on power states.
    NotInvariant,
    /// The kernel forbids programs to read the counter. Its own finer clocks, which a program reads
    /// without a system call, are forbidden with it.
    Forbidden,
    /// The kernel did not answer whether programs may read the counter, and a forbidden read would
    /// end the process.
    PermissionNotSaid,
    /// The kernel does not have the counter among its clock sources.
    ThrownOut,
    /// A read of the counter costs more than the instruction does.
    Trapped {
        /// What one read costs.
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
            Self::AskedFor => "the operating system's clock was requested",
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

/// The answers, apart from the ways to get them, so that each can be given in a test.
#[derive(Clone, Copy, Debug)]
struct Answers {
    exists: bool,
    invariant: bool,
    readability: Readability,
    verdict: Verdict,
}

/// Whether the counter is to be read (`Ok`) or not, and why.
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

/// Why the operating system's clock is read when the caller asks for it, which a forbidden counter
/// overrules: then only its coarse clock can be.
pub(crate) fn without_counter() -> Reason {
    match kernel::readability() {
        Readability::Forbidden => Reason::Forbidden,
        _ => Reason::AskedFor,
    }
}

/// The source that reads the operating system's clock.
pub(crate) fn kernel_clock() -> Source {
    source_without_counter(without_counter())
}

/// What is read where the counter is not.
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

/// What one read of the counter costs at best, by the kernel's clock.
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
        assert_eq!(said(Reason::AskedFor), "the operating system's clock was requested");
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
