//! Appends with a schedule, without followers and while a process serves the journal to two.
//!
//! ```text
//! process 0: appender ==> journal <== process 1: serves --TCP--> processes 2 and 3: copies
//! ```
//!
//! A user concludes what followers cost the process that appends.

use nanotape_journal::{Start, Tail, Tailer};
use nanotape_replication::{ReplicateEvent, Replication, ServeEvent, Server};
use nanotape_shm::Word;
use nanotape_tape::ShutdownFlag;

use super::{
    Replicate, links,
    programs::{SLEEP, replicate_options, serve_options},
};
use crate::{
    engine::{
        Reading, Taken, Wait, Worker,
        message::{Any, END, Length, USUAL_BYTES, Usual, fill, is_sound},
    },
    error::Error,
    journal::{open_off, paced},
};

/// The type of an excerpt that makes a folder a journal; it does not count.
const FIRST: u16 = 5;

const JOURNAL: &str = "journal";

/// Appends at the rate of the options.
pub(super) fn append(worker: &mut Worker<Replicate>, followers: usize) -> Result<Reading, Error> {
    match worker.job.options.bytes() {
        USUAL_BYTES => append_of(worker, followers, Usual),
        length => append_of(worker, followers, Any(length)),
    }
}

fn append_of(
    worker: &mut Worker<Replicate>,
    followers: usize,
    length: impl Length,
) -> Result<Reading, Error> {
    let options = worker.job.options.appender();
    let appender = &mut open_off(worker, &worker.job.data.join(JOURNAL), &options)?;
    let mut message = vec![0; length.bytes()];
    fill(&mut message, 1);
    appender.append(FIRST, 1, &message)?;
    let readers = if followers == 0 { 0 } else { 1 + followers };
    let progress = worker.join_readers(readers)?;
    worker.begin(&progress)?;
    let (rate, amount) = (worker.job.options.rate, worker.job.options.scheduled());
    // The times are those of the calls, so no reader has to confirm the schedule.
    let known = Word::new(u64::MAX);
    let timeout = &mut worker.timeout(Wait::Busy);
    let clock = worker.clock;
    let reading = paced(appender, length, clock, (rate, amount), known.as_read_only(), timeout)?;
    Ok(Reading { times: reading.calls, calls: None, ..reading })
}

/// Serves the journal, or follows it.
pub(super) fn follow(
    worker: &mut Worker<Replicate>,
    reader: usize,
    followers: usize,
) -> Result<Reading, Error> {
    let progress = worker.own_progress(reader)?;
    let word = &progress.words()[0];
    match reader {
        0 => serve(worker, followers, word),
        _ => copy(worker, reader, word),
    }
}

fn serve(worker: &mut Worker<Replicate>, followers: usize, word: &Word) -> Result<Reading, Error> {
    let journal = worker.job.data.join(JOURNAL);
    let open = |_: &Worker<Replicate>| Server::open(&journal, serve_options("leader", None, SLEEP));
    let mut server = worker.meet(open)?;
    let address = server.address().map_err(Error::system("read the address of a socket"))?;
    links::announce(worker, worker.job.process, address)?;
    worker.ready()?;
    word.store(1);
    let shutdown = ShutdownFlag::new();
    let mut gone = 0;
    server.run(&shutdown, |event| {
        gone += usize::from(matches!(event, ServeEvent::Gone { .. }));
        if gone == followers {
            shutdown.request();
        }
    })?;
    Ok(Reading::default())
}

/// Follows until the last excerpt is there. Checks what has come now and then.
fn copy(worker: &mut Worker<Replicate>, reader: usize, word: &Word) -> Result<Reading, Error> {
    let path = worker.job.data.join(format!("copy-{reader}"));
    let leader = ("leader", links::address_of(worker, 1)?);
    let name = format!("follower-{reader}");
    let mut replication = Replication::open(&path, replicate_options(&name, leader, None, SLEEP))?;
    worker.ready()?;
    let shutdown = ShutdownFlag::new();
    let mut check = Check { tailer: None, message: vec![0; worker.job.options.bytes()], taken: 0 };
    let mut checked = Ok(false);
    replication.run(&shutdown, |event| match event {
        ReplicateEvent::Follows { .. } => word.store(1),
        ReplicateEvent::Progress { .. } => {
            checked = check.read(&path);
            if !matches!(checked, Ok(false)) {
                shutdown.request();
            }
        }
        ReplicateEvent::Broken { reason, .. } => {
            checked = Err(Error::found("a follower", reason));
            shutdown.request();
        }
        _ => {}
    })?;
    checked?;
    Ok(Taken { messages: check.taken, ..Taken::default() }.into())
}

/// Reads a copy.
struct Check {
    tailer: Option<Tailer>,
    message: Vec<u8>,
    taken: u64,
}

impl Check {
    /// Reads what is there; returns whether the last excerpt was.
    fn read(&mut self, path: &std::path::Path) -> Result<bool, Error> {
        let tailer = match &mut self.tailer {
            Some(tailer) => tailer,
            // The copy can be empty still.
            none => match Tailer::open(path, Start::Oldest) {
                Ok(tailer) => none.insert(tailer),
                Err(_) => return Ok(false),
            },
        };
        while let Tail::Excerpt(excerpt) = tailer.next()? {
            let (sequence, length) = (excerpt.sequence(), excerpt.len());
            if length != self.message.len() {
                return Err(Error::Wrong { sequence, length });
            }
            excerpt.copy_to(&mut self.message);
            if !is_sound(&self.message, sequence) {
                return Err(Error::Wrong { sequence, length });
            }
            match excerpt.type_id() {
                END => return Ok(true),
                FIRST => {}
                _ => self.taken += 1,
            }
        }
        Ok(false)
    }
}
