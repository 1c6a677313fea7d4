//! Nodes with real sockets, maps and files: they become equal, also after one has ended and came
//! again, and a node that was dropped ends.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, channel},
    thread::{self, JoinHandle},
    time::Duration,
};

use nanotape_clock::UtcNanos;
use nanotape_harness::{Scratch, eventually, unused_address};
use nanotape_latest::{LatestReader, LatestSpec, LatestWriter};
use nanotape_peers::{
    Cluster, ClusterError, ClusterEvent, ClusterOptions, MemberState, NodeFile, PeerOptions,
    PeerReader, PeerWriter, RequestAnswer, cluster_number, node_path, peer_map, request,
};
use nanotape_shm::RegionOptions;
use nanotape_tape::ShutdownFlag;

const SPEC: LatestSpec =
    LatestSpec { entries: 200, key_words: 1, value_words: 2, writers: 8, value_layout: 0 };

struct Nodes {
    place: Scratch,
    addresses: BTreeMap<u16, SocketAddr>,
}

/// A node that runs in a thread.
struct Running {
    shutdown: ShutdownFlag,
    thread: JoinHandle<Result<(), ClusterError>>,
    events: Receiver<ClusterEvent>,
}

impl Running {
    fn end(self) -> Result<(), ClusterError> {
        self.shutdown.request();
        self.thread.join().unwrap()
    }

    /// Waits for a connection that ends for a reason with this text.
    fn broken(&self, text: &str) -> String {
        loop {
            match self.events.recv_timeout(Duration::from_secs(60)).unwrap() {
                ClusterEvent::Broken { reason, .. } if reason.contains(text) => return reason,
                _ => {}
            }
        }
    }
}

impl Nodes {
    fn new(count: u16) -> Self {
        let addresses = (1..=count).map(|node| (node, unused_address()));
        Self { place: Scratch::folder("nodes"), addresses: addresses.collect() }
    }

    fn map(&self, node: u16) -> PathBuf {
        self.place.path().join(format!("map-{node}"))
    }

    fn options(&self, node: u16, founding: &[u16]) -> ClusterOptions {
        let others = self.addresses.iter().filter(|(other, _)| **other != node);
        let others =
            others.map(|(other, address)| (*other, (format!("n{other}"), address.to_string())));
        ClusterOptions {
            node: PeerOptions {
                clock_bound_ns: 1_000_000,
                ..PeerOptions::new(77, node, 0, founding.to_vec())
            },
            name: format!("n{node}"),
            listen: self.addresses[&node],
            others: others.collect(),
            identity: None,
            heartbeat: Duration::from_millis(100),
            patience: Duration::from_secs(5),
            pause: Duration::from_micros(200),
            map: SPEC,
            region: RegionOptions::default(),
        }
    }

    fn start(&self, node: u16, founding: &[u16]) -> Running {
        self.start_with(node, self.options(node, founding))
    }

    fn start_with(&self, node: u16, options: ClusterOptions) -> Running {
        let mut cluster = Cluster::open(&self.map(node), options).unwrap();
        let shutdown = ShutdownFlag::new();
        let flag = shutdown.clone();
        let (sender, events) = channel();
        let thread = thread::spawn(move || {
            cluster.run(&flag, |event| {
                eprintln!("{node}: {event:?}");
                let _ = sender.send(event);
            })
        });
        Running { shutdown, thread, events }
    }

    fn states(&self, node: u16) -> Vec<MemberState> {
        let file = NodeFile::of_map(&self.map(node), 0o600).unwrap().unwrap();
        file.membership().unwrap().members().map(|(_, member)| member.state).collect()
    }

    fn writer(&self, node: u16) -> PeerWriter {
        let writer = LatestWriter::open(&self.map(node), &RegionOptions::default()).unwrap();
        PeerWriter::new(writer, node).unwrap()
    }

    /// The keys and values of a node.
    fn content(&self, node: u16) -> BTreeMap<u64, u64> {
        let reader = PeerReader::new(LatestReader::open(&self.map(node)).unwrap()).unwrap();
        let mut content = BTreeMap::new();
        reader.for_each(|key, value| _ = content.insert(key[0], value[0])).unwrap();
        content
    }

    fn eventually_equal(&self, nodes: &[u16], expected: &BTreeMap<u64, u64>) {
        for node in nodes {
            eventually("the nodes are equal", || self.content(*node) == *expected);
        }
    }

    /// Entries of a map, with the removed ones.
    fn all_entries(&self, node: u16) -> u64 {
        LatestReader::open(&self.map(node)).unwrap().len()
    }
}

