//! Tests of nodes on a simulated network.

#![allow(missing_docs, reason = "tests")]

mod campaign;
mod cluster;
mod damage;
mod hostile;
mod machine;
mod pair;
mod sockets;
mod threads;
mod wire;
