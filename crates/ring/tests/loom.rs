//! Loom models of both rings: under every reordering of the processor, a reader sees every message
//! once, in order and whole, or reports it as lost.
//!
//! Each model states the whole set of its outcomes, because loom is green too when it has not
//! explored the case that matters. And each promise of order is taken away in turn: some model must
//! then see what it does not allow.
//!
//! `cargo xtask loom` runs them; without `--cfg nanotape_loom` there is nothing here.
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
