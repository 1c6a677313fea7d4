//! Several variants, measured in turns in a random order, so that a change of the machine meets all
//! of them.

use std::{thread, time::Duration};

use nanotape_clock::Clock;
use nanotape_lab::{Rng, placement::Burst};

use super::{JitterError, TurnOptions, Variant, run_turn, summary::Summary};
use crate::kernel_trace::{KernelTrace, TraceUnavailable};

/// Turns of each variant, and their order.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SessionOptions {
    /// Turns of each variant.
    pub turns: u32,
    /// The turns.
    pub turn: TurnOptions,
    /// Seed of the order.
    pub seed: u64,
}

/// Why a session ended early.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A turn failed.
    #[error("{variant}: {source}")]
    Turn {
        /// The variant.
        variant: Variant,
        /// The reason.
        source: JitterError,
    },
    /// The kernel's events could not be read.
    #[error(transparent)]
    Trace(#[from] TraceUnavailable),
}

/// Measures all variants. `on_turn` is called before each turn with the number of turns done.
pub fn measure(
    clock: &Clock,
    variants: &[Variant],
    options: &SessionOptions,
    mut trace: Option<&mut KernelTrace>,
    on_turn: &mut dyn FnMut(u64, &Variant),
) -> Result<Vec<Summary>, SessionError> {
    let new = |variant: &Variant| Summary::new(*variant, options.turn.duration);
    let mut summaries: Vec<Summary> = variants.iter().map(new).collect();
    let (mut done, mut rng) = (0, Rng::new(options.seed));
    for _ in 0..options.turns {
        for index in rng.order(variants.len()) {
            let summary = &mut summaries[index];
            on_turn(done, &summary.variant);
            let variant = summary.variant;
            if variant.real_time_priority.is_some() {
                // The kernel lets normal threads in for as long as they had to wait.
                thread::sleep(Burst::REST);
            }
            if let Some(trace) = trace.as_deref_mut() {
                trace.take()?;
            }
            let turn = run_turn(clock, &variant, &options.turn)
                .map_err(|source| SessionError::Turn { variant, source })?;
            let events = match trace.as_deref_mut() {
                Some(trace) => Some(trace.take()?),
                None => None,
            };
            summary.add(clock, turn, events.as_ref(), options.turn.watch.attribute_ns);
            done += 1;
        }
    }
    Ok(summaries)
}

/// The longest turn of the real-time class that the kernel does not interrupt for normal threads.
pub const LONGEST_REAL_TIME_TURN: Duration = Burst::LONGEST;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        jitter::{RingKind, Wait},
        watch::WatchOptions,
    };

    #[test]
    fn each_variant_has_its_turns() {
        let clock = Clock::calibrate();
        let variant = |ring| Variant {
            ring,
            wait: Wait::Yield,
            cpus: None,
            real_time_priority: None,
            huge_pages: false,
        };
        let options = SessionOptions {
            turns: 2,
            turn: TurnOptions {
                duration: Duration::from_millis(5),
                most_round_trips: 1 << 12,
                watch: WatchOptions { most: 64, ..WatchOptions::default() },
                counters: false,
            },
            seed: 1,
        };
        let variants = [variant(RingKind::Cells), variant(RingKind::Stream)];
        let mut steps = Vec::new();
        let summaries = measure(&clock, &variants, &options, None, &mut |done, _| steps.push(done));
        let turns: Vec<usize> = summaries.unwrap().iter().map(|one| one.turns.len()).collect();
        assert_eq!((turns, steps), (vec![2, 2], vec![0, 1, 2, 3]));
    }
}
