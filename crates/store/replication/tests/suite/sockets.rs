//! Leaders and followers over TCP, with TLS and without, and networks that cut and change bytes.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nanotape_harness::{Random, Scratch, eventually};
use nanotape_journal::{
    Appender, CompressOptions, PruneOptions, QUARANTINE, SegmentSum, compress, prune, segment_sums,
};
use nanotape_link::{CertificateOptions, Identity, make_certificates};
use nanotape_replication::{
    LinkPace, MOST_FOLLOWERS, ReplicateEvent, Replication, ServeError, ServeOptions, Server, Terms,
    followers_need, promote,
};

use crate::running::{
    Followed, MODE, Served, append, certificates, contents, identity, options, replicate_options,
    serve_options, wait_until_equal,
};

/// The digests of a journal, as far as it has numbers below `before`.
fn sums(journal: &Path, before: u64) -> Vec<SegmentSum> {
    let mut sums = Vec::new();
    segment_sums(journal, before, |sum| sums.push(sum)).unwrap();
    sums
}

/// A folder, and the journal in it with some excerpts.
fn journal(count: u64) -> (Scratch, Appender) {
    let scratch = Scratch::folder("replicated");
    let mut appender = Appender::open(&scratch.path().join("leader"), &options()).unwrap();
    append(&mut appender, count);
    (scratch, appender)
}

#[test]
fn a_copy_follows_with_tls_and_continues_after_each_break() {
    let (scratch, mut appender) = journal(2_000);
    let [leader, copy, folder] =
        ["leader", "copy", "certificates"].map(|it| scratch.path().join(it));
    certificates(&folder, &["leader", "follower"]);
    let mut serving = serve_options();
    serving.identity = identity(&folder, "leader");
    let served = Served::start(&leader, serving.clone());
    let mut following = replicate_options(served.address);
    following.identity = identity(&folder, "follower");
    let followed = Followed::start(&copy, following.clone());
    wait_until_equal(&leader, &copy);
    append(&mut appender, 100);
    wait_until_equal(&leader, &copy);
    // The leader goes away and comes back, then the follower.
    serving.listen = served.address;
    served.end().unwrap();
    append(&mut appender, 100);
    let _served = Served::start(&leader, serving);
    wait_until_equal(&leader, &copy);
    followed.end().unwrap();
    append(&mut appender, 500);
    let _followed = Followed::start(&copy, following);
    append(&mut appender, 500);
    wait_until_equal(&leader, &copy);
}

#[test]
fn a_copy_follows_however_its_threads_wait() {
    for pace in [LinkPace::Spin, LinkPace::Yield, LinkPace::Sleep(Duration::from_millis(5))] {
        let (scratch, mut appender) = journal(100);
        let [leader, copy] = ["leader", "copy"].map(|it| scratch.path().join(it));
        let mut serving = serve_options();
        serving.pace = pace;
        let served = Served::start(&leader, serving);
        let mut following = replicate_options(served.address);
        following.pace = pace;
        let followed = Followed::start(&copy, following);
        for _ in 0..20 {
            append(&mut appender, 10);
            wait_until_equal(&leader, &copy);
        }
        followed.end().unwrap();
        served.end().unwrap();
    }
}

#[test]
fn a_side_without_the_right_certificate_gets_nothing() {
    let (scratch, _appender) = journal(10);
    let at = |name: &str| scratch.path().join(name);
    certificates(&at("certificates"), &["leader", "follower"]);
    certificates(&at("others"), &["leader", "follower"]);
    let mut serving = serve_options();
    serving.identity = identity(&at("certificates"), "leader");
    let served = Served::start(&at("leader"), serving);
    let mut following = replicate_options(served.address);
    // Signed by another authority; without TLS; for another name.
    following.identity = identity(&at("others"), "follower");
    let other = Followed::start(&at("copy-1"), following.clone());
    eventually("the connection breaks", || other.was_broken("invalid peer certificate"));
    following.identity = None;
    let plain = Followed::start(&at("copy-2"), following.clone());
    eventually("the connection breaks", || plain.was_broken(""));
    following.identity = identity(&at("certificates"), "follower");
    following.name = "impostor".to_owned();
    let impostor = Followed::start(&at("copy-3"), following.clone());
    eventually("the connection breaks", || impostor.was_broken("not for the name"));
    // A leader that has another name than the follower expects.
    following.identity = identity(&at("certificates"), "follower");
    following.name = "follower".to_owned();
    following.leader = "another".to_owned();
    let deceived = Followed::start(&at("copy-4"), following);
    eventually("the connection breaks", || deceived.was_broken("not valid for name"));
    for (followed, copy) in [(other, 1), (plain, 2), (impostor, 3), (deceived, 4)] {
        followed.end().unwrap();
        assert_eq!(contents(&at(&format!("copy-{copy}"))), []);
    }
    assert!(served.refused("") >= 4 && served.refused("not for the name") >= 1);
}

