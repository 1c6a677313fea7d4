//! The lines of a live session, and what to do about losses.

use std::{iter::repeat, net::IpAddr, path::PathBuf, str::FromStr, time::Duration};

use nanotape_feed::{
    session::{GapPolicy, Join, RequestSettings, SessionSettings, SnapshotSettings},
    soupbintcp::ClientOptions,
    udp::{UdpOptions, needs_scope},
};
use nanotape_types::Alpha;
use serde::{Deserialize, Deserializer, de};

use crate::{
    GroupAddress, Interface, ServerAddress,
    addresses::{address_if_there, interface_if_there, ip_if_there, servers},
    text::{duration, parsed, size},
};

/// Servers of one kind, at most.
const MOST_SERVERS: usize = 8;

/// How long a connection and a login may take, in ns.
const LOGIN_NS: u64 = 200_000_000;

/// A live session of MoldUDP64 packets.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LiveConfig {
    /// Line A: a multicast group, or an address of this machine.
    #[serde(deserialize_with = "address_if_there")]
    pub line_a: Option<GroupAddress>,
    /// Line B.
    #[serde(deserialize_with = "address_if_there")]
    pub line_b: Option<GroupAddress>,
    /// Line C.
    #[serde(deserialize_with = "address_if_there")]
    pub line_c: Option<GroupAddress>,
    /// Line D.
    #[serde(deserialize_with = "address_if_there")]
    pub line_d: Option<GroupAddress>,
    /// The interface on which groups are joined.
    #[serde(deserialize_with = "parsed")]
    pub interface: Interface,
    /// The interface of line B, if it is another one.
    #[serde(deserialize_with = "interface_if_there")]
    pub interface_b: Option<Interface>,
    /// The interface of line C, if it is another one.
    #[serde(deserialize_with = "interface_if_there")]
    pub interface_c: Option<Interface>,
    /// The interface of line D, if it is another one.
    #[serde(deserialize_with = "interface_if_there")]
    pub interface_d: Option<Interface>,
    /// The only sender of line A's group that is received (source-specific multicast).
    #[serde(deserialize_with = "ip_if_there")]
    pub source_a: Option<IpAddr>,
    /// The same for line B.
    #[serde(deserialize_with = "ip_if_there")]
    pub source_b: Option<IpAddr>,
    /// The same for line C.
    #[serde(deserialize_with = "ip_if_there")]
    pub source_c: Option<IpAddr>,
    /// The same for line D.
    #[serde(deserialize_with = "ip_if_there")]
    pub source_d: Option<IpAddr>,
    /// The re-request servers: the first one that answers gets the requests.
    #[serde(deserialize_with = "servers", alias = "request_server", alias = "request_servers")]
    pub rerequest: Vec<ServerAddress>,
    /// How long an answer of the re-request server may take.
    #[serde(deserialize_with = "duration", alias = "request_timeout")]
    pub rerequest_timeout: Duration,
    /// How often a request without an answer is repeated.
    #[serde(alias = "request_retries")]
    pub rerequest_retries: u32,
    /// The SoupBinTCP servers, which send many missing messages at once: the first one that has
    /// them.
    #[serde(deserialize_with = "servers")]
    pub soupbintcp: Vec<ServerAddress>,
    /// The username there, up to 6 characters.
    #[serde(deserialize_with = "short_text::<_, 6>")]
    pub soupbintcp_username: Alpha<6>,
    /// The password there, up to 10 characters.
    #[serde(deserialize_with = "short_text::<_, 10>")]
    pub soupbintcp_password: Alpha<10>,
    /// How long such a server may take for its next message.
    #[serde(deserialize_with = "duration")]
    pub soupbintcp_timeout: Duration,
    /// So many messages must be missing, unless there is no re-request server.
    pub soupbintcp_least: u64,
    /// The GLIMPSE servers: an attempt takes the first snapshot that one of them has.
    #[serde(deserialize_with = "servers", alias = "snapshot_server", alias = "snapshot_servers")]
    pub glimpse: Vec<ServerAddress>,
    /// The username at the GLIMPSE server, up to 6 characters.
    #[serde(deserialize_with = "short_text::<_, 6>", alias = "snapshot_username")]
    pub glimpse_username: Alpha<6>,
    /// The password at the GLIMPSE server, up to 10 characters.
    #[serde(deserialize_with = "short_text::<_, 10>", alias = "snapshot_password")]
    pub glimpse_password: Alpha<10>,
    /// How long a snapshot may take.
    #[serde(deserialize_with = "duration", alias = "snapshot_timeout")]
    pub glimpse_timeout: Duration,
    /// How often a snapshot is tried before the loss is accepted.
    #[serde(alias = "snapshot_attempts")]
    pub glimpse_attempts: u32,
    /// After an accepted loss, the time until the next try.
    #[serde(deserialize_with = "duration", alias = "snapshot_retry_after")]
    pub glimpse_retry_after: Duration,
    /// Where the session is joined if it has begun before.
    #[serde(deserialize_with = "parsed")]
    pub join: Join,
    /// How long a missing message is waited for before it is requested.
    #[serde(deserialize_with = "duration")]
    pub hold: Duration,
    /// Whether later messages are published while a gap is open.
    #[serde(deserialize_with = "parsed")]
    pub gap_policy: GapPolicy,
    /// The size of the kernel's receive buffer of each line to request.
    #[serde(deserialize_with = "size", rename = "buffer", alias = "buffer_bytes")]
    pub buffer_bytes: usize,
    /// How long the kernel polls the queue of the card for a line without a packet; zero: the
    /// setting of the machine.
    #[serde(deserialize_with = "duration")]
    pub busy_poll: Duration,
    /// Whose receive times records have.
    #[serde(deserialize_with = "parsed")]
    pub timestamps: Timestamps,
    /// Whether to wait for the next session when one has ended, and publish it too.
    pub follow: bool,
    /// Whether to poll the sockets without pause, which takes a processor of its own.
    pub spin: bool,
    /// The folder of the journal of every packet, or with `follow` that of the folders of all
    /// sessions; `None` keeps none.
    pub keep: Option<PathBuf>,
}

