//! Maps that several nodes write, as processes: written on one, read on all, dropped, added again.

use std::fs;

use nanotape_harness::{eventually, unused_address};
use rustix::process::Signal;

use crate::support::{
    Folder, Ran, nanotape, nanotape_fed,
    running::{Running, json, objects},
};

struct Nodes {
    folder: Folder,
    config: String,
}

impl Nodes {
    /// Three nodes; these lines are those of the third one too.
    fn new(name: &str, third: &str) -> Self {
        Self::with(name, 3, third, "")
    }

    /// So many nodes, with these lines for all.
    fn with(name: &str, count: usize, third: &str, all: &str) -> Self {
        let folder = Folder::new(name);
        let mut config = String::from(
            "cluster = \"levels\"\nmap = \"unused\"\nentries = 100\nvalue_words = 2\nplain = true\n\
             heartbeat = \"100ms\"\n",
        );
        config.push_str(all);
        for number in 1..=count {
            let address = unused_address();
            let map = folder.path(&format!("map-{number}"));
            let more = if number == 3 { third } else { "" };
            config.push_str(&format!(
                "[nodes.n{number}]\nnumber = {number}\naddress = \"{address}\"\nmap = \"{map}\"\n\
                 {more}\n"
            ));
        }
        let config = folder.write("nodes.toml", config.as_bytes());
        Self { folder, config }
    }

    fn map(&self, node: u16) -> String {
        self.folder.path(&format!("map-{node}"))
    }

    fn start(&self, node: u16) -> Running {
        let name = format!("n{node}");
        let share = ["latest", "share", &self.config, "--as", &name, "--format", "json"];
        let mut running = Running::start(&share);
        assert_eq!(running.read_json()["event"], "start");
        running
    }

    /// The rows of a dump of a node, sorted.
    fn content(&self, node: u16) -> Vec<String> {
        let dumped = nanotape(["latest", "dump", &self.map(node), "--format", "csv"]);
        assert_eq!(dumped.status, 0, "{}", dumped.stderr);
        let rows = dumped.stdout.lines().skip(1);
        // The versions of copies differ.
        let mut rows: Vec<String> = rows
            .map(|row| {
                let cells: Vec<&str> = row.split(',').collect();
                [&cells[..1], &cells[2..]].concat().join(",")
            })
            .collect();
        rows.sort();
        rows
    }

    fn states(&self, node: u16) -> Vec<String> {
        let nodes = nanotape(["latest", "nodes", &self.map(node), "--format", "json"]);
        assert_eq!(nodes.status, 0, "{}", nodes.stderr);
        let text = |row: &serde_json::Value| row["state"].as_str().unwrap().to_owned();
        objects(&nodes.stdout).iter().map(text).collect()
    }
}

/// Stops a node, which ends well.
fn stop(mut node: Running) {
    node.signal(Signal::INT);
    let (status, _, stderr) = node.end();
    assert_eq!(status, Some(0), "{stderr}");
}

/// Waits for a line on standard error with this text.
fn complaint(node: &mut Running, text: &str) -> String {
    loop {
        let line = node.read_stderr_line();
        if line.contains(text) {
            return line;
        }
    }
}

fn good(ran: &Ran) -> &str {
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
    &ran.stdout
}

#[test]
fn what_one_machine_writes_all_machines_read() {
    let nodes = Nodes::new("share", "");
    let mut running: Vec<Running> = [1, 2, 3].map(|node| nodes.start(node)).into();
    let [first, second, third] = [1, 2, 3].map(|node| nodes.map(node));
    let set = nanotape(["latest", "set", &first, "7", "70", "71"]);
    assert_eq!(good(&set), format!("{first}: 1 new keys, 0 replaced; 1 there\n"));
    let fed = nanotape_fed(["latest", "set", &second], b"8 80 81\n9 90 91\n");
    let _ = good(&fed);
    let expected = ["7,70,71", "8,80,81", "9,90,91"];
    for node in [1, 2, 3] {
        eventually("the nodes are equal", || nodes.content(node) == expected);
    }
    let got = nanotape(["latest", "get", &third, "8", "--format", "csv"]);
    assert!(good(&got).ends_with(",80,81\n"), "{}", got.stdout);
    let removed = nanotape(["latest", "remove", &third, "8", "5"]);
    assert_eq!(good(&removed), format!("{third}: 1 key removed, 1 not there\n"));
    eventually("the removal is everywhere", || {
        [1, 2, 3].iter().all(|node| nodes.content(*node) == ["7,70,71", "9,90,91"])
    });
    let absent = nanotape(["latest", "get", &first, "8"]);
    assert_eq!(absent.status, 1, "{}", absent.stdout);

    // A killed node comes again, and has what was written meanwhile.
    running.remove(1).signal(Signal::KILL);
    let _ = good(&nanotape(["latest", "set", &first, "7", "1", "2"]));
    let _ = good(&nanotape(["latest", "set", &second, "10", "3", "4"]));
    let again = nodes.start(2);
    for node in [1, 2, 3] {
        let expected = ["10,3,4", "7,1,2", "9,90,91"];
        eventually("the nodes are equal", || nodes.content(node) == expected);
    }
    running.push(again);
    assert_eq!(nodes.states(3), ["joined", "joined", "joined"]);
    for mut node in running {
        node.signal(Signal::INT);
        let (status, stdout, stderr) = node.end();
        assert_eq!(status, Some(0), "{stderr}");
        assert_eq!(json(stdout.lines().last().unwrap())["event"], "stop");
    }
}

