//! The settings of a machine that a thread with little time depends on: what they are here, what is
//! good, why, and the commands that change them and undo that.
//!
//! [`examine`] reads and changes nothing. Everything that it reads is a file below a root, or a
//! fact in [`Facts`], so that tests can describe any machine. A [`Trial`] applies one fix,
//! measures, and restores.
//! Failure: what cannot be read is [`Verdict::Unknown`] with the path and the reason, and fails
//! nothing. A missing file is good only if something else proves that it need not be there.
//! Sources: the checks are those of the tuned profiles network-latency, latency-performance,
//! cpu-partitioning and realtime, of the Onload user guide, of the kernel's documentation of its
//! per-processor threads, and of measurements on machines of this project.

mod absent;
mod active;
mod clocks;
mod ethtool;
mod fix;
mod guard;
mod interrupts;
mod kernel_line;
mod memory;
mod network;
mod power;
mod processors;
mod scheduling;
mod settings;
mod system;
mod tools;
mod trial;

use nanotape_host::CpuList;
pub use nanotape_host::System;

pub use active::ActiveTest;
pub use ethtool::CardTexts;
pub use fix::{Change, Fix};
pub use guard::{STATE_FILE, guardian, left_over, restore_from};
use system::Configuration;
pub use system::Facts;
pub use trial::{Effect, Side, Trial, TrialOptions};

/// What a check found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The name of the check, in options and records.
    pub name: &'static str,
    /// What is checked.
    pub title: &'static str,
    /// Whether it is good.
    pub verdict: Verdict,
    /// What was read, and from where.
    pub read: String,
    /// What is good.
    pub good: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// The command or setting that fixes it. Commands `echo VALUE > FILE` can be tried.
    pub fix: Option<String>,
    /// The command that undoes that.
    pub undo: Option<String>,
    /// When the change takes effect.
    pub when: When,
}

/// Whether a setting is good for a thread with little time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// It costs much, and can be changed.
    Fail,
    /// It costs something, or may.
    Warn,
    /// It cannot be read here.
    Unknown,
    /// Worth knowing.
    Info,
    /// Good.
    Ok,
}

/// Where a change is made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum When {
    /// In the running system.
    Now,
    /// On the command line of the kernel, with a restart.
    KernelCommandLine,
    /// In the firmware, or by the owner of the host.
    Firmware,
}

impl Verdict {
    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Warn => "warn",
            Self::Unknown => "unknown",
            Self::Info => "info",
            Self::Ok => "ok",
        }
    }
}

impl When {
    /// All, in the order of the report.
    pub const ALL: [Self; 3] = [Self::Now, Self::KernelCommandLine, Self::Firmware];

    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Now => "now",
            Self::KernelCommandLine => "kernel command line",
            Self::Firmware => "firmware or host",
        }
    }
}

/// A check that was not yet made: its words.
#[derive(Clone, Copy, Debug)]
struct Check {
    name: &'static str,
    title: &'static str,
    good: &'static str,
    why: &'static str,
    when: When,
}

impl Check {
    fn found(self, verdict: Verdict, read: impl Into<String>) -> Finding {
        let Self { name, title, good, why, when } = self;
        Finding { name, title, verdict, read: read.into(), good, why, fix: None, undo: None, when }
    }

    /// Good or not, by a condition.
    fn judged(self, is_good: bool, otherwise: Verdict, read: impl Into<String>) -> Finding {
        self.found(if is_good { Verdict::Ok } else { otherwise }, read)
    }

    fn unknown(self, why: impl Into<String>) -> Finding {
        self.found(Verdict::Unknown, why)
    }
}

/// The advice if no processor is left for what should run elsewhere.
const TOO_MANY_HOT: &str = "leave a processor to it: choose fewer hot ones with --cpus";

impl Finding {
    /// Adds the command, unless it is good as it is.
    fn fix(mut self, command: impl Into<String>) -> Self {
        if matches!(self.verdict, Verdict::Fail | Verdict::Warn | Verdict::Info) {
            self.fix = Some(command.into());
        }
        self
    }

    /// Adds the commands that write these values, and those that write the values of now.
    fn changes(self, changes: &[Change]) -> Self {
        let commands = |value: fn(&Change) -> &str| {
            let command = |change: &Change| format!("echo {} > {}", value(change), change.path);
            changes.iter().map(command).collect::<Vec<_>>().join("; ")
        };
        self.fix(commands(|change| &change.fixed)).undo(commands(|change| &change.before))
    }

    /// Adds the command that undoes the fix, if there is one that is not only advice.
    fn undo(mut self, command: impl Into<String>) -> Self {
        if self.fix.as_deref().is_some_and(|fix| !fix.ends_with(TOO_MANY_HOT)) {
            self.undo = Some(command.into());
        }
        self
    }
}

/// The first names of a list, for a finding.
fn shown<T: AsRef<str>>(names: &[T], most: usize) -> String {
    let shown = names.iter().take(most).map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    if names.len() > most { shown + ", ..." } else { shown }
}

/// What the checks read.
struct View<'a> {
    system: &'a System,
    configuration: Configuration,
    facts: &'a Facts,
    /// The processors of threads with little time.
    hot: &'a CpuList,
}

impl View<'_> {
    fn read(&self, path: &str) -> Option<String> {
        self.system.read(path)
    }

    /// Whether the kernel was built with an option, or has it as a module, and the file that shows
    /// it; `None` if its configuration cannot be read.
    fn configured(&self, option: &str) -> Option<(&str, bool)> {
        self.configuration.has(self.system, option)
    }

    /// A word of the kernel's command line for the hot processors, if one is left for the rest.
    fn kernel_words(&self, words: &str) -> String {
        match self.others().is_empty() {
            true => format!("not {words}, which is every processor: {TOO_MANY_HOT}"),
            false => format!("{words} on the kernel command line"),
        }
    }

    /// The processors that are not hot, as the kernel writes them.
    fn others(&self) -> String {
        let online = self.system.online();
        let others: Vec<u32> = online.iter().filter(|&cpu| !self.hot.contains(cpu)).collect();
        CpuList::of(others).to_string()
    }
}

/// Makes all checks. `hot`: the processors of threads with little time.
pub fn examine(system: &System, facts: &Facts, hot: &CpuList) -> Vec<Finding> {
    let view = View { system, configuration: Configuration::default(), facts, hot };
    let mut findings = Vec::new();
    findings.extend(processors::check(&view));
    findings.extend(scheduling::check(&view));
    findings.extend(interrupts::check(&view));
    findings.extend(network::check(&view));
    findings.extend(kernel_line::check(&view));
    findings.extend(settings::check(&view));
    findings.extend(memory::check(&view));
    findings.extend(clocks::check(&view));
    findings.extend(power::check(&view));
    findings.extend(tools::check(&view));
    findings
}

#[cfg(test)]
mod tests;