impl Default for LiveConfig {
    fn default() -> Self {
        Self {
            line_a: None,
            line_b: None,
            line_c: None,
            line_d: None,
            interface: Interface::Any,
            interface_b: None,
            interface_c: None,
            interface_d: None,
            source_a: None,
            source_b: None,
            source_c: None,
            source_d: None,
            rerequest: Vec::new(),
            rerequest_timeout: Duration::from_nanos(RequestSettings::default().timeout_ns),
            rerequest_retries: RequestSettings::default().retries,
            soupbintcp: Vec::new(),
            soupbintcp_username: Alpha::new([b' '; 6]),
            soupbintcp_password: Alpha::new([b' '; 10]),
            soupbintcp_timeout: Duration::from_secs(1),
            soupbintcp_least: 4_096,
            glimpse: Vec::new(),
            glimpse_username: Alpha::new([b' '; 6]),
            glimpse_password: Alpha::new([b' '; 10]),
            glimpse_timeout: Duration::from_nanos(SnapshotSettings::default().timeout_ns),
            glimpse_attempts: SnapshotSettings::default().attempts,
            glimpse_retry_after: Duration::from_nanos(SnapshotSettings::default().retry_after_ns),
            join: Join::Here,
            hold: Duration::from_millis(2),
            gap_policy: GapPolicy::Wait,
            buffer_bytes: 32 << 20,
            busy_poll: Duration::ZERO,
            timestamps: Timestamps::Software,
            follow: false,
            spin: false,
            keep: None,
        }
    }
}

/// Whose receive times records have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timestamps {
    /// Those of the kernel.
    Software,
    /// Those of the card, where they are near those of the kernel.
    Hardware,
}

impl FromStr for Timestamps {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "software" => Ok(Self::Software),
            "hardware" => Ok(Self::Hardware),
            _ => Err("expected software or hardware"),
        }
    }
}

/// A line: what is received, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineAddress {
    /// A multicast group, or an address of this machine.
    pub address: GroupAddress,
    /// The interface on which the group is joined.
    pub interface: Interface,
    /// The only sender of the group that is received, if any.
    pub sender: Option<IpAddr>,
}

/// When and how SoupBinTCP servers send missing messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BulkSettings {
    pub(crate) login: ClientOptions,
    /// So many messages must be missing.
    pub(crate) least_messages: u64,
    /// How long the next message may take, in ns.
    pub(crate) timeout_ns: u64,
}

/// Settings that contradict each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct SettingsError(pub(crate) &'static str);

impl LineAddress {
    fn is_group(&self) -> bool {
        self.address.ip().is_multicast()
    }

    /// Whether an address of one link is without its interface.
    fn lacks_interface(&self) -> bool {
        needs_scope(self.address.ip()) && self.interface == Interface::Any
    }

    /// Whether the kernel does not distinguish its packets from those of another line: it compares
    /// the interfaces of groups of IPv6 only where an address needs one.
    fn is_mixed_with(&self, other: &Self) -> bool {
        let ip = self.address.ip();
        self.address == other.address
            && self.sender == other.sender
            && self.is_group()
            && ip.is_ipv6()
            && !needs_scope(ip)
    }
}

