//! Sockets on the loopback address: real datagrams, real times, real drops.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket as Sender},
    thread,
    time::Duration,
};

use nanotape_harness::skipped;
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

use nanotape_feed::udp::{
    DatagramReceiver, MOST_BUFFER_BYTES, MOST_DATAGRAM_BYTES, UdpAddress, UdpOptions, UdpSocket,
};

const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// The payload of the largest datagram over IPv4.
const MOST_OF_IPV4: usize = MOST_DATAGRAM_BYTES - 20;

fn open(options: UdpOptions) -> (UdpSocket, Sender) {
    let at = UdpAddress { address: ANY_PORT, interface: 0, sender: None };
    (UdpSocket::open(&at, &options).unwrap(), Sender::bind(ANY_PORT).unwrap())
}

/// A setting of the kernel; `None` in a network namespace without it.
fn setting(name: &str) -> Option<usize> {
    fs::read_to_string(format!("/proc/sys/net/core/{name}")).ok()?.trim().parse().ok()
}

/// Whether this thread has the capability to exceed settings of the network.
fn has_net_admin() -> bool {
    capabilities(None).unwrap().effective.contains(CapabilitySet::NET_ADMIN)
}

/// Runs a function in a thread without the capability to exceed settings of the network.
fn without_net_admin(work: fn()) {
    let ordinary = move || {
        let mut sets = capabilities(None).unwrap();
        sets.effective.remove(CapabilitySet::NET_ADMIN);
        set_capabilities(None, sets).unwrap();
        assert!(!has_net_admin());
        work();
    };
    thread::spawn(ordinary).join().unwrap();
}

#[test]
fn datagrams_arrive_in_batches_with_the_time_of_the_kernel() {
    let (socket, sender) = open(UdpOptions::default());
    let mut reader = socket.reader();
    assert_eq!(reader.receive(|_| panic!("nothing was sent")).unwrap(), 0);
    for round in 0..3u8 {
        for number in 0..100u8 {
            sender.send_to(&[round, number, 7], socket.address()).unwrap();
        }
        let (mut numbers, mut last_ns, mut calls) = (Vec::new(), 0, 0);
        while numbers.len() < 100 {
            UdpSocket::wait(&[&socket], Duration::from_secs(5)).unwrap();
            calls += 1;
            let visit = |datagram: nanotape_feed::udp::Datagram<'_>| {
                let ts_recv_ns = datagram.ts_recv_ns.expect("the kernel reports a time");
                assert!(ts_recv_ns > 1_500_000_000_000_000_000);
                // The kernel begins to stamp datagrams some time after the first socket requests
                // it. A datagram without a stamp has the time at which it is read.
                assert!(round == 0 || ts_recv_ns >= last_ns);
                last_ns = ts_recv_ns;
                assert!(!datagram.is_truncated);
                assert_eq!((datagram.bytes[0], datagram.bytes.len()), (round, 3));
                numbers.push(datagram.bytes[1]);
            };
            assert!(reader.receive(visit).unwrap() > 0, "nothing for five seconds");
        }
        assert!(numbers.into_iter().eq(0..100));
        let expected = if round == 0 { 3 } else { 2 };
        assert_eq!(calls, expected, "a datagram alone, then two batches");
    }
}

#[test]
fn a_datagram_that_is_too_long_is_reported_as_truncated() {
    let (socket, sender) = open(UdpOptions { datagram_bytes: 16, ..UdpOptions::default() });
    sender.send_to(&[1; 17], socket.address()).unwrap();
    sender.send_to(&[2; 16], socket.address()).unwrap();
    UdpSocket::wait(&[&socket], Duration::from_secs(5)).unwrap();
    let mut found = Vec::new();
    let mut reader = socket.reader();
    for _ in 0..2 {
        reader.receive(|datagram| found.push((datagram.bytes[0], datagram.is_truncated))).unwrap();
    }
    assert_eq!(found, [(1, true), (2, false)]);
}

#[test]
fn the_kernel_counts_what_finds_no_room() {
    let (socket, sender) = open(UdpOptions { buffer_bytes: 1, ..UdpOptions::default() });
    let drops = socket.kernel_drops().unwrap();
    assert_eq!(drops.count().unwrap(), 0);
    for _ in 0..1_000 {
        sender.send_to(&[0; 1_000], socket.address()).unwrap();
    }
    let count = drops.count().unwrap();
    assert!((1..=1_000).contains(&count), "{count} dropped");
    assert!(socket.buffer_bytes() < 100_000, "the kernel's least buffer");
}

#[test]
fn a_buffer_of_any_size_can_be_requested() {
    let most = open(UdpOptions { buffer_bytes: MOST_BUFFER_BYTES, ..UdpOptions::default() });
    for buffer_bytes in [4 << 30, usize::MAX] {
        let (socket, _) = open(UdpOptions { buffer_bytes, ..UdpOptions::default() });
        assert_eq!(socket.buffer_bytes(), most.0.buffer_bytes(), "{buffer_bytes}");
        assert!(socket.buffer_bytes() > 100_000, "{}", socket.buffer_bytes());
    }
}

