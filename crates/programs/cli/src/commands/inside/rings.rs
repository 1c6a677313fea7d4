//! `nanotape inside --consolidated` of the rings of plants, while they run.

use std::time::Duration;

use anyhow::{Context as _, bail};
use nanotape_answers::{ConsolidatedRings, Input, RecordSpan};
use nanotape_arguments::{errors::of_subscription, records, regions::state_sentence};
use nanotape_plant::records::{RecordKind, RecordKinds};
use nanotape_tap::{MergeStep, SourceEnd, Subscriber, Subscription};
use nanotape_tape::WriterState;

use super::{InsideArguments, consolidated};
use crate::{
    interrupt,
    status::{Status, warn},
    values::{counted, nanos_text},
};

/// Time between two polls without a record.
const PAUSE: Duration = Duration::from_micros(200);

pub(super) fn run(arguments: &InsideArguments, inputs: Vec<Input>) -> anyhow::Result<Status> {
    let InsideArguments { span, symbols, time, output, stale_after, wait_silent, .. } = arguments;
    if span.moments() != (None, None) {
        bail!("--from and --until do not apply to rings: the rows begin with the next record");
    }
    // The handler turns access to a truncated ring into an error.
    nanotape_shm::guard_against_truncation().context("cannot install a handler for SIGBUS")?;
    let interrupt = interrupt::install()?;
    let (format, symbols) = (output.row_format()?, symbols.list());
    let mut subscribers = Vec::new();
    let mut names = Vec::new();
    for input in inputs {
        let name = input.name().clone();
        let subscription = Subscription::to(&name)
            .symbols(symbols.iter().copied())
            .records([RecordKind::Bbo])
            .shutdown(&interrupt);
        let joined = records::join(input, subscription, RecordSpan::default(), Duration::ZERO)?;
        let Some(subscriber) = joined else { return Ok(Status::Good) };
        require_insides(&name, &subscriber)?;
        subscribers.push(subscriber);
        names.push(name);
    }
    let run_of = |subscriber: &Subscriber| subscriber.board().map(|board| *board.run());
    let publishers: Vec<_> =
        subscribers.iter().map(|of| run_of(of).map_or(0, |run| run.publisher_id)).collect();
    let midnight_ns = subscribers.iter().find_map(Subscriber::midnight_ns);
    let times = time.times(&names[0], midnight_ns)?;
    let mut table = consolidated::open_table((output, format), &publishers, &names, times)?;
    let mut reading = ConsolidatedRings::new(subscribers, *wait_silent, *stale_after);
    let mut is_flushed = true;
    while !interrupt.is_requested() {
        let step = reading.step(|row| {
            is_flushed = false;
            table.row(row)
        });
        match step {
            Ok(MergeStep::Read) => {}
            Ok(MergeStep::Over | MergeStep::Stopped) => break,
            Ok(MergeStep::Idle) => {
                if !std::mem::replace(&mut is_flushed, true) {
                    table.sink.flush()?;
                }
                std::thread::sleep(PAUSE);
            }
            Err((_, error)) => return Err(of_subscription(*error)),
        }
    }
    table.sink.require_written()?;
    let mut status = Status::Good;
    for (source, name) in reading.merged().sources().iter().zip(&names) {
        if let Some(SourceEnd::Gone(state)) = source.end() {
            warn(format_args!("{name}: {}", state_sentence(state)));
            if state == WriterState::Dead {
                status = Status::Bad;
            }
        }
    }
    let late = reading.merged().late();
    if late.count > 0 {
        warn(format_args!(
            "{} came after one of a later time, by up to {}",
            counted(late.count, "record"),
            nanos_text(late.most_ns)
        ));
    }
    table.sink.finish()?;
    Ok(status)
}

/// Refuses a plant that does not publish insides.
fn require_insides(name: &str, subscriber: &Subscriber) -> anyhow::Result<()> {
    let kinds = subscriber.board().map(|board| RecordKinds::of_bits(board.run().kinds));
    if kinds.is_some_and(|kinds| !kinds.has(RecordKind::Bbo)) {
        bail!("{name}: this plant publishes no bbo, from which --consolidated has the best prices");
    }
    Ok(())
}
