//! Joining a plant: at once, or as soon as it is there.

use std::path::Path;

use anyhow::anyhow;
use nanotape_plant::{SubscribeError, Subscriber, Subscription, records::RecordKinds};
use nanotape_shm::{Refusal, RegionError};

use super::TapArguments;
use crate::{
    deadline::{Deadline, is_not_there},
    interrupt::Interrupt,
    regions::{of_read, of_region, of_ring},
    status::{BadData, tell},
};

/// A plant that is read, or may be about to start.
pub(super) struct Joined {
    pub(super) subscriber: Subscriber,
    pub(super) deadline: Deadline,
}

/// Joins. None if it was interrupted while there was nothing to join.
pub(super) fn join(
    command: &TapArguments,
    path: &Path,
    interrupt: &Interrupt,
) -> anyhow::Result<Option<Joined>> {
    let deadline = Deadline::after(command.wait);
    let subscription = Subscription::to(&command.name)
        .symbols(command.symbols.iter().copied())
        .records(command.records.iter())
        .from(command.from)
        .rejoin(command.rejoin.into());
    while !interrupt.is_asked() {
        match subscription.clone().open() {
            Ok(subscriber) => return Ok(Some(Joined { subscriber, deadline })),
            Err(SubscribeError::Region(error)) if is_not_there(&error) => {
                if deadline.is_over() {
                    return Err(nobody(path, &error, &deadline));
                }
                deadline.sleep();
            }
            Err(error) => return Err(of_subscription(&error)),
        }
    }
    Ok(None)
}

impl Joined {
    /// Says which kinds that were asked for will not come. All of them is what there is.
    pub(super) fn warn_of_unpublished(&self, wanted: RecordKinds) {
        let ring = self.subscriber.ring().display();
        let Some(board) = self.subscriber.board().filter(|_| wanted != RecordKinds::ALL) else {
            return;
        };
        let published = RecordKinds::of_bits(board.run().kinds);
        let absent: RecordKinds = wanted.iter().filter(|&kind| !published.has(kind)).collect();
        if !absent.is_empty() {
            tell(format_args!("{ring}: this plant publishes {published}, but not {absent}"));
        }
    }
}

/// There is no plant. A ring without a board is somebody else's.
fn nobody(path: &Path, error: &RegionError, deadline: &Deadline) -> anyhow::Error {
    let is_there = nanotape_shm::inspect(path).is_ok();
    let path = path.display();
    if is_there && matches!(error.refusal(), Refusal::NotFound) {
        return anyhow!(
            "{path}: no plant writes to this ring: it has no board; use nanotape ring dump for the \
             messages of any ring"
        );
    }
    let within = deadline.within();
    anyhow!(
        "{path}: no plant started{within}; start one with nanotape run, or wait for it with \
         --wait SECONDS"
    )
}

/// What an error of the subscription means: bad data, or the environment.
pub(super) fn of_subscription(error: &SubscribeError) -> anyhow::Error {
    match error {
        SubscribeError::Region(error) => of_region(error),
        SubscribeError::Ring { path, error } => of_ring(path, error),
        SubscribeError::Read { path, error } => of_read(path, error),
        error @ SubscribeError::Record { .. } => BadData(error.to_string()).into(),
        error => anyhow!("{error}"),
    }
}
