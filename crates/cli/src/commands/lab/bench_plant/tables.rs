//! What was found out, in tables for people; the records go along.

use core::fmt::Write as _;

use nanotape_bench::day_file::{BACKBONE, Goal, Measured, PLANT};

use super::{super::bench_book::tables::latencies, Results, record::lost_share};
use nanotape_console::{records::Records, values::grouped};

/// Writes everything.
pub(super) fn write(results: &Results, output: &mut Records) -> anyhow::Result<()> {
    output.heading(&heading(results))?;
    for measured in &results.measured {
        output.result(&row(measured, results), results.record(measured))?;
    }
    output.heading(&latencies(&results.measured))?;
    output.heading(&goals(&results.goals))?;
    Ok(())
}

fn heading(results: &Results) -> String {
    let (survey, settings) = (&results.survey, &results.settings);
    let mut text = String::new();
    let _ = writeln!(
        text,
        "\n{}: {} messages, {:.1} MB; room for {} live orders; {} {}; plant on processor {}, first \
         tap on processor {}",
        survey.path.display(),
        grouped(survey.messages),
        survey.bytes as f64 / 1e6,
        grouped(settings.orders as u64),
        results.rounds,
        if results.rounds == 1 { "round" } else { "rounds" },
        results.cpus.writer,
        results.cpus.readers[0],
    );
    for note in results.notes.iter().chain(&results.circumstances.noise.sentences) {
        let _ = writeln!(text, "note: {note}");
    }
    let _ = writeln!(
        text,
        "\nBytes to books, and to records on a ring: processor time for a message, in ns; millions a \
         second"
    );
    let _ = write!(text, "  {:<18}", "");
    for name in ["median", "lowest", "highest", "wall", "adds", "lowest", "highest", "ratio"] {
        let _ = write!(text, " {name:>8}");
    }
    let _ = writeln!(text, " {:>8} {:>8} {:>8}", "messages", "records", "lost");
    text
}

fn row(measured: &Measured, results: &Results) -> String {
    let mut text = format!("  {:<18}", measured.variant.name);
    let backbone = results.backbone().filter(|_| measured.variant.name != BACKBONE);
    let time = measured.processor_ns();
    let adds = backbone.and_then(|backbone| measured.added_ns(backbone));
    for spread in [time.map(|time| (time, measured.wall_ns())), adds.map(|adds| (adds, None))] {
        let three = spread.map(|(spread, _)| [spread.median, spread.lowest, spread.highest]);
        for number in three.map_or([None; 3], |three| three.map(Some)) {
            let _ = write!(text, " {}", in_ns(number));
        }
        if let Some((_, Some(wall))) = spread {
            let _ = write!(text, " {}", in_ns(Some(wall.median)));
        }
    }
    let ratio = backbone.and_then(|backbone| measured.ratio_to(backbone));
    let ratio = ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.3}"));
    let _ = write!(text, " {ratio:>8}");
    for rate in [measured.messages_per_second(), measured.records_per_second()] {
        let rate = rate.map_or("-".to_owned(), |rate| format!("{:.2}", rate.median / 1e6));
        let _ = write!(text, " {rate:>8}");
    }
    let lost = lost_share(measured);
    let lost = lost.map_or("-".to_owned(), |share| format!("{:.2}%", 100.0 * share));
    let _ = write!(text, " {lost:>8}");
    if let (taps, true) = results.taps(measured) {
        let processors = results.cpus.readers.len().min(taps);
        let _ = match (results.cpus.are_two(), taps) {
            (false, _) => write!(text, "  shares a processor with the plant"),
            (true, _) => write!(
                text,
                "  {taps} taps share {processors} {}",
                if processors == 1 { "processor" } else { "processors" }
            ),
        };
    }
    text.push('\n');
    text
}

fn in_ns(number: Option<f64>) -> String {
    number.map_or(format!("{:>8}", "-"), |number| format!("{number:>8.2}"))
}

/// Nothing where none was measured.
fn goals(goals: &[Goal]) -> String {
    let mut text = String::new();
    for goal in goals {
        if text.is_empty() {
            let _ = writeln!(text, "\nGoals of `{PLANT}`: ns");
            let _ = writeln!(text, "  {:<18} {:>8} {:>8}", "", "is", "at most");
        }
        let what = match goal.name {
            "adds" => "adds".to_owned(),
            quantile => format!("one by one, {quantile}"),
        };
        let verdict = if goal.is_met() { "met by" } else { "missed by" };
        let _ = writeln!(
            text,
            "  {what:<18} {:>8.1} {:>8.0}  {verdict} {:.1}",
            goal.ns,
            goal.at_most_ns,
            goal.distance_ns()
        );
    }
    text
}
