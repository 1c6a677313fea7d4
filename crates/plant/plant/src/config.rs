//! The configuration of a plant: from a file, from a command line, or from code.
//!
//! Failure: an unknown key is an error with its line; nothing is ignored.

mod inputs;
mod journal;
mod latest;
mod roll;
mod schedule;

use std::{
    borrow::Cow,
    fmt, fs,
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

use nanotape_feed::{CaptureChoice, Group, SessionName};
use nanotape_live::{
    ChannelsConfig, LiveConfig,
    text::{duration, parsed, quoted, size},
};
use nanotape_types::{Symbol, nearest, units};
use serde::{Deserialize, Deserializer, de};

pub use inputs::OwnConfig;
pub use journal::{Compression, JournalConfig, parse_sync_policy, sync_policy_text};
pub use latest::LatestConfig;
pub use roll::Roll;
pub use schedule::ScheduleConfig;

use crate::{Moment, Pace, TradeDate, records::RecordKinds};

/// A complete configuration file with comments, printed by `nanotape run --example-config`.
pub const EXAMPLE: &str = include_str!("config/example.toml");

/// The smallest ring on which a plant can wait in time. Between two checks it publishes the records
/// of [`CHECK_EVERY`](crate::CHECK_EVERY) messages, which have less than 9 KiB.
pub(crate) const MIN_CAPACITY_BYTES: u64 = 64 << 10;

/// The configuration of a plant.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlantConfig {
    /// The input.
    pub input: InputConfig,
    /// The name of the plant among several, if it has one beside that of its ring.
    #[serde(skip)]
    pub name: Option<String>,
    /// When sessions are joined; `None`: whenever there are any.
    pub schedule: Option<ScheduleConfig>,
    /// The ring to publish on.
    pub ring: RingConfig,
    /// The records to publish.
    pub publish: PublishConfig,
    /// The journal; `None`: the plant is not recorded.
    pub journal: Option<JournalConfig>,
    /// The map of the newest states; `None`: the plant has none.
    pub latest: Option<LatestConfig>,
    /// Processor and memory.
    pub machine: MachineConfig,
    /// The spans of the plant.
    pub trace: TraceConfig,
}

/// The input of a plant.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct InputConfig {
    /// A day file or a capture, plain or compressed; `-` is standard input.
    pub file: PathBuf,
    /// The destinations of a capture that are read; empty: all.
    #[serde(deserialize_with = "all_parsed")]
    pub groups: Vec<Group>,
    /// The session of a capture that is read; by default the first one that has messages.
    #[serde(deserialize_with = "parsed_if_there")]
    pub session: Option<SessionName>,
    /// Further files of a capture, in any order.
    pub pieces: Vec<PathBuf>,
    /// The trade date; by default that of the file name.
    #[serde(deserialize_with = "parsed_if_there")]
    pub date: Option<TradeDate>,
    /// The speed.
    #[serde(deserialize_with = "parsed")]
    pub pace: Pace,
    /// Messages before this moment are not paced.
    #[serde(deserialize_with = "parsed_if_there")]
    pub pace_from: Option<Moment>,
    /// The end: the first message at or after this moment is not read.
    #[serde(deserialize_with = "parsed_if_there")]
    pub until: Option<Moment>,
    /// A live session; `None`: the plant reads the file.
    pub live: Option<LiveConfig>,
    /// A live feed of channels; `None`: the plant reads the session or the file.
    pub channels: Option<ChannelsConfig>,
}

impl InputConfig {
    /// Whether it is received, and not read from a file.
    pub fn is_live(&self) -> bool {
        self.live.is_some() || self.channels.is_some()
    }

    /// What of a capture is read.
    pub fn choice(&self) -> CaptureChoice {
        let (groups, pieces) = (self.groups.clone(), self.pieces.clone());
        CaptureChoice { groups, session: self.session, pieces }
    }
}

