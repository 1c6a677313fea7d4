//! The addresses of lines, servers and interfaces, as a configuration and options have them.

use std::{
    fmt, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs as _},
    str::FromStr,
};

use nanotape_feed::udp::{interface_of_address, interface_of_name, needs_scope};
use serde::{Deserialize, Deserializer, de};

/// The longest name of an interface: the kernel has no longer ones.
const LONGEST_INTERFACE: usize = 15;

/// The address of a sender: `10.0.0.5`.
pub fn parse_ip(text: &str) -> Result<IpAddr, String> {
    let ip = text.parse().ok().filter(|&ip| is_usual(ip));
    ip.ok_or_else(|| format!("expected an IP address, as in 10.0.0.5 or 2001:db8::5, not {text:?}"))
}

/// Whether an address is in its usual form: one of IPv4 is not written as one of IPv6.
fn is_usual(ip: IpAddr) -> bool {
    ip.to_canonical() == ip
}

/// An address and a port: `239.1.1.1:5001`, `[ff15::1]:5001`, or with the interface of an address
/// of one link, `[ff02::1%eth0]:5001`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupAddress {
    ip: ScopedIp,
    port: u16,
}

impl GroupAddress {
    /// The address without its interface.
    pub fn ip(&self) -> IpAddr {
        self.ip.ip
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its interface, if it has one.
    pub fn scope(&self) -> Option<&Interface> {
        self.ip.scope.as_ref()
    }

    /// The address and the port, without its interface.
    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::new(self.ip.ip, self.port)
    }
}

impl From<SocketAddr> for GroupAddress {
    fn from(address: SocketAddr) -> Self {
        let scope = match address {
            SocketAddr::V6(of) if of.scope_id() != 0 => Some(Interface::Number(of.scope_id())),
            _ => None,
        };
        Self { ip: ScopedIp { ip: address.ip(), scope }, port: address.port() }
    }
}

impl FromStr for GroupAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            let found = match text.parse::<ScopedIp>() {
                Ok(_) => format!(", not {text} without a port"),
                Err(_) => String::new(),
            };
            format!("expected an address and a port, as in 239.1.1.1:5001 or [ff15::1]:5001{found}")
        };
        let (host, port) = host_and_port(text).ok_or_else(expected)?;
        Ok(Self { ip: host.parse().map_err(|()| expected())?, port })
    }
}

impl fmt::Display for GroupAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.ip, self.port)
    }
}

/// An address, and the interface of one that needs it. An address of IPv6 is in brackets.
#[derive(Clone, PartialEq, Eq, Debug)]
struct ScopedIp {
    ip: IpAddr,
    scope: Option<Interface>,
}

impl FromStr for ScopedIp {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let Some(inside) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
            // Without brackets the colon before the port would be one more of the address.
            let ip: Ipv4Addr = text.parse().map_err(drop)?;
            return Ok(Self { ip: ip.into(), scope: None });
        };
        let (ip, scope) = match inside.split_once('%') {
            Some((ip, scope)) => (ip, Some(scope_of(scope)?)),
            None => (inside, None),
        };
        let ip = IpAddr::V6(ip.parse::<Ipv6Addr>().map_err(drop)?);
        let is_meant = is_usual(ip) && (scope.is_none() || needs_scope(ip));
        if is_meant { Ok(Self { ip, scope }) } else { Err(()) }
    }
}

/// The interface after the percent sign of an address.
fn scope_of(text: &str) -> Result<Interface, ()> {
    if let Ok(number) = text.parse::<u32>() {
        return if number == 0 { Err(()) } else { Ok(Interface::Number(number)) };
    }
    if is_interface(text) { Ok(Interface::Name(text.to_owned())) } else { Err(()) }
}

impl fmt::Display for ScopedIp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.ip, &self.scope) {
            (IpAddr::V4(ip), _) => ip.fmt(f),
            (IpAddr::V6(ip), None) => write!(f, "[{ip}]"),
            (IpAddr::V6(ip), Some(scope)) => write!(f, "[{ip}%{scope}]"),
        }
    }
}

/// What is before the last colon, and the port after it.
fn host_and_port(text: &str) -> Option<(&str, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    let port = port.parse().ok().filter(|&port| port != 0)?;
    Some((host, port))
}

/// A server of re-requests or of snapshots: an address or a host name, with a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerAddress {
    host: Host,
    port: u16,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Host {
    Address(ScopedIp),
    Name(String),
}

