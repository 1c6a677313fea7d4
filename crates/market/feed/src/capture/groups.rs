//! Destinations of datagrams in a capture: those that a reader chooses, and those that it leaves.
//!
//! Bounds: [`MOST_DESTINATIONS`] destinations are listed; further ones are counted together.

use std::{
    fmt,
    net::{Ipv4Addr, SocketAddrV4},
    str::FromStr,
};

use crate::carried::Carried;

/// Destinations that a [`Destinations`] lists.
pub const MOST_DESTINATIONS: usize = 64;

/// The destination of the datagrams of a feed: a multicast group or the address of one machine,
/// with one port or with all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    ip: Ipv4Addr,
    /// `None`: every port.
    port: Option<u16>,
}

impl Group {
    /// Whether datagrams to this destination are those of the group.
    #[inline]
    pub fn contains(&self, destination: SocketAddrV4) -> bool {
        self.ip == *destination.ip() && self.port.is_none_or(|port| port == destination.port())
    }
}

impl FromStr for Group {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let address = text.parse::<SocketAddrV4>();
        let with_port = address.map(|at| Self { ip: *at.ip(), port: Some(at.port()) });
        with_port.or_else(|_| text.parse().map(|ip| Self { ip, port: None })).map_err(
            |_| "expected an IPv4 address with or without a port, as in 233.54.12.111:26477",
        )
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => SocketAddrV4::new(self.ip, port).fmt(f),
            None => self.ip.fmt(f),
        }
    }
}

/// Whether datagrams to `destination` are chosen by `groups`; without groups, all are.
pub(super) fn is_chosen(groups: &[Group], destination: SocketAddrV4) -> bool {
    groups.is_empty() || groups.iter().any(|group| group.contains(destination))
}

/// Datagrams to one destination that were not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Destination {
    /// The destination.
    pub address: SocketAddrV4,
    /// The datagrams.
    pub datagrams: u64,
    /// The session of the first datagram that had one.
    pub session: Option<Carried>,
}

/// Datagrams that were not read, by destination in the order of their first datagrams.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Destinations {
    listed: Vec<Destination>,
    datagrams: u64,
}

impl Destinations {
    /// The destinations, the first [`MOST_DESTINATIONS`] of them.
    pub fn listed(&self) -> &[Destination] {
        &self.listed
    }

    /// Datagrams to all destinations, also to those that are not listed.
    pub fn datagrams(&self) -> u64 {
        self.datagrams
    }

    /// Counts datagrams to destinations that are not listed.
    pub(super) fn add_unlisted(&mut self, datagrams: u64) {
        self.datagrams += datagrams;
    }

    /// Counts a datagram, and returns its destination; `None` if there is no room to list it.
    pub fn count(&mut self, address: SocketAddrV4) -> Option<&mut Destination> {
        self.add(address, 1)
    }

    /// Counts datagrams to the same destination.
    pub(super) fn add(
        &mut self,
        address: SocketAddrV4,
        datagrams: u64,
    ) -> Option<&mut Destination> {
        self.datagrams += datagrams;
        let index = match self.listed.iter().position(|listed| listed.address == address) {
            None if self.listed.len() == MOST_DESTINATIONS => return None,
            None => {
                self.listed.push(Destination { address, datagrams: 0, session: None });
                self.listed.len() - 1
            }
            Some(index) => index,
        };
        let destination = self.listed.get_mut(index)?;
        destination.datagrams += datagrams;
        Some(destination)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_group_without_a_port_has_every_port() {
        let group: Group = "233.54.12.111:26477".parse().unwrap();
        assert_eq!(group.to_string(), "233.54.12.111:26477");
        assert!(group.contains("233.54.12.111:26477".parse().unwrap()));
        assert!(!group.contains("233.54.12.111:26478".parse().unwrap()));
        let groups = ["10.0.0.1".parse().unwrap(), group];
        assert_eq!(groups[0].to_string(), "10.0.0.1");
        assert!(is_chosen(&groups, "10.0.0.1:9".parse().unwrap()));
        assert!(!is_chosen(&groups, "10.0.0.2:9".parse().unwrap()));
        assert!(is_chosen(&[], "10.0.0.2:9".parse().unwrap()));
        for text in ["", "233.54.12", "233.54.12.111:", "[::1]:5", "host:5", "1.2.3.4:70000"] {
            assert!(text.parse::<Group>().is_err(), "{text}");
        }
    }

    #[test]
    fn destinations_after_the_last_listed_one_are_counted_together() {
        let mut destinations = Destinations::default();
        for round in 0..2 {
            for index in 0..MOST_DESTINATIONS as u16 + 3 {
                let at = SocketAddrV4::new(Ipv4Addr::LOCALHOST, index);
                let counted = destinations.count(at).map(|listed| listed.datagrams);
                let expected = usize::from(index) < MOST_DESTINATIONS;
                assert_eq!(counted, expected.then_some(round + 1));
            }
        }
        assert_eq!(destinations.listed().len(), MOST_DESTINATIONS);
        assert_eq!(destinations.datagrams(), 2 * (MOST_DESTINATIONS as u64 + 3));
    }
}
