//! Datagrams from the network: multicast groups and plain addresses, in batches, with the kernel's
//! receive times.
//!
//! Where: one [`UdpSocket`] for each line of a session, read by the thread of the plant.
//! Failure: [`UdpError`] names the address and the operation. The kernel drops datagrams if its
//! buffer is full: [`KernelDrops`] counts them.
//! Cost: one system call for one datagram, or for up to [`BATCH`] while they come faster than they
//! are read. No allocation.

#[allow(unsafe_code, reason = "calls of the kernel that no crate of safe calls has")]
mod calls;
mod drops;
mod interfaces;

use std::{
    fmt, io,
    io::IoSliceMut,
    net::{IpAddr, SocketAddr},
    os::fd::{AsFd, AsRawFd, OwnedFd},
    time::Duration,
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        socket::{
            CmsgIterator, ControlMessageOwned, MsgFlags, MultiHeaders, TimestampingFlag, recvmmsg,
            recvmsg, setsockopt, sockopt,
        },
        time::TimeSpec,
    },
};
use socket2::{Domain, InterfaceIndexOrAddress, Protocol, Socket, Type};

pub use drops::KernelDrops;
use interfaces::with_scope;
pub use interfaces::{interface_of_address, interface_of_name, needs_scope};

/// Datagrams that one call receives at most.
pub const BATCH: usize = 64;

/// The payload of the largest datagram: over IPv6. Over IPv4 it is 20 bytes less.
pub const MOST_DATAGRAM_BYTES: usize = 65_527;

/// The largest buffer that can be requested: the kernel doubles it, and counts in 32 bits.
pub const MOST_BUFFER_BYTES: usize = i32::MAX as usize / 2;

/// Bytes of each buffer whose memory is made beforehand: the packets of a line have fewer.
const USUAL_BYTES: usize = 2_048;

/// A receiver of datagrams: the kernel's sockets, or another stack with the same calls.
pub trait DatagramReceiver {
    /// Calls `visit` with the datagrams that are there, without waiting, and returns their number.
    fn receive(&mut self, visit: impl FnMut(Datagram<'_>)) -> Result<usize, UdpError>;
}

/// A datagram.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Its payload.
    pub bytes: &'a [u8],
    /// When the kernel received it, ns since the UNIX epoch; `None` if it did not report the time.
    pub ts_recv_ns: Option<u64>,
    /// When the card received it, by the clock of the card, ns since the UNIX epoch; `None` if it
    /// was not requested, or the card did not report it.
    pub ts_card_ns: Option<u64>,
    /// Whether it was longer than the buffer.
    pub is_truncated: bool,
}

/// What a socket receives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UdpAddress {
    /// A multicast group, or an address of this machine.
    pub address: SocketAddr,
    /// The number of the interface on which a group is joined, and of an address that
    /// [needs one](needs_scope); 0 lets the kernel choose.
    pub interface: u32,
    /// The only sender of the group that is received, if any: an address of the same kind.
    pub sender: Option<IpAddr>,
}

/// The sizes of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UdpOptions {
    /// The size of the kernel's receive buffer to request. The kernel may give less, and
    /// [`MOST_BUFFER_BYTES`] at most.
    pub buffer_bytes: usize,
    /// The largest datagram. Bytes after it are cut off. Memory that no datagram fills is not used.
    pub datagram_bytes: usize,
    /// How long the kernel polls the queue of the card for a socket without a datagram, in us; 0:
    /// the setting of the machine (`net.core.busy_read`). A wait polls if `net.core.busy_poll` is
    /// not 0.
    pub busy_poll_us: u32,
    /// Whether to request the receive times of the card, which has to be set to make them.
    pub card_times: bool,
}

/// A socket that cannot be opened or read.
#[derive(Debug, thiserror::Error)]
#[error("{address}: cannot {operation}: {source}")]
pub struct UdpError {
    /// The address.
    pub address: SocketAddr,
    /// The operation that failed.
    pub operation: &'static str,
    /// The cause.
    pub source: io::Error,
}

