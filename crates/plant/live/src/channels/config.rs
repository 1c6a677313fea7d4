//! The lines and servers of a feed of channels, and what to do about losses.

use std::{str::FromStr, time::Duration};

use nanotape_feed::{
    Feed,
    pitch_tcp::GapLogin,
    session::{Join, MAX_LINES, RequestSettings, SessionSettings, SnapshotSettings},
    udp::{UdpOptions, needs_scope},
};
use serde::{Deserialize, Deserializer, de};

use super::set::SetSettings;
use crate::{
    GroupAddress, Interface, LineAddress, ServerAddress, SettingsError,
    config::{nanos, short_text},
    text::{duration, parsed, size},
};

/// Addresses of a line, at most: one for each unit.
const MOST_ADDRESSES: usize = 64;

/// Spin servers, at most.
const MOST_SERVERS: usize = 256;

/// Memory of a channel for messages behind a gap: numbers, and bytes.
const AHEAD: (usize, usize) = (1 << 18, 16 << 20);

/// A feed that is received live, in channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChannelFeed {
    /// Cboe US Equities PITCH: a channel for each matching unit.
    CboePitch,
    /// IEX DEEP 1.0.
    IexDeep,
    /// IEX DEEP+ 1.0.
    IexDeepPlus,
}

impl ChannelFeed {
    /// The feed, as it is decoded.
    pub fn feed(self) -> Feed {
        match self {
            Self::CboePitch => Feed::Pitch,
            Self::IexDeep => Feed::IexDeep,
            Self::IexDeepPlus => Feed::IexDeepPlus,
        }
    }
}

impl FromStr for ChannelFeed {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "cboe-pitch" => Ok(Self::CboePitch),
            "iex-deep" => Ok(Self::IexDeep),
            "iex-deep-plus" => Ok(Self::IexDeepPlus),
            _ => Err("expected cboe-pitch, iex-deep or iex-deep-plus"),
        }
    }
}

/// The spin server of a unit: `1=10.0.0.9:30501`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpinServer {
    /// The unit, from 1.
    pub unit: u8,
    /// Its address.
    pub address: ServerAddress,
}

impl FromStr for SpinServer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "expected a unit from 1 to 255 and its server, as in 1=10.0.0.9:30501, not {text}"
            )
        };
        let (unit, address) = text.split_once('=').ok_or_else(expected)?;
        let unit = unit.trim().parse().ok().filter(|unit| *unit > 0).ok_or_else(expected)?;
        Ok(Self { unit, address: address.trim().parse()? })
    }
}

/// A feed of channels that is received live.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChannelsConfig {
    /// The feed.
    #[serde(deserialize_with = "feed_if_there")]
    pub feed: Option<ChannelFeed>,
    /// Line A: multicast groups, or addresses of this machine, each with any of the units.
    #[serde(deserialize_with = "all_parsed")]
    pub line_a: Vec<GroupAddress>,
    /// Line B.
    #[serde(deserialize_with = "all_parsed")]
    pub line_b: Vec<GroupAddress>,
    /// Line C.
    #[serde(deserialize_with = "all_parsed")]
    pub line_c: Vec<GroupAddress>,
    /// Line D.
    #[serde(deserialize_with = "all_parsed")]
    pub line_d: Vec<GroupAddress>,
    /// The interface on which groups are joined.
    #[serde(deserialize_with = "parsed")]
    pub interface: Interface,
    /// The Gap Request Proxy.
    #[serde(deserialize_with = "server_if_there")]
    pub gap_server: Option<ServerAddress>,
    /// Where its answers come: multicast groups, or addresses of this machine.
    #[serde(deserialize_with = "all_parsed")]
    pub gap_answers: Vec<GroupAddress>,
    /// The login there: the session sub id, up to 4 characters.
    #[serde(deserialize_with = "short_text::<_, 4>")]
    pub gap_session: nanotape_types::Alpha<4>,
    /// The username, up to 4 characters.
    #[serde(deserialize_with = "short_text::<_, 4>")]
    pub gap_username: nanotape_types::Alpha<4>,
    /// The password, up to 10 characters.
    #[serde(deserialize_with = "short_text::<_, 10>")]
    pub gap_password: nanotape_types::Alpha<10>,
    /// How long an answer may take.
    #[serde(deserialize_with = "duration")]
    pub gap_timeout: Duration,
    /// How often a request without an answer is repeated.
    pub gap_retries: u32,
    /// Messages of a request, at most.
    pub gap_messages: u16,
    /// The spin servers; several of one unit are tried one after the other.
    #[serde(deserialize_with = "all_parsed")]
    pub spin_servers: Vec<SpinServer>,
    /// Whether to log in at spin servers as at the Gap Request Proxy.
    pub spin_login: bool,
    /// How long an image may take.
    #[serde(deserialize_with = "duration")]
    pub spin_timeout: Duration,
    /// How often an image is tried before the loss is accepted.
    pub spin_attempts: u32,
    /// After an accepted loss, the time until the next try.
    #[serde(deserialize_with = "duration")]
    pub spin_retry_after: Duration,
    /// How long a missing message is waited for before it is requested.
    #[serde(deserialize_with = "duration")]
    pub hold: Duration,
    /// A channel without a packet for so long is lost.
    #[serde(deserialize_with = "duration")]
    pub silence: Duration,
    /// The size of the kernel's receive buffer of each address to request.
    #[serde(deserialize_with = "size")]
    pub buffer: usize,
    /// Whether to poll the sockets without pause, which takes a processor of its own.
    pub poll: bool,
}

