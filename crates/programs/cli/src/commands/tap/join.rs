//! Joins a plant: at once, or as soon as it exists.

use std::{path::Path, time::Duration};

use anyhow::{anyhow, bail};
use nanotape_history::SnapshotError;
use nanotape_plant::records::RecordKinds;
use nanotape_ring::Start;
use nanotape_shm::{Refusal, RegionError};
use nanotape_tap::{SubscribeError, Subscriber, Subscription};
use nanotape_tape::ShutdownFlag;

use super::{
    TapArguments,
    rolling::Roll,
    source::{InputKind, TapInput, TapStart},
};
use crate::{
    commands::run::of_run,
    input::of_dbn,
    journals::of_journal,
    regions::{of_read, of_region, of_ring, within},
    span::{Moment, MomentOf as _},
    status::{BadData, tell},
};

/// The time without a record after which a tap checks what the plant waits for.
const QUIET: Duration = Duration::from_secs(1);

/// Joins a plant, or opens a file. None if the wait was interrupted.
pub(super) fn join(
    command: &TapArguments,
    input: TapInput,
    interrupt: &ShutdownFlag,
) -> anyhow::Result<Option<Subscriber>> {
    let mut subscription = Subscription::to(&command.input)
        .symbols(command.symbols.list())
        .records(command.records.iter())
        .rejoin(command.rejoin.unwrap_or_default().into())
        .wait(command.wait)
        .shutdown(interrupt);
    if let Some(name) = &command.name {
        subscription = subscription.named(name);
    }
    if input.kind() == InputKind::Ring {
        // Then it reports what the plant waits for.
        subscription = subscription.quiet_after(QUIET).traced();
    }
    if let Some(Roll::Every(time)) = command.roll {
        // A file is over by time although no record comes.
        subscription = subscription.quiet_after(time);
    }
    if command.through_restarts {
        subscription = subscription.through_restarts();
    }
    if let Some(journal) = &command.heal {
        subscription = subscription.heal_from(journal, command.heal_wait);
    }
    if command.check_digest {
        subscription = subscription.check_digests();
    }
    if command.whole {
        subscription = subscription.whole();
    }
    let run = input.run(command)?;
    let start = match (command.from, &input) {
        (Some(TapStart::Start(start)), _) => start,
        (_, TapInput::Journal(_)) => run.map_or(Start::Oldest, |run| Start::Sequence(run.first)),
        (None, TapInput::Ring(_)) => Start::Newest,
        _ => Start::Oldest,
    };
    // A named tap of a ring begins with the run of the plant.
    if command.name.is_none() || command.from.is_some() {
        subscription = subscription.from(start);
    }
    if let Some(next) = run.and_then(|run| run.next) {
        subscription = subscription.until(next);
    }
    let midnight_ns = input.midnight_ns(run);
    let at = |moment: Moment| moment.at(&command.input, midnight_ns);
    let from = match command.from {
        Some(TapStart::Moment(moment)) => Some(at(moment)?),
        _ => None,
    };
    let to = command.until.map(at).transpose()?;
    if from.is_some() || to.is_some() {
        if from.zip(to).is_some_and(|(from, to)| from > to) {
            bail!(
                "{}: the span ends before it begins; give the earlier moment first",
                command.input
            );
        }
        subscription = subscription.between(from, to);
    }
    let path = match input {
        TapInput::Day(source, date) => {
            return subscription.open_day(*source, date).map(Some).map_err(of_subscription);
        }
        TapInput::Dbn(stream) => return Ok(Some(subscription.open_dbn(*stream))),
        TapInput::Ring(path) | TapInput::Journal(path) => path,
    };
    match subscription.open() {
        Ok(subscriber) => {
            tell_user(&subscriber);
            Ok(Some(subscriber))
        }
        Err(SubscribeError::Shutdown) => Ok(None),
        Err(SubscribeError::Region(error)) if error.refusal().is_pending() => {
            Err(no_plant(command, &path, &error))
        }
        Err(error @ SubscribeError::NoPlant { .. }) => {
            let within = within(command.wait);
            let what = "start one with nanotape run, or wait for it with --wait SECONDS";
            Err(anyhow!("{error}; none started{within}: {what}"))
        }
        Err(error) => Err(of_subscription(error)),
    }
}

/// Reports that a ring belongs to another user: that user decides what it contains.
fn tell_user(subscriber: &Subscriber) {
    let other = nanotape_shm::inspect(subscriber.ring()).ok().and_then(|ring| ring.other_user());
    if let Some(user) = other {
        let ring = subscriber.ring().display();
        tell(format_args!("{ring}: the ring belongs to another user: {user}"));
    }
}

/// Reports requested kinds that the plant does not publish. `all` means all that it publishes.
pub(super) fn warn_of_unpublished(subscriber: &Subscriber, wanted: RecordKinds) {
    let ring = subscriber.ring().display();
    let Some(board) = subscriber.board().filter(|_| wanted != RecordKinds::ALL) else { return };
    let published = RecordKinds::of_bits(board.run().kinds);
    let absent: RecordKinds = wanted.iter().filter(|&kind| !published.has(kind)).collect();
    if !absent.is_empty() {
        tell(format_args!("{ring}: this plant publishes {published}, but not {absent}"));
    }
}

/// Reports that the plant does not wait for this named tap.
pub(super) fn warn_of_no_gate(command: &TapArguments, subscriber: &Subscriber) {
    let board = subscriber.board().filter(|_| command.name.is_some());
    if board.is_some_and(|board| board.wait_for() == 0) {
        let ring = subscriber.ring().display();
        tell(format_args!(
            "{ring}: this plant runs without --wait-for, so it does not wait for --name"
        ));
    }
}

/// The error for a missing plant. A ring without a board has another kind of writer.
fn no_plant(command: &TapArguments, path: &Path, error: &RegionError) -> anyhow::Error {
    let is_there = nanotape_shm::inspect(path).is_ok();
    let path = path.display();
    if is_there && matches!(error.refusal(), Refusal::NotFound) {
        return anyhow!(
            "{path}: no plant writes to this ring: it has no board; use nanotape ring dump for the \
             messages of any ring"
        );
    }
    let within = within(command.wait);
    anyhow!(
        "{path}: no plant started{within}; start one with nanotape run, or wait for it with \
         --wait SECONDS"
    )
}

/// The status of a subscription error: bad data, or the environment.
pub(in crate::commands) fn of_subscription(error: SubscribeError) -> anyhow::Error {
    match error {
        SubscribeError::Region(error) => of_region(&error),
        SubscribeError::Ring { path, error } => of_ring(&path, &error),
        SubscribeError::Read { path, error } => of_read(&path, &error),
        SubscribeError::Journal(error) => of_journal(error),
        SubscribeError::Snapshot(error @ SnapshotError::Damaged { .. }) => {
            BadData(error.to_string()).into()
        }
        SubscribeError::Dbn { path, error } => of_dbn(&path.display().to_string(), *error),
        SubscribeError::Plant(error) => of_run(*error),
        error @ SubscribeError::Record { .. } => BadData(error.to_string()).into(),
        error => anyhow!("{error}"),
    }
}
