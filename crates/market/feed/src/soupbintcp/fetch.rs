//! Messages of a session by their numbers, as packets of its lines.
//!
//! Failure: a server of another session, or one that does not begin with the requested message,
//! ends the fetch before its first message. What was passed on before a failure is good.

use std::{
    cell::RefCell,
    mem,
    net::SocketAddr,
    ops::{ControlFlow, Range},
    time::Duration,
};

use nanotape_types::Alpha;
use nanotape_wire::moldudp64::{DownstreamHeader, DownstreamHeaderFields};

use super::{
    Client, ClientEvent, ClientOptions, Resume, SessionEnd, is_same_session, other_session,
    run_session,
};
use crate::udp::MOST_DATAGRAM_BYTES;

/// Bytes of a packet: no datagram is longer.
const PACKET_BYTES: usize = MOST_DATAGRAM_BYTES;

/// A packet of empty messages has a count too.
const _: () = assert!(PACKET_BYTES / 2 < u16::MAX as usize);

/// A server has time for so many messages together: one that sends a few in each time never ends.
pub const MESSAGES_IN_TIME: u64 = 64;

/// Why messages cannot be fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The session ended before the last message.
    #[error("{end}, before message {number}")]
    Session {
        /// Why it ended.
        end: SessionEnd,
        /// The number of the next message.
        number: u64,
    },
    /// The server has another session.
    #[error("{}", other_session(*found, *expected))]
    OtherSession {
        /// The session of the server.
        found: Alpha<10>,
        /// The session of the lines.
        expected: Alpha<10>,
    },
    /// The server does not begin with the message that was requested.
    #[error("the server begins with message {found}, expected {expected}")]
    OtherStart {
        /// The number of its first message.
        found: u64,
        /// The number that was requested.
        expected: u64,
    },
    /// No packet of a line has such a message.
    #[error("message {number} has {bytes} bytes, which no packet has")]
    Long {
        /// Its number.
        number: u64,
        /// Its length.
        bytes: usize,
    },
}

/// Fetches the messages with these numbers from a server, and passes packets of MoldUDP64 on, each
/// with the number of the next message. `numbers` then begins with the next one. `server` is an
/// address, and the time for a connection. `now_ns` is any clock that does not go back, in ns;
/// `is_cancelled` gets the time since which the server has sent fewer than [`MESSAGES_IN_TIME`].
pub fn fetch_messages(
    server: (SocketAddr, Duration),
    options: ClientOptions,
    session: Alpha<10>,
    numbers: &mut Range<u64>,
    now_ns: impl Fn() -> u64,
    is_cancelled: impl Fn(u64) -> bool,
    pass: impl FnMut(Vec<u8>, u64),
) -> Result<(), FetchError> {
    let mut client = Client::new(options, Resume { session, next: numbers.start });
    let (since_ns, in_time) = (now_ns(), 0);
    let blocks = Vec::new();
    let packets = Packets { session, numbers, blocks, count: 0, since_ns, in_time, pass };
    let packets = RefCell::new(packets);
    let mut error = None;
    let is_over = || {
        let mut packets = packets.borrow_mut();
        // Nothing of a server that stops waits here.
        packets.pass();
        is_cancelled(packets.since_ns)
    };
    let end = run_session(server, &mut client, &now_ns, is_over, |event| {
        let mut packets = packets.borrow_mut();
        match event {
            ClientEvent::Accepted { session: found, .. } if !is_same_session(found, session) => {
                error = Some(FetchError::OtherSession { found, expected: session });
            }
            ClientEvent::Accepted { requested: expected, next: found, .. } if found != expected => {
                error = Some(FetchError::OtherStart { found, expected });
            }
            ClientEvent::Sequenced { number, message } => {
                packets.in_time += 1;
                if packets.in_time == MESSAGES_IN_TIME {
                    (packets.since_ns, packets.in_time) = (now_ns(), 0);
                }
                if !packets.add(message) {
                    error = Some(FetchError::Long { number, bytes: message.len() });
                }
            }
            _ => {}
        }
        if error.is_some() || packets.numbers.is_empty() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    let mut packets = packets.into_inner();
    packets.pass();
    match error {
        Some(error) => Err(error),
        None if packets.numbers.is_empty() => Ok(()),
        None => Err(FetchError::Session { end, number: packets.numbers.start }),
    }
}

/// Collects messages to packets.
struct Packets<'n, P> {
    session: Alpha<10>,
    /// The number of the next message, up to that after the last one.
    numbers: &'n mut Range<u64>,
    /// Messages that were not passed on, each with its length before it, and their number.
    blocks: Vec<u8>,
    count: u16,
    /// When the time of the server began, and its messages since then.
    since_ns: u64,
    in_time: u64,
    pass: P,
}

impl<P: FnMut(Vec<u8>, u64)> Packets<'_, P> {
    /// Takes the next message; `false` if no packet has room for it.
    fn add(&mut self, message: &[u8]) -> bool {
        let (block, most) = (2 + message.len(), PACKET_BYTES - DownstreamHeader::LEN);
        if block > most {
            return false;
        }
        if self.blocks.len() + block > most {
            self.pass();
        }
        self.blocks.extend_from_slice(&(message.len() as u16).to_be_bytes());
        self.blocks.extend_from_slice(message);
        self.count += 1;
        self.numbers.start += 1;
        true
    }

    /// Passes on what there is.
    fn pass(&mut self) {
        let message_count = mem::take(&mut self.count);
        if message_count == 0 {
            return;
        }
        let sequence_number = self.numbers.start - u64::from(message_count);
        let session = self.session;
        let header = DownstreamHeaderFields { session, sequence_number, message_count };
        let mut packet = Vec::with_capacity(DownstreamHeader::LEN + self.blocks.len());
        packet.extend_from_slice(&header.encode());
        packet.append(&mut self.blocks);
        (self.pass)(packet, self.numbers.start);
    }
}
