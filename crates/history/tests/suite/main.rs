//! Integration tests of the past of a plant.

mod hostile;
mod states;
