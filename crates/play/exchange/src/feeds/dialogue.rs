//! A client of a server of PITCH on TCP: units in, units out.
//!
//! Protocol: the first message of the client is a Login, and the server answers it. A refused
//! client gets the answer and the end of the connection. Both sides send a heartbeat, a unit
//! without messages, after a second without anything else.
//! Bounds: a unit of a client has at most [`MOST_UNIT`] bytes. While [`MOST_OUTPUT`] bytes wait, no
//! further request is read. So a client that sends and never reads keeps about three times that.
//! Failure: a client that is silent for [`SILENCE_NS`], takes nothing for [`SLOW_NS`] or breaks the
//! protocol is disconnected.

use std::{cell::RefCell, rc::Rc};

use nanotape_wire::{
    framing::{
        numbered::{PacketFraming as _, PacketKind},
        pitch::{Pitch, PitchUnit, SplitUnit, UnitWriter, split},
    },
    pitch::SequencedUnitHeader,
    pitch_tcp::{LoginResponseFields, LoginStatus, Message},
};

use super::login::Logins;
use crate::tcp::{ConnectionCounts, Conversation};

/// The longest unit of a client. The longest message of one has 22 bytes.
const MOST_UNIT: usize = 1_024;

/// Bytes that wait for the client, above which it is not read.
pub(super) const MOST_OUTPUT: usize = 64 << 10;

/// Silence after which a client is disconnected.
const SILENCE_NS: u64 = 5_000_000_000;

/// Time without taking anything after which a client is disconnected.
const SLOW_NS: u64 = 15_000_000_000;

/// Time without sending after which the server sends a heartbeat.
const HEARTBEAT_NS: u64 = 1_000_000_000;

/// What a server does for the clients that are logged in.
pub(super) trait PitchService {
    /// The client is logged in, to this session.
    fn begin(&mut self, session: Option<usize>);
    /// Answers a message of the client; `false` if the server does not take such messages.
    fn request(&mut self, message: Message<'_>, now_ns: u64, output: &mut UnitOutput) -> bool;
    /// Sends what is due.
    fn poll(&mut self, output: &mut UnitOutput);
    /// The client left.
    fn end(&mut self);
}

/// Units that wait for a client.
#[derive(Debug, Default)]
pub(super) struct UnitOutput {
    bytes: Vec<u8>,
    /// Bytes of them that were sent.
    sent: usize,
    /// Messages so far.
    messages: u64,
}

impl UnitOutput {
    /// Appends a unit with one message, without a number.
    pub(super) fn put(&mut self, message: &[u8]) {
        let mut buffer = [0; 64];
        if let Some(mut writer) = UnitWriter::new(PitchUnit(0), 0, &mut buffer)
            && writer.push(message)
        {
            self.bytes.extend_from_slice(writer.finish());
            self.messages += 1;
        }
    }

    /// Appends a whole unit of an image.
    pub(super) fn put_unit(&mut self, unit: &[u8]) {
        self.bytes.extend_from_slice(unit);
        self.messages += SequencedUnitHeader::wrap_first(unit)
            .map_or(0, |(header, _)| u64::from(header.message_count()));
    }

    /// Bytes that wait.
    pub(super) fn waiting(&self) -> usize {
        self.bytes.len() - self.sent
    }

    fn heartbeat(&mut self) {
        if let Some(writer) = UnitWriter::new(PitchUnit(0), 0, &mut [0; 8]) {
            self.bytes.extend_from_slice(writer.finish());
        }
    }

    fn take(&mut self, length: usize) {
        self.sent += length;
        if self.sent >= MOST_OUTPUT || self.sent == self.bytes.len() {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.sent = 0;
    }
}

/// How a dialogue ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DialogueEnd {
    Rejected,
    Silent,
    Slow,
    Violation,
    Gone,
}

/// The dialogue with one client.
pub(super) struct PitchDialogue<S: PitchService> {
    service: S,
    logins: Rc<RefCell<Logins>>,
    is_logged_in: bool,
    session: Option<usize>,
    /// The beginning of a unit.
    input: Vec<u8>,
    output: UnitOutput,
    received_ns: u64,
    sent_ns: u64,
    /// When the client took something, or nothing waited for it.
    took_ns: u64,
    end: Option<DialogueEnd>,
}

impl<S: PitchService> PitchDialogue<S> {
    pub(super) fn new(service: S, logins: Rc<RefCell<Logins>>, now_ns: u64) -> Self {
        Self {
            service,
            logins,
            is_logged_in: false,
            session: None,
            input: Vec::new(),
            output: UnitOutput::default(),
            received_ns: now_ns,
            sent_ns: now_ns,
            took_ns: now_ns,
            end: None,
        }
    }

    fn end(&mut self, end: DialogueEnd) {
        self.leave();
        self.end.get_or_insert(end);
        // A refused client gets its answer; no other one gets what waits for it.
        if end != DialogueEnd::Rejected {
            self.output.clear();
        }
        self.input = Vec::new();
    }

    /// Gives the session to others.
    fn leave(&mut self) {
        if std::mem::take(&mut self.is_logged_in) {
            self.service.end();
        }
        if let Some(session) = self.session.take() {
            self.logins.borrow_mut().logout(session);
        }
    }

