//! One cache line that two processors write in turns: what nothing between them can be quicker than.

use nanotape_clock::Clock;
use nanotape_shm::{BouncedWord, Word};

use super::{
    Benchmark, Report, Taken, Timeout, Times, Wait, Worker, Written,
    pace::{Amount, Until},
    sample::Rounds,
};
use crate::error::Error;

/// Ends the other side.
const STOP: u64 = u64::MAX;

const FILE: &str = "line";

impl<B: Benchmark> Worker<B> {
    /// The side that counts.
    pub(crate) fn bounce(&mut self, amount: Amount, wait: Wait) -> Result<Report, Error> {
        let line = BouncedWord::create(&self.path(FILE))?;
        let progress = self.join_readers(1)?;
        self.begin(&progress)?;
        let (until, timeout) = (self.until(amount), &mut self.timeout(wait));
        let (written, times) = bounce(line.word(), self.clock, &until, timeout)?;
        Ok(Report { times: Some(times), ..written.into() })
    }

    /// The side that answers.
    pub(crate) fn bounce_back(&mut self, wait: Wait) -> Result<Report, Error> {
        let progress = self.own_progress(0)?;
        let line = self.meet(|worker| BouncedWord::join(&worker.path(FILE)))?;
        self.ready()?;
        let timeout = &mut self.timeout(wait);
        let taken = bounce_back(line.word(), &progress.words()[0], timeout)?;
        Ok(taken.into())
    }
}

/// Makes the word odd, and waits until the other side has made it even.
fn bounce(
    word: &Word,
    clock: Clock,
    until: &Until,
    timeout: &mut Timeout,
) -> Result<(Written, Times), Error> {
    let mut rounds = Rounds::new(until);
    let mut done = 0;
    while rounds.goes_on(done) {
        let odd = 2 * done + 1;
        let sent = clock.stamp_start();
        word.store(odd);
        while word.load() == odd {
            timeout.idle(done)?;
        }
        rounds.sample.add(&clock, sent, clock.stamp());
        done += 1;
    }
    word.store(STOP);
    Ok((Written { messages: done, nanos: until.nanos() }, rounds.sample.times(clock)))
}

/// Makes the word even as soon as it is odd.
fn bounce_back(word: &Word, ready: &Word, timeout: &mut Timeout) -> Result<Taken, Error> {
    ready.store(1);
    let mut taken = Taken::default();
    loop {
        match word.load() {
            STOP => return Ok(taken),
            odd if odd % 2 == 1 => {
                word.store(odd + 1);
                taken.messages += 1;
            }
            _ => timeout.idle(taken.messages)?,
        }
    }
}
