//! `nanotape export` through `nanotape`: its files are read back, and compared with what other
//! commands print.

use nanotape_runner as support;

mod arrays;
mod changed_inputs;
mod failures;
mod many_days;
mod partitions;
mod read;
mod same_rows;