impl Default for ChannelsConfig {
    fn default() -> Self {
        let GapLogin { session_sub_id, username, password } = GapLogin::default();
        let snapshots = SnapshotSettings::default();
        Self {
            feed: None,
            line_a: Vec::new(),
            line_b: Vec::new(),
            line_c: Vec::new(),
            line_d: Vec::new(),
            interface: Interface::Any,
            gap_server: None,
            gap_answers: Vec::new(),
            gap_session: session_sub_id,
            gap_username: username,
            gap_password: password,
            gap_timeout: Duration::from_millis(200),
            gap_retries: 2,
            gap_messages: 100,
            spin_servers: Vec::new(),
            spin_login: true,
            spin_timeout: Duration::from_nanos(snapshots.timeout_ns),
            spin_attempts: snapshots.attempts,
            spin_retry_after: Duration::from_nanos(snapshots.retry_after_ns),
            hold: Duration::from_millis(2),
            silence: Duration::from_secs(5),
            buffer: 32 << 20,
            poll: false,
        }
    }
}

impl ChannelsConfig {
    /// The addresses of each line.
    pub fn lines(&self) -> Vec<Vec<LineAddress>> {
        let lines = [&self.line_a, &self.line_b, &self.line_c, &self.line_d];
        let lines = lines.into_iter().filter(|line| !line.is_empty());
        lines.map(|line| self.sockets(line)).collect()
    }

    /// Where the answers of the Gap Request Proxy come.
    pub(crate) fn answers(&self) -> Vec<LineAddress> {
        self.sockets(&self.gap_answers)
    }

    fn sockets(&self, addresses: &[GroupAddress]) -> Vec<LineAddress> {
        let socket = |address: &GroupAddress| {
            let interface = address.scope().unwrap_or(&self.interface).clone();
            LineAddress { address: address.clone(), interface, sender: None }
        };
        addresses.iter().map(socket).collect()
    }

    /// Refuses settings that contradict each other.
    pub fn check(&self) -> Result<(), SettingsError> {
        let sockets: Vec<_> = self.lines().into_iter().flatten().chain(self.answers()).collect();
        let lists = [&self.line_a, &self.line_b, &self.line_c, &self.line_d, &self.gap_answers];
        let is_twice = |place: usize| {
            sockets[place].address.port() != 0 && sockets[..place].contains(&sockets[place])
        };
        let has_servers = self.gap_server.is_some() || !self.spin_servers.is_empty();
        let refused = if self.feed.is_none() {
            "no feed: give feed (or --feed) cboe-pitch, iex-deep or iex-deep-plus"
        } else if self.line_a.is_empty() {
            "no line: give line_a (or --feed-line-a) at least one address, as in 233.54.12.111:26477"
        } else if self.feed != Some(ChannelFeed::CboePitch)
            && (has_servers || !self.gap_answers.is_empty())
        {
            "gap and spin servers are those of cboe-pitch: IEX has none"
        } else if self.gap_server.is_none() && !self.gap_answers.is_empty() {
            "gap_answers has no effect without gap_server"
        } else if lists.iter().any(|list| list.len() > MOST_ADDRESSES) {
            "more than 64 addresses of one line"
        } else if self.spin_servers.len() > MOST_SERVERS {
            "more than 256 spin servers"
        } else if (1..sockets.len()).any(is_twice) {
            "an address is given twice: each is of one line, or of the gap answers"
        } else if sockets
            .iter()
            .any(|socket| needs_scope(socket.address.ip()) && socket.interface == Interface::Any)
        {
            "an address of one link needs its interface: write it as [ff02::1%eth0]:5001"
        } else if self.gap_messages == 0 {
            "gap_messages is at least 1"
        } else {
            return Ok(());
        };
        Err(SettingsError(refused))
    }

