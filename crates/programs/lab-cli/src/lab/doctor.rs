//! `nanotape lab doctor`: the settings of this machine, and trials of fixes.

mod text;
mod trial;

use std::{
    io::{self, Write as _},
    path::PathBuf,
    time::Duration,
};

use anyhow::ensure;
use clap::{Args, Subcommand};
use nanotape_clock::Clock;
use nanotape_console::{
    records::{Columns, RecordArguments},
    status::{BadData, Status, note},
    values::{seconds_in, whole},
};
use nanotape_host::{CpuList, allowed_cpus, hypervisor};
use nanotape_lab::{Pin, Placement, PlacementRequest, record::RunContext};
use nanotape_machine::doctor::{
    ActiveTest, Facts, Finding, Fix, STATE_FILE, System, Verdict, examine, left_over, restore_from,
};
use serde_json::{Value, json};

#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  nanotape lab doctor                          all checks, and a test of five seconds
  nanotape lab doctor --cpus 2-3               the processors of threads with little time
  nanotape lab doctor --only fair-server,thp --no-test
  nanotape lab doctor --format json -o doctor.json
  nanotape lab doctor try stat-interval        apply one fix, measure, restore
  nanotape lab doctor restore                  after a trial that was killed

The report is grouped by when a change takes effect: now, on the kernel command line, in the
firmware or on the host. Each finding has what was read, what is good, why, the command that fixes
it, and the one that undoes that with the value of now. The command changes nothing by itself.

Exit status: 0 nothing fails; 1 something fails; 2 wrong usage."
)]
pub(crate) struct DoctorCommand {
    #[command(subcommand)]
    command: Option<DoctorSubcommand>,

    #[command(flatten)]
    examine: ExamineArguments,
}

#[derive(Subcommand, Debug)]
enum DoctorSubcommand {
    /// Apply one fix, measure with and without it in turns, and restore
    Try(trial::TryArguments),
    /// Restore what a trial that was killed has left
    Restore(RestoreArguments),
}

#[derive(Args, Debug)]
struct ExamineArguments {
    /// The processors of threads with little time, like 2-3,7 [default: all allowed ones]
    #[arg(long, value_name = "LIST", value_parser = cpu_list)]
    cpus: Option<CpuList>,

    /// Only these checks
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,

    /// Print the names of all checks, and check nothing
    #[arg(long)]
    list: bool,

    /// Also print what is good in full
    #[arg(long)]
    all: bool,

    /// Leave the test out
    #[arg(long)]
    no_test: bool,

    /// Seconds of the test
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, value_parser = test_seconds)]
    seconds: f64,

    /// The longest interruption that is good, in microseconds
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 20, value_parser = whole::<u32>(1_000, 1..=1_000_000))]
    target: u32,

    /// Test in the real-time class SCHED_FIFO with this priority
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=49))]
    realtime: Option<u8>,

    /// The state file of trials
    #[arg(long, value_name = "FILE", default_value = STATE_FILE, hide = true)]
    state: PathBuf,

    #[command(flatten)]
    output: RecordArguments,
}

#[derive(Args, Debug)]
struct RestoreArguments {
    /// The state file of trials
    #[arg(long, value_name = "FILE", default_value = STATE_FILE, hide = true)]
    state: PathBuf,
}

fn cpu_list(text: &str) -> Result<CpuList, String> {
    let list = CpuList::parse(text).filter(|list| !list.is_empty());
    list.ok_or_else(|| "expected processors, like 2-3,7".to_owned())
}

fn test_seconds(text: &str) -> Result<f64, String> {
    seconds_in(0.01..=3_600.0)(text)
}

const COLUMNS: Columns = &[
    ("name", "/name"),
    ("verdict", "/verdict"),
    ("when", "/when"),
    ("read", "/read"),
    ("good", "/good"),
    ("fix", "/fix"),
    ("undo", "/undo"),
];

pub(crate) fn run(command: &DoctorCommand) -> anyhow::Result<Status> {
    match &command.command {
        None => command.examine.run(),
        Some(DoctorSubcommand::Try(arguments)) => arguments.run(),
        Some(DoctorSubcommand::Restore(RestoreArguments { state })) => {
            let unrestored = restore_from(state).map_err(anyhow::Error::msg)?;
            match unrestored.is_empty() {
                true => writeln!(io::stdout(), "restored")?,
                false => return Err(BadData(unrestored.join("; ")).into()),
            }
            Ok(Status::Good)
        }
    }
}

