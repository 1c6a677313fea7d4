//! The address of an interface that is given by its name: groups are joined by addresses.

use std::{io, net::Ipv4Addr};

use nix::ifaddrs::getifaddrs;

/// The first IPv4 address of the interface with this name.
pub fn address_of_interface(name: &str) -> io::Result<Ipv4Addr> {
    let mut all = getifaddrs()?;
    let mut is_there = false;
    let address = all.find_map(|of| {
        let is_wanted = of.interface_name == name;
        is_there |= is_wanted;
        of.address.filter(|_| is_wanted)?.as_sockaddr_in().map(|address| address.ip())
    });
    address.ok_or_else(|| {
        let what = if is_there { "it has no IPv4 address" } else { "there is no such interface" };
        io::Error::new(io::ErrorKind::NotFound, what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_has_its_address_and_another_name_has_none() {
        assert_eq!(address_of_interface("lo").unwrap(), Ipv4Addr::LOCALHOST);
        let error = address_of_interface("none-of-it").unwrap_err();
        assert_eq!(error.to_string(), "there is no such interface");
    }
}
