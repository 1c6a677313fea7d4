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
        Arc, Mutex, MutexGuard, PoisonError,
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

/// What a plant does that has reported nothing yet.
const STARTS: &str = "starts";

/// The plants of this process: one service of systemd, which is ready when all are, and works while
/// all work that have not ended.
#[derive(Debug)]
pub(super) struct Service {
    /// `None` if no unit of systemd runs the process.
    socket: Option<Socket>,
    watchdog: Option<Duration>,
    seats: Mutex<Vec<Seat>>,
}

/// What is known of one plant.
#[derive(Clone, Default, Debug)]
struct Seat {
    name: String,
    is_ready: bool,
    /// Whether it has worked since the last confirmation.
    works: bool,
    /// Whether it has published its last record. What belongs to it may still work.
    is_ending: bool,
    /// What it does, on one line.
    status: String,
}

/// Notifies systemd while a plant runs. The thread ends with the value.
#[derive(Debug)]
pub(super) struct Notifier(Option<Notifying>);

#[derive(Debug)]
struct Notifying {
    service: Arc<Service>,
    place: usize,
    is_ending: Arc<AtomicBool>,
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Socket {
    socket: UnixDatagram,
    address: SocketAddr,
}

impl Service {
    /// A service of plants with these names. The name of an only one is not shown.
    pub(super) fn of<'n>(names: impl IntoIterator<Item = &'n str>) -> Arc<Self> {
        let seat = |name: &str| Seat {
            name: name.to_owned(),
            status: STARTS.to_owned(),
            ..Seat::default()
        };
        let seats = Mutex::new(names.into_iter().map(seat).collect());
        Arc::new(Self { socket: Socket::of_manager(), watchdog: watchdog(), seats })
    }

    /// Whether every plant has begun to work.
    pub(super) fn is_ready(&self) -> bool {
        self.seats().iter().all(|seat| seat.is_ready)
    }

    /// A plant has begun to work: its ring exists, or its groups are joined.
    fn ready(&self, place: usize) {
        let mut seats = self.seats();
        let was_ready = core::mem::replace(&mut seats[place].is_ready, true);
        if !was_ready && seats.iter().all(|seat| seat.is_ready) {
            self.send("READY=1");
        }
    }

    /// A plant does what `status` says, and may have worked since the last time.
    fn show(&self, place: usize, status: String, works: bool) {
        let mut seats = self.seats();
        let seat = &mut seats[place];
        seat.works |= works;
        if !seat.is_ending {
            seat.status = status;
        }
        let all_work = seats.iter().all(|seat| seat.works || seat.is_ending);
        if all_work {
            seats.iter_mut().for_each(|seat| seat.works = false);
        }
        let watchdog = if self.watchdog.is_some() && all_work { "WATCHDOG=1\n" } else { "" };
        let status = match &seats[..] {
            [seat] => seat.status.clone(),
            seats => {
                let of = |seat: &Seat| format!("{}: {}", seat.name, seat.status);
                seats.iter().map(of).collect::<Vec<_>>().join(" | ")
            }
        };
        self.send(&format!("{watchdog}STATUS={status}"));
    }

    /// A plant has published its last record, and no other session follows.
    fn ending(&self, place: usize) {
        self.ended(place, "waits for its recorder and followers");
    }

    /// A plant has nothing to do: its session was kept to its end before.
    pub(super) fn absent(&self, place: usize) {
        self.ready(place);
        self.ended(place, "its session has ended before");
    }

    /// A plant has ended, or is about to. `status`: how, for a person.
    pub(super) fn ended(&self, place: usize, status: &str) {
        let mut seats = self.seats();
        let seat = &mut seats[place];
        let was_ending = core::mem::replace(&mut seat.is_ending, true);
        status.clone_into(&mut seat.status);
        if !was_ending && seats.iter().all(|seat| seat.is_ending) {
            self.send("STOPPING=1");
        }
    }

    fn send(&self, text: &str) {
        self.socket.iter().for_each(|socket| socket.send(text));
    }

