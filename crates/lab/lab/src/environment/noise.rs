//! Noise of a run: the processor time that others used meanwhile.
//!
//! The limits come from shared machines: above them, measurements changed. Such a run is marked and
//! should not become a baseline. The kernel counts in ticks of 10 ms, so a short run cannot always
//! be judged; then the share is None and [`Noise::unknown`] has the reason.

use std::collections::BTreeMap;

use nanotape_clock::{Clock, Stamp};
use nanotape_host::Ticks;

use super::processor_time::{Accounts, Thread};

/// Share of the processor that other processes can use.
pub const FOREIGN_LIMIT: f64 = 0.05;

/// Share of the processor that the hypervisor can take.
pub const STOLEN_LIMIT: f64 = 0.005;

/// Share of the run during which some task of the machine can wait for a processor. A hint only: it
/// is about the whole machine, and neighbours share caches and memory.
pub const PRESSURE_LIMIT: f64 = 0.05;

/// The largest error of a difference of two tick counts: one tick at either end.
const TICKS_OF_ERROR: f64 = 2.0;

/// Reads the kernel's accounts when it starts and when it stops.
///
/// Both belong on the measuring thread, after its placement is applied and before it is released:
/// the processors that the threads of this process can run on determine its own time.
#[derive(Debug)]
pub struct NoiseWatch {
    clock: Clock,
    cpu: Option<u32>,
    before: Accounts,
    start: Stamp,
    whose: Whose,
}

/// The processes whose work on the processor is not noise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Whose {
    /// The threads of this process.
    Own,
    /// The processes that it starts, and itself.
    Children,
}

/// The noise of a run.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Noise {
    /// Share of the pinned processor's time that the hypervisor gave to others.
    pub stolen: Option<f64>,
    /// Share of the pinned processor's time that other processes used, without interrupts.
    pub foreign: Option<f64>,
    /// How often a thread of this process was preempted.
    pub involuntary_switches: Option<u64>,
    /// Page faults of this process without disk access.
    pub minor_faults: Option<u64>,
    /// Page faults of this process with disk access.
    pub major_faults: Option<u64>,
    /// Share of the run during which some task of the machine waited for a processor.
    pub pressure: Option<f64>,
    /// The record's `noise` list: one sentence per kind of noise.
    pub sentences: Vec<String>,
    /// Values that are not known, and the reasons. They do not count as noise.
    pub unknown: Vec<String>,
}

/// The figures of a run for its judgement.
struct Run {
    cpu: u32,
    nanos: f64,
    nanos_per_tick: f64,
}

impl NoiseWatch {
    /// Starts to watch this processor; without one, shares of a processor are not known.
    pub fn start(clock: Clock, cpu: Option<u32>) -> Self {
        Self::start_for(Whose::Own, clock, cpu)
    }

    /// The same for a run in processes that this one starts and waits for before `stop`: their use
    /// of the processor does not count as noise.
    pub fn start_for_children(clock: Clock, cpu: Option<u32>) -> Self {
        Self::start_for(Whose::Children, clock, cpu)
    }

    fn start_for(whose: Whose, clock: Clock, cpu: Option<u32>) -> Self {
        let before = Accounts::read(cpu);
        Self { clock, cpu, before, start: clock.stamp(), whose }
    }

    /// The noise since the start.
    pub fn stop(self) -> Noise {
        let nanos = self.clock.nanos_between(self.start, self.clock.stamp());
        let after = Accounts::read(self.cpu);
        let ticks_per_second = rustix::param::clock_ticks_per_second().max(1);
        let own = self.cpu.map(|cpu| match self.whose {
            Whose::Own => own_time(cpu, &self.before, &after),
            Whose::Children => time_of_children(ticks_per_second, &self.before, &after),
        });
        judge(nanos, ticks_per_second, self.cpu.zip(own), &self.before, &after)
    }
}

