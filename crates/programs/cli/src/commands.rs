//! The sub-commands, one file each: the arguments of the command, and its work.

pub(crate) mod audit;
pub(crate) mod book;
pub(crate) mod capture;
pub(crate) mod certificates;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod depth;
pub(crate) mod diff;
pub(crate) mod exchange;
pub(crate) mod inside;
pub(crate) mod inspect;
pub(crate) mod journal;
pub(crate) mod latest;
pub(crate) mod man;
mod messages;
pub(crate) mod replay;
pub(crate) mod ring;
pub(crate) mod run;
pub(crate) mod stat;
pub(crate) mod stats;
pub(crate) mod synth;
pub(crate) mod tap;
pub(crate) mod trace;
pub(crate) mod trades;
