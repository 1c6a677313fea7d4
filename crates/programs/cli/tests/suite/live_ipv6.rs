//! A live session over IPv6, in a network namespace with a loopback interface, and with bridges
//! that the tests make: groups of all scopes, sources, servers, interfaces without an address.

use std::{
    net::{SocketAddr, UdpSocket as Bare},
    path::Path,
    process::Command,
    thread,
    time::Duration,
};

use nanotape_feed::udp::{
    DatagramReceiver as _, UdpAddress, UdpOptions, UdpSocket, interface_of_name,
};
use nanotape_harness::{Bounded as _, Peer, Task, listen, say, skipped};

use crate::support::{
    Folder,
    live::{addresses, day},
    namespace::in_a_namespace,
    nanotape,
    plants::Ring,
    running::Running,
};

/// The full name of [`child`].
const CHILD: &str = "live_ipv6::child";

/// Runs a role of [`child`] in a namespace.
fn in_namespace(role: &str, path: &str) {
    let program = std::env::current_exe().unwrap();
    let Some(mut command) = in_a_namespace(&program) else { return };
    Task::new(role, Path::new(path)).add_to(&mut command, CHILD);
    let mut peer = Peer::start(command);
    match peer.receive().as_str() {
        "all is well" => {}
        lacking => skipped(lacking),
    }
    peer.send("end");
    assert!(peer.end().success());
}

#[test]
fn lines_on_ipv6_groups_and_servers_of_ipv6_give_the_session_of_the_day() {
    let folder = Folder::new("live-ipv6");
    in_namespace("groups", &day(&folder));
}

#[test]
fn lines_on_ipv6_addresses_of_this_machine_give_the_session_of_the_day() {
    let folder = Folder::new("live-ipv6-hosts");
    in_namespace("hosts", &day(&folder));
}

#[test]
fn a_source_of_an_ipv6_group_is_the_only_one_that_is_received() {
    in_namespace("sources", "");
}

#[test]
fn a_group_is_joined_by_the_number_of_its_interface_and_again_when_it_is_another_one() {
    in_namespace("interfaces", "");
}

/// Runs in the namespace; returns at once in a run of the tests.
#[test]
fn child() {
    let Some(task) = Task::of_this_process() else { return };
    if !ip("-6 route add local ff00::/8 dev lo table local") {
        say("the namespace has no IPv6, which is not tested");
        return drop(listen());
    }
    let day = task.path.to_str().unwrap();
    let is_tested = match task.role.as_str() {
        "groups" => session(day, ["[ff15::1]:5001", "[ff02::2%lo]:5002"]),
        "hosts" => session(day, ["[::1]:5001", "[::1]:5002"]),
        "sources" => sources(),
        "interfaces" => interfaces(),
        role => panic!("{role}"),
    };
    say(if is_tested { "all is well" } else { "no interface can be made: they are not tested" });
    listen();
}

fn ip(command: &str) -> bool {
    Command::new("ip").args(command.split(' ')).bounded_status().unwrap().success()
}

/// A plant on two lines of IPv6 has the day, with what both lines lack from a server of IPv6.
fn session(day: &str, lines: [&str; 2]) -> bool {
    let ring = Ring::new("live-ipv6");
    let options =
        ["run", "--live", "--line-a", lines[0], "--line-b", lines[1], "--interface", "lo"];
    let more = ["--rerequest", "[::1]:5003", "--join", "start", "--date", "2019-12-30"];
    let output = ["--ring", ring.path(), "--format", "json", "--live-orders", "65536"];
    let mut plant = Running::start(&[&options[..], &more, &output].concat());
    assert_eq!(plant.read_json()["event"], "start");

    // The exchange sends over IPv4: what it sends is passed on.
    let number = interface_of_name("lo").unwrap();
    let targets = lines.map(|line| line.replace("%lo", &format!("%{number}")));
    let relays = addresses::<2>();
    for (relay, target) in relays.iter().zip(&targets) {
        let (from, to) = (Bare::bind(relay).unwrap(), Bare::bind("[::]:0").unwrap());
        let target: SocketAddr = target.parse().unwrap();
        thread::spawn(move || {
            let mut buffer = [0; 2_048];
            loop {
                let length = from.recv(&mut buffer).unwrap();
                to.send_to(&buffer[..length], target).unwrap();
            }
        });
    }
    let [a, b] = &relays;
    let sent = nanotape([
        "exchange",
        day,
        "--line-a",
        a,
        "--line-b",
        b,
        "--rerequest",
        "[::1]:5003",
        "--faults-both",
        "drop=1%",
        "--seed",
        "5",
        "--pace",
        "8000x",
        "--linger",
        "2s",
    ]);
    assert_eq!(sent.status, 0, "{sent:?}");
    let (status, said, errors) = plant.end();
    let stop: serde_json::Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert_eq!((status, &stop["reason"]), (Some(0), &"end of session".into()), "{errors}");
    assert_eq!((&stop["messages"], &stop["anomalies"]), (&20_000.into(), &0.into()), "{errors}");
    assert!(stop["gap_messages_retransmitted"].as_u64().unwrap() > 0, "{stop}");
    // As the plant has them, and as others read them from its board.
    let board = nanotape(["stat", ring.path()]).stdout;
    for (index, target) in targets.iter().enumerate() {
        assert_eq!(stop["lines"][index]["address"], target.as_str(), "{stop}");
        assert_eq!(stop["lines"][index]["kernel_drops"], 0, "{stop}");
        assert!(stop["lines"][index]["packets"].as_u64().unwrap() > 100, "{stop}");
        assert!(board.contains(target), "{board}");
    }
    true
}

