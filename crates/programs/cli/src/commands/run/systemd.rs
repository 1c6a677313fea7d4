//! Notifications for systemd: the plant is ready, works, and is about to end (sd_notify(3)).
//!
//! Protocol: systemd gives the socket in `NOTIFY_SOCKET`, and the time of its watchdog in
//! `WATCHDOG_USEC`. A thread of its own sends the notifications, so that the plant makes no system
//! call for them. It confirms that the plant works only if the plant has updated its board since
//! the last time.
//! Failure: a notification that cannot be sent is left out; systemd then acts as it is configured.

use std::{
    env,
    ffi::OsStr,
    os::{
        linux::net::SocketAddrExt as _,
        unix::{
            ffi::OsStrExt as _,
            net::{SocketAddr, UnixDatagram},
        },
    },
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use nanotape_board::PlantStat;
use nanotape_plant::PlantRun;
use nanotape_tape::Deadline;

/// Time between two reports of what the plant does, without a watchdog.
const PERIOD: Duration = Duration::from_secs(5);

/// Notifies systemd, if a unit of systemd runs the plant. The thread ends with the value.
#[derive(Debug)]
pub(super) struct Notifier(Option<Notifying>);

#[derive(Debug)]
struct Notifying {
    socket: Arc<Socket>,
    is_ending: Arc<AtomicBool>,
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Socket {
    socket: UnixDatagram,
    address: SocketAddr,
}

impl Notifier {
    /// The plant has started.
    pub(super) fn ready(plant: &PlantRun) -> Self {
        let Some(socket) = Socket::of_manager() else { return Self(None) };
        let socket = Arc::new(socket);
        socket.send("READY=1");
        let is_ending = Arc::new(AtomicBool::new(false));
        let (end, ends) = channel();
        let (board, watchdog) = (plant.board(), watchdog());
        let work = {
            let (socket, is_ending) = (Arc::clone(&socket), Arc::clone(&is_ending));
            move || {
                let period = watchdog.unwrap_or(PERIOD);
                let mut alive = Alive::default();
                while ends.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                    let stat = board.look();
                    // After the last record nothing updates the board; the end has its own limit.
                    let is_alive = alive.is_updated(stat.updated_ns);
                    let works = is_alive || is_ending.load(Ordering::Relaxed);
                    let watchdog = if watchdog.is_some() && works { "WATCHDOG=1\n" } else { "" };
                    socket.send(&format!("{watchdog}STATUS={}", status_of(&stat)));
                }
            }
        };
        // Without a thread the watchdog of systemd ends the plant.
        let thread = thread::Builder::new().name("systemd".to_owned()).spawn(work).ok();
        Self(Some(Notifying { socket, is_ending, end: Some(end), thread }))
    }

    /// The plant has published its last record; what belongs to it ends too. `is_last`: and no
    /// other session follows.
    pub(super) fn ending(&self, is_last: bool) {
        if let Some(notifying) = &self.0 {
            notifying.is_ending.store(true, Ordering::Relaxed);
            if is_last {
                notifying.socket.send("STOPPING=1");
            }
        }
    }
}

/// Notifies systemd between two sessions and before the first one, in the thread that waits.
#[derive(Debug)]
pub(super) struct Between {
    socket: Option<Socket>,
    watchdog: Option<Duration>,
    next: Deadline,
    /// What systemd was told last.
    text: String,
}

impl Between {
    pub(super) fn new() -> Self {
        let next = Deadline::after(Duration::ZERO);
        let socket = Socket::of_manager();
        // A plant that waits for its first session is ready too: its groups are joined.
        socket.iter().for_each(|socket| socket.send("READY=1"));
        Self { socket, watchdog: watchdog(), next, text: String::new() }
    }

    /// The wait has ended, and no session follows.
    pub(super) fn ending(&self) {
        self.socket.iter().for_each(|socket| socket.send("STOPPING=1"));
    }

    /// The thread waits for what `text` names, and works.
    pub(super) fn works(&mut self, text: &str) {
        if let Some(socket) = &self.socket
            && (self.next.is_over() || self.text != text)
        {
            text.clone_into(&mut self.text);
            self.next = Deadline::after(self.watchdog.unwrap_or(PERIOD));
            let watchdog = if self.watchdog.is_some() { "WATCHDOG=1\n" } else { "" };
            socket.send(&format!("{watchdog}STATUS={text}"));
        }
    }
}

impl Drop for Notifying {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported.
            let _ = thread.join();
        }
    }
}

impl Socket {
    /// The socket of the manager that runs this process; `None` without one.
    fn of_manager() -> Option<Self> {
        address_of(&env::var_os("NOTIFY_SOCKET")?).and_then(Self::of)
    }

    fn of(address: SocketAddr) -> Option<Self> {
        let socket = UnixDatagram::unbound().ok()?;
        // A manager that does not read must not stop the plant.
        socket.set_nonblocking(true).ok()?;
        Some(Self { socket, address })
    }

    fn send(&self, text: &str) {
        let _ = self.socket.send_to_addr(text.as_bytes(), &self.address);
    }
}

/// The address of a socket by its path, or by its abstract name after an `@`.
fn address_of(name: &OsStr) -> Option<SocketAddr> {
    match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name).ok(),
        None => SocketAddr::from_pathname(name).ok(),
    }
}

/// Half the time of the watchdog, if it is for this process.
fn watchdog() -> Option<Duration> {
    let number = |name| env::var(name).ok()?.parse::<u64>().ok();
    let is_for_other =
        number("WATCHDOG_PID").is_some_and(|pid| pid != u64::from(std::process::id()));
    let micros = number("WATCHDOG_USEC").filter(|&micros| micros > 0 && !is_for_other)?;
    Some(Duration::from_micros(micros / 2))
}

/// Whether a plant updates its board.
#[derive(Debug, Default)]
struct Alive {
    last_ns: u64,
}

impl Alive {
    /// Whether this time of the last update is another one than before.
    fn is_updated(&mut self, updated_ns: u64) -> bool {
        core::mem::replace(&mut self.last_ns, updated_ns) != updated_ns
    }
}

/// What the plant does, on one line.
fn status_of(stat: &PlantStat) -> String {
    let mut status = format!("{} messages, {} records", stat.messages, stat.total_records());
    if let Some(live) = &stat.live {
        let open = live.gaps.declared.saturating_sub(live.gaps.closed);
        status += &format!("; next message {}, {open} gaps open", live.position.expected);
        status += if live.position.is_suspect { ", books unreliable since a loss" } else { "" };
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plant_that_does_not_update_its_board_does_not_work() {
        let mut alive = Alive::default();
        assert_eq!(
            [5, 6, 6, 7].map(|updated_ns| alive.is_updated(updated_ns)),
            [true, true, false, true]
        );
    }

    #[test]
    fn a_socket_has_a_path_or_an_abstract_name() {
        let path = address_of("/run/systemd/notify".as_ref()).unwrap();
        assert_eq!(path.as_pathname(), Some("/run/systemd/notify".as_ref()));
        let abstract_name = address_of("@notify".as_ref()).unwrap();
        assert_eq!(abstract_name.as_abstract_name(), Some(&b"notify"[..]));
    }
}
