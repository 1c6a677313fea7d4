//! `nanotape check`: validate a day against the rules of the specification.

use clap::Args;
use nanotape_book::{Books, DefaultBooks, OrderStore, PriceLevels};
use nanotape_check::{Rule, Validator};

use crate::{
    input::{DayArguments, Report, Session},
    output::{Format, OutputArguments},
    rows::{Column, Rows},
    status::Status,
    structures::StructureArguments,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape check 12302019.NASDAQ_ITCH50.gz
  nanotape check day.gz --format json | jq 'select(.violations > 0)'

Prints a line per rule: the number of violations, and the record offset and message number of the
first one. The specification states or implies the rules of strength \"spec\"; real days follow those
of strength \"practice\". Exit status 1 if a rule of strength \"spec\" is violated or bytes are damaged.
docs/protocols/validation.md describes the rules.")]
pub(crate) struct CheckArguments {
    #[command(flatten)]
    input: DayArguments,

    #[command(flatten)]
    output: OutputArguments,

    #[command(flatten)]
    structures: StructureArguments,
}

pub(crate) fn run(arguments: &CheckArguments) -> anyhow::Result<Status> {
    match arguments.structures.chosen(arguments.input.orders()) {
        None => run_with(arguments, DefaultBooks::with_capacity(arguments.input.orders())),
        Some(books) => run_with(arguments, books),
    }
}

fn run_with<L: PriceLevels, S: OrderStore>(
    arguments: &CheckArguments,
    books: Books<L, S>,
) -> anyhow::Result<Status> {
    let format = arguments.output.format_or(Format::Text)?;
    let output = arguments.output.open()?;
    let mut validator = Validator::default();
    let session = Session::run_day(&arguments.input, books, &mut validator)?;
    if let Report::Day(report) = &session.report {
        validator.finish(&session.engine, report);
    }
    let columns = vec![
        Column::number("rule", 4),
        Column::word("strength", 8),
        Column::number("violations", 10),
        Column::number("first_offset", 12),
        Column::number("first_message", 13),
        Column::word("text", 0),
    ];
    let mut rows = Rows::new(output, format, columns);
    for rule in Rule::ALL {
        let finding = validator.finding(rule);
        rows.integer(u64::from(rule.number()));
        rows.text(rule.strength().name());
        rows.integer(finding.violations);
        rows.integer_or_absent(finding.first.map(|(offset, _)| offset));
        rows.integer_or_absent(finding.first.and_then(|(_, number)| number));
        rows.text(rule.text());
        rows.end_row()?;
    }
    rows.finish()?;
    let status = session.status();
    Ok(if validator.is_valid() { status } else { Status::Bad })
}
