//! How messages stand in files, packets and streams. Slices in, slices out: no file, no socket.

pub mod binary_file;
pub mod moldudp64;
pub mod soupbintcp;