#[test]
fn a_side_does_not_begin_with_a_certificate_that_all_others_refuse() {
    let scratch = Scratch::folder("certificates");
    let at = |name: &str| scratch.path().join(name);
    certificates(&at("now"), &["leader"]);
    certificates(&at("others"), &["leader"]);
    let options = CertificateOptions { years: (2010, 2011), replaces: false };
    make_certificates(&at("then"), &["leader".to_owned()], options).unwrap();
    for end in ["pem", "key"] {
        let leader = format!("leader.{end}");
        fs::copy(at("now").join(&leader), at("now").join(format!("renamed.{end}"))).unwrap();
        fs::copy(at("now").join(&leader), at("others").join(leader)).unwrap();
    }
    for (folder, name, words) in [
        ("then", "leader", "certificate expired"),
        ("others", "leader", "every other side refuses it"),
        ("now", "renamed", "not for the name `renamed`"),
    ] {
        let error = Identity::read(&at(folder), name).unwrap_err().to_string();
        assert!(error.contains(words), "{folder}: {error}");
    }
    Identity::read(&at("now"), "leader").unwrap();
}

#[test]
fn a_leader_ends_when_the_region_of_its_followers_is_removed() {
    let (scratch, _appender) = journal(10);
    let leader = scratch.path().join("leader");
    let served = Served::start(&leader, serve_options());
    fs::remove_file(leader.join("followers")).unwrap();
    let error = served.ended().unwrap_err().to_string();
    assert!(error.contains("removed while in use"), "{error}");
}

#[test]
fn more_followers_than_a_journal_can_have_are_refused_at_the_start() {
    let (scratch, _appender) = journal(1);
    let leader = scratch.path().join("leader");
    let named = |count: usize| ServeOptions {
        followers: (0..count).map(|number| format!("follower-{number}")).collect(),
        ..serve_options()
    };
    drop(Server::open(&leader, named(MOST_FOLLOWERS)).unwrap());
    let refused = Server::open(&leader, named(MOST_FOLLOWERS + 1)).unwrap_err();
    assert!(matches!(refused, ServeError::TooMany { most: MOST_FOLLOWERS }), "{refused}");
}

#[test]
fn a_journal_and_its_copy_have_the_same_digests_and_no_other_one_has() {
    let (scratch, mut appender) = journal(2_500);
    let at = |name: &str| scratch.path().join(name);
    let served = Served::start(&at("leader"), serve_options());
    let followed = Followed::start(&at("copy"), replicate_options(served.address));
    wait_until_equal(&at("leader"), &at("copy"));
    followed.end().unwrap();
    let all = sums(&at("leader"), u64::MAX);
    assert_eq!(sums(&at("copy"), u64::MAX), all);
    assert!(all.len() > 2 && all.iter().rev().skip(1).all(|sum| sum.is_ended));
    let options = CompressOptions { keep_plain: 1, ..CompressOptions::default() };
    assert!(!compress(&at("copy"), &options, |_, _| ()).unwrap().is_empty());
    assert_eq!(sums(&at("copy"), u64::MAX), all);
    // The leader goes on: both have the same up to where the copy is.
    append(&mut appender, 10);
    assert_ne!(sums(&at("leader"), u64::MAX), all);
    let before = all[all.len() - 1].next_sequence;
    for before in [1, 2, all[1].first_sequence, all[1].first_sequence + 1, before] {
        let some = sums(&at("leader"), before);
        assert_eq!(sums(&at("copy"), before), some);
        assert_eq!(some.last().map_or(1, |sum| sum.next_sequence), before);
    }
    // The same excerpts in another journal.
    let mut other = Appender::open(&at("other"), &crate::running::options()).unwrap();
    append(&mut other, 2_500);
    assert_ne!(sums(&at("other"), u64::MAX), all);
}

