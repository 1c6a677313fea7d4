//! The lines of a live session, and what to do about losses.

use std::{
    net::{Ipv4Addr, SocketAddrV4},
    path::PathBuf,
    str::FromStr,
    time::Duration,
};

use nanotape_feed::{
    session::{Join, RequestSettings, SessionSettings, SnapshotSettings},
    soupbintcp::ClientOptions,
    udp::UdpAddress,
};
use nanotape_types::Alpha;
use serde::{Deserialize, Deserializer, de};

use crate::{
    addresses::{address_if_there, ip, ip_if_there},
    text::{duration, parsed, size},
};

/// A live session of MoldUDP64 packets.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LiveConfig {
    /// Line A: a multicast group, or an address of this machine.
    #[serde(deserialize_with = "address_if_there")]
    pub line_a: Option<SocketAddrV4>,
    /// Line B.
    #[serde(deserialize_with = "address_if_there")]
    pub line_b: Option<SocketAddrV4>,
    /// The address of the interface on which groups are joined.
    #[serde(deserialize_with = "ip")]
    pub interface: Ipv4Addr,
    /// The interface of line B, if it is another one.
    #[serde(deserialize_with = "ip_if_there")]
    pub interface_b: Option<Ipv4Addr>,
    /// The only sender of line A's group that is received (source-specific multicast).
    #[serde(deserialize_with = "ip_if_there")]
    pub source_a: Option<Ipv4Addr>,
    /// The same for line B.
    #[serde(deserialize_with = "ip_if_there")]
    pub source_b: Option<Ipv4Addr>,
    /// The re-request server.
    #[serde(deserialize_with = "address_if_there", alias = "request_server")]
    pub rerequest: Option<SocketAddrV4>,
    /// How long an answer of the re-request server may take.
    #[serde(deserialize_with = "duration", alias = "request_timeout")]
    pub rerequest_timeout: Duration,
    /// How often a request without an answer is repeated.
    #[serde(alias = "request_retries")]
    pub rerequest_retries: u32,
    /// The GLIMPSE server.
    #[serde(deserialize_with = "address_if_there", alias = "snapshot_server")]
    pub glimpse: Option<SocketAddrV4>,
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
    pub join: JoinChoice,
    /// How long a missing message is waited for before it is requested.
    #[serde(deserialize_with = "duration")]
    pub hold: Duration,
    /// The size of the kernel's receive buffer of each line to request.
    #[serde(deserialize_with = "size", rename = "buffer", alias = "buffer_bytes")]
    pub buffer_bytes: usize,
    /// Whether to poll the sockets without pause, which takes a processor of its own.
    pub spin: bool,
    /// The folder of the journal of every packet; `None` keeps none.
    pub keep: Option<PathBuf>,
}

/// Where a session is joined that has begun before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinChoice {
    /// With the first packet that arrives.
    Here,
    /// With message 1, from the re-request server.
    Start,
    /// With a snapshot from the GLIMPSE server.
    Snapshot,
}

impl Default for LiveConfig {
    fn default() -> Self {
        Self {
            line_a: None,
            line_b: None,
            interface: Ipv4Addr::UNSPECIFIED,
            interface_b: None,
            source_a: None,
            source_b: None,
            rerequest: None,
            rerequest_timeout: Duration::from_nanos(RequestSettings::default().timeout_ns),
            rerequest_retries: RequestSettings::default().retries,
            glimpse: None,
            glimpse_username: Alpha::new([b' '; 6]),
            glimpse_password: Alpha::new([b' '; 10]),
            glimpse_timeout: Duration::from_nanos(SnapshotSettings::default().timeout_ns),
            glimpse_attempts: SnapshotSettings::default().attempts,
            glimpse_retry_after: Duration::from_nanos(SnapshotSettings::default().retry_after_ns),
            join: JoinChoice::Here,
            hold: Duration::from_millis(2),
            buffer_bytes: 32 << 20,
            spin: false,
            keep: None,
        }
    }
}

impl LiveConfig {
    /// The addresses of the lines, the interfaces on which they are joined, and their senders.
    pub fn lines(&self) -> Vec<UdpAddress> {
        let interface_b = self.interface_b.unwrap_or(self.interface);
        let line = |address: Option<_>, interface, sender| {
            address.map(|address| UdpAddress { address, interface, sender })
        };
        let a = line(self.line_a, self.interface, self.source_a);
        let b = line(self.line_b, interface_b, self.source_b);
        [a, b].into_iter().flatten().collect()
    }

    /// The settings of the session: a recovery without a server is left out.
    pub(crate) fn settings(&self) -> SessionSettings {
        let requests = RequestSettings {
            timeout_ns: nanos(self.rerequest_timeout),
            retries: self.rerequest_retries,
            ..RequestSettings::default()
        };
        let snapshots = SnapshotSettings {
            timeout_ns: nanos(self.glimpse_timeout),
            attempts: self.glimpse_attempts,
            retry_after_ns: nanos(self.glimpse_retry_after),
        };
        SessionSettings {
            lines: self.lines().len(),
            join: self.join.into(),
            hold_ns: nanos(self.hold),
            requests: self.rerequest.map(|_| requests),
            snapshots: self.glimpse.map(|_| snapshots),
            ..SessionSettings::default()
        }
    }

    /// The login at the GLIMPSE server.
    pub(crate) fn snapshot_login(&self) -> ClientOptions {
        let (username, password) = (self.glimpse_username, self.glimpse_password);
        ClientOptions { username, password, ..ClientOptions::default() }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl From<JoinChoice> for Join {
    fn from(choice: JoinChoice) -> Self {
        match choice {
            JoinChoice::Here => Self::Here,
            JoinChoice::Start => Self::Start,
            JoinChoice::Snapshot => Self::Snapshot,
        }
    }
}

impl FromStr for JoinChoice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "here" => Ok(Self::Here),
            "start" => Ok(Self::Start),
            "snapshot" => Ok(Self::Snapshot),
            _ => Err("expected here, start or snapshot"),
        }
    }
}

/// Text in a field of the protocol, padded on the right.
fn short_text<'de, D: Deserializer<'de>, const N: usize>(
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
