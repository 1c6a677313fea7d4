//! A follower that starts without anything, and a leader that has a whole journal.
//!
//! Time begins when the follower has joined its leader, and ends when its copy has everything.

use nanotape_journal::{Start, Tail, Tailer};

use super::{
    Replicate,
    links::{self, Following, Leading},
};
use crate::{
    engine::{
        Amount, Reading, Taken, Wait, Worker, Written,
        message::{MESSAGE, fill, is_sound},
        pace::Until,
    },
    error::Error,
    journal::open_off,
};

/// Sends the journal.
pub(super) fn lead(worker: &mut Worker<Replicate>, has_tls: bool) -> Result<Reading, Error> {
    let identity = if has_tls { Some(links::identity(worker)?) } else { None };
    let (journal, messages) = (worker.job.data.join("journal"), worker.job.options.excerpts());
    let mut appender = open_off(worker, &journal, &worker.job.options.appender())?;
    let mut message = vec![0; worker.job.options.bytes()];
    for sequence in 1..=messages {
        fill(&mut message, sequence);
        appender.append(MESSAGE, sequence, &message)?;
    }
    let listener = links::listen(worker)?;
    let progress = worker.join_readers(1)?;
    worker.begin(&progress)?;
    let mut link = Leading::accept(worker, &listener, identity.as_ref(), &journal)?;
    let until = Until::new(worker.clock, Amount::Messages(messages));
    let timeout = &mut worker.timeout(Wait::Busy);
    while link.acknowledged() <= messages {
        if !link.turn()? {
            timeout.idle(link.acknowledged())?;
        }
    }
    Ok(Written { messages, nanos: until.nanos() }.into())
}

/// Receives it, and checks it when it is there.
pub(super) fn follow(worker: &mut Worker<Replicate>, has_tls: bool) -> Result<Reading, Error> {
    let identity = if has_tls { Some(links::identity(worker)?) } else { None };
    let progress = worker.own_progress(0)?;
    // It listens when it has everything.
    links::address_of(worker, 0)?;
    worker.ready()?;
    progress.words()[0].store(1);
    let (copy, messages) = (worker.job.data.join("copy"), worker.job.options.excerpts());
    let mut link = Following::connect(worker, 0, identity.as_ref(), &copy)?;
    let timeout = &mut worker.timeout(Wait::Busy);
    while !link.has_joined() {
        link.turn()?;
        timeout.idle(0)?;
    }
    let until = Until::new(worker.clock, Amount::Messages(messages));
    while link.next_sequence() <= messages {
        if !link.turn()? {
            timeout.idle(link.next_sequence())?;
        }
    }
    let nanos = until.nanos();
    // The leader ends the connection when it knows that everything is there.
    while link.turn().is_ok() {
        timeout.idle(link.next_sequence())?;
    }
    let mut tailer = Tailer::open(&copy, Start::Oldest)?;
    let message = &mut vec![0; worker.job.options.bytes()][..];
    let mut taken = Taken { nanos, ..Taken::default() };
    while let Tail::Excerpt(excerpt) = tailer.next()? {
        let sequence = excerpt.sequence();
        if excerpt.len() != message.len() {
            return Err(Error::Wrong { sequence, length: excerpt.len() });
        }
        excerpt.copy_to(message);
        if !is_sound(message, sequence) {
            return Err(Error::Wrong { sequence, length: message.len() });
        }
        taken.messages += 1;
    }
    Ok(taken.into())
}
