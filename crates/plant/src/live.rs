//! A live session as a source of events: UDP lines, a re-request server, and the clock.
//!
//! Where: the input of a plant with `[input.live]`. The [`NasdaqReceiver`] decides what to deliver
//! and what to request; this module gives it packets and the time, and sends its requests.
//! Bounds: the buffers of the sockets, and the memory of the session's settings.
//! Failure: an address that cannot be opened or read is a [`UdpError`]. Whatever is missing or
//! damaged in packets is reported to the handler, and reading continues.
//! Cost: no allocation after the start; one system call for up to 64 packets of a line.

use std::{net::SocketAddrV4, time::Duration};

use nanotape_clock::{Clock, Timeline};
use nanotape_feed::{
    CaptureSummary, DayEnd, DaySummary, Delivery, EventSink,
    session::{Line, MAX_LINES, NasdaqReceiver, PacketOrigin, RequestSettings, SessionSettings},
    source::Progress,
    udp::{DatagramReceiver as _, UdpAddress, UdpError, UdpOptions, UdpSocket},
};
use nanotape_market::{EventHandler, EventSource};

use crate::config::LiveConfig;

/// How long the source waits without a packet before the plant shows that it is alive, and checks
/// for a requested stop.
const PATIENCE_NS: u64 = 100_000_000;

/// A live session.
#[derive(Debug)]
pub struct LiveSource {
    name: String,
    lines: Vec<UdpSocket>,
    requests: Option<RequestSocket>,
    receiver: NasdaqReceiver,
    timeline: Timeline,
    spins: bool,
    bytes: u64,
}

/// The socket of the requests and their answers.
#[derive(Debug)]
struct RequestSocket {
    socket: UdpSocket,
    server: SocketAddrV4,
}

impl LiveSource {
    /// Opens the sockets of the lines, and joins their groups.
    pub fn open(config: &LiveConfig) -> Result<Self, UdpError> {
        let options = UdpOptions { buffer_bytes: config.buffer_bytes, ..UdpOptions::default() };
        let open = |address, interface| {
            UdpSocket::open(&UdpAddress { address, interface, sender: None }, &options)
        };
        let addresses = config.lines();
        let lines = addresses.iter().map(|&(address, interface)| open(address, interface));
        let lines = lines.collect::<Result<Vec<_>, _>>()?;
        let requests = match config.request_server {
            Some(server) => {
                Some(RequestSocket { socket: open(UNSPECIFIED, *server.ip())?, server })
            }
            None => None,
        };
        let names: Vec<String> = lines.iter().map(|line| line.address().to_string()).collect();
        let settings = SessionSettings {
            lines: lines.len(),
            join: config.join.into(),
            hold_ns: u64::try_from(config.hold.as_nanos()).unwrap_or(u64::MAX),
            requests: requests.as_ref().map(|_| RequestSettings::default()),
            ..SessionSettings::default()
        };
        Ok(Self {
            name: names.join(" and "),
            lines,
            requests,
            receiver: NasdaqReceiver::new(settings),
            timeline: Timeline::new(Clock::calibrate()),
            spins: config.spin,
            bytes: 0,
        })
    }

    /// The addresses of the lines.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bound addresses of the lines, with the ports that the system chose.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddrV4> + '_ {
        self.lines.iter().map(UdpSocket::address)
    }

    /// The sizes of the kernel's receive buffers of the lines.
    pub fn buffer_bytes(&self) -> impl Iterator<Item = usize> + '_ {
        self.lines.iter().map(UdpSocket::buffer_bytes)
    }

    /// The bytes received so far. The total is unknown.
    pub fn progress(&self) -> Progress {
        Progress { done_bytes: self.bytes, total_bytes: None }
    }

    /// Waits for a packet, or until the session has something to do.
    fn wait(&self, now_ns: u64) -> Result<(), UdpError> {
        let due_ns = self.receiver.deadline_ns().saturating_sub(now_ns).min(PATIENCE_NS);
        if self.spins || due_ns < 1_000_000 {
            core::hint::spin_loop();
            return Ok(());
        }
        let Some(first) = self.lines.first() else { return Ok(()) };
        let mut sockets = [first; MAX_LINES + 1];
        let answers = self.requests.as_ref().map(|requests| &requests.socket);
        let all = self.lines.iter().chain(answers);
        let count = sockets.iter_mut().zip(all).map(|(place, socket)| *place = socket).count();
        UdpSocket::wait(&sockets[..count], Duration::from_nanos(due_ns))
    }

    fn summary(&self, delivery: &Delivery<impl Sized>) -> CaptureSummary {
        let lines = self.addresses().enumerate().filter_map(|(index, address)| {
            Line::new(index).map(|line| (address, *self.receiver.line(line)))
        });
        CaptureSummary {
            session: self.receiver.session(),
            lines: lines.collect(),
            first_message: delivery.first,
            messages: delivery.messages,
            missing: delivery.missing,
            ..CaptureSummary::default()
        }
    }
}

/// Any address and port of this machine.
const UNSPECIFIED: SocketAddrV4 = SocketAddrV4::new(std::net::Ipv4Addr::UNSPECIFIED, 0);

impl EventSource for LiveSource {
    type Summary = DaySummary;
    type Error = UdpError;

    fn read(
        &mut self,
        handler: &mut impl EventHandler,
        mut progress: impl FnMut(&Self),
    ) -> Result<DaySummary, UdpError> {
        let mut delivery = Delivery::new(EventSink(handler));
        let lines = self.lines.iter().enumerate().filter_map(|(index, socket)| {
            Line::new(index).map(|line| (PacketOrigin::Line(line), socket.reader()))
        });
        let requests = self.requests.as_ref();
        let answers = requests.map(|to| (PacketOrigin::Retransmission, to.socket.reader()));
        let mut readers: Vec<_> = lines.chain(answers).collect();
        let mut shown_ns = 0;
        let end = loop {
            let now_ns = self.timeline.now_ns();
            let mut count = 0;
            for (origin, reader) in &mut readers {
                count += reader.receive(|datagram| {
                    self.bytes += datagram.bytes.len() as u64;
                    let times = (datagram.ts_recv_ns.unwrap_or(now_ns), now_ns);
                    self.receiver.packet(*origin, times, datagram.bytes, &mut delivery);
                })?;
            }
            if self.receiver.deadline_ns() <= now_ns {
                self.receiver.tick(now_ns, &mut delivery);
            }
            for (first, messages) in delivery.take_requests() {
                let mut packet = [0; 64];
                if let Some(to) = requests
                    && let Some(length) = self.receiver.encode_request(first, messages, &mut packet)
                {
                    to.socket.send_to(&packet[..length], to.server)?;
                }
            }
            if delivery.flow.is_break() {
                break DayEnd::Stopped;
            }
            if delivery.has_ended {
                let offset = self.receiver.position().expected;
                break DayEnd::EndOfSession { offset, bytes_follow: false };
            }
            if now_ns.saturating_sub(shown_ns) >= PATIENCE_NS {
                shown_ns = now_ns;
                progress(self);
                if count == 0 && delivery.sink.0.idle().is_break() {
                    break DayEnd::Stopped;
                }
            }
            if count == 0 {
                self.wait(now_ns)?;
            }
        };
        self.receiver.close(self.timeline.now_ns(), &mut delivery);
        Ok(DaySummary {
            records: delivery.messages,
            bytes: self.bytes,
            end,
            fault: None,
            capture: Some(Box::new(self.summary(&delivery))),
        })
    }
}
