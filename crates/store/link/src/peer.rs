//! One side of a connection: a state machine that reads and writes frames.
//!
//! Protocol: both sides send a hello at once. After the other side's hello, the connection is open:
//! frames carry the seed of both nonces. A side that has sent nothing for a heartbeat sends one. A
//! side that has received nothing for [`SILENT_HEARTBEATS`] of the other side's heartbeats closes.
//! A side that closes says why in its last frame, if there is room for it.
//! Bounds: before the hello, a side accepts no more bytes than a hello has, for a limited time.

use std::time::Duration;

use crate::{
    ClockOffset, FRAME_HEADER_BYTES, FrameError, HELLO_MAX_BYTES, Hello, HelloError,
    buffer::Buffer,
    frame::{self, BYE, HEARTBEAT, HELLO, Split},
    offset::{Offsets, RoundTrip},
};

/// Kinds from here on are those of the link itself.
pub const FIRST_RESERVED_KIND: u16 = 0xff00;

/// Heartbeats of the other side without a byte from it, after which it counts as gone.
const SILENT_HEARTBEATS: u64 = 5;

/// Bytes of a heartbeat: three times.
const HEARTBEAT_BYTES: usize = 24;

/// The longest reason of a side that closes, in bytes.
const BYE_MAX_BYTES: usize = 256;

/// Who has opened the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// This side.
    Connecting,
    /// The other side.
    Accepting,
}

/// Two clocks, read at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Now {
    /// Nanoseconds of a clock that is never set, since any moment.
    pub monotonic_ns: u64,
    /// Nanoseconds since the UNIX epoch.
    pub utc_ns: u64,
}

/// The settings of a side.
#[derive(Clone, Debug)]
pub struct PeerConfig {
    /// What it states of itself; its nonce must be another random number for each connection.
    pub hello: Hello,
    /// How long to wait for the hello of the other side.
    pub patience: Duration,
    /// Bytes of its buffer for what is to be sent. At least one frame of its own longest payload.
    pub outgoing_bytes: usize,
}

/// Why a connection ended.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// Bytes that are not the next frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The other side is not one for this link.
    #[error(transparent)]
    Hello(#[from] HelloError),
    /// No hello in time.
    #[error("no hello within {} ms", waited.as_millis())]
    NoHello {
        /// How long this side waited.
        waited: Duration,
    },
    /// Nothing came for long.
    #[error("nothing received for {} ms", waited.as_millis())]
    Silent {
        /// How long.
        waited: Duration,
    },
    /// A frame of the link itself that has another length, or that comes at the wrong time.
    #[error("unexpected frame of kind {kind:#06x} with {length} bytes")]
    Unexpected {
        /// Its kind.
        kind: u16,
        /// Bytes of its payload.
        length: usize,
    },
    /// The other side closed, for this reason.
    #[error("closed by the other side: {reason}")]
    Closed {
        /// The reason.
        reason: String,
    },
}

/// There is no room for a frame now: send what waits first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no room for a frame of {length} bytes: {room} are free")]
pub struct Full {
    /// Bytes of the payload.
    pub length: usize,
    /// Bytes that a payload can have now.
    pub room: usize,
}

/// What came from the other side.
#[derive(PartialEq, Eq, Debug)]
pub enum Arrival<'peer> {
    /// The connection is open. Comes once, first.
    Open(&'peer Hello),
    /// A frame of the caller's.
    Frame {
        /// Its kind.
        kind: u16,
        /// Its payload.
        payload: &'peer [u8],
    },
    /// Nothing more, for now.
    Nothing,
}

/// One side of a connection.
#[derive(Debug)]
pub struct Peer {
    role: Role,
    own: Hello,
    patience_ns: u64,
    incoming: Buffer,
    outgoing: Buffer,
    /// The hello of the other side, once it came.
    other: Option<Hello>,
    seed: u32,
    /// The number of the next frame to receive and to send.
    next_in: u64,
    next_out: u64,
    begun_ns: u64,
    /// When bytes came last, and when a heartbeat was made last.
    received_ns: u64,
    beat_ns: u64,
    /// The last heartbeat of the other side: when it left there, and when it arrived here.
    echo: Option<(u64, u64)>,
    offsets: Offsets,
    /// Bytes of the last frame that was returned, which are consumed by the next call.
    returned: usize,
}