/// A socket that receives datagrams.
#[derive(Debug)]
pub struct UdpSocket {
    at: UdpAddress,
    /// The bound address.
    address: SocketAddr,
    socket: OwnedFd,
    buffer_bytes: usize,
    datagram_bytes: usize,
    /// Why the kernel does not prefer busy polling to interrupts, although it was requested.
    prefers_interrupts: Option<io::Error>,
}

/// Receives the datagrams of a socket. It belongs to one thread, and has the memory of a batch.
pub struct UdpReader<'s> {
    socket: &'s UdpSocket,
    headers: MultiHeaders<()>,
    /// The buffers of a batch, each [`stride`] bytes after the one before it.
    buffers: Box<[u8]>,
    control: ControlMessages,
    /// Whether the last call found as many datagrams as it had room for.
    is_burst: bool,
}

/// Memory for the control messages of one datagram.
#[derive(Debug)]
pub struct ControlMessages(Vec<u8>);

/// The times of `SO_TIMESTAMPING`, of which the last one is that of the card.
type CardTimes = [TimeSpec; 3];

impl Default for ControlMessages {
    fn default() -> Self {
        Self(nix::cmsg_space!(TimeSpec, CardTimes))
    }
}

impl Default for UdpOptions {
    fn default() -> Self {
        Self {
            buffer_bytes: 32 << 20,
            datagram_bytes: MOST_DATAGRAM_BYTES,
            busy_poll_us: 0,
            card_times: false,
        }
    }
}

