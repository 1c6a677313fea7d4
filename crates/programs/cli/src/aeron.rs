//! Aeron in this program, or the error that says how to get it.
//!
//! Where: below the commands of a ring and of a tap. The feature `aeron` compiles the C code of
//! Aeron. Without it the commands are there, and end with the command that builds it, so that
//! help, completions and manual pages are the same.

use std::path::PathBuf;

use clap::Args;
use nanotape_aeron::{AeronAddress, Inlet, Outlet};

/// Which media driver is used.
#[derive(Args, Clone, Default, Debug)]
pub(crate) struct DriverArguments {
    /// Run Aeron's media driver in a thread of this process
    #[arg(help_heading = "Aeron", long)]
    pub(crate) embedded_driver: bool,

    /// Let that thread poll without a pause: lowest latency, uses a whole processor
    #[arg(help_heading = "Aeron", long, requires = "embedded_driver")]
    pub(crate) spin_driver: bool,

    /// Folder of the media driver [default: that of Aeron; with --embedded-driver, one of its own]
    #[arg(help_heading = "Aeron", long, value_name = "DIR")]
    pub(crate) aeron_dir: Option<PathBuf>,
}

impl DriverArguments {
    /// Whether a driver is chosen.
    pub(crate) fn is_given(&self) -> bool {
        self.embedded_driver || self.aeron_dir.is_some()
    }
}

#[cfg(feature = "aeron")]
mod engine {
    use std::path::PathBuf;

    use nanotape_aeron::{DriverChoice, DriverPace, MediaClient, Publication, Subscription};

    use super::{AeronAddress, DriverArguments};

    impl DriverArguments {
        fn pace(&self) -> DriverPace {
            if self.spin_driver { DriverPace::Spin } else { DriverPace::Sleep }
        }
    }

    fn connect(driver: &DriverArguments) -> anyhow::Result<MediaClient> {
        let dir = driver.aeron_dir.clone();
        let choice = match driver.embedded_driver {
            true => DriverChoice::Embedded { dir, pace: driver.pace() },
            false => DriverChoice::Running(dir),
        };
        Ok(MediaClient::connect(&choice)?)
    }

    pub(super) fn publication(
        driver: &DriverArguments,
        address: &AeronAddress,
    ) -> anyhow::Result<(Publication, PathBuf)> {
        let client = connect(driver)?;
        let dir = client.dir().to_owned();
        let publication = Publication::add(client, address);
        Ok((publication.map_err(|error| anyhow::anyhow!("{address}: {error}"))?, dir))
    }

    pub(super) fn subscription(
        driver: &DriverArguments,
        address: &AeronAddress,
    ) -> anyhow::Result<Subscription> {
        let subscription = Subscription::add(connect(driver)?, address);
        subscription.map_err(|error| anyhow::anyhow!("{address}: {error}"))
    }
}

#[cfg(not(feature = "aeron"))]
mod engine {
    use std::{convert::Infallible, path::PathBuf};

    use nanotape_aeron::{Inlet, Offered, Outlet};

    use super::{AeronAddress, DriverArguments};

    /// No value of it exists.
    #[derive(Debug)]
    pub(super) enum Absent {}

    impl Outlet for Absent {
        type Error = Infallible;

        fn offer(&mut self, _batch: &[u8]) -> Result<Offered, Infallible> {
            match *self {}
        }

        fn usual_bytes(&self) -> usize {
            match *self {}
        }

        fn most_bytes(&self) -> usize {
            match *self {}
        }
    }

    impl Inlet for Absent {
        type Error = Infallible;

        fn poll(&mut self, _take: impl FnMut(&[u8])) -> Result<bool, Infallible> {
            match *self {}
        }

        fn is_connected(&self) -> bool {
            match *self {}
        }

        fn check(&mut self) -> Result<(), Infallible> {
            match *self {}
        }
    }

    const HOW: &str = "this nanotape was built without the feature aeron: build it with cargo \
                       install --locked --path crates/programs/cli --features aeron";

    pub(super) fn publication(
        _driver: &DriverArguments,
        address: &AeronAddress,
    ) -> anyhow::Result<(Absent, PathBuf)> {
        anyhow::bail!("{address}: {HOW}")
    }

    pub(super) fn subscription(
        _driver: &DriverArguments,
        address: &AeronAddress,
    ) -> anyhow::Result<Absent> {
        anyhow::bail!("{address}: {HOW}")
    }
}

/// A publication at this address, and the folder of its media driver.
pub(crate) fn publication(
    driver: &DriverArguments,
    address: &AeronAddress,
) -> anyhow::Result<(impl Outlet<Error: std::error::Error> + use<>, PathBuf)> {
    engine::publication(driver, address)
}

/// A subscription at this address.
pub(crate) fn subscription(
    driver: &DriverArguments,
    address: &AeronAddress,
) -> anyhow::Result<impl Inlet<Error: std::error::Error + Send + Sync + 'static> + use<>> {
    engine::subscription(driver, address)
}
