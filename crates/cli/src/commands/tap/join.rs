//! Joins a plant: at once, or as soon as it exists.

use std::path::Path;

use anyhow::anyhow;
use nanotape_history::SnapshotError;
use nanotape_plant::{SubscribeError, Subscriber, Subscription, records::RecordKinds};
use nanotape_shm::{Refusal, RegionError};

use super::TapArguments;
use crate::{
    journals::of_journal,
    regions::{of_read, of_region, of_ring, within},
    status::{BadData, tell},
};
use nanotape_tape::ShutdownFlag;

/// Joins a plant. None if the wait was interrupted.
pub(super) fn join(
    command: &TapArguments,
    path: &Path,
    interrupt: &ShutdownFlag,
) -> anyhow::Result<Option<Subscriber>> {
    let mut subscription = Subscription::to(&command.name)
        .symbols(command.symbols.iter().copied())
        .records(command.records.iter())
        .from(command.start(path))
        .rejoin(command.rejoin.into())
        .wait(command.wait)
        .shutdown(interrupt);
    if let Some(journal) = &command.heal {
        subscription = subscription.heal_from(journal, command.heal_wait);
    }
    if command.check_digest {
        subscription = subscription.check_digests();
    }
    if command.whole {
        subscription = subscription.whole();
    }
    match subscription.open() {
        Ok(subscriber) => Ok(Some(subscriber)),
        Err(SubscribeError::Shutdown) => Ok(None),
        Err(SubscribeError::Region(error)) if error.refusal().is_pending() => {
            Err(nobody(command, path, &error))
        }
        Err(error) => Err(of_subscription(error)),
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

/// The error for a missing plant. A ring without a board has another kind of writer.
fn nobody(command: &TapArguments, path: &Path, error: &RegionError) -> anyhow::Error {
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
        error @ SubscribeError::Record { .. } => BadData(error.to_string()).into(),
        error => anyhow!("{error}"),
    }
}
