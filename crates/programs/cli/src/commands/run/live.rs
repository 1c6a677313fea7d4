//! The options of a live session, and what is said about its lines.

use std::{net::IpAddr, path::PathBuf, time::Duration};

use anyhow::bail;
use clap::Args;
use nanotape_arguments::session;
use nanotape_engine::DayReport;
use nanotape_feed::{
    SessionSummary,
    session::{GapPolicy, Join},
};
use nanotape_live::{GroupAddress, Interface, ServerAddress, Timestamps, parse_ip};
use nanotape_plant::{
    PlantConfig, PlantSource,
    config::{InputConfig, ScheduleConfig},
};

use crate::{
    status::{note, warn},
    values::duration,
};

#[derive(Args, Debug)]
#[command(next_help_heading = "Live session")]
pub(super) struct LiveArguments {
    /// Receive a live session of MoldUDP64 packets instead of reading a file
    #[arg(long, conflicts_with = "input")]
    live: bool,

    /// Line A: a multicast group, or an address of this machine, as in 239.1.1.1:5001,
    /// [ff15::1]:5001, or [ff02::1%eth0]:5001 with its interface
    #[arg(long, value_name = "IP:PORT", requires = "live")]
    line_a: Option<GroupAddress>,

    /// Line B, which carries the same messages
    #[arg(long, value_name = "IP:PORT", requires = "live")]
    line_b: Option<GroupAddress>,

    /// Line C
    #[arg(long, value_name = "IP:PORT", requires = "line_b", hide_short_help = true)]
    line_c: Option<GroupAddress>,

    /// Line D
    #[arg(long, value_name = "IP:PORT", requires = "line_c", hide_short_help = true)]
    line_d: Option<GroupAddress>,

    /// Interface on which groups are joined, by its address or name [default: the choice of the
    /// kernel]
    #[arg(long, value_name = "IP|NAME", requires = "live")]
    interface: Option<Interface>,

    /// Only sender of line A's group that is received: source-specific multicast
    #[arg(long, value_name = "IP", requires = "line_a", value_parser = parse_ip)]
    source_a: Option<IpAddr>,

    /// Only sender of line B's group that is received
    #[arg(long, value_name = "IP", requires = "line_b", value_parser = parse_ip)]
    source_b: Option<IpAddr>,

    /// Only sender of line C's group that is received
    #[arg(long, value_name = "IP", requires = "line_c", value_parser = parse_ip,
          hide_short_help = true)]
    source_c: Option<IpAddr>,

    /// Only sender of line D's group that is received
    #[arg(long, value_name = "IP", requires = "line_d", value_parser = parse_ip,
          hide_short_help = true)]
    source_d: Option<IpAddr>,

    /// Re-request server that sends missing messages again; given again, a stand-by that gets the
    /// requests after a failure
    #[arg(long, alias = "request-server", value_name = "HOST:PORT", requires = "live")]
    rerequest: Vec<ServerAddress>,

    /// SoupBinTCP server that sends many missing messages at once: from 4,096 on, or all without a
    /// re-request server; given again, a stand-by that goes on after a failure
    #[arg(long, alias = "soup", value_name = "HOST:PORT", requires = "live")]
    soupbintcp: Vec<ServerAddress>,

    /// GLIMPSE server that sends a snapshot of the books if messages are lost; given again, a
    /// stand-by that is tried after a failure
    #[arg(long, alias = "snapshot-server", value_name = "HOST:PORT", requires = "live")]
    glimpse: Vec<ServerAddress>,

    /// Where to join a session that has begun before: here with the first packet, start with
    /// message 1 from a server, snapshot with a GLIMPSE snapshot [default: here]
    #[arg(long, value_name = "WHERE", requires = "live")]
    join: Option<Join>,

    /// What happens to the messages after a gap: wait until it is closed, or flag: publish them at
    /// once, flagged, and replace the books that differ when it is closed [default: wait]
    #[arg(long, value_name = "POLICY", requires = "live")]
    gap_policy: Option<GapPolicy>,

    /// Poll the sockets without pause: the shortest delay, for a processor of its own
    #[arg(long, requires = "live")]
    spin: bool,

    /// Let the kernel poll the queue of the card for up to this time when a line has no packet, as
    /// in 50us; may need the capability CAP_NET_ADMIN
    #[arg(long, value_name = "TIME", requires = "live", value_parser = duration)]
    busy_poll: Option<Duration>,

    /// Whose receive times records have: software, those of the kernel, or hardware, those of the
    /// card, which must be set to make them [default: software]
    #[arg(long, value_name = "SOURCE", requires = "live")]
    timestamps: Option<Timestamps>,

    /// When the session has ended, wait for the next one and publish it too, with a start, books
    /// and a trade date of its own
    #[arg(long, requires = "live", conflicts_with = "date")]
    follow: bool,

    /// Join sessions only at these days and times, and end those that are open after them: DAYS
    /// START-END ZONE, as in 'mon-fri 03:55-20:05 America/New_York'
    #[arg(long, value_name = "WHEN", requires = "live")]
    schedule: Option<ScheduleConfig>,

    /// Dates on which no session is joined: a file with one YYYY-MM-DD a line, and comments after #
    #[arg(long, value_name = "FILE", requires = "live")]
    holidays: Option<PathBuf>,

    /// Keep every packet, with its line and time, in a journal in DIR: --input DIR runs it again,
    /// and a plant that is started again with DIR goes on with the session. With --follow, DIR gets
    /// a folder for each session
    #[arg(long, value_name = "DIR", requires = "live")]
    keep: Option<PathBuf>,
}

