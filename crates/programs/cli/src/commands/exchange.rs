//! `nanotape exchange`: the exchange side of a day, with faults.

mod feed;
mod outcome;

use std::{net::SocketAddr, time::Duration};

use anyhow::bail;
use clap::Args;
use nanotape_arguments::{DayArguments, verdict::conclude_of};
use nanotape_engine::{DamageLog, DayReport};
use nanotape_exchange::{
    ServerFaults,
    server::{ExchangeOptions, SimulatedExchange, history_of},
};
use nanotape_plant::{Pace, TradeDate, trade_date_of};
use nanotape_synth::FeedProtocol;

use crate::{
    interrupt,
    output::{Format, OutputArguments},
    progress::Progress,
    sending::{LineArguments, of_exchange, parsed, require_sent},
    status::Status,
    values::duration_or_seconds,
};

#[derive(Args, Debug)]
#[command(mut_arg("read_session", |session| session.long("read-session")), after_help = "\
Examples:
  nanotape exchange day.gz --line-a 239.1.1.1:5001 --line-b 239.1.1.2:5002 --pace 10x
  nanotape exchange day.itch50 --line-a 127.0.0.1:5001 --from 09:30 --until 09:35 --rerequest \\
      127.0.0.1:5003 --faults-a drop=2%,reorder=1%x4 --faults-both silence=@09:31+50ms --seed 7
  nanotape exchange day.itch50 --pace max --soup 127.0.0.1:0 --glimpse 127.0.0.1:0 --linger 1m \\
      --format json
  nanotape exchange day.itch50 --protocol cboe-pitch --units 4 --line-a 239.1.1.1:5001 \\
      --line-b 239.1.1.2:5001 --gap-server 127.0.0.1:7001 --gap-answers 239.1.1.3:6001 \\
      --spin-server 127.0.0.1:7101 --login 0001:USER:PASSWORD --faults-both drop=1%
  nanotape exchange day.itch50 --protocol iex-deep --date 2019-12-30 --line-a 239.1.1.1:5001 \\
      --line-b 239.1.1.2:5001 --faults-both restart=@12:00

The lines carry MoldUDP64 packets with the same messages under the same numbers, from 1; each line
cuts packets at other messages. An address of 224.0.0.0 or higher is a multicast group. Port 0 of a
server lets the system choose; the first line of the output has the address. With --format json it
is an object with the event `ready`, and the last line is one with the event `stop`.

FAULTS is a list: drop=2%, burst=0.1%x20, dup=1%, reorder=1%x4, delay=1%x2ms, truncate=0.01%,
corrupt=0.01%, flip=0.01%, session=0.01%, session=@15:00, start=@09:31, silence=@10:00+50ms. Times
and durations are those of the exchange. --faults-both takes drop, burst, start, silence and
session=@; its probabilities are of messages. The faults of a server are dead, drop=10% and
delay=5ms; --gap-server-faults takes unavailable=10% too. restart=@12:00 of --faults-both begins the
numbers of IEX again with 1. The same seed gives the same faults at every pace. docs/exchange.md describes each one.

With --protocol the day is translated, and the lines carry its messages in the packets of that
exchange. Unit n of PITCH has the ports n - 1 above those given. IEX has no servers.

Ctrl-C ends the lines without an end of session, as a crash would.

Exit status: 0 the day was sent, or Ctrl-C; 1 the day is damaged or truncated, or packets could not
be sent; 2 wrong usage, or an address or a file that cannot be opened.")]
pub(crate) struct ExchangeArguments {
    #[command(flatten)]
    input: DayArguments,

    #[command(flatten)]
    lines: LineArguments,

    /// Answer re-requests at this UDP address
    #[arg(long, value_name = "IP:PORT", value_parser = server)]
    rerequest: Option<SocketAddr>,

    /// Serve SoupBinTCP, with replay from any number, at this address
    #[arg(long, value_name = "IP:PORT", value_parser = server)]
    soup: Option<SocketAddr>,

    /// Serve GLIMPSE snapshots at this address
    #[arg(long, value_name = "IP:PORT", value_parser = server)]
    glimpse: Option<SocketAddr>,

    /// Pace: max, or a multiple of the recorded pace such as 1x or 10x
    #[arg(long, default_value_t = Pace::Recorded { milli: 1_000 })]
    pace: Pace,

    /// Faults of the re-request server
    #[arg(long, value_name = "FAULTS", value_parser = parsed::<ServerFaults>)]
    rerequest_faults: Option<ServerFaults>,

    /// Faults of the SoupBinTCP server
    #[arg(long, value_name = "FAULTS", value_parser = parsed::<ServerFaults>)]
    soup_faults: Option<ServerFaults>,