impl Peer {
    /// A side of a new connection. Its hello waits to be sent.
    ///
    /// # Panics
    ///
    /// If the name is not one that [`Hello::name`] allows.
    pub fn new(role: Role, config: PeerConfig, now: Now) -> Self {
        let PeerConfig { hello, patience, outgoing_bytes } = config;
        assert!(Hello::is_name(&hello.name), "{:?} is not a name", hello.name);
        let most = hello.most_payload as usize;
        let mut peer = Self {
            role,
            patience_ns: u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX),
            incoming: Buffer::new(FRAME_HEADER_BYTES + most.max(HELLO_MAX_BYTES)),
            outgoing: Buffer::new(
                outgoing_bytes.max(FRAME_HEADER_BYTES + HELLO_MAX_BYTES + BYE_MAX_BYTES),
            ),
            own: hello,
            other: None,
            seed: 0,
            next_in: 0,
            next_out: 0,
            begun_ns: now.monotonic_ns,
            received_ns: now.monotonic_ns,
            beat_ns: now.monotonic_ns,
            echo: None,
            offsets: Offsets::default(),
            returned: 0,
        };
        let mut bytes = [0; HELLO_MAX_BYTES];
        let length = peer.own.encode(&mut bytes);
        let _ = peer.put(HELLO, &[&bytes[..length]]);
        peer
    }

    /// Space for bytes that arrive. Empty only if a frame is complete.
    #[inline]
    pub fn space(&mut self) -> &mut [u8] {
        self.release();
        let most = match &self.other {
            Some(_) => self.own.most_payload as usize,
            // No frame but a hello is allowed yet.
            None => HELLO_MAX_BYTES,
        };
        let waiting = self.incoming.waiting().len();
        let least = (FRAME_HEADER_BYTES + most).saturating_sub(waiting);
        let space = self.incoming.space(least);
        let room = if self.other.is_some() { space.len() } else { least.min(space.len()) };
        &mut space[..room]
    }

    /// So many bytes have arrived in the space.
    #[inline]
    pub fn arrived(&mut self, count: usize, now: Now) {
        self.incoming.filled(count);
        if count > 0 {
            self.received_ns = now.monotonic_ns;
        }
    }

    /// The next event. After an error the connection is over; what is to be sent can still be sent.
    /// `now` is a time after the bytes have arrived: the bounds of the clocks follow from it.
    #[inline]
    pub fn next(&mut self, now: Now) -> Result<Arrival<'_>, LinkError> {
        loop {
            self.release();
            let most = match &self.other {
                Some(_) => self.own.most_payload as usize,
                None => HELLO_MAX_BYTES,
            };
            let found = frame::split(self.incoming.waiting(), self.seed, self.next_in, most)?;
            let Split::Frame { kind, length } = found else { return Ok(Arrival::Nothing) };
            self.next_in += 1;
            self.returned = FRAME_HEADER_BYTES + length;
            if self.other.is_none() || kind >= FIRST_RESERVED_KIND {
                if self.take(kind, now)? {
                    // It is set now.
                    return Ok(self.other.as_ref().map_or(Arrival::Nothing, Arrival::Open));
                }
                continue;
            }
            let payload = &self.incoming.waiting()[FRAME_HEADER_BYTES..self.returned];
            return Ok(Arrival::Frame { kind, payload });
        }
    }

    /// Handles a frame of the link itself; returns whether the connection is open now.
    #[cold]
    fn take(&mut self, kind: u16, now: Now) -> Result<bool, LinkError> {
        let payload = &self.incoming.waiting()[FRAME_HEADER_BYTES..self.returned];
        let unexpected = LinkError::Unexpected { kind, length: payload.len() };
        match (kind, &self.other) {
            (HELLO, None) => {
                let other = Hello::decode(payload, self.own.service)?;
                let nonces = match self.role {
                    Role::Connecting => [self.own.nonce, other.nonce],
                    Role::Accepting => [other.nonce, self.own.nonce],
                };
                self.seed =
                    nanotape_shm::checksum_bytes(0, nonces.map(u64::to_le_bytes).as_flattened());
                self.other = Some(other);
                Ok(true)
            }
            (HEARTBEAT, Some(_)) => {
                let Some(times) = payload.first_chunk::<HEARTBEAT_BYTES>() else {
                    return Err(unexpected);
                };
                if payload.len() != HEARTBEAT_BYTES {
                    return Err(unexpected);
                }
                let mut times = times.as_chunks::<8>().0.iter().map(|it| u64::from_le_bytes(*it));
                let mut time = || times.next().unwrap_or_default();
                let (left_there_ns, left_ns, arrived_there_ns) = (time(), time(), time());
                let is_first = self.echo.replace((left_there_ns, now.utc_ns)).is_none();
                // Zero: it had no heartbeat of this side yet.
                if left_ns > 0 {
                    let arrived_ns = now.utc_ns;
                    let trip = RoundTrip { left_ns, arrived_there_ns, left_there_ns, arrived_ns };
                    self.offsets.add(&trip, now.monotonic_ns);
                }
                if is_first {
                    // The other side knows the offset at once then.
                    self.beat(now);
                }
                Ok(false)
            }
            (BYE, _) => {
                let reason = &payload[..payload.len().min(BYE_MAX_BYTES)];
                let reason = String::from_utf8_lossy(reason);
                let is_plain = |letter: &char| !letter.is_control();
                Err(LinkError::Closed { reason: reason.chars().filter(is_plain).collect() })
            }
            _ => Err(unexpected),
        }
    }

    /// The frame that was returned last is no longer needed.
    #[inline]
    fn release(&mut self) {
        self.incoming.consume(std::mem::take(&mut self.returned));
    }

    /// Bytes that the payload of a frame can have now; 0 before the connection is open.
    #[inline]
    pub fn room(&self) -> usize {
        let Some(other) = &self.other else { return 0 };
        // A heartbeat and the reason of a close always find room.
        let kept = 3 * FRAME_HEADER_BYTES + HEARTBEAT_BYTES + BYE_MAX_BYTES;
        self.outgoing.room().saturating_sub(kept).min(other.most_payload as usize)
    }

    /// Adds a frame to what is to be sent: a payload of these parts. The kind is one below
    /// [`FIRST_RESERVED_KIND`].
    #[inline]
    pub fn send(&mut self, kind: u16, parts: &[&[u8]]) -> Result<(), Full> {
        debug_assert!(kind < FIRST_RESERVED_KIND, "{kind:#06x} is a kind of the link");
        let (length, room) = (parts.iter().map(|part| part.len()).sum(), self.room());
        if length > room {
            return Err(Full { length, room });
        }
        self.put(kind, parts)
    }

    #[inline]
    fn put(&mut self, kind: u16, parts: &[&[u8]]) -> Result<(), Full> {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let whole = FRAME_HEADER_BYTES + length;
        let room = self.outgoing.room();
        if whole > room {
            return Err(Full { length, room: room.saturating_sub(FRAME_HEADER_BYTES) });
        }
        let frame = &mut self.outgoing.space(whole)[..whole];
        let mut at = FRAME_HEADER_BYTES;
        for part in parts {
            frame[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        frame::seal(frame, self.seed, self.next_out, kind);
        self.outgoing.filled(whole);
        self.next_out += 1;
        Ok(())
    }

    /// Bytes to send, in order.
    #[inline]
    pub fn outgoing(&self) -> &[u8] {
        self.outgoing.waiting()
    }

    /// So many of them were sent.
    #[inline]
    pub fn sent(&mut self, count: usize) {
        self.outgoing.consume(count);
    }

    /// Moves bytes to a peer in the same process, as many as it has space for: a connection
    /// without sockets, for simulations and tests.
    pub fn pass_to(&mut self, other: &mut Peer, now: Now) {
        let space = other.space();
        let count = space.len().min(self.outgoing().len());
        space[..count].copy_from_slice(&self.outgoing()[..count]);
        other.arrived(count, now);
        self.sent(count);
    }

    /// Does what is due at a time: a heartbeat, or the end of a connection whose other side is
    /// silent. To be called at [`due_ns`](Self::due_ns).
    #[inline]
    pub fn tick(&mut self, now: Now) -> Result<(), LinkError> {
        if now.monotonic_ns < self.due_ns() { Ok(()) } else { self.do_due(now) }
    }

    #[cold]
    fn do_due(&mut self, now: Now) -> Result<(), LinkError> {
        let Some(other) = &self.other else {
            let waited = Duration::from_nanos(now.monotonic_ns.saturating_sub(self.begun_ns));
            return Err(LinkError::NoHello { waited });
        };
        let silent_ns = now.monotonic_ns.saturating_sub(self.received_ns);
        if silent_ns >= other.heartbeat_ns.saturating_mul(SILENT_HEARTBEATS) {
            return Err(LinkError::Silent { waited: Duration::from_nanos(silent_ns) });
        }
        if now.monotonic_ns.saturating_sub(self.beat_ns) >= self.own.heartbeat_ns {
            self.beat(now);
        }
        Ok(())
    }

    /// Sends a heartbeat now, such as to learn the offset of the other clock soon. Without room
    /// there is enough to send.
    pub fn beat(&mut self, now: Now) {
        if self.other.is_none() {
            return;
        }
        let (left_there, arrived) = self.echo.unwrap_or_default();
        let times = [now.utc_ns, left_there, arrived].map(u64::to_le_bytes);
        let _ = self.put(HEARTBEAT, &[times.as_flattened()]);
        self.beat_ns = now.monotonic_ns;
    }

    /// The monotonic time of the next [`tick`](Self::tick).
    #[inline]
    pub fn due_ns(&self) -> u64 {
        let Some(other) = &self.other else {
            return self.begun_ns.saturating_add(self.patience_ns);
        };
        let silent_ns = other.heartbeat_ns.saturating_mul(SILENT_HEARTBEATS);
        let silent = self.received_ns.saturating_add(silent_ns);
        self.beat_ns.saturating_add(self.own.heartbeat_ns).min(silent)
    }

    /// Ends the connection: the other side gets the reason with the last bytes to send.
    pub fn close(&mut self, reason: &str) {
        let mut end = reason.len().min(BYE_MAX_BYTES);
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        let _ = self.put(BYE, &[&reason.as_bytes()[..end]]);
    }

    /// The epoch that this side has stated.
    pub fn own_epoch(&self) -> u64 {
        self.own.epoch
    }

    /// The hello of the other side, once the connection is open.
    pub fn other(&self) -> Option<&Hello> {
        self.other.as_ref()
    }

    /// How far the other clock is ahead of this one; `None` before a heartbeat came back.
    pub fn offset(&self, now: Now) -> Option<ClockOffset> {
        self.offsets.at(now.monotonic_ns)
    }
}
