//! Values for tests, written by `cargo xtask gen` from `schema/testing`.

#[rustfmt::skip]
pub(crate) mod quote_1;
#[rustfmt::skip]
pub(crate) mod quote_2;
