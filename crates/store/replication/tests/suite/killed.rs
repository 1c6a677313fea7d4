//! The machine of the leader is lost at any moment: what was committed is on the follower that is
//! promoted.

use std::time::Duration;

use nanotape_harness::{Peer, Random, Scratch, Task, campaign, say};
use nanotape_journal::{Appender, Replica};
use nanotape_replication::{CommitPolicy, Committer, Quorum, promote};

use crate::running::{
    Followed, MODE, Served, append, contents, options, replicate_options, serve_options,
};

/// A leader that says each number that is committed.
#[test]
fn leader() {
    let Some(Task { path, .. }) = Task::of_this_process() else { return };
    let mut appender = Appender::open(&path, &options()).unwrap();
    append(&mut appender, 1);
    let mut serving = serve_options();
    serving.commits = true;
    let served = Served::start(&path, serving);
    say(served.address);
    let policy = CommitPolicy {
        quorum: Quorum::One,
        on_disk: false,
        at_most: Duration::from_secs(60),
        without_progress: Duration::from_secs(60),
        spins: false,
    };
    let mut committer = Committer::new(&path, policy);
    loop {
        append(&mut appender, 1);
        let sequence = appender.next_sequence() - 1;
        committer.wait(appender.incarnation(), sequence).unwrap();
        say(sequence);
    }
}

#[test]
fn what_was_committed_is_on_the_promoted_follower_whenever_the_leader_is_killed() {
    let mut random = Random::new(46);
    let (mut most, mut all) = (0, 0);
    for _ in 0..campaign(10) {
        let scratch = Scratch::folder("killed");
        let at = |name: &str| scratch.path().join(name);
        let mut process = Peer::start(Task::new("leader", &at("leader")).command("killed::leader"));
        let address = process.receive().parse().unwrap();
        let followed = Followed::start(&at("copy"), replicate_options(address));
        let mut committed: u64 = process.receive().parse().unwrap();
        for _ in 0..random.below(60) {
            committed = process.receive().parse().unwrap();
        }
        process.kill();
        // What it said before it was killed.
        while let Some(line) = process.receive_or_end() {
            committed = line.parse().unwrap();
        }
        followed.end().unwrap();
        promote(&at("copy"), "copy", MODE, false).unwrap();
        let copied = contents(&at("copy"));
        let expected = contents(&at("leader"));
        assert!(copied.len() as u64 >= committed, "{} of {committed}", copied.len());
        assert!(expected.starts_with(&copied));
        // It goes on as a leader, and the old one as its follower.
        let mut appender = Appender::open(&at("copy"), &options()).unwrap();
        append(&mut appender, 3);
        let served = Served::start(&at("copy"), serve_options());
        let followed = Followed::start(&at("leader"), replicate_options(served.address));
        crate::running::wait_until_equal(&at("copy"), &at("leader"));
        followed.end().unwrap();
        assert!(Appender::open(&at("leader"), &options()).is_err(), "a copy has no appender");
        drop(Replica::open(&at("leader"), MODE).unwrap());
        (most, all) = (most.max(committed), all + committed);
    }
    println!("{all} committed, at most {most} before a kill");
    assert!(most > 10);
}
