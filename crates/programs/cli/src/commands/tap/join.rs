//! The subscription of a tap.

use std::time::Duration;

use nanotape_answers::{Given, Input, InputKind, RecordSpan};
use nanotape_arguments::records;
use nanotape_plant::records::RecordKinds;
use nanotape_tap::{Subscriber, Subscription};
use nanotape_tape::ShutdownFlag;

use super::{TapArguments, TapStart};
use crate::status::warn;

/// The time without a record after which a tap checks what the plant waits for.
const QUIET: Duration = Duration::from_secs(1);

/// Joins a plant, or opens a file. None if the wait was interrupted.
pub(super) fn join(
    command: &TapArguments,
    input: Input,
    interrupt: &ShutdownFlag,
) -> anyhow::Result<Option<Subscriber>> {
    let mut subscription = subscription(command, interrupt);
    if input.kind() == InputKind::Ring {
        // Then it reports what the plant waits for.
        subscription = subscription.quiet_after(command.quiet_time().unwrap_or(QUIET)).traced();
    }
    let span = RecordSpan {
        start: command.from.and_then(TapStart::start),
        from: command.from.and_then(TapStart::moment),
        until: command.until,
    };
    records::join(input, subscription, span, command.wait)
}

/// The subscription that the options describe, without its start.
pub(super) fn subscription(command: &TapArguments, interrupt: &ShutdownFlag) -> Subscription {
    subscription_to(&command.input, command, interrupt)
}

/// The same for one of several inputs.
pub(super) fn subscription_to(
    name: &Given,
    command: &TapArguments,
    interrupt: &ShutdownFlag,
) -> Subscription {
    let mut subscription = Subscription::to(name)
        .symbols(command.symbols.list())
        .records(command.records.iter())
        .rejoin(command.rejoin.unwrap_or_default().into())
        .wait(command.wait)
        .shutdown(interrupt);
    if let Some(name) = &command.name {
        subscription = subscription.named(name);
    }
    if let Some(time) = command.quiet_time() {
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
    subscription
}

/// Reports requested kinds that the plant does not publish. `all` means all that it publishes.
pub(super) fn warn_of_unpublished(subscriber: &Subscriber, wanted: RecordKinds) {
    let ring = subscriber.ring().display();
    let Some(board) = subscriber.board().filter(|_| wanted != RecordKinds::ALL) else { return };
    let published = RecordKinds::of_bits(board.run().kinds);
    let absent: RecordKinds = wanted.iter().filter(|&kind| !published.has(kind)).collect();
    if !absent.is_empty() {
        warn(format_args!("{ring}: this plant publishes {published}, but not {absent}"));
    }
}

/// Reports that the plant does not wait for this named tap.
pub(super) fn warn_of_no_gate(command: &TapArguments, subscriber: &Subscriber) {
    let board = subscriber.board().filter(|_| command.name.is_some());
    if board.is_some_and(|board| board.wait_for() == 0) {
        let ring = subscriber.ring().display();
        warn(format_args!(
            "{ring}: this plant runs without --wait-for, so it does not wait for --name"
        ));
    }
}
