//! Any bytes to one side of a link, and any messages to the leader of a journal: no panic, buffers
//! within their bounds, and a journal that stays as it is.
#![no_main]

mod side;

use std::{path::PathBuf, sync::OnceLock};

use libfuzzer_sys::fuzz_target;
use nanotape_journal::{Appender, AppenderOptions, Folder};
use nanotape_link::{Arrival, Now, Peer, Role};
use nanotape_replication::{FRAME_BYTES, LeaderLink, LeaderOptions, SERVICE};

use side::side;

fuzz_target!(|bytes: &[u8]| {
    let Some((&way, rest)) = bytes.split_first() else { return };
    if way % 2 == 0 { any_bytes(rest) } else { any_messages(rest) }
});

fn peer(role: Role) -> Peer {
    side(role, SERVICE, 1, FRAME_BYTES)
}

fn any_bytes(bytes: &[u8]) {
    let mut side = peer(Role::Accepting);
    let mut other = peer(Role::Connecting);
    let mut now = Now::default();
    if bytes.first().is_some_and(|first| first % 2 == 0) {
        other.pass_to(&mut side, now);
    }
    for piece in bytes.chunks(97) {
        now.monotonic_ns += 100_000_000;
        let space = side.space();
        let count = space.len().min(piece.len());
        space[..count].copy_from_slice(&piece[..count]);
        side.arrived(count, now);
        loop {
            match side.next(now) {
                Ok(Arrival::Nothing) => break,
                Ok(Arrival::Frame { payload, .. }) => assert!(payload.len() <= FRAME_BYTES),
                Ok(Arrival::Open(_)) => {}
                Err(_) => return,
            }
        }
        if side.tick(now).is_err() {
            return;
        }
        assert!(side.outgoing().len() <= 3 * FRAME_BYTES);
    }
}

/// A journal of a few segments, made once.
fn journal() -> &'static PathBuf {
    static JOURNAL: OnceLock<PathBuf> = OnceLock::new();
    JOURNAL.get_or_init(|| {
        let path = std::env::temp_dir().join(format!("nanotape-fuzz-{}", std::process::id()));
        let options = AppenderOptions {
            segment_bytes: 1 << 16,
            has_pretoucher: false,
            ..AppenderOptions::default()
        };
        let mut appender = Appender::open(&path, &options).expect("a journal can be made");
        for number in 0..500_u64 {
            appender.append(1, number, &[7; 200]).expect("it can be appended to");
        }
        path
    })
}

/// Each message begins with its kind and its length.
fn any_messages(bytes: &[u8]) {
    let disk = Folder::new(journal(), 0o600);
    let mut link = LeaderLink::new(disk, peer(Role::Accepting), LeaderOptions::default());
    let mut other = peer(Role::Connecting);
    let mut now = Now::default();
    let mut rest = bytes;
    for _ in 0..8 {
        now.monotonic_ns += 10_000_000;
        link.peer().pass_to(&mut other, now);
        other.pass_to(link.peer(), now);
        while let Ok(Arrival::Frame { .. } | Arrival::Open(_)) = other.next(now) {}
        if link.turn(now).is_err() {
            return;
        }
        assert!(link.peer().outgoing().len() <= 3 * FRAME_BYTES);
        let Some((&[kind, length], after)) = rest.split_first_chunk() else { return };
        let (payload, after) = after.split_at(usize::from(length).min(after.len()));
        rest = after;
        let _ = other.send(u16::from(kind % 8), &[payload]);
    }
}
