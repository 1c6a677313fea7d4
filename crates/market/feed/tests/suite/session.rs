//! Sessions on simulated lines: what is delivered is what was sent, whatever the network does.

mod campaign;
mod network;
mod owner;
mod recovery;
