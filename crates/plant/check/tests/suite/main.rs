//! Every rule of each feed: good days follow it, and a day that breaks it is detected.

mod days;
mod iex;
mod iex_deep;
mod iex_deep_plus;
mod itch;
mod made;
mod pitch;