/// The ring of a plant.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RingConfig {
    /// A name in /dev/shm, or a path.
    pub name: PathBuf,
    /// Bytes, a power of two; by default the size of the existing ring, or
    /// [`DEFAULT_CAPACITY_BYTES`].
    #[serde(deserialize_with = "size_if_there", rename = "capacity", alias = "capacity_bytes")]
    pub capacity_bytes: Option<usize>,
    /// Permission bits of the files.
    #[serde(deserialize_with = "octal")]
    pub mode: u32,
    /// Lock the files in memory.
    pub lock: bool,
    /// Request huge pages.
    pub huge_pages: bool,
    /// Create an empty ring, even if there is one.
    pub replace: bool,
    /// Named followers that must have joined before the first record, and that the plant waits for
    /// when they are half a ring behind. 0: the plant waits for none. Not for live sessions.
    pub wait_for: usize,
    /// How long the plant waits for them to join; zero: without a limit.
    #[serde(deserialize_with = "duration")]
    pub wait_for_limit: Duration,
}

/// Bytes of a ring whose size is not configured.
pub const DEFAULT_CAPACITY_BYTES: usize = 32 << 20;

impl Default for RingConfig {
    fn default() -> Self {
        Self {
            name: PathBuf::new(),
            capacity_bytes: None,
            mode: 0o600,
            lock: false,
            huge_pages: false,
            replace: false,
            wait_for: 0,
            wait_for_limit: Duration::from_secs(600),
        }
    }
}

/// The records that a plant publishes.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PublishConfig {
    /// The kinds of records.
    #[serde(deserialize_with = "kinds")]
    pub records: RecordKinds,
    /// The stocks; empty selects all.
    #[serde(deserialize_with = "all_parsed")]
    pub symbols: Vec<Symbol>,
}

impl Default for PublishConfig {
    fn default() -> Self {
        Self { records: RecordKinds::USUAL, symbols: Vec::new() }
    }
}

/// The processor and memory that a plant uses.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MachineConfig {
    /// The processor to pin the thread to.
    pub cpu: Option<u32>,
    /// Live orders to reserve memory for; by default estimated from the size of the input.
    pub orders: Option<usize>,
}

/// Spans that a plant writes when they are switched on.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TraceConfig {
    /// Spans that other processes can read before they are overwritten: a power of two from 8 on,
    /// each of 64 bytes. 0: the plant has none.
    pub spans: usize,
    /// The kernel is queried for its counts of the thread after each traced message that takes
    /// longer, if the sites `kernel.*` are on.
    #[serde(deserialize_with = "duration")]
    pub ask_above: Duration,
}

impl Default for TraceConfig {
    fn default() -> Self {
        Self { spans: 1 << 16, ask_above: Duration::from_micros(5) }
    }
}

/// An invalid configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The text is not a valid configuration.
    #[error("{}, line {line}: {what}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The problem, on one line.
        what: String,
    },
}

impl PlantConfig {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        read(path)
    }

    /// Parses text; on error returns the line and the description of the problem.
    pub fn parse(text: &str) -> Result<Self, (usize, String)> {
        parse(text)
    }

    /// Reads a file of one plant, or of one for each `[[input]]`.
    pub fn read_all(path: &Path) -> Result<Vec<Self>, ConfigError> {
        let text = text_of(path)?;
        let of_text = |(line, what)| ConfigError::Text { path: path.to_owned(), line, what };
        Self::parse_all(&text).map_err(of_text)
    }

    /// Parses the text of such a file.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, (usize, String)> {
        parse::<inputs::PlantFile>(text)?.plants().map_err(|what| (1, what))
    }

    /// The name in messages: its own one, or that of its ring.
    pub fn display_name(&self) -> Cow<'_, str> {
        let ring = &self.ring.name;
        match &self.name {
            Some(name) => Cow::Borrowed(name),
            None => ring.file_name().unwrap_or(ring.as_os_str()).to_string_lossy(),
        }
    }
}

/// Reads a configuration of any kind from a file.
pub fn read<T: de::DeserializeOwned>(path: &Path) -> Result<T, ConfigError> {
    let text = text_of(path)?;
    parse(&text).map_err(|(line, what)| ConfigError::Text { path: path.to_owned(), line, what })
}

fn text_of(path: &Path) -> Result<String, ConfigError> {
    let of_file = |source| ConfigError::Read { path: path.to_owned(), source };
    fs::read_to_string(path).map_err(of_file)
}

