//! A journal on two machines, as processes: the way of a ring to another machine, and what a
//! collector receives of the followers.

use nanotape_harness::{eventually, unused_address};
use serde_json::Value;

use crate::support::{
    Folder, Ran,
    exposition::{Dialect, Exposition},
    nanotape, nanotape_fed,
    plants::Ring,
    running::{Running, objects},
};

fn good(arguments: &[&str]) -> Ran {
    let ran = nanotape(arguments);
    assert_eq!(ran.status, 0, "{arguments:?}: {}", ran.stderr);
    ran
}

/// A leader and a follower without TLS.
struct Pair {
    _leader: Running,
    follower: Running,
}

impl Pair {
    fn start(journal: &str, copy: &str) -> Self {
        Self::start_with(journal, copy, &[])
    }

    /// The same with more options of the follower.
    fn start_with(journal: &str, copy: &str, more: &[&str]) -> Self {
        let address = unused_address().to_string();
        let serve = ["journal", "serve", journal, "--listen", &address, "--plain"];
        let mut leader = Running::start(&serve);
        let line = leader.read_line();
        assert!(line.contains("epoch 1"), "{line}");
        let options = ["--name", "berlin", "--plain"];
        let replicate = [&["journal", "replicate", &address, copy], &options[..], more].concat();
        let mut follower = Running::start(&replicate);
        let line = follower.read_line();
        assert!(line.contains("follow"), "{line}");
        Self { _leader: leader, follower }
    }
}

/// What a leader knows of its follower.
fn follower(journal: &str) -> Value {
    let rows = good(&["journal", "stat", journal, "--format", "json"]).stdout;
    objects(&rows).into_iter().find(|row| !row["follower"].is_null()).unwrap()
}

/// The messages of a ring.
fn dump(ring: &str) -> String {
    good(&["ring", "dump", ring, "--from", "oldest", "--format", "json"]).stdout
}

#[test]
fn a_ring_comes_to_another_machine_by_a_journal_and_its_copy() {
    let folder = Folder::new("replicated-ring");
    let (ring, target) = (Ring::new("source"), Ring::new("target"));
    let (ring, target) = (ring.path(), target.path());
    let mut publisher = Running::start_fed(&["ring", "publish", ring]);
    let mut publish = |range: std::ops::RangeInclusive<u64>| {
        range.for_each(|number| publisher.say(&format!("message {number}")));
    };
    publish(1..=500);
    eventually("the ring is there", || nanotape(["ring", "stat", ring]).status == 0);
    let (journal, copy) = (folder.path("journal"), folder.path("copy"));
    let mut recorder = Running::start(&["journal", "record", ring, &journal]);
    eventually("the journal is there", || nanotape(["journal", "stat", &journal]).status == 0);
    let mut pair = Pair::start(&journal, &copy);
    eventually("the copy is there", || nanotape(["journal", "stat", &copy]).status == 0);
    let mut mirror = Running::start(&["ring", "mirror", &copy, target, "--format", "json"]);
    mirror.read_json();
    publish(501..=1_000);
    eventually("the last message is in the mirror", || objects(&dump(target)).len() == 1_000);
    assert_eq!(dump(target), dump(ring));
    for running in [&mut mirror, &mut pair.follower, &mut recorder] {
        running.signal(rustix::process::Signal::TERM);
        let (status, _, complained) = running.end();
        assert_eq!(status, Some(0), "{complained}");
    }
}

