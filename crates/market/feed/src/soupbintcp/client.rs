//! The client of a SoupBinTCP session.
//!
//! Protocol: [`Client::connected`] puts the login request into the output. The server accepts it
//! with the number of the next message; the client numbers sequenced messages from there. After a
//! lost connection, [`Client::resume`] has the session and the next number, and the next call of
//! `connected` requests them.

use nanotape_types::Alpha;
use nanotape_wire::soupbintcp::{
    ClientHeartbeat, ClientHeartbeatFields, LoginRequest, LoginRequestFields, LogoutRequestFields,
    Message, RejectReason, format_number, parse_number,
};

use super::{
    HEARTBEAT_NS, MAX_MESSAGE_BYTES, OutputFull, SILENCE_NS, Violation,
    stream::{Input, Output},
};

/// How a client logs in, and its bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClientOptions {
    /// Username, padded on the right.
    pub username: Alpha<6>,
    /// Password, padded on the right.
    pub password: Alpha<10>,
    /// Milliseconds after which the server closes a silent connection, for servers of version 4.10.
    /// `None`: the login request of 3.00 and 4.00, which has no such field. Up to 99,999.
    pub heartbeat_timeout_ms: Option<u32>,
    /// Maximum bytes of the output; at least [`ClientOptions::LEAST_OUTPUT_BYTES`].
    pub output_bytes: usize,
    /// Time without sending, after which the client sends a heartbeat.
    pub heartbeat_ns: u64,
    /// Time without receiving, after which the client closes the connection.
    pub silence_ns: u64,
}

impl ClientOptions {
    /// Room for a login request, a heartbeat and a logout request.
    pub const LEAST_OUTPUT_BYTES: usize = 64;
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            username: Alpha::new([b' '; 6]),
            password: Alpha::new([b' '; 10]),
            heartbeat_timeout_ms: None,
            output_bytes: 64 << 10,
            heartbeat_ns: HEARTBEAT_NS,
            silence_ns: SILENCE_NS,
        }
    }
}

/// Where a login continues. Store it to continue after a restart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resume {
    /// The session; blank for the current one.
    pub session: Alpha<10>,
    /// Number of the next wanted message. 1 is the first, 0 the newest.
    pub next: u64,
}

impl Resume {
    /// The current session from its first message.
    pub const BEGINNING: Self = Self { session: Alpha::new([b' '; 10]), next: 1 };
    /// The current session from the next message that the server generates.
    pub const NEWEST: Self = Self { session: Alpha::new([b' '; 10]), next: 0 };
}

