//! The exchange with a spin server, without a socket: it announces images, one is requested, and
//! its messages come.
//!
//! Protocol: an image is requested that has everything that is missing: the first that ends at or
//! after the number that is needed. If the server refuses it, the next one is waited for.
//! Bounds: the orders of an image, and a unit of input.
//! Failure: the owner bounds the time. What breaks the protocol, an image of another number, and
//! one whose orders are not as many as announced, end the exchange.

use nanotape_wire::{
    framing::{
        numbered::PacketFraming as _,
        pitch::{Pitch, counted},
    },
    pitch_tcp::{LoginStatus, Message, SpinRequestFields, SpinStatus},
};

use super::stream::{GapLogin, PitchClosed, UnitStream, push_unit};
use crate::{SpinError, SpinImage};

/// Why an exchange ended without an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SpinEnd {
    /// The connection is closed.
    #[error(transparent)]
    Closed(#[from] PitchClosed),
    /// A message is no part of an image.
    #[error("message {number} of the image: {error}")]
    Message {
        /// Its place, from 1.
        number: u64,
        /// What is wrong.
        error: SpinError,
    },
    /// The server announced another number of orders.
    #[error("the image has {found} orders, expected {expected}")]
    Orders {
        /// Orders that came.
        found: usize,
        /// Orders that were announced.
        expected: u32,
    },
    /// It is another image than the requested one.
    #[error("the image ends with message {found}, requested was {expected}")]
    OtherImage {
        /// The number of its last message.
        found: u32,
        /// The number that was requested.
        expected: u32,
    },
}

/// An exchange with a spin server.
#[derive(Debug)]
pub struct SpinExchange {
    stream: UnitStream,
    login: Option<GapLogin>,
    /// The image has all messages before this number, or more.
    needed: u64,
    state: SpinState,
    image: SpinImage,
    /// Messages of the image so far.
    count: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SpinState {
    /// For an image with what is needed.
    Waiting,
    /// The image that ends with this number was requested.
    Requested(u32),
    /// Its messages come.
    Reading {
        last: u32,
        orders: u32,
    },
    Finished,
}

impl SpinExchange {
    /// An exchange for an image with all messages before `needed`. With a login, the client logs in
    /// first.
    pub fn new(needed: u64, login: Option<GapLogin>) -> Self {
        let (stream, image) = (UnitStream::default(), SpinImage::default());
        Self { stream, login, needed, state: SpinState::Waiting, image, count: 0 }
    }

    /// The connection is there.
    pub fn connected(&mut self, now_ns: u64) {
        self.stream.begin(now_ns);
        if let Some(login) = &self.login {
            self.stream.log_in(login);
        }
    }

    /// Takes bytes of the stream, and returns the image with the number of the first message after
    /// it when it is whole.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        now_ns: u64,
    ) -> Result<Option<(SpinImage, u64)>, SpinEnd> {
        let Self { stream, needed, state, image, count, .. } = self;
        let mut next = None;
        stream.receive(bytes, now_ns, |output, unit| {
            let packet = Pitch::decode(unit).map_err(|_| PitchClosed::NoUnit)?;
            for message in packet.unsequenced() {
                let decoded = Message::decode(message).map_err(|_| PitchClosed::NoUnit)?;
                match (decoded, *state) {
                    (Message::LoginResponse(response), _) => match response.login_status() {
                        LoginStatus::Accepted => {}
                        refused => return Err(PitchClosed::Login(refused).into()),
                    },
                    (Message::SpinImageAvailable(m), SpinState::Waiting) => {
                        let last = m.sequence_number();
                        if counted(last, *needed).saturating_add(1) >= *needed {
                            let request = SpinRequestFields { sequence_number: last };
                            push_unit(output, &request.encode());
                            *state = SpinState::Requested(last);
                        }
                    }
                    (Message::SpinResponse(m), SpinState::Requested(last))
                        if m.sequence_number() == last =>
                    {
                        *state = match m.spin_status() {
                            SpinStatus::Accepted => {
                                SpinState::Reading { last, orders: m.order_count() }
                            }
                            // It has another one soon.
                            _ => SpinState::Waiting,
                        };
                    }
                    (Message::SpinFinished(m), SpinState::Reading { last, orders }) => {
                        let found = m.sequence_number();
                        if found != last {
                            return Err(SpinEnd::OtherImage { found, expected: last });
                        }
                        if image.orders().len() as u64 != u64::from(orders) {
                            let found = image.orders().len();
                            return Err(SpinEnd::Orders { found, expected: orders });
                        }
                        *state = SpinState::Finished;
                        next = Some(counted(last, *needed).saturating_add(1));
                    }
                    (
                        Message::Time(_)
                        | Message::AddOrderShort(_)
                        | Message::AddOrderLong(_)
                        | Message::AddOrderExpanded(_)
                        | Message::TradingStatus(_),
                        SpinState::Reading { .. },
                    ) => {
                        *count += 1;
                        let number = *count;
                        let taken = image.message(message);
                        taken.map_err(|error| SpinEnd::Message { number, error })?;
                    }
                    _ => {}
                }
            }
            Ok::<_, SpinEnd>(())
        })?;
        Ok(next.map(|next| (core::mem::take(image), next)))
    }

    /// Sends a heartbeat if one is due, and fails if the connection is dead.
    pub fn poll(&mut self, now_ns: u64) -> Result<(), SpinEnd> {
        Ok(self.stream.poll(now_ns)?)
    }

    /// The bytes to send.
    pub fn output(&self) -> &[u8] {
        self.stream.output()
    }

    /// So many of them were sent.
    pub fn sent(&mut self, count: usize, now_ns: u64) {
        self.stream.sent(count, now_ns);
    }
}