impl LiveArguments {
    /// Whether a live session is chosen.
    pub(super) fn is_given(&self) -> bool {
        self.live
    }

    /// Overrides the live session of the configuration. A file on the command line replaces it.
    pub(super) fn override_input(&self, has_file: bool, input: &mut InputConfig) {
        if has_file {
            input.live = None;
        }
        if !self.live {
            return;
        }
        let live = input.live.get_or_insert_default();
        for (line, given) in [
            (&mut live.line_a, &self.line_a),
            (&mut live.line_b, &self.line_b),
            (&mut live.line_c, &self.line_c),
            (&mut live.line_d, &self.line_d),
        ] {
            if given.is_some() {
                line.clone_from(given);
            }
        }
        if let Some(interface) = &self.interface {
            live.interface.clone_from(interface);
        }
        live.source_a = self.source_a.or(live.source_a);
        live.source_b = self.source_b.or(live.source_b);
        live.source_c = self.source_c.or(live.source_c);
        live.source_d = self.source_d.or(live.source_d);
        for (servers, given) in [
            (&mut live.rerequest, &self.rerequest),
            (&mut live.soupbintcp, &self.soupbintcp),
            (&mut live.glimpse, &self.glimpse),
        ] {
            if !given.is_empty() {
                servers.clone_from(given);
            }
        }
        live.join = self.join.unwrap_or(live.join);
        live.gap_policy = self.gap_policy.unwrap_or(live.gap_policy);
        live.spin |= self.spin;
        live.busy_poll = self.busy_poll.unwrap_or(live.busy_poll);
        live.timestamps = self.timestamps.unwrap_or(live.timestamps);
        live.follow |= self.follow;
        if let Some(folder) = &self.keep {
            live.keep = Some(folder.clone());
        }
    }
}

impl LiveArguments {
    /// Overrides the schedule of the configuration. A file on the command line has none.
    pub(super) fn override_schedule(&self, has_file: bool, config: &mut PlantConfig) {
        if has_file {
            config.schedule = None;
        }
        if let Some(given) = &self.schedule {
            let holidays = config.schedule.take().and_then(|schedule| schedule.holidays);
            config.schedule = Some(ScheduleConfig { holidays, ..given.clone() });
        }
        if let (Some(file), Some(schedule)) = (&self.holidays, &mut config.schedule) {
            schedule.holidays = Some(file.clone());
        }
    }

    /// Refuses holidays of no schedule.
    pub(super) fn require_schedule(&self, config: &PlantConfig) -> anyhow::Result<()> {
        if self.holidays.is_some() && config.schedule.is_none() {
            bail!(
                "--holidays has no effect without --schedule, or [schedule] in the configuration"
            );
        }
        Ok(())
    }
}

/// Refuses a live session without a line, or with options that do not belong together.
pub(super) fn require_line(config: &PlantConfig) -> anyhow::Result<()> {
    let PlantConfig { input, schedule, .. } = config;
    if schedule.is_some() && input.date.is_some() {
        bail!(
            "--date does not apply to a plant with a schedule: a session has the date of its day"
        );
    }
    match &input.live {
        Some(live) if live.lines().is_empty() => {
            bail!("no line given: use --line-a IP:PORT, or line_a in [input.live]")
        }
        Some(live) if live.join == Join::Snapshot && live.glimpse.is_empty() => {
            bail!("--join snapshot needs --glimpse HOST:PORT, or glimpse in [input.live]")
        }
        Some(live) if live.join == Join::Start && !live.has_retransmissions() => {
            bail!(
                "--join start needs --rerequest or --soupbintcp HOST:PORT, or one of them in \
                 [input.live]"
            )
        }
        _ => Ok(()),
    }
}

/// Warns of what the sockets of the lines lack: a receive buffer that is smaller than requested.
pub(super) fn complain_of_sockets(source: &PlantSource) {
    match source {
        PlantSource::Live(source) => source.warnings().into_iter().for_each(warn),
        PlantSource::Channels(source) => source.warnings().into_iter().for_each(warn),
        _ => {}
    }
}

/// Reports what the lines of a session brought, and what was lost.
pub(super) fn report_session(source: &PlantSource) {
    for (name, value) in source.session().into_iter().flat_map(session::report) {
        note(format_args!("{}: {value}", name.trim_start()));
    }
}

/// Reports that the session had begun before it was joined, and returns whether it had.
pub(super) fn report_late_join(report: &DayReport) -> bool {
    let session = report.summary.session.as_ref().filter(|session| session.is_late);
    if let Some(SessionSummary { first_message, .. }) = session.map(|session| &**session) {
        // Messages of several channels are numbered together from 1.
        let at = match first_message {
            1 => String::new(),
            first => format!(", at message {first}"),
        };
        warn(format_args!(
            "joined late{at}: the books lack earlier orders; use --join start or --join snapshot with \
             a server, or the spin servers of a feed of channels"
        ));
    }
    session.is_some()
}
