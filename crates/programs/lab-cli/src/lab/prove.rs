//! `nanotape lab prove`: tests the error rates of the comparisons.

use core::fmt::Write as _;

use anyhow::Context as _;
use clap::Args;
use nanotape_console::{
    progress::Progress,
    records::{Columns, RecordArguments},
    status::Status,
    values::share_of_percent,
};
use nanotape_lab::{
    PlaceArguments, Placement,
    prove::{LEVELS, Plan, Tally, prove, share_interval, within_chance},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape lab prove                          300 experiments, about ten minutes
  nanotape lab prove --experiments 50 --replicates 20

Each experiment is a comparison with processes of its own, against arms that do 0%, 2% and 5% more
work. The command counts how often the tests find a difference, how often the intervals contain
the true one, and the verdicts after a single look.

Exit status: 0 the error rates are as stated, within chance; 1 they are not.")]
pub(super) struct ProveCommand {
    /// Number of experiments
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = nanotape_console::values::count::<u32>(1..=100_000))]
    experiments: u32,

    /// Replicates, each with fresh processes, in each experiment
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = nanotape_console::values::count::<u32>(8..=1_000))]
    replicates: u32,

    /// Smallest effect of interest of the verdicts, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    effect: f64,

    #[command(flatten)]
    place: PlaceArguments,

    /// Seed for the order of turns
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    output: RecordArguments,
}

const COLUMNS: Columns = &[
    ("truth", "/truth"),
    ("experiments", "/experiments"),
    ("replicates", "/replicates"),
    ("wilcoxon_rejects_5", "/levels/0/wilcoxon_rejects"),
    ("sign_rejects_5", "/levels/0/sign_rejects"),
    ("covered_95", "/levels/0/interval_holds_truth"),
    ("wilcoxon_rejects_1", "/levels/1/wilcoxon_rejects"),
    ("sign_rejects_1", "/levels/1/sign_rejects"),
    ("covered_99", "/levels/1/interval_holds_truth"),
    ("median_estimate", "/median_estimate"),
];

pub(super) fn run(command: &ProveCommand) -> anyhow::Result<Status> {
    let mut output = command.output.records(COLUMNS)?;
    let placement = Placement::apply(&command.place.request());
    let cpu = placement.cpu();
    placement.release();
    let plan = Plan {
        experiments: command.experiments as usize,
        replicates: command.replicates as usize,
        smallest_effect: share_of_percent(command.effect),
        design: command.place.design(cpu),
        seed: command.seed,
    };
    let program = std::env::current_exe().context("this program's own path")?;
    let progress = Progress::with_steps("experiments", command.experiments.into());
    let tallies = prove(&program, &[], &plan, &mut |done| progress.set(done as u64))?;
    drop(progress);

    output.heading(&format!(
        "{} experiments of {} replicates; shares with their 95% intervals\n\n\
         {:>6} {:>8} {:>26} {:>26} {:>9} {:>26}\n",
        plan.experiments,
        plan.replicates,
        "truth",
        "level",
        "Wilcoxon rejects",
        "sign test rejects",
        "expected",
        "interval holds truth",
    ))?;
    for tally in &tallies {
        output.result(&lines(tally, &plan), tally.to_json(&plan))?;
    }
    let kept = tallies.iter().all(is_kept);
    output.heading(if kept {
        "\nThe promises are kept, within what chance allows.\n"
    } else {
        "\nA promise is broken: see the rows whose share is above (tests) or below (intervals) its \
         level.\n"
    })?;
    output.finish()?;
    Ok(if kept { Status::Good } else { Status::Bad })
}

/// Whether the error rates of tests and intervals are within their limits.
fn is_kept(tally: &Tally) -> bool {
    LEVELS.into_iter().zip(&tally.levels).all(|(level, counted)| {
        let missed = counted.experiments - counted.covered;
        let rejected = counted.wilcoxon.max(counted.sign);
        within_chance(missed, counted.experiments, level)
            && (tally.truth != 0.0 || within_chance(rejected, counted.experiments, level))
    })
}

fn lines(tally: &Tally, plan: &Plan) -> String {
    let mut text = String::new();
    for (level, counted) in LEVELS.into_iter().zip(&tally.levels) {
        let share = |count: u64| {
            let (low, high) = share_interval(count, counted.experiments);
            let share = 100.0 * count as f64 / counted.experiments.max(1) as f64;
            format!("{share:.1}% [{:.1}, {:.1}]", low * 100.0, high * 100.0)
        };
        let _ = writeln!(
            text,
            "{:>+5.0}% {:>7.0}% {:>26} {:>26} {:>8.1}% {:>26}",
            tally.truth * 100.0,
            level * 100.0,
            share(counted.wilcoxon),
            share(counted.sign),
            tally.expected_rejections(level, plan.replicates) * 100.0,
            share(counted.covered),
        );
    }
    let [faster, slower, same, undecided] = tally.verdicts;
    let estimate = tally.median_estimate().map_or(f64::NAN, |ratio| (ratio - 1.0) * 100.0);
    let _ = writeln!(
        text,
        "       median estimate {estimate:+.2}%; verdicts against {:.1}%: slower {slower}, faster \
         {faster}, same {same}, not enough power {undecided}",
        plan.smallest_effect * 100.0
    );
    text
}
