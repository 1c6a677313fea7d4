//! The lines of a live session, and what to do about losses.

use std::{
    net::{Ipv4Addr, SocketAddrV4},
    str::FromStr,
    time::Duration,
};

use nanotape_feed::session::Join;
use serde::{Deserialize, Deserializer, de};

use super::{parse_bytes, parse_duration, parsed, parsed_if_there};

/// A live session of MoldUDP64 packets.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LiveConfig {
    /// Line A: a multicast group, or an address of this machine.
    #[serde(deserialize_with = "parsed_if_there")]
    pub line_a: Option<SocketAddrV4>,
    /// Line B.
    #[serde(deserialize_with = "parsed_if_there")]
    pub line_b: Option<SocketAddrV4>,
    /// The address of the interface on which groups are joined.
    #[serde(deserialize_with = "parsed")]
    pub interface: Ipv4Addr,
    /// The interface of line B, if it is another one.
    #[serde(deserialize_with = "parsed_if_there")]
    pub interface_b: Option<Ipv4Addr>,
    /// The re-request server.
    #[serde(deserialize_with = "parsed_if_there")]
    pub request_server: Option<SocketAddrV4>,
    /// Where the session is joined if it has begun before.
    #[serde(deserialize_with = "parsed")]
    pub join: JoinChoice,
    /// How long a missing message is waited for before it is requested.
    #[serde(deserialize_with = "duration")]
    pub hold: Duration,
    /// The size of the kernel's receive buffer of each line to request.
    #[serde(deserialize_with = "size")]
    pub buffer_bytes: usize,
    /// Whether to poll the sockets without pause, which takes a processor of its own.
    pub spin: bool,
}

/// Where a session is joined that has begun before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinChoice {
    /// With the first packet that arrives.
    Here,
    /// With message 1, from the re-request server.
    Start,
}

impl Default for LiveConfig {
    fn default() -> Self {
        Self {
            line_a: None,
            line_b: None,
            interface: Ipv4Addr::UNSPECIFIED,
            interface_b: None,
            request_server: None,
            join: JoinChoice::Here,
            hold: Duration::from_millis(2),
            buffer_bytes: 32 << 20,
            spin: false,
        }
    }
}

impl LiveConfig {
    /// The addresses of the lines, and the interfaces on which they are joined.
    pub fn lines(&self) -> Vec<(SocketAddrV4, Ipv4Addr)> {
        let interface_b = self.interface_b.unwrap_or(self.interface);
        let lines = [(self.line_a, self.interface), (self.line_b, interface_b)];
        lines.into_iter().filter_map(|(line, interface)| Some((line?, interface))).collect()
    }
}

impl From<JoinChoice> for Join {
    fn from(choice: JoinChoice) -> Self {
        match choice {
            JoinChoice::Here => Self::Here,
            JoinChoice::Start => Self::Start,
        }
    }
}

impl FromStr for JoinChoice {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "here" => Ok(Self::Here),
            "start" => Ok(Self::Start),
            _ => Err("expected here or start"),
        }
    }
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    parse_duration(&String::deserialize(deserializer)?).map_err(de::Error::custom)
}

fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    parse_bytes(&String::deserialize(deserializer)?).map_err(de::Error::custom)
}
