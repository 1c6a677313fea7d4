//! Rings between processes that are killed at every store, stopped, without permission, or busy.

mod children;
mod frozen;
mod killed_at_every_store;
mod permissions;
mod rings;
mod traffic;
