//! The protocols for tests, written by `cargo xtask gen` from `schema/testing/`.

#[rustfmt::skip]
pub mod parcels;
#[rustfmt::skip]
pub mod toy;
