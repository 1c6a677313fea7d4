//! The protocol for tests, written by `cargo xtask gen` from `schema/testing/toy.toml`.

#[rustfmt::skip]
pub mod toy;
