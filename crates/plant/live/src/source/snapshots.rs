//! Fetches snapshots in a thread of its own, while the session keeps what the lines bring.
//!
//! Bounds: one fetch at a time; a new one cancels the last.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, TryRecvError, sync_channel},
    },
    thread,
};

use nanotape_clock::Clock;
use nanotape_feed::{
    glimpse::{GlimpseError, fetch_snapshot},
    soupbintcp::ClientOptions,
};
use nanotape_market::MarketSnapshot;

/// A snapshot, and its messages if they are kept: each with its length before it.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) snapshot: Box<MarketSnapshot>,
    pub(super) messages: Vec<u8>,
}

/// The GLIMPSE server of a session.
#[derive(Debug)]
pub(super) struct Snapshots {
    server: SocketAddr,
    options: ClientOptions,
    keeps_messages: bool,
    current: Option<Fetch>,
}

#[derive(Debug)]
struct Fetch {
    result: Receiver<Result<Fetched, GlimpseError>>,
    is_cancelled: Arc<AtomicBool>,
}

impl Drop for Fetch {
    fn drop(&mut self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }
}

impl Snapshots {
    pub(super) fn new(server: SocketAddr, options: ClientOptions, keeps_messages: bool) -> Self {
        Self { server, options, keeps_messages, current: None }
    }

    /// Begins to fetch a snapshot.
    pub(super) fn fetch(&mut self) {
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let (sender, result) = sync_channel(1);
        self.current = Some(Fetch { result, is_cancelled: Arc::clone(&is_cancelled) });
        let (server, options, keeps_messages) = (self.server, self.options, self.keeps_messages);
        let work = move || {
            let (mut messages, clock) = (Vec::new(), Clock::monotonic());
            let began = clock.stamp();
            let snapshot = fetch_snapshot(
                server,
                options,
                || clock.nanos_between(began, clock.stamp()),
                || is_cancelled.load(Ordering::Relaxed),
                |message| {
                    if keeps_messages {
                        let length = u16::try_from(message.len()).unwrap_or(u16::MAX);
                        messages.extend_from_slice(&length.to_be_bytes());
                        messages.extend_from_slice(message);
                    }
                },
            );
            let fetched = |snapshot| Fetched { snapshot: Box::new(snapshot), messages };
            // Nobody waits for a fetch that was cancelled.
            let _ = sender.send(snapshot.map(fetched));
        };
        // Without a thread the fetch has no result, and the session tries again.
        let _ = thread::Builder::new().name("glimpse".to_owned()).spawn(work);
    }

    /// Whether a fetch is under way.
    pub(super) fn is_fetching(&self) -> bool {
        self.current.is_some()
    }

    /// The result of the fetch, once.
    pub(super) fn result(&mut self) -> Option<Result<Fetched, String>> {
        let received = self.current.as_ref()?.result.try_recv();
        if let Err(TryRecvError::Empty) = received {
            return None;
        }
        self.current = None;
        let failed = |error: GlimpseError| format!("snapshot: {error}");
        Some(match received {
            Ok(result) => result.map_err(failed),
            Err(_) => Err(format!("snapshot: {}: cannot start a thread for it", self.server)),
        })
    }

    /// The session needs no snapshot any more.
    pub(super) fn cancel(&mut self) {
        self.current = None;
    }
}
