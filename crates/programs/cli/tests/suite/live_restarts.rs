//! A live plant that is killed and started again with the folder of its kept packets.

use std::{
    io::ErrorKind,
    net::{Ipv4Addr, UdpSocket},
    ops::Range,
    path::Path,
    process::Command,
};

use nanotape_harness::{Bounded as _, Mount, Signal, eventually};
use nanotape_plant::records::{GapKind, Notice, PlantStop};
use serde_json::Value;

use crate::{
    live_parts::{end_of_session, order, packet},
    support::{
        Folder,
        live::{Plant, addresses},
        nanotape,
        plants::Ring,
        running::Running,
    },
};

/// What is sent to the lines of a plant.
struct Sender {
    socket: UdpSocket,
    lines: [String; 2],
}

impl Sender {
    fn new(lines: &[String; 2]) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        Self { socket, lines: lines.clone() }
    }

    fn both(&self, packet: &[u8]) {
        for line in &self.lines {
            self.socket.send_to(packet, line).unwrap();
        }
    }

    /// The messages from `first` to before `next`, ten in a packet, some only on one line.
    fn messages(&self, first: u64, next: u64) {
        for from in (first..next).step_by(10) {
            let to = (from + 10).min(next);
            let messages: Vec<_> = (from..to).map(|number| order(number, 100)).collect();
            let packet = packet(from, &messages);
            match from % 70 {
                1 => drop(self.socket.send_to(&packet, &self.lines[1])),
                31 => drop(self.socket.send_to(&packet, &self.lines[0])),
                _ => self.both(&packet),
            }
        }
    }

    fn end(&self, next: u64) {
        (0..2).for_each(|_| self.both(&end_of_session(next)));
    }
}

/// The same lines and the same ring for several plants.
struct Lives {
    lines: [String; 2],
    ring: Ring,
}

impl Lives {
    fn new(name: &str) -> Self {
        Self { lines: addresses(), ring: Ring::new(name) }
    }

    fn start(&self, options: &[&str]) -> Running {
        let [a, b] = &self.lines;
        let mut arguments = vec!["run", "--live", "--line-a", a, "--line-b", b, "--format", "json"];
        arguments.extend(["--live-orders", "65536"]);
        arguments.extend(["--ring", self.ring.path(), "--capacity", "64MiB"]);
        arguments.extend(["--date", "2019-12-30"]);
        arguments.extend(options);
        let mut running = Running::start(&arguments);
        let begun = running.read_json();
        assert_eq!(begun["event"], "start", "{begun}");
        running
    }

    /// Waits until a plant has delivered all messages before this one.
    fn wait_for(&self, next: u64) {
        eventually("the plant has the messages", || self.next_message() == next);
    }

    fn next_message(&self) -> u64 {
        let stat = nanotape(["stat", self.ring.path(), "--format", "json"]);
        let stat: Value = serde_json::from_str(&stat.stdout).unwrap();
        stat["session_next_message"].as_u64().unwrap_or_default()
    }

    /// The stop of the last plant, and the numbers of the messages that it lost.
    fn last_run(&self) -> (PlantStop, Vec<(u64, u64)>) {
        let (mut lost, mut stop) = (Vec::new(), None);
        for notice in self.ring.notices() {
            match notice {
                Notice::Start(_) => lost.clear(),
                Notice::Gap(gap) if gap.kind == GapKind::Missing => {
                    lost.push((gap.offset, gap.offset + gap.lost_bytes));
                }
                Notice::Stop(of_run) => stop = Some(of_run),
                _ => {}
            }
        }
        (stop.unwrap(), lost)
    }
}

fn kill(running: &mut Running) -> String {
    running.signal(Signal::KILL);
    running.end().2
}

fn stop_of(running: &mut Running) -> (Option<i32>, Value, String) {
    let (status, stdout, stderr) = running.end();
    (status, serde_json::from_str(stdout.lines().last().unwrap()).unwrap(), stderr)
}

/// A re-request server that has these messages, and gets no request for others. It answers each
/// request with one packet.
fn serve(numbers: Range<u64>) -> String {
    let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = server.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let mut request = [0; 64];
        while let Ok((length, plant)) = server.recv_from(&mut request) {
            assert_eq!(length, 20);
            let first = u64::from_be_bytes(request[10..18].try_into().unwrap());
            let next = first + u64::from(u16::from_be_bytes([request[18], request[19]]));
            assert!(numbers.start <= first && next <= numbers.end, "{first} to {next}");
            let messages: Vec<_> = (first..next).map(|number| order(number, 100)).collect();
            server.send_to(&packet(first, &messages), plant).unwrap();
        }
    });
    address
}

/// The digest of a plant that had all messages before `next`, and was not killed.
fn digest_of_a_whole_run(next: u64) -> u64 {
    let mut plant = Plant::start("live-whole", &[]);
    let sender = Sender::new(&plant.lines);
    sender.messages(1, next);
    sender.end(next);
    let (status, stop, stderr) = plant.end();
    assert_eq!((status, &stop["messages"]), (Some(0), &(next - 1).into()), "{stop} {stderr}");
    plant.ring.stop().digest
}

