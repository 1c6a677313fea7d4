//! Integration tests of the past of a plant.

mod hostile;
mod mutations;
mod runs;
mod states;