#[test]
fn half_open_and_slow_connections_harm_no_follower() {
    let (scratch, mut appender) = journal(10);
    let [leader, copy] = ["leader", "copy"].map(|it| scratch.path().join(it));
    let mut serving = serve_options();
    serving.patience = Duration::from_secs(3);
    let served = Served::start(&leader, serving);
    let _followed = Followed::start(&copy, replicate_options(served.address));
    wait_until_equal(&leader, &copy);
    let mut open = Vec::new();
    for number in 0..400_u64 {
        let mut stream = TcpStream::connect(served.address).unwrap();
        // Some say nothing, others one byte of what might become a hello, others anything.
        let bytes = nanotape_harness::bytes_of(number, (number % 3 * number % 300) as usize);
        let _ = stream.write_all(&bytes);
        open.push(stream);
        if number % 100 == 0 {
            append(&mut appender, 10);
            wait_until_equal(&leader, &copy);
        }
    }
    append(&mut appender, 10);
    wait_until_equal(&leader, &copy);
    // All of them are closed in time.
    eventually("all connections are refused", || served.refused("") == open.len());
    assert!(served.refused("more connections wait") > 0 && served.refused("no hello within") > 0);
}

/// Passes bytes on between a follower and the leader, and does something to them.
struct Proxy {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
}

impl Proxy {
    fn start(leader: SocketAddr, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::<AtomicBool>::default();
        let stops = Arc::clone(&stop);
        std::thread::spawn(move || {
            let mut random = Random::new(seed);
            for stream in listener.incoming() {
                if stops.load(Ordering::Acquire) {
                    return;
                }
                let (Ok(near), Ok(far)) = (stream, TcpStream::connect(leader)) else { continue };
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let random = Random::new(random.number());
                    std::thread::spawn(move || pass(from, to, random));
                }
            }
        });
        Self { address, stop }
    }
}

