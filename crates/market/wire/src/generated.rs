//! One module per protocol, written by `cargo xtask gen`.

pub(crate) mod iex_common;
pub(crate) mod iex_deep;
pub(crate) mod iex_deep_plus;
pub(crate) mod iex_tops;
pub(crate) mod iextp;
pub(crate) mod itch50;
pub(crate) mod moldudp64;
pub(crate) mod pitch;
pub(crate) mod pitch_tcp;
pub(crate) mod soupbintcp;
