//! `nanotape inside --consolidated`: the best bid and offer over several inputs.

use std::fmt::Display;

use anyhow::bail;
use nanotape_answers::{
    ConsolidatedReading, ConsolidatedTable, Given, Input, InputKind, MOST_VENUES, Opening,
    VenueInput, venue_labels,
};
use nanotape_arguments::errors::of_input;
use nanotape_plant::TradeDate;

use super::{InsideArguments, rings};
use crate::{
    output::{Format, OutputArguments},
    rows::{Rows, Times},
    status::{Status, note},
    values::nanos,
};

/// The longest distance between the beginnings of one trade date at two venues.
const ONE_DAY_NS: u64 = 24 * 3_600_000_000_000;

pub(super) fn run(arguments: &InsideArguments) -> anyhow::Result<Status> {
    let InsideArguments { input, more, span, symbols, time, output, stale_after, .. } = arguments;
    let (format, symbols) = (output.row_format()?, &symbols.list());
    let names: Vec<&Given> = std::iter::once(input.name()).chain(more).collect();
    if names.len() > MOST_VENUES {
        bail!("{} inputs: --consolidated reads at most {MOST_VENUES}", names.len());
    }
    let open = |name: &&Given| input.open_one_of_several(name);
    let inputs = names.iter().map(open).collect::<anyhow::Result<Vec<_>>>()?;
    let is_ring = |input: &Input| input.kind() == InputKind::Ring;
    if inputs.iter().all(is_ring) {
        return rings::run(arguments, inputs);
    }
    if let Some(ring) = inputs.iter().find(|input| is_ring(input)) {
        let name = ring.name();
        bail!("{name}: is a ring, or no such file: --consolidated reads rings or files, not both");
    }
    let within = |input: Input| input.within((*span).into(), symbols).map_err(of_input);
    let openings = inputs.into_iter().map(within).collect::<anyhow::Result<Vec<_>>>()?;
    let midnights: Vec<_> = openings.iter().map(|opening| opening.midnight_ns).collect();
    require_one_day(&openings)?;
    let dated = midnights.iter().position(Option::is_some).unwrap_or(0);
    let times = time.times(names[dated], midnights[dated])?;
    let from_ns = openings.iter().map(|opening| opening.bounds.0).min().unwrap_or(0);
    let publishers: Vec<_> = openings.iter().map(|opening| opening.publisher_id).collect();
    let mut table = open_table((output, format), &publishers, &names, times)?;
    let read = |opening| VenueInput::read(opening, symbols, nanos(*stale_after));
    let inputs = openings.into_iter().map(read).collect();
    let reading = ConsolidatedReading::new(inputs, &midnights, from_ns);
    let venues = reading.run(|row| table.row(row));
    table.sink.require_written()?;
    let mut venues = venues.into_iter().collect::<Result<Vec<_>, _>>().map_err(of_input)?;
    let status = input.conclude_together(&mut venues)?;
    table.sink.finish()?;
    Ok(status)
}

/// Opens the output, and notes which label is that of which input.
pub(super) fn open_table(
    (output, format): (&OutputArguments, Format),
    publishers: &[u16],
    names: &[impl Display],
    times: Times,
) -> anyhow::Result<ConsolidatedTable<Rows>> {
    let labels = venue_labels(publishers);
    for (label, name) in labels.iter().zip(names) {
        note(format_args!("{label}: {name}"));
    }
    let columns = ConsolidatedTable::<Rows>::columns();
    let rows = Rows::with_times(output.open()?, format, columns, times);
    Ok(ConsolidatedTable::new(rows, labels))
}

/// Refuses inputs of different trade dates.
fn require_one_day(openings: &[Opening]) -> anyhow::Result<()> {
    let dated = |opening: &&Opening| opening.midnight_ns.is_some();
    let Some(first) = openings.iter().find(dated) else { return Ok(()) };
    let of = |opening: &Opening| opening.midnight_ns.unwrap_or(0);
    let is_other = |other: &&Opening| of(other).abs_diff(of(first)) >= ONE_DAY_NS;
    if let Some(other) = openings.iter().filter(dated).find(is_other) {
        let date = |opening: &Opening| {
            TradeDate::of_time(of(opening)).map_or_else(String::new, |date| date.to_string())
        };
        bail!(
            "{} is of {} and {} of {}: --consolidated needs inputs of one trade date",
            first.name(),
            date(first),
            other.name(),
            date(other)
        );
    }
    Ok(())
}
