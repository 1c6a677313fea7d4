//! Feeds of channels: simulated without a socket over many seeds, and on the loopback interface.

mod believed;
mod day;
mod exchange;
mod hostile;
mod iex;
mod refusals;
mod servers;
mod simulated;
mod sockets;
