//! The limits of the machine: as many bytes over a bare connection, there and back or in one
//! direction, and as many bytes stored to new files.

use std::{
    fs::File,
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
};

use nanotape_journal::excerpt_bytes;
use nanotape_replication::FRAME_BYTES;
use nanotape_shm::{LargePages, WORD_BYTES, WritableWords, copy_into, reserve_in_large_pages};

use super::{Replicate, SEGMENT_BYTES, links};
use crate::{
    engine::{
        Amount, Reading, Taken, Timeout, Wait, Worker, Written, message::fill, message::is_sound,
        message::sequence, pace::Until, sample::repeat,
    },
    error::Error,
};

/// The number of the message that ends the answering side.
pub(super) const STOP: u64 = u64::MAX;

fn bare(stream: TcpStream) -> Result<TcpStream, Error> {
    let set = stream.set_nodelay(true).and_then(|()| stream.set_nonblocking(true));
    set.map_err(Error::system("set up a connection"))?;
    Ok(stream)
}

/// A bare connection of both processes: the reader has connected to the writer.
fn connected(worker: &Worker<Replicate>) -> Result<TcpStream, Error> {
    match worker.reader() {
        None => {
            let accepted = links::listen(worker)?.accept();
            bare(accepted.map_err(Error::system("accept a connection"))?.0)
        }
        Some(_) => {
            let stream = TcpStream::connect(links::address_of(worker, 0)?);
            bare(stream.map_err(Error::system("connect to the other process"))?)
        }
    }
}

/// Bytes that a socket moved; 0 if it would wait.
#[inline(always)]
fn moved(outcome: std::io::Result<usize>) -> Result<usize, Error> {
    match outcome {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Ok(0)
        }
        outcome => outcome.map_err(Error::system("exchange bytes with the other process")),
    }
}

#[inline(always)]
fn send(
    stream: &mut TcpStream,
    mut bytes: &[u8],
    done: u64,
    timeout: &mut Timeout,
) -> Result<(), Error> {
    loop {
        let sent = moved(stream.write(bytes))?;
        bytes = &bytes[sent..];
        if bytes.is_empty() {
            return Ok(());
        }
        timeout.idle(done)?;
    }
}

#[inline(always)]
fn receive(
    stream: &mut TcpStream,
    bytes: &mut [u8],
    done: u64,
    timeout: &mut Timeout,
) -> Result<(), Error> {
    let mut at = 0;
    loop {
        at += match stream.read(&mut bytes[at..]) {
            Ok(0) => return Err(Error::found("a connection", "it ended early")),
            outcome => moved(outcome)?,
        };
        if at == bytes.len() {
            return Ok(());
        }
        timeout.idle(done)?;
    }
}

/// Sends a message when the previous one has come back.
pub(super) fn ping(worker: &mut Worker<Replicate>) -> Result<Reading, Error> {
    let stream = &mut connected(worker)?;
    let progress = worker.join_readers(1)?;
    worker.begin(&progress)?;
    let clock = worker.clock;
    let message = &mut vec![0; excerpt_bytes(worker.job.options.bytes())][..];
    let answer = &mut message.to_vec()[..];
    let until = worker.until(worker.job.options.timed.amount());
    let timeout = &mut worker.timeout(Wait::Busy);
    let (written, times) = repeat(clock, &until, |done| {
        fill(message, done);
        let sent = clock.stamp_start();
        send(stream, message, done, timeout)?;
        receive(stream, answer, done, timeout)?;
        let back = clock.stamp();
        match is_sound(answer, done) {
            true => Ok((sent, back)),
            false => Err(Error::Wrong { sequence: done, length: answer.len() }),
        }
    })?;
    fill(message, STOP);
    send(stream, message, written.messages, timeout)?;
    Ok(Reading { times: Some(times), ..written.into() })
}

