//! Tests of the simulated exchange, one module per subject.

mod campaign;
mod feeds;
mod glimpse;
mod sockets;
mod support;
