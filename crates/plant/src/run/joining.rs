//! The wait of a plant for its named followers, before its first record.

use std::{thread, time::Duration};

use super::{PlantRun, RunError};
use crate::{
    PlantConfig,
    followers::{MOST_FOLLOWERS, Reported, WaitForError},
    gate::MIN_CAPACITY_BYTES,
    records::StopReason,
};

/// Time between two searches for followers before the first record.
const JOIN_POLL: Duration = Duration::from_millis(5);

/// Checks, before anything is opened, that a plant can wait for named followers.
pub(super) fn check_wait_for(config: &PlantConfig) -> Result<(), WaitForError> {
    let wanted = config.ring.wait_for;
    if wanted > MOST_FOLLOWERS {
        return Err(WaitForError::TooMany { wanted });
    }
    if wanted > 0 && config.input.live.is_some() {
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

impl PlantRun {
    /// Waits until as many named followers have joined as configured.
    pub(super) fn wait_for_followers(&mut self, config: &PlantConfig) -> Result<(), RunError> {
        let (wanted, report) = (config.ring.wait_for, self.publisher.report());
        let Some(followers) = &mut self.followers else { return Ok(()) };
        let mut names = followers.look_for_joined();
        if names.len() < wanted {
            let ring = &config.ring.name;
            report(Reported::Note(&format!(
                "waiting for {wanted} named follower{}, as in nanotape tap {ring} --name NAME; joined: {}",
                if wanted == 1 { "" } else { "s" },
                names.len()
            )));
        }
        while names.len() < wanted {
            let is_stopped = self.stop.is_requested();
            if is_stopped || self.publisher.loss().is_some() {
                // Those that have joined read a run without messages.
                self.publisher.begin(self.start);
                self.say_the_end(StopReason::Asked, None);
                self.loss_error()?;
                return Err(WaitForError::Stopped { joined: names.len(), wanted }.into());
            }
            self.publisher.show_joining(names.len() as u64);
            thread::sleep(JOIN_POLL);
            names = followers.look_for_joined();
        }
        report(Reported::Note(&format!("followers: {}", names.join(", "))));
        followers.begin().map_err(WaitForError::Thread)?;
        self.publisher.joined();
        Ok(())
    }
}
