//! The options of the memory of a ring or map that a command creates.

use clap::Args;
use nanotape_shm::RegionOptions;

use crate::values::mode;

#[derive(Args, Debug)]
pub(crate) struct MemoryArguments {
    /// Permissions of the file: 0600 is this user only, 0644 lets all users read
    #[arg(long, value_name = "OCTAL", default_value = "0600", value_parser = mode)]
    mode: u32,

    /// Lock its pages in memory
    #[arg(long)]
    lock: bool,

    /// Use huge pages if available
    #[arg(long)]
    huge_pages: bool,
}

impl MemoryArguments {
    /// The options of the region.
    pub(crate) fn options(&self) -> RegionOptions {
        let Self { mode, lock, huge_pages } = *self;
        RegionOptions { mode, lock, huge_pages, ..RegionOptions::default() }
    }
}
