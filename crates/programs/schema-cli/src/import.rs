//! `nanotape-schema import`: a schema from a description.

use std::io::Write as _;

use nanotape_console::{
    output::{Format, OutputArguments},
    status::Status,
};
use nanotape_schema::import;

use crate::{arguments::ImportArguments, files};

pub(crate) fn run(arguments: &ImportArguments) -> anyhow::Result<Status> {
    let ImportArguments { description, output, force } = arguments;
    let description = files::description_of(description)?;
    let name = output.as_ref().map_or("the schema".into(), |path| path.display().to_string());
    let text = match import(&name, &description) {
        Ok(text) => text,
        Err(problems) => return Ok(files::report(&problems)),
    };
    let output = OutputArguments::<Format> { output: output.clone(), force: *force, format: None };
    let mut output = output.open()?;
    output.write_all(text.as_bytes())?;
    output.finish()?;
    Ok(Status::Good)
}
