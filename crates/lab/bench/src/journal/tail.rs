//! The loops of the tailer: each reads everything available, and copies and checks each excerpt.

use nanotape_clock::{Clock, Stamp};
use nanotape_journal::{Excerpt, Tail, Tailer};
use nanotape_shm::Word;

use crate::{
    engine::{
        Reading, Taken, Timeout,
        message::{END, Length, MESSAGE, is_sound, sequence},
        sample::Arrivals,
    },
    error::Error,
};

/// At full speed; only the whole run is timed.
#[inline(never)]
pub(super) fn flat_out(
    tailer: &mut Tailer,
    length: impl Length,
    clock: Clock,
    timeout: &mut Timeout,
) -> Result<Reading, Error> {
    let message = &mut vec![0; length.bytes()][..length.bytes()];
    let mut first: Option<Stamp> = None;
    let mut taken = Taken::default();
    loop {
        match tailer.next()? {
            Tail::Excerpt(excerpt) => {
                excerpt.copy_to(message);
                check(message, length, &excerpt)?;
                if excerpt.type_id() != MESSAGE {
                    break;
                }
                first.get_or_insert_with(|| clock.stamp_start());
                taken.messages += 1;
            }
            Tail::Nothing => timeout.idle(taken.messages)?,
            Tail::Gap(gap) => taken.lost += gap.count(),
            // Only a recovery causes this.
            Tail::Reused(reused) => taken.lost += reused.to - reused.from + 1,
        }
    }
    taken.nanos = first.map_or(0, |first| clock.nanos_between(first, clock.stamp()));
    Ok(taken.into())
}

/// Reads messages that arrive at a steady rate. A message has arrived when its payload is copied
/// and its sequence number is right; the rest is checked after the stamp.
pub(super) fn timed(
    tailer: &mut Tailer,
    length: impl Length,
    clock: Clock,
    messages: u64,
    progress: &Word,
    timeout: &mut Timeout,
) -> Result<Reading, Error> {
    let message = &mut vec![0; length.bytes()][..length.bytes()];
    let mut arrivals = Arrivals::of(messages);
    let mut taken = Taken::default();
    loop {
        match tailer.next()? {
            Tail::Excerpt(excerpt) => {
                excerpt.copy_to(message);
                if sequence(message) != excerpt.sequence() {
                    return Err(wrong(&excerpt));
                }
                let now = clock.stamp();
                check(message, length, &excerpt)?;
                if excerpt.type_id() == END {
                    break;
                }
                if let Some(start) = arrivals.add(&clock, excerpt.type_id(), message, now) {
                    progress.store(start);
                }
                taken.messages += 1;
            }
            Tail::Nothing => timeout.idle(taken.messages)?,
            Tail::Gap(gap) => taken.lost += gap.count(),
            // Only a recovery causes this.
            Tail::Reused(reused) => taken.lost += reused.to - reused.from + 1,
        }
    }
    Ok(Reading { times: Some(arrivals.times(clock)), ..taken.into() })
}

/// Checks the length of an excerpt, and all of its payload except the stamp.
#[inline(always)]
fn check(message: &[u8], length: impl Length, excerpt: &Excerpt<'_>) -> Result<(), Error> {
    if excerpt.len() == length.bytes() && is_sound(message, excerpt.sequence()) {
        return Ok(());
    }
    Err(wrong(excerpt))
}

#[cold]
fn wrong(excerpt: &Excerpt<'_>) -> Error {
    Error::Wrong { sequence: excerpt.sequence(), length: excerpt.len() }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use nanotape_journal::{Appender, AppenderOptions, Start};

    use super::*;
    use crate::engine::{
        Folder, Wait,
        message::{USUAL_BYTES, Usual, fill},
    };

    /// The results of both loops for twenty excerpts, each changed by `spoil`.
    fn read(path: &Path, spoil: impl Fn(u64, &mut Vec<u8>)) -> [Result<Reading, Error>; 2] {
        let options = AppenderOptions { segment_bytes: 1 << 20, ..AppenderOptions::default() };
        let mut appender = Appender::open(path, &options).unwrap();
        for sequence in 1..=20 {
            let mut message = vec![0; USUAL_BYTES];
            fill(&mut message, sequence);
            spoil(sequence, &mut message);
            let type_id = if sequence == 20 { END } else { MESSAGE };
            assert_eq!(appender.append(type_id, sequence, &message).unwrap(), sequence);
        }
        let clock = Clock::monotonic();
        let tailer = || Tailer::open(path, Start::Oldest).unwrap();
        let timeout = || Timeout::new(clock, Wait::Yield);
        [
            flat_out(&mut tailer(), Usual, clock, &mut timeout()),
            timed(&mut tailer(), Usual, clock, 19, &Word::new(0), &mut timeout()),
        ]
    }

    #[test]
    fn both_loops_read_what_was_appended_and_notice_what_was_not() {
        let folder = Folder::new("tail-loops").unwrap();
        for result in read(&folder.path().join("good"), |_, _| ()) {
            let taken = result.unwrap().taken[0];
            assert_eq!((taken.messages, taken.lost), (19, 0));
        }
        let flips = |sequence, message: &mut Vec<u8>| message[40] ^= u8::from(sequence == 13);
        let cuts = |sequence, message: &mut Vec<u8>| {
            message.truncate(if sequence == 13 { 72 } else { USUAL_BYTES });
        };
        let bad = read(&folder.path().join("flipped"), flips);
        for error in bad.into_iter().chain(read(&folder.path().join("cut"), cuts)) {
            let error = error.unwrap_err();
            assert!(matches!(error, Error::Wrong { sequence: 13, .. }), "{error}");
        }
    }
}
