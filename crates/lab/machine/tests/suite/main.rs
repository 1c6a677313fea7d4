//! Integration tests of the machine, in one program.

mod injected_causes;
mod injected_frequency;
mod injected_throttling;
mod instances;
