//! The `nanotape` command.
fn main() {}