/// What arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClientEvent<'a> {
    /// The login was accepted. If `next` is greater than `requested`, the messages between them are
    /// lost.
    Accepted {
        /// The session that was joined, as the server wrote it.
        session: Alpha<10>,
        /// The requested number.
        requested: u64,
        /// Number of the next message.
        next: u64,
    },
    /// A message of the session.
    Sequenced {
        /// Its number.
        number: u64,
        /// Its bytes.
        message: &'a [u8],
    },
    /// A message without a number.
    Unsequenced(&'a [u8]),
    /// Text for users.
    Debug(&'a [u8]),
    /// A packet of a type that the protocol does not list; it is skipped.
    Unknown(u8),
}

/// Why a client closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientClosed {
    /// The server refused the login.
    #[error("login rejected: {}", rejection(*.0))]
    Rejected(RejectReason),
    /// The server ended the session: there are no more messages.
    #[error("end of session")]
    EndOfSession,
    /// The client logged out, and the server closed the connection.
    #[error("logged out")]
    LoggedOut,
    /// Nothing arrived for the time of a dead link.
    #[error("link dead: nothing received for {} ms", *.silent_ns / 1_000_000)]
    Silence {
        /// How long nothing arrived.
        silent_ns: u64,
    },
    /// The stream ended without an end of session.
    #[error("connection lost before the end of the session")]
    ConnectionLost,
    /// The server broke the protocol.
    #[error("protocol violation: {0}")]
    Violation(#[from] Violation),
}

fn rejection(reason: RejectReason) -> String {
    match reason {
        RejectReason::NotAuthorised => "username or password not accepted".to_owned(),
        RejectReason::SessionNotAvailable => "session not available".to_owned(),
        RejectReason::Unknown(code) => format!("unknown reason {:?}", code.get() as char),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Disconnected,
    LoggingIn,
    Streaming,
    LoggingOut,
    Closed(ClientClosed),
}

/// The client of one session, over any number of connections.
#[derive(Clone, Debug)]
pub struct Client {
    input: Input,
    link: Link,
}

/// The state of a client besides the packet that it reads.
#[derive(Clone, Debug)]
struct Link {
    options: ClientOptions,
    state: State,
    resume: Resume,
    output: Output,
    sent_ns: u64,
    received_ns: u64,
}

impl Client {
    /// A client without a connection.
    pub fn new(options: ClientOptions, resume: Resume) -> Self {
        let most = options.output_bytes.max(ClientOptions::LEAST_OUTPUT_BYTES);
        let (state, output) = (State::Disconnected, Output::new(most));
        let link = Link { options, state, resume, output, sent_ns: 0, received_ns: 0 };
        Self { input: Input::default(), link }
    }

    /// Reports a new connection: forgets the previous one and puts a login request into the output.
    pub fn connected(&mut self, now_ns: u64) {
        self.input.clear();
        self.link.log_in(now_ns);
    }

    /// Reports the end of the stream.
    pub fn disconnected(&mut self) {
        match self.link.state {
            State::LoggingOut => self.link.close(ClientClosed::LoggedOut),
            State::LoggingIn | State::Streaming => self.link.close(ClientClosed::ConnectionLost),
            State::Disconnected | State::Closed(_) => {}
        }
    }

    /// Takes bytes of the stream, and calls `event` for what they contain.
    pub fn receive(
        &mut self,
        mut bytes: &[u8],
        now_ns: u64,
        mut event: impl FnMut(ClientEvent<'_>),
    ) {
        if !bytes.is_empty() {
            self.link.received_ns = now_ns;
        }
        while self.link.is_open() {
            // Each packet ends its borrow of the input before the next one begins.
            let mut rest: &[u8] = bytes;
            match self.input.next(&mut rest) {
                Ok(Some(packet)) => {
                    if let Err(violation) = self.link.packet(packet, &mut event) {
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

    /// Sends a heartbeat if one is due, and closes a dead link.
    pub fn poll(&mut self, now_ns: u64) {
        self.link.poll(now_ns);
    }

    /// The time of the next [`Client::poll`]; `None` without a connection.
    pub fn next_deadline(&self) -> Option<u64> {
        let link = &self.link;
        let silence = link.received_ns.saturating_add(link.options.silence_ns);
        let heartbeat = link.heartbeat_due().unwrap_or(u64::MAX);
        link.is_open().then_some(silence.min(heartbeat))
    }

    /// Puts a message without a number into the output.
    pub fn send_unsequenced(&mut self, message: &[u8], now_ns: u64) -> Result<(), OutputFull> {
        self.link.send(b'U', message, now_ns)
    }

    /// Puts text for users into the output.
    pub fn send_debug(&mut self, text: &[u8], now_ns: u64) -> Result<(), OutputFull> {
        self.link.send(b'+', text, now_ns)
    }

    /// Requests the end of the connection. Messages arrive until the server closes it.
    pub fn log_out(&mut self, now_ns: u64) -> Result<(), OutputFull> {
        if matches!(self.link.state, State::LoggingIn | State::Streaming) {
            self.link.output.push(&LogoutRequestFields {}.encode())?;
            self.link.sent_ns = now_ns;
            self.link.state = State::LoggingOut;
        }
        Ok(())
    }

    /// Bytes for the server.
    pub fn output(&self) -> &[u8] {
        self.link.output.bytes()
    }

    /// Reports that the first `count` bytes of the output were sent.
    pub fn sent(&mut self, count: usize, now_ns: u64) {
        self.link.output.sent(count);
        if count > 0 {
            self.link.sent_ns = now_ns;
        }
    }

    /// Where a later login continues.
    pub fn resume(&self) -> Resume {
        self.link.resume
    }

    /// Whether the login was accepted and the connection is open.
    pub fn is_logged_in(&self) -> bool {
        self.link.state == State::Streaming
    }

    /// Why the client closed; the caller then closes the connection.
    pub fn closed(&self) -> Option<ClientClosed> {
        match self.link.state {
            State::Closed(why) => Some(why),
            _ => None,
        }
    }
}

impl Link {
    fn is_open(&self) -> bool {
        matches!(self.state, State::LoggingIn | State::Streaming | State::LoggingOut)
    }

    fn close(&mut self, why: ClientClosed) {
        self.state = State::Closed(why);
        self.output.clear();
    }

    fn log_in(&mut self, now_ns: u64) {
        self.output.clear();
        let number = format_number(self.resume.next).unwrap_or(Alpha::new([b' '; 20]));
        let timeout = self.options.heartbeat_timeout_ms.and_then(|ms| format_number(ms.into()));
        let timeout: Option<Alpha<5>> = timeout;
        let request = LoginRequestFields {
            username: self.options.username,
            password: self.options.password,
            requested_session: self.resume.session,
            requested_sequence_number: number,
            heartbeat_timeout: timeout.as_ref().map_or(&[], |text| text.as_bytes()),
        };
        let mut buffer = [0; LoginRequest::LEN + 5];
        // The buffer has the length of the longest request, and the output was cleared.
        if let Ok(packet) = request.encode(&mut buffer) {
            let _ = self.output.push(packet);
        }
        (self.state, self.sent_ns, self.received_ns) = (State::LoggingIn, now_ns, now_ns);
    }

    fn packet(
        &mut self,
        packet: &[u8],
        event: &mut impl FnMut(ClientEvent<'_>),
    ) -> Result<(), Violation> {
        let message = Message::decode(packet)?;
        let is_logging_in = self.state == State::LoggingIn;
        match message {
            Message::DebugText(text) => event(ClientEvent::Debug(text.text())),
            Message::ServerHeartbeat(_) => {}
            Message::Unknown(_) => event(ClientEvent::Unknown(packet[2])),
            Message::LoginRejected(rejected) if is_logging_in => {
                self.close(ClientClosed::Rejected(rejected.reject_reason()));
            }
            Message::LoginAccepted(accepted) if is_logging_in => {
                let next = parse_number(accepted.sequence_number().as_bytes())
                    .filter(|&next| next > 0)
                    .ok_or(Violation::Number(b'A'))?;
                let (session, requested) = (accepted.session(), self.resume.next);
                self.resume = Resume { session, next };
                self.state = State::Streaming;
                event(ClientEvent::Accepted { session, requested, next });
            }
            // A server may answer the login after the client has logged out.
            Message::LoginAccepted(_) | Message::LoginRejected(_)
                if self.state == State::LoggingOut => {}
            Message::SequencedData(data) if !is_logging_in => {
                let number = self.resume.next;
                let next = number.checked_add(1).ok_or(Violation::NumbersExhausted)?;
                event(ClientEvent::Sequenced { number, message: data.message() });
                self.resume.next = next;
            }
            Message::UnsequencedData(data) if !is_logging_in => {
                event(ClientEvent::Unsequenced(data.message()));
            }
            Message::EndOfSession(_) if !is_logging_in => self.close(ClientClosed::EndOfSession),
            _ => return Err(Violation::Unexpected(packet[2])),
        }
        Ok(())
    }

    /// When the next heartbeat is due. The output is the sign of life while it is not empty.
    fn heartbeat_due(&self) -> Option<u64> {
        self.output.is_empty().then(|| self.sent_ns.saturating_add(self.options.heartbeat_ns))
    }

    fn poll(&mut self, now_ns: u64) {
        if !self.is_open() {
            return;
        }
        let silent_ns = now_ns.saturating_sub(self.received_ns);
        if silent_ns >= self.options.silence_ns {
            self.close(ClientClosed::Silence { silent_ns });
        } else if self.heartbeat_due().is_some_and(|due| now_ns >= due) {
            const _: () = assert!(ClientHeartbeat::LEN <= ClientOptions::LEAST_OUTPUT_BYTES);
            // The output is empty.
            let _ = self.output.push(&ClientHeartbeatFields {}.encode());
            self.sent_ns = now_ns;
        }
    }

    fn send(&mut self, packet_type: u8, payload: &[u8], now_ns: u64) -> Result<(), OutputFull> {
        if payload.len() > MAX_MESSAGE_BYTES || !self.is_open() {
            return Err(OutputFull { need: 3 + payload.len(), room: 0 });
        }
        self.output.push_payload(packet_type, payload)?;
        self.sent_ns = now_ns;
        Ok(())
    }
}
