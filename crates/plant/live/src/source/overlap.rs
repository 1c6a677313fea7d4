//! The packets of a session that an earlier plant received while another session was its current
//! one.
//!
//! Where: a plant that was started again, and joins a session of which nothing is kept. A plant
//! that lives has these packets in memory. In a folder they are with those of the session that was
//! current, because every packet is kept there.
//! Bounds: packets of the last minute before the start of this plant, since a name may be used
//! again on another day; as many bytes as a receiver keeps of a waiting session.
//! Failure: a folder that cannot be read has no packets for another session.

use std::path::Path;

use nanotape_clock::UtcNanos;
use nanotape_feed::{
    session::{NextSession, PacketOrigin},
    time_of_packet,
};
use nanotape_journal::Start;
use nanotape_types::Alpha;

use super::{
    arriving,
    between::Waiting,
    keep::Input,
    replay::{Found, InputReader},
};

/// How old they may be when the plant starts, and how long it has then not had the session, in ns.
const MOST_AGE_NS: u64 = 60_000_000_000;

/// Their bytes.
const MOST_BYTES: usize = 16 << 20;

/// The packets of a session in the folders of others, received before `started_ns`. None if it has
/// not been on the lines since then, but later.
pub(super) fn packets_of(next: &NextSession<Alpha<10>>, keep: &Path, started_ns: u64) -> Waiting {
    let mut packets = Waiting::new();
    if next.first_ns.saturating_sub(started_ns) > MOST_AGE_NS {
        return packets;
    }
    let Ok(entries) = std::fs::read_dir(keep) else { return packets };
    for folder in entries.flatten().map(|entry| entry.path()) {
        for folder in [folder.join(arriving::FOLDER), folder] {
            add_packets(&mut packets, &next.session, &folder, started_ns);
        }
    }
    packets.sort_by_key(|(_, ts_recv_ns, _)| *ts_recv_ns);
    packets.dedup();
    packets
}

fn add_packets(packets: &mut Waiting, session: &Alpha<10>, folder: &Path, started_ns: u64) {
    let since = UtcNanos::new(started_ns.saturating_sub(MOST_AGE_NS) as i64);
    let Ok(mut reader) = InputReader::open(folder, Start::Time(since)) else { return };
    let mut room = MOST_BYTES;
    loop {
        match reader.advance() {
            Ok(Found::Input) => {}
            Ok(Found::Missing(_)) => continue,
            Ok(Found::Nothing) | Err(_) => return,
        }
        // The settings are no input.
        let Ok((at_ns, _, input)) = reader.input() else { continue };
        let Input::Packet { origin: PacketOrigin::Line(line), ts_recv_ns, bytes } = input else {
            continue;
        };
        if at_ns >= started_ns || bytes.len() > room {
            return;
        }
        // Heartbeats say nothing that the lines do not say now.
        if bytes.starts_with(session.as_bytes()) && time_of_packet(bytes).is_some() {
            room -= bytes.len();
            packets.push((line, ts_recv_ns, bytes.to_vec()));
        }
    }
}
