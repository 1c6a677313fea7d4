//! The re-request server: a request packet in, one packet out, or silence.
//!
//! Protocol: the answer begins with the requested number and has as many messages as were requested
//! and fit in a packet. A request for another session or for messages that were not sent gets no
//! answer, as on the exchange.
//! Bounds: one packet.

use nanotape_feed::soupbintcp::MessageStore as _;
use nanotape_wire::{
    framing::moldudp64::PacketWriter,
    moldudp64::{END_OF_SESSION, RequestPacket},
};

use crate::{faults::ServerFaults, history::History, rng::Rng};

/// What a server did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RerequestCounts {
    /// Packets that arrived.
    pub requests: u64,
    /// Requests that were answered.
    pub answered: u64,
    /// Messages in the answers.
    pub messages: u64,
    /// Packets that are not requests.
    pub malformed: u64,
    /// Requests for another session.
    pub other_session: u64,
    /// Requests for messages that were not sent yet, or for none.
    pub out_of_range: u64,
    /// Requests that a fault left without an answer.
    pub dropped: u64,
}

/// The answer to a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer<'a> {
    /// Time from the request to the answer.
    pub delay_ns: u64,
    /// The packet.
    pub bytes: &'a [u8],
}

/// The server of one session.
#[derive(Debug)]
pub struct Rerequests {
    history: History,
    faults: ServerFaults,
    rng: Rng,
    buffer: Vec<u8>,
    counts: RerequestCounts,
}

impl Rerequests {
    /// A server of these messages, whose packets have at most `max_bytes`.
    pub fn new(history: History, faults: ServerFaults, max_bytes: usize, seed: u64) -> Self {
        let (rng, buffer) = (Rng::new(seed, 3), vec![0; max_bytes]);
        Self { history, faults, rng, buffer, counts: RerequestCounts::default() }
    }

    /// The answer to a packet, if there is one.
    pub fn answer(&mut self, request: &[u8]) -> Option<Answer<'_>> {
        self.counts.requests += 1;
        let Ok(request) = RequestPacket::wrap(request) else {
            self.counts.malformed += 1;
            return None;
        };
        let session = self.history.session();
        if request.session() != session {
            self.counts.other_session += 1;
            return None;
        }
        let (first, count) = (request.sequence_number(), request.requested_message_count());
        let is_countable = count > 0 && count < END_OF_SESSION;
        if !is_countable || !(1..self.history.next()).contains(&first) {
            self.counts.out_of_range += 1;
            return None;
        }
        if self.faults.is_dead || self.rng.chance(self.faults.drop.get()) {
            self.counts.dropped += 1;
            return None;
        }
        let mut writer = PacketWriter::new(session, first, &mut self.buffer)?;
        for number in first..first.saturating_add(count.into()) {
            match self.history.read(number) {
                Some(message) if writer.push(message) => {}
                _ => break,
            }
        }
        let messages = u64::from(writer.message_count());
        if messages == 0 {
            self.counts.out_of_range += 1;
            return None;
        }
        self.counts.answered += 1;
        self.counts.messages += messages;
        Some(Answer { delay_ns: self.faults.delay_ns, bytes: writer.finish() })
    }

    /// What was done so far.
    pub fn counts(&self) -> RerequestCounts {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use nanotape_types::Alpha;
    use nanotape_wire::{
        framing::{moldudp64::MoldUdp64, numbered::PacketFraming as _},
        moldudp64::RequestPacketFields,
    };

    use super::*;

    const SESSION: Alpha<10> = Alpha::new(*b"MONDAY    ");

    /// A server of 1,000 messages of 40 bytes, of which 900 are published.
    fn server(faults: &str) -> Rerequests {
        let mut day = Vec::new();
        for number in 1..=1_000u64 {
            day.extend([0, 40]);
            day.extend([number.to_be_bytes(); 5].concat());
        }
        let (mut writer, history) = History::of_memory(SESSION, day);
        for index in 0..1_000 {
            if index == 900 {
                writer.publish(writer.next()).unwrap();
            }
            writer.push(index * 42, &[0; 40]).unwrap();
        }
        Rerequests::new(history, faults.parse().unwrap(), 1_400, 1)
    }

    fn request(session: Alpha<10>, sequence_number: u64, count: u16) -> [u8; 20] {
        RequestPacketFields { session, sequence_number, requested_message_count: count }.encode()
    }

    #[test]
    fn an_answer_begins_at_the_request_and_is_short_if_the_request_is_long() {
        let mut server = server("");
        // 32 blocks of 42 bytes fit beside a header of 20 in 1,400.
        for (first, count, answered) in
            [(1, 1, 1), (5, 7, 7), (1, 33, 32), (100, 65_534, 32), (890, 50, 11), (900, 1, 1)]
        {
            let answer = server.answer(&request(SESSION, first, count)).unwrap();
            assert_eq!(answer.delay_ns, 0);
            assert!(answer.bytes.len() <= 1_400);
            let packet = MoldUdp64::decode(answer.bytes).unwrap();
            assert_eq!(packet.session, SESSION);
            let messages: Vec<_> = packet.messages().collect();
            assert_eq!(messages.len(), answered, "{first} + {count}");
            for ((number, message), expected) in messages.into_iter().zip(first..) {
                assert_eq!(
                    (number, message[..8].to_vec()),
                    (expected, expected.to_be_bytes().to_vec())
                );
            }
        }
        assert_eq!((server.counts().answered, server.counts().messages), (6, 84));
    }

    #[test]
    fn what_the_server_does_not_have_gets_no_answer() {
        let mut server = server("");
        for bytes in [
            request(SESSION, 0, 1).to_vec(),
            request(SESSION, 901, 1).to_vec(),
            request(SESSION, u64::MAX, 65_534).to_vec(),
            request(SESSION, 1, 0).to_vec(),
            request(SESSION, 1, 65_535).to_vec(),
            request(Alpha::new(*b"TUESDAY   "), 1, 1).to_vec(),
            request(SESSION, 1, 1)[..19].to_vec(),
            [request(SESSION, 1, 1).as_slice(), b"x"].concat(),
            Vec::new(),
        ] {
            assert_eq!(server.answer(&bytes), None, "{bytes:?}");
        }
        let RerequestCounts { requests, malformed, other_session, out_of_range, .. } =
            server.counts();
        assert_eq!((requests, malformed, other_session, out_of_range), (9, 3, 1, 5));
    }

    #[test]
    fn a_server_can_be_dead_slow_or_lossy() {
        let mut dead = server("dead");
        assert_eq!(dead.answer(&request(SESSION, 1, 1)), None);
        assert_eq!(dead.counts().dropped, 1);
        let mut slow = server("delay=5ms");
        assert_eq!(slow.answer(&request(SESSION, 1, 1)).unwrap().delay_ns, 5_000_000);
        let mut lossy = server("drop=50%");
        let answers = (0..1_000).filter(|_| lossy.answer(&request(SESSION, 1, 1)).is_some());
        let answered = answers.count() as u64;
        assert!((400..600).contains(&answered), "{answered}");
        assert_eq!(lossy.counts().dropped, 1_000 - answered);
    }
}
