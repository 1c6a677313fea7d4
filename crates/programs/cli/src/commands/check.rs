//! `nanotape check`: validate a day against the rules of its specification.

use std::io::Write as _;

use clap::Args;
use nanotape_answers::InputReport;
use nanotape_arguments::{DayArguments, verdict::status_of};
use nanotape_check::{Strength, Validator};
use nanotape_feed::DayEnd;

use nanotape_console::values::counted_grouped as counted;

use crate::{
    output::{Format, OutputArguments},
    record::Record,
    rows::Rows,
    status::Status,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape check 12302019.NASDAQ_ITCH50.gz
  nanotape check day.gz --format json | jq 'select(.violations > 0)'
  nanotape check 20231002_IEXTP1_DEEP1.0.pcap.gz

The rules are those of the feed that the content shows: ITCH, or of a capture also IEX DEEP, IEX DEEP+,
IEX TOPS or Cboe PITCH. Messages of captures have their number as their offset.

Prints a line per rule: the number of violations, and the record offset and message number of the
first one. The specification states or implies the rules of strength \"spec\"; real days follow those
of strength \"practice\". docs/protocols/validation.md describes the rules.

The last line is the verdict, as in \"OK: 5,000,000 messages, no violation of the specification\". In
JSON it is an object with the member verdict, OK or BAD; CSV has the rules only.

Exit status: 0 if the verdict is OK; 1 if a rule of strength \"spec\" is violated, bytes are damaged, or
a part of the input is missing; 2 wrong usage, or a file that cannot be opened or is of another kind.")]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    input: DayArguments,

    #[command(flatten)]
    output: OutputArguments,
}

pub(crate) fn run(arguments: &CheckArguments) -> anyhow::Result<Status> {
    let format = arguments.output.format_or(Format::Text)?;
    let output = arguments.output.open()?;
    let mut validator = Validator::default();
    let session = arguments.input.read(&mut validator)?;
    if let InputReport::Day(report) = &session.report {
        validator.finish(&session.engine, report);
    }
    let mut rows = Rows::new(output, format, Validator::columns());
    // An error of the output is kept, and returned at its end.
    let _ = validator.rows(&mut rows);
    let status = match status_of(&session.name, &session.report) {
        Status::Good if !validator.is_valid() => Status::Bad,
        status => status,
    };
    let verdict = Verdict::new(status, &validator, &session.report);
    match format {
        Format::Text => writeln!(rows.buffer(), "{}", verdict.text())?,
        Format::Json => verdict.record().write(rows.buffer(), format, false, String::new)?,
        // Another row would not have these columns.
        Format::Csv => {}
    }
    rows.finish()?;
    Ok(status)
}

/// The result for the whole day.
struct Verdict {
    status: Status,
    messages: u64,
    /// Violated rules of each strength, and their violations.
    spec: (u64, u64),
    practice: (u64, u64),
    damaged_ranges: u64,
    missing_messages: u64,
    is_cut: bool,
}

impl Verdict {
    fn new(status: Status, validator: &Validator, report: &InputReport) -> Self {
        let violated = |strength: Strength| {
            let rules = validator.rules().iter().filter(|row| row.strength == strength);
            let counts = rules.map(|row| validator.finding(row.rule).violations);
            let counts = counts.filter(|&violations| violations > 0);
            counts.fold((0, 0), |(rules, sum), violations| (rules + 1, sum + violations))
        };
        let (spec, practice) = (violated(Strength::Spec), violated(Strength::Practice));
        let mut verdict = Self {
            status,
            messages: 0,
            spec,
            practice,
            damaged_ranges: 0,
            missing_messages: 0,
            is_cut: false,
        };
        if let InputReport::Day(report) = report {
            let summary = &report.summary;
            verdict.messages = summary.records;
            verdict.damaged_ranges = report.damage.total();
            verdict.missing_messages = summary.session.as_ref().map_or(0, |one| one.missing);
            verdict.is_cut = matches!(summary.end, DayEnd::Cut { .. }) || summary.fault.is_some();
        }
        verdict
    }

    /// `OK: 5,000,000 messages, no violation of the specification`
    fn text(&self) -> String {
        let messages = counted(self.messages, "message");
        let violated = |(rules, violations): (u64, u64), of: &str| {
            let rules = counted(rules, "rule");
            format!("{} of {rules}{of}", counted(violations, "violation"))
        };
        let practice = (self.practice.0 > 0).then(|| violated(self.practice, " of practice"));
        if self.status == Status::Good {
            let practice = practice.map(|practice| format!("; {practice}")).unwrap_or_default();
            return format!("OK: {messages}, no violation of the specification{practice}");
        }
        let damaged = counted(self.damaged_ranges, "damaged range");
        let missing = counted(self.missing_messages, "missing message");
        let reasons = [
            (self.spec.0 > 0).then(|| violated(self.spec, "")),
            (self.damaged_ranges > 0).then_some(damaged),
            (self.missing_messages > 0).then_some(missing),
            self.is_cut.then(|| "the input is cut off".to_owned()),
        ];
        let mut reasons: Vec<_> = reasons.into_iter().flatten().collect();
        if reasons.is_empty() {
            reasons.push("a part of the input was not read".to_owned());
        }
        format!(
            "BAD: {}; {messages}",
            reasons.into_iter().chain(practice).collect::<Vec<_>>().join(", ")
        )
    }

    /// Without `violations`, which selects rules.
    fn record(&self) -> Record {
        Record::default()
            .with("verdict", if self.status == Status::Good { "OK" } else { "BAD" })
            .with("messages", self.messages)
            .with("violated_rules", self.spec.0)
            .with("violations_of_rules", self.spec.1)
            .with("violated_rules_of_practice", self.practice.0)
            .with("damaged_ranges", self.damaged_ranges)
            .with("missing_messages", self.missing_messages)
            .with("is_cut", self.is_cut)
    }
}
