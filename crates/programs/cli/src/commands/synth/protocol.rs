//! The day in the protocol of another exchange, as a capture of its packets.

use std::{
    io,
    net::{Ipv4Addr, SocketAddrV4},
    path::Path,
};

use anyhow::{Context as _, bail};
use clap::Args;
use nanotape_exchange::transport::{CaptureTransport, Departure, Transport as _};
use nanotape_plant::TradeDate;
use nanotape_synth::{FeedPacket, FeedProtocol, MarketConfig, ProtocolConfig, ProtocolDay};

use super::First;
use crate::{
    capture_file::FileOfCapture,
    day_protocol::{DayProtocol, check_lines},
    output::OutputArguments,
    sending::target,
    values::count,
};

/// Where the lines go by default.
const LINES: [SocketAddrV4; 2] = [
    SocketAddrV4::new(Ipv4Addr::new(239, 1, 1, 1), 5_001),
    SocketAddrV4::new(Ipv4Addr::new(239, 1, 1, 2), 5_002),
];

/// The sender of every packet.
const SENDER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// How many routers may pass a packet on.
const TIME_TO_LIVE: u8 = 1;

/// Options of days in other protocols.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Protocol")]
pub(super) struct ProtocolArguments {
    /// Protocol of the day [default: itch]; a day of another protocol than ITCH is a capture
    #[arg(long, value_enum, value_name = "PROTOCOL")]
    protocol: Option<DayProtocol>,

    /// Matching units of PITCH; each stock belongs to one [default: 2]
    #[arg(long, value_name = "N", requires = "protocol", value_parser = count::<u8>(1..=250))]
    units: Option<u8>,

    /// Number of lines in the capture, 1 or 2 [default: 1, or 2 with --line-b]
    #[arg(long, value_name = "N", requires = "protocol", value_parser = count::<u8>(1..=2))]
    lines: Option<u8>,

    /// Where line A goes; further units of PITCH have the ports after it [default: 239.1.1.1:5001]
    #[arg(long, value_name = "IP:PORT", requires = "protocol", value_parser = target)]
    line_a: Option<SocketAddrV4>,

    /// Where line B goes [default: 239.1.1.2:5002]
    #[arg(long, value_name = "IP:PORT", requires = "protocol", value_parser = target)]
    line_b: Option<SocketAddrV4>,

    /// Format of the capture [default: from the suffix of FILE, otherwise pcap]
    #[arg(long, value_enum, value_name = "FORMAT", requires = "protocol")]
    capture_format: Option<FileOfCapture>,
}

/// A capture to be written.
#[derive(Debug)]
pub(super) struct ProtocolCapture {
    config: ProtocolConfig,
    lines: [SocketAddrV4; 2],
    output: OutputArguments<FileOfCapture>,
    format: FileOfCapture,
}

impl ProtocolArguments {
    /// The capture that the arguments choose; `None` for a day file.
    pub(super) fn capture(
        &self,
        market: &MarketConfig,
        output: &Path,
        force: bool,
    ) -> anyhow::Result<Option<ProtocolCapture>> {
        let Some(protocol) = self.protocol.and_then(DayProtocol::feed) else {
            let given = [
                ("--units", self.units.is_some()),
                ("--lines", self.lines.is_some()),
                ("--line-a", self.line_a.is_some()),
                ("--line-b", self.line_b.is_some()),
                ("--capture-format", self.capture_format.is_some()),
            ];
            if let Some((option, _)) = given.iter().find(|(_, is_given)| *is_given) {
                bail!("{option} applies to a capture, and a day of ITCH is a day file");
            }
            return Ok(None);
        };
        if self.units.is_some() && protocol != FeedProtocol::CboePitch {
            bail!("--units applies to cboe-pitch: {protocol} has one stream");
        }
        if self.lines == Some(1) && self.line_b.is_some() {
            bail!("--line-b needs two lines: leave out --lines 1");
        }
        // The market's dates have other limits.
        let date = market.date.to_string();
        let date: TradeDate = date.parse().with_context(|| format!("--date {date}"))?;
        let config = ProtocolConfig {
            protocol,
            midnight_ns: date.midnight_ns(),
            units: self.units.unwrap_or(2),
            has_line_b: self.line_b.is_some() || self.lines == Some(2),
        };
        let lines = [self.line_a.unwrap_or(LINES[0]), self.line_b.unwrap_or(LINES[1])];
        check_lines(&lines[..1 + usize::from(config.has_line_b)], config.streams())?;
        let force = force && output != Path::new("-");
        let format = self.capture_format;
        let output = OutputArguments { output: Some(output.to_owned()), force, format };
        let format = output.format_or(FileOfCapture::Pcap)?;
        Ok(Some(ProtocolCapture { config, lines, output, format }))
    }
}

impl ProtocolCapture {
    /// Writes the day, piece by piece.
    pub(super) fn write(self, first: &mut First) -> anyhow::Result<()> {
        let Self { config, lines, output, format } = self;
        let mut day = ProtocolDay::new(first.market(), config);
        let mut file = output.open()?;
        let mut transport = CaptureTransport::new(&mut file, format.into(), TIME_TO_LIVE)?;
        let mut take = |packet: FeedPacket<'_>| -> io::Result<()> {
            let FeedPacket { ts_ns, line, stream, payload } = packet;
            let line = lines[line];
            let port = line.port() + stream as u16;
            transport.send(Departure {
                ts_ns,
                source: SocketAddrV4::new(SENDER, port),
                destination: SocketAddrV4::new(*line.ip(), port),
                vlans: &[],
                payload,
            })
        };
        let progress = first.progress();
        let mut buffer = Vec::new();
        while first.fill(&mut buffer) {
            day.add(&buffer, &mut take)?;
            progress.set(first.done());
            buffer.clear();
        }
        day.finish(&mut take)?;
        drop(progress);
        file.finish()?;
        Ok(())
    }
}
