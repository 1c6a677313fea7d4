//! Where datagrams go: to a socket, or into a capture.

use std::{
    fmt,
    io::{self, Write},
    net::{Ipv4Addr, SocketAddrV4},
};

pub use nanotape_wire::capture::CaptureFormat;
use nanotape_wire::capture::{CaptureWriter, FrameWriter, LinkType, MOST_RECORD_BYTES};
use socket2::{Domain, Protocol, Socket, Type};

use crate::server::ExchangeError;

/// Bytes of the send buffer of a socket. The system may give less.
const SEND_BUFFER: usize = 4 << 20;

/// The Ethernet address of the sender of every frame: a local one.
const SOURCE_MAC: [u8; 6] = [0x02, 0, 0, 0, 0, 1];

/// A datagram that leaves.
#[derive(Clone, Copy, Debug)]
pub struct Departure<'a> {
    /// When it leaves, in nanoseconds since the UNIX epoch. Only a capture needs it.
    pub ts_ns: u64,
    /// The sender. Only a capture needs it.
    pub source: SocketAddrV4,
    /// The receiver, or a group of them.
    pub destination: SocketAddrV4,
    /// The VLAN tags of the frame. Only a capture needs them.
    pub vlans: &'a [u16],
    /// The payload of UDP.
    pub payload: &'a [u8],
}

/// Takes datagrams.
pub trait Transport: fmt::Debug {
    /// Whether datagrams wait for their time and can be lost, as on a network. An error of another
    /// transport ends the sending.
    const IS_LIVE: bool;

    /// Takes a datagram.
    fn send(&mut self, departure: Departure<'_>) -> io::Result<()>;
}

/// Sends datagrams to the network. Those of multicast leave by one interface.
#[derive(Debug)]
pub struct SocketTransport {
    socket: Socket,
}

impl SocketTransport {
    /// Opens a socket. Multicast packets leave by the interface with this address, and `ttl` is the
    /// number of routers that they pass, plus one; 0 keeps them on the machine.
    pub fn open(interface: Ipv4Addr, ttl: u32) -> Result<Self, ExchangeError> {
        let failed =
            |operation| move |source| ExchangeError::Socket { operation, interface, source };
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP));
        let socket = socket.map_err(failed("open a socket"))?;
        let chosen = socket.set_multicast_if_v4(&interface);
        chosen.map_err(failed("choose the interface for multicast packets"))?;
        socket.set_multicast_ttl_v4(ttl).map_err(failed("set the TTL of multicast packets"))?;
        socket.set_multicast_loop_v4(true).map_err(failed("loop multicast packets back"))?;
        // A smaller buffer than requested shows as lateness.
        let _ = socket.set_send_buffer_size(SEND_BUFFER);
        Ok(Self { socket })
    }
}

impl Transport for SocketTransport {
    const IS_LIVE: bool = true;

    fn send(&mut self, departure: Departure<'_>) -> io::Result<()> {
        self.socket.send_to(departure.payload, &departure.destination.into()).map(drop)
    }
}

/// Writes datagrams into a capture, as Ethernet frames.
pub struct CaptureTransport<W> {
    output: W,
    writer: CaptureWriter,
    format: CaptureFormat,
    time_to_live: u8,
    /// The number of the next IPv4 packet.
    identification: u16,
    frame: Vec<u8>,
    record: Vec<u8>,
}

impl<W: Write> CaptureTransport<W> {
    /// Begins a capture.
    pub fn new(mut output: W, format: CaptureFormat, time_to_live: u8) -> io::Result<Self> {
        let writer = CaptureWriter::new(format, LinkType::ETHERNET, 1);
        let (frame, mut record) = (vec![0; 1 << 17], vec![0; MOST_RECORD_BYTES as usize]);
        let length = writer.header(&mut record).ok_or(io::ErrorKind::InvalidInput)?;
        output.write_all(&record[..length])?;
        Ok(Self { output, writer, format, time_to_live, identification: 0, frame, record })
    }
}

impl<W: Write> Transport for CaptureTransport<W> {
    const IS_LIVE: bool = false;

    fn send(&mut self, departure: Departure<'_>) -> io::Result<()> {
        let Departure { ts_ns, source, destination, vlans, payload } = departure;
        let time_to_live = self.time_to_live;
        let frame =
            FrameWriter { source, destination, source_mac: SOURCE_MAC, vlans, time_to_live };
        let length =
            frame.write(self.identification, payload, &mut self.frame).ok_or_else(|| {
                let bytes = payload.len();
                let problem = format!("{destination}: {bytes} bytes do not fit in a UDP datagram");
                io::Error::new(io::ErrorKind::InvalidInput, problem)
            })?;
        self.identification = self.identification.wrapping_add(1);
        let record = self.writer.packet(ts_ns, 0, &self.frame[..length], &mut self.record);
        // A frame always fits in a record, so the time does not.
        let length = record.ok_or_else(|| {
            let problem = format!("time {ts_ns} ns is after 2106, the end of pcap: use pcapng");
            io::Error::new(io::ErrorKind::InvalidInput, problem)
        })?;
        self.output.write_all(&self.record[..length])
    }
}

impl<W> fmt::Debug for CaptureTransport<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaptureTransport").field("format", &self.format).finish_non_exhaustive()
    }
}
