//! The units of a connection of PITCH on TCP, without a socket: those that come, those to send, and
//! heartbeats.
//!
//! Protocol: both sides send a unit without messages after each second in which they send nothing.
//! Bounds: one unit of input.
//! Failure: silence and bytes that are no unit end the connection.

use nanotape_types::Alpha;
use nanotape_wire::{
    framing::pitch::{PitchUnit, SplitUnit, UnitWriter, split},
    pitch_tcp::{LoginRequestFields, LoginStatus},
};

/// Time without sending, after which a heartbeat is sent, in ns.
pub const HEARTBEAT_NS: u64 = 1_000_000_000;

/// Time without receiving, after which the connection is dead, in ns.
pub const SILENCE_NS: u64 = 5_000_000_000;

/// How a client logs in, at a proxy or a spin server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GapLogin {
    /// The session.
    pub session_sub_id: Alpha<4>,
    /// The username.
    pub username: Alpha<4>,
    /// The password.
    pub password: Alpha<10>,
}

impl Default for GapLogin {
    fn default() -> Self {
        let username = Alpha::new([b' '; 4]);
        Self { session_sub_id: username, username, password: Alpha::new([b' '; 10]) }
    }
}

/// Why a connection to a server of TCP is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PitchClosed {
    /// The server refused the login.
    #[error("login refused: {}", login_status(*.0))]
    Login(LoginStatus),
    /// The server closed the connection.
    #[error("the connection was closed")]
    Closed,
    /// Nothing came for so long, in ns.
    #[error("nothing received for {} ms", *.0 / 1_000_000)]
    Silence(u64),
    /// The stream cannot be split into units.
    #[error("bytes that are no unit of PITCH")]
    NoUnit,
}

fn login_status(status: LoginStatus) -> String {
    match status {
        LoginStatus::NotAuthorised => "username or password not accepted".to_owned(),
        LoginStatus::InUse => "the session is in use".to_owned(),
        LoginStatus::InvalidSession => "there is no such session".to_owned(),
        other => format!("{other:?}"),
    }
}

/// The units of a connection, and when something was sent and received.
#[derive(Debug, Default)]
pub(super) struct UnitStream {
    input: Vec<u8>,
    output: Vec<u8>,
    sent_ns: u64,
    received_ns: u64,
}

impl UnitStream {
    /// A new connection.
    pub(super) fn begin(&mut self, now_ns: u64) {
        self.input.clear();
        self.output.clear();
        (self.sent_ns, self.received_ns) = (now_ns, now_ns);
    }

    /// Calls `visit` with each whole unit of the bytes. `Err` ends the connection.
    pub(super) fn receive<E: From<PitchClosed>>(
        &mut self,
        bytes: &[u8],
        now_ns: u64,
        mut visit: impl FnMut(&mut Vec<u8>, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.received_ns = now_ns;
        self.input.extend_from_slice(bytes);
        let mut rest = self.input.as_slice();
        let result = loop {
            match split(rest) {
                SplitUnit::Unit { unit, rest: after } => {
                    rest = after;
                    if let Err(error) = visit(&mut self.output, unit) {
                        break Err(error);
                    }
                }
                SplitUnit::NeedMore { .. } => break Ok(()),
                SplitUnit::Invalid => break Err(PitchClosed::NoUnit.into()),
            }
        };
        let done = self.input.len() - rest.len();
        self.input.drain(..done);
        result
    }

    /// Sends a heartbeat if one is due, and fails if the connection is dead.
    pub(super) fn poll(&mut self, now_ns: u64) -> Result<(), PitchClosed> {
        let silent_ns = now_ns.saturating_sub(self.received_ns);
        if silent_ns >= SILENCE_NS {
            return Err(PitchClosed::Silence(silent_ns));
        }
        if self.output.is_empty() && now_ns.saturating_sub(self.sent_ns) >= HEARTBEAT_NS {
            push_unit(&mut self.output, &[]);
        }
        Ok(())
    }

    /// The bytes to send.
    pub(super) fn output(&self) -> &[u8] {
        &self.output
    }

    /// So many of them were sent.
    pub(super) fn sent(&mut self, count: usize, now_ns: u64) {
        self.output.drain(..count.min(self.output.len()));
        self.sent_ns = now_ns;
    }

    /// Adds whole units to the output.
    pub(super) fn push(&mut self, units: &[u8]) {
        self.output.extend_from_slice(units);
    }

    /// Forgets the output.
    pub(super) fn clear_output(&mut self) {
        self.output.clear();
    }

    /// Sends a login.
    pub(super) fn log_in(&mut self, login: &GapLogin) {
        let GapLogin { session_sub_id, username, password } = *login;
        let filler = Alpha::new([b' '; 2]);
        let fields = LoginRequestFields { session_sub_id, username, filler, password };
        push_unit(&mut self.output, &fields.encode());
    }
}

/// Adds a unit without a number, with a message or none.
pub(super) fn push_unit(output: &mut Vec<u8>, message: &[u8]) {
    let mut buffer = [0; 64];
    let Some(mut writer) = UnitWriter::new(PitchUnit(0), 0, &mut buffer) else { return };
    if message.is_empty() || writer.push(message) {
        output.extend_from_slice(writer.finish());
    }
}
