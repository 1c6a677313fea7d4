//! Clients that break the protocol, flood the servers or say nothing.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use nanotape_exchange::feeds::{GapFaults, GapServerOptions, SpinServerOptions};
use nanotape_synth::FeedProtocol;
use nanotape_wire::pitch_tcp::{GapRequestFields, LoginRequestFields, SpinRequestFields};

use super::{
    Receiver, Running,
    client::{PitchClient, unit},
    loopback, options,
};
use crate::support::day;

/// A feed with both servers that stays.
fn feed() -> (Running, Receiver) {
    let (receiver, answers) = Receiver::start(1);
    let mut options = options(FeedProtocol::CboePitch, 1);
    options.lines.pace_milli = 0;
    options.lines.linger = Duration::from_secs(120);
    options.gap = Some(GapServerOptions {
        server: loopback(),
        answers,
        limits: Default::default(),
        faults: GapFaults::default(),
        answer_faults: Default::default(),
    });
    options.spin = Some(SpinServerOptions { server: loopback(), faults: Default::default() });
    (Running::start(&day(1_000, 10, 8), options), receiver)
}

fn login() -> Vec<u8> {
    use nanotape_types::Alpha;
    let message = LoginRequestFields {
        session_sub_id: Alpha::new(*b"0001"),
        username: Alpha::new(*b"USER"),
        filler: Alpha::new(*b"  "),
        password: Alpha::new(*b"PASSWORD  "),
    };
    unit(&message.encode())
}

/// Whether the server closes the connection, whatever it sends before.
fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut buffer = [0; 4_096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

#[test]
fn what_breaks_the_protocol_ends_the_connection_and_no_other() {
    let (feed, receiver) = feed();
    let addresses = [feed.addresses.gap.unwrap(), feed.addresses.spins[0]];
    let gap = unit(&GapRequestFields { unit: 1, sequence_number: 1, message_count: 1 }.encode());
    let spin = unit(&SpinRequestFields { sequence_number: 1 }.encode());
    for address in addresses {
        let good = PitchClient::logged_in(address);
        for bytes in [
            // A length below that of a header, and one above every message.
            vec![7, 0, 0, 0, 0, 0, 0, 0],
            vec![0xff; 70_000],
            vec![0, 8, 1, 0, 0, 0, 0, 0],
            // A request before the login, and a second login.
            gap.clone(),
            spin.clone(),
            [login(), login()].concat(),
            // Numbered messages, a message of the server, an unknown one, and a wrong length.
            [login(), vec![10, 0, 1, 0, 1, 0, 0, 0, 2, 3]].concat(),
            [login(), unit(&[3, 2, b'A'])].concat(),
            [login(), unit(&[2, 0x77])].concat(),
            [login(), vec![12, 0, 1, 0, 0, 0, 0, 0, 9, 3, 1, 1]].concat(),
            [login(), unit(&[2, 3])].concat(),
            b"GET / HTTP/1.1\r\nHost: exchange\r\n\r\n".to_vec(),
        ] {
            let mut stream = TcpStream::connect(address).unwrap();
            // The connection may end before all is written.
            let _ = stream.write_all(&bytes);
            assert!(is_closed(&mut stream), "{:?}", &bytes[..bytes.len().min(40)]);
        }
        drop(good);
    }
    feed.stop.request();
    let summary = feed.summary();
    for counts in [summary.gap.connections, summary.spin.connections] {
        assert_eq!((counts.violations, counts.connections), (12, 13));
    }
    drop(receiver.packets());
}

#[test]
fn units_may_come_byte_by_byte_and_a_partial_one_ends_with_the_silence() {
    let (feed, receiver) = feed();
    let address = feed.addresses.gap.unwrap();
    let mut client = PitchClient::connect(address);
    client.stream.set_nodelay(true).unwrap();
    let gap = unit(&GapRequestFields { unit: 1, sequence_number: 1, message_count: 1 }.encode());
    for byte in [login(), gap].concat() {
        client.stream.write_all(&[byte]).unwrap();
    }
    assert_eq!(client.next().unwrap()[1], 2);
    assert_eq!(client.next().unwrap()[1], 4);
    client.stream.write_all(&[17, 0, 1]).unwrap();
    assert_eq!(client.next(), None);
    // Five seconds after the last byte, with a heartbeat in each of them.
    assert!((4_900_000_000..9_000_000_000).contains(&client.passed_ns()), "{}", client.passed_ns());
    assert!((3..=6).contains(&client.heartbeats), "{}", client.heartbeats);

    // Heartbeats keep a client.
    let mut client = PitchClient::logged_in(address);
    client.stream.set_read_timeout(Some(Duration::from_millis(900))).unwrap();
    while client.passed_ns() < 6_500_000_000 {
        client.heartbeat();
        std::thread::sleep(Duration::from_millis(500));
    }
    client.send(&GapRequestFields { unit: 1, sequence_number: 1, message_count: 1 }.encode());
    assert_eq!(client.next().unwrap()[1], 4);
    feed.stop.request();
    assert_eq!(feed.summary().gap.connections.lost, 1);
    drop(receiver.packets());
}

/// Sends requests and reads nothing until the server takes no more; returns the bytes it took.
fn flood(address: SocketAddr, request: &[u8]) -> usize {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(&login()).unwrap();
    stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let piece = request.repeat(1_000);
    let mut taken = 0;
    // A piece that is written in part ends the flood: what follows would not be whole.
    while taken < 400 << 20 && stream.write(&piece).is_ok_and(|length| length > 0) {
        taken += piece.len();
    }
    taken
}

#[test]
fn a_client_that_never_reads_is_slowed_down_and_others_are_served() {
    let (feed, receiver) = feed();
    let gap = unit(&GapRequestFields { unit: 9, sequence_number: 1, message_count: 1 }.encode());
    let spin = unit(&SpinRequestFields { sequence_number: 0x7fff_ffff }.encode());
    for (address, request) in [(feed.addresses.gap.unwrap(), gap), (feed.addresses.spins[0], spin)]
    {
        let taken = flood(address, &request);
        // The buffers of both sides of the connection, and no memory of the server.
        assert!(taken < 100 << 20, "{taken} bytes");
        let mut client = PitchClient::logged_in(address);
        client.stream.write_all(&request).unwrap();
        assert!(client.next().is_some());
    }
    feed.stop.request();
    feed.summary();
    drop(receiver.packets());
}
