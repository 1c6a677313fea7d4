//! The servers of an exchange, without a socket: what a Gap Request Proxy and a spin server answer
//! to the bytes of a client.

use nanotape_wire::{
    framing::{
        numbered::PacketFraming as _,
        pitch::{Pitch, PitchUnit, SplitUnit, UnitWriter, split},
    },
    pitch_tcp::{
        GapResponseFields, GapStatus, LoginResponseFields, LoginStatus, Message,
        SpinFinishedFields, SpinImageAvailableFields, SpinResponseFields, SpinStatus,
    },
};

use super::day::unit;

/// What a client sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FromClient {
    Login,
    Gap { unit: u8, first: u32, count: u16 },
    Spin(u32),
    Heartbeat,
}

/// The whole messages in the bytes of a client, which are removed.
pub(super) fn take_messages(bytes: &mut Vec<u8>) -> Vec<FromClient> {
    let mut found = Vec::new();
    while let SplitUnit::Unit { unit, rest } = split(bytes) {
        let packet = Pitch::decode(unit).unwrap();
        let messages = packet.unsequenced().map(|message| match Message::decode(message) {
            Ok(Message::LoginRequest(_)) => FromClient::Login,
            Ok(Message::GapRequest(m)) => FromClient::Gap {
                unit: m.unit(),
                first: m.sequence_number(),
                count: m.message_count(),
            },
            Ok(Message::SpinRequest(m)) => FromClient::Spin(m.sequence_number()),
            other => panic!("{other:?}"),
        });
        found.extend(messages);
        if unit.len() == 8 {
            found.push(FromClient::Heartbeat);
        }
        let left = rest.len();
        bytes.drain(..bytes.len() - left);
    }
    found
}

/// A unit of TCP without a number, with one message.
fn alone(message: &[u8]) -> Vec<u8> {
    unit(0, 0, &[message.to_vec()])
}

pub(super) fn login_response(login_status: LoginStatus) -> Vec<u8> {
    alone(&LoginResponseFields { login_status }.encode())
}

pub(super) fn gap_response(
    (unit, sequence_number, message_count): (u8, u32, u16),
    gap_status: GapStatus,
) -> Vec<u8> {
    alone(&GapResponseFields { unit, sequence_number, message_count, gap_status }.encode())
}

pub(super) fn available(sequence_number: u32) -> Vec<u8> {
    alone(&SpinImageAvailableFields { sequence_number }.encode())
}

/// The response to a request for an image, and the image.
pub(super) fn spin(last: u32, spin_status: SpinStatus, image: &[Vec<u8>]) -> Vec<u8> {
    let order_count = image.len().saturating_sub(1) as u32;
    let response = SpinResponseFields { sequence_number: last, order_count, spin_status };
    let mut bytes = alone(&response.encode());
    if spin_status != SpinStatus::Accepted {
        return bytes;
    }
    for messages in image.chunks(30) {
        bytes.extend(unit(0, 0, messages));
    }
    bytes.extend(alone(&SpinFinishedFields { sequence_number: last }.encode()));
    bytes
}

/// Units with the messages from `first` on, at most 20 in each.
pub(super) fn answers(of: u8, first: u64, count: usize, messages: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let from = first as usize - 1;
    let to = (from + count).min(messages.len());
    let mut units = Vec::new();
    for (place, messages) in messages[from..to].chunks(20).enumerate() {
        units.push(unit(of, first + 20 * place as u64, messages));
    }
    units
}

/// A heartbeat of a unit.
pub(super) fn heartbeat(of: u8, next: u64) -> Vec<u8> {
    let mut buffer = [0; 8];
    UnitWriter::new(PitchUnit(of), next, &mut buffer).unwrap().finish().to_vec()
}
