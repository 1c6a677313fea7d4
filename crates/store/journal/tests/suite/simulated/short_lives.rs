//! Many losses of power, a few excerpts apart: data that one recovery removed must not come back at
//! the next.
//!
//! All excerpts have one length, so an old excerpt would match after a new one. Only recovery
//! syncs.

use nanotape_journal::{RollCycle, SyncPolicy};

use crate::simulated::{
    disk::Tear,
    history::options,
    scenario::{Counts, End, Scenario},
};

const LIVES: u64 = 12;

/// Payloads of these lengths make excerpts of a page, and of a twentieth of a page.
const LENGTHS: [usize; 2] = [4096 - 24, 200];

impl Scenario {
    /// Appends some excerpts and loses the power, repeatedly.
    pub(crate) fn run_short_lives(mut self) -> Counts {
        self.history.options = options(SyncPolicy::Never, RollCycle::Size);
        self.history.make_uniform(LENGTHS[self.dice.index(2)]);
        self.is_mixed = true;
        self.tear = Some(Tear::HALF_OF_THE_PAGES);
        for _ in 0..LIVES {
            self.least_after = 1 + self.dice.index(2);
            self.disk.watch();
            self.history.rest(&self.disk);
            let mut appender = self.history.open(&self.disk).unwrap();
            for _ in 0..self.dice.below(6) {
                self.history.step(&mut appender, &self.disk, &mut self.dice).unwrap();
            }
            let image = self.disk.image();
            self.disk.kill(appender);
            self.recover(image, End::PowerLoss);
        }
        self.counts
    }
}
