//! Takes turns at killing and freezing workers of a proof, while all of them work.

use std::{ops::Range, thread, time::Duration};

use nanotape_console::progress::Progress;
use nanotape_tape::ShutdownFlag;
use rustix::process::Signal;

use super::{Crew, TICK, Timetable};

/// Which workers are killed and frozen, and how often.
pub(super) struct Turns {
    /// How long all of them work.
    pub(super) seconds: Duration,
    pub(super) kill_every: Option<Duration>,
    pub(super) freeze_every: Option<Duration>,
    /// Those of which one is killed at a time.
    pub(super) killed: Range<usize>,
    /// Those of which one is frozen at a time. It resumes after half of the interval.
    pub(super) frozen: Range<usize>,
}

/// How long the workers worked, and how often one was frozen.
pub(super) struct Taken {
    pub(super) seconds: f64,
    pub(super) freezes: u64,
}

impl Turns {
    /// Takes turns until the time is over, or an interrupt. `kill` kills a worker and starts the
    /// next one.
    pub(super) fn take(
        &self,
        crew: &mut Crew,
        times: &mut Timetable,
        interrupt: &ShutdownFlag,
        mut kill: impl FnMut(&mut Crew, usize) -> anyhow::Result<()>,
    ) -> anyhow::Result<Taken> {
        let progress = Progress::with_steps("seconds", self.seconds.as_secs());
        let (mut kill_due, mut freeze_due) =
            (times.due(self.kill_every), times.due(self.freeze_every));
        let mut frozen: Option<(usize, Duration)> = None;
        let mut freezes = 0;
        while times.elapsed() < self.seconds && !interrupt.is_requested() {
            thread::sleep(TICK);
            progress.set(times.elapsed().as_secs());
            for member in 0..crew.members.len() {
                crew.must_run(member, false)?;
            }
            let now = times.elapsed();
            if let Some((member, _)) = frozen.filter(|(_, until)| now >= *until) {
                crew.signal(member, Signal::CONT)?;
                (frozen, freeze_due) = (None, times.due(self.freeze_every));
            }
            if now >= kill_due {
                let member = one_of(&self.killed, times);
                kill(crew, member)?;
                frozen = frozen.filter(|(frozen, _)| *frozen != member);
                kill_due = times.due(self.kill_every);
            }
            if frozen.is_none() && now >= freeze_due {
                let member = one_of(&self.frozen, times);
                crew.signal(member, Signal::STOP)?;
                freezes += 1;
                frozen = Some((member, now + self.freeze_every.unwrap_or_default() / 2));
                freeze_due = times.due(self.freeze_every);
            }
        }
        if let Some((member, _)) = frozen {
            crew.signal(member, Signal::CONT)?;
        }
        Ok(Taken { seconds: times.elapsed().as_secs_f64(), freezes })
    }
}

fn one_of(members: &Range<usize>, times: &mut Timetable) -> usize {
    members.start + times.rng.below(members.len())
}
