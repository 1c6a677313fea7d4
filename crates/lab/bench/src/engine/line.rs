//! One cache line that two processors write in turns: the lower limit of any communication between
//! them.

use std::{fs::File, path::Path};

use nanotape_clock::Clock;
use nanotape_shm::{WORD_BYTES, Word, WritableWords};

use super::{
    Benchmark, Reading, Taken, Timeout, Times, Wait, Worker, Written,
    pace::{Amount, Until},
    sample::repeat,
};
use crate::error::Error;

/// Value that ends the other side.
const STOP: u64 = u64::MAX;

const FILE: &str = "line";

/// Two cache lines, since processors fetch them in pairs: nothing else shares the pair.
const WORDS: usize = 16;

/// Maps the line for writing. Both sides call it; the first one makes the file.
pub(crate) fn map(path: &Path) -> Result<WritableWords, Error> {
    let map = || {
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        file.set_len((WORDS * WORD_BYTES) as u64)?;
        WritableWords::map(&file, WORDS)
    };
    map().map_err(Error::system("map the line that two processes write"))
}

impl<B: Benchmark> Worker<B> {
    /// Runs the counting side.
    pub(crate) fn bounce(&mut self, amount: Amount, wait: Wait) -> Result<Reading, Error> {
        let line = map(&self.path(FILE))?;
        let progress = self.join_readers(1)?;
        self.begin(&progress)?;
        let (until, timeout) = (self.until(amount), &mut self.timeout(wait));
        let (written, times) = bounce(&line.words()[0], self.clock, &until, timeout)?;
        Ok(Reading { times: Some(times), ..written.into() })
    }

    /// Runs the answering side.
    pub(crate) fn bounce_back(&mut self, wait: Wait) -> Result<Reading, Error> {
        let progress = self.own_progress(0)?;
        let line = map(&self.path(FILE))?;
        self.ready()?;
        let timeout = &mut self.timeout(wait);
        let taken = bounce_back(&line.words()[0], &progress.words()[0], timeout)?;
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
    let found = repeat(clock, until, |done| {
        let odd = 2 * done + 1;
        let sent = clock.stamp_start();
        word.store(odd);
        while word.load() == odd {
            timeout.idle(done)?;
        }
        Ok::<_, Error>((sent, clock.stamp()))
    })?;
    word.store(STOP);
    Ok(found)
}

/// Makes the word even each time it is odd.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::folder::Folder;

    #[test]
    fn both_sides_write_the_same_word_whoever_comes_first() {
        let folder = Folder::new("line").unwrap();
        let path = folder.path().join(FILE);
        let (one, other) = (map(&path).unwrap(), map(&path).unwrap());
        one.words()[0].store(1);
        assert_eq!(other.words()[0].load(), 1);
        other.words()[0].store(2);
        assert_eq!(one.words()[0].load(), 2);
    }
}
