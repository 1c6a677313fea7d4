//! Loom models of both rings: under every reordering of the processor, a reader sees every message
//! once, in order and whole, or reports it as lost.
//!
//! Each model states the whole set of its outcomes, because loom also passes if it has not explored
//! the relevant case. And each memory ordering is removed in turn: some model must then have a
//! forbidden outcome.
//!
//! `cargo xtask loom` runs them; without `--cfg nanotape_loom` this file is empty.
#![cfg(nanotape_loom)]

#[path = "loom/mutations.rs"]
mod mutations;
#[path = "loom/outcomes.rs"]
mod outcomes;
#[path = "loom/slots.rs"]
mod slots;
#[path = "loom/stream.rs"]
mod stream;
#[path = "loom/take_over.rs"]
mod take_over;
