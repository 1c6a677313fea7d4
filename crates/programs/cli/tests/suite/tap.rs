//! `nanotape tap` as a user runs it: a plant in one process, taps in others.
//!
//! A plant that a test kills is this test program, started again with the test `child` selected and
//! a ring in its environment.

mod days;
mod ends;
mod formats;
mod inputs;
mod journals;
mod losses;
mod missing;
pub(crate) mod plants;
mod rolls;
