//! Why an exchange cannot be opened, or ended early.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
};

use nanotape_feed::SourceError;

use crate::HistoryError;

/// Why an exchange cannot be opened, or ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// A server cannot listen.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// Its address.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
    /// Each unit has a port of its own, and there are not enough.
    #[error("{address}: {units} units need as many ports from this one on")]
    Ports {
        /// The address of the first unit.
        address: SocketAddr,
        /// The number of units.
        units: u16,
    },
    /// The socket of the lines cannot be prepared.
    #[error("interface {interface}: cannot {operation}: {source}")]
    Socket {
        /// The operation that failed.
        operation: &'static str,
        /// The interface of multicast packets.
        interface: Ipv4Addr,
        /// The cause.
        source: io::Error,
    },
    /// A capture cannot be written.
    #[error(transparent)]
    Capture(io::Error),
    /// A thread cannot be started.
    #[error("cannot start the thread {name}: {source}")]
    Thread {
        /// Its name.
        name: &'static str,
        /// The cause.
        source: io::Error,
    },
    /// The day cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The messages cannot be kept for the servers.
    #[error(transparent)]
    History(#[from] HistoryError),
}

impl ExchangeError {
    pub(super) fn bind(address: SocketAddr) -> impl Fn(io::Error) -> Self {
        move |source| Self::Bind { address, source }
    }
}