fn judge(
    nanos: u64,
    ticks_per_second: u64,
    cpu: Option<(u32, Result<Own, &'static str>)>,
    before: &Accounts,
    after: &Accounts,
) -> Noise {
    let mut noise = Noise::default();
    let nanos_per_tick = 1e9 / ticks_per_second as f64;
    match (cpu, before.ticks, after.ticks) {
        (None, ..) => noise.unknown.push(
            "the share taken by others is not known: the run had no processor of its own".into(),
        ),
        (Some((cpu, own)), Some(ticks_before), Some(ticks_after)) => {
            let run = Run { cpu, nanos: nanos.max(1) as f64, nanos_per_tick };
            let busy = ticks_after.busy.saturating_sub(ticks_before.busy);
            let stolen = ticks_after.stolen.saturating_sub(ticks_before.stolen);
            judge_shares(&mut noise, &run, Ticks { busy, stolen, ..Ticks::default() }, own);
        }
        (Some((cpu, _)), ..) => noise.unknown.push(format!(
            "the share taken by others is not known: /proc/stat has no line for processor {cpu}"
        )),
    }
    noise.involuntary_switches = switches(before, after);
    if let (Some(before), Some(after)) = (before.faults, after.faults) {
        noise.minor_faults = Some(after.0.saturating_sub(before.0));
        noise.major_faults = Some(after.1.saturating_sub(before.1));
    }
    if let Some(faults @ 1..) = noise.major_faults {
        noise.sentences.push(format!("page faults that needed the disk: {faults} (limit 0)"));
    }
    if let (Some(before), Some(after)) = (before.waiting_us, after.waiting_us) {
        let waited = after.saturating_sub(before) as f64 * 1e3 / nanos.max(1) as f64;
        noise.pressure = Some(waited.min(1.0));
    }
    if let Some(pressure) = noise.pressure.filter(|&pressure| pressure > PRESSURE_LIMIT) {
        noise.sentences.push(format!(
            "tasks of this machine waited for a processor during {} of the run (limit {})",
            percent(pressure),
            percent(PRESSURE_LIMIT)
        ));
    }
    noise
}

impl Noise {
    /// The sentences about the shares of the pinned processor.
    pub fn taken_by_others(&self) -> impl Iterator<Item = &str> {
        let others = ["the hypervisor took ", "other processes used "];
        let sentences = self.sentences.iter().map(String::as_str);
        sentences.filter(move |line| others.iter().any(|begin| line.starts_with(begin)))
    }
}

fn judge_shares(noise: &mut Noise, run: &Run, ticks: Ticks, own: Result<Own, &'static str>) {
    let tick_error = TICKS_OF_ERROR * run.nanos_per_tick;
    let stolen = ticks.stolen as f64 * run.nanos_per_tick;
    noise.stolen = known(run.share("stolen share", stolen, tick_error, STOLEN_LIMIT), noise);
    if let Some(stolen) = noise.stolen.filter(|&share| share > STOLEN_LIMIT) {
        noise.sentences.push(format!(
            "the hypervisor took {} of processor {} (limit {})",
            percent(stolen),
            run.cpu,
            percent(STOLEN_LIMIT)
        ));
    }
    let own = match own {
        Ok(own) => own,
        Err(why) => {
            noise.unknown.push(format!("the share of other processes is not known: {why}"));
            return;
        }
    };
    let busy = ticks.busy as f64 * run.nanos_per_tick;
    let foreign = (busy - own.at_most_ns as f64).max(0.0);
    let error = tick_error + own.at_most_ns.saturating_sub(own.at_least_ns) as f64;
    noise.foreign =
        known(run.share("share of other processes", foreign, error, FOREIGN_LIMIT), noise);
    if let Some(foreign) = noise.foreign.filter(|&share| share > FOREIGN_LIMIT) {
        noise.sentences.push(format!(
            "other processes used {} of processor {} (limit {})",
            percent(foreign),
            run.cpu,
            percent(FOREIGN_LIMIT)
        ));
    }
}

fn known(share: Result<f64, String>, noise: &mut Noise) -> Option<f64> {
    share.map_err(|why| noise.unknown.push(why)).ok()
}

impl Run {
    /// `nanos` as a share of the run. The share is known if `error` is below the limit, or if
    /// `nanos` exceeds the limit by more than `error`.
    fn share(&self, what: &str, nanos: f64, error: f64, limit: f64) -> Result<f64, String> {
        if error <= limit * self.nanos || nanos - error > limit * self.nanos {
            return Ok((nanos / self.nanos).min(1.0));
        }
        Err(format!(
            "the {what} is not known: it can be measured to {:.0} ms only, and in {:.0} ms the \
             limit of {} is {:.1} ms",
            error / 1e6,
            self.nanos / 1e6,
            percent(limit),
            limit * self.nanos / 1e6
        ))
    }
}

/// Bounds on the time this process spent on the watched processor.
struct Own {
    at_least_ns: u64,
    at_most_ns: u64,
}

/// Threads that can run only there count fully, and threads that cannot run there do not count.
fn own_time(cpu: u32, before: &Accounts, after: &Accounts) -> Result<Own, &'static str> {
    let (Some(threads_before), Some(threads)) = (&before.threads, &after.threads) else {
        return Err("cannot list the threads of this process");
    };
    let total = after.process_ns.saturating_sub(before.process_ns);
    let (mut here, mut elsewhere) = (0_u64, 0_u64);
    for (number, thread) in threads {
        let Some(run) = run_since(threads_before.get(number), thread) else { continue };
        if thread.allowed.is_only(cpu) {
            here = here.saturating_add(run);
        } else if !thread.allowed.contains(cpu) {
            elsewhere = elsewhere.saturating_add(run);
        }
    }
    let at_most_ns = total.saturating_sub(elsewhere);
    // If all threads are pinned here, the kernel's two clocks measure the same time; the clock of
    // the process is more recent.
    let all_here = threads.values().all(|thread| thread.allowed.is_only(cpu));
    let at_least_ns = if all_here { at_most_ns } else { here.min(at_most_ns) };
    Ok(Own { at_least_ns, at_most_ns })
}