/// Runs the folder again; returns its messages and its digest.
fn run_again(folder: &str) -> (u64, u64) {
    let ring = Ring::new("live-restarts-again");
    let again = nanotape(["run", "--input", folder, "--ring", ring.path(), "--capacity", "64MiB"]);
    assert!(again.status < 2, "{again:?}");
    (ring.stop().messages, ring.stop().digest)
}

#[test]
fn a_plant_that_is_killed_twice_goes_on_without_a_server_and_lacks_nothing() {
    let folder = Folder::new("live-killed-twice");
    let (lives, kept) = (Lives::new("live-killed-twice"), folder.path("kept"));
    let sender = Sender::new(&lives.lines);
    let mut plant = lives.start(&["--keep", &kept]);
    sender.messages(1, 1_001);
    lives.wait_for(1_001);
    kill(&mut plant);

    let mut plant = lives.start(&["--keep", &kept]);
    lives.wait_for(1_001);
    sender.messages(1_001, 1_501);
    lives.wait_for(1_501);
    let log = kill(&mut plant);
    assert!(log.contains("1000 messages of a plant before; next message 1001"), "{log}");
    assert!(log.contains("caught up at message 1001"), "{log}");

    let mut plant = lives.start(&["--keep", &kept]);
    sender.messages(1_501, 2_001);
    sender.end(2_001);
    let (status, stop, stderr) = stop_of(&mut plant);
    assert_eq!((status, &stop["messages"]), (Some(0), &2_000.into()), "{stop} {stderr}");
    assert_eq!((&stop["reason"], &stop["gaps"]), (&"end of session".into(), &0.into()), "{stop}");
    let (of_ring, lost) = lives.last_run();
    assert_eq!((of_ring.damaged, lost), (0, vec![]));
    assert_eq!(of_ring.digest, digest_of_a_whole_run(2_001), "as if it had not been killed");
    assert_eq!(run_again(&kept), (2_000, of_ring.digest));
    assert!(!Path::new(&kept).join("arriving").exists());

    // What is over is not begun again.
    let [a, b] = &lives.lines;
    let again = nanotape([
        "run",
        "--live",
        "--line-a",
        a,
        "--line-b",
        b,
        "--ring",
        lives.ring.path(),
        "--date",
        "2019-12-30",
        "--keep",
        &kept,
    ]);
    assert_eq!(again.status, 2, "{again:?}");
    assert!(again.stderr.contains("the session in it has ended"), "{again:?}");
}

#[test]
fn what_was_sent_while_no_plant_was_there_is_exactly_what_is_lost() {
    let folder = Folder::new("live-missed");
    let (lives, kept) = (Lives::new("live-missed"), folder.path("kept"));
    let sender = Sender::new(&lives.lines);
    let mut plant = lives.start(&["--keep", &kept]);
    sender.messages(1, 501);
    lives.wait_for(501);
    kill(&mut plant);
    sender.messages(501, 731);

    let mut plant = lives.start(&["--keep", &kept]);
    sender.messages(731, 1_001);
    sender.end(1_001);
    let (status, stop, stderr) = stop_of(&mut plant);
    assert_eq!((status, &stop["messages"]), (Some(1), &770.into()), "{stop} {stderr}");
    let (of_ring, lost) = lives.last_run();
    assert_eq!(lost, [(501, 731)], "{stderr}");
    assert_eq!(run_again(&kept), (770, of_ring.digest));
}

#[test]
fn what_was_sent_while_no_plant_was_there_comes_from_a_server() {
    let folder = Folder::new("live-missed-server");
    let (lives, kept) = (Lives::new("live-missed-server"), folder.path("kept"));
    let sender = Sender::new(&lives.lines);
    let address = serve(501..731);
    let options = ["--keep", &kept, "--rerequest", &address];
    let mut plant = lives.start(&options);
    sender.messages(1, 501);
    lives.wait_for(501);
    kill(&mut plant);
    sender.messages(501, 731);

    let mut plant = lives.start(&options);
    sender.messages(731, 1_001);
    sender.end(1_001);
    let (status, stop, stderr) = stop_of(&mut plant);
    assert_eq!((status, &stop["messages"]), (Some(0), &1_000.into()), "{stop} {stderr}");
    assert_eq!(stop["gap_messages_retransmitted"], 230, "{stop} {stderr}");
    let digest = lives.ring.stop().digest;
    assert_eq!(digest, digest_of_a_whole_run(1_001));
    assert_eq!(run_again(&kept), (1_000, digest));
}

