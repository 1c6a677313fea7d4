//! The spin server of one matching unit of PITCH: images of all open orders, on TCP.
//!
//! Protocol: while clients are logged in, the server makes an image every second and announces its
//! number. A client requests the number of an image. It gets the response, the messages of the
//! image without numbers, and Spin Finished with the same number: the messages of the lines up to
//! this number are in the image.
//! Bounds: the server keeps the last [`MOST_IMAGES`] images, and each client at most one more.
//! Cost: an image costs in proportion to the open orders.

mod image;

use std::{cell::RefCell, collections::VecDeque, rc::Rc};

use image::{OpenOrders, SpinImage};
use nanotape_feed::soupbintcp::MessageStore as _;
use nanotape_wire::pitch_tcp::{
    Message, SpinFinishedFields, SpinImageAvailableFields, SpinResponseFields, SpinStatus,
};

use super::dialogue::{MOST_OUTPUT, PitchService, UnitOutput};
use crate::{History, tcp::ConnectionCounts};

/// Images that the server keeps: a request can be for one that was announced a few seconds ago.
const MOST_IMAGES: usize = 4;

/// Time between two images.
const EVERY_NS: u64 = 1_000_000_000;

/// Messages that a unit follows between two turns of the connections.
const FOLLOW: u64 = 10_000;

/// What the spin servers did with requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SpinCounts {
    /// Requests that arrived.
    pub requests: u64,
    /// Requests that were accepted.
    pub accepted: u64,
    /// Requests for an image that the server does not have.
    pub out_of_range: u64,
    /// Requests of a client that was being sent an image.
    pub in_progress: u64,
    /// Orders of the images that were sent.
    pub orders: u64,
    /// Images that were sent to their end.
    pub finished: u64,
}

impl core::ops::AddAssign for SpinCounts {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.accepted += other.accepted;
        self.out_of_range += other.out_of_range;
        self.in_progress += other.in_progress;
        self.orders += other.orders;
        self.finished += other.finished;
    }
}

/// What the spin servers of all units did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SpinServerSummary {
    /// Their connections.
    pub connections: ConnectionCounts,
    /// Their requests.
    pub requests: SpinCounts,
}

/// What all clients of a unit share.
#[derive(Debug)]
pub(super) struct SpinUnit {
    history: History,
    /// Number of the last message that was applied.
    applied: u64,
    orders: OpenOrders,
    images: VecDeque<Rc<SpinImage>>,
    /// Announcements so far, and when the last one was due.
    announced: u64,
    announced_ns: Option<u64>,
    clients: usize,
    counts: SpinCounts,
}

impl SpinUnit {
    pub(super) fn new(history: History) -> Self {
        Self {
            history,
            applied: 0,
            orders: OpenOrders::default(),
            images: VecDeque::new(),
            announced: 0,
            announced_ns: None,
            clients: 0,
            counts: SpinCounts::default(),
        }
    }

    pub(super) fn counts(&self) -> SpinCounts {
        self.counts
    }

    /// Follows the unit, and makes the image that is due. Returns whether there is more to do.
    pub(super) fn turn(&mut self, now_ns: u64) -> bool {
        let end = self.history.next().min(self.applied + 1 + FOLLOW);
        let before = self.applied;
        while self.applied + 1 < end {
            let Some(message) = self.history.read(self.applied + 1) else { break };
            self.orders.apply(message);
            self.applied += 1;
        }
        let is_due = self.announced_ns.is_none_or(|last_ns| now_ns - last_ns >= EVERY_NS);
        if self.clients > 0 && is_due {
            self.announced_ns = Some(now_ns);
            self.announced += 1;
            self.keep_image();
        }
        self.applied > before
    }

    /// Makes an image, unless nothing changed since the last one.
    fn keep_image(&mut self) {
        if self.images.back().is_some_and(|last| last.sequence == self.applied) {
            return;
        }
        if self.images.len() == MOST_IMAGES {
            self.images.pop_front();
        }
        self.images.push_back(Rc::new(self.orders.image(self.applied)));
    }
}

/// The image that a client gets.
struct Sending {
    image: Rc<SpinImage>,
    /// Bytes of it that are in the output.
    done: usize,
}

/// A client of the server of a unit.
pub(super) struct SpinService {
    unit: Rc<RefCell<SpinUnit>>,
    /// Announcements that the client got.
    announced: u64,
    sending: Option<Sending>,
}

impl SpinService {
    pub(super) fn new(unit: Rc<RefCell<SpinUnit>>) -> Self {
        Self { unit, announced: 0, sending: None }
    }
}

impl PitchService for SpinService {
    fn begin(&mut self, _: Option<usize>) {
        let mut unit = self.unit.borrow_mut();
        unit.clients += 1;
        self.announced = unit.announced;
    }

    fn request(&mut self, message: Message<'_>, _: u64, output: &mut UnitOutput) -> bool {
        let Message::SpinRequest(request) = message else { return false };
        let sequence_number = request.sequence_number();
        let mut unit = self.unit.borrow_mut();
        let found = unit.images.iter().find(|image| written(image.sequence) == sequence_number);
        let found = found.map(Rc::clone);
        unit.counts.requests += 1;
        let (spin_status, order_count) = match found {
            _ if self.sending.is_some() => {
                unit.counts.in_progress += 1;
                (SpinStatus::InProgress, 0)
            }
            None => {
                unit.counts.out_of_range += 1;
                (SpinStatus::OutOfRange, 0)
            }
            Some(image) => {
                unit.counts.accepted += 1;
                unit.counts.orders += u64::from(image.orders);
                let orders = image.orders;
                self.sending = Some(Sending { image, done: 0 });
                (SpinStatus::Accepted, orders)
            }
        };
        let response = SpinResponseFields { sequence_number, order_count, spin_status };
        output.put(&response.encode());
        true
    }

    fn poll(&mut self, output: &mut UnitOutput) {
        let mut unit = self.unit.borrow_mut();
        if let Some(Sending { image, done }) = &mut self.sending {
            while output.waiting() < MOST_OUTPUT / 2 && *done < image.units.len() {
                let length = unit_length(&image.units[*done..]);
                output.put_unit(&image.units[*done..*done + length]);
                *done += length;
            }
            if *done == image.units.len() {
                let sequence_number = written(image.sequence);
                output.put(&SpinFinishedFields { sequence_number }.encode());
                unit.counts.finished += 1;
                self.sending = None;
            }
            return;
        }
        if self.announced < unit.announced
            && let Some(image) = unit.images.back()
        {
            let sequence_number = written(image.sequence);
            output.put(&SpinImageAvailableFields { sequence_number }.encode());
            self.announced = unit.announced;
        }
    }

    fn end(&mut self) {
        self.sending = None;
        let mut unit = self.unit.borrow_mut();
        unit.clients -= 1;
        if unit.clients == 0 {
            // No client can request them any more.
            unit.images.clear();
        }
    }
}

/// Bytes of the first unit of whole units.
fn unit_length(units: &[u8]) -> usize {
    match nanotape_wire::framing::pitch::split(units) {
        nanotape_wire::framing::pitch::SplitUnit::Unit { unit, .. } => unit.len(),
        _ => units.len(),
    }
}

/// A number of a message as it is written. A day has fewer than 2^32 messages of a unit.
fn written(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