impl ServerAddress {
    /// The address now. A host name is looked up, which can take seconds. Of the addresses of a
    /// name the first one of IPv4 is used, and without one the first one of IPv6.
    pub(crate) fn resolve(&self) -> io::Result<SocketAddr> {
        let name = match &self.host {
            Host::Address(ScopedIp { ip: IpAddr::V6(ip), scope: Some(scope) }) => {
                let scope_id = scope.number()?;
                return Ok(SocketAddrV6::new(*ip, self.port, 0, scope_id).into());
            }
            Host::Address(of) => return Ok(SocketAddr::new(of.ip, self.port)),
            Host::Name(name) => name,
        };
        let all = (name.as_str(), self.port).to_socket_addrs()?;
        let usable: Vec<SocketAddr> = all.filter(|address| is_host(address.ip())).collect();
        let chosen = usable.iter().find(|address| address.is_ipv4()).or(usable.first());
        let none = || io::Error::new(io::ErrorKind::NotFound, "no address of one host");
        chosen.copied().ok_or_else(none)
    }

    /// Whether its address can change: that of a name, and the number of an interface.
    pub(crate) fn can_change(&self) -> bool {
        match &self.host {
            Host::Address(of) => of.scope.is_some(),
            Host::Name(_) => true,
        }
    }
}

/// Whether an address is that of one host.
fn is_host(ip: IpAddr) -> bool {
    let is_broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
    !ip.is_multicast() && !is_broadcast && !ip.is_unspecified()
}

impl FromStr for ServerAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected an IP address or a host name, and a port, as in 10.0.0.9:17777";
        let (host, port) = match host_and_port(text) {
            Some((host, port)) => (host, port),
            None if text.contains(':') && !text.ends_with(']') => return Err(expected.to_owned()),
            None => return Err(format!("{expected}, not {text} without a port")),
        };
        let host = match host.parse::<ScopedIp>() {
            Ok(of) if !is_host(of.ip) => {
                return Err(format!("{text}: a server is one host, and not a group"));
            }
            Ok(of) if needs_scope(of.ip) && of.scope.is_none() => {
                return Err(format!(
                    "{text}: is an address of one link and needs its interface, as in \
                     [fe80::9%eth0]:17777"
                ));
            }
            Ok(of) => Host::Address(of),
            Err(()) if is_name(host) => Host::Name(host.to_owned()),
            Err(()) => return Err(expected.to_owned()),
        };
        Ok(Self { host, port })
    }
}

/// Whether a text can be the name of a host or of an interface. Digits and dots alone are an
/// address with a mistake.
fn is_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    text.bytes().all(is_allowed) && text.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Whether a text can be the name of an interface.
fn is_interface(text: &str) -> bool {
    is_name(text) && text.len() <= LONGEST_INTERFACE
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Address(of) => write!(f, "{of}:{}", self.port),
            Host::Name(name) => write!(f, "{name}:{}", self.port),
        }
    }
}

/// The interface on which a group is joined.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Interface {
    /// The choice of the kernel.
    #[default]
    Any,
    /// The interface with this address.
    Address(IpAddr),
    /// The interface with this name.
    Name(String),
    /// The interface with this number.
    Number(u32),
}

impl Interface {
    /// Its number; 0 for the choice of the kernel.
    pub(crate) fn number(&self) -> io::Result<u32> {
        match self {
            Self::Any => Ok(0),
            Self::Address(address) => interface_of_address(*address),
            Self::Name(name) => interface_of_name(name),
            Self::Number(number) => Ok(*number),
        }
    }
}

