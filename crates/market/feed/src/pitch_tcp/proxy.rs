//! A session with a Gap Request Proxy, without a socket: login, requests, responses, heartbeats.
//!
//! Protocol: the client logs in, and then requests messages of a unit. The proxy accepts or refuses
//! each request; the messages come on the gap answers' groups, or on the connection itself with
//! their numbers. Both sides send a unit without messages each second in which they send nothing
//! else.
//! Bounds: a unit of 64 KiB of input; [`MOST_OPEN`] requests without a response.
//! Failure: what breaks the protocol, a login that is refused, and silence close the session. The
//! owner connects again.

use nanotape_wire::{
    framing::{
        numbered::{PacketFraming as _, PacketKind},
        pitch::{Pitch, PitchUnit, counted, gap_request},
    },
    pitch_tcp::{GapStatus, LoginStatus, Message},
};

use super::stream::{GapLogin, PitchClosed, UnitStream};

/// Requests without a response, at most: the oldest makes room.
const MOST_OPEN: usize = 256;

/// Bytes of output that wait, at most.
const MOST_OUTPUT: usize = 64 << 10;

/// What a proxy sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProxyEvent<'a> {
    /// It accepted the login.
    LoggedIn,
    /// It refused a request.
    Refused {
        /// Its unit.
        key: u8,
        /// The number of the first message.
        first: u64,
        /// Why.
        status: GapStatus,
    },
    /// A unit with messages that were requested.
    Packet(&'a [u8]),
}

/// A session with a proxy.
#[derive(Debug)]
pub struct ProxySession {
    login: GapLogin,
    stream: UnitStream,
    state: ProxyState,
    open: Vec<OpenRequest>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ProxyState {
    Disconnected,
    LoggingIn,
    Open,
    Closed(PitchClosed),
}

/// A request without a response.
#[derive(Clone, Copy, Debug)]
struct OpenRequest {
    key: u8,
    first: u64,
}

impl ProxySession {
    /// A session without a connection.
    pub fn new(login: GapLogin) -> Self {
        let (stream, state) = (UnitStream::default(), ProxyState::Disconnected);
        Self { login, stream, state, open: Vec::new() }
    }

    /// A new connection: the login is in the output.
    pub fn connected(&mut self, now_ns: u64) {
        self.stream.begin(now_ns);
        self.stream.log_in(&self.login);
        self.state = ProxyState::LoggingIn;
        self.open.clear();
    }

    /// The stream has ended.
    pub fn disconnected(&mut self) {
        self.close(PitchClosed::Closed);
    }

    /// Takes bytes of the stream.
    pub fn receive(&mut self, bytes: &[u8], now_ns: u64, mut event: impl FnMut(ProxyEvent<'_>)) {
        if !self.is_connected() {
            return;
        }
        let Self { stream, state, open, .. } = self;
        let result = stream.receive(bytes, now_ns, |_, unit| {
            let Ok(packet) = Pitch::decode(unit) else { return Err(PitchClosed::NoUnit) };
            if packet.kind == PacketKind::Data {
                event(ProxyEvent::Packet(unit));
            }
            for message in packet.unsequenced() {
                match Message::decode(message) {
                    Ok(Message::LoginResponse(response)) if *state == ProxyState::LoggingIn => {
                        match response.login_status() {
                            LoginStatus::Accepted => {
                                *state = ProxyState::Open;
                                event(ProxyEvent::LoggedIn);
                            }
                            refused => return Err(PitchClosed::Login(refused)),
                        }
                    }
                    Ok(Message::GapResponse(response)) => {
                        let (key, number) = (response.unit(), response.sequence_number());
                        let is_of = |of: &OpenRequest| {
                            of.key == key && counted(number, of.first) == of.first
                        };
                        // An answer without an open request is ignored.
                        let Some(place) = open.iter().position(is_of) else { continue };
                        let OpenRequest { key, first } = open.remove(place);
                        let status = response.gap_status();
                        if status != GapStatus::Accepted {
                            event(ProxyEvent::Refused { key, first, status });
                        }
                    }
                    _ => {}
                }
            }
            Ok(())
        });
        if let Err(why) = result {
            self.close(why);
        }
    }

    /// Sends a heartbeat if one is due, and closes a dead connection.
    pub fn poll(&mut self, now_ns: u64) {
        if self.is_connected()
            && let Err(why) = self.stream.poll(now_ns)
        {
            self.close(why);
        }
    }

    /// Whether a response is awaited.
    pub fn is_waiting(&self) -> bool {
        !self.open.is_empty() || self.state == ProxyState::LoggingIn
    }

    /// Requests messages; `false` if that is not possible now.
    #[must_use]
    pub fn request(&mut self, key: u8, first: u64, count: u16) -> bool {
        if self.state != ProxyState::Open || self.stream.output().len() > MOST_OUTPUT {
            return false;
        }
        let Some(request) = gap_request(PitchUnit(key), first, count) else { return false };
        self.stream.push(&request);
        if self.open.len() == MOST_OPEN {
            self.open.remove(0);
        }
        self.open.push(OpenRequest { key, first });
        true
    }

    /// The bytes to send.
    pub fn output(&self) -> &[u8] {
        self.stream.output()
    }

    /// So many of them were sent.
    pub fn sent(&mut self, count: usize, now_ns: u64) {
        self.stream.sent(count, now_ns);
    }

    /// The same login without a connection.
    pub fn renewed(&self) -> Self {
        Self::new(self.login)
    }

    /// Why it is closed, if it is.
    pub fn closed(&self) -> Option<PitchClosed> {
        match self.state {
            ProxyState::Closed(why) => Some(why),
            _ => None,
        }
    }

    fn is_connected(&self) -> bool {
        matches!(self.state, ProxyState::LoggingIn | ProxyState::Open)
    }

    fn close(&mut self, why: PitchClosed) {
        self.state = ProxyState::Closed(why);
        self.stream.clear_output();
    }
}

/// For how long a request is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefusedFor {
    /// It can be accepted a little later.
    Now,
    /// The server may not have the messages yet, or not any more.
    Perhaps,
    /// It will be refused again.
    Good,
}

impl RefusedFor {
    /// What a status says.
    pub fn of(status: GapStatus) -> Self {
        match status {
            GapStatus::SecondLimit | GapStatus::MinuteLimit | GapStatus::Unavailable => Self::Now,
            GapStatus::OutOfRange => Self::Perhaps,
            _ => Self::Good,
        }
    }
}

/// Why a request was refused, in words.
pub fn gap_status(status: GapStatus) -> String {
    match status {
        GapStatus::OutOfRange => "out of range".to_owned(),
        GapStatus::DayLimit => "too many requests this day".to_owned(),
        GapStatus::MinuteLimit => "too many requests this minute".to_owned(),
        GapStatus::SecondLimit => "too many requests this second".to_owned(),
        GapStatus::CountLimit => "too many messages in one request".to_owned(),
        GapStatus::InvalidUnit => "there is no such unit".to_owned(),
        GapStatus::Unavailable => "the unit is not available".to_owned(),
        other => format!("{other:?}"),
    }
}
