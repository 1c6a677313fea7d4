//! `nanotape latest share`: a map that several machines write, each its own copy.

use std::{collections::BTreeMap, io::Write as _, net::SocketAddr, path::PathBuf, time::Duration};

use anyhow::{anyhow, bail};
use clap::Args;
use nanotape_arguments::regions::of_region;
use nanotape_latest::{LatestError, LatestSpec, MOST_WORDS, MOST_WRITERS};
use nanotape_link::Identity;
use nanotape_peers::{
    Cluster, ClusterError, ClusterEvent, ClusterOptions, MOST_MEMBERS, PeerEvent, PeerOptions,
    STAMP_WORDS, cluster_number,
};
use nanotape_plant::config;
use nanotape_shm::RegionOptions;
use nanotape_types::units;
use serde::Deserialize;

use super::of_latest;
use crate::{
    interrupt,
    output::{Format, Output, OutputArguments},
    record::Record,
    sides::{host_name, side_name},
    status::{BadData, Status, note, warn},
    value_schemas,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape latest share levels.toml --as london
  nanotape latest share levels.toml              the node of this host's name
  nanotape latest nodes levels                   the nodes, as this machine knows them

The same file is on each machine. Each node has a map of its own, which processes of its machine read and
write in place: `nanotape latest set` and `remove`, or PeerWriter from Rust. The nodes send each other what
has changed, as it is then: a slow link carries the newest values and no history. Of two writes of a key
the later one wins, by the clocks of their nodes, and by the numbers of the nodes if the times are equal. A
write is always later than what its node has seen. A node that was away gets what changed meanwhile. A
removed key counts for the capacity until all nodes have removed it.

  cluster = \"levels\"              # the same name on all nodes
  map = \"levels\"                  # name or path of the map on each machine
  entries = 10000                 # keys, with those that were removed a moment ago
  key_words = 1
  value_words = 2                 # or: schema = \"quote.toml\"
  certificates = \"/etc/nanotape/certificates\"   # or: plain = true

  [nodes.london]
  number = 1                      # 1 to 65535: never another one for the same machine
  address = \"10.0.0.1:7100\"
  listen = \"0.0.0.0:7100\"         # if that differs from address, or address has a host name

  [nodes.berlin]
  number = 2
  address = \"10.0.0.2:7100\"
  joins = true                    # added later, with `nanotape latest nodes MAP --add 2` on another node

A node that is lost keeps removals from being forgotten. `nanotape latest nodes MAP --drop N` drops it on
all nodes; if it comes back, it ends with status 1, and its line states when it was dropped. It joins again
with an empty map after --add. A full map refuses keys of the others, and no removal is forgotten as long as
a node lacks something: stop the node, make its map larger with `nanotape latest upgrade MAP --entries N`,
and start it again; more entries than the file has are good. Other keys of the file: writers, mode,
heartbeat (500ms; 1ms to 1h), patience (5s; 1ms to 1h), pause (how soon changes are found, 1ms; 1us to 1s),
clock_bound (how much the clocks differ at most, 1m: no removal is forgotten earlier).

Exit status: 0 a stop was requested; 1 this node was dropped, or its map is damaged, an older copy, or was
removed; 2 the configuration is wrong, or the address or the map cannot be used.")]
pub(super) struct ShareCommand {
    /// Configuration of all nodes
    #[arg(value_name = "CONFIG")]
    config: PathBuf,

    /// Name of this node in CONFIG [default: the name of the host]
    #[arg(long = "as", value_name = "NAME", value_parser = side_name)]
    name: Option<String>,

    #[command(flatten)]
    output: OutputArguments,
}

/// All nodes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nodes {
    cluster: String,
    map: PathBuf,
    entries: u64,
    #[serde(default = "one")]
    key_words: usize,
    value_words: Option<usize>,
    schema: Option<PathBuf>,
    #[serde(default = "writers")]
    writers: u32,
    certificates: Option<PathBuf>,
    #[serde(default)]
    plain: bool,
    heartbeat: Option<String>,
    patience: Option<String>,
    pause: Option<String>,
    clock_bound: Option<String>,
    mode: Option<String>,
    nodes: BTreeMap<String, Node>,
}

/// One node.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Node {
    number: u16,
    address: String,
    listen: Option<String>,
    map: Option<PathBuf>,
    certificates: Option<PathBuf>,
    #[serde(default)]
    joins: bool,
}

