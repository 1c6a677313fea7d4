//! One side of a link, for targets that send anything to the other one.

use std::time::Duration;

use nanotape_link::{Hello, Now, Peer, PeerConfig, Role};

/// A side of a service whose frames have at most `frame_bytes`, with room for three of them.
pub fn side(role: Role, service: [u8; 8], epoch: u64, frame_bytes: usize) -> Peer {
    let hello = Hello {
        service,
        session: 1,
        epoch,
        nonce: 1,
        heartbeat_ns: 1_000_000_000,
        most_payload: frame_bytes as u32,
        name: "side".to_owned(),
    };
    let patience = Duration::from_secs(5);
    let config = PeerConfig { hello, patience, outgoing_bytes: 3 * frame_bytes };
    Peer::new(role, config, Now::default())
}
