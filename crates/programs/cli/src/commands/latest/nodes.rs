//! `nanotape latest nodes`: the nodes of a shared map, and changes of them.

use std::time::Duration;

use anyhow::{anyhow, bail};
use clap::Args;
use nanotape_answers::Given;
use nanotape_arguments::regions::place;
use nanotape_peers::{MemberState, NodeFile, RequestAnswer, node_path, request};
use nanotape_types::rows::Cell;

use super::{open, shared::node_of};
use crate::{
    output::{Format, OutputArguments},
    rows::{Column, Kind, Rows},
    status::{BadData, Status, warn},
    values::count,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape latest nodes levels
  nanotape latest nodes levels --drop 3          a machine that is lost: removals wait for it no longer
  nanotape latest nodes levels --add 3           it may join, again or for the first time

Prints the nodes as this machine knows them. A node is pending until it has connected for the first time.
A change needs the process of this machine's node (`nanotape latest share`), and spreads to the others.

Exit status: 0 success; 1 the change is not possible, and the line gives the reason; 2 the map is not shared, or its
node does not run.")]
pub(super) struct NodesCommand {
    /// Name or path of the map
    #[arg(value_name = "NAME")]
    name: Given,

    /// Drop node N: if it comes back, it ends, and its writes that no other node has are lost
    #[arg(long, value_name = "N", value_parser = count::<u16>(1..))]
    drop: Option<u16>,

    /// Add node N, which joins with an empty map
    #[arg(long, value_name = "N", value_parser = count::<u16>(1..), conflicts_with = "drop")]
    add: Option<u16>,

    #[command(flatten)]
    output: OutputArguments,
}

/// How long the process of the node may take.
const WAIT: Duration = Duration::from_secs(10);

pub(super) fn run(command: &NodesCommand) -> anyhow::Result<Status> {
    let path = place(&command.name)?;
    let format = command.output.format_or(Format::Text)?;
    let reader = open(&path)?;
    let name = path.display();
    let Some(own) = node_of(&path, &reader)? else {
        bail!("{name}: not shared with other nodes; nanotape latest share does that");
    };
    let line = match (command.drop, command.add) {
        (Some(node), _) if node == own.node => {
            bail!("{name}: this is node {node}: drop it on another node")
        }
        (Some(node), _) => Some(format!("drop {node}")),
        (None, Some(node)) => Some(format!("add {node}")),
        (None, None) => None,
    };
    if let Some(line) = line {
        let answer = request(&path, &line, WAIT);
        match answer.map_err(|error| anyhow!("{name}: cannot write a file beside it: {error}"))? {
            RequestAnswer::Done(_) => {}
            RequestAnswer::Refused(why) => return Err(BadData(format!("{name}: {why}")).into()),
            RequestAnswer::NotTaken => {
                bail!("{name}: the node does not run: start nanotape latest share on this machine")
            }
            _ => bail!(
                "{name}: the node has not answered, or answered another command: nanotape latest nodes \
                 {name} prints what became of it"
            ),
        }
    }
    let columns = vec![
        Column::new("node", Kind::U64, 5, "The number of the node."),
        Column::new("state", Kind::Text, 8, "joined, pending, or dropped."),
        Column::new("own", Kind::Flag, 5, "Whether it is the node of this machine."),
        Column::new("life", Kind::Text, 16, "The life of its map. Absent if it has none."),
        Column::new("dropped", Kind::UnixTime, 19, "When it was dropped. Absent if it was not."),
    ];
    let mut rows = Rows::new(command.output.open()?, format, columns);
    let members = NodeFile::of_map(&path, 0o600)?.and_then(|file| file.membership());
    let members = members.unwrap_or_default();
    if let Some(at_ns) = members.dropped_ns(own.node, own.life) {
        warn(format_args!(
            "{name}: this node was dropped at {at_ns} ns since 1970; to join again, remove the map and {}, \
             add node {} on another one, and start nanotape latest share",
            node_path(&path).display(),
            own.node
        ));
    }
    for (node, member) in members.members() {
        let (state, life) = match member.state {
            MemberState::Pending => ("pending", None),
            MemberState::Joined(life) => ("joined", Some(life)),
            MemberState::Left => ("dropped", None),
        };
        let dropped = members.dropped().filter(|dropped| dropped.node == node);
        let last = dropped.max_by_key(|dropped| dropped.at_ns).filter(|_| state == "dropped");
        rows.integer(u64::from(node));
        rows.text(state);
        rows.put(Cell::Flag(node == own.node));
        match life.or(last.map(|last| last.life)) {
            Some(life) => rows.text(format_args!("{life:016x}")),
            None => rows.absent(),
        }
        match last {
            Some(last) => rows.put(Cell::UnixTime(last.at_ns)),
            None => rows.absent(),
        }
        rows.end_row()?;
    }
    rows.finish()?;
    Ok(Status::Good)
}
