//! Sessions with faults from seeds: every message is delivered once and in order,
//! or it is skipped and the reports say so.

use nanotape_feed::session::{
    GapPolicy, Join, Line, Receiver, RequestSettings, SessionSettings, SnapshotSettings,
};
use nanotape_harness::{Random, campaign};
use nanotape_wire::framing::moldudp64::MoldUdp64;

use super::{
    network::{Faults, Network, Server},
    owner::Owner,
};

const MS: u64 = 1_000_000;

/// How many seeds; a longer campaign is requested with `NANOTAPE_CAMPAIGN=10`.
fn seeds() -> u64 {
    campaign(1_000)
}

fn settings() -> SessionSettings {
    SessionSettings {
        requests: Some(RequestSettings { timeout_ns: 5 * MS, ..RequestSettings::default() }),
        snapshots: Some(SnapshotSettings {
            timeout_ns: 200 * MS,
            attempts: 3,
            retry_after_ns: 100 * MS,
        }),
        ahead_messages: 1 << 12,
        ahead_bytes: 1 << 18,
        ..SessionSettings::default()
    }
}

/// Faults of a line of a seed: up to 10% of the packets are lost. Line A can lie: if both lines say
/// the same, it is believed. Line B can be behind.
fn faults(line: Line, is_skewed: bool, random: &mut Random) -> Faults {
    let begin_ns = random.below(60) * MS;
    let behind_ns = u64::from(is_skewed && line == Line::B) * (1 + random.below(8)) * MS;
    Faults {
        least_lie: if is_skewed { 1 } else { 64 },
        behind_ns,
        drop: random.below(100),
        duplicate: random.below(50),
        delay: random.below(50),
        truncate: random.below(10),
        lie: random.below(2) * random.below(30) * u64::from(line == Line::A),
        stray: random.below(2) * random.below(20),
        silence: (begin_ns, begin_ns + random.below(2) * 50 * MS),
    }
}

fn run(
    seed: u64,
    settings: SessionSettings,
    network: &mut Network,
) -> (Receiver<MoldUdp64>, Owner) {
    let gap_policy = if seed.is_multiple_of(2) { GapPolicy::Wait } else { GapPolicy::Flag };
    let mut receiver = Receiver::new(SessionSettings { gap_policy, ..settings });
    let mut owner = Owner::default();
    network.run(&mut receiver, &mut owner);
    assert!(owner.has_ended(), "seed {seed}: {:?}", receiver.position());
    assert_eq!(owner.next, network.last() + 1, "seed {seed}");
    assert!(owner.ahead.is_empty(), "seed {seed}: {:?} did not come in their turn", owner.ahead);
    assert!(gap_policy == GapPolicy::Flag || owner.shown_ahead == 0, "seed {seed}");
    let reports = || owner.closed_gaps();
    assert_eq!(reports().count(), owner.declared_gaps(), "seed {seed}: every gap is closed");
    for report in reports() {
        let numbers = &report.gap.numbers;
        assert_eq!(report.fills.total(), numbers.end - numbers.start, "seed {seed}: {report:?}");
    }
    (receiver, owner)
}

#[test]
fn with_a_server_every_message_comes() {
    let mut ahead = 0;
    for seed in 0..seeds() {
        let mut random = Random::new(seed);
        let mut network = Network::new(seed, 1_500);
        network.requests = Server::Lossy(random.below(2) * 100);
        let used = random.below(3);
        for (line, only) in [(Line::A, 1), (Line::B, 0)] {
            let faults = faults(line, seed % 3 == 0, &mut random);
            if used != only {
                network.send(line, 1, faults);
            }
        }
        let settings = SessionSettings {
            requests: settings()
                .requests
                .map(|requests| RequestSettings { retries: 60, ..requests }),
            join: Join::Start,
            ..settings()
        };
        let (_, owner) = run(seed, settings, &mut network);
        assert_eq!(owner.delivered, network.last(), "seed {seed}: lines {used}");
        assert_eq!(owner.skipped, [], "seed {seed}");
        ahead += owner.shown_ahead;
    }
    assert!(ahead > seeds(), "only {ahead} messages did not wait for a gap");
}

