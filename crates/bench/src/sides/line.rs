//! One cache line that two processors write in turns: what nothing between them can be quicker than.

use nanotape_clock::Clock;
use nanotape_shm::{BouncedWord, Word};

use super::{
    Amount, SideError, Stage, Told,
    pace::Until,
    reading::{Taken, Times, Written},
    sample::Rounds,
};
use crate::wait::{Patience, Wait};

/// Tells the other side that it is over.
const STOP: u64 = u64::MAX;

const FILE: &str = "line";

impl<J> Stage<J> {
    /// The side that counts.
    pub(crate) fn bounce(&mut self, amount: Amount, wait: Wait) -> Result<Told, SideError> {
        let line = BouncedWord::create(&self.path(FILE))?;
        let progress = self.join_readers(1)?;
        self.begin(&progress)?;
        let (until, patience) = (self.until(amount), &mut self.patience(wait));
        let (written, times) = bounce(line.word(), self.clock, &until, patience)?;
        Ok(Told { written: Some(written), times: Some(times), ..Told::default() })
    }

    /// The side that answers.
    pub(crate) fn bounce_back(&mut self, wait: Wait) -> Result<Told, SideError> {
        let told = self.own_progress(0)?;
        let line = self.meet(|stage| BouncedWord::join(&stage.path(FILE)))?;
        self.ready()?;
        let patience = &mut self.patience(wait);
        let taken = bounce_back(line.word(), &told.words()[0], patience)?;
        Ok(Told { taken: Some(taken), ..Told::default() })
    }
}

/// Makes the word odd, and waits until the other side has made it even.
fn bounce(
    word: &Word,
    clock: Clock,
    until: &Until,
    patience: &mut Patience,
) -> Result<(Written, Times), SideError> {
    let mut rounds = Rounds::new(until);
    let mut done = 0;
    while rounds.goes_on(done) {
        let odd = 2 * done + 1;
        let sent = clock.stamp_start();
        word.store(odd);
        while word.load() == odd {
            patience.idle(done)?;
        }
        rounds.sample.add(&clock, sent, clock.stamp());
        done += 1;
    }
    word.store(STOP);
    Ok((Written { messages: done, nanos: until.nanos() }, rounds.sample.times(clock)))
}

/// Makes the word even as soon as it is odd.
fn bounce_back(word: &Word, ready: &Word, patience: &mut Patience) -> Result<Taken, SideError> {
    ready.store(1);
    let mut taken = Taken::default();
    loop {
        match word.load() {
            STOP => return Ok(taken),
            odd if odd % 2 == 1 => {
                word.store(odd + 1);
                taken.messages += 1;
            }
            _ => patience.idle(taken.messages)?,
        }
    }
}
