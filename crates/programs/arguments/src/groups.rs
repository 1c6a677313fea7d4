//! `--group`: the destinations of a capture that a command reads.

use clap::Args;
use nanotape_feed::Group;

/// The choice of groups.
#[derive(Args, Clone, Debug, Default)]
pub struct GroupArguments {
    /// Read only datagrams of a capture to this destination, with or without a port; can be
    /// repeated [default: the destinations of the first MoldUDP64 session]
    #[arg(help_heading = "Input", long = "group", value_name = "IP[:PORT]")]
    pub groups: Vec<Group>,
}