#[test]
fn a_buffer_above_the_limit_of_the_machine_needs_a_capability() {
    let Some(limit) = setting("rmem_max") else {
        return skipped("no net.core.rmem_max here: the limit of buffers is not tested");
    };
    without_net_admin(|| {
        let limit = setting("rmem_max").unwrap();
        let buffer_bytes = limit * 2;
        let (socket, _) = open(UdpOptions { buffer_bytes, ..UdpOptions::default() });
        assert_eq!(socket.buffer_bytes(), limit, "what it was given");
    });
    if !has_net_admin() {
        return skipped("without CAP_NET_ADMIN a buffer above net.core.rmem_max is not tested");
    }
    let buffer_bytes = limit * 2;
    let (socket, _) = open(UdpOptions { buffer_bytes, ..UdpOptions::default() });
    assert_eq!(socket.buffer_bytes(), buffer_bytes);
}

#[test]
fn busy_polling_is_granted_or_refused_with_the_reason() {
    // More than the setting of the machine, and in a namespace without it more than usual.
    fn options() -> UdpOptions {
        let usual = setting("busy_read").unwrap_or(1_000);
        UdpOptions { busy_poll_us: usual as u32 + 50, ..UdpOptions::default() }
    }
    without_net_admin(|| {
        let at = UdpAddress { address: ANY_PORT, interface: 0, sender: None };
        match UdpSocket::open(&at, &options()) {
            // Later kernels let every process poll for longer, and refuse the preference only.
            Ok(socket) => {
                let error = socket.prefers_interrupts().expect("the preference needs it");
                assert_eq!(error.to_string(), "Operation not permitted (os error 1)");
            }
            Err(error) => {
                let expected = "127.0.0.1:0: cannot busy poll: Operation not permitted (os error 1): \
                                a time above net.core.busy_read needs the capability CAP_NET_ADMIN";
                assert_eq!(error.to_string(), expected);
            }
        }
        // The setting of the machine needs none.
        let (socket, _) = open(UdpOptions::default());
        assert!(socket.prefers_interrupts().is_none(), "nothing was requested");
    });
    if !has_net_admin() {
        return skipped("without CAP_NET_ADMIN busy polling is not tested");
    }
    let (socket, sender) = open(options());
    if let Some(error) = socket.prefers_interrupts() {
        skipped(format!("the kernel does not prefer busy polling here: {error}"));
    }
    let mut reader = socket.reader();
    assert_eq!(reader.receive(|_| panic!("nothing was sent")).unwrap(), 0);
    sender.send_to(b"polled", socket.address()).unwrap();
    let mut found = Vec::new();
    UdpSocket::wait(&[&socket], Duration::from_secs(5)).unwrap();
    reader.receive(|datagram| found.push(datagram.bytes.to_vec())).unwrap();
    assert_eq!(found, [b"polled"]);
}

#[test]
fn a_connected_socket_receives_from_its_peer_only() {
    let (socket, peer) = open(UdpOptions::default());
    let other = Sender::bind("127.0.0.9:0").unwrap();
    other.send_to(b"before", socket.address()).unwrap();
    socket.connect(peer.local_addr().unwrap()).unwrap();
    other.send_to(b"after", socket.address()).unwrap();
    peer.send_to(b"answer", socket.address()).unwrap();
    let mut found = Vec::new();
    let mut reader = socket.reader();
    while found.is_empty() {
        UdpSocket::wait(&[&socket], Duration::from_secs(5)).unwrap();
        reader.receive(|datagram| found.push(datagram.bytes.to_vec())).unwrap();
    }
    assert_eq!(found, [b"answer"]);
    assert_eq!(reader.receive(|_| panic!("a datagram of another sender")).unwrap(), 0);
}

#[test]
fn datagrams_of_every_size_are_received_alone_and_in_batches() {
    let (socket, sender) = open(UdpOptions::default());
    let mut reader = socket.reader();
    let sizes = [1, 1_400, MOST_OF_IPV4, 0, 2_049, 9_000, 65_506, 20];
    for round in 0..3u8 {
        for size in sizes {
            let bytes: Vec<u8> = (0..size).map(|at| (at % 251) as u8 ^ round).collect();
            sender.send_to(&bytes, socket.address()).unwrap();
        }
        let mut found = Vec::new();
        while found.len() < sizes.len() {
            UdpSocket::wait(&[&socket], Duration::from_secs(5)).unwrap();
            let visit = |datagram: nanotape_feed::udp::Datagram<'_>| {
                let mut expected = (0..).map(|at: usize| (at % 251) as u8 ^ round);
                assert!(datagram.bytes.iter().all(|&byte| Some(byte) == expected.next()));
                assert!(!datagram.is_truncated);
                found.push(datagram.bytes.len());
            };
            reader.receive(visit).unwrap();
        }
        assert_eq!(found, sizes);
    }
}

#[test]
fn an_address_of_another_machine_is_an_error_that_names_it() {
    let at = UdpAddress { address: ([192, 0, 2, 1], 9).into(), interface: 0, sender: None };
    let error = UdpSocket::open(&at, &UdpOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("192.0.2.1:9: cannot bind: "), "{error}");
}
