//! `nanotape exchange`: the exchange side of a day, with faults.

mod outcome;

use std::{
    fmt::Display,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4},
    str::FromStr,
    time::Duration,
};

use anyhow::bail;
use clap::Args;
use nanotape_exchange::{
    Faults, ServerFaults,
    server::{ExchangeError, ExchangeOptions, SimulatedExchange, history_of},
};
use nanotape_plant::{DamageLog, DayReport, Pace};
use nanotape_types::{Alpha, NanosSinceMidnight};

use crate::{
    input::{DayArguments, Progress, conclude},
    interrupt,
    output::{Format, OutputArguments},
    status::Status,
    values::duration,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape exchange day.gz --line-a 239.1.1.1:5001 --line-b 239.1.1.2:5002 --pace 10x
  nanotape exchange day.itch50 --line-a 127.0.0.1:5001 --from 09:30 --until 09:35 --rerequest \\
      127.0.0.1:5003 --faults-a drop=2%,reorder=1%x4 --faults-both silence=@09:31+50ms --seed 7
  nanotape exchange day.itch50 --pace max --soup 127.0.0.1:0 --glimpse 127.0.0.1:0 --linger 1m \\
      --format json

The lines carry MoldUDP64 packets with the same messages under the same numbers, from 1; each line
cuts packets at other messages. An address of 224.0.0.0 or higher is a multicast group. Port 0 of a
server lets the system choose; the first line of the output has the address. With --format json it
is an object with the event `ready`, and the last line is one with the event `stop`.

FAULTS is a list: drop=2%, burst=0.1%x20, dup=1%, reorder=1%x4, delay=1%x2ms, truncate=0.01%,
corrupt=0.01%, flip=0.01%, session=0.01%, session=@15:00, start=@09:31, silence=@10:00+50ms. Times
and durations are those of the exchange. --faults-both takes drop, burst, start, silence and
session=@; its probabilities are of messages. The faults of a server are dead, drop=10% and
delay=5ms. The same seed gives the same faults at every pace. docs/exchange.md describes each one.

Ctrl-C ends the lines without an end of session, as a crash would.

Exit status: 0 the day was sent, or Ctrl-C; 1 the day is damaged or truncated, or packets could not
be sent; 2 wrong usage, or an address or a file that cannot be opened.")]
pub(crate) struct ExchangeArguments {
    #[command(flatten)]
    input: DayArguments,

    /// Where line A goes: a multicast group or one receiver
    #[arg(long, value_name = "IP:PORT", value_parser = line)]
    line_a: Option<SocketAddrV4>,

    /// Where line B goes
    #[arg(long, value_name = "IP:PORT", value_parser = line)]
    line_b: Option<SocketAddrV4>,

    /// Interface that multicast packets leave by, by its address
    #[arg(long, value_name = "IP", default_value_t = Ipv4Addr::LOCALHOST)]
    interface: Ipv4Addr,

    /// TTL of multicast packets; 0 keeps them on this machine
    #[arg(long, value_name = "N", default_value_t = 0)]
    ttl: u8,

    /// Answer re-requests at this UDP address
    #[arg(long, value_name = "IP:PORT", value_parser = server)]
    rerequest: Option<SocketAddr>,

    /// Serve SoupBinTCP, with replay from any number, at this address
    #[arg(long, value_name = "IP:PORT", value_parser = server)]
    soup: Option<SocketAddr>,

    /// Serve GLIMPSE snapshots at this address
    #[arg(long, value_name = "IP:PORT", value_parser = server)]
    glimpse: Option<SocketAddr>,

    /// Name of the session, up to 10 characters
    #[arg(long, value_name = "NAME", default_value = "NANOTAPE", value_parser = session)]
    session: Alpha<10>,

    /// Pace: max, or a multiple of the recorded pace such as 1x or 10x
    #[arg(long, default_value_t = Pace::Recorded { milli: 1_000 })]
    pace: Pace,

    /// Send the messages from this time of day on; the servers have those before it at once
    #[arg(long, value_name = "HH:MM")]
    from: Option<NanosSinceMidnight>,

    /// End the session before the first message of this time of day or later
    #[arg(long, value_name = "HH:MM")]
    until: Option<NanosSinceMidnight>,

    /// Faults of line A
    #[arg(long, value_name = "FAULTS", value_parser = parsed::<Faults>)]
    faults_a: Option<Faults>,

    /// Faults of line B
    #[arg(long, value_name = "FAULTS", value_parser = parsed::<Faults>)]
    faults_b: Option<Faults>,

    /// Faults that hit both lines at once
    #[arg(long, value_name = "FAULTS", value_parser = parsed::<Faults>)]
    faults_both: Option<Faults>,

    /// Faults of the re-request server
    #[arg(long, value_name = "FAULTS", value_parser = parsed::<ServerFaults>)]
    rerequest_faults: Option<ServerFaults>,

    /// Faults of the SoupBinTCP server
    #[arg(long, value_name = "FAULTS", value_parser = parsed::<ServerFaults>)]
    soup_faults: Option<ServerFaults>,

    /// Faults of the GLIMPSE server
    #[arg(long, value_name = "FAULTS", value_parser = parsed::<ServerFaults>)]
    glimpse_faults: Option<ServerFaults>,

    /// Seed of all faults, and of the cuts of both lines
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Send heartbeats for this long before the first message
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "0s")]
    wait: Duration,

    /// Repeat the end of the session, and keep the servers, for this long after the last message
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "3s")]
    linger: Duration,

    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &ExchangeArguments) -> anyhow::Result<Status> {
    arguments.require_consistent()?;
    let format = arguments.output.format_or(Format::Text)?;
    let mut source = arguments.input.open_unmapped()?;
    let interrupt = interrupt::install()?;
    let folder = std::env::temp_dir();
    let history = history_of(arguments.session, arguments.input.path(), &folder)?;
    let exchange = SimulatedExchange::open(arguments.options(), history, interrupt)
        .map_err(|error| anyhow::anyhow!("{error}"))?;
    let mut output = arguments.output.open()?;
    let ready = outcome::ready(arguments, exchange.addresses());
    outcome::write_ready(&ready, format, &mut output)?;
    let mut damage = DamageLog::default();
    let summary = {
        let progress = Progress::of(&source);
        let on_damage = |found| damage.record(found);
        exchange
            .run(&mut source, |source| progress.update(source), on_damage)
            .map_err(of_exchange)?
    };
    outcome::write_summary(ready, &summary, format, &mut output)?;
    output.finish()?;
    let is_sent = outcome::require_sent(arguments, &summary);
    let status = conclude(source.name(), &DayReport { summary: summary.day, damage });
    Ok(if is_sent { status } else { Status::Bad })
}

