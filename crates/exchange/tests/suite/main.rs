//! Tests of the simulated exchange, one module per subject.

mod glimpse;
mod sockets;
mod support;