    /// The settings of the channels: a recovery without a server is left out.
    pub(crate) fn settings(&self) -> SetSettings {
        let requests = RequestSettings {
            timeout_ns: nanos(self.gap_timeout),
            retries: self.gap_retries,
            messages: self.gap_messages,
            ..RequestSettings::default()
        };
        let snapshots = SnapshotSettings {
            timeout_ns: nanos(self.spin_timeout),
            attempts: self.spin_attempts,
            retry_after_ns: nanos(self.spin_retry_after),
        };
        let mut has_images = [false; 256];
        for server in &self.spin_servers {
            has_images[usize::from(server.unit)] = true;
        }
        let session = SessionSettings {
            lines: self.lines().len().clamp(1, MAX_LINES),
            // Where a unit has no server, it is joined with its first packet.
            join: Join::Snapshot,
            hold_ns: nanos(self.hold),
            requests: self.gap_server.is_some().then_some(requests),
            snapshots: Some(snapshots),
            silence_ns: nanos(self.silence),
            ahead_messages: AHEAD.0,
            ahead_bytes: AHEAD.1,
            ..SessionSettings::default()
        };
        SetSettings { session, has_images }
    }

    /// The login at the Gap Request Proxy.
    pub(crate) fn login(&self) -> GapLogin {
        GapLogin {
            session_sub_id: self.gap_session,
            username: self.gap_username,
            password: self.gap_password,
        }
    }

    /// The sizes of the sockets.
    pub(crate) fn options(&self) -> UdpOptions {
        UdpOptions { buffer_bytes: self.buffer, ..UdpOptions::default() }
    }
}

fn feed_if_there<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ChannelFeed>, D::Error> {
    parsed(deserializer).map(Some)
}

fn server_if_there<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<ServerAddress>, D::Error> {
    parsed(deserializer).map(Some)
}

/// One text, or a list of them.
fn all_parsed<'de, D: Deserializer<'de>, T: FromStr<Err: core::fmt::Display>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a text, or a list of them")]
    enum Texts {
        One(String),
        Several(Vec<String>),
    }
    let texts = match Texts::deserialize(deserializer)? {
        Texts::One(text) => vec![text],
        Texts::Several(texts) => texts,
    };
    texts.iter().map(|text| text.parse().map_err(de::Error::custom)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_contradict_each_other_are_refused() {
        let line = |port: u16| vec![format!("127.0.0.1:{port}").parse().unwrap()];
        let good = ChannelsConfig {
            feed: Some(ChannelFeed::CboePitch),
            line_a: line(1),
            line_b: line(2),
            ..ChannelsConfig::default()
        };
        assert_eq!(good.check(), Ok(()));
        let server: Option<ServerAddress> = "127.0.0.1:7".parse().ok();
        let iex = Some(ChannelFeed::IexDeep);
        for (config, expected) in [
            (ChannelsConfig { feed: None, ..good.clone() }, "no feed"),
            (ChannelsConfig { line_a: Vec::new(), ..good.clone() }, "no line"),
            (ChannelsConfig { line_b: line(1), ..good.clone() }, "given twice"),
            (ChannelsConfig { gap_answers: line(3), ..good.clone() }, "without gap_server"),
            (ChannelsConfig { feed: iex, gap_server: server, ..good.clone() }, "IEX has none"),
            (ChannelsConfig { gap_messages: 0, ..good.clone() }, "at least 1"),
        ] {
            let error = config.check().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_spin_server_has_a_unit_and_an_address() {
        let server: SpinServer = "3=localhost:30501".parse().unwrap();
        assert_eq!((server.unit, server.address.to_string().as_str()), (3, "localhost:30501"));
        for text in ["localhost:1", "0=localhost:1", "256=a:1", "1=a", "x=a:1"] {
            assert!(text.parse::<SpinServer>().is_err(), "{text}");
        }
    }
}
