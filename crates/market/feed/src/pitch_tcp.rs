//! The servers of PITCH on TCP, seen from a client, without a socket: the Gap Request Proxy, which
//! sends messages again, and the spin server of a unit, which sends an image.
//!
//! Where: a live source owns the connections, and passes bytes and the time.

mod proxy;
mod spin;
mod stream;

pub use proxy::{ProxyEvent, ProxySession, RefusedFor, gap_status};
pub use spin::{SpinEnd, SpinExchange};
pub use stream::{GapLogin, HEARTBEAT_NS, PitchClosed, SILENCE_NS};
