//! Commits that wait for followers.

use std::time::Duration;

use nanotape_harness::Scratch;
use nanotape_journal::Appender;
use nanotape_replication::{CommitError, CommitPolicy, Committer, Quorum};

use crate::running::{
    Followed, Served, append, contents, options, replicate_options, serve_options,
};

fn policy(quorum: Quorum, on_disk: bool) -> CommitPolicy {
    CommitPolicy {
        quorum,
        on_disk,
        at_most: Duration::from_secs(20),
        without_progress: Duration::from_secs(20),
        spins: true,
    }
}

#[test]
fn a_commit_returns_when_enough_followers_have_the_excerpt() {
    let scratch = Scratch::folder("commits");
    let at = |name: &str| scratch.path().join(name);
    let mut appender = Appender::open(&at("leader"), &options()).unwrap();
    append(&mut appender, 10);
    let mut serving = serve_options();
    serving.followers = vec!["one".to_owned(), "two".to_owned()];
    let served = Served::start(&at("leader"), serving);
    let follow = |name: &str, syncs| {
        let mut options = replicate_options(served.address);
        (options.name, options.syncs) = (name.to_owned(), syncs);
        Followed::start(&at(name), options)
    };
    let one = follow("one", false);
    let mut to_one = Committer::new(&at("leader"), policy(Quorum::One, false));
    for _ in 0..100 {
        append(&mut appender, 1);
        let sequence = appender.next_sequence() - 1;
        to_one.wait(appender.incarnation(), sequence).unwrap();
        assert_eq!(contents(&at("one")).last().unwrap().0, sequence);
    }
    // The other one was named, and does not exist yet; and no follower syncs.
    let soon = |quorum, on_disk| CommitPolicy {
        at_most: Duration::from_millis(200),
        ..policy(quorum, on_disk)
    };
    for (policy, expected) in [(soon(Quorum::All, false), 1), (soon(Quorum::One, true), 0)] {
        let mut committer = Committer::new(&at("leader"), policy);
        let sequence = appender.next_sequence() - 1;
        let failed = committer.wait(appender.incarnation(), sequence).unwrap_err();
        assert!(
            matches!(failed, CommitError::TimedOut { have, followers: 2, .. } if have == expected),
            "{failed}"
        );
    }
    let two = follow("two", true);
    let mut to_all = Committer::new(&at("leader"), policy(Quorum::All, false));
    let mut to_disk = Committer::new(&at("leader"), policy(Quorum::One, true));
    for _ in 0..20 {
        append(&mut appender, 1);
        let sequence = appender.next_sequence() - 1;
        to_all.wait(appender.incarnation(), sequence).unwrap();
        to_disk.wait(appender.incarnation(), sequence).unwrap();
        for name in ["one", "two"] {
            assert_eq!(contents(&at(name)).last().unwrap().0, sequence);
        }
    }
    one.end().unwrap();
    two.end().unwrap();
    // Nothing moves any more: the commit ends long before its time.
    append(&mut appender, 1);
    let still =
        CommitPolicy { without_progress: Duration::from_millis(100), ..policy(Quorum::One, false) };
    let mut committer = Committer::new(&at("leader"), still);
    let sequence = appender.next_sequence() - 1;
    let failed = committer.wait(appender.incarnation(), sequence).unwrap_err();
    assert!(matches!(failed, CommitError::NoProgress { have: 0, .. }), "{failed}");
    served.end().unwrap();
    let failed = committer.wait(appender.incarnation(), sequence).unwrap_err();
    assert!(matches!(failed, CommitError::NotServed { .. }), "{failed}");
}

#[test]
fn an_acknowledgement_of_numbers_that_were_given_back_does_not_count() {
    let scratch = Scratch::folder("commits");
    let at = |name: &str| scratch.path().join(name);
    let mut appender = Appender::open(&at("leader"), &options()).unwrap();
    append(&mut appender, 10);
    let served = Served::start(&at("leader"), serve_options());
    let followed = Followed::start(&at("copy"), replicate_options(served.address));
    let mut committer = Committer::new(&at("leader"), policy(Quorum::One, false));
    committer.wait(appender.incarnation(), 10).unwrap();
    followed.end().unwrap();
    appender.rewind_to(6).unwrap();
    append(&mut appender, 1);
    let soon = CommitPolicy { at_most: Duration::from_millis(100), ..policy(Quorum::One, false) };
    let mut committer = Committer::new(&at("leader"), soon);
    let failed = committer.wait(appender.incarnation(), 6).unwrap_err();
    assert!(matches!(failed, CommitError::TimedOut { have: 0, .. }), "{failed}");
    let _followed = Followed::start(&at("copy"), replicate_options(served.address));
    let mut committer = Committer::new(&at("leader"), policy(Quorum::One, false));
    committer.wait(appender.incarnation(), 6).unwrap();
    assert_eq!(contents(&at("copy")), contents(&at("leader")));
}