fn now_ns() -> u64 {
    UtcNanos::now().unix_ns()
}

#[test]
fn nodes_become_equal_and_forget_what_was_removed() {
    let nodes = Nodes::new(3);
    let all = [1, 2, 3];
    let running = all.map(|node| nodes.start(node, &all));
    let mut expected = BTreeMap::new();
    for node in all {
        let mut writer = nodes.writer(node);
        for key in 0..60 {
            let value = u64::from(node) * 1_000 + key;
            writer.insert(&[key], &[value, 0], now_ns()).unwrap();
            expected.insert(key, value);
        }
        nodes.eventually_equal(&all, &expected);
    }
    let mut writer = nodes.writer(2);
    for key in 0..50 {
        assert!(writer.remove(&[key], now_ns()).unwrap());
        expected.remove(&key);
    }
    nodes.eventually_equal(&all, &expected);
    for node in all {
        eventually("removals are forgotten", || nodes.all_entries(node) == 10);
    }
    for node in running {
        node.end().unwrap();
    }
}

#[test]
fn a_node_that_was_away_catches_up_and_sends_what_it_wrote() {
    let nodes = Nodes::new(3);
    let all = [1, 2, 3];
    let mut running = all.map(|node| Some(nodes.start(node, &all)));
    let mut expected = BTreeMap::new();
    for round in 0..4_u64 {
        let away = (round % 3) as usize;
        running[away].take().unwrap().end().unwrap();
        // The processes of that node go on with its map.
        for node in all {
            let mut writer = nodes.writer(node);
            for key in 0..20 {
                let (key, value) = (u64::from(node) * 20 + key, round * 100 + key);
                writer.insert(&[key], &[value, 0], now_ns()).unwrap();
                expected.insert(key, value);
            }
        }
        running[away] = Some(nodes.start(away as u16 + 1, &all));
        nodes.eventually_equal(&all, &expected);
    }
    running.into_iter().flatten().for_each(|node| node.end().unwrap());
}

#[test]
fn a_dropped_node_ends_and_another_one_joins_in_its_place() {
    let nodes = Nodes::new(3);
    let all = [1, 2, 3];
    let [first, second, third] = all.map(|node| nodes.start(node, &all));
    let mut expected = BTreeMap::new();
    nodes.writer(3).insert(&[7], &[70, 0], now_ns()).unwrap();
    expected.insert(7, 70);
    nodes.eventually_equal(&all, &expected);
    third.end().unwrap();
    let done = request(&nodes.map(1), "drop 3", Duration::from_secs(30)).unwrap();
    assert_eq!(done, RequestAnswer::Done("node 3 was dropped".to_owned()));
    nodes.writer(2).insert(&[8], &[80, 0], now_ns()).unwrap();
    expected.insert(8, 80);
    nodes.eventually_equal(&[1, 2], &expected);
    // The lost node comes back: it ends with the cause.
    let third = nodes.start(3, &all);
    let error = third.thread.join().unwrap().unwrap_err();
    assert!(matches!(error, ClusterError::Dropped { .. }), "{error}");
    // It has stored that, and does not start again.
    assert_eq!(nodes.states(3)[2], MemberState::Left);
    let error = Cluster::open(&nodes.map(3), nodes.options(3, &all)).unwrap_err();
    assert!(matches!(error, ClusterError::Dropped { .. }), "{error}");
    // With an empty map it is another one.
    remove(&nodes.map(3));
    let done = request(&nodes.map(2), "add 3", Duration::from_secs(30)).unwrap();
    assert_eq!(done, RequestAnswer::Done("node 3 was added".to_owned()));
    let third = nodes.start(3, &[]);
    nodes.eventually_equal(&all, &expected);
    for node in [first, second, third] {
        node.end().unwrap();
    }
    let left = request(&nodes.map(1), "drop 2", Duration::from_millis(100)).unwrap();
    assert_eq!(left, RequestAnswer::NotTaken);
}

fn remove(map: &Path) {
    std::fs::remove_file(map).unwrap();
    std::fs::remove_file(node_path(map)).unwrap();
}

/// What a node has beside its map, and the map.
const FILES: [&str; 3] = ["", ".node", ".peers"];