#[test]
fn a_node_that_is_dropped_ends_and_one_that_is_added_joins() {
    let nodes = Nodes::new("share-drop", "joins = true");
    let _running = [1, 2].map(|node| nodes.start(node));
    let [first, second] = [1, 2].map(|node| nodes.map(node));
    let _ = good(&nanotape(["latest", "set", &first, "7", "70", "71"]));
    eventually("the nodes are equal", || nodes.content(2) == ["7,70,71"]);
    // It is not a member, and tries again.
    let mut third = nodes.start(3);
    let added = nanotape(["latest", "nodes", &second, "--add", "3"]);
    assert!(good(&added).contains("pending") || added.stdout.contains("joined"));
    eventually("it has everything", || nodes.content(3) == ["7,70,71"]);
    assert_eq!(nodes.states(1), ["joined", "joined", "joined"]);

    let dropped = nanotape(["latest", "nodes", &first, "--drop", "3", "--format", "json"]);
    let rows = objects(good(&dropped));
    assert_eq!((&rows[2]["state"], rows[2]["dropped"].is_null()), (&"dropped".into(), false));
    let (status, _, complained) = third.end();
    assert_eq!(status, Some(1), "{complained}");
    assert!(complained.contains("this node was dropped at "), "{complained}");
    let own = nanotape(["latest", "nodes", &nodes.map(3), "--format", "json"]);
    assert_eq!((own.status, &objects(&own.stdout)[2]["state"]), (0, &"dropped".into()));
    assert!(own.stderr.contains("this node was dropped at "), "{}", own.stderr);
    for (change, node, why) in [
        ("--drop", "9", "node 9 is no member: the members are 1, 2"),
        ("--drop", "3", "node 3 was dropped already"),
        ("--add", "2", "node 2 has joined already"),
    ] {
        let refused = nanotape(["latest", "nodes", &first, change, node]);
        assert_eq!((refused.status, refused.stdout.as_str()), (1, ""), "{}", refused.stderr);
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
    let own = nanotape(["latest", "nodes", &first, "--drop", "1"]);
    assert_eq!(own.status, 2);
    assert!(own.stderr.contains("this is node 1: drop it on another node"), "{}", own.stderr);
    let upgraded = nanotape(["latest", "upgrade", &first, "--entries", "200"]);
    assert_eq!(upgraded.status, 2);
    assert!(upgraded.stderr.contains("writer is alive: end it first"), "{}", upgraded.stderr);
    let alone = nodes.folder.path("alone");
    let _ = good(&nanotape(["latest", "set", &alone, "1", "2", "--entries", "9"]));
    let unshared = nanotape(["latest", "nodes", &alone]);
    assert_eq!(unshared.status, 2);
    assert!(unshared.stderr.contains("not shared with other nodes"), "{}", unshared.stderr);
}

#[test]
fn full_maps_become_equal_once_they_are_larger() {
    let nodes = Nodes::with("share-full", 2, "", "clock_bound = \"10ms\"\n");
    let [first, second] = [1, 2].map(|node| nodes.map(node));
    let rows = |keys: std::ops::Range<u64>| -> Vec<u8> {
        keys.flat_map(|key| format!("{key} {key} 1\n").into_bytes()).collect()
    };
    let running = [1, 2].map(|node| nodes.start(node));
    let _ = good(&nanotape_fed(["latest", "set", &first], &rows(0..50)));
    eventually("the nodes are equal", || nodes.content(2).len() == 50);
    running.into_iter().for_each(stop);
    // Together there are 101 keys.
    let _ = good(&nanotape_fed(["latest", "set", &first], &rows(100..126)));
    let _ = good(&nanotape_fed(["latest", "set", &second], &rows(200..225)));
    let mut running = [1, 2].map(|node| nodes.start(node));
    let complained = complaint(&mut running[0], "the map is full");
    assert!(complained.contains(&format!("nanotape latest upgrade {first} --entries N")));
    let full = nanotape_fed(["latest", "set", &first], &rows(300..400));
    assert!(full.stderr.contains(&format!("upgrade {first} --entries N")), "{}", full.stderr);
    let removed: Vec<String> = (0..50).map(|key| key.to_string()).collect();
    let remove = ["latest", "remove", &first];
    let remove = remove.into_iter().chain(removed.iter().map(String::as_str));
    let _ = good(&nanotape(remove));
    running.into_iter().for_each(stop);
    let small = nanotape(["latest", "upgrade", &first, "--entries", "99"]);
    assert_eq!(small.status, 2);
    assert!(small.stderr.contains("--entries 99 is too small"), "{}", small.stderr);
    for map in [&first, &second] {
        let upgraded = nanotape(["latest", "upgrade", map, "--entries", "150"]);
        assert!(good(&upgraded).contains(" of 150"), "{}", upgraded.stdout);
    }
    // The configuration has 100 entries for a new map.
    let running = [1, 2].map(|node| nodes.start(node));
    eventually("the nodes are equal", || {
        [1, 2].iter().all(|node| nodes.content(*node).len() == 51)
    });
    assert_eq!(nodes.content(1), nodes.content(2));
    assert_eq!(nodes.states(1), ["joined", "joined"]);
    eventually("removals are forgotten", || {
        let stat = nanotape(["latest", "stat", &second, "--format", "json"]);
        json(good(&stat))["entries"] == 51
    });
    running.into_iter().for_each(stop);
}

#[test]
fn a_configuration_that_is_wrong_is_one_line() {
    let nodes = Nodes::new("share-config", "");
    let good = fs::read_to_string(&nodes.config).unwrap();
    let refused = |from: &str, to: &str, expected: &str| {
        assert!(good.contains(from), "{from}");
        let config = nodes.folder.write("wrong.toml", good.replacen(from, to, 1).as_bytes());
        let ran = nanotape(["latest", "share", &config, "--as", "n1"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    };
    refused("number = 2", "number = 1", "node 'n2': number = 1 is that of 'n1' too");
    refused("number = 1", "number = 0", "node 'n1': number = 0: expected 1 to 65535");
    refused("value_words = 2\n", "", "expected value_words or schema, one of them");
    let many: String = (4..=257)
        .map(|node| format!("[nodes.n{node}]\nnumber = {node}\naddress = \"10.0.0.1:{node}\"\n"))
        .collect();
    refused(
        "[nodes.n1]",
        &format!("{many}[nodes.n1]"),
        "257 tables [nodes.NAME], expected at most 256",
    );
    refused("plain = true\n", "", "expected certificates = \"FOLDER\", or plain = true");
    refused("[nodes.n1]", "[nodes.x1]", "no node 'n1'; it has n2, n3, x1");
    let heartbeat = "heartbeat = \"100ms\"";
    refused(heartbeat, "heartbeat = \"100\"", "heartbeat = \"100\": ");
    for (key, value, range) in [
        ("heartbeat", "0s", "1ms to 1h"),
        ("heartbeat", "1us", "1ms to 1h"),
        ("heartbeat", "2h", "1ms to 1h"),
        ("patience", "0s", "1ms to 1h"),
        ("pause", "0s", "1us to 1s"),
        ("pause", "24h", "1us to 1s"),
        ("clock_bound", "0", "1us to 8760h"),
    ] {
        let line = format!("{key} = \"{value}\"");
        refused(heartbeat, &line, &format!("wrong.toml: {line}: expected {range}"));
    }
    for (from, to, range) in [
        ("entries = 100", "entries = 0", "1 to 1099511627776"),
        ("entries = 100", "entries = 1099511627777", "1 to 1099511627776"),
        ("entries = 100", "key_words = 0\nentries = 100", "1 to 4096"),
        ("entries = 100", "key_words = 4097\nentries = 100", "1 to 4096"),
        ("value_words = 2", "value_words = 4095", "0 to 4094"),
        ("entries = 100", "writers = 0\nentries = 100", "1 to 1023"),
        ("entries = 100", "writers = 1024\nentries = 100", "1 to 1023"),
    ] {
        let line = to.lines().next().unwrap();
        refused(from, to, &format!("wrong.toml: {line}: expected {range}"));
    }
    refused("cluster", "clusters", "unknown field `clusters`, did you mean `cluster`?");
}
