//! The active test: threads that do nothing but check for interruptions, on the hot processors.

use std::time::Duration;

use nanotape_clock::Clock;

use super::{Check, CpuList, Finding, Verdict, When};
use crate::{
    cause::Cause,
    periods::fold,
    smi::SmiCounts,
    spin::{ProcessorGaps, SpinError, SpinOptions, spin},
    tally::Tally,
    watch::WatchOptions,
};

/// Interruptions from this length on are counted.
const THRESHOLD_NS: u64 = 1_000;

/// Processors whose figures are reported.
const MOST_REPORTED: usize = 8;

/// How to test.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ActiveTest {
    /// How long.
    pub duration: Duration,
    /// The longest interruption that is good, in nanoseconds.
    pub target_ns: u64,
    /// The priority in the real-time class; `None`: the normal class.
    pub real_time_priority: Option<u8>,
}

impl ActiveTest {
    /// The names of its findings.
    pub const NAMES: [&str; 2] = ["interruptions", "firmware-interrupts"];

    /// Runs on the hot processors at the same time; the findings for all of them. `hypervisor`: its
    /// name, if the processor reports one.
    pub fn run(
        &self,
        clock: &Clock,
        hot: &CpuList,
        hypervisor: Option<&str>,
    ) -> Result<[Finding; 2], SpinError> {
        let check = Check {
            name: Self::NAMES[0],
            title: "interruptions of a thread that does nothing else",
            good: "none longer than the target",
            why: "it measures what no setting shows",
            when: When::Now,
        };
        let counts = SmiCounts::open(&hot.iter().collect::<Vec<_>>(), hypervisor);
        let before = counts.as_ref().map(SmiCounts::read);
        let processors = self.spin(clock, hot)?;
        let after = counts.as_ref().map(SmiCounts::read);
        let longest = processors.iter().filter_map(|one| one.sorted_ns(clock).pop()).max();
        let is_good = longest.is_none_or(|longest| longest <= self.target_ns);
        let mut reported: Vec<String> =
            processors.iter().take(MOST_REPORTED).map(|one| reported(clock, one)).collect();
        if processors.len() > MOST_REPORTED {
            reported.push(format!("and {} more processors", processors.len() - MOST_REPORTED));
        }
        let found = check.judged(is_good, Verdict::Fail, reported.join("; ")).fix(
            "fix the failures above, and find the causes with `nanotape lab jitter --turns 0`",
        );
        Ok([found, of_firmware(before.and_then(|before| Ok((before, after?))))])
    }

    /// The interruptions of each hot processor.
    pub(super) fn spin(
        &self,
        clock: &Clock,
        hot: &CpuList,
    ) -> Result<Vec<ProcessorGaps>, SpinError> {
        spin(
            clock,
            &SpinOptions {
                cpus: hot.iter().collect(),
                duration: self.duration,
                watch: WatchOptions { threshold_ns: THRESHOLD_NS, ..WatchOptions::default() },
                real_time_priority: self.real_time_priority,
            },
        )
    }
}

/// The finding from the counts before and after the test.
fn of_firmware(counts: Result<(Vec<u32>, Vec<u32>), &String>) -> Finding {
    let check = Check {
        name: ActiveTest::NAMES[1],
        title: "system management interrupts during the test",
        good: "0",
        why: "the firmware stops all processors for 50 us to milliseconds, and no kernel sees it",
        when: When::Firmware,
    };
    match counts {
        Err(reason) => check.unknown(reason.clone()),
        Ok((before, after)) => {
            let grown =
                before.iter().zip(&after).map(|(before, after)| after.wrapping_sub(*before));
            let most = grown.max().unwrap_or(0);
            check
                .judged(most == 0, Verdict::Fail, format!("{most}, counted by the processor"))
                .fix("in the firmware: no emulation of USB, no patrol scrubbing, no power capping")
        }
    }
}

/// `processor 1: 512 a second, 1.02% of its time, longest 1300 us (preempted), ...`
fn reported(clock: &Clock, one: &ProcessorGaps) -> String {
    let seconds = one.watched_ns(clock) as f64 / 1e9;
    let mut tally = Tally::default();
    for interruption in one.kept() {
        tally.add(&interruption.cause, interruption.gap.nanos(clock));
    }
    let longest = one.kept().iter().max_by_key(|one| one.gap.nanos(clock));
    let mut text = format!(
        "processor {}: {:.0} a second, {:.3}% of its time",
        one.cpu,
        one.kept().len() as f64 / seconds.max(1e-9),
        100.0 * one.lost_ns(clock) as f64 / one.watched_ns(clock).max(1) as f64
    );
    if let Some(longest) = longest {
        let cause = match &longest.cause {
            Cause::Unexplained => "no account explains it".to_owned(),
            cause => cause.to_string(),
        };
        text += &format!(", longest {:.1} us ({cause})", longest.gap.nanos(clock) as f64 / 1e3);
    }
    if let Some(unmatched) = one.unmatched() {
        text += &format!(", {unmatched} more than interrupts of this kernel");
    }
    if let Some(period) = fold(&one.unexplained_at_ns(clock)).iter().find(|one| one.is_found) {
        text += &format!(", unexplained ones every {:.2} ms", period.period_ns / 1e6);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_of_the_firmware_fail_and_a_count_that_wraps_is_a_count() {
        let verdict = |before: u32, after: u32| {
            let found = of_firmware(Ok((vec![0, before], vec![0, after])));
            (found.verdict, found.read)
        };
        assert_eq!(verdict(7, 7).0, Verdict::Ok);
        let expected = (Verdict::Fail, "3, counted by the processor".to_owned());
        assert_eq!(verdict(u32::MAX, 2), expected);
        let unknown = of_firmware(Err(&"a guest".to_owned()));
        assert_eq!((unknown.verdict, &*unknown.read), (Verdict::Unknown, "a guest"));
    }
}