/// The processors to check: those of the option, or those that this process may use.
fn hot(cpus: Option<&CpuList>, system: &System) -> anyhow::Result<CpuList> {
    let Some(cpus) = cpus else {
        return Ok(CpuList::of(allowed_cpus()));
    };
    let online = system.online();
    ensure!(online.has_all_of(cpus), "--cpus {cpus}: only {online} are online");
    Ok(cpus.clone())
}

impl ExamineArguments {
    fn run(&self) -> anyhow::Result<Status> {
        let mut output = self.output.records(COLUMNS)?;
        let system = System::default();
        let hot = hot(self.cpus.as_ref(), &system)?;
        let placement = Placement::apply(&PlacementRequest {
            pin: Pin::Free,
            real_time_priority: None,
            lock_memory: false,
        });
        let context = RunContext::capture(&placement);
        let clock = context.clock;
        let facts = Facts::of_this_machine(&clock, hypervisor());
        let mut findings = examine(&system, &facts, &hot);
        let has_test = !self.no_test && ActiveTest::NAMES.iter().any(|name| self.is_wanted(name));
        self.check_names(&findings)?;
        findings.retain(|one| self.is_wanted(one.name));
        if self.list {
            for one in &findings {
                output.result(
                    &format!("{:<22} {}\n", one.name, one.title),
                    json!({ "name": one.name, "title": one.title }),
                )?;
            }
            output.finish()?;
            return Ok(Status::Good);
        }
        if let Some(check) = left_over(&self.state) {
            note(format_args!(
                "a trial of {check} was killed and has left its fix; `nanotape lab doctor restore` \
                 restores the values of before"
            ));
        }
        if has_test {
            findings.extend(self.test(&clock, &hot, facts.hypervisor.as_deref())?);
            findings.retain(|one| self.is_wanted(one.name));
        }
        findings.sort_by_key(|one| (one.when, one.verdict));
        output.heading(&text::heading(&context, &hot))?;
        let mut when = None;
        for one in &findings {
            if when.replace(one.when) != Some(one.when) {
                output.heading(&text::group(one.when))?;
            }
            let can_try = Fix::of(one, &system).is_ok();
            let text = text::finding(one, can_try, self.all);
            output.result(&text, record(&context, one, can_try))?;
        }
        output.heading(&text::footing(&findings, self.all))?;
        output.finish()?;
        let fails = findings.iter().filter(|one| one.verdict == Verdict::Fail).count();
        Ok(if fails > 0 { Status::Bad } else { Status::Good })
    }

    fn test(
        &self,
        clock: &Clock,
        hot: &CpuList,
        hypervisor: Option<&str>,
    ) -> anyhow::Result<[Finding; 2]> {
        let test = ActiveTest {
            duration: Duration::from_secs_f64(self.seconds),
            target_ns: u64::from(self.target) * 1_000,
            real_time_priority: self.realtime,
        };
        Ok(test.run(clock, hot, hypervisor)?)
    }

    fn is_wanted(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|wanted| wanted == name)
    }

    fn check_names(&self, findings: &[Finding]) -> anyhow::Result<()> {
        let is_known = |name: &&String| {
            ActiveTest::NAMES.contains(&&***name) || findings.iter().any(|one| one.name == **name)
        };
        if let Some(name) = self.only.iter().find(|name| !is_known(name)) {
            anyhow::bail!("no check is named {name}; `nanotape lab doctor --list` lists them");
        }
        Ok(())
    }
}

/// Format: docs/formats/lab-machine.md.
fn record(context: &RunContext, finding: &Finding, can_try: bool) -> Value {
    context.line(
        "doctor",
        finding.name,
        json!({
            "title": finding.title,
            "verdict": finding.verdict.name(),
            "read": finding.read,
            "good": finding.good,
            "why": finding.why,
            "fix": finding.fix,
            "undo": finding.undo,
            "when": finding.when.name(),
            "can_try": can_try,
        }),
    )
}
