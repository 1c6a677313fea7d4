//! `--cores`, `--batch` and `--cost`: one receiver with a service time for each type of message.

use std::{collections::BTreeMap, path::PathBuf};

use anyhow::bail;
use clap::Args;
use nanotape_console::{records::RecordFormat, values::count};
use nanotape_queue::{
    Batch, Costs, Link, LinkOptions, MAX_CORES, MAX_LINKS, MAX_RING, Receiver, Steps,
};

use super::{QueueCommand, costs, links::link, service};

#[derive(Args, Debug)]
pub(super) struct ReceiverArguments {
    /// Simulate a receiver with this number of cores, each with the messages of its stocks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MAX_CORES as i64))]
    cores: Option<u16>,

    /// Simulate a receiver that takes up to N waiting messages at once; all of them end together
    #[arg(long, value_name = "N", value_parser = count::<usize>(1..))]
    batch: Option<usize>,

    /// Time that each batch needs beside its messages
    #[arg(long, value_name = "TIME", requires = "batch", value_parser = service)]
    batch_cost: Option<u64>,

    /// Simulate a receiver whose service time depends on the type of the message (its letter);
    /// other is all types that are not named [default of other: the service time of the windows]
    /// A FILE has measured quantiles by type, from which each message draws
    #[arg(long, value_name = "TYPE=TIME|FILE", value_delimiter = ',', value_parser = cost)]
    cost: Vec<Cost>,

    /// A link behind the receiver, with a rate, a time of each message, or both; bytes=N instead of
    /// each message's own length, ring=N to drop beyond N messages; can be given 16 times
    #[arg(long, value_name = "NAME=RATE[,TIME]", value_parser = link)]
    link: Vec<LinkOptions>,

    /// Seed of the draws from the quantiles of --cost FILE
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// What `--cost` gives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Cost {
    /// A service time of one type of message; of all other ones without a type.
    Time(Option<u8>, u64),
    /// A file of quantiles.
    File(PathBuf),
}

fn cost(text: &str) -> Result<Cost, String> {
    let Some((name, time)) = text.split_once('=') else { return Ok(Cost::File(text.into())) };
    let expected =
        || "expected a message type and its time, such as A=300ns or other=1us".to_owned();
    Ok(Cost::Time(letter(name).ok_or_else(expected)?, service(time)?))
}

/// A message type by its name; `Some(None)` is all other types.
pub(super) fn letter(name: &str) -> Option<Option<u8>> {
    match name.as_bytes() {
        b"other" => Some(None),
        [letter] if letter.is_ascii_alphabetic() => Some(Some(*letter)),
        _ => None,
    }
}

impl ReceiverArguments {
    fn is_any(&self) -> bool {
        self.cores.is_some()
            || self.batch.is_some()
            || !self.cost.is_empty()
            || !self.link.is_empty()
    }

    /// The seed of draws.
    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    fn batch(&self) -> Batch {
        let fixed_ns = self.batch_cost.unwrap_or(0);
        Batch { messages: self.batch.unwrap_or(1), fixed_ns }
    }

    /// The service times of each type; the last one that names a type counts.
    fn times(&self) -> anyhow::Result<BTreeMap<Option<u8>, Steps>> {
        let mut times = BTreeMap::new();
        for cost in &self.cost {
            match cost {
                Cost::Time(letter, ns) => _ = times.insert(*letter, Steps::constant(*ns)),
                Cost::File(path) => times.extend(costs::read(path)?),
            }
        }
        Ok(times)
    }
}

impl QueueCommand {
    /// Refuses a receiver for standard input, and in a format without one, and two links of one
    /// name.
    pub(super) fn require_readable_again(&self, format: RecordFormat) -> anyhow::Result<()> {
        let mut names: Vec<&str> = self.receiver.link.iter().map(|link| &*link.name).collect();
        names.sort_unstable();
        if let Some([name, _]) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            bail!("--link {name} is given twice; give each link a name of its own");
        }
        if self.receiver.is_any() && self.input.is_read_once() {
            bail!(
                "standard input is read only once: give --cores, --batch, --link and --cost a file"
            );
        }
        if self.receiver.is_any() && format == RecordFormat::Csv {
            bail!(
                "CSV has no receiver: use text, JSON or HTML with --cores, --batch, --link and --cost"
            );
        }
        Ok(())
    }

    /// The receiver after all messages, if one is requested. `default_ns`: the service time of
    /// types that `--cost` does not name.
    pub(super) fn receiver(&self, default_ns: Option<u64>) -> anyhow::Result<Option<Receiver>> {
        if !self.receiver.is_any() {
            return Ok(None);
        }
        let mut times = self.receiver.times()?;
        let other = times.remove(&None).unwrap_or(Steps::constant(default_ns.unwrap_or(1)));
        let ring = self.ring.map_or(Ok(MAX_RING), usize::try_from)?;
        let mut receiver =
            Receiver::new(self.receiver.cores.unwrap_or(1).into(), ring, self.receiver.batch())?;
        let links = &self.receiver.link;
        if links.len() > MAX_LINKS {
            bail!("--link is given {} times; use at most {MAX_LINKS}", links.len());
        }
        receiver = receiver.with_links(links.iter().cloned().map(Link::new).collect());
        let needs_types = !times.is_empty();
        let mut costs = Costs::new(other, self.receiver.seed);
        for (letter, steps) in times {
            costs.set(letter.unwrap_or(0), steps);
        }
        let mut lacks_types = false;
        self.read_arrivals(|at_ns, stock, bytes| {
            let letter = bytes.first().copied().unwrap_or(0);
            lacks_types |= bytes.is_empty();
            receiver.arrive(at_ns, stock.get().into(), costs.draw(letter), bytes.len() as u64);
        })?;
        if lacks_types && let Some(link) = links.iter().find(|link| link.bytes.is_none()) {
            bail!(
                "{}: has records without the exchange's messages; use --link {}=...,bytes=N",
                self.input.name(),
                link.name
            );
        }
        if needs_types && lacks_types {
            bail!(
                "{}: has records without message types; use --cost other=TIME",
                self.input.name()
            );
        }
        receiver.finish();
        Ok(Some(receiver))
    }
}
