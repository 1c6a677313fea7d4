//! One module a protocol, written by `cargo xtask gen`.

pub(crate) mod itch50;