#[test]
fn a_node_with_older_copies_of_its_files_ends_with_what_to_do() {
    let nodes = Nodes::new(2);
    let all = [1, 2];
    let [first, second] = all.map(|node| nodes.start(node, &all));
    let file = |suffix: &str| nodes.place.path().join(format!("map-1{suffix}"));
    let copy = |suffix: &str| nodes.place.path().join(format!("copy{suffix}"));
    let mut expected = BTreeMap::new();
    let write = |node, expected: &mut BTreeMap<u64, u64>, value| {
        for key in 0..30 {
            let key = u64::from(node) * 1_000 + key;
            nodes.writer(node).insert(&[key], &[value, 0], now_ns()).unwrap();
            expected.insert(key, value);
        }
    };
    all.into_iter().for_each(|node| write(node, &mut expected, 1));
    nodes.eventually_equal(&all, &expected);
    first.end().unwrap();
    for suffix in FILES {
        std::fs::copy(file(suffix), copy(suffix)).unwrap();
    }
    let first = nodes.start(1, &all);
    all.into_iter().for_each(|node| write(node, &mut expected, 2));
    nodes.eventually_equal(&all, &expected);
    first.end().unwrap();
    let restore = |suffixes: &[&str]| {
        for suffix in suffixes {
            std::fs::copy(copy(suffix), file(suffix)).unwrap();
        }
    };
    // The map alone: its groups are behind the index.
    restore(&FILES[..1]);
    let error = Cluster::open(&nodes.map(1), nodes.options(1, &all)).unwrap_err();
    let text = error.to_string();
    assert!(error.is_bad_data() && text.starts_with("the map is an older copy: group "), "{text}");
    assert!(text.contains("drop this node on another one, remove the map and its .node and"));
    // All files: the other node has changes that this one has not made.
    restore(&FILES);
    let error = nodes.start(1, &all).thread.join().unwrap().unwrap_err();
    let text = error.to_string();
    assert!(error.is_bad_data() && text.contains("node 2 acknowledges change "), "{text}");
    assert!(text.contains("drop this node on another one, remove the map and its .node and"));
    assert_eq!(nodes.content(2), expected);
    // It begins again as the error says.
    let answer = request(&nodes.map(2), "drop 1", Duration::from_secs(30)).unwrap();
    assert!(matches!(answer, RequestAnswer::Done(_)), "{answer:?}");
    let answer = request(&nodes.map(2), "add 1", Duration::from_secs(30)).unwrap();
    assert!(matches!(answer, RequestAnswer::Done(_)), "{answer:?}");
    FILES.into_iter().for_each(|suffix| std::fs::remove_file(file(suffix)).unwrap());
    let first = nodes.start(1, &[]);
    nodes.eventually_equal(&all, &expected);
    for node in [first, second] {
        node.end().unwrap();
    }
}

#[test]
fn a_node_with_the_number_of_another_one_changes_nothing() {
    let nodes = Nodes::new(3);
    let all = [1, 2, 3];
    let first = nodes.start(1, &all);
    // The numbers of the nodes 2 and 3 are exchanged in the file of one of them.
    let mut wrong = nodes.options(2, &all);
    wrong.node.node = 3;
    let wrong = nodes.start_with(2, wrong);
    let reason = first.broken("it states to be node 3");
    assert!(reason.contains("with the name 'n2', but the name of that node is 'n3'"), "{reason}");
    wrong.broken("the name of that node is 'n3'");
    let MemberState::Joined(_) = nodes.states(1)[0] else { panic!("{:?}", nodes.states(1)) };
    assert_eq!(nodes.states(1)[1..], [MemberState::Pending; 2]);
    wrong.end().unwrap();
    // A number that is not configured does not take the name of another node either.
    let mut wrong = nodes.options(3, &all);
    wrong.node.node = 9;
    wrong.node.founding.push(9);
    let wrong = nodes.start_with(3, wrong);
    first.broken("that is the name of node 3");
    wrong.end().unwrap();

    [2, 3].into_iter().for_each(|node| remove(&nodes.map(node)));
    let others = [2, 3].map(|node| nodes.start(node, &all));
    nodes.writer(3).insert(&[7], &[70, 0], now_ns()).unwrap();
    nodes.eventually_equal(&all, &BTreeMap::from([(7, 70)]));
    first.end().unwrap();
    others.into_iter().for_each(|node| node.end().unwrap());
}

