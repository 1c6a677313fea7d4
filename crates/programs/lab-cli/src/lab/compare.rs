//! `nanotape lab compare`: whether B is slower than A, by how much, and the power of the run.

use std::path::PathBuf;

use clap::Args;
use nanotape_console::{
    progress::Progress,
    records::{Columns, RecordArguments, RecordFormat},
    status::{Status, note},
    values::share_of_percent,
};
use nanotape_lab::{
    NoiseWatch, PlaceArguments, Placement,
    compare::{Compared, Rules, Verdict, compare},
    pages,
    record::{RunContext, append},
    text,
};

use super::subjects::Search;

// The last of several values counts, so that `cargo xtask gate` can override its own options.
#[derive(Args, Debug)]
#[command(
    args_override_self = true,
    after_help = "\
Examples:
  nanotape lab compare main worktree          the commit against the working tree
  nanotape lab compare v0.1.0 HEAD --only book
  nanotape lab compare decode/hot book/hot    two benchmarks of this program
  nanotape lab compare old/hot new/hot        two benchmark programs, built with nanotape-lab
  nanotape lab compare map list --program target/release/deps/look_up-0123456789abcdef
                                              two benchmarks of one; cargo bench prints its path
  nanotape lab compare main worktree -o verdict.html --record

A and B run in processes of their own, in turns of some milliseconds in a random order, together
with a control: A once more. Pairs of processes are added until the interval of the change lies
completely beyond the smallest effect of interest or completely within it, or until the limit of
pairs. If a word can mean several things, put bench:, file: or commit: in front of it.

Verdicts: `slower` and `faster` (the whole interval lies beyond the smallest effect of interest),
`same` (it lies within), `not enough power` (neither).

Exit status: 0 nothing is slower; 1 something is slower; 2 undecided, or wrong usage."
)]
pub(super) struct CompareCommand {
    /// Base: a benchmark, a program built with nanotape-lab, or a git revision
    #[arg(value_name = "A")]
    base: String,

    /// Candidate, of the same kind as the base; `worktree` is the working tree
    #[arg(value_name = "B")]
    candidate: String,

    /// Only benchmarks whose name contains NAME; may be given several times
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,

    /// Smallest effect of interest, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent)]
    effect: f64,

    /// Accepted chance of a wrong verdict, over all benchmarks and looks
    #[arg(long, value_name = "SHARE", default_value_t = 0.01, value_parser = share)]
    alpha: f64,

    /// Wanted chance of a verdict if there is a difference
    #[arg(long, value_name = "SHARE", default_value_t = 0.9, value_parser = share)]
    power: f64,

    /// Most pairs of processes for each benchmark
    #[arg(long, value_name = "N", default_value_t = 120, value_parser = nanotape_console::values::count::<u32>(12..=10_000))]
    cap: u32,

    #[command(flatten)]
    place: PlaceArguments,

    /// Seed for the order of turns
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// For two benchmarks: the program that has them, instead of this one
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,

    /// For revisions: the package with the benchmark target [default: the only one that has it]
    #[arg(long, value_name = "NAME")]
    package: Option<String>,

    /// For revisions: the benchmark target, built by `cargo bench --no-run --bench NAME`
    #[arg(long, value_name = "NAME", default_value = "hot")]
    bench: String,

    /// Append the results to the record of this host in DIRECTORY
    #[arg(long, value_name = "DIRECTORY", num_args = 0..=1, default_missing_value = "bench/record")]
    record: Option<PathBuf>,

    /// Reject results if the machine was not quiet: exit status 2
    #[arg(long)]
    refuse_noise: bool,

    #[command(flatten)]
    output: RecordArguments,
}

fn percent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(percent) if (0.01..=100.0).contains(&percent) => Ok(percent),
        _ => Err("expected a percentage from 0.01 to 100".to_owned()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0001..=0.9999).contains(&share) => Ok(share),
        _ => Err("expected a number from 0.0001 to 0.9999".to_owned()),
    }
}

const COLUMNS: Columns = &[
    ("name", "/name"),
    ("verdict", "/verdict"),
    ("ratio", "/change/ratio"),
    ("low", "/change/low"),
    ("high", "/change/high"),
    ("confidence", "/change/confidence"),
    ("p_wilcoxon", "/p_wilcoxon"),
    ("p_sign", "/p_sign"),
    ("p_holm", "/p_holm"),
    ("base", "/base/label"),
    ("base_ns", "/base/median_ns"),
    ("candidate", "/candidate/label"),
    ("candidate_ns", "/candidate/median_ns"),
    ("smallest_effect", "/smallest_effect"),
    ("detectable", "/detectable"),
    ("replicates", "/replicates"),
    ("control_ratio", "/control/ratio"),
    ("control_rejected", "/control/rejected"),
];

pub(super) fn run(command: &CompareCommand) -> anyhow::Result<Status> {
    let mut output = command.output.records_or(RecordFormat::Text, COLUMNS)?;
    let search = Search {
        program: command.program.as_deref(),
        package: command.package.as_deref(),
        target: &command.bench,
        only: &command.only,
    };
    let pairs = search
        .pairs(&command.base, &command.candidate, &mut |what| note(format_args!("{what}")))?;

    // This process only waits, on any processor; the workers run on the selected one.
    let placement = Placement::apply(&command.place.request());
    let (context, cpu) = (RunContext::capture(&placement), placement.cpu());
    placement.release();
    output.heading(&format!("{}\n", text::context(&context)))?;

    let rules = Rules {
        alpha: command.alpha,
        power: command.power,
        smallest_effect: share_of_percent(command.effect),
        cap: command.cap as usize,
        ..Rules::default()
    };
    let design = command.place.design(cpu);
    let progress = Progress::with_steps("replicates", 0);
    let watch = NoiseWatch::start_for_children(context.clock, cpu);
    let results = compare(pairs, &rules, &design, command.seed, &mut |step| {
        progress.set_of(step.done as u64, step.planned as u64, step.name);
    })?;
    let context = RunContext { noise: watch.stop(), ..context };
    drop(progress);

    for compared in &results {
        let text = format!("{}\n", text::compared(compared));
        output.result(&text, compared.record(&context))?;
    }
    for sentence in &context.noise.sentences {
        output.heading(&format!("note: {sentence}\n"))?;
    }
    output.heading(&summary(&results))?;
    let records = output.finish_with(pages::results)?;
    if command.refuse_noise && !context.noise.sentences.is_empty() {
        let sentences = context.noise.sentences.join("; ");
        anyhow::bail!("the machine was not quiet: {sentences}");
    }
    if let Some(folder) = &command.record {
        let host = context.environment.host.as_deref().unwrap_or("unknown");
        append(folder, host, &records)?;
    }
    Ok(status(&results))
}

fn status(results: &[Compared]) -> Status {
    let any = |verdict| results.iter().any(|compared| compared.verdict == verdict);
    if any(Verdict::Slower) {
        Status::Bad
    } else if any(Verdict::NotEnoughPower) {
        Status::Usage
    } else {
        Status::Good
    }
}

/// A summary in one line.
fn summary(results: &[Compared]) -> String {
    let verdicts = [Verdict::Slower, Verdict::Faster, Verdict::Same, Verdict::NotEnoughPower];
    let counted = verdicts.into_iter().filter_map(|verdict| {
        let named: Vec<&str> = results
            .iter()
            .filter(|compared| compared.verdict == verdict)
            .map(|compared| compared.pair.name.as_str())
            .collect();
        (!named.is_empty()).then(|| format!("{verdict}: {}", named.join(", ")))
    });
    format!("{}\n", counted.collect::<Vec<_>>().join("; "))
}
