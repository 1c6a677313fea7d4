//! One module per protocol, written by `cargo xtask gen`.

pub(crate) mod iextp;
pub(crate) mod itch50;
pub(crate) mod moldudp64;
pub(crate) mod soupbintcp;
