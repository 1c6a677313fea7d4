//! The statistics of a live session on a board.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use nanotape_feed::session::{Fills, GapCounts, LineCounts, MalformedKind, SessionPosition};
use nanotape_market::MAX_LINES;
use nanotape_shm::Word;
use nanotape_trace::Histogram;

use super::stages::{BUCKETS, TIMES};
use super::{LineStat, LiveStat};

/// Number of lines; 0 if the plant has no session.
const LINES: usize = 0;
const EXPECTED: usize = 1;
const HIGHEST: usize = 2;
const MISSING: usize = 3;
const KEPT: usize = 4;
/// Bit 0 suspect, 1 holding, 2 ended.
const STATE: usize = 5;
const OVERTAKEN: usize = 6;
/// Declared, closed, longest in ns, then what filled them: by line, retransmitted, snapshot, lost.
const GAPS: usize = 7;
const ANSWERS: usize = GAPS + 3 + MAX_LINES + 3;
/// Errors of the sockets to re-request servers, servers that are down, attempts to get a snapshot
/// that failed, failures of SoupBinTCP servers.
const SERVERS: usize = 44;
const FIRST_LINE: usize = 48;

/// Words of the counts of a line.
const COUNTS: usize = 12 + MalformedKind::ALL.len();

// A line: its address, the drops of the kernel, its counts, then by how much it was ahead.
/// The port, and the address of IPv4 times 2^16, or [`IPV6`] for one that is in other words.
const ADDRESS: usize = 0;
const DROPS: usize = 1;
const OF_LINE: usize = 2;
/// The halves of an address of IPv6, and the number of its interface.
const IPV6_ADDRESS: usize = 24;
/// Packets whose delay is no time of a histogram.
const UNKNOWN_DELAYS: usize = 28;
/// Errors of its socket, and 1 while it cannot be read.
const ERRORS: usize = 30;
const LEADS: usize = 32;
const DELAYS: usize = LEADS + BUCKETS;
const LINE_WORDS: usize = DELAYS + BUCKETS;

/// Words of a session.
pub(super) const WORDS: usize = FIRST_LINE + MAX_LINES * LINE_WORDS;

const _: () = {
    assert!(ANSWERS + COUNTS <= SERVERS);
    assert!(OF_LINE + COUNTS <= IPV6_ADDRESS);
    assert!(IPV6_ADDRESS + 3 <= UNKNOWN_DELAYS);
    assert!(SERVERS + 4 <= FIRST_LINE);
};

/// Stores the statistics.
pub(super) fn store(words: &[Word], stat: &LiveStat) {
    let LiveStat { lines, answers, overtaken, position, gaps, .. } = stat;
    let SessionPosition { expected, highest, missing, kept, is_suspect, is_holding, has_ended } =
        *position;
    let state = u64::from(is_suspect) | u64::from(is_holding) << 1 | u64::from(has_ended) << 2;
    let of_session = [expected, highest, missing, kept, state, *overtaken];
    put(&words[EXPECTED..], of_session);
    let Fills { lines: [a, b, c, d], retransmitted, snapshot, lost } = gaps.fills;
    let of_gaps = [gaps.declared, gaps.closed, gaps.longest_ns, a, b, c, d];
    put(&words[GAPS..], of_gaps.into_iter().chain([retransmitted, snapshot, lost]));
    put(&words[ANSWERS..], words_of(answers));
    let of_servers = [
        stat.rerequest_errors,
        stat.rerequest_servers_down,
        stat.snapshot_failures,
        stat.soupbintcp_failures,
    ];
    put(&words[SERVERS..], of_servers);
    for (place, line) in lines.iter().take(MAX_LINES).enumerate() {
        let words = &words[FIRST_LINE + place * LINE_WORDS..][..LINE_WORDS];
        let (address, of_ipv6) = words_of_address(line.address);
        words[ADDRESS].store(address);
        put(&words[IPV6_ADDRESS..], of_ipv6);
        words[DROPS].store(line.kernel_drops);
        put(&words[OF_LINE..], words_of(&line.counts));
        put(&words[ERRORS..], [line.socket_errors, line.is_failing.into()]);
        words[UNKNOWN_DELAYS].store(line.unknown_delays);
        put(&words[LEADS..], line.leads.counts_to(BUCKETS));
        put(&words[DELAYS..], line.delays.counts_to(BUCKETS));
    }
    words[LINES].store(lines.len().min(MAX_LINES) as u64);
}