impl UdpSocket {
    /// Binds the address, and joins its group if it is one. Other processes may receive the same
    /// group and port.
    pub fn open(at: &UdpAddress, options: &UdpOptions) -> Result<Self, UdpError> {
        let address = with_scope(at.address, at.interface);
        let failed = |operation| move |source| UdpError { address, operation, source };
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))
            .map_err(failed("make a socket"))?;
        socket.set_nonblocking(true).map_err(failed("make the socket non-blocking"))?;
        if address.is_ipv6() {
            // Otherwise the unspecified address also receives what is for those of IPv4.
            socket.set_only_v6(true).map_err(failed("limit the socket to IPv6"))?;
        }
        request_buffer(&socket, options.buffer_bytes).map_err(failed("set the buffer size"))?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)
            .map_err(|errno| failed("request receive times")(errno.into()))?;
        if options.card_times {
            let flags = TimestampingFlag::SOF_TIMESTAMPING_RX_HARDWARE
                | TimestampingFlag::SOF_TIMESTAMPING_RAW_HARDWARE;
            setsockopt(&socket, sockopt::Timestamping, &flags)
                .map_err(|errno| failed("request receive times of the card")(errno.into()))?;
        }
        let prefers_interrupts = match options.busy_poll_us {
            0 => None,
            most_us => {
                busy_poll(&socket, most_us).map_err(failed("busy poll"))?;
                calls::prefer_busy_poll(&socket).err()
            }
        };
        if address.ip().is_multicast() {
            socket.set_reuse_address(true).map_err(failed("share the port"))?;
            socket.bind(&address.into()).map_err(failed("bind"))?;
            // Otherwise the kernel also passes groups that other sockets of the machine joined.
            let selected = match address {
                SocketAddr::V4(_) => socket.set_multicast_all_v4(false),
                SocketAddr::V6(_) => socket.set_multicast_all_v6(false),
            };
            selected.map_err(failed("select the group"))?;
            join(&socket, at).map_err(failed("join the group"))?;
        } else {
            socket.bind(&address.into()).map_err(failed("bind"))?;
        }
        let local = socket.local_addr().map_err(failed("read the address of"))?;
        // The kernel counts its own overhead, so it reports twice the size that it was given.
        let given = socket.recv_buffer_size().map_err(failed("read the buffer size of"))?;
        Ok(Self {
            at: *at,
            address: local.as_socket().unwrap_or(address),
            socket: socket.into(),
            buffer_bytes: given / 2,
            datagram_bytes: options.datagram_bytes,
            prefers_interrupts,
        })
    }

    /// Joins the group again on the interface with this number, if the socket is for a group and
    /// has lost it: an interface that was removed and made again has no groups. Returns whether it
    /// had lost it.
    pub fn join_again(&self, interface: u32) -> Result<bool, UdpError> {
        if !self.at.address.ip().is_multicast() {
            return Ok(false);
        }
        if let SocketAddr::V6(bound) = self.address
            && ![0, interface].contains(&bound.scope_id())
        {
            // The kernel binds a socket to a link once.
            let what = "the interface was made again, which a group of one link does not survive";
            return Err(self.failed("join the group")(io::Error::other(what)));
        }
        let at = UdpAddress { interface, ..self.at };
        match join(&socket2::SockRef::from(&self.socket), &at) {
            Ok(()) => Ok(true),
            Err(error) if is_joined(&error) => Ok(false),
            Err(error) => Err(self.failed("join the group")(error)),
        }
    }

    /// Receives from this address only, and sends to it. What arrived from others is forgotten.
    pub fn connect(&self, peer: SocketAddr) -> Result<(), UdpError> {
        let socket = socket2::SockRef::from(&self.socket);
        socket.connect(&peer.into()).map_err(self.failed("connect"))?;
        let mut cut = [core::mem::MaybeUninit::uninit(); 1];
        while socket.recv(&mut cut).is_ok() {}
        Ok(())
    }

    /// A reader of this socket, for the thread that receives.
    pub fn reader(&self) -> UdpReader<'_> {
        let stride = stride(self.datagram_bytes);
        let mut buffers = vec![0; BATCH * stride].into_boxed_slice();
        // A first burst would wait for the kernel to make this memory. The rest stays without any.
        for buffer in buffers.chunks_exact_mut(stride) {
            buffer[..self.datagram_bytes.min(USUAL_BYTES)].fill(1);
        }
        UdpReader {
            socket: self,
            headers: MultiHeaders::preallocate(BATCH, Some(nix::cmsg_space!(TimeSpec, CardTimes))),
            buffers,
            control: ControlMessages::default(),
            is_burst: false,
        }
    }

    /// Receives one datagram into a buffer, without waiting; `None` if there is none. A
    /// [reader](Self::reader) receives more of them with fewer calls.
    #[inline]
    pub fn receive<'b>(
        &self,
        buffer: &'b mut [u8],
        control: &mut ControlMessages,
    ) -> Result<Option<Datagram<'b>>, UdpError> {
        let room = buffer.len();
        let mut slices = [IoSliceMut::new(buffer)];
        let control = Some(control.0.as_mut_slice());
        let (fd, flags) = (self.socket.as_raw_fd(), MsgFlags::MSG_DONTWAIT);
        let (length, times, flags) = match recvmsg::<()>(fd, &mut slices, control, flags) {
            Ok(received) => (received.bytes, times_of(received.cmsgs()), received.flags),
            Err(errno) => return self.nothing(errno).map(|()| None),
        };
        let is_truncated = flags.contains(MsgFlags::MSG_TRUNC);
        Ok(Some(Datagram::of(&buffer[..length.min(room)], times, is_truncated)))
    }

    /// The bound address, with the port that the kernel chose if it was 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The size of the kernel's receive buffer.
    pub fn buffer_bytes(&self) -> usize {
        self.buffer_bytes
    }

    /// Why the kernel does not prefer busy polling to the interrupts of the card, if busy polling
    /// was requested: a kernel before 5.11, or a process without the capability `CAP_NET_ADMIN`.
    pub fn prefers_interrupts(&self) -> Option<&io::Error> {
        self.prefers_interrupts.as_ref()
    }

    /// The datagrams that the kernel dropped.
    pub fn kernel_drops(&self) -> Result<KernelDrops, UdpError> {
        let drops = KernelDrops::of(self.socket.as_raw_fd(), self.address.is_ipv6());
        drops.map_err(self.failed("count the drops of"))
    }

    /// Sends a datagram to the address that the socket is [connected](Self::connect) to.
    pub fn send(&self, bytes: &[u8]) -> Result<(), UdpError> {
        let socket = socket2::SockRef::from(&self.socket);
        socket.send(bytes).map(drop).map_err(self.failed("send from"))
    }

    /// Waits until one of the sockets, of which there is at least one, has a datagram, or until the
    /// time is over. More than [`MOST_WAITED`] are not waited for.
    pub fn wait(sockets: &[&Self], most: Duration) -> Result<(), UdpError> {
        let mut polled: [PollFd<'_>; MOST_WAITED] = core::array::from_fn(|place| {
            let place = place.min(sockets.len().saturating_sub(1));
            PollFd::new(sockets[place].socket.as_fd(), PollFlags::POLLIN)
        });
        let used = sockets.len().min(polled.len());
        let timeout = PollTimeout::try_from(most).unwrap_or(PollTimeout::MAX);
        match poll(&mut polled[..used], timeout) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(errno) => Err(sockets[0].failed("wait for")(errno.into())),
        }
    }

    /// No datagram is there, or the socket failed.
    fn nothing(&self, errno: Errno) -> Result<(), UdpError> {
        match errno {
            Errno::EAGAIN | Errno::EINTR => Ok(()),
            errno => Err(self.failed("receive from")(errno.into())),
        }
    }

    fn failed(&self, operation: &'static str) -> impl FnOnce(io::Error) -> UdpError {
        let address = self.address;
        move |source| UdpError { address, operation, source }
    }
}

