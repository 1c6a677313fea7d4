//! The server's side of one SoupBinTCP connection.
//!
//! Protocol: the client logs in with a session and a number. The server checks both, replays the
//! messages from that number out of a [`MessageStore`], and continues with messages that the store
//! gets later.
//! Bounds: messages are taken from the store only while the output has room, so a slow client costs
//! one output. A client that takes no byte of it for [`ServerOptions::stall_ns`] is disconnected.

use nanotape_types::Alpha;
use nanotape_wire::soupbintcp::{
    EndOfSessionFields, LoginAcceptedFields, LoginRejectedFields, LoginRequest, Message,
    RejectReason, ServerHeartbeatFields, format_number, parse_number,
};

use super::{
    HEARTBEAT_NS, LOGIN_NS, MAX_MESSAGE_BYTES, MAX_PACKET_BYTES, OutputFull, SILENCE_NS, Violation,
    is_blank, is_same_session,
    stream::{Input, Output},
};

/// The messages of one session, by number.
pub trait MessageStore {
    /// The name of the session.
    fn session(&self) -> Alpha<10>;

    /// Number of the message that will be generated next; 1 if there is none yet.
    fn next(&self) -> u64;

    /// Whether the session has no messages from [`next`](Self::next) on.
    fn is_over(&self) -> bool;

    /// The message of a number from 1 to `next() - 1`; `None` if it is not stored.
    fn message(&mut self, number: u64) -> Option<&[u8]>;

    /// A login with valid username, password and session; the numbers are read after this call. A
    /// store of snapshots takes one here.
    fn opened(&mut self) {}
}

/// What a server accepts, and its bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServerOptions {
    /// The accepted username and password, without regard to case. `None` accepts any.
    pub credentials: Option<(Alpha<6>, Alpha<10>)>,
    /// Maximum bytes of the output; at least [`MAX_PACKET_BYTES`], so that any message fits.
    pub output_bytes: usize,
    /// Time without sending, after which the server sends a heartbeat.
    pub heartbeat_ns: u64,
    /// Time without receiving, after which the server closes the connection. A client of version
    /// 4.10 can request another time.
    pub silence_ns: u64,
    /// Time from the connection to the login request.
    pub login_ns: u64,
    /// Time in which the client takes no byte of the output, after which it is disconnected.
    pub stall_ns: u64,
}

impl ServerOptions {
    /// The times that a client of version 4.10 can request for its own silence.
    const SILENCE_RANGE_NS: core::ops::RangeInclusive<u64> = 1_000_000_000..=99_999_000_000;
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            credentials: None,
            output_bytes: 256 << 10,
            heartbeat_ns: HEARTBEAT_NS,
            silence_ns: SILENCE_NS,
            login_ns: LOGIN_NS,
            stall_ns: SILENCE_NS,
        }
    }
}