    /// Takes a whole unit; `Err` if the client broke the protocol.
    fn unit(
        &mut self,
        unit: &[u8],
        now_ns: u64,
        counts: &mut ConnectionCounts,
    ) -> Result<(), DialogueEnd> {
        let packet = Pitch::decode(unit).map_err(|_| DialogueEnd::Violation)?;
        match packet.kind {
            PacketKind::Heartbeat => return Ok(()),
            PacketKind::Unsequenced => {}
            PacketKind::Data | PacketKind::EndOfSession => return Err(DialogueEnd::Violation),
        }
        for message in packet.unsequenced() {
            let message = Message::decode(message).map_err(|_| DialogueEnd::Violation)?;
            match message {
                Message::LoginRequest(request) if !self.is_logged_in => {
                    let (login_status, session) = self.logins.borrow_mut().login(request);
                    self.output.put(&LoginResponseFields { login_status }.encode());
                    if login_status != LoginStatus::Accepted {
                        return Err(DialogueEnd::Rejected);
                    }
                    counts.logins += 1;
                    (self.is_logged_in, self.session) = (true, session);
                    self.service.begin(session);
                }
                message => {
                    let is_taken = self.is_logged_in
                        && self.service.request(message, now_ns, &mut self.output);
                    if !is_taken {
                        return Err(DialogueEnd::Violation);
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes the whole units of the input, and returns how many bytes they are.
    fn units(
        &mut self,
        input: &[u8],
        now_ns: u64,
        counts: &mut ConnectionCounts,
    ) -> Result<usize, DialogueEnd> {
        let mut rest = input;
        loop {
            match split(rest) {
                SplitUnit::Unit { unit, .. } if unit.len() > MOST_UNIT => {
                    return Err(DialogueEnd::Violation);
                }
                SplitUnit::Unit { unit, rest: after } => {
                    self.unit(unit, now_ns, counts)?;
                    rest = after;
                }
                SplitUnit::NeedMore { bytes } if rest.len() + bytes > MOST_UNIT => {
                    return Err(DialogueEnd::Violation);
                }
                SplitUnit::NeedMore { .. } => return Ok(input.len() - rest.len()),
                SplitUnit::Invalid => return Err(DialogueEnd::Violation),
            }
        }
    }
}

impl<S: PitchService> Conversation for PitchDialogue<S> {
    fn receive(&mut self, bytes: &[u8], now_ns: u64, counts: &mut ConnectionCounts) {
        if self.end.is_some() {
            return;
        }
        self.received_ns = now_ns;
        let mut input = std::mem::take(&mut self.input);
        input.extend_from_slice(bytes);
        match self.units(&input, now_ns, counts) {
            Ok(taken) => {
                // The buffer of a flood is not kept.
                self.input = input[taken..].to_vec();
            }
            Err(end) => self.end(end),
        }
    }

    fn poll(&mut self, now_ns: u64, _: &mut ConnectionCounts) {
        if self.end.is_some() {
            return;
        }
        if self.is_logged_in {
            self.service.poll(&mut self.output);
        }
        if self.output.waiting() == 0 {
            self.took_ns = now_ns;
            if self.is_logged_in && now_ns - self.sent_ns >= HEARTBEAT_NS {
                self.output.heartbeat();
            }
        }
        if !self.is_ready() {
            // What is not read can hold heartbeats.
            self.received_ns = now_ns;
        }
        if now_ns - self.took_ns >= SLOW_NS {
            self.end(DialogueEnd::Slow);
        } else if now_ns - self.received_ns >= SILENCE_NS {
            self.end(DialogueEnd::Silent);
        }
    }

    fn is_ready(&self) -> bool {
        self.output.waiting() < MOST_OUTPUT
    }

    fn output(&self) -> &[u8] {
        &self.output.bytes[self.output.sent..]
    }

    fn sent(&mut self, length: usize, now_ns: u64) {
        if length > 0 {
            (self.sent_ns, self.took_ns) = (now_ns, now_ns);
        }
        self.output.take(length);
    }

    fn disconnected(&mut self) {
        self.end(DialogueEnd::Gone);
        // Nothing can be sent, also to a client that was refused.
        self.output.clear();
    }

    fn is_finished(&self) -> bool {
        self.end.is_some() && self.output.waiting() == 0
    }

    fn is_lost(&self) -> bool {
        self.end == Some(DialogueEnd::Gone)
    }

    fn count(&self, counts: &mut ConnectionCounts) {
        counts.messages += self.output.messages;
        match self.end {
            Some(DialogueEnd::Rejected) => counts.rejected += 1,
            Some(DialogueEnd::Slow) => counts.slow += 1,
            Some(DialogueEnd::Violation) => counts.violations += 1,
            Some(DialogueEnd::Silent | DialogueEnd::Gone) => counts.lost += 1,
            None => {}
        }
    }
}

/// A connection that the server forgets leaves its session to others.
impl<S: PitchService> Drop for PitchDialogue<S> {
    fn drop(&mut self) {
        self.leave();
    }
}