/// Sends every message back.
pub(super) fn pong(worker: &mut Worker<Replicate>) -> Result<Reading, Error> {
    let progress = worker.own_progress(0)?;
    let stream = &mut connected(worker)?;
    worker.ready()?;
    let message = &mut vec![0; excerpt_bytes(worker.job.options.bytes())][..];
    let timeout = &mut worker.timeout(Wait::Busy);
    progress.words()[0].store(1);
    let mut taken = Taken::default();
    loop {
        receive(stream, message, taken.messages, timeout)?;
        if sequence(message) == STOP {
            return Ok(taken.into());
        }
        send(stream, message, taken.messages, timeout)?;
        taken.messages += 1;
    }
}

/// Bytes of all excerpts of a reading.
fn total_bytes(worker: &Worker<Replicate>) -> u64 {
    let options = &worker.job.options;
    options.excerpts() * excerpt_bytes(options.bytes()) as u64
}

/// Sends as many bytes as a follower that catches up receives, in buffers of the same size.
pub(super) fn send_all(worker: &mut Worker<Replicate>) -> Result<Reading, Error> {
    let stream = &mut connected(worker)?;
    let progress = worker.join_readers(1)?;
    worker.begin(&progress)?;
    let (messages, buffer) = (worker.job.options.excerpts(), vec![7; FRAME_BYTES]);
    let until = Until::new(worker.clock, Amount::Messages(messages));
    let timeout = &mut worker.timeout(Wait::Busy);
    let mut left = total_bytes(worker);
    while left > 0 {
        let count = left.min(FRAME_BYTES as u64);
        send(stream, &buffer[..count as usize], left, timeout)?;
        left -= count;
    }
    Ok(Written { messages, nanos: until.nanos() }.into())
}

/// Receives them.
pub(super) fn receive_all(worker: &mut Worker<Replicate>) -> Result<Reading, Error> {
    let progress = worker.own_progress(0)?;
    let stream = &mut connected(worker)?;
    worker.ready()?;
    let (messages, mut buffer) = (worker.job.options.excerpts(), vec![0; FRAME_BYTES]);
    let timeout = &mut worker.timeout(Wait::Busy);
    progress.words()[0].store(1);
    let (mut until, mut left) = (None, total_bytes(worker));
    while left > 0 {
        let received = match stream.read(&mut buffer) {
            Ok(0) => return Err(Error::found("a connection", "it ended early")),
            outcome => moved(outcome)? as u64,
        };
        if received == 0 {
            timeout.idle(left)?;
            continue;
        }
        until.get_or_insert_with(|| Until::new(worker.clock, Amount::Messages(messages)));
        left = left.saturating_sub(received);
    }
    let nanos = until.map_or(0, |until| until.nanos());
    Ok(Taken { messages, nanos, ..Taken::default() }.into())
}

/// Stores as many bytes to new files, each of the length of a segment.
pub(super) fn new_pages(worker: &mut Worker<Replicate>) -> Result<Reading, Error> {
    worker.begin(&[])?;
    let (messages, frame) = (worker.job.options.excerpts(), vec![7; FRAME_BYTES]);
    let (mut left, large) = (total_bytes(worker), LargePages::default());
    let until = Until::new(worker.clock, Amount::Messages(messages));
    let mut number = 0;
    while left > 0 {
        let made = || {
            let path = worker.job.data.join(format!("pages-{number}"));
            let file = File::options().read(true).write(true).create_new(true).open(path)?;
            reserve_in_large_pages(&file, SEGMENT_BYTES, &large)?;
            WritableWords::map(&file, SEGMENT_BYTES as usize / WORD_BYTES)
        };
        let words = made().map_err(Error::system("make a file of new pages"))?;
        for part in words.words().chunks(FRAME_BYTES / WORD_BYTES) {
            let count = left.min((part.len() * WORD_BYTES) as u64);
            copy_into(part, &frame[..count as usize]);
            left -= count;
        }
        number += 1;
    }
    Ok(Written { messages, nanos: until.nanos() }.into())
}
