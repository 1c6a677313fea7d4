//! Sessions on simulated lines: what is delivered is what was sent, whatever the network does.

mod belief;
mod campaign;
mod network;
mod owner;
mod recovery;
mod restarts;
mod steps;
mod wrapping;
