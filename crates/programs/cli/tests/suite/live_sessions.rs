//! What a live plant believes, over real sockets: packets are sent here, not by the simulated
//! exchange, so that they can be as wrong as those of a network.

use std::{net::UdpSocket, ops::ControlFlow, path::Path};

use nanotape_feed::{Damage, DaySource, MessageHandler, Position, read_day};
use nanotape_harness::{Signal, eventually};
use nanotape_plant::records::Notice;
use nanotape_types::Alpha;
use nanotape_wire::{
    framing::moldudp64::{PacketWriter, end_of_session},
    itch50::Message,
};

use serde_json::Value;

use crate::support::{
    Folder,
    live::{Plant, day},
    nanotape,
};

const TODAY: &[u8; 10] = b"TODAY     ";
const A: usize = 0;
const B: usize = 1;

/// The messages of a day, and a socket that sends them.
struct Sender {
    messages: Vec<Vec<u8>>,
    socket: UdpSocket,
    lines: [String; 2],
}

impl MessageHandler for Sender {
    fn message(&mut self, _: Position, message: Message<'_>) -> ControlFlow<()> {
        self.messages.push(message.as_bytes().to_vec());
        ControlFlow::Continue(())
    }

    fn damage(&mut self, damage: Damage) {
        panic!("{damage}");
    }
}

impl Sender {
    fn new(folder: &Folder, plant: &Plant) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut sender = Self { messages: Vec::new(), socket, lines: plant.lines.clone() };
        let day = day(folder);
        read_day(&mut DaySource::open(Path::new(&day)).unwrap(), &mut sender, |_| ()).unwrap();
        sender
    }

    fn send(&self, line: usize, bytes: &[u8]) {
        self.socket.send_to(bytes, &self.lines[line]).unwrap();
    }

    /// Sends the messages with these numbers, numbered from `number`.
    fn numbered(&self, line: usize, session: &[u8; 10], first: u64, next: u64, number: u64) {
        let mut buffer = [0; 1_400];
        let mut writer = PacketWriter::new(Alpha::new(*session), number, &mut buffer).unwrap();
        for message in &self.messages[first as usize - 1..next as usize - 1] {
            assert!(writer.push(message));
        }
        let packet = writer.finish();
        self.send(line, packet);
    }

    fn packet(&self, line: usize, first: u64, next: u64) {
        self.numbered(line, TODAY, first, next, first);
    }

    /// A packet without messages.
    fn heartbeat(&self, line: usize, session: &[u8; 10], next: u64) {
        let mut packet = end_of_session(Alpha::new(*session), next);
        packet[18..].fill(0);
        self.send(line, &packet);
    }

    fn end(&self, next: u64) {
        for line in [A, B, A, B] {
            self.send(line, &end_of_session(Alpha::new(*TODAY), next));
        }
    }

    /// Sends the messages from `first` to before `next` on both lines, ten in a packet.
    fn both(&self, first: u64, next: u64) {
        for from in (first..next).step_by(10) {
            for line in [A, B] {
                self.packet(line, from, (from + 10).min(next));
            }
        }
    }
}

/// A plant and its sender.
fn begin(name: &str, options: &[&str]) -> (Folder, Plant, Sender) {
    let folder = Folder::new(name);
    let plant = Plant::start(name, options);
    let sender = Sender::new(&folder, &plant);
    (folder, plant, sender)
}

/// Ends a plant that must have had all messages.
fn require_all(plant: &mut Plant, messages: u64) {
    let (status, stop, stderr) = plant.end();
    assert_eq!(stop["messages"], messages, "{stop} {stderr}");
    assert_eq!((status, &stop["anomalies"]), (Some(0), &0.into()), "{stop} {stderr}");
    assert!(!stderr.contains("on no line") && !stderr.contains("joined late"), "{stderr}");
}

#[test]
fn what_waits_in_a_socket_while_the_plant_is_stopped_is_not_given_up() {
    let (_folder, mut plant, sender) = begin("live-stopped", &[]);
    sender.both(1, 101);
    plant.running.signal(Signal::STOP);
    // The plant reads these before line B's copies of what line A loses.
    for _ in 0..5_000 {
        sender.packet(B, 91, 101);
    }
    for from in (101..1_001).step_by(10) {
        if from % 50 != 1 {
            sender.packet(A, from, from + 10);
        }
        sender.packet(B, from, from + 10);
    }
    plant.running.signal(Signal::CONT);
    sender.end(1_001);
    require_all(&mut plant, 1_000);
}

#[test]
fn a_session_is_joined_with_its_lowest_packet_on_any_line() {
    let (_folder, mut plant, sender) = begin("live-lowest", &[]);
    sender.packet(A, 11, 21);
    sender.packet(B, 1, 11);
    sender.both(11, 501);
    sender.end(501);
    require_all(&mut plant, 500);
}

#[test]
fn yesterdays_heartbeats_and_a_stray_packet_are_not_the_session() {
    let (_folder, mut plant, sender) = begin("live-yesterday", &[]);
    for _ in 0..4 {
        sender.heartbeat(A, b"YESTERDAY ", 900);
        sender.heartbeat(B, b"YESTERDAY ", 900);
    }
    sender.numbered(A, b"TEST      ", 5, 8, 5);
    sender.both(1, 501);
    sender.numbered(B, b"TEST      ", 5, 8, 8);
    sender.both(501, 1_001);
    sender.end(1_001);
    require_all(&mut plant, 1_000);
}

