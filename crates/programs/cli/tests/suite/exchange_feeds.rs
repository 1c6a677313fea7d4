//! `nanotape exchange --protocol` through the command: the lines and the servers of PITCH.

use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpStream, UdpSocket},
    time::Duration,
};

use nanotape_harness::Signal;
use nanotape_types::Alpha;
use nanotape_wire::{
    framing::{
        numbered::PacketFraming as _,
        pitch::{Pitch, PitchUnit, SplitUnit, UnitWriter, gap_request, split},
    },
    pitch_tcp::{LoginRequestFields, Message},
};
use serde_json::Value;

use crate::support::{Folder, nanotape, running::Running};

/// Sends units, and returns the messages of the server up to the first one that `is_last`.
fn requested(
    address: &Value,
    units: &[Vec<u8>],
    is_last: impl Fn(&Message<'_>) -> bool,
) -> Vec<Vec<u8>> {
    let mut stream = TcpStream::connect(address.as_str().unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(&units.concat()).unwrap();
    let (mut input, mut found, mut buffer) = (Vec::new(), Vec::new(), [0; 4_096]);
    loop {
        let length = stream.read(&mut buffer).unwrap();
        assert!(length > 0, "the server ended the connection after {found:?}");
        input.extend_from_slice(&buffer[..length]);
        while let SplitUnit::Unit { unit, rest } = split(&input) {
            for message in Pitch::decode(unit).unwrap().unsequenced() {
                found.push(message.to_vec());
                if is_last(&Message::decode(message).unwrap()) {
                    return found;
                }
            }
            input = rest.to_vec();
        }
    }
}

fn unit(message: &[u8]) -> Vec<u8> {
    let mut buffer = [0; 64];
    let mut writer = UnitWriter::new(PitchUnit(0), 0, &mut buffer).unwrap();
    assert!(writer.push(message));
    writer.finish().to_vec()
}

fn login() -> Vec<u8> {
    let login = LoginRequestFields {
        session_sub_id: Alpha::new(*b"0001"),
        username: Alpha::new(*b"USER"),
        filler: Alpha::new(*b"  "),
        password: Alpha::new(*b"PASSWORD  "),
    };
    unit(&login.encode())
}

#[test]
fn pitch_is_sent_with_its_servers_and_the_report_counts_both() {
    let folder = Folder::new("exchange-feeds");
    let day = folder.day(3_000, 10);
    let [line, answers] = [(); 2].map(|()| {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(1_500))).unwrap();
        socket
    });
    let address = |socket: &UdpSocket| socket.local_addr().unwrap().to_string();
    let mut exchange = Running::start(&[
        "exchange",
        &day,
        "--protocol",
        "cboe-pitch",
        "--units",
        "1",
        "--line-a",
        &address(&line),
        "--faults-a",
        "drop=5%",
        "--pace",
        "10000x",
        "--gap-server",
        "127.0.0.1:0",
        "--gap-answers",
        &address(&answers),
        "--spin-server",
        "127.0.0.1:0",
        "--gap-per-second",
        "100k",
        "--linger",
        "60s",
        "--format",
        "json",
    ]);
    let ready = exchange.read_json();
    assert_eq!(
        (ready["protocol"].as_str(), ready["units"].as_u64()),
        (Some("cboe-pitch"), Some(1))
    );
    let (mut messages, mut buffer) = (BTreeMap::new(), [0; 2_048]);
    let (mut packets, mut next) = (0, 1);
    // The day is over with its last message, End of Session; a heartbeat shows one that is lost.
    while messages.get(&(next - 1)).is_none_or(|message: &Vec<u8>| message[1] != 0x2d) {
        let length = line.recv(&mut buffer).expect("a packet or a heartbeat");
        let packet = Pitch::decode(&buffer[..length]).unwrap();
        packets += u64::from(packet.count > 0);
        messages.extend(packet.messages().map(|(number, message)| (number, message.to_vec())));
        let is_idle = packet.count == 0 && packet.first == next && next > 1;
        next = packet.next();
        if is_idle {
            break;
        }
    }
    let missing: Vec<u64> = (1..next).filter(|number| !messages.contains_key(number)).collect();
    assert!(missing.len() > 5, "{missing:?}");
    let (mut accepted, mut logins) = (0, 0);
    // As many as a receive buffer has room for.
    for missing in missing.chunks(50) {
        let requests = missing.iter().map(|number| gap_request(PitchUnit(1), *number, 1).unwrap());
        let units: Vec<_> = std::iter::once(login()).chain(requests.map(|r| r.to_vec())).collect();
        let last = missing[missing.len() - 1] as u32;
        let answered = requested(
            &ready["gap_server"],
            &units,
            |message| matches!(message, Message::GapResponse(m) if m.sequence_number() == last),
        );
        logins += 1;
        accepted += answered[1..].iter().filter(|message| message[9] == b'A').count() as u64;
        for _ in missing {
            let length = answers.recv(&mut buffer).unwrap();
            let packet = Pitch::decode(&buffer[..length]).unwrap();
            messages.extend(packet.messages().map(|(number, message)| (number, message.to_vec())));
        }
    }
    assert_eq!(accepted, missing.len() as u64);
    assert!(messages.keys().copied().eq(1..next));

    // The image of the whole day.
    let sequence_number = next as u32 - 1;
    let announced = requested(&ready["spin_servers"], &[login()], |message| {
        matches!(message, Message::SpinImageAvailable(_))
    });
    let Ok(Message::SpinImageAvailable(available)) = Message::decode(announced.last().unwrap())
    else {
        panic!("{announced:?}");
    };
    assert_eq!(available.sequence_number(), sequence_number);

    exchange.signal(Signal::INT);
    let summary = exchange.read_json();
    assert_eq!(exchange.end().0, Some(0));
    let count = |name: &str| summary[name].as_u64().unwrap_or_else(|| panic!("{name}: {summary}"));
    assert_eq!((count("messages"), count("unit_1_last")), (next - 1, next - 1));
    assert_eq!(count("a_sent"), packets);
    assert_eq!(count("unit_1_a_lost"), count("a_dropped"));
    assert_eq!((count("gap_accepted"), count("gap_messages")), (accepted, accepted));
    assert_eq!((count("gap_server_logins"), count("spin_server_logins")), (logins, 1));
}