/// Cuts the connection after some bytes, or changes one, or delays some.
fn pass(mut from: TcpStream, mut to: TcpStream, mut random: Random) {
    let mut bytes = vec![0; 4_000];
    let mut left = 20_000 + random.index(200_000);
    let changes = random.below(3) == 0;
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if random.below(8) == 0 {
            std::thread::sleep(Duration::from_millis(random.below(20)));
        }
        if count >= left {
            if !changes {
                break;
            }
            bytes[random.index(count)] ^= 1 << random.below(8);
            left = usize::MAX;
        } else {
            left -= count;
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(std::net::Shutdown::Both);
    let _ = to.shutdown(std::net::Shutdown::Both);
}

#[test]
fn a_copy_is_whole_behind_a_network_that_cuts_and_changes_bytes() {
    let (scratch, mut appender) = journal(1_000);
    let [leader, copy] = ["leader", "copy"].map(|it| scratch.path().join(it));
    let served = Served::start(&leader, serve_options());
    let proxy = Proxy::start(served.address, 7);
    let followed = Followed::start(&copy, replicate_options(proxy.address));
    for _ in 0..10 {
        append(&mut appender, 100);
        std::thread::sleep(Duration::from_millis(20));
    }
    wait_until_equal(&leader, &copy);
    proxy.stop.store(true, Ordering::Release);
    assert!(followed.was_broken(""));
    followed.end().unwrap();
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

#[test]
fn a_copy_that_was_made_with_cp_gets_the_rest_or_is_refused() {
    let (scratch, mut appender) = journal(1_500);
    let at = |name: &str| scratch.path().join(name);
    copy_folder(&at("leader"), &at("good"));
    copy_folder(&at("leader"), &at("bad"));
    append(&mut appender, 300);
    let served = Served::start(&at("leader"), serve_options());
    let followed = Followed::start(&at("good"), replicate_options(served.address));
    wait_until_equal(&at("leader"), &at("good"));
    followed.end().unwrap();
    // An appender of its own on the other machine.
    let mut other = Appender::open(&at("bad"), &options()).unwrap();
    other.append(9, 1, b"this machine appended by itself").unwrap();
    drop(other);
    let mut following = replicate_options(served.address);
    following.compares_all = true;
    let why = Followed::start(&at("bad"), following).ended();
    assert!(why.contains("the copy has excerpts 1501 to 1501, which the leader does not"), "{why}");
}

#[test]
fn a_copy_whose_files_are_removed_acknowledges_nothing_more() {
    for removes_all in [false, true] {
        let (scratch, mut appender) = journal(10);
        let at = |name: &str| scratch.path().join(name);
        let served = Served::start(&at("leader"), serve_options());
        let followed = Followed::start(&at("copy"), replicate_options(served.address));
        wait_until_equal(&at("leader"), &at("copy"));
        match removes_all {
            true => fs::remove_dir_all(at("copy")).unwrap(),
            false => fs::remove_file(at("copy").join("0000000001.segment")).unwrap(),
        }
        std::thread::sleep(Duration::from_millis(10));
        append(&mut appender, 1);
        let why = followed.ended();
        assert!(why.contains("removed, replaced or truncated"), "{why}");
        assert_eq!(followers_need(&at("leader")).unwrap()[0].1, 11);
    }
}

#[test]
fn a_comparison_finds_segments_that_are_damaged_or_missing() {
    let (scratch, _appender) = journal(1_500);
    let at = |name: &str| scratch.path().join(name);
    let served = Served::start(&at("leader"), serve_options());
    let mut following = replicate_options(served.address);
    following.compares_all = true;
    let second = |name: &str| at(name).join("0000000002.segment");
    type Damage = fn(&Path);
    let changed: Damage = |path| {
        let mut bytes = fs::read(path).unwrap();
        bytes[30_000..30_010].fill(0x55);
        fs::write(path, bytes).unwrap();
    };
    let removed: Damage = |path| fs::remove_file(path).unwrap();
    let cut: Damage = |path| {
        fs::OpenOptions::new().write(true).open(path).unwrap().set_len(20_000).unwrap();
    };
    for (name, damage, words) in [
        ("changed", changed, "differs from the leader from excerpt"),
        ("removed", removed, "lacks segment 2"),
        ("cut", cut, "of segment 2 on"),
    ] {
        copy_folder(&at("leader"), &at(name));
        damage(&second(name));
        let why = Followed::start(&at(name), following.clone()).ended();
        assert!(why.contains(words), "{name}: {why}");
    }
}

#[test]
fn a_journal_without_a_leader_stays_a_journal() {
    let (scratch, appender) = journal(10);
    let at = |name: &str| scratch.path().join(name);
    let options = replicate_options("127.0.0.1:9".parse().unwrap());
    let served = Served::start(&at("leader"), serve_options());
    drop(appender);
    let refused = Replication::open(&at("leader"), options.clone()).unwrap_err().to_string();
    assert!(refused.contains("serves this journal as a leader"), "{refused}");
    served.end().unwrap();
    let followed = Followed::start(&at("leader"), options);
    eventually("there is no leader", || followed.was_broken(""));
    followed.end().unwrap();
    let mut appender = Appender::open(&at("leader"), &crate::running::options()).unwrap();
    append(&mut appender, 1);
}

#[test]
fn what_a_follower_needs_is_not_pruned() {
    let (scratch, mut appender) = journal(1_000);
    let at = |name: &str| scratch.path().join(name);
    assert_eq!(followers_need(&at("leader")).unwrap(), []);
    let mut serving = serve_options();
    serving.followers = vec!["late".to_owned()];
    let served = Served::start(&at("leader"), serving);
    let mut following = replicate_options(served.address);
    let first = Followed::start(&at("copy"), following.clone());
    wait_until_equal(&at("leader"), &at("copy"));
    let needed = |name: &str| {
        let all = followers_need(&at("leader")).unwrap();
        all.into_iter().find(|(known, _)| known == name).map(|(_, next)| next)
    };
    eventually("it is acknowledged", || needed("follower") == Some(1_001));
    assert_eq!(needed("late"), Some(1));
    first.end().unwrap();
    append(&mut appender, 1_000);
    let others = vec![("follower".to_owned(), needed("follower").unwrap())];
    let options = PruneOptions { keep_bytes: Some(0), others, ..PruneOptions::default() };
    let pruned = prune(&at("leader"), &options).unwrap();
    assert!(!pruned.segments.is_empty());
    assert_eq!(pruned.held_by, Some(("follower".to_owned(), 1_001)));
    // It continues, and the other one comes too late.
    let expected = contents(&at("leader")).last().unwrap().0;
    let first = Followed::start(&at("copy"), following.clone());
    let has_all = || contents(&at("copy")).last().is_some_and(|(last, _)| *last == expected);
    eventually("the copy continues", has_all);
    first.end().unwrap();
    let forced = PruneOptions { is_forced: true, ..options };
    assert!(!prune(&at("leader"), &forced).unwrap().segments.is_empty());
    append(&mut appender, 10);
    following.name = "late".to_owned();
    let late = Followed::start(&at("late"), following);
    let is_there = || contents(&at("late")).last().is_some_and(|(last, _)| *last == expected + 10);
    eventually("a new copy begins with what is left", is_there);
    late.end().unwrap();
}

#[test]
fn the_first_excerpt_that_differs_is_named() {
    let (scratch, mut appender) = journal(100);
    let at = |name: &str| scratch.path().join(name);
    copy_folder(&at("leader"), &at("copy"));
    // The same number, length and position, with other bytes.
    let mut other = Appender::open(&at("copy"), &options()).unwrap();
    other.append(1, 101, &[7; 101 * 37 % 400]).unwrap();
    append(&mut other, 20);
    drop(other);
    append(&mut appender, 40);
    let served = Served::start(&at("leader"), serve_options());
    let why = Followed::start(&at("copy"), replicate_options(served.address)).ended();
    assert!(why.contains("differs from the leader from excerpt 101 of segment 1 on"), "{why}");
}

#[test]
fn a_leader_with_an_older_journal_is_refused_until_the_operator_permits_it() {
    let (scratch, mut appender) = journal(1_000);
    let at = |name: &str| scratch.path().join(name);
    appender.sync().unwrap();
    copy_folder(&at("leader"), &at("older"));
    append(&mut appender, 50);
    let served = Served::start(&at("leader"), serve_options());
    let followed = Followed::start(&at("copy"), replicate_options(served.address));
    wait_until_equal(&at("leader"), &at("copy"));
    followed.end().unwrap();
    served.end().unwrap();
    fs::copy(at("leader").join("epochs"), at("older").join("epochs")).unwrap();
    let served = Served::start(&at("older"), serve_options());
    let why = Followed::start(&at("copy"), replicate_options(served.address)).ended();
    assert!(
        why.contains("the copy has excerpts 1001 to 1050, which the leader does not have"),
        "{why}"
    );
    assert_eq!(contents(&at("copy")).len(), 1_050);
    let mut following = replicate_options(served.address);
    following.sets_aside = true;
    let followed = Followed::start(&at("copy"), following);
    wait_until_equal(&at("older"), &at("copy"));
    let is_cut = |event: &ReplicateEvent| matches!(event, ReplicateEvent::SetAside { .. });
    eventually("it is reported", || followed.events.lock().unwrap().iter().any(is_cut));
    assert!(fs::read_dir(at("copy").join(QUARANTINE)).unwrap().count() > 0);
}

#[test]
fn a_leader_that_was_replaced_is_refused_by_followers_and_ends() {
    let (scratch, mut appender) = journal(500);
    let at = |name: &str| scratch.path().join(name);
    let served = Served::start(&at("leader"), serve_options());
    let mut following = replicate_options(served.address);
    let first = Followed::start(&at("first"), following.clone());
    following.name = "second".to_owned();
    let second = Followed::start(&at("second"), following.clone());
    wait_until_equal(&at("leader"), &at("first"));
    wait_until_equal(&at("leader"), &at("second"));
    first.end().unwrap();
    append(&mut appender, 7);
    wait_until_equal(&at("leader"), &at("second"));
    second.end().unwrap();
    let stated = promote(&at("second"), "second", MODE, true).unwrap();
    assert_eq!((stated.next_sequence, stated.missing()), (508, (0, 0)));
    promote(&at("second"), "second", MODE, false).unwrap();
    // The old leader appends something that no follower has.
    append(&mut appender, 5);
    drop(appender);
    let mut successor = Appender::open(&at("second"), &options()).unwrap();
    append(&mut successor, 20);
    let new = Served::start(&at("second"), serve_options());
    let first = Followed::start(&at("first"), replicate_options(new.address));
    wait_until_equal(&at("second"), &at("first"));
    first.end().unwrap();
    // The old leader learns from a follower that it was replaced.
    let mut back = replicate_options(served.address);
    back.name = "first".to_owned();
    let why = Followed::start(&at("first"), back);
    assert!(matches!(served.ended(), Err(ServeError::Deposed { epoch: 2, .. })));
    let _ = why.end();
    // It follows the new one: what only it had is set aside.
    let old = Followed::start(&at("leader"), replicate_options(new.address));
    wait_until_equal(&at("second"), &at("leader"));
    old.end().unwrap();
    assert!(fs::read_dir(at("leader").join(QUARANTINE)).unwrap().count() > 0);
    let epochs = |name: &str| {
        let disk = nanotape_journal::Folder::new(&at(name), MODE);
        let terms = Terms::read(&disk).unwrap();
        terms.entries().iter().map(|entry| entry.term).collect::<Vec<_>>()
    };
    assert_eq!(epochs("leader"), epochs("second"));
}
