//! Interfaces for tests, written by `cargo xtask gen` from `schema/testing`.

#[rustfmt::skip]
pub(crate) mod fills;
#[rustfmt::skip]
pub(crate) mod greetings_1;
#[rustfmt::skip]
pub(crate) mod greetings_2;
