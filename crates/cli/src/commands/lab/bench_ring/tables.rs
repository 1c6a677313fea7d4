//! What was found out, in tables for people; the records go along.

use core::fmt::Write as _;

use nanotape_bench::{
    Spread,
    ring::{Amount, LINE, Measured, Ratio, Section, Settings, Times},
};

use super::Results;
use nanotape_console::{records::Records, values::grouped};

/// Writes everything.
pub(super) fn write(results: &Results, output: &mut Records) -> anyhow::Result<()> {
    output.heading(&heading(results))?;
    let mut last = None;
    for measured in &results.measured {
        // Limits are of two kinds: what is timed, and what is counted.
        let kind = (measured.row.section, measured.row.is_timed());
        if last != Some(kind) {
            last = Some(kind);
            output.heading(&section(kind, &results.settings))?;
        }
        output.result(&row(measured, results), results.record(measured))?;
    }
    output.heading(&footing(results))
}

fn heading(results: &Results) -> String {
    let settings = &results.settings;
    let mut text = String::new();
    let amount = match settings.amount {
        Amount::Seconds(seconds) => format!("{seconds} s"),
        Amount::Messages(messages) => format!("{} messages", grouped(messages)),
    };
    let _ = writeln!(
        text,
        "\nrings of {} bytes, messages of {} bytes, {} {} of {amount} each; writer on processor {}, \
         reader on processor {}",
        grouped(settings.capacity_bytes as u64),
        settings.length,
        results.rounds,
        if results.rounds == 1 { "round" } else { "rounds" },
        settings.cpus.writer,
        settings.cpus.readers[0],
    );
    for note in &results.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

/// What disturbed the run, and what cannot be: behind the rows that it is about.
fn footing(results: &Results) -> String {
    let mut text = String::new();
    let noisy: Vec<&Measured> =
        results.measured.iter().filter(|measured| !measured.noise().sentences.is_empty()).collect();
    if !noisy.is_empty() {
        let worst = noisy
            .iter()
            .filter_map(|measured| Some((measured.noise().foreign?, measured.row.name)));
        let worst = worst.max_by(|one, other| one.0.total_cmp(&other.0));
        let worst = worst.map_or(String::new(), |(share, name)| {
            format!(", up to {:.0}% of a processor ({name})", 100.0 * share)
        });
        let _ = writeln!(
            text,
            "\nnoise: others used the processors during {} of {} rows{worst}",
            noisy.len(),
            results.measured.len()
        );
    }
    let reversed: u64 = results
        .measured
        .iter()
        .flat_map(|measured| &measured.readings)
        .filter_map(|reading| reading.times)
        .map(|times| times.reversed)
        .sum();
    if reversed > 0 {
        let _ = writeln!(
            text,
            "note: {} messages arrived before they were sent, by the clocks of their processors, \
             and count as 0 ns",
            grouped(reversed)
        );
    }
    text
}

fn section((section, is_timed): (Section, bool), settings: &Settings) -> String {
    let title = match (section, is_timed) {
        (Section::OneWay, _) => format!(
            "One way: ns from the stamp before it is published to after it is copied out, {} \
             messages a second; line: half a round trip of {LINE}",
            grouped(settings.rate.into())
        ),
        (Section::RoundTrip, _) => {
            format!("Round trip: ns there and back, one message at a time; line: {LINE}")
        }
        (Section::Throughput, _) => {
            "Throughput: million messages a second, by writer and reader".to_owned()
        }
        (Section::Readers, _) => "Readers: million messages a second, by the writer and by the \
                                  slowest of its readers"
            .to_owned(),
        (Section::Limits, true) => {
            "Limits: one cache line, written by two processes in turns, ns there and back"
                .to_owned()
        }
        (Section::Limits, false) => {
            "Limits: million messages a second, copied in and out by one processor, or published \
             to nobody"
                .to_owned()
        }
    };
    let mut text = format!("\n{title}\n  {:<36}", "");
    if is_timed {
        for name in ["p50", "p90", "p99", "p99.9", "max", ">100us"] {
            let _ = write!(text, " {name:>9}");
        }
        match section {
            Section::OneWay => text.push_str("   due p50   due p99      lost"),
            _ => text.push_str("      half"),
        }
    } else {
        for name in ["writer", "lowest", "highest"] {
            let _ = write!(text, " {name:>8}");
        }
        if section != Section::Limits {
            for name in ["reader", "lowest", "highest", "lost", "batch"] {
                let _ = write!(text, " {name:>8}");
            }
        }
    }
    text.push_str("  others  ratio\n");
    text
}

fn row(measured: &Measured, results: &Results) -> String {
    let mut text = format!("  {:<36}", measured.row.name);
    if measured.row.is_timed() {
        times(&mut text, measured);
    } else {
        rates(&mut text, measured);
    }
    let noise = measured.noise();
    let others = noise.foreign.filter(|_| measured.row.readers() < 2);
    let others = others.map_or("-".to_owned(), |share| format!("{:.0}%", 100.0 * share));
    let ratio = measured.ratio(&results.measured).map_or("-".to_owned(), in_words);
    let _ = write!(text, " {others:>7}  {ratio}");
    let readers = measured.row.readers();
    if readers > 1 && results.settings.cpus.are_short_for(readers) {
        let processors = results.settings.cpus.readers.len().min(readers);
        let noun = if processors == 1 { "processor" } else { "processors" };
        let _ = write!(text, "; {readers} readers share {processors} {noun}");
    }
    text.push('\n');
    text
}

fn times(text: &mut String, measured: &Measured) {
    let median = |time: fn(&Times) -> Option<u64>| measured.time_ns(time).map(|one| one.median);
    let p50 = median(|times| Some(times.p50_ns));
    for nanos in [
        p50,
        median(|times| Some(times.p90_ns)),
        median(|times| Some(times.p99_ns)),
        median(|times| Some(times.p999_ns)),
        measured.time_ns(|times| Some(times.max_ns)).map(|one| one.highest),
    ] {
        let _ = write!(text, " {:>9}", whole(nanos));
    }
    let preempted: u64 =
        measured.readings.iter().filter_map(|one| one.times).map(|times| times.over_100us).sum();
    let _ = write!(text, " {:>9}", grouped(preempted));
    if measured.row.is_round_trip() {
        let _ = write!(text, " {:>9}", whole(p50.map(|nanos| nanos / 2.0)));
    } else {
        let _ = write!(
            text,
            " {:>9} {:>9} {:>9}",
            whole(median(|times| times.due_p50_ns)),
            whole(median(|times| times.due_p99_ns)),
            percent(measured.lost_share()),
        );
    }
}

fn rates(text: &mut String, measured: &Measured) {
    let mut three = |rate: Option<Spread>| {
        let millions = |rate: f64| format!("{:.2}", rate / 1e6);
        for part in [rate.map(|r| r.median), rate.map(|r| r.lowest), rate.map(|r| r.highest)] {
            let _ = write!(text, " {:>8}", part.map_or("-".to_owned(), millions));
        }
    };
    three(measured.written_per_second());
    if measured.row.section == Section::Limits {
        return;
    }
    three(measured.read_per_second());
    let batch = measured.batch_p50().map_or("-".to_owned(), |size| format!("{size:.0}"));
    let _ = write!(text, " {:>8} {batch:>8}", percent(measured.lost_share()));
}

/// `1.31 x line`.
fn in_words(ratio: Ratio) -> String {
    let name = ratio.to.rsplit('/').next().unwrap_or(ratio.to);
    format!("{:.2} x {name}", ratio.value)
}

pub(in super::super) fn whole(nanos: Option<f64>) -> String {
    nanos.map_or("-".to_owned(), |nanos| grouped(nanos.round() as u64))
}

fn percent(share: Option<Spread>) -> String {
    match share.map(|share| 100.0 * share.median) {
        None => "-".to_owned(),
        Some(0.0) => "0%".to_owned(),
        Some(share) => format!("{share:.2}%"),
    }
}