    /// Faults of the GLIMPSE server
    #[arg(long, value_name = "FAULTS", value_parser = parsed::<ServerFaults>)]
    glimpse_faults: Option<ServerFaults>,

    /// Send heartbeats for this long before the first message
    #[arg(long, value_name = "TIME", value_parser = duration_or_seconds, default_value = "0s")]
    wait: Duration,

    /// Repeat the end of the session, and keep the servers, for this long after the last message
    #[arg(long, value_name = "TIME", value_parser = duration_or_seconds, default_value = "3s")]
    linger: Duration,

    #[command(flatten)]
    feed: feed::FeedArguments,

    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &ExchangeArguments) -> anyhow::Result<Status> {
    arguments.require_consistent()?;
    let format = arguments.output.format_or(Format::Text)?;
    if let Some(protocol) = arguments.feed.protocol() {
        return feed::run(arguments, protocol, format);
    }
    let mut source = arguments.input.open_on_thread()?;
    let interrupt = interrupt::install()?;
    let folder = std::env::temp_dir();
    let history = history_of(arguments.lines.session, arguments.input.path(), &folder)?;
    let date = match arguments.lines.needs_date() {
        true => trade_date_of(&mut source, arguments.input.name().path())?,
        false => None,
    };
    let midnight_ns = date.map(TradeDate::midnight_ns);
    let options = arguments.options(midnight_ns)?;
    let exchange = SimulatedExchange::open(options, history, interrupt).map_err(of_exchange)?;
    let mut output = arguments.output.open()?;
    let ready = outcome::ready(arguments, exchange.addresses());
    outcome::write_ready(&ready, format, &mut output)?;
    let mut damage = DamageLog::default();
    let summary = {
        let progress = Progress::with_total(source.progress().total_bytes);
        let on_damage = |found| damage.record(found);
        exchange
            .run(&mut source, |source| progress.set(source.progress().done_bytes), on_damage)
            .map_err(of_exchange)?
    };
    let (counts, text) = (outcome::record_of(&summary), || outcome::text_of(&summary));
    outcome::write_summary(ready, counts, text, format, &mut output)?;
    output.finish()?;
    let is_sent = require_sent(arguments.lines.targets(), &summary.lines);
    let status =
        conclude_of(source.name(), &DayReport { summary: summary.day, damage }, "--read-session");
    Ok(if is_sent { status } else { Status::Bad })
}

impl ExchangeArguments {
    fn options(&self, midnight_ns: Option<u64>) -> anyhow::Result<ExchangeOptions> {
        let lines = self.lines.options(self.pace, self.input.name(), |_| midnight_ns)?;
        Ok(ExchangeOptions {
            rerequests: self.rerequest,
            rerequest_faults: self.rerequest_faults.unwrap_or_default(),
            soup: self.soup,
            soup_faults: self.soup_faults.unwrap_or_default(),
            glimpse: self.glimpse,
            glimpse_faults: self.glimpse_faults.unwrap_or_default(),
            wait: self.wait,
            linger: self.linger,
            ..lines
        })
    }

    fn require_consistent(&self) -> anyhow::Result<()> {
        let servers = [
            ("--rerequest", self.rerequest.is_some()),
            ("--soup", self.soup.is_some()),
            ("--glimpse", self.glimpse.is_some()),
        ];
        let protocol = self.feed.protocol();
        let used = servers.iter().find(|(_, is_used)| *is_used);
        if let (Some(protocol), Some((option, _))) = (protocol, used) {
            bail!("{option} is a server of ITCH, and the protocol is {protocol}");
        }
        self.feed.require_consistent()?;
        self.lines.require_no_restart(protocol.is_some_and(|p| p != FeedProtocol::CboePitch))?;
        if protocol.is_some() && (self.feed.has_server() || self.lines.is_any()) {
            return self.lines.require_consistent(self.lines.targets());
        }
        let has_server = self.rerequest.or(self.soup).or(self.glimpse).is_some();
        if !self.lines.is_any() && !has_server {
            bail!(
                "nothing to send to: use --line-a IP:PORT, --line-b, --rerequest, --soup or \
                 --glimpse"
            );
        }
        self.lines.require_consistent(self.lines.targets())?;
        for (server, has_server, has_faults) in [
            ("rerequest", self.rerequest.is_some(), self.rerequest_faults.is_some()),
            ("soup", self.soup.is_some(), self.soup_faults.is_some()),
            ("glimpse", self.glimpse.is_some(), self.glimpse_faults.is_some()),
        ] {
            if has_faults && !has_server {
                bail!("--{server}-faults has no effect without --{server}");
            }
        }
        Ok(())
    }
}

fn server(text: &str) -> Result<SocketAddr, String> {
    let expected = "expected an IP address and a port, as in 127.0.0.1:5003 (0 chooses a port)";
    text.parse().map_err(|_| expected.to_owned())
}