/// Sockets that [`UdpSocket::wait`] waits for, at most.
pub const MOST_WAITED: usize = 16;

/// Joins the group of an address.
fn join(socket: &Socket, at: &UdpAddress) -> io::Result<()> {
    let UdpAddress { address, interface, sender } = *at;
    match (address.ip(), sender) {
        (group, Some(sender)) => calls::join_source(socket, interface, group, sender),
        (IpAddr::V4(group), None) => {
            socket.join_multicast_v4_n(&group, &InterfaceIndexOrAddress::Index(interface))
        }
        (IpAddr::V6(group), None) => socket.join_multicast_v6(&group, interface),
    }
}

/// Whether a group, or a sender of it, cannot be joined because it is.
fn is_joined(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable)
}

/// Requests a receive buffer of this size, beyond the limit of the machine where the process may.
/// The kernel cuts a large request; what it gave can be read.
fn request_buffer(socket: &Socket, bytes: usize) -> io::Result<()> {
    let bytes = bytes.min(MOST_BUFFER_BYTES);
    match setsockopt(socket, sockopt::RcvBufForce, &bytes) {
        Ok(()) => Ok(()),
        Err(_) => socket.set_recv_buffer_size(bytes),
    }
}

/// Requests that the kernel polls the queue of the card for up to this time.
fn busy_poll(socket: &Socket, most_us: u32) -> io::Result<()> {
    // Above i32::MAX the kernel would find a negative number.
    socket.set_busy_poll(most_us.min(i32::MAX as u32)).map_err(|error| {
        let why = match error.raw_os_error() {
            Some(libc::EPERM) => {
                "a time above net.core.busy_read needs the capability CAP_NET_ADMIN"
            }
            Some(libc::ENOPROTOOPT) => "the kernel is without CONFIG_NET_RX_BUSY_POLL",
            _ => return error,
        };
        io::Error::new(error.kind(), format!("{error}: {why}"))
    })
}

/// Bytes from the beginning of a buffer to the next one: whole lines of the cache.
const fn stride(datagram_bytes: usize) -> usize {
    datagram_bytes.next_multiple_of(64)
}

