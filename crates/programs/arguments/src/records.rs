//! A subscription to the records of an INPUT: its errors with the options that help, and what a
//! reading lacked.

use std::{path::Path, time::Duration};

use anyhow::anyhow;
use nanotape_answers::{Input, InputError, RecordSpan};
use nanotape_console::status::{Status, warn};
use nanotape_plant::{Ended, RunError};
use nanotape_shm::{Refusal, RegionError};
use nanotape_tap::{SubscribeError, Subscriber, Subscription};
use nanotape_types::Symbol;

use crate::{
    errors::{of_input, of_run},
    regions::{place, within},
    verdict::{conclude, require_none_missing, warn_of_taint},
};

/// Joins a plant, or opens a file. None if the wait was interrupted.
pub fn join(
    input: Input,
    subscription: Subscription,
    span: RecordSpan,
    wait: Duration,
) -> anyhow::Result<Option<Subscriber>> {
    let ring = place(input.name());
    match input.records(subscription, span) {
        Ok(subscriber) => {
            warn_of_user(&subscriber);
            Ok(Some(subscriber))
        }
        Err(InputError::Subscribe(SubscribeError::Shutdown)) => Ok(None),
        Err(InputError::Subscribe(SubscribeError::Region(error)))
            if error.refusal().is_pending() =>
        {
            Err(no_plant(wait, &ring?, &error))
        }
        Err(InputError::Subscribe(error @ SubscribeError::NoPlant { .. })) => {
            let within = within(wait);
            let what = "start one with nanotape run, or wait for it with --wait SECONDS";
            Err(anyhow!("{error}; none started{within}: {what}"))
        }
        Err(error) => Err(of_input(error)),
    }
}

/// Reports that a ring belongs to another user: that user decides what it contains.
fn warn_of_user(subscriber: &Subscriber) {
    let other = nanotape_shm::inspect(subscriber.ring()).ok().and_then(|ring| ring.other_user());
    if let Some(user) = other {
        let ring = subscriber.ring().display();
        warn(format_args!("{ring}: the ring belongs to another user: {user}"));
    }
}

/// The error for a missing plant. A ring without a board has another kind of writer.
fn no_plant(wait: Duration, path: &Path, error: &RegionError) -> anyhow::Error {
    let is_there = nanotape_shm::inspect(path).is_ok();
    let path = path.display();
    if is_there && matches!(error.refusal(), Refusal::NotFound) {
        return anyhow!(
            "{path}: no plant writes to this ring: it has no board; use nanotape ring dump for the \
             messages of any ring"
        );
    }
    let within = within(wait);
    anyhow!(
        "{path}: no plant started{within}; start one with nanotape run, or wait for it with \
         --wait SECONDS"
    )
}

/// Reports the damage of a day, and returns its status.
pub fn conclude_day(
    subscriber: &Subscriber,
    ended: Result<Ended, RunError>,
) -> anyhow::Result<Status> {
    let ended = ended.map_err(of_run)?;
    let name = subscriber.ring().display().to_string();
    let status = conclude(&name, &ended.report);
    warn_of_taint(&name, ended.anomalies, ended.tainted_stocks, None);
    Ok(status)
}

/// Returns an error if no message named a requested stock.
pub fn require_read_symbols(symbols: &[Symbol], subscriber: &Subscriber) -> anyhow::Result<()> {
    if symbols.is_empty() {
        return Ok(());
    }
    let known = subscriber.symbols();
    let is_missing = |symbol: &&Symbol| !known.iter().any(|(_, name)| symbol.selects(*name));
    let missing: Vec<_> = symbols.iter().filter(is_missing).copied().collect();
    require_none_missing(&subscriber.ring().display().to_string(), &missing, known)
}