#[test]
fn a_request_beyond_a_limit_is_answered_and_the_node_goes_on() {
    let nodes = Nodes::new(2);
    let founding: Vec<u16> = (1..=256).collect();
    let first = nodes.start(1, &founding);
    let refusal = |line: &str| match request(&nodes.map(1), line, Duration::from_secs(30)).unwrap()
    {
        RequestAnswer::Refused(why) => why,
        answer => panic!("{line}: {answer:?}"),
    };
    assert!(refusal("add 257").contains("with node 257: at most 256 nodes and 1024 dropped lives"));
    assert!(refusal("add 2").contains("node 2 was added already, and is pending"));
    assert!(refusal("add 1").contains("node 1 has joined already"));
    assert!(refusal("drop 300").contains("node 300 is no member: the members are 1, 2, 3, "));
    assert!(refusal("drop x").contains("'drop x' is no request"));
    let done = request(&nodes.map(1), "drop 256", Duration::from_secs(30)).unwrap();
    assert_eq!(done, RequestAnswer::Done("node 256 was dropped".to_owned()));
    assert!(refusal("drop 256").contains("node 256 was dropped already"));
    first.end().unwrap();
}

#[test]
fn a_map_that_was_not_shared_is_refused_with_its_entries() {
    let nodes = Nodes::new(2);
    let options = nodes.options(1, &[1, 2]);
    let map = nodes.map(1);
    let spec = peer_map(SPEC).unwrap();
    let mut writer = LatestWriter::join(&map, spec, &RegionOptions::default()).unwrap();
    writer.insert(&[1], &[2, 3, 4, 5]).unwrap();
    let error = Cluster::open(&map, options.clone()).unwrap_err();
    assert!(error.to_string().contains("has 1 entries and was not shared before"), "{error}");
    assert!(!node_path(&map).exists());
    let other = LatestSpec { value_words: 7, ..SPEC };
    let error = Cluster::open(&map, ClusterOptions { map: other, ..options.clone() }).unwrap_err();
    assert!(matches!(error, ClusterError::NotShared { entries: 1, .. }), "{error}");
    // An empty one is as good as a new one.
    writer.remove(&[1]).unwrap();
    drop(Cluster::open(&map, options).unwrap());
    assert!(node_path(&map).exists());
}

#[test]
fn a_node_ends_when_its_map_is_removed_or_replaced() {
    let nodes = Nodes::new(2);
    for is_replaced in [false, true] {
        let first = nodes.start(1, &[1, 2]);
        let map = nodes.map(1);
        if is_replaced {
            std::fs::copy(&map, map.with_extension("copy")).unwrap();
            std::fs::rename(map.with_extension("copy"), &map).unwrap();
        } else {
            remove(&map);
        }
        let error = first.thread.join().unwrap().unwrap_err();
        assert!(matches!(error, ClusterError::MapGone { .. }), "{error}");
        assert!(error.to_string().contains("map-1: "), "{error}");
    }
}

#[test]
fn an_added_node_with_entries_reads_which_files_to_remove() {
    let nodes = Nodes::new(2);
    let first = nodes.start(1, &[1]);
    let second = nodes.start(2, &[]);
    nodes.writer(2).insert(&[7], &[70, 0], now_ns()).unwrap();
    let done = request(&nodes.map(1), "add 2", Duration::from_secs(30)).unwrap();
    assert_eq!(done, RequestAnswer::Done("node 2 was added".to_owned()));
    let reason = second.broken("must join with an empty map, but has 1 entries");
    let node = node_path(&nodes.map(2));
    let files = format!("; these are {} and {}", nodes.map(2).display(), node.display());
    assert!(reason.ends_with(&files), "{reason}");
    second.end().unwrap();
    remove(&nodes.map(2));
    nodes.writer(1).insert(&[8], &[80, 0], now_ns()).unwrap();
    let second = nodes.start(2, &[]);
    nodes.eventually_equal(&[1, 2], &BTreeMap::from([(8, 80)]));
    first.end().unwrap();
    second.end().unwrap();
}

#[test]
fn the_number_of_a_cluster_is_that_of_the_document() {
    let document = include_str!("../../../../../docs/formats/peers.md");
    let line = format!("Of `foobar` it is {:#018x}.", cluster_number("foobar"));
    assert!(document.contains(&line), "{line}");
}

#[test]
fn the_map_of_another_node_is_refused() {
    let nodes = Nodes::new(2);
    nodes.start(1, &[1, 2]).end().unwrap();
    let mut options = nodes.options(2, &[1, 2]);
    let error = Cluster::open(&nodes.map(1), options.clone()).unwrap_err();
    assert!(error.to_string().contains("the map of node 1 of cluster 0x4d, expected node 2"));
    options.node.cluster = 78;
    let error = Cluster::open(&nodes.map(1), options.clone()).unwrap_err().to_string();
    assert!(
        error.contains("map-1.node: the map of a node of cluster 0x000000000000004d"),
        "{error}"
    );
    assert!(error.contains("makes cluster 0x000000000000004e"), "{error}");
    options.map.value_words = 3;
    assert!(Cluster::open(&nodes.map(1), options).is_err());
}
