//! The figures of a live session: its position, its gaps, and its lines with the race between them.

use super::figure::{Figure, FigureValue, Kind, about, flag, nanos, real, text, whole};
use crate::{LineStat, LiveStat};

/// The quantiles of the times of a line that are shown.
const QUANTILES: [(&str, f64); 3] = [("p50", 0.5), ("p99", 0.99), ("max", 1.0)];

/// The figures of a session; none is known without one.
pub fn session_figures(stat: Option<&LiveStat>) -> Vec<Figure> {
    match stat {
        Some(stat) => of_session(stat),
        None => {
            let unknown = of_session(&LiveStat::default()).into_iter();
            unknown.map(|figure| Figure { value: None, ..figure }).collect()
        }
    }
}

fn of_session(stat: &LiveStat) -> Vec<Figure> {
    let (at, gaps, fills) = (stat.position, stat.gaps, stat.gaps.fills);
    let outcome = |figure: Figure, outcome| {
        let help = "Messages of closed gaps, by what became of them.";
        figure.counter(help).named("session_gap_messages").of("outcome", outcome)
    };
    let lines = stat.lines.iter().zip('A'..);
    let lines = lines.map(|(line, letter)| of_line(line, letter, stat)).collect();
    let figures = vec![
        whole("session_next_message", at.expected).gauge("Number of the next message to deliver."),
        whole("session_missing", at.missing)
            .gauge("Messages that are missing now, before later ones."),
        whole("session_kept", at.kept).gauge("Messages that are kept until earlier ones come."),
        flag("session_suspect", at.is_suspect)
            .gauge("1 if messages are lost that no snapshot has replaced."),
        flag("session_holding", at.is_holding)
            .gauge("1 if messages are kept until a snapshot comes."),
        flag("session_ended", at.has_ended).gauge("1 if the session has ended."),
        whole("gaps", gaps.declared).counter("Gaps that no line filled within the hold time."),
        whole("gaps_open", gaps.declared.saturating_sub(gaps.closed))
            .gauge("Gaps that are open now."),
        nanos("gap_longest_ns", gaps.longest_ns).gauge("The longest time that a gap was open."),
        outcome(whole("gap_messages_from_lines", sum(fills.lines)), "line"),
        outcome(whole("gap_messages_retransmitted", fills.retransmitted), "rerequest"),
        outcome(whole("gap_messages_in_snapshot", fills.snapshot), "snapshot"),
        outcome(whole("gap_messages_lost", fills.lost), "lost"),
        whole("messages_in_time_from_other_line", stat.overtaken)
            .counter("Messages that a line lacked and another one brought within the hold time."),
        whole("rerequest_packets", stat.answers.packets)
            .counter("Packets of the re-request server."),
        whole("rerequest_messages", stat.answers.first_messages)
            .counter("Messages that only the re-request server brought."),
        whole("rerequest_errors", stat.rerequest_errors)
            .counter("Errors of the sockets to re-request servers."),
        whole("rerequest_servers_down", stat.rerequest_servers_down)
            .gauge("Re-request servers that cannot be reached or do not answer."),
        whole("snapshot_failures", stat.snapshot_failures)
            .counter("Attempts to get a snapshot that failed."),
        whole("soupbintcp_failures", stat.soupbintcp_failures)
            .counter("Failures of SoupBinTCP servers."),
        Figure::new("lines", Some(FigureValue::Rows(lines))),
    ];
    about("session", figures)
}

fn of_line(line: &LineStat, letter: char, stat: &LiveStat) -> Vec<Figure> {
    let counts = &line.counts;
    let races = sum(stat.lines.iter().map(|line| line.leads.count()));
    // Of the packets that several lines brought, those in which this one was earlier.
    let won = line.leads.count() as f64 * 100.0 / races.max(1) as f64;
    let mut figures = vec![
        text("line", Some(letter)).label().outside_json(),
        text("address", Some(line.address)).metric(Kind::Info, "A line of the session."),
        whole("packets", counts.packets)
            .counter("Packets on a line, also those that were dropped."),
        whole("bytes", counts.bytes).counter("Bytes of these packets."),
        whole("heartbeats", counts.heartbeats).counter("Packets without messages."),
        whole("messages", counts.messages).counter("Messages on a line."),
        whole("first_messages", counts.first_messages)
            .counter("Messages that this line brought first."),
        whole("missing", counts.missing)
            .gauge("Messages that a line has not brought, although it brought later ones."),
        whole("overtaken", counts.overtaken)
            .counter("Messages that came after later ones of the line."),
        whole("duplicates", counts.duplicates).counter("Messages that a line had brought before."),
        whole("other_session", counts.other_session).counter("Packets of another session."),
        whole("far_ahead", counts.far_ahead)
            .counter("Packets dropped because nothing agreed with their numbers."),
        whole("malformed", sum(counts.malformed))
            .counter("Packets that do not follow their format."),
        whole("kernel_drops", line.kernel_drops)
            .counter("Packets dropped because the receive buffer was full."),
        whole("socket_errors", line.socket_errors).counter("Errors of the socket of a line."),
        flag("socket_failing", line.is_failing)
            .gauge("1 if the socket of a line cannot be read, or its group cannot be joined."),
        whole("silences", counts.silences).counter("Times that a line was silent."),
        whole("races_won", line.leads.count())
            .counter("Packets that came earlier than on another line."),
        real("races_won_percent", Some(won)),
        Figure::new("ahead_ns", Some(FigureValue::Times(line.leads.clone())))
            .metric(Kind::Histogram, "How much earlier these packets came.")
            .outside_json(),
        whole("delays", line.delays.count()),
        whole("unknown_delays", line.unknown_delays).counter(
            "Packets without a delay of 0 to 4 s: clocks differ, or the day is sent again.",
        ),
        Figure::new("delay_ns", Some(FigureValue::Times(line.delays.clone())))
            .metric(Kind::Histogram, "From the exchange's time of a packet to its receive time.")
            .outside_json(),
    ];
    for (name, times) in [("ahead_ns", &line.leads), ("delay_ns", &line.delays)] {
        let figure = |(of, share)| nanos(format!("{name}_{of}"), times.quantile(share));
        figures.extend(QUANTILES.map(figure));
    }
    about("line", figures)
}

/// A sum of counts of a board, which may be any numbers.
fn sum(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}
