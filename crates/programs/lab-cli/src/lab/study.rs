//! `nanotape lab study`: questions about this machine, and its answers.

use std::{path::PathBuf, time::Duration};

use anyhow::bail;
use clap::Args;
use nanotape_bench::{Study, StudyOptions};
use nanotape_console::{
    progress::Progress,
    records::{Columns, RecordArguments, RecordFormat},
    status::Status,
    values::seconds_in,
};
use nanotape_lab::{pages, record::append, text};
use serde_json::json;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape lab study                            the studies and their questions
  nanotape lab study pause                      one of them, about 20 seconds
  nanotape lab study all -o machine.html        all of them, as a page with plots
  nanotape lab study cold --seconds 120         more messages at the low rates
  nanotape lab study scheduling --cpus 3        on a quiet processor
  nanotape lab study random-access --memory 1GiB
  nanotape lab study all --record               keep the results in bench/studies

Each study prints how it measures, a table, what this machine answers, and what could not be
measured here. Cases are measured in several rounds, each in a random order. Differences have a 95%
interval over rounds; a difference within the noise is reported as such. Cases in the real-time
class need CAP_SYS_NICE. docs/studies.md describes the studies.

Exit status: 0 success; 2 wrong usage, or a processor, a thread or a file that is not available.")]
pub(crate) struct StudyCommand {
    /// Names of studies, or `all`; without a name, print the list
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// The approximate time of each study; cold takes at least 12 seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0, value_parser = seconds)]
    seconds: f64,

    /// Run on these processors, the most important one first [default: the allowed ones, from the
    /// last]
    #[arg(long, value_name = "CPUS", value_delimiter = ',')]
    cpus: Vec<u32>,

    /// Use the real-time class SCHED_FIFO with this priority
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=49))]
    realtime: Option<u8>,

    /// The largest table of each process of random-access [default: 256MiB, or four times the last
    /// cache]
    #[arg(long, value_name = "BYTES", value_parser = memory)]
    memory: Option<u64>,

    /// Append the results to the record of this host in DIRECTORY
    #[arg(long, value_name = "DIRECTORY", num_args = 0..=1, default_missing_value = "bench/studies")]
    record: Option<PathBuf>,

    #[command(flatten)]
    output: RecordArguments,
}

fn seconds(text: &str) -> Result<f64, String> {
    seconds_in(0.05..=3_600.0)(text)
}

fn memory(text: &str) -> Result<u64, String> {
    let bytes = nanotape_console::values::bytes(text)? as u64;
    match bytes {
        0x1000..=0x40_0000_0000 => Ok(bytes),
        _ => Err("expected a size from 4KiB to 256GiB".to_owned()),
    }
}

/// The first answers; the rows of a study have columns of its own, which only JSON has.
const COLUMNS: Columns = &[
    ("name", "/name"),
    ("time", "/time"),
    ("host", "/environment/host"),
    ("question", "/question"),
    ("answer_1", "/answers/0"),
    ("answer_2", "/answers/1"),
    ("answer_3", "/answers/2"),
    ("answer_4", "/answers/3"),
];

pub(crate) fn run(command: &StudyCommand) -> anyhow::Result<Status> {
    let studies = select(&command.names)?;
    let mut output = command.output.records_or(RecordFormat::Text, COLUMNS)?;
    if command.names.is_empty() {
        for study in studies {
            let text = format!("{:<14} {}\n", study.name(), study.question());
            let record = json!({ "name": study.name(), "question": study.question() });
            output.result(&text, record)?;
        }
        output.finish_with(pages::study)?;
        return Ok(Status::Good);
    }
    let options = StudyOptions {
        time: Duration::from_secs_f64(command.seconds),
        cpus: command.cpus.clone(),
        real_time_priority: command.realtime,
        most_bytes: command.memory,
    };
    let mut host = None;
    for (index, study) in studies.into_iter().enumerate() {
        let progress = Progress::with_steps("turns", 1);
        let answered = study.run(&options, &progress)?;
        drop(progress);
        if index == 0 {
            output.heading(&format!("{}\n", text::context(answered.context())))?;
        }
        host.clone_from(&answered.context().environment.host);
        output.result(&answered.to_string(), answered.record())?;
    }
    let records = output.finish_with(pages::study)?;
    if let Some(folder) = &command.record {
        append(folder, host.as_deref().unwrap_or("unknown"), &records)?;
    }
    Ok(Status::Good)
}

/// The studies with these names, each once; all of them for `all` and without a name.
fn select(names: &[String]) -> anyhow::Result<Vec<Study>> {
    let is_known =
        |name: &String| name == "all" || Study::ALL.iter().any(|study| study.name() == name);
    if let Some(name) = names.iter().find(|name| !is_known(name)) {
        let known: Vec<&str> = Study::ALL.iter().map(|study| study.name()).collect();
        bail!("no study {name:?}: use all, {}", known.join(", "));
    }
    let is_all = names.is_empty() || names.iter().any(|name| name == "all");
    let is_named = |study: &Study| is_all || names.iter().any(|name| name == study.name());
    Ok(Study::ALL.into_iter().filter(is_named).collect())
}