impl FromStr for Interface {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<IpAddr>() {
            Ok(address) if address.is_unspecified() => Ok(Self::Any),
            Ok(address) if needs_scope(address) => Err(format!(
                "{text}: interfaces can share an address of one link: use the name, as in eth0"
            )),
            Ok(address) if is_usual(address) => Ok(Self::Address(address)),
            Err(_) if is_interface(text) => Ok(Self::Name(text.to_owned())),
            _ => Err(format!(
                "expected an IP address or the name of an interface, as in 10.0.0.5 or eth0, not \
                 {text:?}"
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
            Self::Number(number) => number.fmt(f),
        }
    }
}

pub(super) fn address_if_there<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<GroupAddress>, D::Error> {
    crate::text::parsed(deserializer).map(Some)
}

pub(super) fn ip_if_there<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<IpAddr>, D::Error> {
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
        for text in [
            "10.0.0.9:17777",
            "mold.example.com:1",
            "host-2:65535",
            "[2001:db8::9]:17777",
            "[fe80::9%eth0]:17777",
            "[fe80::9%2]:17777",
        ] {
            assert_eq!(text.parse::<ServerAddress>().unwrap().to_string(), text);
        }
        let expected = "expected an IP address or a host name";
        for (text, expected) in [
            ("10.0.0.9", "not 10.0.0.9 without a port"),
            ("[2001:db8::9]", "not [2001:db8::9] without a port"),
            ("2001:db8::9:17777", expected),
            ("10.0.0:1", expected),
            ("host:0", expected),
            (":1", expected),
            ("a b:1", expected),
            ("[::ffff:10.0.0.9]:1", expected),
            ("[2001:db8::9%eth0]:1", expected),
            ("[10.0.0.9]:1", expected),
            ("[fe80::9%]:1", expected),
            ("[fe80::9%0]:1", expected),
            ("[fe80::9]:1", "an address of one link and needs its interface"),
            ("239.1.1.1:17777", "a server is one host, and not a group"),
            ("[ff15::1]:17777", "a server is one host, and not a group"),
            ("255.255.255.255:1", "a server is one host"),
            ("0.0.0.0:1", "a server is one host"),
            ("[::]:1", "a server is one host"),
        ] {
            let error = text.parse::<ServerAddress>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let local: ServerAddress = "localhost:7".parse().unwrap();
        assert!(local.can_change());
        // A name with addresses of both kinds has that of IPv4.
        assert_eq!(local.resolve().unwrap(), SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 7));
        let resolved = |text: &str| text.parse::<ServerAddress>().unwrap().resolve();
        assert_eq!(resolved("[::1]:7").unwrap().to_string(), "[::1]:7");
        let lo = interface_of_name("lo").unwrap();
        assert_eq!(resolved("[fe80::9%lo]:7").unwrap().to_string(), format!("[fe80::9%{lo}]:7"));
        let error = resolved("[fe80::9%none-of-it]:7").unwrap_err();
        assert_eq!(error.to_string(), "there is no such interface");
    }

    #[test]
    fn a_group_has_an_address_a_port_and_where_it_is_needed_an_interface() {
        for (text, scope) in [
            ("239.1.1.1:5001", None),
            ("[ff15::1]:5001", None),
            ("[ff02::1]:5001", None),
            ("[ff02::1%eth0]:5001", Some(Interface::Name("eth0".to_owned()))),
            ("[fe80::1%3]:5001", Some(Interface::Number(3))),
        ] {
            let group: GroupAddress = text.parse().unwrap();
            assert_eq!((group.to_string().as_str(), group.scope()), (text, scope.as_ref()));
        }
        for (text, found) in [
            ("239.1.1.1", ", not 239.1.1.1 without a port"),
            ("[ff15::1]", ", not [ff15::1] without a port"),
            ("239.1.1.1:0", ""),
            ("ff15::1:5001", ""),
            ("[ff15::1%eth0]:5001", ""),
            ("[ff02::1%a b]:5001", ""),
            ("[::ffff:239.1.1.1]:5001", ""),
            ("host:5001", ""),
        ] {
            let expected = "expected an address and a port, as in 239.1.1.1:5001 or [ff15::1]:5001";
            let error = text.parse::<GroupAddress>().unwrap_err();
            assert_eq!(error, format!("{expected}{found}"), "{text}");
        }
        let scoped: SocketAddr = "[fe80::1%3]:5001".parse().unwrap();
        assert_eq!(GroupAddress::from(scoped).to_string(), "[fe80::1%3]:5001");
    }

    #[test]
    fn an_interface_has_an_address_or_a_name() {
        let parsed = |text: &str| text.parse::<Interface>();
        assert_eq!(parsed("0.0.0.0"), Ok(Interface::Any));
        assert_eq!(parsed("::"), Ok(Interface::Any));
        let address = |text: &str| Ok(Interface::Address(text.parse().unwrap()));
        assert_eq!(parsed("10.0.0.5"), address("10.0.0.5"));
        assert_eq!(parsed("2001:db8::5"), address("2001:db8::5"));
        assert_eq!(parsed("enp3s0f0.100"), Ok(Interface::Name("enp3s0f0.100".to_owned())));
        let lo = interface_of_name("lo").unwrap();
        assert_eq!(parsed("lo").unwrap().number().unwrap(), lo);
        assert_eq!(parsed("127.0.0.1").unwrap().number().unwrap(), lo);
        for text in ["10.0.0", "", "a/b", "an-interface-with-a-long-name", "::ffff:10.0.0.5", "3"] {
            assert!(parsed(text).unwrap_err().contains("10.0.0.5 or eth0"), "{text}");
        }
        assert!(parsed("fe80::1").unwrap_err().contains("use the name, as in eth0"));
    }

    #[test]
    fn a_sender_has_an_address() {
        for text in ["10.0.0.5", "2001:db8::5"] {
            assert_eq!(parse_ip(text).unwrap().to_string(), text);
        }
        for text in ["eth0", "::ffff:10.0.0.5", "10.0.0.5:1"] {
            let error = parse_ip(text).unwrap_err();
            assert!(error.starts_with("expected an IP address, as in 10.0.0.5 or"), "{error}");
        }
    }
}
