//! The sources of causes that belong to the machine, opened for one measurement.

use nanotape_clock::Clock;
use nanotape_machine::{
    KernelTrace, ProcessorGaps, Rung, SpinOptions,
    kernel_trace::TraceUnavailable,
    rungs::{is_guest, rungs},
    smi::{self, SmiCounts},
    spin,
};

pub(super) struct Sources {
    /// Without a reason: it was switched off.
    trace: Result<KernelTrace, Option<TraceUnavailable>>,
    smi: Result<SmiCounts, String>,
    hypervisor: Option<String>,
}

impl Sources {
    pub(super) fn open(
        clock: &Clock,
        cpus: &[u32],
        hypervisor: Option<&str>,
        is_traced: bool,
    ) -> Self {
        let trace = match is_traced {
            true => KernelTrace::start(clock, cpus).map_err(Some),
            false => Err(None),
        };
        let smi = SmiCounts::open(cpus, hypervisor);
        Self { trace, smi, hypervisor: hypervisor.map(str::to_owned) }
    }

    pub(super) fn trace(&mut self) -> Option<&mut KernelTrace> {
        self.trace.as_mut().ok()
    }

    pub(super) fn rungs(&self) -> Vec<Rung> {
        let with = |trace| rungs(trace, self.smi.as_ref(), self.hypervisor.as_deref());
        match &self.trace {
            Ok(trace) => with(Ok(trace)),
            Err(Some(reason)) => with(Err(reason)),
            Err(None) => {
                let mut rungs = with(Err(&TraceUnavailable::OtherClock));
                for rung in rungs.iter_mut().take(1) {
                    rung.unused = Some("switched off by --no-trace".to_owned());
                }
                rungs
            }
        }
    }

    /// Watches processors, and explains their interruptions: first by the events of the kernel,
    /// then by the firmware, then by the speed.
    pub(super) fn watch(
        &mut self,
        clock: &Clock,
        options: &SpinOptions,
    ) -> anyhow::Result<Vec<ProcessorGaps>> {
        if let Some(trace) = self.trace() {
            trace.take()?;
        }
        let before = self.smi.as_ref().ok().map(SmiCounts::read);
        let mut processors = spin(clock, options)?;
        let after = self.smi.as_ref().ok().map(SmiCounts::read);
        if let Some(trace) = self.trace() {
            let events = trace.take()?;
            processors.iter_mut().for_each(|processor| processor.explain(&events, clock));
        }
        if let Some((before, after)) = before.zip(after) {
            smi::explain(&mut processors, &before, &after);
        }
        if !is_guest(self.hypervisor.as_deref()) {
            processors.iter_mut().for_each(ProcessorGaps::explain_by_speed);
        }
        Ok(processors)
    }
}
