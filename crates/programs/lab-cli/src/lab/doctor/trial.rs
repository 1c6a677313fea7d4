//! `nanotape lab doctor try`: one fix, measured with and without it, and restored.

use core::fmt::Write as _;
use std::{path::PathBuf, time::Duration};

use anyhow::bail;
use clap::Args;
use nanotape_clock::Clock;
use nanotape_console::{
    interrupt,
    progress::Progress,
    records::{Columns, RecordArguments},
    status::{BadData, Status},
    values::{count, nanos_text},
};
use nanotape_host::{CpuList, hypervisor};
use nanotape_machine::doctor::{
    ActiveTest, Effect, Facts, Fix, STATE_FILE, Side, System, Trial, TrialOptions, examine,
};
use serde_json::{Value, json};

use super::{cpu_list, hot, test_seconds};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape lab doctor try stat-interval
  nanotape lab doctor try thp --rounds 20 --seconds 2 --cpus 2-3
  nanotape lab doctor try idle-states --format json

Each round measures the interruptions of the processors once without and once with the fix, in a
random order. The difference is taken within a round; its interval is at 95%. The values of before
are restored at the end, after Ctrl-C, and if the command is killed: another process of the same
program waits for that. A value that another program changes meanwhile stays, and is reported. A
value that the kernel refuses is reported, and the fix is tried without it.

Exit status: 0 the trial was made; 1 something could not be restored; 2 wrong usage, or a fix that
cannot be tried.")]
pub(super) struct TryArguments {
    /// The check whose fix is tried
    #[arg(value_name = "CHECK")]
    check: String,

    /// The processors of threads with little time, like 2-3,7 [default: all allowed ones]
    #[arg(long, value_name = "LIST", value_parser = cpu_list)]
    cpus: Option<CpuList>,

    /// Seconds of each side of a round
    #[arg(long, value_name = "SECONDS", default_value_t = 0.5, value_parser = test_seconds)]
    seconds: f64,

    /// Rounds
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = count::<u32>(1..=10_000))]
    rounds: u32,

    /// Measure in the real-time class SCHED_FIFO with this priority
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=49))]
    realtime: Option<u8>,

    /// Seed of the order
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// The state file
    #[arg(long, value_name = "FILE", default_value = STATE_FILE, hide = true)]
    state: PathBuf,

    #[command(flatten)]
    output: RecordArguments,
}

/// A number of a side: its name, its words, and the number.
type Number = (&'static str, &'static str, fn(&Side) -> f64);

const NUMBERS: [Number; 4] = [
    ("lost_ns", "lost time a second", |side| side.lost_ns),
    ("count", "interruptions a second", |side| side.count),
    ("p99_ns", "p99 of their lengths", |side| side.p99_ns),
    ("longest_ns", "longest", |side| side.longest_ns),
];

const COLUMNS: Columns = &[
    ("check", "/check"),
    ("rounds", "/rounds"),
    ("lost_ns_before", "/effects/lost_ns/before"),
    ("lost_ns_mended", "/effects/lost_ns/mended"),
    ("lost_ns_low", "/effects/lost_ns/low"),
    ("lost_ns_high", "/effects/lost_ns/high"),
    ("verdict", "/effects/lost_ns/verdict"),
];

impl TryArguments {
    pub(super) fn run(&self) -> anyhow::Result<Status> {
        let mut output = self.output.records(COLUMNS)?;
        let system = System::default();
        let hot = hot(self.cpus.as_ref(), &system)?;
        let clock = Clock::calibrate();
        let facts = Facts::of_this_machine(&clock, hypervisor());
        let findings = examine(&system, &facts, &hot);
        let Some(finding) = findings.iter().find(|one| one.name == self.check) else {
            bail!("no check is named {}; `nanotape lab doctor --list` lists them", self.check);
        };
        let fix = Fix::of(finding, &system).map_err(anyhow::Error::msg)?;
        output.heading(&heading(&self.check, &fix, &hot))?;
        let options = TrialOptions {
            side: ActiveTest {
                duration: Duration::from_secs_f64(self.seconds),
                target_ns: 0,
                real_time_priority: self.realtime,
            },
            rounds: self.rounds,
            seed: self.seed,
        };
        let interrupt = interrupt::install()?;
        let steps = u64::from(self.rounds) * 2;
        let progress = Progress::with_steps("sides", steps);
        let trial =
            Trial::run(&clock, (&fix, &self.check), &hot, &options, &self.state, &mut |done| {
                progress.set_of(done, steps, &self.check);
                interrupt.is_requested()
            });
        drop(progress);
        let trial = trial.map_err(anyhow::Error::msg)?;
        output.result(&text(&trial), record(&self.check, &trial))?;
        output.finish()?;
        if !trial.not_restored.is_empty() {
            return Err(BadData(trial.not_restored.join("; ")).into());
        }
        Ok(Status::Good)
    }
}

fn heading(check: &str, fix: &Fix, hot: &CpuList) -> String {
    let mut text = format!("trial of {check} on processors {hot}\n");
    for change in fix.changes() {
        let _ = writeln!(text, "  {}: {} -> {}", change.path, change.before, change.fixed);
    }
    text
}

fn text(trial: &Trial) -> String {
    let mut text = String::new();
    for (name, title, of) in NUMBERS {
        let Some(effect) = trial.effect(of) else { continue };
        let shown = |value: f64| match name {
            "count" => format!("{value:.0}"),
            _ => nanos_text(value.max(0.0) as u64),
        };
        let _ = write!(
            text,
            "  {title:<24} {:>10} before, {:>10} with it",
            shown(effect.before),
            shown(effect.fixed)
        );
        if let Some(difference) = effect.difference {
            let share = |value: f64| 100.0 * value / effect.before.max(1e-9);
            let _ = write!(
                text,
                "; {:+.1}% [{:+.1}%, {:+.1}%]",
                share(difference.value),
                share(difference.interval.low),
                share(difference.interval.high)
            );
        }
        let _ = writeln!(text, ": {}", effect.words());
    }
    for sentence in &trial.refused {
        let _ = writeln!(text, "  refused, and tried without it: {sentence}");
    }
    let rounds = trial.rounds.len();
    let restored = match trial.not_restored.is_empty() {
        true => "the values of before are restored",
        false => "not all values of before are restored",
    };
    let _ = writeln!(text, "  {rounds} rounds; {restored}");
    text
}

fn record(check: &str, trial: &Trial) -> Value {
    let effect = |effect: &Effect| {
        json!({
            "before": effect.before,
            "mended": effect.fixed,
            "difference": effect.difference.map(|one| one.value),
            "low": effect.difference.map(|one| one.interval.low),
            "high": effect.difference.map(|one| one.interval.high),
            "verdict": effect.words(),
        })
    };
    let effects = NUMBERS
        .iter()
        .filter_map(|(name, _, of)| Some(((*name).to_owned(), effect(&trial.effect(*of)?))));
    json!({
        "kind": "doctor try",
        "check": check,
        "rounds": trial.rounds.len(),
        "effects": Value::Object(effects.collect()),
        "refused": trial.refused,
        "not_restored": trial.not_restored,
    })
}
