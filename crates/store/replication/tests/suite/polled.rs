//! A leader that sleeps reads the end of its journal once in its poll, whatever its follower sends.

use std::time::Duration;

use nanotape_harness::Scratch;
use nanotape_journal::{Appender, Folder, Replica};
use nanotape_link::{Now, Role};
use nanotape_replication::{FollowOptions, Followed, FollowerLink, LeaderLink, LeaderOptions};

use crate::{
    hostile::{exchange, peer},
    running::{MODE, append, options},
};

#[test]
fn the_end_of_a_journal_is_read_once_in_a_poll_and_older_excerpts_at_once() {
    let (source, copy) = (Scratch::folder("polled"), Scratch::folder("polled"));
    let mut appender = Appender::open(source.path(), &options()).unwrap();
    append(&mut appender, 1_000);
    let poll = Duration::from_millis(20);
    let leader = LeaderOptions { poll, ..LeaderOptions::default() };
    let disk = Folder::new(source.path(), MODE);
    let mut leader = LeaderLink::new(disk, peer(Role::Accepting, 1), leader);
    let replica = Replica::open(copy.path(), MODE).unwrap();
    let follow = FollowOptions::default();
    let mut follower = FollowerLink::new(replica, peer(Role::Connecting, 0), follow);
    let mut turn = |at_ms: u64| {
        let now = Now { monotonic_ns: at_ms * 1_000_000, utc_ns: at_ms * 1_000_000 };
        let turned = leader.turn(now).unwrap();
        exchange(leader.peer(), follower.peer(), now);
        if let Followed::Joins(_) = follower.turn(now).unwrap() {
            follower.join();
        }
        exchange(leader.peer(), follower.peer(), now);
        (turned, leader.status().sent_next, leader.due_in(now))
    };
    // What is there is sent without a pause.
    let caught_up = (0..1_000).find(|_| turn(1).2.is_some());
    assert!(caught_up.is_some());
    assert_eq!((turn(1).1, turn(1).2), (1_001, Some(poll)));
    append(&mut appender, 3);
    // The follower's report comes meanwhile.
    for at_ms in 2..21 {
        let (_, sent_next, due) = turn(at_ms);
        assert_eq!((sent_next, due), (1_001, Some(Duration::from_millis(21 - at_ms))), "{at_ms}");
    }
    assert_eq!((turn(21).1, turn(21).2), (1_004, Some(poll)));
}
