//! `nanotape replay`: send a day or a capture at its recorded pace, or write it as a capture.

mod outcome;

use std::{
    io::{self, IsTerminal as _, Write},
    net::{Ipv4Addr, SocketAddrV4},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, bail};
use clap::Args;
use nanotape_arguments::DayArguments;
use nanotape_engine::DamageLog;
use nanotape_exchange::{
    replay::{CaptureOptions, replay_capture, replay_day},
    server::ExchangeOptions,
    transport::{CaptureTransport, SocketTransport, Transport},
};
use nanotape_feed::DaySource;
use nanotape_plant::{Pace, TradeDate, trade_date_of};
use outcome::{Replayed, ReplayedCapture};

use crate::{
    capture_file::FileOfCapture,
    interrupt,
    output::{Format, OutputArguments},
    progress::Progress,
    sending::{LineArguments, of_exchange},
    status::Status,
    values::duration_or_seconds,
};

/// Where a day goes in a capture if no line is given.
const LINE_A: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(239, 1, 1, 1), 5_001);

#[derive(Args, Debug)]
#[command(
    mut_arg("file", |input| input.value_name("INPUT").help(
        "Day file of ITCH 5.0 or capture (pcap or pcapng), plain, gzip or zstd, or - for standard \
         input"
    )),
    mut_arg("read_session", |session| session.long("read-session").help(
        "Send only this MoldUDP64 session of a capture"
    )),
    after_help = "\
Examples:
  nanotape replay day.itch50 --line-a 239.1.1.1:5001 --line-b 239.1.1.2:5002 --pace 10x
  nanotape replay day.pcap                                            to the groups in the capture
  nanotape replay day.pcap --line-a 127.0.0.1:5001 --line-b 127.0.0.1:5002 --from 09:30
  nanotape replay 12302019.NASDAQ_ITCH50.gz -o day.pcapng --until 09:31             for Wireshark
  nanotape replay day.itch50 --date 2019-12-30 -o day.pcap.zst --line-a 239.1.1.1:5001 \\
      --line-b 239.1.1.2:5002 --faults-a drop=2%,reorder=1%x4 --faults-b drop=2% --seed 7

A day becomes MoldUDP64 packets on one or two lines, as `nanotape exchange` sends them, without its
servers. docs/exchange.md describes the packets and FAULTS. The datagrams of a capture leave as they
are. --line-a and --line-b send those to its first and second destination elsewhere. Without them, a
datagram to a group or to 127.0.0.0/8 goes there; one to another machine is counted and not sent.
Packets without a complete UDP datagram are counted and skipped. --from and --until are times of day
in New York.

Packets leave on an absolute schedule, so delays do not add up. One wrong time in a capture can be
years ahead: a long wait is a line on standard error, and --longest-wait bounds it. The report has the
packets, messages and bytes of each line, and how late packets left. Multicast packets stay on this
machine unless --ttl is 1 or more.

-o writes a capture instead, without waiting. Packets have their times on the schedule: the midnight
of the trade date in New York and the time of the message, or the time in the capture. A day without
lines goes to 239.1.1.1:5001. The report is on standard output, or with -o - on standard error.

Ctrl-C ends the replay; a capture has what was written until then.

Exit status: 0 the input was replayed, or Ctrl-C; 1 the input is damaged or truncated, or packets
could not be sent; 2 wrong usage, or an interface or a file that cannot be opened or written."
)]
pub(crate) struct ReplayArguments {
    #[command(flatten)]
    input: DayArguments,

    #[command(flatten)]
    lines: LineArguments,

    /// Pace: max, or a multiple of the recorded pace such as 1x or 10x
    #[arg(long, default_value_t = Pace::Recorded { milli: 1_000 }, conflicts_with = "output")]
    pace: Pace,

    /// Wait at most this long for a packet of a capture, as in 10s: leave out what was recorded
    /// above it, for this packet and those after it
    #[arg(long, value_name = "TIME", value_parser = duration_or_seconds, conflicts_with = "output")]
    longest_wait: Option<Duration>,

    /// Write a capture to FILE, or to standard output for -, and send nothing; the suffix chooses
    /// the format (.pcap or .pcapng) and the compression (.gz or .zst)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Overwrite FILE if it exists
    #[arg(long, requires = "output")]
    force: bool,

    /// Format of the capture [default: from the suffix of FILE, otherwise pcap]
    #[arg(long, value_enum, value_name = "FORMAT", requires = "output")]
    capture_format: Option<FileOfCapture>,

    /// Trade date of a day file whose name has none, as in 2019-12-30, for the times of a capture
    #[arg(long, value_name = "DATE", requires = "output")]
    date: Option<TradeDate>,

