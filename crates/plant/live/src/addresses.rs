//! The addresses of lines, servers and interfaces, as a configuration and options have them.

use std::net::{Ipv4Addr, SocketAddrV4};

use serde::{Deserialize, Deserializer, de};

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

/// The address of an interface or of a sender: `10.0.0.5`.
pub fn parse_ip(text: &str) -> Result<Ipv4Addr, String> {
    text.parse().map_err(|_| format!("expected an IPv4 address, as in 10.0.0.5, not {text:?}"))
}

pub(super) fn address_if_there<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SocketAddrV4>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_address(&text).map(Some).map_err(de::Error::custom)
}

pub(super) fn ip<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Ipv4Addr, D::Error> {
    parse_ip(&String::deserialize(deserializer)?).map_err(de::Error::custom)
}

pub(super) fn ip_if_there<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Ipv4Addr>, D::Error> {
    ip(deserializer).map(Some)
}