impl LiveConfig {
    /// The addresses of the lines, the interfaces on which they are joined, and their senders.
    pub fn lines(&self) -> Vec<LineAddress> {
        let line = |address: &Option<GroupAddress>, own: Option<&Interface>, sender| {
            let address = address.clone()?;
            let interface = address.scope().or(own).unwrap_or(&self.interface).clone();
            Some(LineAddress { address, interface, sender })
        };
        let lines = [
            line(&self.line_a, None, self.source_a),
            line(&self.line_b, self.interface_b.as_ref(), self.source_b),
            line(&self.line_c, self.interface_c.as_ref(), self.source_c),
            line(&self.line_d, self.interface_d.as_ref(), self.source_d),
        ];
        lines.into_iter().flatten().collect()
    }

    /// Refuses settings that contradict each other.
    pub fn check(&self) -> Result<(), SettingsError> {
        let lines = self.lines();
        let pairs =
            (1..lines.len()).flat_map(|place| lines[..place].iter().zip(repeat(&lines[place])));
        let refused = if pairs.clone().any(|(a, b)| a.address.port() != 0 && a == b) {
            "two lines are the same: give each line its own address, or leave one out"
        } else if pairs.clone().any(|(a, b)| a.is_mixed_with(b)) {
            "two lines have one IPv6 group, whose interfaces the kernel does not distinguish: give \
             each line a group or a source of its own"
        } else if lines.iter().any(LineAddress::lacks_interface) {
            "a line has an address of one link, which needs its interface: write it as \
             [ff02::1%eth0]:5001, or give the interface"
        } else if lines.iter().any(|line| {
            line.sender.is_some_and(|sender| sender.is_ipv4() != line.address.ip().is_ipv4())
        }) {
            "a group and its source are addresses of one kind: both of IPv4 or both of IPv6"
        } else if lines.iter().any(|line| line.sender.is_some() && !line.is_group()) {
            "a source applies to a multicast group: leave it out for an address of this machine"
        } else if [&self.rerequest, &self.soupbintcp, &self.glimpse]
            .iter()
            .any(|servers| servers.len() > MOST_SERVERS)
        {
            "more than 8 servers of one kind"
        } else {
            return Ok(());
        };
        Err(SettingsError(refused))
    }

    /// Refuses one folder for several sessions.
    pub(crate) fn check_one_session(&self) -> Result<(), SettingsError> {
        if self.follow && self.keep.is_some() {
            return Err(SettingsError(
                "with follow each kept session has a folder of its own: the source is opened with \
                 `LiveSource::open_between`",
            ));
        }
        Ok(())
    }

    /// The settings of the session: a recovery without a server is left out.
    pub(crate) fn settings(&self) -> SessionSettings {
        // Without a re-request server the first answer needs a connection and a login.
        let least_ns = if self.rerequest.is_empty() { LOGIN_NS } else { 0 };
        let requests = RequestSettings {
            timeout_ns: nanos(self.rerequest_timeout).max(least_ns),
            retries: self.rerequest_retries,
            // Each SoupBinTCP server is tried before the messages are given up.
            budget_ns: RequestSettings::default().budget_ns.saturating_add(
                nanos(self.soupbintcp_timeout).saturating_mul(self.soupbintcp.len() as u64),
            ),
            ..RequestSettings::default()
        };
        let snapshots = SnapshotSettings {
            timeout_ns: nanos(self.glimpse_timeout),
            attempts: self.glimpse_attempts,
            retry_after_ns: nanos(self.glimpse_retry_after),
        };
        SessionSettings {
            lines: self.lines().len(),
            join: self.join,
            hold_ns: nanos(self.hold),
            gap_policy: self.gap_policy,
            requests: self.has_retransmissions().then_some(requests),
            snapshots: (!self.glimpse.is_empty()).then_some(snapshots),
            ..SessionSettings::default()
        }
    }

    /// The sizes and times of the sockets of the lines.
    pub(crate) fn line_options(&self) -> UdpOptions {
        let busy_poll_us = self.busy_poll.as_nanos().div_ceil(1_000);
        UdpOptions {
            buffer_bytes: self.buffer_bytes,
            busy_poll_us: u32::try_from(busy_poll_us).unwrap_or(u32::MAX),
            card_times: self.timestamps == Timestamps::Hardware,
            ..UdpOptions::default()
        }
    }

    /// Whether a server sends missing messages again.
    pub fn has_retransmissions(&self) -> bool {
        !self.rerequest.is_empty() || !self.soupbintcp.is_empty()
    }