    fn seats(&self) -> MutexGuard<'_, Vec<Seat>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Notifier {
    /// The plant at this place has started.
    pub(super) fn ready(plant: &PlantRun, service: &Arc<Service>, place: usize) -> Self {
        service.ready(place);
        if service.socket.is_none() {
            return Self(None);
        }
        let is_ending = Arc::new(AtomicBool::new(false));
        let (end, ends) = channel();
        let board = plant.board();
        let work = {
            let (service, is_ending) = (Arc::clone(service), Arc::clone(&is_ending));
            move || {
                let period = service.watchdog.unwrap_or(PERIOD);
                let mut alive = Alive::default();
                while ends.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                    let stat = board.sample();
                    // After the last record nothing updates the board; the end has its own limit.
                    let is_alive = alive.is_updated(stat.updated_ns);
                    let works = is_alive || is_ending.load(Ordering::Relaxed);
                    service.show(place, status_of(&stat), works);
                }
            }
        };
        // Without a thread the watchdog of systemd ends the plant.
        let thread = thread::Builder::new().name("systemd".to_owned()).spawn(work).ok();
        let service = Arc::clone(service);
        Self(Some(Notifying { service, place, is_ending, end: Some(end), thread }))
    }

    /// The plant has published its last record; what belongs to it ends too. `is_last`: and no
    /// other session follows.
    pub(super) fn ending(&self, is_last: bool) {
        if let Some(notifying) = &self.0 {
            notifying.is_ending.store(true, Ordering::Relaxed);
            if is_last {
                notifying.service.ending(notifying.place);
            }
        }
    }
}

/// Notifies systemd between two sessions and before the first one, in the thread that waits.
#[derive(Debug)]
pub(super) struct Between<'s> {
    service: &'s Service,
    place: usize,
    next: Deadline,
    /// What was reported to systemd last.
    text: String,
}

impl<'s> Between<'s> {
    pub(super) fn new(service: &'s Service, place: usize) -> Self {
        // A plant that waits for its first session is ready too: its groups are joined.
        service.ready(place);
        Self { service, place, next: Deadline::after(Duration::ZERO), text: String::new() }
    }

    /// The wait has ended, and no session follows.
    pub(super) fn ending(&self) {
        self.service.ending(self.place);
    }

    /// The thread waits for what `text` names, and works.
    pub(super) fn works(&mut self, text: &str) {
        if self.service.socket.is_some() && (self.next.is_over() || self.text != text) {
            text.clone_into(&mut self.text);
            self.next = Deadline::after(self.service.watchdog.unwrap_or(PERIOD));
            self.service.show(self.place, text.to_owned(), true);
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
    fn a_service_is_ready_and_works_when_all_of_its_plants_are() {
        let folder = nanotape_harness::Scratch::folder("systemd-service");
        let path = folder.join("notify");
        let manager = UnixDatagram::bind(&path).unwrap();
        manager.set_nonblocking(true).unwrap();
        let received = || {
            let mut buffer = [0; 256];
            let length = manager.recv(&mut buffer).ok()?;
            Some(String::from_utf8(buffer[..length].to_vec()).unwrap())
        };
        let mut service = Arc::into_inner(Service::of(["a", "b"])).unwrap();
        service.socket = Socket::of(SocketAddr::from_pathname(&path).unwrap());
        service.watchdog = Some(PERIOD);
        service.ready(0);
        assert!(received().is_none() && !service.is_ready());
        service.ready(1);
        assert_eq!((received().as_deref(), service.is_ready()), (Some("READY=1"), true));
        service.ready(1);
        let shown = |place, works| {
            service.show(place, "works".to_owned(), works);
            received().unwrap()
        };
        assert_eq!(shown(0, true), "STATUS=a: works | b: starts");
        assert_eq!(shown(0, true), "STATUS=a: works | b: starts");
        assert_eq!(shown(1, false), "STATUS=a: works | b: works");
        assert_eq!(shown(1, true), "WATCHDOG=1\nSTATUS=a: works | b: works");
        // One that has ended does not keep the others from being confirmed.
        service.ending(1);
        assert_eq!(received(), None);
        assert_eq!(
            shown(0, true),
            "WATCHDOG=1\nSTATUS=a: works | b: waits for its recorder and followers"
        );
        service.ended(1, "failed");
        assert_eq!(
            (service.show(0, "works".to_owned(), true), received().as_deref()),
            ((), Some("WATCHDOG=1\nSTATUS=a: works | b: failed"))
        );
        service.ended(0, "ended");
        assert_eq!(received().as_deref(), Some("STOPPING=1"));
    }

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