#[test]
fn with_a_dead_server_a_snapshot_takes_the_place_of_what_is_missing() {
    let (mut snapshots, mut ahead) = (0, 0);
    for seed in 0..seeds() {
        let mut random = Random::new(seed);
        let mut network = Network::new(seed, 1_500);
        network.requests = Server::Dead;
        network.snapshots = Server::Lossy(random.below(2) * 300);
        let first = 1 + random.below(2) * random.below(800);
        for line in [Line::A, Line::B] {
            let faults = faults(line, seed % 3 == 0, &mut random);
            network.send(line, first, faults);
        }
        let join = if random.below(2) == 0 { Join::Snapshot } else { Join::Here };
        let (receiver, owner) = run(seed, SessionSettings { join, ..settings() }, &mut network);
        let lost: u64 = owner.closed_gaps().map(|report| report.fills.lost).sum();
        assert!(lost <= owner.skipped_count(), "seed {seed}");
        if receiver.position().is_suspect {
            assert!(lost > 0 || join == Join::Snapshot, "seed {seed}");
        }
        snapshots += owner.snapshots.len();
        ahead += owner.shown_ahead;
    }
    assert!(ahead > seeds(), "only {ahead} messages did not wait for a snapshot");
    assert!(snapshots > seeds() as usize / 2, "only {snapshots} snapshots were applied");
}

#[test]
fn without_any_server_what_is_lost_is_what_both_lines_lost() {
    for seed in 0..seeds() {
        let mut random = Random::new(seed);
        let mut network = Network::new(seed, 1_500);
        for line in [Line::A, Line::B] {
            let faults = Faults { silence: (0, 0), ..faults(line, seed % 3 == 0, &mut random) };
            network.send(line, 1, faults);
        }
        let settings =
            SessionSettings { requests: None, snapshots: None, join: Join::Start, ..settings() };
        let (receiver, owner) = run(seed, settings, &mut network);
        assert_eq!(owner.delivered + owner.skipped_count(), network.last(), "seed {seed}");
        let lost: u64 = owner.closed_gaps().map(|report| report.fills.lost).sum();
        assert_eq!(lost, owner.skipped_count(), "seed {seed}");
        assert_eq!(receiver.position().is_suspect, lost > 0, "seed {seed}");
    }
}

#[test]
fn what_waits_in_sockets_is_delivered_in_whatever_order_they_are_read() {
    for seed in 0..seeds() {
        let mut random = Random::new(seed);
        let mut network = Network::new(seed, 1_500);
        for line in [Line::A, Line::B] {
            let faults = faults(line, false, &mut random);
            // Line B can be read ahead of line A by a batch, whose numbers are known then.
            let faults = Faults { silence: (0, 0), stray: 0, least_lie: 256, ..faults };
            network.send(line, 1, faults);
        }
        let gap_policy = if seed.is_multiple_of(2) { GapPolicy::Wait } else { GapPolicy::Flag };
        // Longer than any packet is delayed.
        let hold_ns = (4 + random.below(40)) * MS;
        let settings =
            SessionSettings { requests: None, snapshots: None, gap_policy, hold_ns, ..settings() };
        let (mut receiver, mut owner) = (Receiver::new(settings), Owner::default());
        let most_ns = (1 + random.below(100)) * MS;
        network.run_with_stalls(&mut receiver, &mut owner, most_ns);
        assert_eq!(owner.next, network.last() + 1, "seed {seed}");
        let is_lost = |number: &&u64| {
            owner.skipped.iter().any(|&(first, next)| (first..next).contains(*number))
        };
        let lost: Vec<_> = network.brought.iter().filter(is_lost).collect();
        assert_eq!(lost, [] as [&u64; 0], "seed {seed}");
    }
}