    /// Format of the report
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(arguments: &ReplayArguments) -> anyhow::Result<Status> {
    let output = arguments.capture_output()?;
    let mut source = arguments.input.open_on_thread()?;
    let is_capture = source.is_capture()?;
    let options = arguments.options(is_capture, &mut source)?;
    let Some((output, format)) = output else {
        let transport = SocketTransport::open(options.interface, options.ttl);
        let transport = transport.map_err(of_exchange)?;
        let replayed = arguments.replay(is_capture, options, (transport, 0), &mut source)?;
        return arguments.conclude(source.name(), replayed, &mut io::stdout());
    };
    let midnight_ns = if is_capture { 0 } else { arguments.midnight_ns(source.name())? };
    let mut file = output.open()?;
    let time_to_live = arguments.lines.ttl;
    let transport = CaptureTransport::new(&mut file, format.into(), time_to_live)?;
    let replayed = arguments.replay(is_capture, options, (transport, midnight_ns), &mut source)?;
    file.finish()?;
    if arguments.is_to_stdout() {
        return arguments.conclude(source.name(), replayed, &mut io::stderr());
    }
    arguments.conclude(source.name(), replayed, &mut io::stdout())
}

impl ReplayArguments {
    fn is_to_stdout(&self) -> bool {
        self.output.as_deref() == Some(Path::new("-"))
    }

    /// The file of `-o`, and its format.
    fn capture_output(
        &self,
    ) -> anyhow::Result<Option<(OutputArguments<FileOfCapture>, FileOfCapture)>> {
        let Some(output) = self.output.clone() else { return Ok(None) };
        if self.is_to_stdout() && io::stdout().is_terminal() {
            bail!("standard output is a terminal and a capture is binary; pipe it, or use -o FILE");
        }
        let (force, format) = (self.force, self.capture_format);
        let output = OutputArguments { output: Some(output), force, format };
        let format = output.format_or(FileOfCapture::Pcap)?;
        Ok(Some((output, format)))
    }

    /// The lines, with the default line of a capture.
    fn options(&self, is_capture: bool, source: &mut DaySource) -> anyhow::Result<ExchangeOptions> {
        let name = self.input.name();
        let mut date = self.date;
        if date.is_none() && !is_capture && self.lines.needs_date() {
            date = trade_date_of(source, Path::new(name))?;
        }
        let midnight_of = |nanos| match is_capture {
            true => TradeDate::of_time(nanos).map(TradeDate::midnight_ns),
            false => date.map(TradeDate::midnight_ns),
        };
        let mut options = self.lines.options(self.pace, name, midnight_of)?;
        options.linger = Duration::ZERO;
        if is_capture {
            self.lines.require_no_packets_of_own(self.input.name())?;
            if self.date.is_some() {
                bail!("{}: is a capture, and --date applies to a day", self.input.name());
            }
        } else if self.longest_wait.is_some() {
            bail!("{}: is a day, and --longest-wait applies to a capture", self.input.name());
        } else if !self.lines.is_any() {
            if self.output.is_none() {
                bail!(
                    "nothing to send to: use --line-a IP:PORT or --line-b, or write a capture with \
                     -o day.pcap"
                );
            }
            options.lines[0] = Some(LINE_A);
        }
        self.lines.require_consistent(options.lines)?;
        self.lines.require_no_restart(false)?;
        Ok(options)
    }

    /// The midnight of the day that is read.
    fn midnight_ns(&self, name: &str) -> anyhow::Result<u64> {
        let of_name = || self.input.path().and_then(TradeDate::of_file_name);
        let date = self.date.or_else(of_name).with_context(|| {
            format!("{name}: no trade date in the file name: give it, as in --date 2019-12-30")
        })?;
        Ok(date.midnight_ns())
    }

    fn replay<T: Transport>(
        &self,
        is_capture: bool,
        options: ExchangeOptions,
        (transport, midnight_ns): (T, u64),
        source: &mut DaySource,
    ) -> anyhow::Result<Replayed> {
        let interrupt = interrupt::install()?;
        let progress = Progress::with_total(source.progress().total_bytes);
        let update = |source: &DaySource| progress.set(source.progress().done_bytes);
        if is_capture {
            let options = CaptureOptions {
                pace_milli: options.pace_milli,
                lines: options.lines,
                from: options.from,
                until: options.until,
                pace_from: options.pace_from,
                report: options.report,
                midnight_of: |ns| TradeDate::of_time(ns).map_or(ns, TradeDate::midnight_ns),
                longest_wait: self.longest_wait,
            };
            let mut damage = (Vec::new(), 0);
            let on_damage = |found| outcome::record_damage(&mut damage, found);
            let summary = replay_capture(options, transport, interrupt, source, update, on_damage);
            let summary = summary.map_err(of_exchange)?;
            return Ok(Replayed::Capture(Box::new(ReplayedCapture { summary, damage })));
        }
        let mut damage = DamageLog::default();
        let (lines, day) = (options.lines, (transport, midnight_ns));
        let on_damage = |found| damage.record(found);
        let summary = replay_day(&options, day, interrupt, source, update, on_damage);
        let summary = summary.map_err(of_exchange)?;
        Ok(Replayed::Day { lines, summary: Box::new(summary), damage })
    }

    /// Prints the report, and what the input lacks on standard error.
    fn conclude(
        &self,
        name: &str,
        replayed: Replayed,
        output: &mut impl Write,
    ) -> anyhow::Result<Status> {
        replayed.report(name, self.output.is_none(), self.format, output)?;
        Ok(replayed.status(name))
    }
}
