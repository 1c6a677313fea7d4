//! Framing of messages in files, packets and streams. It works on slices only: no file, no socket.

pub mod binary_file;
pub mod iextp;
pub mod moldudp64;
pub mod numbered;
pub mod pitch;
pub mod soupbintcp;