/// The most entries of a map.
const MOST_ENTRIES: u64 = 1 << 40;

fn one() -> usize {
    1
}

fn writers() -> u32 {
    64
}

pub(super) fn run(command: &ShareCommand) -> anyhow::Result<Status> {
    let file = command.config.display();
    let nodes: Nodes = config::read(&command.config)?;
    let name = match &command.name {
        Some(name) => name.clone(),
        None => host_name()?,
    };
    let wrong = |what: String| anyhow!("{file}: {what}");
    nodes.check().map_err(wrong)?;
    let Some(own) = nodes.nodes.get(&name) else {
        let names: Vec<&str> = nodes.nodes.keys().map(String::as_str).collect();
        bail!("{file}: no node '{name}'; it has {}: choose one with --as", names.join(", "));
    };
    let options = nodes.options(&name, own).map_err(|error| anyhow!("{file}: {error}"))?;
    let map = nanotape_shm::named(own.map.as_ref().unwrap_or(&nodes.map))?;
    let format = command.output.format_or(Format::Text)?;
    let shutdown = interrupt::install()?;
    if options.identity.is_none() {
        warn("no TLS (plain): use this only on a network of your own");
    }
    let mut cluster =
        Cluster::open(&map, options).map_err(|error| nodes.of_cluster(&map, error))?;
    let mut rows = Rows { output: command.output.open()?, format, is_begun: false };
    let (path, number) = (map.display().to_string(), own.number);
    rows.write("start", number, &path, || format!("{path}: node {number} of {}\n", nodes.cluster))?;
    let (mut written, mut breaks) = (Ok(()), Breaks::default());
    let ended = cluster.run(&shutdown, |event| {
        let now = report(&map, event, &mut rows, &mut breaks);
        if written.is_ok() {
            written = now;
        }
    });
    rows.write("stop", number, &path, || "stopped\n".to_owned())?;
    rows.output.finish()?;
    written?;
    ended.map_err(|error| nodes.of_cluster(&map, error))?;
    Ok(Status::Good)
}

/// What is written: one line for each event.
struct Rows {
    output: Output,
    format: Format,
    is_begun: bool,
}

impl Rows {
    fn write(
        &mut self,
        event: &str,
        node: u16,
        detail: &str,
        text: impl FnOnce() -> String,
    ) -> anyhow::Result<()> {
        let record =
            Record::default().with("event", event).with("node", node).with("detail", detail);
        record.write(&mut self.output, self.format, !self.is_begun, text)?;
        self.is_begun = true;
        self.output.flush()?;
        Ok(())
    }
}

/// Lines about connections that ended. What is always the same is printed once, and a side that is
/// no node of the cluster cannot fill a disk with them.
#[derive(Default)]
struct Breaks(BTreeMap<String, (String, u32)>);

impl Breaks {
    /// The most lines about a node until it is connected, or about an address.
    const MOST_LINES: u32 = 100;

    /// The most nodes and addresses with lines.
    const MOST_SOURCES: usize = 1_000;

    fn warn(&mut self, node: u16, reason: String) {
        if let Some(line) = self.line(format!("node {node}"), reason) {
            warn(line);
        }
    }

    fn line(&mut self, from: String, reason: String) -> Option<String> {
        if self.0.len() == Self::MOST_SOURCES && !self.0.contains_key(&from) {
            return None;
        }
        let (last, lines) = self.0.entry(from.clone()).or_default();
        if *lines == Self::MOST_LINES || (*lines > 0 && *last == reason) {
            return None;
        }
        *lines += 1;
        let rest = match *lines == Self::MOST_LINES {
            true => "; further reasons are not printed",
            false => "",
        };
        last.clone_from(&reason);
        Some(format!("{from}: {reason}{rest}"))
    }
}

