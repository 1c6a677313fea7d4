//! `nanotape exchange --protocol`: a day in the protocol of another exchange, and the servers of
//! PITCH.

mod report;

use std::net::{SocketAddr, SocketAddrV4};

use anyhow::{Context as _, bail};
use clap::Args;
use nanotape_arguments::verdict::conclude_of;
use nanotape_engine::{DamageLog, DayReport};
use nanotape_exchange::{
    Faults, ServerFaults,
    feeds::{
        FeedExchangeOptions, GapFaults, GapLimits, GapServerOptions, PitchLogin, RequestLimits,
        SimulatedFeed, SpinServerOptions,
    },
};
use nanotape_feed::DaySource;
use nanotape_plant::{TradeDate, trade_date_of};
use nanotape_synth::FeedProtocol;

use super::{ExchangeArguments, server};
use crate::{
    day_protocol::{DayProtocol, check_lines},
    interrupt,
    output::Format,
    progress::Progress,
    sending::{of_exchange, parsed, report_errors, require_sent, target},
    status::Status,
    values::count,
};

/// Matching units of PITCH by default.
const UNITS: u8 = 2;

/// Options of days in other protocols.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Protocol")]
pub(super) struct FeedArguments {
    /// Protocol of the lines [default: itch]
    #[arg(long, value_enum, value_name = "PROTOCOL")]
    protocol: Option<DayProtocol>,

    /// Matching units of PITCH; each stock belongs to one [default: 2]
    #[arg(long, value_name = "N", requires = "protocol", value_parser = count::<u8>(1..=250))]
    units: Option<u8>,

    /// Trade date of a day whose name has none, as in 2019-12-30
    #[arg(long, value_name = "DATE", requires = "protocol")]
    date: Option<TradeDate>,

    /// A session of the servers of PITCH; can be repeated. Without it every login is accepted
    #[arg(long, value_name = "SESSION:USERNAME:PASSWORD", value_parser = parsed::<PitchLogin>)]
    login: Vec<PitchLogin>,

    /// Serve gap requests of PITCH at this TCP address
    #[arg(long, value_name = "IP:PORT", requires = "gap_answers", value_parser = server)]
    gap_server: Option<SocketAddr>,

    /// Where requested messages go: a multicast group or one receiver
    #[arg(long, value_name = "IP:PORT", requires = "gap_server", value_parser = target)]
    gap_answers: Option<SocketAddrV4>,

    /// How many of the last messages of a unit can be requested [default: 1m]
    #[arg(long, value_name = "N", requires = "gap_server", value_parser = count::<u64>(1..))]
    gap_range: Option<u64>,

    /// The most messages of a gap request [default: 100]
    #[arg(long, value_name = "N", requires = "gap_server", value_parser = count::<u16>(1..))]
    gap_messages: Option<u16>,

    /// The most gap requests of a session in a second [default: 320]
    #[arg(long, value_name = "N", requires = "gap_server", value_parser = count::<u32>(0..))]
    gap_per_second: Option<u32>,

    /// The most gap requests of a session in a minute [default: 1500]
    #[arg(long, value_name = "N", requires = "gap_server", value_parser = count::<u32>(0..))]
    gap_per_minute: Option<u32>,

    /// The most gap requests of a session in a day [default: 100k]
    #[arg(long, value_name = "N", requires = "gap_server", value_parser = count::<u32>(0..))]
    gap_per_day: Option<u32>,

    /// Faults of the gap server
    #[arg(long, value_name = "FAULTS", requires = "gap_server", value_parser = parsed::<GapFaults>)]
    gap_server_faults: Option<GapFaults>,

    /// Faults of the packets with requested messages
    #[arg(long, value_name = "FAULTS", requires = "gap_server", value_parser = parsed::<Faults>)]
    gap_answers_faults: Option<Faults>,

    /// Serve images of PITCH at this TCP address, unit 1 at its port
    #[arg(long, value_name = "IP:PORT", value_parser = server)]
    spin_server: Option<SocketAddr>,

    /// Faults of the spin servers
    #[arg(long, value_name = "FAULTS", requires = "spin_server",
        value_parser = parsed::<ServerFaults>)]
    spin_server_faults: Option<ServerFaults>,
}

impl FeedArguments {
    /// The protocol of another exchange; `None` for ITCH.
    pub(super) fn protocol(&self) -> Option<FeedProtocol> {
        self.protocol.and_then(DayProtocol::feed)
    }

    /// Whether there is a server of PITCH.
    pub(super) fn has_server(&self) -> bool {
        self.gap_server.is_some() || self.spin_server.is_some()
    }