    /// When and how SoupBinTCP servers send missing messages.
    pub(crate) fn bulk_settings(&self) -> BulkSettings {
        let (username, password) = (self.soupbintcp_username, self.soupbintcp_password);
        let least = if self.rerequest.is_empty() { 1 } else { self.soupbintcp_least };
        BulkSettings {
            login: ClientOptions { username, password, ..ClientOptions::default() },
            least_messages: least,
            timeout_ns: nanos(self.soupbintcp_timeout),
        }
    }

    /// The login at the GLIMPSE server.
    pub(crate) fn snapshot_login(&self) -> ClientOptions {
        let (username, password) = (self.glimpse_username, self.glimpse_password);
        ClientOptions { username, password, ..ClientOptions::default() }
    }
}

pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Text in a field of the protocol, padded on the right.
pub(crate) fn short_text<'de, D: Deserializer<'de>, const N: usize>(
    deserializer: D,
) -> Result<Alpha<N>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let mut padded = [b' '; N];
    match padded.get_mut(..text.len()) {
        Some(place) if text.bytes().all(|byte| byte.is_ascii_graphic()) => {
            place.copy_from_slice(text.as_bytes());
            Ok(Alpha::new(padded))
        }
        _ => Err(de::Error::custom(format!("expected up to {N} ASCII characters"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Why two lines on interfaces eth0 and eth1 are refused; an empty text if they are not.
    fn refused([a, b]: [&str; 2], [source_a, source_b]: [&str; 2]) -> String {
        let config = LiveConfig {
            line_a: a.parse().ok(),
            line_b: b.parse().ok(),
            interface: "eth0".parse().unwrap(),
            interface_b: "eth1".parse().ok(),
            source_a: source_a.parse().ok(),
            source_b: source_b.parse().ok(),
            ..LiveConfig::default()
        };
        assert_eq!(config.lines().len(), 2, "{a} {b}");
        config.check().err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn lines_that_the_kernel_does_not_distinguish_are_refused() {
        let same = "two lines are the same";
        let mixed = "two lines have one IPv6 group";
        for (lines, sources, expected) in [
            (["239.1.1.1:5001", "239.1.1.1:5001"], ["", ""], ""),
            (["[ff15::1]:5001", "[ff15::1]:5001"], ["", ""], mixed),
            (["[ff15::1]:5001", "[ff15::1]:5001"], ["2001:db8::1", "2001:db8::1"], mixed),
            (["[ff15::1]:5001", "[ff15::1]:5001"], ["2001:db8::1", "2001:db8::2"], ""),
            (["[ff15::1]:5001", "[ff15::1]:5002"], ["", ""], ""),
            (["[ff15::1]:5001", "[ff15::2]:5001"], ["", ""], ""),
            // A group of one link is bound to it.
            (["[ff12::1]:5001", "[ff12::1]:5001"], ["", ""], ""),
            (["[ff12::1%eth0]:5001", "[ff12::1%eth1]:5001"], ["", ""], ""),
            (["[ff12::1%eth2]:5001", "[ff12::1%eth2]:5001"], ["", ""], same),
            (["[ff15::1]:5001", "[ff15::2]:5001"], ["", "10.0.0.5"], "addresses of one kind"),
            (["239.1.1.1:5001", "[ff15::2]:5001"], ["10.0.0.5", "2001:db8::1"], ""),
            (["[::1]:5001", "[ff15::2]:5001"], ["2001:db8::1", ""], "a source applies to"),
        ] {
            let found = refused(lines, sources);
            assert!(found.contains(expected), "{lines:?}: {found}");
            assert_eq!(found.is_empty(), expected.is_empty(), "{lines:?}: {found}");
        }
    }

    #[test]
    fn an_address_of_one_link_has_its_own_interface_or_that_of_the_line() {
        let line_a: GroupAddress = "[ff02::1%eth7]:5001".parse().unwrap();
        let line_b: GroupAddress = "[ff02::1]:5001".parse().unwrap();
        let mut config = LiveConfig {
            line_a: Some(line_a),
            line_b: Some(line_b),
            interface: "eth0".parse().unwrap(),
            ..LiveConfig::default()
        };
        let interfaces = config.lines().into_iter().map(|line| line.interface.to_string());
        assert!(interfaces.eq(["eth7", "eth0"]));
        assert_eq!(config.check(), Ok(()));
        config.interface = Interface::Any;
        let error = config.check().unwrap_err().to_string();
        assert!(
            error.contains("write it as [ff02::1%eth0]:5001, or give the interface"),
            "{error}"
        );
    }
}
