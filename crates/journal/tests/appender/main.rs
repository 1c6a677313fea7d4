//! Appenders in real folders: who may append, how much, and what their threads do.
#![cfg(not(nanotape_loom))]

mod gated;
mod helper;
mod limits;
mod modes;
mod moved;
mod one_at_a_time;
#[path = "../../../testkit/place.rs"]
mod place;