    /// Returns an error if an option does not apply to the protocol.
    pub(super) fn require_consistent(&self) -> anyhow::Result<()> {
        let protocol = self.protocol();
        if protocol.is_none() && self.date.is_some() {
            bail!("--date applies to another protocol than ITCH");
        }
        if protocol != Some(FeedProtocol::CboePitch) {
            for (option, is_used) in [
                ("--units", self.units.is_some()),
                ("--login", !self.login.is_empty()),
                ("--gap-server", self.gap_server.is_some()),
                ("--spin-server", self.spin_server.is_some()),
            ] {
                if is_used {
                    bail!("{option} applies to --protocol cboe-pitch");
                }
            }
        }
        if !self.login.is_empty() && !self.has_server() {
            bail!("--login has no effect without --gap-server or --spin-server");
        }
        if let Some(fault) = self.gap_answers_faults.as_ref().and_then(Faults::with_a_time) {
            bail!("--gap-answers-faults: {fault} has a time of day, and answers have none");
        }
        Ok(())
    }

    fn gap(&self) -> Option<GapServerOptions> {
        let (server, answers) = self.gap_server.zip(self.gap_answers)?;
        let GapLimits { range, messages, requests } = GapLimits::default();
        let limits = GapLimits {
            range: self.gap_range.unwrap_or(range),
            messages: self.gap_messages.unwrap_or(messages),
            requests: RequestLimits {
                second: self.gap_per_second.unwrap_or(requests.second),
                minute: self.gap_per_minute.unwrap_or(requests.minute),
                day: self.gap_per_day.unwrap_or(requests.day),
            },
        };
        let faults = self.gap_server_faults.unwrap_or_default();
        let answer_faults = self.gap_answers_faults.clone().unwrap_or_default();
        Some(GapServerOptions { server, answers, limits, faults, answer_faults })
    }

    /// The midnight of the day that is read.
    fn midnight_ns(
        &self,
        protocol: FeedProtocol,
        arguments: &ExchangeArguments,
        source: &mut DaySource,
    ) -> anyhow::Result<u64> {
        let name = arguments.input.name();
        let date = match self.date {
            None => trade_date_of(source, name.path())?,
            date => date,
        };
        // PITCH has times of day alone.
        let is_needed = protocol != FeedProtocol::CboePitch || arguments.lines.needs_date();
        match date.map(TradeDate::midnight_ns) {
            None if !is_needed => Ok(0),
            midnight_ns => midnight_ns.with_context(|| {
                format!("{name}: no trade date in the file name: give it, as in --date 2019-12-30")
            }),
        }
    }
}

/// Sends the day in another protocol.
pub(super) fn run(
    arguments: &ExchangeArguments,
    protocol: FeedProtocol,
    format: Format,
) -> anyhow::Result<Status> {
    let feed = &arguments.feed;
    let mut source = arguments.input.open_on_thread()?;
    let midnight_ns = feed.midnight_ns(protocol, arguments, &mut source)?;
    let lines = arguments.options(Some(midnight_ns))?;
    let units = feed.units.unwrap_or(UNITS);
    let faults = feed.spin_server_faults.unwrap_or_default();
    let options = FeedExchangeOptions {
        lines,
        protocol,
        units,
        midnight_ns,
        logins: feed.login.clone(),
        gap: feed.gap(),
        spin: feed.spin_server.map(|server| SpinServerOptions { server, faults }),
    };
    let streams = if protocol == FeedProtocol::CboePitch { units } else { 1 };
    let targets: Vec<_> = arguments.lines.targets().into_iter().flatten().collect();
    check_lines(&targets, streams.into())?;
    let interrupt = interrupt::install()?;
    let folder = std::env::temp_dir();
    let exchange = SimulatedFeed::open(options, &folder, interrupt).map_err(of_exchange)?;
    let mut output = arguments.output.open()?;
    let ready = report::ready(arguments, (protocol, streams), exchange.addresses());
    super::outcome::write_ready(&ready, format, &mut output)?;
    let mut damage = DamageLog::default();
    let summary = {
        let progress = Progress::with_total(source.progress().total_bytes);
        let on_damage = |found| damage.record(found);
        exchange
            .run(&mut source, |source| progress.set(source.progress().done_bytes), on_damage)
            .map_err(of_exchange)?
    };
    let (counts, text) = (report::record_of(&summary), || report::text_of(&summary));
    super::outcome::write_summary(ready, counts, text, format, &mut output)?;
    output.finish()?;
    let is_sent = require_sent(arguments.lines.targets(), &summary.sent.lines);
    if let Some(answers) = feed.gap_answers {
        report_errors(&answers.to_string(), summary.gap.send_errors, None);
    }
    let found = DayReport { summary: summary.sent.day, damage };
    let status = conclude_of(source.name(), &found, "--read-session");
    Ok(if is_sent && summary.gap.send_errors == 0 { status } else { Status::Bad })
}