#[test]
fn packets_with_numbers_that_are_too_high_change_nothing() {
    let (_folder, mut plant, sender) = begin("live-too-high", &[]);
    sender.both(1, 101);
    for (step, ahead) in [40, 1_000, 60_000, 1 << 20, 1 << 40].into_iter().enumerate() {
        let next = 101 + 200 * step as u64;
        sender.numbered(A, TODAY, 7, 12, next + ahead);
        sender.heartbeat(A, TODAY, next + 3 * ahead);
        sender.send(A, &end_of_session(Alpha::new(*TODAY), next + 2 * ahead));
        sender.both(next, next + 200);
    }
    sender.end(1_101);
    require_all(&mut plant, 1_100);
}

#[test]
fn what_is_held_when_the_plant_is_stopped_is_published_and_the_gap_reported() {
    let folder = Folder::new("live-term-config");
    let config = folder.path("plant.toml");
    std::fs::write(&config, "[input.live]\nrerequest_timeout = \"100s\"\n").unwrap();
    // Nothing answers at this address.
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let server = silent.local_addr().unwrap().to_string();
    let (_folder, mut plant, sender) =
        begin("live-term", &["--config", &config, "--rerequest", &server]);
    sender.both(1, 101);
    sender.both(111, 1_001);
    eventually("the messages after the gap are held", || {
        let stat = nanotape(["stat", plant.ring.path(), "--format", "json"]);
        let stat: Value = serde_json::from_str(&stat.stdout).unwrap();
        stat["session_kept"] == 890
    });
    plant.running.signal(Signal::TERM);
    let (status, stop, stderr) = plant.end();
    assert_eq!((status, &stop["messages"]), (Some(1), &990.into()), "{stop} {stderr}");
    assert!(stderr.contains("101 to 110"), "{stderr}");
}

#[test]
fn a_stop_in_the_middle_of_a_burst_publishes_what_was_received() {
    for round in 0..5 {
        let (_folder, mut plant, sender) = begin(&format!("live-burst-{round}"), &[]);
        sender.both(1, 101);
        eventually("the session is joined", || plant.ring.next_sequence() > 20);
        sender.both(101, 2_001);
        plant.running.signal(Signal::TERM);
        let (status, stop, stderr) = plant.end();
        let received = stop["session_next_message"].as_u64().unwrap() - 1;
        assert_eq!((status, stop["messages"].as_u64()), (Some(0), Some(received)), "{stderr}");
    }
}

#[test]
fn a_late_join_counts_the_messages_that_it_had() {
    let (_folder, mut plant, sender) = begin("live-late", &[]);
    for from in (1..101).step_by(10) {
        for line in [A, B] {
            sender.numbered(line, TODAY, from, from + 10, 500_000 + from);
        }
    }
    sender.end(500_101);
    let (status, stop, stderr) = plant.end();
    assert_eq!(stop["messages"], 100, "{stop} {stderr}");
    assert_eq!(status, Some(1), "{stderr}");
    assert!(stderr.contains("joined late"), "{stderr}");
}

#[test]
fn a_plant_that_follows_publishes_each_session_by_itself() {
    let (_folder, mut plant, sender) = begin("live-follow", &["--follow"]);
    let send_day = |session: &[u8; 10]| {
        for from in (1..1_001).step_by(10) {
            for line in [A, B] {
                sender.numbered(line, session, from, from + 10, from);
            }
        }
    };
    let send_end = |session: &[u8; 10]| {
        for line in [A, B, A, B] {
            sender.send(line, &end_of_session(Alpha::new(*session), 1_001));
        }
    };
    send_day(b"MONDAY    ");
    send_end(b"MONDAY    ");
    let mut stops = vec![plant.running.read_json()];
    // A night with heartbeats of the day, its end again, and a stray packet.
    sender.heartbeat(A, b"MONDAY    ", 1_001);
    send_end(b"MONDAY    ");
    sender.numbered(A, b"TEST      ", 5, 8, 5);
    send_day(b"TUESDAY   ");
    assert_eq!(plant.running.read_json()["event"], "start");
    // It has no end: the next one comes when its lines are silent.
    send_day(b"WEDNESDAY ");
    stops.push(plant.running.read_json());
    assert_eq!(plant.running.read_json()["event"], "start");
    send_end(b"WEDNESDAY ");
    stops.push(plant.running.read_json());
    plant.running.signal(Signal::TERM);
    let (status, _, stderr) = plant.running.end();
    assert_eq!(status, Some(0), "{stderr}");
    for stop in &stops {
        assert_eq!((&stop["event"], &stop["reason"]), (&"stop".into(), &"end of session".into()));
        assert_eq!((&stop["messages"], &stop["anomalies"]), (&1_000.into(), &0.into()), "{stop}");
    }
    let notices = plant.ring.notices();
    let starts = notices.iter().filter(|notice| matches!(notice, Notice::Start(_)));
    assert_eq!(starts.count(), 3, "each session has a start on the ring");
    let digests = notices.iter().filter_map(|notice| match notice {
        Notice::Stop(stop) => Some((stop.messages, stop.digest)),
        _ => None,
    });
    let digests: Vec<_> = digests.collect();
    assert_eq!(digests.len(), 3);
    assert!(digests.iter().all(|of| *of == digests[0] && of.1 != 0), "{digests:?}");
}
