//! `nanotape capture`: the groups and sessions of a capture, and what is missing of them.

use std::{fmt::Write as _, path::PathBuf};

use clap::Args;
use nanotape_arguments::{DayArguments, Lacking, report_unread, text::known_time_text};
use nanotape_feed::capture::{CaptureSurvey, Carried, SkipReason, SurveyRow, SurveySession};

use crate::{
    output::{Format, OutputArguments},
    progress::Progress,
    record::Record,
    status::{Status, warn},
    values::{counted, grouped},
};

/// Damage that gets a line each.
const DAMAGE_LINES: usize = 10;

#[derive(Args, Debug)]
#[command(
    mut_arg("file", |input| input.index(1).help(
        "Capture (pcap or pcapng), plain, gzip or zstd; - is standard input"
    )),
    mut_arg("groups", |groups| groups.help(
        "Only datagrams to this destination, with or without a port; can be repeated"
    )),
    mut_arg("read_session", |session| session.help("Only this session of MoldUDP64")),
    mut_arg("pieces", |pieces| pieces.hide(true)),
    after_help = "\
Examples:
  nanotape capture day.pcap
  nanotape capture day.pcapng.zst --format csv                   a row for each group
  nanotape capture day.pcap --format json | jq 'select(.missing > 0)'
  nanotape capture day.pcap --group 233.54.12.111:26477
  nanotape capture day_00*.pcap                                  the pieces of one capture
  nanotape inside day.pcap --group 233.54.12.111 --group 233.86.230.111     read two of the groups

Prints a row for each destination and session: its protocol (MoldUDP64, IEX-TP or other UDP),
packets and messages, the lowest and the highest message number, gaps (ranges of missing numbers),
missing messages, duplicates, and the times of its first and last packet in UTC. `shared` are the
messages that another destination of the same session has too: lines A and B share all but their
losses. A session is complete if its destinations together have every message.

JSON also has an object for each session, and one for the file. CSV has the rows only. Both have
more columns: overtaken messages, heartbeats, malformed packets, the sender, VLANs, and for IEX-TP
the segments whose stream offset does not continue the one before.

Exit status: 0 every session is complete; 1 messages are missing, packets are truncated or
malformed, the file is damaged, or a --group or the --session is not in it; 2 wrong usage, or a file
that cannot be opened or is not a capture."
)]
pub(crate) struct CaptureArguments {
    #[command(flatten)]
    input: DayArguments,

    /// Further files of the capture, such as those of a rotated one, in any order
    #[arg(value_name = "FILE", index = 2)]
    more: Vec<PathBuf>,

    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &CaptureArguments) -> anyhow::Result<Status> {
    let format = arguments.output.format_or(Format::Text)?;
    let mut source = arguments.input.open_with(&arguments.more)?;
    let survey = {
        let progress = Progress::with_total(source.progress().total_bytes);
        CaptureSurvey::read(&mut source, |source| progress.set(source.progress().done_bytes))?
    };
    let mut output = arguments.output.open()?;
    let name = source.name();
    if format == Format::Text {
        of_file(name, &survey).write(&mut output, format, true, || text(name, &survey))?;
    } else {
        for (number, row) in survey.rows.iter().enumerate() {
            of_row(row).write(&mut output, format, number == 0, String::new)?;
        }
    }
    if format == Format::Json {
        for session in &survey.sessions {
            of_session(session).write(&mut output, format, false, String::new)?;
        }
        of_file(name, &survey).write(&mut output, format, false, String::new)?;
    }
    output.finish()?;
    complain(name, &survey);
    Ok(if survey.is_good() { Status::Good } else { Status::Bad })
}

