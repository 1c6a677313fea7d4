//! `--cores`, `--batch` and `--cost`: one receiver with a service time for each type of message.

use anyhow::bail;
use clap::Args;
use nanotape_console::{records::RecordFormat, values::count};
use nanotape_lab::queue::{Batch, MAX_CORES, MAX_RING, Receiver};

use super::{QueueCommand, service};

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
    #[arg(long, value_name = "TYPE=TIME", value_delimiter = ',', value_parser = cost)]
    cost: Vec<Cost>,
}

/// A service time of one type of message; of all other ones without a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cost {
    letter: Option<u8>,
    service_ns: u64,
}

fn cost(text: &str) -> Result<Cost, String> {
    let expected =
        || "expected a message type and its time, such as A=300ns or other=1us".to_owned();
    let (name, time) = text.split_once('=').ok_or_else(expected)?;
    let letter = match name.as_bytes() {
        b"other" => None,
        [letter] if letter.is_ascii_alphabetic() => Some(*letter),
        _ => return Err(expected()),
    };
    Ok(Cost { letter, service_ns: service(time)? })
}

impl ReceiverArguments {
    fn is_any(&self) -> bool {
        self.cores.is_some() || self.batch.is_some() || !self.cost.is_empty()
    }

    fn batch(&self) -> Batch {
        let fixed_ns = self.batch_cost.unwrap_or(0);
        Batch { messages: self.batch.unwrap_or(1), fixed_ns }
    }

    /// The service time of each type; the last one that names a type counts.
    fn services(&self, default_ns: u64) -> [u64; 256] {
        let others = self.cost.iter().rev().find(|cost| cost.letter.is_none());
        let mut services = [others.map_or(default_ns, |cost| cost.service_ns); 256];
        for cost in &self.cost {
            if let Some(letter) = cost.letter {
                services[usize::from(letter)] = cost.service_ns;
            }
        }
        services
    }
}

impl QueueCommand {
    /// Refuses a receiver for standard input, and in a format without one.
    pub(super) fn require_readable_again(&self, format: RecordFormat) -> anyhow::Result<()> {
        if self.receiver.is_any() && self.input.name() == "-" {
            bail!("standard input is read only once: give --cores, --batch and --cost a file");
        }
        if self.receiver.is_any() && format == RecordFormat::Csv {
            bail!("CSV has no receiver: use text, JSON or HTML with --cores, --batch and --cost");
        }
        Ok(())
    }

    /// The receiver after all messages, if one is requested. `default_ns`: the service time of
    /// types that `--cost` does not name.
    pub(super) fn receiver(&self, default_ns: Option<u64>) -> anyhow::Result<Option<Receiver>> {
        if !self.receiver.is_any() {
            return Ok(None);
        }
        let services = self.receiver.services(default_ns.unwrap_or(1));
        let ring = self.ring.map_or(Ok(MAX_RING), usize::try_from)?;
        let mut receiver =
            Receiver::new(self.receiver.cores.unwrap_or(1).into(), ring, self.receiver.batch())?;
        let needs_types = self.receiver.cost.iter().any(|cost| cost.letter.is_some());
        let mut lacks_types = false;
        self.read_arrivals(|at_ns, stock, bytes| {
            let letter = bytes.first().copied().unwrap_or(0);
            lacks_types |= bytes.is_empty();
            receiver.arrive(at_ns, stock.get().into(), services[usize::from(letter)]);
        })?;
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
