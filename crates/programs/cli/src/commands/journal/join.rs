//! `nanotape journal join`: the part of one machine in a configuration that all machines share.
//!
//! Where: each key is the option of the same name of `journal serve` or `journal replicate`, which
//! check the values and do the work.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf};

use anyhow::{anyhow, bail};
use clap::{Args, FromArgMatches};
use nanotape_plant::config;
use serde::Deserialize;

use super::{replicate, serve};
use crate::{
    output::OutputArguments,
    sides::{host_name, side_name},
    status::Status,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape journal join replication.toml --as london
  nanotape journal join replication.toml             the machine of this host's name

The same file is on each machine. The one that it names as leader serves its journal, as `nanotape
journal serve`; each other one keeps a copy, as `nanotape journal replicate`. Each key is the option of
the same name of these commands. A machine may have its own certificates, wait and mode. Paths that do
not begin with / are those from the current folder. After `nanotape journal promote` on one of the
machines, write its name as leader, and start all of them again.

  leader = \"london\"
  certificates = \"/etc/nanotape/certificates\"    # or: plain = true
  commits = true                                 # the appender commits to followers
  wait = \"spin\"                                  # also: heartbeat, patience, mode, poll

  [machines.london]
  address = \"10.0.0.1:7000\"        # where others reach it when it leads
  listen = \"0.0.0.0:7000\"          # if that differs from address, or address has a host name
  journal = \"/days/nasdaq\"

  [machines.berlin]
  address = \"10.0.0.2:7000\"
  journal = \"/days/nasdaq\"
  sync = true                      # before each acknowledgement
  expected = true                  # the option --follower of the leader names it

Exit status: that of the command; 2 also if the configuration is wrong.")]
pub(super) struct JoinCommand {
    /// Configuration of all machines
    #[arg(value_name = "CONFIG")]
    config: PathBuf,

    /// Name of this machine in CONFIG [default: the name of the host]
    #[arg(long = "as", value_name = "NAME", value_parser = side_name)]
    name: Option<String>,

    /// Set aside what the leader does not have, as the option of journal replicate. This option and
    /// the next two change nothing on the leader
    #[arg(long)]
    set_aside: bool,

    /// Compare all segments with those of the leader first, as the option of journal replicate
    #[arg(long)]
    compare: bool,

    /// Write a row for each group of excerpts that arrives, as the option of journal replicate
    #[arg(long)]
    times: bool,

    #[command(flatten)]
    output: OutputArguments,
}

/// All machines.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Machines {
    leader: String,
    #[serde(default)]
    commits: bool,
    poll: Option<String>,
    certificates: Option<String>,
    plain: Option<bool>,
    wait: Option<String>,
    heartbeat: Option<String>,
    patience: Option<String>,
    mode: Option<String>,
    machines: BTreeMap<String, Machine>,
}

/// One machine.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Machine {
    address: String,
    listen: Option<String>,
    journal: String,
    #[serde(default)]
    sync: bool,
    #[serde(default)]
    expected: bool,
    certificates: Option<String>,
    wait: Option<String>,
    mode: Option<String>,
}