/// Reports the damage of the file, and the groups that it lacks.
fn complain(name: &str, survey: &CaptureSurvey) {
    for damage in survey.damage.iter().take(DAMAGE_LINES) {
        warn(format_args!("{name}: {damage}"));
    }
    let more = survey.total_damage.saturating_sub(DAMAGE_LINES as u64);
    if more > 0 {
        warn(format_args!("{name}: and {more} more damaged records"));
    }
    if let Some(fault) = &survey.fault {
        warn(fault);
    }
    let lacking = Lacking { groups: &survey.absent, session: survey.absent_session };
    if !lacking.is_empty() {
        // Skipped packets are in the output.
        report_unread(name, lacking, &survey.others, &Default::default());
    }
}

fn of_row(row: &SurveyRow) -> Record {
    let is_numbered = row.carried != Carried::Other;
    let numbered = |count: u64| is_numbered.then_some(count);
    let has_offsets = matches!(row.carried, Carried::IexTp(_));
    Record::default()
        .with("destination", row.destination.to_string())
        .with("protocol", row.carried.protocol())
        .with("session", row.carried.session())
        .with("packets", row.packets)
        .with("messages", numbered(row.messages))
        .with("first_message", row.first_message)
        .with("last_message", row.last_message)
        .with("gaps", numbered(row.gaps))
        .with("missing", numbered(row.missing))
        .with("duplicates", numbered(row.duplicates))
        .with("shared", numbered(row.shared))
        .with("overtaken", numbered(row.overtaken))
        .with("heartbeats", numbered(row.heartbeats))
        .with("malformed", numbered(row.malformed))
        .with("offset_mismatches", has_offsets.then_some(row.offset_mismatches))
        .with("has_ended", is_numbered.then_some(row.has_ended))
        .with("bytes", row.bytes)
        .with("source", row.source.to_string())
        .with("vlans", vlans_text(row))
        .with("first_ts_ns", row.times_ns.map(|(first, _)| first))
        .with("last_ts_ns", row.times_ns.map(|(_, last)| last))
}

fn of_session(session: &SurveySession) -> Record {
    Record::default()
        .with("session", session.carried.session())
        .with("protocol", session.carried.protocol())
        .with("groups", session.groups)
        .with("messages", session.messages)
        .with("missing", session.missing)
}

fn of_file(name: &str, survey: &CaptureSurvey) -> Record {
    let times_ns = times_ns(survey);
    let mut record = Record::default()
        .with("path", name)
        .with("packets", survey.packets)
        .with("bytes", survey.bytes)
        .with("rows", survey.rows.len())
        .with("sessions", survey.sessions.len())
        .with("messages", survey.rows.iter().map(|row| row.messages).sum::<u64>());
    for (reason, count) in SkipReason::ALL.into_iter().zip(survey.skipped) {
        let name = reason.name().replace(' ', "_").to_lowercase();
        record = record.with(format!("skipped_{name}"), count);
    }
    record
        .with("not_chosen", survey.others.datagrams())
        .with("without_row", survey.without_row)
        .with("damaged", survey.total_damage)
        .with("first_damage", survey.damage.first().map(ToString::to_string))
        .with("first_ts_ns", times_ns.map(|(first, _)| first))
        .with("last_ts_ns", times_ns.map(|(_, last)| last))
}

/// The times of the first and the last datagram.
fn times_ns(survey: &CaptureSurvey) -> Option<(u64, u64)> {
    let times = survey.rows.iter().filter_map(|row| row.times_ns);
    times.reduce(|one, two| (one.0.min(two.0), one.1.max(two.1)))
}

fn vlans_text(row: &SurveyRow) -> String {
    let vlans: Vec<_> = row.vlans.as_slice().iter().map(ToString::to_string).collect();
    vlans.join("/")
}

