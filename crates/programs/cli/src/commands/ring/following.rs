//! How commands that pass messages on follow their source: its pauses and its writers.

use std::time::Duration;

use clap::Args;
use nanotape_tape::WaitStrategy;

use crate::values::duration;

#[derive(Args, Debug)]
pub(super) struct FollowArguments {
    /// Poll without a pause: lowest latency, uses a whole processor
    #[arg(long)]
    spin: bool,

    /// Sleep for DURATION between two polls without a message [default: 1ms, after some spinning]
    #[arg(long, value_name = "DURATION", value_parser = duration, conflicts_with = "spin")]
    sleep: Option<Duration>,

    /// When the writer of the source ends, continue with the next one
    #[arg(long)]
    pub(super) through_restarts: bool,
}

impl FollowArguments {
    /// `None`: as other followers.
    pub(super) fn strategy(&self) -> Option<WaitStrategy> {
        if self.spin { Some(WaitStrategy::Spin) } else { self.sleep.map(WaitStrategy::Sleep) }
    }
}
