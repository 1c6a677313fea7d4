//! A map that the threads of one process share.

use std::{
    sync::Barrier,
    thread::{self, ScopedJoinHandle},
};

use rivals_measure::Failure;
use serde_json::Value;

use crate::{
    options::{Mode, Options},
    work::{self, Map},
};

/// Runs on a map of which each clone is one side.
pub(crate) fn run<M: Map + Clone + Send>(
    options: &Options,
    mut map: M,
) -> Result<Option<Value>, Failure> {
    work::fill(&mut map, options.entries)?;
    if options.mode == Mode::Latency {
        options.cpus.pin_writer()?;
        return work::latency(&mut map, options).map(Some);
    }
    let barrier = &Barrier::new(options.sides as usize);
    let nanos = thread::scope(|scope| {
        let sides: Vec<_> = (0..options.sides)
            .map(|side| {
                let mut map = map.clone();
                scope.spawn(move || {
                    // Before it waits: a side that fails must not leave the other one waiting.
                    let pinned = pin(options, side);
                    barrier.wait();
                    pinned?;
                    work::flat_out(&mut map, side, options)
                })
            })
            .collect();
        sides.into_iter().map(finished).collect::<Result<Vec<_>, _>>()
    })?;
    work::throughput(&mut map, options, &nanos).map(Some)
}

/// Each side has a processor.
pub(crate) fn pin(options: &Options, side: u64) -> Result<(), Failure> {
    if side == 0 { options.cpus.pin_writer() } else { options.cpus.pin_reader(0) }
}

fn finished<T>(thread: ScopedJoinHandle<'_, Result<T, Failure>>) -> Result<T, Failure> {
    thread.join().map_err(|_| "a thread of the run panicked")?
}