#[test]
fn options_that_do_not_apply_to_the_protocol_are_refused() {
    let folder = Folder::new("exchange-feeds");
    let day = folder.day(200, 2);
    let line = ["--line-a", "127.0.0.1:9"];
    for (options, error) in [
        (vec!["--protocol", "cboe-pitch"], "nothing to send to"),
        (vec!["--units", "2"], "--protocol <PROTOCOL>"),
        (
            vec!["--protocol", "iex-deep", "--units", "2"],
            "--units applies to --protocol cboe-pitch",
        ),
        (vec!["--spin-server", "127.0.0.1:0"], "--spin-server applies to --protocol cboe-pitch"),
        (vec!["--protocol", "iex-tops", "--soup", "127.0.0.1:0"], "--soup is a server of ITCH"),
        (vec!["--protocol", "iex-deep", line[0], line[1]], "no trade date in the file name"),
        (vec!["--faults-both", "restart=@12:00", line[0], line[1]], "restart applies to"),
        (
            vec!["--protocol", "cboe-pitch", "--gap-server", "127.0.0.1:0"],
            "--gap-answers <IP:PORT>",
        ),
        (vec!["--protocol", "cboe-pitch", line[0], line[1], "--login", "1:2:3"], "--login has no"),
        (vec!["--protocol", "cboe-pitch", "--line-a", "127.0.0.1:65535"], "as many ports"),
        (
            vec!["--protocol", "cboe-pitch", line[0], line[1], "--line-b", "127.0.0.1:10"],
            "have ports in common",
        ),
    ] {
        let ran = nanotape(["exchange", &day].iter().chain(&options));
        assert_eq!(ran.status, 2, "{options:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(error), "{options:?}: {}", ran.stderr);
    }
}