#[test]
fn a_collector_receives_the_figures_of_followers_that_the_page_lists() {
    let folder = Folder::new("replicated-metrics");
    let (journal, copy) = (folder.path("journal"), folder.path("copy"));
    let ran = nanotape_fed(["journal", "append", &journal], b"one\ntwo\n");
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let _pair = Pair::start(&journal, &copy);
    eventually("the follower has all", || follower(&journal)["behind"] == 0);
    let page = include_str!("../../../../../docs/formats/metrics.md");
    for (format, dialect) in
        [("prometheus", Dialect::Prometheus), ("openmetrics", Dialect::OpenMetrics)]
    {
        let text = good(&["journal", "stat", &journal, "--format", format]).stdout;
        let found = Exposition::parse(&text, dialect);
        let berlin = [("journal", &*journal), ("follower", "berlin")];
        assert_eq!(found.value("nanotape_replica_behind", &berlin), 0.0);
        assert_eq!(found.value("nanotape_replica_next_sequence", &berlin), 3.0);
        assert_eq!(found.value("nanotape_replica_connections_total", &berlin), 1.0);
        assert_eq!(found.value("nanotape_journal_next_sequence", &[]), 3.0);
        for name in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
            let name = name.split(' ').next().unwrap();
            let listed = [format!("| `{name}` |"), format!("| `{name}_total` |")];
            assert!(listed.iter().any(|row| page.contains(row)), "{name} is not in the page");
        }
    }
    let file = folder.path("journal.prom");
    good(&["journal", "stat", &journal, "-o", &file]);
    Exposition::parse(&std::fs::read_to_string(file).unwrap(), Dialect::Prometheus);
    assert_eq!(follower(&journal)["state"], "live");
}

#[test]
fn a_prune_states_how_long_it_keeps_for_a_follower_and_which_one_must_begin_again() {
    let folder = Folder::new("replicated-prune");
    let (journal, copy) = (folder.path("journal"), folder.path("copy"));
    let append = |count: usize| {
        let lines = "a line of a journal with small segments\n".repeat(count);
        let arguments = ["journal", "append", &journal, "--segment", "64KiB"];
        assert_eq!(nanotape_fed(arguments, lines.as_bytes()).status, 0);
    };
    append(10);
    let mut pair = Pair::start(&journal, &copy);
    eventually("the follower has all", || follower(&journal)["behind"] == 0);
    pair.follower.signal(rustix::process::Signal::TERM);
    pair.follower.end();
    append(5_000);
    let prune = |options: &[&str]| {
        let arguments = ["journal", "prune", &journal, "--before-sequence", "5000"];
        good(&[&arguments, options].concat()).stderr
    };
    let kept = prune(&[]);
    let expected = "follower berlin has not read: its next excerpt is 11; they stay until the journal \
                    has 1.0 TiB";
    assert!(kept.contains(expected), "{kept}");
    let planned = prune(&["--for-followers", "1KiB", "--dry-run"]);
    assert!(planned.contains("needs excerpt 11, which would be removed"), "{planned}");
    let removed = prune(&["--for-followers", "1KiB"]);
    assert!(removed.contains("needs excerpt 11, which is removed: it must"), "{removed}");
}

#[test]
fn the_way_of_each_excerpt_is_in_the_rows_of_the_follower() {
    let folder = Folder::new("replicated-times");
    let (journal, copy) = (folder.path("journal"), folder.path("copy"));
    let append = |lines: &str| {
        let ran = nanotape_fed(["journal", "append", &journal], lines.as_bytes());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
    };
    append("one\ntwo\n");
    let times = ["--times", "--format", "json"];
    let mut pair = Pair::start_with(&journal, &copy, &times);
    let mut appended = 2;
    for round in 0..50 {
        append(&"line\n".repeat(1 + round % 3));
        appended += 1 + round % 3;
        eventually("it is on the copy", || follower(&journal)["next_sequence"] == appended + 1);
    }
    pair.follower.signal(rustix::process::Signal::TERM);
    let (status, rows, complained) = pair.follower.end();
    assert_eq!(status, Some(0), "{complained}");
    let rows = objects(&rows);
    let end = rows.last().unwrap()["next_sequence"].as_u64().unwrap();
    let groups: Vec<_> = rows.iter().filter(|row| row["event"] == "arrived").collect();
    let mut next = 1;
    for row in &groups {
        let number = |name: &str| row[name].as_u64().unwrap();
        assert_eq!(number("first_sequence"), next, "{row}");
        next = number("last_sequence") + 1;
        // JSON has large numbers as text.
        let moment = |name: &str| row[name].as_str().unwrap().parse::<u64>().unwrap();
        if let Some(least) = row["took_least_ns"].as_u64() {
            // Both sides have one clock, so that the true time is known.
            let took = moment("arrived_ns") - moment("sent_ns");
            let most = row["took_most_ns"].as_u64().unwrap();
            assert!((least..=most).contains(&took), "{row}");
        }
    }
    assert_eq!(next, end);
    assert!(groups.iter().any(|row| row["took_least_ns"].is_u64()), "{groups:?}");
}
