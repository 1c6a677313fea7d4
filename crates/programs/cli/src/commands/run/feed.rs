//! The options of a live feed of channels, in the order of a configuration.

use clap::Args;
use nanotape_live::{ChannelFeed, GroupAddress, ServerAddress, SpinServer};
use nanotape_plant::{PlantConfig, config::InputConfig};

#[derive(Args, Debug)]
#[command(next_help_heading = "Live feed of channels")]
pub(super) struct FeedArguments {
    /// Receive a feed whose channels number their messages each for itself: cboe-pitch, iex-deep or
    /// iex-deep-plus. The logins and times are in [input.channels] of a configuration
    #[arg(long, value_name = "FEED", conflicts_with_all = ["input", "live"])]
    feed: Option<ChannelFeed>,

    /// Address of line A: a multicast group, or an address of this machine; given again, that of
    /// other units
    #[arg(long, value_name = "IP:PORT", requires = "feed")]
    feed_line_a: Vec<GroupAddress>,

    /// Address of line B, which carries the same messages
    #[arg(long, value_name = "IP:PORT", requires = "feed_line_a")]
    feed_line_b: Vec<GroupAddress>,

    /// Gap Request Proxy of Cboe, which sends missing messages again
    #[arg(long, value_name = "HOST:PORT", requires = "feed")]
    gap_server: Option<ServerAddress>,

    /// Address on which its answers come; given again, that of other units
    #[arg(long, value_name = "IP:PORT", requires = "gap_server")]
    gap_answers: Vec<GroupAddress>,

    /// Spin server of a unit, which sends an image of its books; given again, that of another unit
    #[arg(long, value_name = "UNIT=HOST:PORT", requires = "feed")]
    spin_server: Vec<SpinServer>,
}

impl FeedArguments {
    /// Overrides the feed of the configuration. Another input on the command line replaces it.
    pub(super) fn override_input(&self, has_other: bool, input: &mut InputConfig) {
        if has_other {
            input.channels = None;
        }
        let Some(feed) = self.feed else { return };
        input.live = None;
        let channels = input.channels.get_or_insert_default();
        channels.feed = Some(feed);
        for (addresses, given) in [
            (&mut channels.line_a, &self.feed_line_a),
            (&mut channels.line_b, &self.feed_line_b),
            (&mut channels.gap_answers, &self.gap_answers),
        ] {
            if !given.is_empty() {
                addresses.clone_from(given);
            }
        }
        if self.gap_server.is_some() {
            channels.gap_server.clone_from(&self.gap_server);
        }
        if !self.spin_server.is_empty() {
            channels.spin_servers.clone_from(&self.spin_server);
        }
    }
}

/// Refuses a feed without a line, or with settings that contradict each other.
pub(super) fn require_feed(config: &PlantConfig) -> anyhow::Result<()> {
    if let Some(channels) = &config.input.channels {
        channels.check()?;
        if config.input.live.is_some() {
            anyhow::bail!("a plant has one input: [input.live] or [input.channels], not both");
        }
    }
    Ok(())
}
