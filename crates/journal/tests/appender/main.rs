//! Appenders in real folders: who may append, how much, and what their threads do.
#![cfg(not(nanotape_loom))]

#[macro_use]
#[path = "../../../testkit/forward_disk.rs"]
mod forward_disk;

mod gated;
mod given_back;
mod helper;
mod limits;
mod modes;
mod moved;
mod one_at_a_time;
#[path = "../../../testkit/place.rs"]
mod place;
