//! Integration tests of the past of a plant.

mod hostile;
mod runs;
mod states;
