//! `--group`: the destinations of a capture that a command reads.

use anyhow::bail;
use clap::Args;
use nanotape_feed::{DaySource, Group};

/// The choice of groups.
#[derive(Args, Clone, Debug, Default)]
pub struct GroupArguments {
    /// Read only datagrams of a capture to this destination, with or without a port; can be
    /// repeated [default: the destinations of the first MoldUDP64 session]
    #[arg(help_heading = "Input", long = "group", value_name = "IP[:PORT]")]
    pub groups: Vec<Group>,
}

impl GroupArguments {
    /// Whether any group is chosen.
    pub fn is_any(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Chooses the groups of a source, which is a capture if there are any.
    pub fn choose(&self, source: &mut DaySource) -> anyhow::Result<()> {
        source.choose_groups(&self.groups);
        Ok(source.check_groups()?)
    }

    /// Refuses groups for an input that is no capture.
    pub fn require_none(&self, name: &str, is: &str) -> anyhow::Result<()> {
        if self.is_any() {
            bail!("{name}: --group applies to captures (pcap, pcapng), and this is {is}");
        }
        Ok(())
    }
}
