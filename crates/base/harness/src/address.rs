//! Addresses for programs that a test starts.
//!
//! A port of the kernel's choice is free only while its socket is open: between that and the bind
//! of the program, the socket of another test may get it. These addresses belong to no other
//! process: its number is in the host of the loopback network, and the kernel chooses no such port
//! by itself.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::atomic::{AtomicU16, Ordering},
};

/// The kernel chooses ports from 32,768 (`ip_local_port_range`).
const PORTS: core::ops::Range<u16> = 10_000..32_768;

/// An address of the loopback network on which nothing listens, for UDP and TCP. Each call gives
/// another one.
pub fn unused_address() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(PORTS.start);
    // A process number has 22 bits at most.
    let [_, second, third, fourth] = std::process::id().to_be_bytes();
    let port = NEXT.fetch_add(1, Ordering::Relaxed);
    assert!(PORTS.contains(&port), "a test needs more than {} addresses", PORTS.len());
    (Ipv4Addr::new(127, second, third, fourth), port).into()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};

    use super::unused_address;

    #[test]
    fn an_address_is_given_once_and_both_protocols_bind_it() {
        let [one, other] = [unused_address(), unused_address()];
        assert_ne!(one, other);
        let _listener = TcpListener::bind(one).unwrap();
        let _socket = UdpSocket::bind(one).unwrap();
        UdpSocket::bind(other).unwrap().send_to(b"to", one).unwrap();
    }
}