fn report(
    map: &std::path::Path,
    event: ClusterEvent,
    rows: &mut Rows,
    breaks: &mut Breaks,
) -> anyhow::Result<()> {
    match event {
        ClusterEvent::Connected { node, address } => {
            breaks.0.remove(&format!("node {node}"));
            let address = address.to_string();
            rows.write("connected", node, &address, || format!("node {node} at {address}\n"))?;
        }
        ClusterEvent::Broken { from, reason } => {
            if let Some(line) = breaks.line(from, reason) {
                warn(line);
            }
        }
        ClusterEvent::Members(what) => note(what),
        ClusterEvent::Node(PeerEvent::Joined { node, life }) => {
            let life = format!("{life:016x}");
            rows.write("joined", node, &life, || format!("node {node} has joined\n"))?;
        }
        // Both come again with each attempt of the other side.
        ClusterEvent::Node(PeerEvent::Future { node, sender, ahead_ns }) => {
            breaks.warn(sender, format!(
                "refused a write of node {node}: its clock is {} s ahead",
                ahead_ns / 1_000_000_000
            ));
        }
        ClusterEvent::Node(PeerEvent::Full { sender }) => breaks.warn(sender, format!(
            "the map is full: its keys do not fit; stop this node, make its map larger (nanotape latest \
             upgrade {} --entries N), and start it again; removed keys make room only when every node \
             has the removal",
            map.display()
        )),
        _ => {}
    }
    Ok(())
}

/// A dropped node, damage and an older copy are bad data; other errors belong to the environment.
pub(super) fn of_cluster(map: &std::path::Path, error: ClusterError) -> anyhow::Error {
    match error {
        ClusterError::Latest(LatestError::Spec { .. }) => anyhow!(
            "{}: entries, key_words and value_words make a map that has no address space: use \
             fewer entries",
            map.display()
        ),
        ClusterError::Latest(error) => of_latest(map, error),
        ClusterError::Region(error) => of_region(&error),
        ClusterError::MapGone { .. } => BadData(error.to_string()).into(),
        error if error.is_bad_data() => BadData(format!("{}: {error}", map.display())).into(),
        error => anyhow!("{error}"),
    }
}