/// The statistics; `None` if the plant has no session.
pub(super) fn load(word: impl Fn(usize) -> u64) -> Option<LiveStat> {
    let count = usize::try_from(word(LINES)).ok().filter(|&count| count > 0)?.min(MAX_LINES);
    let state = word(STATE);
    let position = SessionPosition {
        expected: word(EXPECTED),
        highest: word(HIGHEST),
        missing: word(MISSING),
        kept: word(KEPT),
        is_suspect: state & 1 != 0,
        is_holding: state & 2 != 0,
        has_ended: state & 4 != 0,
    };
    let after = GAPS + 3 + MAX_LINES;
    let fills = Fills {
        lines: core::array::from_fn(|line| word(GAPS + 3 + line)),
        retransmitted: word(after),
        snapshot: word(after + 1),
        lost: word(after + 2),
    };
    let gaps = GapCounts {
        declared: word(GAPS),
        closed: word(GAPS + 1),
        longest_ns: word(GAPS + 2),
        fills,
    };
    let lines = (0..count).map(|place| {
        let word = |at: usize| word(FIRST_LINE + place * LINE_WORDS + at);
        let address = (word(ADDRESS), core::array::from_fn(|part| word(IPV6_ADDRESS + part)));
        let times = |first: usize| {
            Histogram::of_counts(TIMES, (0..BUCKETS).map(|bucket| word(first + bucket)).collect())
        };
        LineStat {
            address: address_of(address),
            counts: counts_of(|place| word(OF_LINE + place)),
            kernel_drops: word(DROPS),
            socket_errors: word(ERRORS),
            is_failing: word(ERRORS + 1) != 0,
            leads: times(LEADS),
            delays: times(DELAYS),
            unknown_delays: word(UNKNOWN_DELAYS),
        }
    });
    Some(LiveStat {
        lines: lines.collect(),
        answers: counts_of(|place| word(ANSWERS + place)),
        rerequest_errors: word(SERVERS),
        rerequest_servers_down: word(SERVERS + 1),
        snapshot_failures: word(SERVERS + 2),
        soupbintcp_failures: word(SERVERS + 3),
        overtaken: word(OVERTAKEN),
        position,
        gaps,
    })
}

/// Marks an address of IPv6, above all addresses of IPv4.
const IPV6: u64 = 1 << 48;

/// The first word of an address, and the three others.
fn words_of_address(address: SocketAddr) -> (u64, [u64; 3]) {
    let port = u64::from(address.port());
    match address {
        SocketAddr::V4(of) => (u64::from(u32::from(*of.ip())) << 16 | port, [0; 3]),
        SocketAddr::V6(of) => {
            let ip = u128::from(*of.ip());
            (IPV6 | port, [(ip >> 64) as u64, ip as u64, of.scope_id().into()])
        }
    }
}

fn address_of((address, [high, low, scope_id]): (u64, [u64; 3])) -> SocketAddr {
    let port = address as u16;
    if address & IPV6 == 0 {
        return SocketAddr::new(IpAddr::V4(Ipv4Addr::from((address >> 16) as u32)), port);
    }
    let ip = Ipv6Addr::from(u128::from(high) << 64 | u128::from(low));
    SocketAddrV6::new(ip, port, 0, scope_id as u32).into()
}

fn put(words: &[Word], values: impl IntoIterator<Item = u64>) {
    words.iter().zip(values).for_each(|(word, value)| word.store(value));
}

fn words_of(counts: &LineCounts) -> impl Iterator<Item = u64> {
    let LineCounts {
        packets,
        bytes,
        heartbeats,
        messages,
        first_messages,
        first_packets,
        duplicates,
        overtaken,
        missing,
        other_session,
        far_ahead,
        malformed,
        silences,
    } = *counts;
    let before = [packets, bytes, heartbeats, messages, first_messages, first_packets];
    let after = [duplicates, overtaken, missing, other_session, far_ahead, silences];
    before.into_iter().chain(after).chain(malformed)
}

fn counts_of(word: impl Fn(usize) -> u64) -> LineCounts {
    LineCounts {
        packets: word(0),
        bytes: word(1),
        heartbeats: word(2),
        messages: word(3),
        first_messages: word(4),
        first_packets: word(5),
        duplicates: word(6),
        overtaken: word(7),
        missing: word(8),
        other_session: word(9),
        far_ahead: word(10),
        silences: word(11),
        malformed: core::array::from_fn(|kind| word(12 + kind)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_the_same_after_they_were_on_a_board() {
        let words: Vec<Word> = (0..WORDS).map(|_| Word::new(0)).collect();
        let word = |place: usize| words[place].load();
        assert_eq!(load(word), None);
        let mut line = LineStat::of("239.1.2.3:5001".parse().unwrap());
        line.counts = LineCounts { packets: 1, silences: 9, ..LineCounts::default() };
        line.counts.malformed[1] = 7;
        (line.kernel_drops, line.unknown_delays) = (3, 31);
        line.leads = Histogram::of_counts(TIMES, (0..BUCKETS as u64).collect());
        line.delays = Histogram::of_counts(TIMES, (7..7 + BUCKETS as u64).collect());
        let stat = LiveStat {
            lines: vec![
                line.clone(),
                LineStat { address: "[ff02::1:2%3]:5001".parse().unwrap(), ..line.clone() },
                LineStat { address: "[ffff:8::ffff]:65535".parse().unwrap(), ..line.clone() },
                LineStat { kernel_drops: 4, socket_errors: 26, is_failing: true, ..line },
            ],
            answers: LineCounts { bytes: 5, missing: 6, ..LineCounts::default() },
            rerequest_errors: 27,
            rerequest_servers_down: 28,
            snapshot_failures: 29,
            soupbintcp_failures: 30,
            overtaken: 11,
            position: SessionPosition {
                expected: 12,
                highest: 13,
                missing: 14,
                kept: 15,
                is_suspect: true,
                is_holding: false,
                has_ended: true,
            },
            gaps: GapCounts {
                declared: 16,
                closed: 17,
                fills: Fills { lines: [18, 19, 20, 21], retransmitted: 22, snapshot: 23, lost: 24 },
                longest_ns: 25,
            },
        };
        store(&words, &stat);
        assert_eq!(load(word), Some(stat));
        // As a program stores it that knows IPv4 only.
        let stored = word(FIRST_LINE + ADDRESS);
        assert_eq!(stored, 239 << 40 | 1 << 32 | 2 << 24 | 3 << 16 | 5001);
    }
}
