//! Round trips through two journals and their copies.
//!
//! Protocol: the first process ends with a message of the type END, and the answer to that is the
//! last one. So each side knows that the other one has everything before it ends its links.

use nanotape_clock::Stamp;
use nanotape_journal::{Appender, Excerpt, Start, Tail, Tailer};
use serde_json::Value;

use super::{
    Replicate,
    links::{self, Embedded},
    programs::Programs,
    rows::{Driver, What},
    slow::Watch,
};
use crate::{
    engine::{
        Reading, Taken, Timeout, Wait, Worker,
        message::{BEGIN, END, MESSAGE, fill, is_sound},
        sample::repeat,
    },
    error::Error,
    journal::open_off,
};

/// What copies the journals while a side waits.
pub(super) trait Drive {
    /// Does what is to be done, if that is a task of this thread.
    fn turn(&mut self) -> Result<(), Error>;

    /// Ends the links of the first process, which has all answers.
    fn end(&mut self, timeout: &mut Timeout) -> Result<(), Error>;

    /// A round trip has ended.
    fn trip(&mut self, _from: Stamp, _to: Stamp) {}

    /// What this process reports beside its times.
    fn detail(&self, _side: usize) -> Value {
        Value::Null
    }

    /// Ends those of the other one, when the first has its last answer, the one before this number.
    fn end_after(&mut self, next_sequence: u64, timeout: &mut Timeout) -> Result<(), Error>;
}

/// The links of a process, and a watch over its turns.
struct Watched {
    links: Embedded,
    watch: Watch,
}

impl Drive for Watched {
    #[inline(always)]
    fn turn(&mut self) -> Result<(), Error> {
        self.watch.turn();
        self.links.turn().map(|_| ())
    }

    #[inline(always)]
    fn trip(&mut self, from: Stamp, to: Stamp) {
        self.watch.trip(from, to);
    }

    fn detail(&self, side: usize) -> Value {
        self.watch.detail(side)
    }

    fn end(&mut self, timeout: &mut Timeout) -> Result<(), Error> {
        while !self.links.has_reported() {
            self.links.turn()?;
            timeout.idle(0)?;
        }
        Ok(())
    }

    fn end_after(&mut self, next_sequence: u64, timeout: &mut Timeout) -> Result<(), Error> {
        // The other process ends its links when it has the last answer.
        while !self.links.has_delivered(next_sequence) && self.links.turn().is_ok() {
            timeout.idle(next_sequence)?;
        }
        Ok(())
    }
}

/// Opens both journals and links of a process, and runs its side.
pub(super) fn run(
    worker: &mut Worker<Replicate>,
    has_tls: bool,
    by: Driver,
) -> Result<Reading, Error> {
    let side = worker.job.process;
    let identity = if has_tls { Some(links::identity(worker)?) } else { None };
    let [journal, copy] =
        ["journal", "copy"].map(|name| worker.job.data.join(format!("{name}-{side}")));
    let mut appender = open_off(worker, &journal, &worker.job.options.appender())?;
    // A journal without an excerpt has nothing to open.
    append(&mut appender, BEGIN, &mut vec![0; worker.job.options.bytes()])?;
    // Threads that sleep need a processor, too, when something arrives.
    let has_threads = by != Driver::Embedded;
    let is_short = has_threads && !worker.job.options.has_processors_for(What::PROGRAMS);
    let wait = if is_short { Wait::Yield } else { Wait::Busy };
    let timeout = &mut worker.timeout(wait);
    match by {
        Driver::Embedded => {
            let mut links = Embedded::connect(worker, identity.as_ref(), &journal, &copy)?;
            // Yields: in the real-time class threads that open files need a turn, too.
            let waiting = &mut Timeout::new(worker.clock, Wait::Yield);
            while !links.is_settled() || links.copied() < 2 {
                Embedded::turn(&mut links)?;
                waiting.idle(0)?;
            }
            let mut links = Watched { links, watch: Watch::new(worker.clock) };
            side_of(worker, &mut links, &mut appender, &copy, timeout)
        }
        Driver::Programs { sleeps } => {
            let mut links = Programs::start(worker, identity, &journal, &copy, sleeps)?;
            side_of(worker, &mut links, &mut appender, &copy, timeout)
        }
    }
}