/// The shortest and the longest duration of a key, with their texts.
type Durations = [(Duration, &'static str); 2];

/// More often is no heartbeat, but load; more rarely, a lost node is noticed after hours.
const HEARTBEAT: Durations =
    [(Duration::from_millis(1), "1ms"), (Duration::from_secs(3_600), "1h")];
const PATIENCE: Durations = [(Duration::from_millis(1), "1ms"), (Duration::from_secs(3_600), "1h")];
/// The process sleeps so long before it finds a request to stop.
const PAUSE: Durations = [(Duration::from_micros(1), "1us"), (Duration::from_secs(1), "1s")];
const CLOCK_BOUND: Durations =
    [(Duration::from_micros(1), "1us"), (Duration::from_secs(365 * 86_400), "8760h")];

/// The duration of a key of the file.
fn duration(
    key: &str,
    given: &Option<String>,
    default: Duration,
    [least, most]: Durations,
) -> anyhow::Result<Duration> {
    let Some(text) = given else { return Ok(default) };
    let duration = units::duration(text).map_err(|what| anyhow!("{key} = \"{text}\": {what}"))?;
    if !(least.0..=most.0).contains(&duration) {
        bail!("{key} = \"{text}\": expected {} to {}", least.1, most.1);
    }
    Ok(duration)
}

impl Nodes {
    /// An error, with the name that the number of a cluster comes from.
    fn of_cluster(&self, map: &std::path::Path, error: ClusterError) -> anyhow::Error {
        match error {
            ClusterError::OtherCluster { .. } => {
                anyhow!("{error} (cluster = \"{}\")", self.cluster)
            }
            error => of_cluster(map, error),
        }
    }

    /// Checks what a map has bounds for.
    fn check_sizes(&self) -> Result<(), String> {
        let value_words = self.value_words.unwrap_or(0) as u64;
        for (key, value, least, most) in [
            ("entries", self.entries, 1, MOST_ENTRIES),
            ("key_words", self.key_words as u64, 1, MOST_WORDS as u64),
            // The words with the time and the node follow.
            ("value_words", value_words, 0, (MOST_WORDS - STAMP_WORDS) as u64),
            ("writers", self.writers.into(), 1, MOST_WRITERS.into()),
        ] {
            if !(least..=most).contains(&value) {
                return Err(format!("{key} = {value}: expected {least} to {most}"));
            }
        }
        Ok(())
    }

    /// What every node can check of all of them.
    fn check(&self) -> Result<(), String> {
        if self.nodes.len() < 2 {
            return Err("expected a table [nodes.NAME] for each of two nodes or more".to_owned());
        }
        if self.nodes.len() > MOST_MEMBERS {
            let many = self.nodes.len();
            return Err(format!("{many} tables [nodes.NAME], expected at most {MOST_MEMBERS}"));
        }
        if self.value_words.is_some() == self.schema.is_some() {
            return Err("expected value_words or schema, one of them".to_owned());
        }
        self.check_sizes()?;
        let (mut numbers, mut addresses) = (BTreeMap::new(), BTreeMap::new());
        for (name, node) in &self.nodes {
            let wrong = |what: String| Err(format!("node '{name}': {what}"));
            if let Err(what) = side_name(name) {
                return wrong(what);
            }
            if node.number == 0 {
                return wrong("number = 0: expected 1 to 65535".to_owned());
            }
            if let Some(other) = numbers.insert(node.number, name) {
                return wrong(format!("number = {} is that of '{other}' too", node.number));
            }
            if let Some(other) = addresses.insert(&node.address, name) {
                return wrong(format!("address = \"{}\" is that of '{other}' too", node.address));
            }
            let port = node.address.rsplit_once(':').filter(|(host, _)| !host.is_empty());
            if port.and_then(|(_, port)| port.parse().ok()).unwrap_or(0_u16) == 0 {
                return wrong(format!("address = \"{}\": expected HOST:PORT", node.address));
            }
            let listen = node.listen.as_ref().unwrap_or(&node.address);
            if listen.parse::<SocketAddr>().is_err() {
                return wrong(format!("\"{listen}\" has no IP address: add listen = \"IP:PORT\""));
            }
        }
        Ok(())
    }

    fn options(&self, name: &str, own: &Node) -> anyhow::Result<ClusterOptions> {
        let certificates = own.certificates.as_ref().or(self.certificates.as_ref());
        let identity = match (certificates, self.plain) {
            (Some(folder), false) => Some(Identity::read(folder, name)?),
            (None, true) => None,
            _ => bail!("expected certificates = \"FOLDER\", or plain = true without TLS"),
        };
        let (value_words, value_layout) = match &self.schema {
            Some(schema) => {
                let schema = value_schemas::of_file(schema)?;
                (schema.words(), schema.layout())
            }
            None => (self.value_words.unwrap_or(1), 0),
        };
        let mode = self.mode.as_deref().map_or(Ok(0o600), units::mode);
        let mode = mode.map_err(|what| anyhow!("mode: {what}"))?;
        let founding = self.nodes.values().filter(|node| !node.joins).map(|node| node.number);
        let others = self.nodes.iter().filter(|(other, _)| *other != name);
        let others = others.map(|(name, node)| (node.number, (name.clone(), node.address.clone())));
        let listen = own.listen.as_ref().unwrap_or(&own.address);
        let mut node =
            PeerOptions::new(cluster_number(&self.cluster), own.number, 0, founding.collect());
        let bound = Duration::from_nanos(node.clock_bound_ns);
        node.clock_bound_ns =
            duration("clock_bound", &self.clock_bound, bound, CLOCK_BOUND)?.as_nanos() as u64;
        Ok(ClusterOptions {
            node,
            name: name.to_owned(),
            listen: listen.parse()?,
            others: others.collect(),
            identity,
            heartbeat: duration(
                "heartbeat",
                &self.heartbeat,
                Duration::from_millis(500),
                HEARTBEAT,
            )?,
            patience: duration("patience", &self.patience, Duration::from_secs(5), PATIENCE)?,
            pause: duration("pause", &self.pause, Duration::from_millis(1), PAUSE)?,
            map: LatestSpec {
                entries: self.entries,
                key_words: self.key_words,
                value_words,
                writers: self.writers,
                value_layout,
            },
            region: RegionOptions { mode, ..RegionOptions::default() },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_about_connections_are_bounded() {
        let mut breaks = Breaks::default();
        let mut line = |from: &str, reason: u32| breaks.line(from.to_owned(), reason.to_string());
        assert_eq!(line("node 2", 1).as_deref(), Some("node 2: 1"));
        assert_eq!(line("node 2", 1), None);
        for reason in 2..100 {
            assert!(line("node 2", reason).is_some());
        }
        let last = line("node 2", 100);
        assert_eq!(last.as_deref(), Some("node 2: 100; further reasons are not printed"));
        assert_eq!(line("node 2", 101), None);
        for source in 1..1_000 {
            assert!(line(&format!("source {source}"), 1).is_some());
        }
        assert_eq!(line("one more", 1), None);
    }
}
