//! The kernel's receive times, from the first datagram on.
//!
//! The kernel notes when datagrams arrive while any socket of the machine requests it, and begins
//! to do so a while after the first request. Until then a datagram has the time at which it is
//! read: those of two lines seem to come in another order than they did.

use std::{
    net::{Ipv4Addr, SocketAddr},
    thread,
    time::Duration,
};

use nanotape_clock::UtcNanos;
use nanotape_feed::udp::{ControlMessages, UdpAddress, UdpOptions, UdpSocket};

/// Attempts at most: the kernel takes some milliseconds.
const MOST_ATTEMPTS: usize = 1_000;

/// Time between the arrival of a datagram and its reading.
const STEP: Duration = Duration::from_micros(200);

/// Waits until the kernel notes receive times. It does as long as the returned socket, or another
/// one that requests them, is open. `None` if that cannot be seen, as without a loopback interface.
pub(crate) fn wait_for_receive_times() -> Option<UdpSocket> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let at = UdpAddress { address, interface: 0, sender: None };
    let options = UdpOptions { buffer_bytes: 1 << 12, datagram_bytes: 1, ..UdpOptions::default() };
    let socket = UdpSocket::open(&at, &options).ok()?;
    socket.connect(socket.address()).ok()?;
    let mut control = ControlMessages::default();
    for _ in 0..MOST_ATTEMPTS {
        socket.send(&[0]).ok()?;
        thread::sleep(STEP);
        let read_ns = UtcNanos::now().unix_ns();
        let mut buffer = [0];
        let datagram = socket.receive(&mut buffer, &mut control).ok()?;
        let received_ns = datagram.and_then(|datagram| datagram.ts_recv_ns);
        if received_ns.is_some_and(|received_ns| received_ns < read_ns) {
            return Some(socket);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use nanotape_harness::eventually;

    use super::*;

    #[test]
    fn the_first_datagram_has_the_time_of_its_arrival() {
        let _kept = wait_for_receive_times().expect("a loopback interface");
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let at = UdpAddress { address, interface: 0, sender: None };
        let socket = UdpSocket::open(&at, &UdpOptions::default()).unwrap();
        let sender = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let sent_ns = UtcNanos::now().unix_ns();
        sender.send_to(b"x", socket.address()).unwrap();
        // However late it is read.
        let read_ns = sent_ns + 50_000_000;
        eventually("it is read late", || UtcNanos::now().unix_ns() > read_ns);
        let (mut buffer, mut control) = ([0; 8], ControlMessages::default());
        let datagram = socket.receive(&mut buffer, &mut control).unwrap().expect("a datagram");
        assert!(datagram.ts_recv_ns.unwrap() < read_ns, "{datagram:?}");
    }
}