fn side_of(
    worker: &mut Worker<Replicate>,
    links: &mut impl Drive,
    appender: &mut Appender,
    copy: &std::path::Path,
    timeout: &mut Timeout,
) -> Result<Reading, Error> {
    let mut tailer = worker.meet(|_| Tailer::open(copy, Start::Oldest))?;
    let message = &mut vec![0; worker.job.options.bytes()][..];
    let (type_id, _) = read(&mut tailer, links, message, timeout)?;
    if type_id != BEGIN {
        return Err(Error::found("a copy", format!("it begins with type {type_id}")));
    }
    match worker.reader() {
        None => ping(worker, links, appender, &mut tailer, message, timeout),
        Some(_) => pong(worker, links, appender, &mut tailer, message, timeout),
    }
}

/// Appends a message when the previous one has come back.
fn ping(
    worker: &mut Worker<Replicate>,
    links: &mut impl Drive,
    appender: &mut Appender,
    tailer: &mut Tailer,
    message: &mut [u8],
    timeout: &mut Timeout,
) -> Result<Reading, Error> {
    let progress = worker.join_readers(1)?;
    worker.begin(&progress)?;
    let clock = worker.clock;
    let until = worker.until(worker.job.options.timed.amount());
    let answer = &mut message.to_vec()[..];
    let (written, times) = repeat(clock, &until, |_| {
        let sequence = appender.next_sequence();
        fill(message, sequence);
        let sent = clock.stamp_start();
        appender.append(MESSAGE, sequence, message)?;
        let (_, answered) = read(tailer, links, answer, timeout)?;
        let back = clock.stamp();
        links.trip(sent, back);
        // Both journals began with one excerpt, so the numbers agree.
        match answered == sequence && is_sound(answer, sequence) {
            true => Ok((sent, back)),
            false => Err(Error::Wrong { sequence, length: answer.len() }),
        }
    })?;
    append(appender, END, message)?;
    let (type_id, sequence) = read(tailer, links, answer, timeout)?;
    if type_id != END {
        return Err(Error::Wrong { sequence, length: answer.len() });
    }
    links.end(timeout)?;
    Ok(Reading { times: Some(times), detail: links.detail(0), ..written.into() })
}

/// Appends every message to the own journal, including the last one.
fn pong(
    worker: &mut Worker<Replicate>,
    links: &mut impl Drive,
    appender: &mut Appender,
    tailer: &mut Tailer,
    message: &mut [u8],
    timeout: &mut Timeout,
) -> Result<Reading, Error> {
    let progress = worker.own_progress(0)?;
    worker.ready()?;
    progress.words()[0].store(1);
    let mut taken = Taken::default();
    loop {
        let (type_id, sequence) = read(tailer, links, message, timeout)?;
        appender.append(type_id, sequence, message)?;
        if type_id == END {
            links.end_after(appender.next_sequence(), timeout)?;
            return Ok(Reading { detail: links.detail(1), ..taken.into() });
        }
        if !is_sound(message, sequence) {
            return Err(Error::Wrong { sequence, length: message.len() });
        }
        taken.messages += 1;
    }
}

fn append(appender: &mut Appender, type_id: u16, message: &mut [u8]) -> Result<(), Error> {
    let sequence = appender.next_sequence().max(1);
    fill(message, sequence);
    appender.append(type_id, sequence, message)?;
    Ok(())
}

/// Waits for the next excerpt of a copy; returns its type and its number.
#[inline(always)]
fn read(
    tailer: &mut Tailer,
    links: &mut impl Drive,
    message: &mut [u8],
    timeout: &mut Timeout,
) -> Result<(u16, u64), Error> {
    loop {
        links.turn()?;
        match tailer.next()? {
            Tail::Excerpt(excerpt) => return take(&excerpt, message),
            Tail::Nothing => timeout.idle(tailer.next_sequence())?,
            Tail::Gap(gap) => return Err(Error::Lost { count: gap.count() }),
            // Only a leader that takes numbers back causes this.
            Tail::Reused(reused) => return Err(Error::Lost { count: reused.to - reused.from + 1 }),
        }
    }
}

#[inline(always)]
fn take(excerpt: &Excerpt<'_>, message: &mut [u8]) -> Result<(u16, u64), Error> {
    if excerpt.len() != message.len() {
        return Err(Error::Wrong { sequence: excerpt.sequence(), length: excerpt.len() });
    }
    excerpt.copy_to(message);
    Ok((excerpt.type_id(), excerpt.sequence()))
}
