//! A client of the servers of PITCH on TCP.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use nanotape_clock::{Clock, Stamp};
use nanotape_types::Alpha;
use nanotape_wire::{
    framing::{
        numbered::{PacketFraming as _, PacketKind},
        pitch::{Pitch, PitchUnit, SplitUnit, UnitWriter, split},
    },
    pitch_tcp::{LoginRequestFields, LoginResponse, LoginStatus},
};

/// A connection, and the messages that arrived on it.
pub(super) struct PitchClient {
    pub(super) stream: TcpStream,
    input: Vec<u8>,
    messages: std::collections::VecDeque<Vec<u8>>,
    pub(super) heartbeats: u64,
    clock: Clock,
    began: Stamp,
}

impl PitchClient {
    pub(super) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let clock = Clock::monotonic();
        let (input, messages) = (Vec::new(), Default::default());
        Self { stream, input, messages, heartbeats: 0, began: clock.stamp(), clock }
    }

    /// Connects and logs in.
    pub(super) fn logged_in(address: SocketAddr) -> Self {
        let mut client = Self::connect(address);
        assert_eq!(client.login(b"0001", b"USER", b"PASSWORD  "), LoginStatus::Accepted);
        client
    }

    pub(super) fn login(
        &mut self,
        session: &[u8; 4],
        username: &[u8; 4],
        password: &[u8; 10],
    ) -> LoginStatus {
        self.send(
            &LoginRequestFields {
                session_sub_id: Alpha::new(*session),
                username: Alpha::new(*username),
                filler: Alpha::new(*b"  "),
                password: Alpha::new(*password),
            }
            .encode(),
        );
        let answer = self.next().expect("an answer");
        LoginResponse::wrap(&answer).unwrap().login_status()
    }

    /// Sends a message in a unit of its own.
    pub(super) fn send(&mut self, message: &[u8]) {
        self.stream.write_all(&unit(message)).unwrap();
    }

    pub(super) fn heartbeat(&mut self) {
        let mut buffer = [0; 8];
        let unit = UnitWriter::new(PitchUnit(0), 0, &mut buffer).unwrap().finish().to_vec();
        self.stream.write_all(&unit).unwrap();
    }

    /// The next message; `None` at the end of the connection.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(message) = self.messages.pop_front() {
                return Some(message);
            }
            let mut buffer = [0; 1 << 14];
            match self.stream.read(&mut buffer) {
                Ok(0) => return None,
                Ok(length) => self.input.extend_from_slice(&buffer[..length]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("{error}"),
            }
            self.split();
        }
    }

    fn split(&mut self) {
        let mut rest = self.input.as_slice();
        while let SplitUnit::Unit { unit, rest: after } = split(rest) {
            let packet = Pitch::decode(unit).unwrap();
            assert_eq!((packet.session, packet.first), (PitchUnit(0), 0));
            self.heartbeats += u64::from(packet.kind == PacketKind::Heartbeat);
            self.messages.extend(packet.unsequenced().map(<[u8]>::to_vec));
            rest = after;
        }
        self.input = rest.to_vec();
    }

    /// Nanoseconds since the connection began.
    pub(super) fn passed_ns(&self) -> u64 {
        self.clock.nanos_between(self.began, self.clock.stamp())
    }
}

/// A unit with one message, without a number.
pub(super) fn unit(message: &[u8]) -> Vec<u8> {
    let mut buffer = [0; 300];
    let mut writer = UnitWriter::new(PitchUnit(0), 0, &mut buffer).unwrap();
    assert!(writer.push(message));
    writer.finish().to_vec()
}
