//! Sockets on the loopback address: real datagrams, real times, real drops.

use std::{
    net::{Ipv4Addr, SocketAddrV4, UdpSocket as Sender},
    time::Duration,
};

use nanotape_feed::udp::{DatagramReceiver, UdpAddress, UdpOptions, UdpSocket};

const ANY_PORT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);

fn open(options: UdpOptions) -> (UdpSocket, Sender) {
    let interface = Ipv4Addr::LOCALHOST;
    let at = UdpAddress { address: ANY_PORT, interface, sender: None };
    (UdpSocket::open(&at, &options).unwrap(), Sender::bind(ANY_PORT).unwrap())
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
fn an_address_of_another_machine_is_an_error_that_names_it() {
    let address = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 9);
    let at = UdpAddress { address, interface: Ipv4Addr::UNSPECIFIED, sender: None };
    let error = UdpSocket::open(&at, &UdpOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("192.0.2.1:9: cannot bind: "), "{error}");
}
