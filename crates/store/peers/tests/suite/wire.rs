//! Connections of a simulated network: bytes in order, late, slow, or not at all.

use std::{collections::VecDeque, time::Duration};

use nanotape_harness::Random;
use nanotape_link::{Hello, Now, Peer, PeerConfig, Role};
use nanotape_peers::{PeerConnection, SERVICE};

/// Bytes on their way in one direction.
#[derive(Default)]
struct Wire {
    pieces: VecDeque<(u64, Vec<u8>)>,
    bytes: usize,
}

/// The bounds of a connection.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    /// A piece takes fewer steps.
    pub(crate) delay: u64,
    /// Bytes of a piece, at most; one piece is taken in each step.
    pub(crate) piece: usize,
    /// Bytes that are on their way, at most.
    pub(crate) most: usize,
}

/// A connection of two machines, by their indices.
pub(crate) struct Cable {
    pub(crate) machines: [usize; 2],
    pub(crate) sides: [PeerConnection; 2],
    wires: [Wire; 2],
    pub(crate) pace: Pace,
    /// Nothing arrives before this step.
    pub(crate) silent_until: u64,
}

impl Cable {
    pub(crate) fn new(machines: [usize; 2], nows: [Now; 2], pace: Pace, nonce: u64) -> Self {
        let side = |role, now, nonce| {
            let hello = Hello {
                service: SERVICE,
                session: 1,
                epoch: 0,
                nonce,
                heartbeat_ns: 3_600_000_000_000,
                most_payload: 2048,
                name: "node".to_owned(),
            };
            let patience = Duration::from_secs(360_000);
            PeerConnection::new(Peer::new(
                role,
                PeerConfig { hello, patience, outgoing_bytes: 6144 },
                now,
            ))
        };
        let sides =
            [side(Role::Connecting, nows[0], nonce), side(Role::Accepting, nows[1], !nonce)];
        Self { machines, sides, wires: Default::default(), pace, silent_until: 0 }
    }

    /// Moves bytes; returns how many were sent.
    pub(crate) fn pass(&mut self, step: u64, nows: [Now; 2], random: &mut Random) -> usize {
        let mut sent = 0;
        for from in 0..2 {
            let peer = self.sides[from].peer();
            let wire = &mut self.wires[from];
            let count = peer.outgoing().len().min(self.pace.piece);
            if count > 0 && wire.bytes < self.pace.most {
                let last = wire.pieces.back().map_or(0, |last| last.0);
                let due = last.max(step + random.below(self.pace.delay));
                wire.pieces.push_back((due, peer.outgoing()[..count].to_vec()));
                wire.bytes += count;
                peer.sent(count);
                sent += count;
            }
            let peer = self.sides[1 - from].peer();
            while step >= self.silent_until
                && let Some((due, piece)) = self.wires[from].pieces.front_mut()
                && *due <= step
            {
                let space = peer.space();
                let count = space.len().min(piece.len());
                space[..count].copy_from_slice(&piece[..count]);
                peer.arrived(count, nows[1 - from]);
                piece.drain(..count);
                self.wires[from].bytes -= count;
                if !piece.is_empty() {
                    break;
                }
                self.wires[from].pieces.pop_front();
            }
        }
        sent
    }
}