impl DatagramReceiver for UdpReader<'_> {
    fn receive(&mut self, visit: impl FnMut(Datagram<'_>)) -> Result<usize, UdpError> {
        // The kernel's interface for a batch costs in proportion to its room, also if it is empty.
        let count = match self.is_burst {
            false => self.receive_one(visit)?,
            true => self.receive_batch(visit)?,
        };
        self.is_burst = if self.is_burst { count > 1 } else { count == 1 };
        Ok(count)
    }
}

impl UdpReader<'_> {
    /// Receives a datagram.
    #[inline]
    fn receive_one(&mut self, mut visit: impl FnMut(Datagram<'_>)) -> Result<usize, UdpError> {
        let buffer = &mut self.buffers[..self.socket.datagram_bytes];
        match self.socket.receive(buffer, &mut self.control)? {
            Some(datagram) => {
                visit(datagram);
                Ok(1)
            }
            None => Ok(0),
        }
    }

    /// Receives up to [`BATCH`] datagrams.
    #[inline(never)]
    fn receive_batch(&mut self, mut visit: impl FnMut(Datagram<'_>)) -> Result<usize, UdpError> {
        let mut found = [(0usize, ReceiveTimes::default(), false); BATCH];
        let (room, fd) = (self.socket.datagram_bytes, self.socket.socket.as_raw_fd());
        let stride = stride(room);
        let mut chunks = self.buffers.chunks_exact_mut(stride);
        let mut slices: [[IoSliceMut<'_>; 1]; BATCH] = core::array::from_fn(|_| {
            let buffer = chunks.next().map(|buffer| &mut buffer[..room]);
            [IoSliceMut::new(buffer.unwrap_or_default())]
        });
        let flags = MsgFlags::MSG_DONTWAIT;
        let received = match recvmmsg(fd, &mut self.headers, &mut slices, flags, None) {
            Ok(received) => received,
            Err(errno) => return self.socket.nothing(errno).map(|()| 0),
        };
        let mut count = 0;
        for (found, datagram) in found.iter_mut().zip(received) {
            let times = times_of(datagram.cmsgs());
            let is_truncated = datagram.flags.contains(MsgFlags::MSG_TRUNC);
            *found = (datagram.bytes, times, is_truncated);
            count += 1;
        }
        let buffers = self.buffers.chunks_exact(stride);
        for (buffer, (length, times, is_truncated)) in buffers.zip(found).take(count) {
            visit(Datagram::of(&buffer[..length.min(room)], times, is_truncated));
        }
        Ok(count)
    }
}

/// When the kernel received a datagram, and when the card did, in ns since the UNIX epoch.
#[derive(Clone, Copy, Default)]
struct ReceiveTimes {
    kernel_ns: Option<u64>,
    card_ns: Option<u64>,
}

impl<'b> Datagram<'b> {
    fn of(bytes: &'b [u8], times: ReceiveTimes, is_truncated: bool) -> Self {
        let ReceiveTimes { kernel_ns: ts_recv_ns, card_ns: ts_card_ns } = times;
        Self { bytes, ts_recv_ns, ts_card_ns, is_truncated }
    }
}

/// The receive times among the control messages of a datagram.
fn times_of(messages: nix::Result<CmsgIterator<'_>>) -> ReceiveTimes {
    let mut times = ReceiveTimes::default();
    for message in messages.into_iter().flatten() {
        match message {
            ControlMessageOwned::ScmTimestampns(time) => times.kernel_ns = Some(nanos_of(time)),
            ControlMessageOwned::ScmTimestampsns(of) => {
                times.card_ns = Some(nanos_of(of.hw_raw)).filter(|&nanos| nanos > 0);
            }
            _ => {}
        }
    }
    times
}

fn nanos_of(time: TimeSpec) -> u64 {
    let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec()).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

impl fmt::Debug for UdpReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UdpReader").field("socket", self.socket).finish_non_exhaustive()
    }
}
