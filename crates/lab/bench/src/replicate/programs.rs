//! The links of a process as the commands run them: `nanotape journal serve` and `replicate`, each
//! with threads of its own.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use nanotape_link::Identity;
use nanotape_replication::{
    LinkPace, ReplicateError, ReplicateEvent, ReplicateOptions, Replication, ServeError,
    ServeOptions, Server,
};
use nanotape_tape::ShutdownFlag;

use super::{
    Replicate,
    links::{self, HEARTBEAT, MODE, PATIENCE, SIDES},
    round_trip::Drive,
};
use crate::{
    engine::{Timeout, Worker, run_on},
    error::Error,
};

/// How a sleeping link waits: as the commands do by default.
pub(super) const SLEEP: LinkPace = LinkPace::Sleep(Duration::from_millis(1));

/// How a journal of the benchmark is served.
pub(super) fn serve_options(
    name: &str,
    identity: Option<Identity>,
    pace: LinkPace,
) -> ServeOptions {
    ServeOptions {
        name: name.to_owned(),
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        identity,
        followers: Vec::new(),
        commits: false,
        pace,
        heartbeat: HEARTBEAT,
        patience: PATIENCE,
        mode: MODE,
    }
}

/// How it is replicated.
pub(super) fn replicate_options(
    name: &str,
    (leader, address): (&str, SocketAddr),
    identity: Option<Identity>,
    pace: LinkPace,
) -> ReplicateOptions {
    ReplicateOptions {
        name: name.to_owned(),
        address: address.to_string(),
        leader: leader.to_owned(),
        identity,
        syncs: false,
        keeps_times: false,
        sets_aside: false,
        compares_all: false,
        pace,
        heartbeat: HEARTBEAT,
        patience: PATIENCE,
        mode: MODE,
    }
}

/// The threads of a process.
pub(super) struct Programs {
    shutdown: ShutdownFlag,
    /// Whether the other process has ended the connection to its leader.
    is_over: Arc<AtomicBool>,
    server: Option<JoinHandle<Result<(), ServeError>>>,
    replication: Option<JoinHandle<Result<(), ReplicateError>>>,
}

impl Programs {
    /// Serves the journal, and follows that of the other process.
    pub(super) fn start(
        worker: &Worker<Replicate>,
        identity: Option<Identity>,
        journal: &Path,
        copy: &Path,
        sleeps: bool,
    ) -> Result<Self, Error> {
        let (options, side) = (&worker.job.options, worker.job.process);
        let pace = match sleeps {
            true => SLEEP,
            false if options.has_processors_for(worker.row.work) => LinkPace::Spin,
            false => LinkPace::Yield,
        };
        let (shutdown, is_over) = (ShutdownFlag::new(), Arc::new(AtomicBool::new(false)));
        let mut server = Server::open(journal, serve_options(SIDES[side], identity.clone(), pace))?;
        let address = server.address().map_err(Error::system("read the address of a socket"))?;
        links::announce(worker, side, address)?;
        let other = 1 - side;
        let leader = (SIDES[other], links::address_of(worker, other)?);
        let following = replicate_options(SIDES[side], leader, identity, pace);
        let mut replication = Replication::open(copy, following)?;
        let (processors, flag) = (options.processors_of_links().to_vec(), shutdown.clone());
        let serve = move || {
            run_on(&processors);
            server.run(&flag, |_| ())
        };
        let (processors, flag) = (options.processors_of_links().to_vec(), shutdown.clone());
        let over = Arc::clone(&is_over);
        let replicate = move || {
            run_on(&processors);
            replication.run(&flag, |event| {
                if let ReplicateEvent::Broken { .. } = event {
                    over.store(true, Ordering::Release);
                }
            })
        };
        let failed = || Error::system("start a thread");
        let server = thread::Builder::new().spawn(serve).map_err(failed())?;
        let replication = thread::Builder::new().spawn(replicate).map_err(failed())?;
        Ok(Self { shutdown, is_over, server: Some(server), replication: Some(replication) })
    }

    /// Ends both, and returns why one of them failed.
    fn join(&mut self) -> Result<(), Error> {
        self.shutdown.request();
        let died = |_| Error::found("a link", "its thread panicked");
        let served = self.server.take().map(|thread| thread.join().map_err(died));
        let followed = self.replication.take().map(|thread| thread.join().map_err(died));
        if let Some(served) = served {
            served??;
        }
        if let Some(followed) = followed {
            followed??;
        }
        Ok(())
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        // An error before the end has its own reason.
        let _ = self.join();
    }
}

impl Drive for Programs {
    #[inline(always)]
    fn turn(&mut self) -> Result<(), Error> {
        let has_ended =
            |thread: &Option<JoinHandle<_>>| thread.as_ref().is_none_or(JoinHandle::is_finished);
        if self.server.as_ref().is_none_or(JoinHandle::is_finished) || has_ended(&self.replication)
        {
            self.join()?;
            return Err(Error::found("a link", "it ended early"));
        }
        Ok(())
    }

    fn end(&mut self, _: &mut Timeout) -> Result<(), Error> {
        self.join()
    }

    fn end_after(&mut self, next_sequence: u64, timeout: &mut Timeout) -> Result<(), Error> {
        while !self.is_over.load(Ordering::Acquire) {
            timeout.idle(next_sequence)?;
        }
        self.join()
    }
}
