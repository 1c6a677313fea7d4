//! Multicast, in a network namespace that has a loopback interface and nothing else. So no packet
//! reaches an interface of the machine.

use std::{
    net::{Ipv4Addr, UdpSocket},
    thread::{self, JoinHandle},
};

use nanotape_harness::{Peer, Task, listen, say};

use super::{Received, messages_of, receive};
use crate::support::{Folder, namespace::in_a_namespace, nanotape, running::Running};

/// The full name of [`child`].
const CHILD: &str = "exchange::namespace::child";

#[test]
fn two_multicast_lines_carry_the_day_in_a_namespace_of_their_own() {
    let program = std::env::current_exe().unwrap();
    let Some(mut command) = in_a_namespace(&program) else { return };
    let folder = Folder::new("exchange");
    let day = folder.day(3_000, 20);
    let task = Task::new("multicast", day.as_ref());
    task.add_to(&mut command, CHILD);
    let mut peer = Peer::start(command);
    assert_eq!(peer.receive(), "both lines have the day");
    peer.send("end");
    assert!(peer.end().success());
}

/// Runs in the namespace; returns at once in a run of the tests.
#[test]
fn child() {
    let Some(Task { path, .. }) = Task::of_this_process() else { return };
    let interfaces = std::fs::read_to_string("/proc/net/dev").unwrap();
    assert_eq!(interfaces.lines().skip(2).count(), 1, "only a loopback interface: {interfaces}");
    let day = path.to_str().unwrap();
    let receivers = receivers();
    let mut exchange = Running::start(&[
        "exchange",
        day,
        "--line-a",
        "239.77.1.1:5001",
        "--line-b",
        "239.77.1.2:5002",
        "--pace",
        "10000x",
        "--linger",
        "1s",
        "--format",
        "json",
    ]);
    let ready = exchange.read_json();
    assert_eq!(ready["line_a"], "239.77.1.1:5001");
    let expected = messages_of(day);
    for received in receivers.map(|receiver| receiver.join().unwrap()) {
        let Received { messages, .. } = received;
        assert!(messages == expected);
    }
    let summary = exchange.read_json();
    assert_eq!((&summary["a_send_errors"], &summary["b_send_errors"]), (&0.into(), &0.into()));
    assert_eq!(exchange.end().0, Some(0));

    // A capture goes to the groups in it.
    let capture = format!("{day}.pcap");
    let lines = ["--line-a", "239.77.1.1:5001", "--line-b", "239.77.1.2:5002"];
    let options = ["replay", day, "-o", &capture, "--date", "2019-12-30"];
    assert_eq!(nanotape([&options[..], &lines].concat()).status, 0);
    let receivers = self::receivers();
    let replayed = nanotape(["replay", &capture, "--pace", "10000x"]);
    assert_eq!((replayed.status, replayed.stderr.as_str()), (0, ""));
    for received in receivers.map(|receiver| receiver.join().unwrap()) {
        assert!(received.messages == expected);
    }
    say("both lines have the day");
    listen();
}

/// Receivers of both groups, each in a thread of its own.
fn receivers() -> [JoinHandle<Received>; 2] {
    [("239.77.1.1", 5_001), ("239.77.1.2", 5_002)].map(|(group, port)| {
        let group: Ipv4Addr = group.parse().unwrap();
        // Bound to the group, so that the other line's packets do not arrive.
        let socket = UdpSocket::bind((group, port)).unwrap();
        socket.join_multicast_v4(&group, &Ipv4Addr::LOCALHOST).unwrap();
        thread::spawn(move || receive(&socket))
    })
}
