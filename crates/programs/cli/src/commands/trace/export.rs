//! `nanotape trace export`: a recording of spans as a file for trace viewers.

use std::collections::VecDeque;

use anyhow::{Context as _, bail};
use clap::Args;
use nanotape_answers::Given;
use nanotape_arguments::spans::{Next, Spans, site_name};
use nanotape_trace::{
    export::{self, Slice, Written},
    recording::{Entry, ThreadInfo},
    spans::Span,
};

use super::record::TraceFormat;
use crate::{
    interrupt,
    output::OutputArguments,
    status::{BadData, Status, note},
    values::grouped,
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape trace export spans/ -o spans.pftrace
  nanotape trace export spans/ --last 1000 -o spans.json
  nanotape trace export equities -o now.pftrace       what is in the rings of a plant

Open the files in https://ui.perfetto.dev, .json also in chrome://tracing. Each span takes about 150 bytes
of memory.

Exit status: 0 success; 1 the spans are damaged, and those around the damage are in the file; 2 there are
none, or the file cannot be written.")]
pub(super) struct ExportCommand {
    /// Folder of a recording, name or path of a ring, path of a thread's region, or number of a
    /// process
    #[arg(value_name = "RECORDING|NAME|PID")]
    target: Given,

    /// Spans of each thread: the last N
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = crate::values::count::<usize>(1..))]
    last: usize,

    #[command(flatten)]
    output: OutputArguments<TraceFormat>,
}

pub(super) fn run(command: &ExportCommand) -> anyhow::Result<Status> {
    if command.output.output.is_none() {
        bail!("no file for the spans: use -o FILE, as in -o spans.pftrace");
    }
    let format = command.output.format_or(TraceFormat::Perfetto)?;
    let interrupt = interrupt::install()?;
    let mut spans = Spans::open(&command.target, false)?;
    let mut output = command.output.open()?;
    let mut threads: Vec<Kept> = Vec::new();
    let mut damaged = None;
    while !interrupt.is_requested() {
        let (thread, lost, span) = match spans.next_entry()? {
            Next::Nothing => break,
            Next::Damaged(what) => {
                damaged.get_or_insert(what);
                continue;
            }
            Next::Entry(Entry::Span { thread, span, .. }) => (thread, 0, Some(span)),
            Next::Entry(Entry::Lost { thread, count, .. }) => (thread, count, None),
            Next::Entry(_) => continue,
        };
        if threads.len() <= thread {
            threads.resize_with(thread + 1, Kept::default);
        }
        threads[thread].add(spans.thread(thread), lost, span, command.last);
    }
    let process = &command.target;
    let threads = threads.into_iter().enumerate();
    let recording = export::Recording {
        threads: threads.map(|(at, kept)| kept.exported(process, spans.thread(at))).collect(),
        instants: Vec::new(),
    };
    let written = export::write(&recording, format.exported(), &mut output);
    let Written { spans, flows, .. } = written.context("cannot write the spans")?;
    output.finish()?;
    note(format_args!("{} spans, {} messages in several threads", grouped(spans), grouped(flows)));
    match damaged {
        Some(what) => Err(BadData(what).into()),
        None => Ok(Status::Good),
    }
}

/// The last spans of a thread.
#[derive(Default)]
struct Kept {
    spans: VecDeque<Slice>,
    /// Spans that were lost after the last one.
    lost: u64,
}

impl Kept {
    fn add(&mut self, thread: &ThreadInfo, lost: u64, span: Option<Span>, last: usize) {
        self.lost = self.lost.saturating_add(lost);
        let Some(span) = span else { return };
        if self.spans.len() >= last {
            self.spans.pop_front();
        }
        self.spans.push_back(Slice {
            site: span.site.index(),
            number: span.number,
            value: span.value,
            begin_ns: thread.timescale.utc_ns(span.from),
            end_ns: thread.timescale.utc_ns(span.to),
            lost_before: std::mem::take(&mut self.lost),
        });
    }

    fn exported(self, process: &str, thread: &ThreadInfo) -> export::Thread {
        export::Thread {
            process: process.to_owned(),
            process_id: thread.pid,
            name: thread.name.clone(),
            thread_id: None,
            sites: (0..thread.sites.len()).map(|site| site_name(thread, site)).collect(),
            spans: self.spans.into(),
            lost_after: self.lost,
        }
    }
}
