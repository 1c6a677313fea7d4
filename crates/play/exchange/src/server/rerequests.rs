//! The thread of the re-request server.

use std::{
    collections::VecDeque,
    net::{SocketAddr, UdpSocket},
    time::Duration,
};

use nanotape_clock::Clock;
use nanotape_tape::ShutdownFlag;

use super::TURN;
use crate::{RerequestCounts, Rerequests};

/// The most answers that wait for the delay of a slow server. More are dropped.
const MOST_WAITING: usize = 4_096;

/// What the server did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ServedRequests {
    /// Requests and answers.
    pub counts: RerequestCounts,
    /// Answers that were dropped because too many waited.
    pub overflowed: u64,
    /// Answers that the system refused to send.
    pub send_errors: u64,
}

/// Answers requests until a shutdown is requested.
pub(super) fn serve(
    socket: &UdpSocket,
    mut server: Rerequests,
    end: &ShutdownFlag,
) -> ServedRequests {
    let clock = Clock::monotonic();
    let began = clock.stamp();
    let mut served = ServedRequests::default();
    // The delay is the same for all, so the answers are due in their order.
    let mut waiting: VecDeque<(u64, SocketAddr, Vec<u8>)> = VecDeque::new();
    // One byte more than any request shows a packet that is too long.
    let mut request = [0; 64];
    while !end.is_requested() {
        let now_ns = clock.nanos_between(began, clock.stamp());
        while let Some((_, client, bytes)) = waiting.pop_front_if(|(due_ns, ..)| *due_ns <= now_ns)
        {
            served.send_errors += u64::from(socket.send_to(&bytes, client).is_err());
        }
        let due = waiting.front().map(|(due_ns, ..)| Duration::from_nanos(due_ns - now_ns));
        let patience = due.unwrap_or(TURN).clamp(Duration::from_micros(50), TURN);
        if socket.set_read_timeout(Some(patience)).is_err() {
            end.sleep(patience);
        }
        // A timeout, or the error of a client that is gone, concerns no other client.
        let Ok((length, client)) = socket.recv_from(&mut request) else { continue };
        let Some(answer) = server.answer(&request[..length]) else { continue };
        if answer.delay_ns == 0 {
            served.send_errors += u64::from(socket.send_to(answer.bytes, client).is_err());
        } else if waiting.len() == MOST_WAITING {
            served.overflowed += 1;
        } else {
            let due_ns = clock.nanos_between(began, clock.stamp()) + answer.delay_ns;
            waiting.push_back((due_ns, client, answer.bytes.to_vec()));
        }
    }
    served.counts = server.counts();
    served
}
