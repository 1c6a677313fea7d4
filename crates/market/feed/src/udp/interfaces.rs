//! The number of an interface, by its name or an address: groups are joined by numbers.

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use nix::{ifaddrs::getifaddrs, net::if_::if_nametoindex, sys::socket::SockaddrStorage};

/// The number of the interface with this name.
pub fn interface_of_name(name: &str) -> io::Result<u32> {
    if_nametoindex(name).map_err(|_| not_found("there is no such interface"))
}

/// The number of the first interface with this address.
pub fn interface_of_address(address: IpAddr) -> io::Result<u32> {
    let mut all = getifaddrs()?;
    let found = all.find(|of| of.address.and_then(ip_of) == Some(address));
    let found = found.ok_or_else(|| not_found("no interface has this address"))?;
    interface_of_name(&found.interface_name)
}

fn ip_of(address: SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
    v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
}

fn not_found(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, what)
}

/// Whether an address is one of many links, so that it needs the number of an interface beside it:
/// of IPv6, link-local addresses, and groups of an interface or a link.
pub fn needs_scope(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(_) => false,
        // The lower half of the second byte of a group is its scope: 1 interface, 2 link.
        IpAddr::V6(ip) => match ip.octets() {
            [0xFF, second, ..] => matches!(second & 0xF, 1 | 2),
            _ => ip.is_unicast_link_local(),
        },
    }
}

/// An address with the number of its interface, if it needs one.
pub(super) fn with_scope(address: SocketAddr, interface: u32) -> SocketAddr {
    match address {
        SocketAddr::V6(mut of) if needs_scope(address.ip()) && of.scope_id() == 0 => {
            of.set_scope_id(interface);
            of.into()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    #[test]
    fn an_interface_is_found_by_its_name_and_its_addresses() {
        let lo = interface_of_name("lo").unwrap();
        assert_eq!(interface_of_address(Ipv4Addr::LOCALHOST.into()).unwrap(), lo);
        let error = interface_of_name("none-of-it").unwrap_err();
        assert_eq!(error.to_string(), "there is no such interface");
        let error = interface_of_address(Ipv6Addr::UNSPECIFIED.into()).unwrap_err();
        assert_eq!(error.to_string(), "no interface has this address");
    }

    #[test]
    fn only_addresses_of_one_link_need_a_scope() {
        for (address, expected) in [
            ("239.1.1.1", false),
            ("169.254.0.1", false),
            ("::1", false),
            ("2001:db8::1", false),
            ("fe80::1", true),
            ("febf::1", true),
            ("fec0::1", false),
            ("ff01::1", true),
            ("ff02::1", true),
            ("ff12::1", true),
            ("ff15::1", false),
            ("ff3e::8000:1", false),
        ] {
            assert_eq!(needs_scope(address.parse().unwrap()), expected, "{address}");
        }
        let scoped =
            |text: &str, interface| with_scope(text.parse().unwrap(), interface).to_string();
        assert_eq!(scoped("[fe80::1]:9", 3), "[fe80::1%3]:9");
        assert_eq!(scoped("[fe80::1%4]:9", 3), "[fe80::1%4]:9");
        assert_eq!(scoped("[ff15::1]:9", 3), "[ff15::1]:9");
        assert_eq!(scoped("239.1.1.1:9", 3), "239.1.1.1:9");
    }
}
