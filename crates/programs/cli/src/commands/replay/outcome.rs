//! The report of `nanotape replay`, and its exit status.

use std::{
    fmt::Write as _,
    io::{self, Write},
    net::SocketAddrV4,
};

use nanotape_arguments::{Lacking, report_unread, verdict::conclude};
use nanotape_engine::{DamageLog, DayReport};
use nanotape_exchange::{
    replay::{CaptureDamage, CaptureSummary, DestinationSummary, SkipReason},
    server::ExchangeSummary,
};

use crate::{
    output::Format,
    record::Record,
    sending::{Schedule, day_record, day_text, report_errors, require_sent},
    status::{Status, warn},
    values::{counted, grouped, nanos_text},
};

/// Damage of a capture that gets a line each.
const DAMAGE_LINES: usize = 10;

/// What was replayed.
pub(super) enum Replayed {
    Day { lines: [Option<SocketAddrV4>; 2], summary: Box<ExchangeSummary>, damage: DamageLog },
    Capture(Box<ReplayedCapture>),
}

/// A capture that was replayed, and its damage: the first ones, and the total number.
pub(super) struct ReplayedCapture {
    pub(super) summary: CaptureSummary,
    pub(super) damage: (Vec<CaptureDamage>, u64),
}

/// Adds damage of a capture.
pub(super) fn record_damage(damage: &mut (Vec<CaptureDamage>, u64), found: CaptureDamage) {
    if damage.0.len() < DAMAGE_LINES {
        damage.0.push(found);
    }
    damage.1 += 1;
}

impl Replayed {
    /// Prints the report.
    pub(super) fn report(
        &self,
        name: &str,
        is_sent: bool,
        format: Format,
        output: &mut impl Write,
    ) -> io::Result<()> {
        let sent = if is_sent { "sent" } else { "written" };
        let (record, text) = match self {
            Self::Day { lines, summary, .. } => {
                let address = |line: Option<SocketAddrV4>| line.map(|line| line.to_string());
                let record = Record::default()
                    .with("input", name)
                    .with("kind", "day")
                    .with("line_a", address(lines[0]))
                    .with("line_b", address(lines[1]))
                    .joined(day_record(summary));
                (record, day_text(summary, sent))
            }
            Self::Capture(capture) => (capture.record(name), capture.text(sent)),
        };
        record.write(output, format, true, || text)
    }

    /// Reports what the input lacks and what was not sent; returns the exit status.
    pub(super) fn status(self, name: &str) -> Status {
        match self {
            Self::Day { lines, summary, damage } => {
                let is_sent = require_sent(lines, &summary.lines);
                let status = conclude(name, &DayReport { summary: summary.day, damage });
                if is_sent { status } else { Status::Bad }
            }
            Self::Capture(capture) => capture.status(name),
        }
    }
}

impl ReplayedCapture {
    fn record(&self, name: &str) -> Record {
        let summary = &self.summary;
        let mut record = Record::default()
            .with("input", name)
            .with("kind", "capture")
            .with("packets", summary.packets)
            .with("not_chosen", summary.others.datagrams())
            .with("before", summary.before)
            .with("withheld", summary.withheld)
            .with("without_time", summary.without_time)
            .with("out_of_order", summary.out_of_order)
            .with("shortened_waits", summary.shortened_waits);
        for (reason, count) in self.skipped() {
            let name = reason.name().replace(' ', "_").to_lowercase();
            record = record.with(format!("skipped_{name}"), count);
        }
        record = record
            .with("damaged", self.damage.1 + u64::from(summary.end.is_some()))
            .with("recorded_ns", summary.recorded_ns)
            .joined(Schedule(summary.sending_ns, &summary.faithfulness).record());
        for (line, counts) in ["a", "b", "others"].iter().zip(&summary.destinations) {
            if *line != "others" {
                let address = |address: Option<SocketAddrV4>| address.map(|at| at.to_string());
                record = record
                    .with(format!("{line}_captured"), address(counts.captured))
                    .with(format!("{line}_target"), address(counts.target));
            }
            record = record
                .with(format!("{line}_packets"), counts.packets)
                .with(format!("{line}_messages"), counts.messages)
                .with(format!("{line}_bytes"), counts.bytes)
                .with(format!("{line}_not_numbered"), counts.not_numbered)
                .with(format!("{line}_send_errors"), counts.send_errors);
        }
        record
    }

