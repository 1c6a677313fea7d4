//! Tests of replication over sockets: real files, threads and processes.
//!
//! The campaign on simulated disks and networks is in the tests of `journal`.

#![allow(missing_docs, reason = "tests")]

mod commits;
mod hostile;
mod killed;
mod polled;
mod running;
mod sockets;
mod terms;
