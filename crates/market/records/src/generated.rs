//! The interface of notices, written by `cargo xtask gen` from `schema/notices.toml`.

#[rustfmt::skip]
pub(crate) mod notices;
