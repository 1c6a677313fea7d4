//! What `journal serve` and `journal replicate` share: options of a link, and errors.

use std::{path::PathBuf, time::Duration};

use anyhow::bail;
use clap::{Args, ValueEnum};
use nanotape_link::Identity;
use nanotape_replication::LinkPace;

use crate::{
    status::{BadData, warn},
    values::{mode, seconds, some_duration},
};

/// How a thread waits.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Wait {
    /// On a processor of its own
    Spin,
    /// And yields the processor meanwhile, for more threads than processors
    Yield,
    /// Until something arrives
    Sleep,
}

/// The options of a link.
#[derive(Args, Clone, Debug)]
pub(super) struct LinkArguments {
    /// Folder with ca.pem, NAME.pem and NAME.key, as `nanotape certificates` makes it
    #[arg(long, value_name = "FOLDER", required_unless_present = "plain")]
    certificates: Option<PathBuf>,

    /// No TLS: every process that can connect reads the journal, or writes the copy
    #[arg(long, conflicts_with = "certificates")]
    plain: bool,

    /// How a thread waits: spin takes a processor for each connection, and is the fastest; yield
    /// gives it away whenever another thread can use it
    #[arg(long, value_enum, value_name = "HOW", default_value = "sleep")]
    wait: Wait,

    /// How often each side sends something; a side that is silent for five of these is gone
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = some_duration)]
    heartbeat: Duration,

    /// How long a connection may take until the other side has stated who it is
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = seconds)]
    patience: Duration,

    /// Permissions of new files: 0600 is this user only, 0644 lets all users read
    #[arg(long, value_name = "OCTAL", default_value = "0600", value_parser = mode)]
    pub(super) mode: u32,
}

/// The options as the library takes them.
pub(super) struct LinkOptions {
    pub(super) identity: Option<Identity>,
    pub(super) pace: LinkPace,
    pub(super) heartbeat: Duration,
    pub(super) patience: Duration,
}

impl LinkArguments {
    /// Reads the certificates of a side. Its thread sleeps for `nap` at most.
    pub(super) fn options(&self, name: &str, nap: Duration) -> anyhow::Result<LinkOptions> {
        let most = Duration::from_secs(3_600);
        if self.heartbeat < Duration::from_millis(1) || self.heartbeat > most {
            bail!("--heartbeat: expected 1ms to 1h");
        }
        let identity = match &self.certificates {
            Some(folder) => Some(Identity::read(folder, name)?),
            None => {
                warn("no TLS (--plain): use this only on a network of your own");
                None
            }
        };
        Ok(LinkOptions {
            identity,
            pace: match self.wait {
                Wait::Spin => LinkPace::Spin,
                Wait::Yield => LinkPace::Yield,
                Wait::Sleep => LinkPace::Sleep(nap),
            },
            heartbeat: self.heartbeat,
            patience: self.patience,
        })
    }
}

/// An error of bad data: it has status 1.
pub(super) fn bad(error: impl std::fmt::Display) -> anyhow::Error {
    BadData(error.to_string()).into()
}
