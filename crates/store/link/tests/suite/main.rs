//! Tests of the link: both sides on a simulated network, and peers that do not keep to the
//! protocol.

#![allow(missing_docs, reason = "tests")]

mod hostile;
mod network;