/// The status of an error of the exchange: that of its source, or the environment.
fn of_exchange(error: ExchangeError) -> anyhow::Error {
    match error {
        ExchangeError::Source(error) => error.into(),
        error => anyhow::anyhow!("{error}"),
    }
}

impl ExchangeArguments {
    fn options(&self) -> ExchangeOptions {
        ExchangeOptions {
            session: self.session,
            pace_milli: self.pace.milli(),
            lines: [self.line_a, self.line_b],
            faults: [&self.faults_a, &self.faults_b]
                .map(|faults| faults.clone().unwrap_or_default()),
            faults_of_both: self.faults_both.clone().unwrap_or_default(),
            interface: self.interface,
            ttl: self.ttl.into(),
            rerequests: self.rerequest,
            rerequest_faults: self.rerequest_faults.unwrap_or_default(),
            soup: self.soup,
            soup_faults: self.soup_faults.unwrap_or_default(),
            glimpse: self.glimpse,
            glimpse_faults: self.glimpse_faults.unwrap_or_default(),
            seed: self.seed,
            from: self.from,
            until: self.until,
            wait: self.wait,
            linger: self.linger,
            ..ExchangeOptions::default()
        }
    }

    fn require_consistent(&self) -> anyhow::Result<()> {
        let has_line = self.line_a.is_some() || self.line_b.is_some();
        if !has_line && self.rerequest.or(self.soup).or(self.glimpse).is_none() {
            bail!(
                "nothing to send to: use --line-a IP:PORT, --line-b, --rerequest, --soup or \
                 --glimpse"
            );
        }
        for (option, faults, is_used, needs) in [
            ("--faults-a", &self.faults_a, self.line_a.is_some(), "--line-a"),
            ("--faults-b", &self.faults_b, self.line_b.is_some(), "--line-b"),
            ("--faults-both", &self.faults_both, has_line, "a line"),
        ] {
            if !is_used && faults.is_some() {
                bail!("{option} has no effect without {needs}");
            }
        }
        if let Some(fault) = self.faults_both.as_ref().and_then(Faults::not_of_both) {
            bail!(
                "--faults-both: {fault} cannot hit both lines at once; use --faults-a and \
                 --faults-b, or drop, burst, start, silence or session=@"
            );
        }
        for (server, has_server, has_faults) in [
            ("rerequest", self.rerequest.is_some(), self.rerequest_faults.is_some()),
            ("soup", self.soup.is_some(), self.soup_faults.is_some()),
            ("glimpse", self.glimpse.is_some(), self.glimpse_faults.is_some()),
        ] {
            if has_faults && !has_server {
                bail!("--{server}-faults has no effect without --{server}");
            }
        }
        if let (Some(from), Some(until)) = (self.from, self.until)
            && from >= until
        {
            bail!("--from {from} is not before --until {until}");
        }
        Ok(())
    }
}

fn line(text: &str) -> Result<SocketAddrV4, String> {
    let address: Option<SocketAddrV4> = text.parse().ok();
    let address = address.filter(|address| address.port() != 0);
    address.ok_or_else(|| "expected an IPv4 address and a port, as in 239.1.1.1:5001".to_owned())
}

fn server(text: &str) -> Result<SocketAddr, String> {
    let expected = "expected an IP address and a port, as in 127.0.0.1:5003 (0 chooses a port)";
    text.parse().map_err(|_| expected.to_owned())
}

fn session(text: &str) -> Result<Alpha<10>, String> {
    let is_name = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    let mut bytes = [b' '; 10];
    match bytes.get_mut(..text.len()).filter(|_| is_name) {
        Some(name) => {
            name.copy_from_slice(text.as_bytes());
            Ok(Alpha::new(bytes))
        }
        None => Err("expected 1 to 10 printable characters without spaces".to_owned()),
    }
}

/// A value of a type that reads itself.
fn parsed<T>(text: &str) -> Result<T, String>
where
    T: FromStr<Err: Display>,
{
    text.parse().map_err(|error: T::Err| error.to_string())
}