/// Opens a socket for an address on the interface with this name.
fn open(address: &str, interface: &str, sender: Option<&str>) -> UdpSocket {
    let at = UdpAddress {
        address: address.parse().unwrap(),
        interface: interface_of_name(interface).unwrap(),
        sender: sender.map(|sender| sender.parse().unwrap()),
    };
    UdpSocket::open(&at, &UdpOptions { buffer_bytes: 1 << 20, ..UdpOptions::default() }).unwrap()
}

/// What a socket has, up to this datagram.
fn received(socket: &UdpSocket, last: &[u8]) -> Vec<Vec<u8>> {
    let (mut found, mut reader) = (Vec::new(), socket.reader());
    while found.last().is_none_or(|found: &Vec<u8>| found != last) {
        UdpSocket::wait(&[socket], Duration::from_secs(5)).unwrap();
        let visit = |datagram: nanotape_feed::udp::Datagram<'_>| {
            assert!(datagram.ts_recv_ns.is_some_and(|time| time > 1_500_000_000_000_000_000));
            found.push(datagram.bytes.to_vec());
        };
        assert!(reader.receive(visit).unwrap() > 0, "nothing for five seconds: {found:?}");
    }
    found
}

fn sources() -> bool {
    let senders = ["2001:db8::1", "2001:db8::2"];
    for sender in senders {
        assert!(ip(&format!("-6 address add {sender}/128 dev lo nodad")), "{sender}");
    }
    let sockets = senders.map(|sender| open("[ff35::8000:1]:5001", "lo", Some(sender)));
    let any = open("[ff35::8000:1]:5001", "lo", None);
    let other = open("[ff35::8000:2]:5001", "lo", None);
    for sender in [1, 0, 1, 0] {
        let from = Bare::bind((senders[sender], 0)).unwrap();
        from.send_to(senders[sender].as_bytes(), "[ff35::8000:1]:5001").unwrap();
    }
    Bare::bind("[::1]:0").unwrap().send_to(b"end", "[ff35::8000:2]:5001").unwrap();
    for (socket, sender) in sockets.iter().zip(senders) {
        let expected = [sender.as_bytes(); 2];
        let mut found = received(socket, sender.as_bytes());
        if found.len() < 2 {
            found.extend(received(socket, sender.as_bytes()));
        }
        assert_eq!(found, expected);
        // It is joined already.
        assert!(!socket.join_again(interface_of_name("lo").unwrap()).unwrap());
        let mut reader = socket.reader();
        assert_eq!(reader.receive(|datagram| panic!("{datagram:?}")).unwrap(), 0);
    }
    let all = [1, 0, 1, 0].map(|sender| senders[sender].as_bytes());
    let mut found = Vec::new();
    while found.len() < all.len() {
        found.extend(received(&any, all[found.len()]));
    }
    assert_eq!(found, all);
    assert_eq!(received(&other, b"end"), [b"end"], "a group that another socket joined");
    true
}

fn interfaces() -> bool {
    let make = || ip("link add nt0 type bridge") && ip("link set nt0 up");
    if !make() {
        return false;
    }
    // It has no address of IPv4.
    let (site, link) = (open("[ff15::1]:5001", "nt0", None), open("[ff12::1]:5001", "nt0", None));
    let old = open("239.77.3.1:5001", "nt0", None);
    let number = interface_of_name("nt0").unwrap();
    assert_eq!(link.address().to_string(), format!("[ff12::1%{number}]:5001"));
    for socket in [&site, &link, &old] {
        assert!(!socket.join_again(number).unwrap(), "it is joined");
    }
    let groups = |file: &str, group: &str| {
        let all = std::fs::read_to_string(file).unwrap();
        all.lines().filter(|line| line.contains(group)).count()
    };
    let joined = || {
        let ipv6 = |group| groups("/proc/net/igmp6", group);
        // The kernel writes the address of a group of IPv4 from its last byte to its first.
        let ipv4 = groups("/proc/net/igmp", "01034DEF");
        [ipv6("ff150000000000000000000000000001"), ipv6("ff120000000000000000000000000001"), ipv4]
    };
    assert_eq!(joined(), [1, 1, 1]);
    assert!(ip("link delete nt0") && make());
    let number = interface_of_name("nt0").unwrap();
    assert_eq!(joined(), [0, 0, 0]);
    for socket in [&site, &old] {
        assert!(socket.join_again(number).unwrap());
        assert!(!socket.join_again(number).unwrap());
    }
    let error = link.join_again(number).unwrap_err().to_string();
    let expected = "the interface was made again, which a group of one link does not survive";
    assert!(error.contains(expected), "{error}");
    assert_eq!(joined(), [1, 0, 1]);
    true
}
