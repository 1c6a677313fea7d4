//! `nanotape tap` as a user runs it: a plant in one process, taps in others.
//!
//! A plant that is to be killed is this program once more, with the test `child` chosen and a ring
//! in its environment.

mod days;
mod ends;
mod formats;
mod losses;
mod plants;
