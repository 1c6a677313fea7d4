//! One file a sub-command: its arguments, and what it does.

pub(crate) mod book;
pub(crate) mod check;
pub(crate) mod demo;
pub(crate) mod depth;
pub(crate) mod inside;
pub(crate) mod inspect;
pub(crate) mod stats;
pub(crate) mod synth;

/// Live orders that books make room for at the start. A full day peaks at two million; the store
/// doubles, once, if it must.
const ORDERS: usize = 1 << 20;
