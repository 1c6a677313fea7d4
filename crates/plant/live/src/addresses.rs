//! The addresses of lines, servers and interfaces, as a configuration and options have them.

use std::{
    fmt, io,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4, ToSocketAddrs as _},
    str::FromStr,
};

use nanotape_feed::udp::address_of_interface;
use serde::{Deserialize, Deserializer, de};

/// The longest name of an interface: the kernel has no longer ones.
const LONGEST_INTERFACE: usize = 15;

/// An IPv4 address and a port: `239.1.1.1:5001`.
pub fn parse_address(text: &str) -> Result<SocketAddrV4, String> {
    let address = text.parse::<SocketAddrV4>().ok().filter(|address| address.port() != 0);
    address.ok_or_else(|| {
        let found = match text.parse::<Ipv4Addr>() {
            Ok(_) => format!(", not {text} without a port"),
            Err(_) => String::new(),
        };
        format!("expected an IPv4 address and a port, as in 239.1.1.1:5001{found}")
    })
}

/// The address of a sender: `10.0.0.5`.
pub fn parse_ip(text: &str) -> Result<Ipv4Addr, String> {
    text.parse().map_err(|_| format!("expected an IPv4 address, as in 10.0.0.5, not {text:?}"))
}

/// A server of re-requests or of snapshots: an IPv4 address or a host name, with a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerAddress {
    host: String,
    port: u16,
}

impl ServerAddress {
    /// The address now. A host name is looked up, which can take seconds.
    pub(crate) fn resolve(&self) -> io::Result<SocketAddrV4> {
        let mut all = (self.host.as_str(), self.port).to_socket_addrs()?;
        let usable = all.find_map(|address| match address {
            SocketAddr::V4(address) if is_host(*address.ip()) => Some(address),
            _ => None,
        });
        usable.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no IPv4 address of one host"))
    }

    /// Whether its address can change.
    pub(crate) fn is_name(&self) -> bool {
        self.host.parse::<Ipv4Addr>().is_err()
    }
}

/// Whether an address is that of one host.
fn is_host(ip: Ipv4Addr) -> bool {
    !ip.is_multicast() && !ip.is_broadcast() && !ip.is_unspecified()
}

impl FromStr for ServerAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected an IPv4 address or a host name, and a port, as in 10.0.0.9:17777";
        let without = || format!("{expected}, not {text} without a port");
        let (host, port) = text.rsplit_once(':').ok_or_else(without)?;
        let port = port.parse().ok().filter(|&port| port != 0).ok_or(expected)?;
        match host.parse::<Ipv4Addr>() {
            Ok(ip) if is_host(ip) => {}
            Ok(_) => return Err(format!("{text}: a server is one host, and not a group")),
            Err(_) if is_name(host) => {}
            Err(_) => return Err(expected.to_owned()),
        }
        Ok(Self { host: host.to_owned(), port })
    }
}

/// Whether a text can be the name of a host or of an interface. Digits and dots alone are an
/// address with a mistake.
fn is_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    text.bytes().all(is_allowed) && text.bytes().any(|byte| byte.is_ascii_alphabetic())
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// The interface on which a group is joined.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Interface {
    /// The choice of the kernel.
    #[default]
    Any,
    /// The interface with this address.
    Address(Ipv4Addr),
    /// The interface with this name.
    Name(String),
}

impl Interface {
    /// Its address; unspecified for the choice of the kernel.
    pub(crate) fn address(&self) -> io::Result<Ipv4Addr> {
        match self {
            Self::Any => Ok(Ipv4Addr::UNSPECIFIED),
            Self::Address(address) => Ok(*address),
            Self::Name(name) => address_of_interface(name),
        }
    }
}

impl FromStr for Interface {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<Ipv4Addr>() {
            Ok(address) if address.is_unspecified() => Ok(Self::Any),
            Ok(address) => Ok(Self::Address(address)),
            Err(_) if is_name(text) && text.len() <= LONGEST_INTERFACE => {
                Ok(Self::Name(text.to_owned()))
            }
            Err(_) => Err(format!(
                "expected an IPv4 address or the name of an interface, as in 10.0.0.5 or eth0, \
                 not {text:?}"
            )),
        }
    }
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("0.0.0.0"),
            Self::Address(address) => address.fmt(f),
            Self::Name(name) => f.write_str(name),
        }
    }
}

pub(super) fn address_if_there<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SocketAddrV4>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_address(&text).map(Some).map_err(de::Error::custom)
}

pub(super) fn ip_if_there<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Ipv4Addr>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_ip(&text).map(Some).map_err(de::Error::custom)
}

pub(super) fn interface_if_there<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Interface>, D::Error> {
    crate::text::parsed(deserializer).map(Some)
}

/// One server, or a list of them.
pub(super) fn servers<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<ServerAddress>, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "expected a server such as \"10.0.0.9:17777\", or a list of them"
    )]
    enum Servers {
        One(String),
        Several(Vec<String>),
    }
    let texts = match Servers::deserialize(deserializer)? {
        Servers::One(text) => vec![text],
        Servers::Several(texts) => texts,
    };
    texts.iter().map(|text| text.parse().map_err(de::Error::custom)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_host_by_address_or_name_and_has_a_port() {
        for text in ["10.0.0.9:17777", "mold.example.com:1", "host-2:65535"] {
            assert_eq!(text.parse::<ServerAddress>().unwrap().to_string(), text);
        }
        for (text, expected) in [
            ("10.0.0.9", "not 10.0.0.9 without a port"),
            ("10.0.0:1", "expected an IPv4 address or a host name"),
            ("host:0", "expected an IPv4 address or a host name"),
            (":1", "expected an IPv4 address or a host name"),
            ("a b:1", "expected an IPv4 address or a host name"),
            ("239.1.1.1:17777", "a server is one host, and not a group"),
            ("255.255.255.255:1", "a server is one host"),
            ("0.0.0.0:1", "a server is one host"),
        ] {
            let error = text.parse::<ServerAddress>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let local: ServerAddress = "localhost:7".parse().unwrap();
        assert!(local.is_name());
        assert_eq!(local.resolve().unwrap(), SocketAddrV4::new(Ipv4Addr::LOCALHOST, 7));
    }

    #[test]
    fn an_interface_has_an_address_or_a_name() {
        let parsed = |text: &str| text.parse::<Interface>();
        assert_eq!(parsed("0.0.0.0"), Ok(Interface::Any));
        assert_eq!(parsed("10.0.0.5"), Ok(Interface::Address(Ipv4Addr::new(10, 0, 0, 5))));
        assert_eq!(parsed("enp3s0f0.100"), Ok(Interface::Name("enp3s0f0.100".to_owned())));
        assert_eq!(parsed("lo").unwrap().address().unwrap(), Ipv4Addr::LOCALHOST);
        for text in ["10.0.0", "", "a/b", "an-interface-with-a-long-name"] {
            assert!(parsed(text).unwrap_err().contains("10.0.0.5 or eth0"), "{text}");
        }
    }
}