/// What arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServerEvent<'a> {
    /// A login was accepted.
    Accepted {
        /// The requested number.
        requested: u64,
        /// Number of the first message that the client gets.
        next: u64,
    },
    /// A message without a number.
    Unsequenced(&'a [u8]),
    /// Text for users.
    Debug(&'a [u8]),
    /// A packet of a type that the protocol does not list; it is skipped.
    Unknown(u8),
}

/// Why a server closed a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerClosed {
    /// The login was refused for this reason.
    #[error("login rejected: {0:?}")]
    Rejected(RejectReason),
    /// No login request arrived in time.
    #[error("no login request after {} ms", *.waited_ns / 1_000_000)]
    LoginTimeout {
        /// Time since the connection.
        waited_ns: u64,
    },
    /// The client logged out.
    #[error("logged out")]
    LoggedOut,
    /// The client got the last message and the end of the session.
    #[error("end of session")]
    EndOfSession,
    /// Nothing arrived for the time of a dead link.
    #[error("link dead: nothing received for {} ms", *.silent_ns / 1_000_000)]
    Silence {
        /// How long nothing arrived.
        silent_ns: u64,
    },
    /// The client took no byte of the output for too long.
    #[error("slow client: {unsent_bytes} bytes and {unsent_messages} more messages are unsent")]
    Slow {
        /// Bytes in the output that the client did not take.
        unsent_bytes: u64,
        /// Messages in the store that were not in the output yet.
        unsent_messages: u64,
    },
    /// The stream ended without a logout.
    #[error("connection lost")]
    ConnectionLost,
    /// The store does not have a message, or the message is too long for a packet.
    #[error("message {number} is not stored, or does not fit in a packet")]
    Missing {
        /// Its number.
        number: u64,
    },
    /// The client broke the protocol.
    #[error("protocol violation: {0}")]
    Violation(#[from] Violation),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    WaitingForLogin,
    Streaming,
    /// The output is sent before the connection ends.
    Closing(ServerClosed),
}

/// The server's side of one connection.
#[derive(Clone, Debug)]
pub struct Server {
    input: Input,
    link: Link,
}

/// The state of a server besides the packet that it reads.
#[derive(Clone, Debug)]
struct Link {
    options: ServerOptions,
    state: State,
    output: Output,
    /// Number of the next message for the client.
    next: u64,
    connected_ns: u64,
    sent_ns: u64,
    received_ns: u64,
    /// When the client last took a byte, or when the output last became non-empty.
    progress_ns: u64,
}

impl Server {
    /// The server's side of a connection that was just accepted.
    pub fn new(options: ServerOptions, now_ns: u64) -> Self {
        let link = Link {
            options,
            state: State::WaitingForLogin,
            output: Output::new(options.output_bytes.max(MAX_PACKET_BYTES)),
            next: 1,
            connected_ns: now_ns,
            sent_ns: now_ns,
            received_ns: now_ns,
            progress_ns: now_ns,
        };
        Self { input: Input::default(), link }
    }

    /// Takes bytes of the stream, and calls `event` for what they contain.
    pub fn receive(
        &mut self,
        mut bytes: &[u8],
        now_ns: u64,
        store: &mut impl MessageStore,
        mut event: impl FnMut(ServerEvent<'_>),
    ) {
        if !bytes.is_empty() {
            self.link.received_ns = now_ns;
        }
        while !self.link.is_closing() {
            let mut rest = bytes;
            match self.input.next(&mut rest) {
                Ok(Some(packet)) => {
                    if let Err(violation) = self.link.packet(packet, now_ns, store, &mut event) {
                        self.link.close(violation.into());
                    }
                }
                Ok(None) => break,
                Err(violation) => self.link.close(violation.into()),
            }
            let left = rest.len();
            bytes = &bytes[bytes.len() - left..];
        }
    }

    /// Fills the output from the store, sends a heartbeat if one is due, and closes a connection
    /// whose time is over. Call it after `receive` and `sent`, when the store has new messages, and
    /// at the next deadline.
    pub fn poll(&mut self, now_ns: u64, store: &mut impl MessageStore) {
        self.link.poll(now_ns, store);
    }

    /// The time of the next [`Server::poll`]; `None` after the end of the connection.
    pub fn next_deadline(&self) -> Option<u64> {
        self.link.next_deadline()
    }

    /// Reports the end of the stream.
    pub fn disconnected(&mut self) {
        if !self.link.is_closing() {
            self.link.state = State::Closing(ServerClosed::ConnectionLost);
        }
        self.link.output.clear();
    }

    /// Puts a message without a number into the output; clients of 4.00 and later take it.
    pub fn send_unsequenced(&mut self, message: &[u8], now_ns: u64) -> Result<(), OutputFull> {
        self.link.send(b'U', message, now_ns)
    }

    /// Puts text for users into the output.
    pub fn send_debug(&mut self, text: &[u8], now_ns: u64) -> Result<(), OutputFull> {
        self.link.send(b'+', text, now_ns)
    }

    /// Bytes for the client.
    pub fn output(&self) -> &[u8] {
        self.link.output.bytes()
    }

    /// Reports that the first `count` bytes of the output were sent.
    pub fn sent(&mut self, count: usize, now_ns: u64) {
        if count > 0 {
            self.link.output.sent(count);
            (self.link.sent_ns, self.link.progress_ns) = (now_ns, now_ns);
        }
    }

    /// Number of the next message that the client gets.
    pub fn next_number(&self) -> u64 {
        self.link.next
    }

    /// Whether the login was accepted and the connection goes on.
    pub fn is_logged_in(&self) -> bool {
        self.link.state == State::Streaming
    }

    /// Why the connection ends. The caller sends what is left of the output first.
    pub fn closed(&self) -> Option<ServerClosed> {
        match self.link.state {
            State::Closing(why) => Some(why),
            _ => None,
        }
    }

    /// Whether the caller can close the connection: it ends, and the output is empty.
    pub fn is_finished(&self) -> bool {
        self.link.is_closing() && self.link.output.is_empty()
    }
}

impl Link {
    fn is_closing(&self) -> bool {
        matches!(self.state, State::Closing(_))
    }

    /// Ends the connection at once: the output is dropped.
    fn close(&mut self, why: ServerClosed) {
        self.output.clear();
        self.state = State::Closing(why);
    }

    fn packet(
        &mut self,
        packet: &[u8],
        now_ns: u64,
        store: &mut impl MessageStore,
        event: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), Violation> {
        let is_waiting = self.state == State::WaitingForLogin;
        match Message::decode(packet)? {
            Message::LoginRequest(login) if is_waiting => {
                return self.log_in(login, now_ns, store, event);
            }
            // Login must be the first packet.
            _ if is_waiting => return Err(Violation::Unexpected(packet[2])),
            Message::DebugText(text) => event(ServerEvent::Debug(text.text())),
            Message::UnsequencedData(data) => event(ServerEvent::Unsequenced(data.message())),
            Message::ClientHeartbeat(_) => {}
            Message::LogoutRequest(_) => self.close(ServerClosed::LoggedOut),
            Message::Unknown(_) => event(ServerEvent::Unknown(packet[2])),
            _ => return Err(Violation::Unexpected(packet[2])),
        }
        Ok(())
    }

    fn log_in(
        &mut self,
        login: LoginRequest<'_>,
        now_ns: u64,
        store: &mut impl MessageStore,
        event: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), Violation> {
        let requested = parse_number(login.requested_sequence_number().as_bytes())
            .ok_or(Violation::Number(b'L'))?;
        let is_known = self.options.credentials.is_none_or(|(username, password)| {
            is_same_word(username.as_bytes(), login.username().as_bytes())
                && is_same_word(password.as_bytes(), login.password().as_bytes())
        });
        let session = login.requested_session();
        if !is_known {
            self.reject(RejectReason::NotAuthorised, now_ns);
            return Ok(());
        }
        if !is_blank(session) && !is_same_session(session, store.session()) {
            self.reject(RejectReason::SessionNotAvailable, now_ns);
            return Ok(());
        }
        if let Some(ms) = parse_number(login.heartbeat_timeout()).filter(|&ms| ms > 0) {
            let range = ServerOptions::SILENCE_RANGE_NS;
            let silence_ns = ms.saturating_mul(1_000_000);
            self.options.silence_ns = silence_ns.clamp(*range.start(), *range.end());
        }
        store.opened();
        let end = store.next();
        let next = if requested == 0 { end } else { requested.min(end) };
        let sequence_number = format_number(next).ok_or(Violation::NumbersExhausted)?;
        let accepted = LoginAcceptedFields { session: store.session(), sequence_number };
        self.put(now_ns, |output| output.push(&accepted.encode()));
        (self.next, self.state) = (next, State::Streaming);
        event(ServerEvent::Accepted { requested, next });
        Ok(())
    }

    fn reject(&mut self, reason: RejectReason, now_ns: u64) {
        let rejected = LoginRejectedFields { reject_reason: reason };
        self.put(now_ns, |output| output.push(&rejected.encode()));
        self.state = State::Closing(ServerClosed::Rejected(reason));
    }

    /// Puts a packet into the output; returns whether it fitted.
    fn put(
        &mut self,
        now_ns: u64,
        push: impl FnOnce(&mut Output) -> Result<(), OutputFull>,
    ) -> bool {
        let was_empty = self.output.is_empty();
        let fits = push(&mut self.output).is_ok();
        if fits {
            self.sent_ns = now_ns;
        }
        if fits && was_empty {
            self.progress_ns = now_ns;
        }
        fits
    }

    fn poll(&mut self, now_ns: u64, store: &mut impl MessageStore) {
        if self.state == State::Streaming {
            self.fill(now_ns, store);
        }
        let stalled_ns = now_ns.saturating_sub(self.progress_ns);
        if !self.output.is_empty() && stalled_ns >= self.options.stall_ns {
            let unsent_bytes = self.output.bytes().len() as u64;
            let unsent_messages = store.next().saturating_sub(self.next);
            match self.state {
                // The reason for the end stays.
                State::Closing(_) => self.output.clear(),
                _ => self.close(ServerClosed::Slow { unsent_bytes, unsent_messages }),
            }
            return;
        }
        match self.state {
            State::WaitingForLogin => {
                let waited_ns = now_ns.saturating_sub(self.connected_ns);
                if waited_ns >= self.options.login_ns {
                    self.close(ServerClosed::LoginTimeout { waited_ns });
                }
            }
            State::Streaming => {
                let silent_ns = now_ns.saturating_sub(self.received_ns);
                if silent_ns >= self.options.silence_ns {
                    self.close(ServerClosed::Silence { silent_ns });
                } else if self.output.is_empty()
                    && now_ns.saturating_sub(self.sent_ns) >= self.options.heartbeat_ns
                {
                    self.put(now_ns, |output| output.push(&ServerHeartbeatFields {}.encode()));
                }
            }
            State::Closing(_) => {}
        }
    }

    /// Moves messages from the store to the output while they fit.
    fn fill(&mut self, now_ns: u64, store: &mut impl MessageStore) {
        while self.next < store.next() {
            let number = self.next;
            let message = store.message(number).filter(|m| m.len() <= MAX_MESSAGE_BYTES);
            let Some(message) = message else {
                return self.close(ServerClosed::Missing { number });
            };
            if !self.put(now_ns, |output| output.push_payload(b'S', message)) {
                return;
            }
            self.next += 1;
        }
        if store.is_over()
            && self.put(now_ns, |output| output.push(&EndOfSessionFields {}.encode()))
        {
            self.state = State::Closing(ServerClosed::EndOfSession);
        }
    }

    fn next_deadline(&self) -> Option<u64> {
        let stall = if self.output.is_empty() {
            None
        } else {
            Some(self.progress_ns.saturating_add(self.options.stall_ns))
        };
        let own = match self.state {
            State::WaitingForLogin => Some(self.connected_ns.saturating_add(self.options.login_ns)),
            State::Streaming => {
                let silence = self.received_ns.saturating_add(self.options.silence_ns);
                let heartbeat = self.sent_ns.saturating_add(self.options.heartbeat_ns);
                Some(if self.output.is_empty() { silence.min(heartbeat) } else { silence })
            }
            State::Closing(_) => None,
        };
        own.into_iter().chain(stall).min()
    }

    fn send(&mut self, packet_type: u8, payload: &[u8], now_ns: u64) -> Result<(), OutputFull> {
        if payload.len() > MAX_MESSAGE_BYTES || self.state != State::Streaming {
            return Err(OutputFull { need: 3 + payload.len(), room: 0 });
        }
        let mut outcome = Ok(());
        self.put(now_ns, |output| {
            outcome = output.push_payload(packet_type, payload);
            outcome
        });
        outcome
    }
}

/// Whether two words are equal without padding and case.
fn is_same_word(left: &[u8], right: &[u8]) -> bool {
    left.trim_ascii().eq_ignore_ascii_case(right.trim_ascii())
}