/// The time of the processes that were waited for, on any processor; they run on the watched one
/// except for their first moments.
fn time_of_children(
    ticks_per_second: u64,
    before: &Accounts,
    after: &Accounts,
) -> Result<Own, &'static str> {
    let ticks = after.children_ticks.zip(before.children_ticks);
    let (after_ticks, before_ticks) = ticks.ok_or(
        "the kernel does not report the time of child \
                                                   processes",
    )?;
    let nanos = after_ticks.saturating_sub(before_ticks).saturating_mul(1_000_000_000);
    let children_ns = nanos / ticks_per_second;
    let own_ns = after.process_ns.saturating_sub(before.process_ns);
    Ok(Own { at_least_ns: children_ns, at_most_ns: children_ns.saturating_add(own_ns) })
}

fn run_since(before: Option<&Thread>, after: &Thread) -> Option<u64> {
    let earlier = before.map_or(Some(0), |thread| thread.run_ns)?;
    Some(after.run_ns?.saturating_sub(earlier))
}

/// Of the threads that are alive at the end; counts of ended threads are lost.
fn switches(before: &Accounts, after: &Accounts) -> Option<u64> {
    let (before, after): (&BTreeMap<_, _>, &BTreeMap<_, _>) =
        (before.threads.as_ref()?, after.threads.as_ref()?);
    let since = after.iter().map(|(number, thread)| {
        let earlier = before.get(number).map_or(0, |thread| thread.involuntary_switches);
        thread.involuntary_switches.saturating_sub(earlier)
    });
    Some(since.fold(0, u64::saturating_add))
}

/// `12%`, and `0.5%` for shares that whole numbers cannot show.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 2.0 && percent.fract() > 0.05 {
        format!("{percent:.1}%")
    } else {
        format!("{percent:.0}%")
    }
}

#[cfg(test)]
mod tests;
