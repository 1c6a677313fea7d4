//! `nanotape lab count`: instructions of an operation, compared with the accepted counts.

use std::{fmt::Write as _, path::PathBuf};

use anyhow::Context as _;
use clap::Args;
use nanotape_console::{
    progress::Progress,
    records::{Columns, RecordArguments},
    status::{Status, warn},
    values::share_of_percent,
};
use nanotape_lab::{
    baseline::{Baseline, Deviation},
    count_instructions,
    environment::BuildInfo,
    select,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape lab count                                      instructions per operation
  nanotape lab count --baseline bench/instructions.json   compare with the accepted counts
  nanotape lab count --baseline bench/instructions.json --accept

valgrind counts the instructions in a process of its own, during runs only: the count does not
depend on the load of the machine. Instructions are not time; `nanotape lab compare` judges time.

Exit status: 0 all within the tolerance; 1 some are not; 2 instructions cannot be counted, or
another compiler made the baseline.")]
pub(super) struct CountCommand {
    /// Only benchmarks whose name contains one of these
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Compare with the accepted counts in FILE
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Write the current counts to the baseline instead of comparing; with NAME, only those
    #[arg(long, requires = "baseline")]
    accept: bool,

    /// Accepted deviation, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    tolerance: f64,

    #[command(flatten)]
    output: RecordArguments,
}

const COLUMNS: Columns =
    &[("name", "/name"), ("instructions", "/instructions"), ("accepted", "/accepted")];

pub(super) fn run(command: &CountCommand) -> anyhow::Result<Status> {
    let suite = nanotape_bench::hot();
    let names = select(&suite, &command.names)?;
    // With names, the baseline keeps the counts of the others.
    let mut accepted = match &command.baseline {
        Some(path) if !command.accept => Some(Baseline::read(path)?),
        Some(path) if !command.names.is_empty() && path.exists() => Some(Baseline::read(path)?),
        _ => None,
    };
    let compiler = BuildInfo::from_env_of_build().compiler.unwrap_or_else(|| "unknown".to_owned());
    if let Some(accepted) = &accepted {
        anyhow::ensure!(
            accepted.compiler == compiler,
            "the baseline was made with {}, this program with {compiler}: their counts cannot be \
             compared; use --accept without NAME to write a new baseline",
            accepted.compiler
        );
    }
    let mut output = command.output.records(COLUMNS)?;
    let program = std::env::current_exe().context("this program's own path")?;
    let progress = Progress::with_steps("benchmarks", names.len() as u64);
    let mut present = Baseline { compiler, instructions: Default::default() };
    for (done, name) in names.iter().enumerate() {
        progress.set_of(done as u64, names.len() as u64, name);
        let count = count_instructions(&program, &suite, name)?;
        present.instructions.insert((*name).to_owned(), count);
    }
    drop(progress);

    if let (Some(path), true) = (&command.baseline, command.accept) {
        let mut written = accepted.take().unwrap_or_else(|| present.clone());
        written.instructions.extend(present.instructions.clone());
        written.write(path)?;
    }
    let tolerance = share_of_percent(command.tolerance);
    let wanted = |deviation: &Deviation| names.iter().any(|name| *name == deviation.name);
    let deviations: Vec<Deviation> = match &accepted {
        Some(accepted) => accepted.against(&present),
        None => present.against(&present),
    };
    // Without names, a missing benchmark is also a deviation.
    let deviations = deviations.into_iter().filter(|one| command.names.is_empty() || wanted(one));
    let mut worst = Status::Good;
    for deviation in deviations {
        if deviation.exceeds(tolerance) {
            worst = Status::Bad;
        }
        let record = serde_json::json!({
            "name": deviation.name,
            "instructions": deviation.present,
            "accepted": accepted.is_some().then_some(deviation.accepted),
        });
        output.result(&line(&deviation, accepted.is_some(), tolerance), record)?;
    }
    output.finish()?;
    if worst == Status::Bad {
        warn(format_args!(
            "instruction counts changed by more than {}%; if this is intended, use --accept to \
             write the new ones",
            command.tolerance
        ));
    }
    Ok(worst)
}

fn line(deviation: &Deviation, compared: bool, tolerance: f64) -> String {
    let mut text = format!("{:<24}", deviation.name);
    match deviation.present {
        Some(count) => {
            let _ = write!(text, " {count:>12.2} instructions an operation");
        }
        None => text.push_str(" no longer exists"),
    }
    if compared {
        match (deviation.accepted, deviation.ratio()) {
            (None, _) => text.push_str("   new, not accepted yet"),
            (Some(accepted), Some(ratio)) => {
                let moved = if deviation.exceeds(tolerance) { "   MOVED" } else { "" };
                let _ = write!(
                    text,
                    "   {:+.2}% of the accepted {accepted:.2}{moved}",
                    (ratio - 1.0) * 100.0
                );
            }
            (Some(accepted), None) => {
                let _ = write!(text, "   {accepted:.2} were accepted");
            }
        }
    }
    text.push('\n');
    text
}
