//! Journals with processes that are killed at random and before every store, and on a full disk.
//!
//! A child is this program again, with the test `child` selected and a role in its environment.
//! `NANOTAPE_CAMPAIGN=20` runs twenty times as many kills.

mod children;
mod full_disk;
mod killed_at_every_store;
mod killed_at_random;
mod killed_while_reusing;
mod records;
mod recovery_time;