fn text(name: &str, survey: &CaptureSurvey) -> String {
    let mut text = format!("{name}\n");
    let mut line = |title: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{title:<15} {value}");
    };
    line("packets", format!("{} in {} bytes", grouped(survey.packets), grouped(survey.bytes)));
    if let Some((first, last)) = times_ns(survey) {
        let (first, last) = (known_time_text(Some(first)), known_time_text(Some(last)));
        line("times", format!("{first} to {last}"));
    }
    let skipped = SkipReason::ALL.into_iter().zip(survey.skipped);
    let skipped = skipped.map(|(reason, count)| (reason.name(), count)).chain([
        ("not chosen", survey.others.datagrams()),
        ("to further groups", survey.without_row),
    ]);
    let skipped: Vec<_> = skipped
        .filter(|(_, count)| *count > 0)
        .map(|(reason, count)| format!("{} {reason}", grouped(count)))
        .collect();
    line("not counted", if skipped.is_empty() { "none".to_owned() } else { skipped.join(", ") });
    line(
        "damage",
        match (survey.damage.first(), survey.total_damage) {
            (None, _) => "none".to_owned(),
            (Some(first), 1) => first.to_string(),
            (Some(first), total) => format!("{}, the first: {first}", counted(total, "record")),
        },
    );
    for session in &survey.sessions {
        line("session", session_text(session));
    }
    rows_text(&mut text, &survey.rows);
    text
}

fn session_text(session: &SurveySession) -> String {
    let SurveySession { carried, groups, messages, missing } = session;
    let name = carried.session().unwrap_or_default();
    let groups = counted(*groups as u64, "group");
    match (messages, missing) {
        (Some(messages), Some(missing)) => {
            let (messages, missing) = (grouped(*messages), grouped(*missing));
            format!(
                "{name}: {} on {groups}, {messages} messages, {missing} missing",
                carried.protocol()
            )
        }
        _ => format!("{name}: {} on {groups}, too many gaps to compare them", carried.protocol()),
    }
}

fn rows_text(text: &mut String, rows: &[SurveyRow]) {
    if rows.is_empty() {
        return;
    }
    let width = |least: usize, of: &dyn Fn(&SurveyRow) -> usize| {
        rows.iter().map(of).fold(least, usize::max)
    };
    let at = width(11, &|row| row.destination.to_string().len());
    let name = width(7, &|row| row.carried.session().unwrap_or_default().len());
    let _ = writeln!(
        text,
        "\n{:<at$}  {:<9}  {:<name$} {:>9} {:>10} {:>10} {:>10} {:>6} {:>8} {:>10} {:>10}  times",
        "destination",
        "protocol",
        "session",
        "packets",
        "messages",
        "first",
        "last",
        "gaps",
        "missing",
        "duplicates",
        "shared"
    );
    for row in rows {
        let numbered = |count: u64| match row.carried {
            Carried::Other => String::new(),
            _ => count.to_string(),
        };
        let number = |number: Option<u64>| number.map(|number| number.to_string());
        let (first, last) = row.times_ns.unzip();
        let _ = writeln!(
            text,
            "{:<at$}  {:<9}  {:<name$} {:>9} {:>10} {:>10} {:>10} {:>6} {:>8} {:>10} {:>10}  {} to {}",
            row.destination.to_string(),
            row.carried.protocol(),
            row.carried.session().unwrap_or_default(),
            row.packets,
            numbered(row.messages),
            number(row.first_message).unwrap_or_default(),
            number(row.last_message).unwrap_or_default(),
            numbered(row.gaps),
            numbered(row.missing),
            numbered(row.duplicates),
            numbered(row.shared),
            known_time_text(first),
            known_time_text(last),
        );
        let notes = notes_of(row);
        if !notes.is_empty() {
            let _ = writeln!(text, "{:<at$}  {}", "", notes.join(", "));
        }
    }
}

/// What few rows have.
fn notes_of(row: &SurveyRow) -> Vec<String> {
    let vlans = vlans_text(row);
    let vlan = (!vlans.is_empty()).then(|| format!("VLAN {vlans}"));
    let counts = [
        (row.overtaken, "overtaken message"),
        (row.malformed, "malformed packet"),
        (row.offset_mismatches, "segment at an unexpected stream offset"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let ended = row.has_ended.then(|| "end of session".to_owned());
    vlan.into_iter().chain(counts.map(|(count, noun)| counted(count, noun))).chain(ended).collect()
}
