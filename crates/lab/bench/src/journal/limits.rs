//! The limits of the machine and the disk: copies of messages into as many bytes as a journal uses
//! for them, and writes of those bytes to a disk.

use core::hint::black_box;
use std::{fs::File, os::unix::fs::FileExt as _, path::Path};

use nanotape_clock::Clock;
use nanotape_journal::excerpt_bytes;
use nanotape_shm::{WORD_BYTES, Word, WritableWords, copy_into, reserve, write_zeros};

use crate::{
    engine::{
        Amount, Reading, Written,
        message::{Length, fill},
        pace::Until,
        sample::{Rounds, repeat},
    },
    error::Error,
};

const FILE: &str = "limit";

/// Words between the starts of two messages: the length of an excerpt.
fn stride(length: impl Length) -> usize {
    excerpt_bytes(length.bytes()) / WORD_BYTES
}

/// A mapped file with room for `messages`, all of it reserved. With `touched`, all of its pages are
/// in memory.
pub(super) fn mapping(
    folder: &Path,
    messages: u64,
    length: impl Length,
    touched: bool,
) -> Result<WritableWords, Error> {
    let (file, bytes) = create(folder, messages, length)?;
    reserve(&file, bytes).map_err(Error::system("reserve room for the limit's file"))?;
    let words = WritableWords::map(&file, bytes as usize / WORD_BYTES)
        .map_err(Error::system("map the limit's file"))?;
    if touched {
        words.touch(0..bytes as usize / WORD_BYTES);
    }
    Ok(words)
}

/// A file with room for `messages`, written and synced to the disk.
pub(super) fn written_file(
    folder: &Path,
    messages: u64,
    length: impl Length,
) -> Result<File, Error> {
    let (file, bytes) = create(folder, messages, length)?;
    let written = write_zeros(&file, 0..bytes).and_then(|()| file.sync_all());
    written.map_err(Error::system("write the limit's file"))?;
    Ok(file)
}

fn create(folder: &Path, messages: u64, length: impl Length) -> Result<(File, u64), Error> {
    let path = folder.join(FILE);
    let file = File::options().read(true).write(true).create_new(true).open(path);
    let file = file.map_err(Error::system("make the limit's file"))?;
    Ok((file, messages.max(1) * excerpt_bytes(length.bytes()) as u64))
}

/// Memory of this process with room for `messages`, with all pages present.
pub(super) fn memory(messages: u64, length: impl Length) -> Vec<u8> {
    vec![1; messages as usize * excerpt_bytes(length.bytes())]
}

/// Fills and copies messages, one after the other.
#[inline(never)]
pub(super) fn copy(words: &[Word], length: impl Length, clock: Clock, amount: u64) -> Reading {
    let message = &mut vec![0; length.bytes()][..length.bytes()];
    let until = Until::new(clock, Amount::Messages(amount));
    for (sequence, place) in (0..amount).zip(words.chunks_exact(stride(length))) {
        fill(message, sequence);
        copy_into(place, message);
    }
    written(&until, amount)
}

/// The same, with each copy timed.
#[inline(never)]
pub(super) fn copy_timed(
    words: &[Word],
    length: impl Length,
    clock: Clock,
    amount: u64,
) -> Reading {
    let message = &mut vec![0; length.bytes()][..length.bytes()];
    let until = Until::new(clock, Amount::Messages(amount));
    let mut rounds = Rounds::new(&until);
    for (sequence, place) in (0..amount).zip(words.chunks_exact(stride(length))) {
        fill(message, sequence);
        rounds.goes_on(sequence);
        let from = clock.stamp_start();
        copy_into(place, black_box(&*message));
        rounds.sample.add(&clock, from, clock.stamp());
    }
    Reading { times: Some(rounds.sample.times(clock)), ..written(&until, amount) }
}

/// Copies messages as the compiler does, into memory of this process.
#[inline(never)]
pub(super) fn copy_to_memory(memory: &mut [u8], length: impl Length, clock: Clock) -> Reading {
    let message = &mut vec![0; length.bytes()][..length.bytes()];
    let stride = excerpt_bytes(length.bytes());
    let amount = (memory.len() / stride) as u64;
    let until = Until::new(clock, Amount::Messages(amount));
    for (sequence, place) in (0..amount).zip(memory.chunks_exact_mut(stride)) {
        fill(message, sequence);
        place[..length.bytes()].copy_from_slice(black_box(&*message));
    }
    black_box(memory);
    written(&until, amount)
}

/// Writes messages into a file with reserved room and syncs each batch: one write, with as many
/// bytes as a journal uses for the batch.
pub(super) fn fdatasync(
    file: &File,
    length: impl Length,
    clock: Clock,
    amount: u64,
    batch: u32,
) -> Result<Reading, Error> {
    let stride = excerpt_bytes(length.bytes());
    let mut batched = vec![0; stride * (batch as usize - 1) + length.bytes()];
    let until = Until::new(clock, Amount::Messages(amount));
    let (written, times) = repeat(clock, &until, |sequence| {
        for message in batched.chunks_mut(stride) {
            fill(&mut message[..length.bytes()], sequence);
        }
        let from = clock.stamp_start();
        let synced = file.write_all_at(&batched, sequence * u64::from(batch) * stride as u64);
        let synced = synced.and_then(|()| file.sync_data());
        let to = clock.stamp();
        synced.map_err(Error::system("write to the disk"))?;
        Ok::<_, Error>((from, to))
    })?;
    Ok(Reading { times: Some(times), ..written.into() })
}

fn written(until: &Until, messages: u64) -> Reading {
    Written { messages, nanos: until.nanos() }.into()
}
