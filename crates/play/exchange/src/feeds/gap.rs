//! The Gap Request Proxy of PITCH: requests on TCP, and the messages on groups of their own.
//!
//! Protocol: a request names a unit, a number and a count. The response has the same values and a
//! status. If it is accepted, the messages go to the answer groups under their numbers, in packets
//! of the size of the lines, and faults of their own apply to them. A request is checked for, in
//! this order: the unit, whether the unit is available, the count, the range, and the requests of
//! the day, the minute and the second. Only accepted requests count for the limits of a session.
//! Bounds: [`MOST_QUEUED`] requests wait; those above are refused as unavailable.

mod answers;
mod faults;
mod limits;

use std::{cell::RefCell, collections::VecDeque, rc::Rc};

pub(super) use answers::GapAnswers;
pub use faults::{GapFaults, ParseGapFaultsError};
use limits::RequestUsage;
pub use limits::{GapLimits, RequestLimits};
use nanotape_feed::soupbintcp::MessageStore as _;
use nanotape_wire::pitch_tcp::{GapResponseFields, GapStatus, Message};

use super::dialogue::{PitchService, UnitOutput};
use crate::{History, faults::Chance, line::LineCounts, rng::Rng, tcp::ConnectionCounts};

/// Accepted requests that wait.
const MOST_QUEUED: usize = 1_024;

/// What a gap server did with requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GapCounts {
    /// Requests that arrived.
    pub requests: u64,
    /// Requests that were accepted.
    pub accepted: u64,
    /// Messages that were requested in them.
    pub messages: u64,
    /// Requests for messages that are too old, or not sent yet, or for none.
    pub out_of_range: u64,
    /// Requests for too many messages.
    pub count_limit: u64,
    /// Requests above the limit of a second.
    pub second_limit: u64,
    /// Requests above the limit of a minute.
    pub minute_limit: u64,
    /// Requests above the limit of a day.
    pub day_limit: u64,
    /// Requests for a unit that does not exist.
    pub invalid_unit: u64,
    /// Requests that a fault refused, and those above what can wait.
    pub unavailable: u64,
}

/// What a gap server did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GapServerSummary {
    /// Its connections.
    pub connections: ConnectionCounts,
    /// Its requests.
    pub requests: GapCounts,
    /// The packets of the answers, of all units.
    pub answers: LineCounts,
    /// Packets of answers that the system refused to send.
    pub send_errors: u64,
}

/// A range of messages that is to be sent again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct GapRange {
    /// The index of the unit, from 0.
    pub(super) stream: usize,
    pub(super) first: u64,
    pub(super) count: u16,
}

/// What all clients of the server share.
#[derive(Debug)]
pub(super) struct GapProxy {
    /// The messages of each unit.
    units: Vec<History>,
    limits: GapLimits,
    unavailable: Chance,
    rng: Rng,
    /// The requests of each session.
    usage: Vec<RequestUsage>,
    queue: VecDeque<GapRange>,
    counts: GapCounts,
}

impl GapProxy {
    pub(super) fn new(
        units: Vec<History>,
        limits: GapLimits,
        (unavailable, rng): (Chance, Rng),
        sessions: usize,
    ) -> Self {
        let usage = vec![RequestUsage::default(); sessions];
        let (queue, counts) = (VecDeque::new(), GapCounts::default());
        Self { units, limits, unavailable, rng, usage, queue, counts }
    }

    pub(super) fn counts(&self) -> GapCounts {
        self.counts
    }

    /// The next range to send.
    pub(super) fn next(&mut self) -> Option<GapRange> {
        self.queue.pop_front()
    }

    /// The message of a number.
    pub(super) fn read(&mut self, stream: usize, number: u64) -> Option<&[u8]> {
        self.units.get_mut(stream)?.read(number)
    }

    /// Checks a request and queues its messages.
    fn request(
        &mut self,
        (unit, first, count): (u8, u32, u16),
        own: (&mut RequestUsage, Option<usize>),
        now_ns: u64,
    ) -> GapStatus {
        self.counts.requests += 1;
        let status = self.status((unit, first.into(), count), own, now_ns);
        let counts = &mut self.counts;
        *match status {
            GapStatus::Accepted => &mut counts.accepted,
            GapStatus::OutOfRange => &mut counts.out_of_range,
            GapStatus::CountLimit => &mut counts.count_limit,
            GapStatus::SecondLimit => &mut counts.second_limit,
            GapStatus::MinuteLimit => &mut counts.minute_limit,
            GapStatus::DayLimit => &mut counts.day_limit,
            GapStatus::InvalidUnit => &mut counts.invalid_unit,
            GapStatus::Unavailable | GapStatus::Unknown(_) => &mut counts.unavailable,
        } += 1;
        if status == GapStatus::Accepted {
            self.counts.messages += u64::from(count);
            let stream = usize::from(unit) - 1;
            self.queue.push_back(GapRange { stream, first: first.into(), count });
        }
        status
    }

    fn status(
        &mut self,
        (unit, first, count): (u8, u64, u16),
        (own, session): (&mut RequestUsage, Option<usize>),
        now_ns: u64,
    ) -> GapStatus {
        let index = usize::from(unit).checked_sub(1);
        let Some(history) = index.and_then(|index| self.units.get(index)) else {
            return GapStatus::InvalidUnit;
        };
        if self.rng.chance(self.unavailable.get()) || self.queue.len() == MOST_QUEUED {
            return GapStatus::Unavailable;
        }
        if count > self.limits.messages {
            return GapStatus::CountLimit;
        }
        let next = history.next();
        let oldest = next.saturating_sub(self.limits.range).max(1);
        if count == 0 || first < oldest || first + u64::from(count) > next {
            return GapStatus::OutOfRange;
        }
        // Without known sessions each connection has limits of its own.
        let of_session = session.and_then(|session| self.usage.get_mut(session));
        of_session.unwrap_or(own).request(&self.limits.requests, now_ns)
    }
}

/// A client of the server.
pub(super) struct GapService {
    proxy: Rc<RefCell<GapProxy>>,
    own: RequestUsage,
    session: Option<usize>,
}

impl GapService {
    pub(super) fn new(proxy: Rc<RefCell<GapProxy>>) -> Self {
        Self { proxy, own: RequestUsage::default(), session: None }
    }
}

impl PitchService for GapService {
    fn begin(&mut self, session: Option<usize>) {
        self.session = session;
    }

    fn request(&mut self, message: Message<'_>, now_ns: u64, output: &mut UnitOutput) -> bool {
        let Message::GapRequest(request) = message else { return false };
        let (unit, sequence_number, message_count) =
            (request.unit(), request.sequence_number(), request.message_count());
        let gap_status = self.proxy.borrow_mut().request(
            (unit, sequence_number, message_count),
            (&mut self.own, self.session),
            now_ns,
        );
        let response = GapResponseFields { unit, sequence_number, message_count, gap_status };
        output.put(&response.encode());
        true
    }

    fn poll(&mut self, _: &mut UnitOutput) {}

    fn end(&mut self) {}
}

#[cfg(test)]
mod tests;
