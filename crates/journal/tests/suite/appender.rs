//! Appenders in real folders: who may append, how much, and what their threads do.

mod gated;
mod given_back;
mod helper;
mod limits;
mod modes;
mod moved;
mod one_at_a_time;
