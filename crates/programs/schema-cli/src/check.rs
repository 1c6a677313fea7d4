//! `nanotape-schema check`: what differs between a schema and a description.

use std::path::Path;

use nanotape_console::{
    rows::{Column, Kind, Rows},
    status::{Status, note, warn},
};
use nanotape_schema::{Explanations, Protocol, Schema, compare, read_any_with};

use crate::{arguments::CheckArguments, files};

pub(crate) fn run(arguments: &CheckArguments) -> anyhow::Result<Status> {
    let Some(schema) = schema_of(&arguments.schema)? else { return Ok(Status::Bad) };
    let explained = match &arguments.explained {
        None => Explanations::read("", ""),
        Some(path) => Explanations::read(&path.display().to_string(), &files::text_of(path)?),
    };
    let explained = match explained {
        Ok(explained) => explained,
        Err(problems) => return Ok(files::report(&problems)),
    };
    let description = files::description_of(&arguments.description)?;
    let differences = compare(&schema, &description);
    let (reasons, unused) = explained.apply(&differences);
    let format = arguments.output.row_format()?;
    let mut rows = Rows::new(arguments.output.open()?, format, columns());
    for (difference, reason) in differences.iter().zip(&reasons) {
        rows.integer(difference.spot.line as u64);
        rows.text(difference.aspect.name());
        rows.text(&difference.message);
        rows.text(&difference.name);
        rows.text(&difference.field);
        rows.text(&difference.ours);
        rows.text(&difference.theirs);
        match reason {
            Some(reason) => rows.text(reason),
            None => rows.skip(),
        }
        rows.end_row()?;
    }
    rows.finish()?;
    unused.iter().for_each(warn);
    let known = reasons.iter().flatten().count();
    note(format_args!(
        "{} messages, {} differences, {known} explained",
        description.messages.len(),
        differences.len()
    ));
    let is_good = known == differences.len() && unused.is_empty();
    Ok(if is_good { Status::Good } else { Status::Bad })
}

fn columns() -> Vec<Column> {
    vec![
        Column::new("line", Kind::U64, 6, "line of the description"),
        Column::new("aspect", Kind::Text, 10, "what differs"),
        Column::new("message", Kind::Text, 7, "type of the message"),
        Column::new("name", Kind::Text, 24, "name of the message"),
        Column::new("field", Kind::Text, 28, "the field"),
        Column::new("ours", Kind::Text, 20, "what the schema has"),
        Column::new("theirs", Kind::Text, 20, "what the description has"),
        Column::new("reason", Kind::Text, 10, "why it is so, if that is known"),
    ]
}

/// The protocol in a schema, or nothing after its mistakes were reported.
fn schema_of(path: &Path) -> anyhow::Result<Option<Protocol>> {
    let text = files::text_of(path)?;
    let name = path.display().to_string();
    let mut load = |other: &str| {
        files::text_of(Path::new(other)).map_err(|error| nanotape_console::status::text_of(&error))
    };
    match read_any_with(&name, &text, &mut load) {
        Ok(Schema::Protocol(protocol)) => Ok(Some(protocol)),
        Ok(Schema::Interface(_) | Schema::Value(_)) => {
            warn(format_args!("{name}: not a [protocol], which an XML description needs"));
            Ok(None)
        }
        Err(problems) => {
            files::report(&problems);
            Ok(None)
        }
    }
}
