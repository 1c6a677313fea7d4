//! Appenders in real folders: permission to append, limits, and the work of their threads.

mod gated;
mod given_back;
mod limits;
mod modes;
mod moved;
mod one_at_a_time;
mod pretoucher;