pub(super) fn run(command: &JoinCommand) -> anyhow::Result<Status> {
    let file = command.config.display();
    let machines: Machines = config::read(&command.config)?;
    machines.check().map_err(|what| anyhow!("{file}: {what}"))?;
    let names = || machines.machines.keys().cloned().collect::<Vec<_>>().join(", ");
    let name = match &command.name {
        Some(name) => name.clone(),
        None => host_name()?,
    };
    let Some(machine) = machines.machines.get(&name) else {
        bail!("{file}: no machine '{name}'; it has {}: choose one with --as", names());
    };
    let Some(leader) = machines.machines.get(&machines.leader) else {
        bail!("{file}: leader '{}' is no machine of it; it has {}", machines.leader, names());
    };
    let is_plain = machines.plain == Some(true);
    if !is_plain && machine.certificates.as_ref().or(machines.certificates.as_ref()).is_none() {
        bail!("{file}: machine '{name}' has no certificates; without TLS: plain = true");
    }
    let wrong = |error: clap::Error| {
        let text = error.to_string();
        let line = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
        anyhow!("{file}: machine '{name}': {line}")
    };
    if name == machines.leader {
        let listen = machine.listen.as_ref().unwrap_or(&machine.address);
        let mut given = vec![format!("--listen={listen}"), format!("--name={name}")];
        let others = machines.machines.iter().filter(|(other, _)| **other != name);
        let expected = others.filter(|(_, machine)| machine.expected);
        given.extend(expected.map(|(other, _)| format!("--follower={other}")));
        given.extend(machines.commits.then(|| "--commits".to_owned()));
        given.extend(machines.poll.iter().map(|poll| format!("--poll={poll}")));
        given.extend(machines.link_options(machine));
        given.extend(["--".to_owned(), machine.journal.clone()]);
        let mut parsed = parse::<serve::ServeCommand>(&given).map_err(wrong)?;
        parsed.output = command.output.clone();
        return serve::run(&parsed);
    }
    let mut given = vec![format!("--name={name}"), format!("--leader={}", machines.leader)];
    given.extend(machine.sync.then(|| "--sync".to_owned()));
    given.extend(machines.link_options(machine));
    given.extend(["--".to_owned(), leader.address.clone(), machine.journal.clone()]);
    let mut parsed = parse::<replicate::ReplicateCommand>(&given).map_err(wrong)?;
    parsed.output = command.output.clone();
    (parsed.set_aside, parsed.compare) = (command.set_aside, command.compare);
    parsed.times = command.times;
    replicate::run(&parsed)
}

impl Machines {
    /// What every machine can check of all of them: a later leader finds no mistake of its own.
    fn check(&self) -> Result<(), String> {
        if self.machines.is_empty() {
            return Err("no machine: expected a table [machines.NAME] for each".to_owned());
        }
        let mut addresses = BTreeMap::new();
        for (name, machine) in &self.machines {
            let wrong = |what: String| format!("machine '{name}': {what}");
            side_name(name).map_err(wrong)?;
            let Machine { address, listen, .. } = machine;
            let port = address.rsplit_once(':').filter(|(host, _)| !host.is_empty());
            if port.and_then(|(_, port)| port.parse().ok()).unwrap_or(0_u16) == 0 {
                return Err(wrong(format!("address = \"{address}\": expected HOST:PORT")));
            }
            let own = listen.as_ref().unwrap_or(address).parse::<SocketAddr>();
            match (listen, own) {
                (_, Ok(own)) if own.port() != 0 => {}
                (Some(listen), _) => {
                    return Err(wrong(format!("listen = \"{listen}\": expected IP:PORT")));
                }
                (None, _) => {
                    return Err(wrong(format!(
                        "address = \"{address}\" has a host name: add listen = \"IP:PORT\""
                    )));
                }
            }
            if let Some(other) = addresses.insert(address, name) {
                return Err(wrong(format!("address = \"{address}\" is that of '{other}' too")));
            }
        }
        Ok(())
    }

    /// The options of the link; those of the machine come first.
    fn link_options(&self, machine: &Machine) -> Vec<String> {
        let valued = [
            ("certificates", machine.certificates.as_ref().or(self.certificates.as_ref())),
            ("wait", machine.wait.as_ref().or(self.wait.as_ref())),
            ("heartbeat", self.heartbeat.as_ref()),
            ("patience", self.patience.as_ref()),
            ("mode", machine.mode.as_ref().or(self.mode.as_ref())),
        ];
        let valued = valued.into_iter().filter_map(|(key, value)| Some((key, value?)));
        let valued = valued.map(|(key, value)| format!("--{key}={value}"));
        valued.chain((self.plain == Some(true)).then(|| "--plain".to_owned())).collect()
    }
}

/// What a command makes of these arguments.
fn parse<T: Args + FromArgMatches>(given: &[String]) -> Result<T, clap::Error> {
    let command = T::augment_args(clap::Command::new("join").no_binary_name(true));
    T::from_arg_matches(&command.try_get_matches_from(given)?)
}
