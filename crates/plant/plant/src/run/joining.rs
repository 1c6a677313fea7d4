//! The wait of a plant for its named followers, before its first record.

use std::{thread, time::Duration};

use nanotape_tape::Deadline;

use super::{PlantRun, RunError};
use crate::{
    PlantConfig,
    config::MIN_CAPACITY_BYTES,
    followers::{MOST_FOLLOWERS, WaitForError},
    records::StopReason,
};

/// Time between two searches for followers before the first record.
const JOIN_POLL: Duration = Duration::from_millis(5);

/// Time between two lines about what is missing. A quarter of a shorter limit.
const BETWEEN_LINES: Duration = Duration::from_secs(60);

/// Checks, before anything is opened, that a plant can wait for named followers.
pub(super) fn check_wait_for(config: &PlantConfig) -> Result<(), WaitForError> {
    let wanted = config.ring.wait_for;
    if wanted > MOST_FOLLOWERS {
        return Err(WaitForError::TooMany { wanted });
    }
    if wanted > 0 && config.input.is_live() {
        return Err(WaitForError::Live);
    }
    Ok(())
}

/// Checks that a plant on a ring of this size can wait in time.
pub(super) fn check_size(config: &PlantConfig, capacity_bytes: u64) -> Result<(), WaitForError> {
    if config.ring.wait_for > 0 && capacity_bytes < MIN_CAPACITY_BYTES {
        return Err(WaitForError::SmallRing { capacity_bytes });
    }
    Ok(())
}

/// The line about followers that have not joined.
fn missing(ring: &str, names: &[String], wanted: usize) -> String {
    let joined = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    format!(
        "still waiting for {} of {wanted} named followers; joined: {joined}; start a missing one with \
         nanotape tap {ring} --name NAME",
        wanted - names.len()
    )
}

impl PlantRun {
    /// Waits until as many named followers have joined as configured, or the limit is over.
    pub(super) fn wait_for_followers(&mut self, config: &PlantConfig) -> Result<(), RunError> {
        let (wanted, report) = (config.ring.wait_for, self.publisher.report().clone());
        let limit = config.ring.wait_for_limit;
        let deadline = Deadline::after(limit);
        let between = if limit.is_zero() { BETWEEN_LINES } else { BETWEEN_LINES.min(limit / 4) };
        let mut next_line = Deadline::after(between);
        let Some(followers) = &mut self.followers else { return Ok(()) };
        let mut names = followers.find_joined();
        if names.len() < wanted {
            let ring = config.ring.name.display();
            report.note(&format!(
                "waiting for {wanted} named follower{}, as in nanotape tap {ring} --name NAME; joined: {}",
                if wanted == 1 { "" } else { "s" },
                names.len()
            ));
        }
        while names.len() < wanted {
            let is_stopped = self.stop.is_requested();
            let is_late = !limit.is_zero() && deadline.is_over();
            if is_stopped || is_late || self.publisher.loss().is_some() {
                // Those that have joined read a run without messages.
                self.publisher.begin(self.start);
                self.say_the_end(StopReason::Requested, None);
                self.loss_error()?;
                let (joined, ring) = (names.len(), config.ring.name.display().to_string());
                return Err(match is_late {
                    true => WaitForError::NotJoined { ring, joined, wanted, limit }.into(),
                    false => WaitForError::Stopped { joined, wanted }.into(),
                });
            }
            if next_line.is_over() {
                next_line = Deadline::after(between);
                report.problem(&missing(&config.ring.name.display().to_string(), &names, wanted));
            }
            self.publisher.show_joining(names.len() as u64);
            thread::sleep(JOIN_POLL);
            names = followers.find_joined();
        }
        report.note(&format!("followers: {}", names.join(", ")));
        followers.begin().map_err(WaitForError::Thread)?;
        self.publisher.joined();
        Ok(())
    }
}