    fn text(&self, sent: &str) -> String {
        let summary = &self.summary;
        let datagrams = summary.destinations.iter().map(|counts| counts.packets).sum();
        let mut text = format!(
            "{} {sent} in {} ({} recorded), of {}",
            counted(datagrams, "datagram"),
            nanos_text(summary.sending_ns),
            nanos_text(summary.recorded_ns),
            counted(summary.packets, "packet"),
        );
        let skipped = self.skipped().map(|(reason, count)| (reason.name(), count));
        let counts = [
            ("not of a --group", summary.others.datagrams()),
            ("before --from", summary.before),
            ("to another machine", summary.withheld),
            ("without a time", summary.without_time),
            ("earlier than the one before", summary.out_of_order),
            ("after a wait that --longest-wait ended", summary.shortened_waits),
        ];
        for (title, count) in skipped.chain(counts).filter(|(_, count)| *count > 0) {
            // Writing to a string cannot fail.
            let _ = write!(text, "; {} {title}", grouped(count));
        }
        text.push('\n');
        for (line, counts) in ["line A", "line B", "other lines"].iter().zip(&summary.destinations)
        {
            if counts.packets > 0 {
                text += &text_of_line(line, counts, sent);
            }
        }
        text + &Schedule(summary.sending_ns, &summary.faithfulness).text()
    }

    fn skipped(&self) -> impl Iterator<Item = (SkipReason, u64)> {
        SkipReason::ALL.into_iter().zip(self.summary.skipped)
    }

    /// Reports damage and what was not sent; returns the exit status.
    fn status(mut self, name: &str) -> Status {
        if let Some(end) = self.summary.end {
            record_damage(&mut self.damage, end);
        }
        let (first, total) = &self.damage;
        for damage in first {
            warn(format_args!("{name}: {damage}"));
        }
        let more = total.saturating_sub(first.len() as u64);
        if more > 0 {
            warn(format_args!("{name}: and {more} more damaged records"));
        }
        if let Some(fault) = &self.summary.fault {
            warn(format_args!("{fault}"));
        }
        if let Some(first) = self.summary.first_withheld {
            warn(format_args!(
                "{name}: not sent: {} to another machine, such as {first}; --line-a and --line-b \
                 send those to the first two destinations elsewhere",
                counted(self.summary.withheld, "datagram"),
            ));
        }
        let Self { summary, .. } = &self;
        let lacking = Lacking { groups: &summary.absent, session: summary.absent_session };
        let mut is_good = *total == 0 && summary.fault.is_none() && lacking.is_empty();
        if !lacking.is_empty() {
            // Skipped packets are in the report.
            report_unread(name, lacking, &summary.others, &Default::default());
        }
        for counts in &self.summary.destinations {
            let target = counts.target.map(|target| target.to_string());
            let target = target.unwrap_or_else(|| "other destinations".to_owned());
            report_errors(&target, counts.send_errors, counts.first_error);
            is_good &= counts.send_errors == 0;
        }
        if is_good { Status::Good } else { Status::Bad }
    }
}

fn text_of_line(line: &str, counts: &DestinationSummary, sent: &str) -> String {
    let mut text = line.to_owned();
    if let (Some(captured), Some(target)) = (counts.captured, counts.target) {
        let _ = write!(text, " {captured}");
        if target != captured {
            let _ = write!(text, " to {target}");
        }
    }
    let _ = write!(
        text,
        ": {} {sent} ({}) with {}",
        counted(counts.packets, "datagram"),
        counted(counts.bytes, "byte"),
        counted(counts.messages, "message"),
    );
    if counts.not_numbered > 0 {
        let _ =
            write!(text, "; {} of another protocol, or malformed", grouped(counts.not_numbered));
    }
    text.push('\n');
    text
}