#[test]
fn a_plant_that_is_killed_again_and_again_in_a_session_with_losses_lacks_nothing() {
    let folder = Folder::new("live-killed-often");
    let (lives, kept) = (Lives::new("live-killed-often"), folder.path("kept"));
    let sender = Sender::new(&lives.lines);
    let address = serve(1..3_001);
    let options = ["--keep", &kept, "--join", "start", "--rerequest", &address];
    let mut plant = lives.start(&options);
    for from in (1..3_001).step_by(500) {
        sender.messages(from, from + 100);
        // Lost on both lines.
        sender.messages(from + 120, from + 500);
        lives.wait_for(from + 500);
        kill(&mut plant);
        // This one is killed while it catches up, or a moment after.
        kill(&mut lives.start(&options));
        plant = lives.start(&options);
    }
    sender.end(3_001);
    let (status, stop, stderr) = stop_of(&mut plant);
    assert_eq!((status, &stop["messages"]), (Some(0), &3_000.into()), "{stop} {stderr}");
    let digest = lives.ring.stop().digest;
    assert_eq!(digest, digest_of_a_whole_run(3_001));
    assert_eq!(run_again(&kept), (3_000, digest));
}

#[test]
fn a_plant_that_was_stopped_goes_on_and_is_recorded_whole() {
    let folder = Folder::new("live-stopped-on");
    let (lives, kept) = (Lives::new("live-stopped-on"), folder.path("kept"));
    let journal = folder.path("journal");
    let sender = Sender::new(&lives.lines);
    let options = ["--keep", &kept, "--journal", &journal];
    let mut plant = lives.start(&options);
    sender.messages(1, 501);
    lives.wait_for(501);
    plant.signal(Signal::TERM);
    let (status, stop, stderr) = stop_of(&mut plant);
    assert_eq!((status, &stop["messages"]), (Some(0), &500.into()), "{stop} {stderr}");

    let mut plant = lives.start(&options);
    sender.messages(501, 1_001);
    sender.end(1_001);
    let (status, stop, stderr) = stop_of(&mut plant);
    assert_eq!((status, &stop["messages"]), (Some(0), &1_000.into()), "{stop} {stderr}");
    assert_eq!((&stop["lost"], &stop["recorded"]), (&0.into(), &stop["records"]), "{stop}");
    let digest = lives.ring.stop().digest;
    assert_eq!(digest, digest_of_a_whole_run(1_001));
    assert_eq!(run_again(&kept), (1_000, digest));
    let verified = nanotape(["journal", "verify", &journal]);
    assert_eq!(verified.status, 0, "{verified:?}");
}

#[test]
fn a_plant_goes_on_with_what_is_kept_although_nothing_can_be_added() {
    for is_read_only in [false, true] {
        let Some(mounted) = Mount::new("tmpfs", "size=300m") else { return };
        let lives = Lives::new("live-restart-full");
        let kept = mounted.path().join("kept").display().to_string();
        let sender = Sender::new(&lives.lines);
        let mut plant = lives.start(&["--keep", &kept]);
        sender.messages(1, 501);
        lives.wait_for(501);
        kill(&mut plant);
        if is_read_only {
            let mut remount = Command::new("mount");
            remount.args(["-o", "remount,ro"]).arg(mounted.path());
            assert!(remount.bounded_status().unwrap().success());
        } else {
            let full = std::fs::write(mounted.path().join("filler"), vec![1; 301 << 20]);
            assert_eq!(full.unwrap_err().kind(), ErrorKind::StorageFull);
        }

        let mut plant = lives.start(&["--keep", &kept]);
        sender.messages(501, 1_001);
        sender.end(1_001);
        let (status, stop, stderr) = stop_of(&mut plant);
        assert_eq!((&stop["messages"], &stop["gaps"]), (&1_000.into(), &0.into()), "{stderr}");
        assert!(stderr.contains("packets wait in the sockets while"), "{stderr}");
        assert!(stderr.contains("500 messages of a plant before; next message 501"), "{stderr}");
        let of_ring = lives.last_run().0;
        assert_eq!(of_ring.digest, digest_of_a_whole_run(1_001), "as if it had not been killed");
        // The segment of a full disk has room for the rest.
        let is_unkept = stderr.contains("packets from now on are not kept");
        assert_eq!((status, is_unkept), (Some(i32::from(is_read_only)), is_read_only), "{stderr}");
        if !is_read_only {
            assert_eq!(run_again(&kept), (1_000, of_ring.digest));
        }
    }
}

#[test]
fn packets_of_another_date_or_other_settings_are_not_gone_on_with() {
    let folder = Folder::new("live-other-day");
    let (lives, kept) = (Lives::new("live-other-day"), folder.path("kept"));
    let mut plant = lives.start(&["--keep", &kept]);
    Sender::new(&lives.lines).messages(1, 101);
    lives.wait_for(101);
    kill(&mut plant);
    let [a, b] = &lives.lines;
    let start = |options: &[&str]| {
        let mut arguments = vec!["run", "--live", "--line-a", a, "--ring", lives.ring.path()];
        arguments.extend(["--keep", &kept]);
        arguments.extend(options);
        nanotape(arguments)
    };
    let other = start(&["--line-b", b, "--date", "2019-12-31"]);
    assert_eq!(other.status, 2, "{other:?}");
    let expected = "has packets of 2019-12-30, and the trade date is 2019-12-31";
    assert!(other.stderr.contains(expected), "{other:?}");
    let other = start(&["--date", "2019-12-30"]);
    assert_eq!(other.status, 2, "{other:?}");
    assert!(other.stderr.contains("was kept with another setting (lines)"), "{other:?}");
}
