//! The report of `nanotape lab doctor` as text.

use core::fmt::Write as _;

use nanotape_console::values::counted;
use nanotape_host::CpuList;
use nanotape_lab::{record::RunContext, text};
use nanotape_machine::doctor::{Finding, Verdict, When};

pub(super) fn heading(context: &RunContext, hot: &CpuList) -> String {
    let kernel = context.environment.kernel.as_deref().unwrap_or("unknown kernel");
    format!("{}{kernel}; processors of threads with little time: {hot}\n", text::context(context))
}

pub(super) fn group(when: When) -> String {
    let title = match when {
        When::Now => "Now, without a restart",
        When::KernelCommandLine => "On the kernel command line",
        When::Firmware => "In the firmware, or on the host",
    };
    format!("\n{title}\n")
}

/// What is good is one line, unless everything is wanted.
pub(super) fn finding(finding: &Finding, can_try: bool, is_all: bool) -> String {
    let Finding { name, title, verdict, read, good, why, fix, undo, .. } = finding;
    if *verdict == Verdict::Ok && !is_all {
        return format!("  ok       {name:<22} {read}\n");
    }
    let mut text = format!("  {:<8} {name:<22} {title}\n", verdict.name());
    let mut line = |label: &str, value: &str| {
        let _ = writeln!(text, "           {label:<6} {value}");
    };
    line("read:", read);
    line("good:", good);
    line("why:", why);
    if let Some(fix) = fix {
        line("fix:", fix);
    }
    if let Some(undo) = undo {
        line("undo:", undo);
    }
    if can_try {
        line("try:", &format!("nanotape lab doctor try {name}"));
    }
    text
}

/// How many of each verdict.
pub(super) fn footing(findings: &[Finding], is_all: bool) -> String {
    let verdicts = [Verdict::Fail, Verdict::Warn, Verdict::Unknown, Verdict::Info, Verdict::Ok];
    let counts: Vec<String> = verdicts
        .iter()
        .map(|verdict| (verdict, findings.iter().filter(|one| one.verdict == *verdict).count()))
        .filter(|(_, count)| *count > 0)
        .map(|(verdict, count)| format!("{count} {}", verdict.name()))
        .collect();
    let hint = if is_all { "" } else { "; --all has the reasons of what is good" };
    format!("\n{}: {}{hint}\n", counted(findings.len() as u64, "check"), counts.join(", "))
}