fn parse<T: de::DeserializeOwned>(text: &str) -> Result<T, (usize, String)> {
    toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start).min(text.len());
        let line = 1 + text.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count();
        let what = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
        (line, with_suggestion(what))
    })
}

/// Names the key that an unknown one is nearest to: the list of all of them is long.
fn with_suggestion(what: String) -> String {
    // unknown field `pace_form`, expected one of `file`, `groups`, ...
    let mut names = what.split('`').skip(1).step_by(2);
    let unknown = names.next().filter(|_| what.starts_with("unknown field"));
    match unknown.and_then(|unknown| Some((unknown, nearest(unknown, names)?))) {
        Some((unknown, near)) => format!("unknown field `{unknown}`, did you mean `{near}`?"),
        None => what,
    }
}

fn parsed_if_there<'de, D: Deserializer<'de>, T: FromStr<Err: fmt::Display>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    parsed(deserializer).map(Some)
}

fn all_parsed<'de, D: Deserializer<'de>, T: FromStr<Err: fmt::Display>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts.iter().map(|text| text.parse().map_err(de::Error::custom)).collect()
}

fn kinds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RecordKinds, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    names.join(",").parse().map_err(de::Error::custom)
}

fn octal<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    quoted(deserializer, units::mode)
}

fn size_if_there<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    size(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_a_configuration_and_says_the_defaults() {
        let example = PlantConfig::parse(EXAMPLE).unwrap();
        assert_eq!(example.input.file, Path::new("12302019.NASDAQ_ITCH50.gz"));
        assert_eq!(example.ring.name.as_os_str(), "equities");
        let default = PlantConfig::default();
        assert_eq!((&example.publish, &example.trace), (&default.publish, &default.trace));
        assert_eq!((example.input.pace, example.ring.mode), (Pace::Max, default.ring.mode));
        // Every line that is commented out is a key with a valid example.
        let all = EXAMPLE.lines().map(|line| line.strip_prefix("#: ").unwrap_or(line));
        let all = all.collect::<Vec<_>>().join("\n");
        let all = PlantConfig::parse(&all).unwrap();
        assert!(
            all.input.date.is_some() && all.input.until.is_some() && all.input.pace_from.is_some()
        );
        assert_eq!((all.input.groups.len(), all.input.session.is_some()), (2, true));
        assert!(all.ring.capacity_bytes.is_some() && all.machine.cpu.is_some());
        assert_eq!(example.ring.wait_for_limit, default.ring.wait_for_limit);
        assert!(all.machine.orders.is_some() && !all.publish.symbols.is_empty());
        assert_eq!(example.journal, None);
        let default = JournalConfig::default();
        let dir = "days/equities".into();
        let optional = JournalConfig {
            cpu: Some(2),
            snapshot_cpu: Some(3),
            keep: Some(500 << 30),
            older_than: Some(Duration::from_secs(30 * 86_400)),
            ..default
        };
        assert_eq!(all.journal, Some(JournalConfig { dir, ..optional }));
        assert_eq!(example.latest, None);
        let (name, default) = ("quotes".into(), LatestConfig::default());
        assert_eq!(all.latest, Some(LatestConfig { name, cpu: Some(4), ..default }));
    }

    /// A user who removes the marks gets what the plant does without the file.
    #[test]
    fn every_key_of_the_example_has_its_default_or_the_comment_names_it() {
        let (mut section, mut comment) = (String::new(), String::new());
        let (mut is_in_comment, mut checked) = (false, 0);
        for line in EXAMPLE.lines().filter(|line| !line.is_empty()) {
            if let Some(text) = line.strip_prefix("# ") {
                // The comment belongs to all keys below it, up to the next comment.
                if !std::mem::replace(&mut is_in_comment, true) {
                    comment.clear();
                }
                comment.push_str(text);
                continue;
            }
            is_in_comment = false;
            let key = line.strip_prefix("#: ").unwrap_or(line);
            if key.starts_with('[') {
                section = format!("{key}\n");
                continue;
            }
            let with_key = PlantConfig::parse(&format!("{section}{key}\n")).unwrap();
            let is_default = with_key == PlantConfig::parse(&section).unwrap();
            assert!(is_default || comment.contains("Default: "), "{section}{comment}\n{line}");
            checked += 1;
        }
        assert!(checked > 40, "{checked}");
    }

    /// Keys of an earlier version are those of today.
    #[test]
    fn earlier_names_of_keys_work() {
        let mut checked = 0;
        for (section, keys) in [
            (
                "[input.live]\nline_a = \"239.1.1.1:5001\"\n",
                &[
                    ("rerequest", "request_server", "\"10.0.0.9:17777\""),
                    ("rerequest", "request_servers", "[\"10.0.0.9:17777\", \"b:1\"]"),
                    ("rerequest_timeout", "request_timeout", "\"7ms\""),
                    ("rerequest_retries", "request_retries", "9"),
                    ("glimpse", "snapshot_server", "\"10.0.0.9:17778\""),
                    ("glimpse", "snapshot_servers", "[\"10.0.0.9:17778\", \"b:1\"]"),
                    ("glimpse_username", "snapshot_username", "\"user\""),
                    ("glimpse_password", "snapshot_password", "\"secret\""),
                    ("glimpse_timeout", "snapshot_timeout", "\"1m\""),
                    ("glimpse_attempts", "snapshot_attempts", "9"),
                    ("glimpse_retry_after", "snapshot_retry_after", "\"1h\""),
                    ("buffer", "buffer_bytes", "\"1MiB\""),
                ][..],
            ),
            ("[ring]\n", &[("capacity", "capacity_bytes", "\"1MiB\"")]),
            (
                "[journal]\n",
                &[("segment", "segment_bytes", "\"1MiB\""), ("ahead", "ahead_bytes", "\"1MiB\"")],
            ),
        ] {
            let plain = PlantConfig::parse(section).unwrap();
            for (name, earlier, value) in keys {
                let of = |key| PlantConfig::parse(&format!("{section}{key} = {value}\n")).unwrap();
                assert_eq!(of(name), of(earlier), "{name}");
                assert_ne!(of(name), plain, "{name}");
                checked += 1;
            }
        }
        assert_eq!(checked, 15);
    }

    #[test]
    fn what_is_wrong_is_reported_with_its_line() {
        for (text, line, what) in [
            ("[input]\nfile = \"x\"\nspeed = 1\n", 3, "unknown field `speed`, expected one of"),
            ("[inputs]\n", 1, "unknown field `inputs`, did you mean `input`?"),
            ("[input]\npace-from = \"09:30\"\n", 2, "did you mean `pace_from`?"),
            ("[input.live]\nline_a = \"239.1.1.1\"\n", 2, "not 239.1.1.1 without a port"),
            ("[input.live]\ninterface = \"10.0.5\"\n", 2, "as in 10.0.0.5 or eth0"),
            ("[input.live]\nrerequest = \"239.1.1.1:1\"\n", 2, "a server is one host"),
            ("[input.live]\nglimpse = [7]\n", 2, "expected a server such as"),
            ("\n[input]\npace = \"fast\"\n", 3, "expected max, or a multiple"),
            ("[input]\ngroups = [\"233.54\"]\n", 2, "expected an IPv4 address"),
            ("[input]\nsession = \"\"\n", 2, "expected the name of a session"),
            ("[publish]\nrecords = [\"mbo\", \"quotes\"]\n", 2, "\"quotes\" is not a record kind"),
            ("[ring]\ncapacity = \"7 apples\"\n", 2, "expected bytes such as 4096"),
            ("[ring]\nmode = \"0444\"\n", 2, "permission bits in octal"),
            ("[journal]\nroll = \"week\"\n", 2, "expected size, minute, hour, day"),
            ("[journal]\nsync = \"always\"\n", 2, "expected never, batch"),
            ("[journal]\nfolder = \"x\"\n", 2, "unknown field `folder`"),
            ("[input\n", 1, ""),
        ] {
            let (found, said) = PlantConfig::parse(text).unwrap_err();
            assert_eq!(found, line, "{text:?}: {said}");
            assert!(said.contains(what) && !said.contains('\n'), "{text:?}: {said}");
        }
    }
}
