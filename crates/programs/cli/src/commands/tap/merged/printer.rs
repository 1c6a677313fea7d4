//! The output of a tap of several INPUTs: rows with their sources, or one DBN file.

use std::io::BufWriter;

use nanotape_answers::Given;
use nanotape_plant::{
    dbn,
    records::{Header, Notice, Record},
};
use nanotape_tap::{DbnFile, Event, MergedInstruments, MergedNames, MergedSources};

use super::LINES;
use crate::{
    commands::tap::{
        TapArguments, TapFormat, line_of,
        rows::{RowSource, Table},
    },
    output::{Format, Output},
    status::{note, warn},
};

/// The output of a merge.
pub(super) struct MergePrinter<'a> {
    names: Vec<&'a str>,
    target: MergeTarget,
    /// Publishers of the sources so far; 0 if unknown.
    publishers: Vec<u16>,
    instruments: MergedInstruments,
    midnight_ns: Option<u64>,
    /// Losses without a place in the file.
    pub(super) left_out: u64,
}

enum MergeTarget {
    Rows(Box<Table>),
    Dbn { file: Box<DbnFile<BufWriter<Output>>>, bytes: Vec<u8> },
}

impl<'a> MergePrinter<'a> {
    pub(super) fn new(
        command: &TapArguments,
        format: TapFormat,
        output: Output,
        names: &[&'a Given],
        instruments: MergedInstruments,
    ) -> Self {
        let rows = |output, format| MergeTarget::Rows(Box::new(Table::of_sources(output, format)));
        let target = match format {
            TapFormat::Text => rows(output, Format::Text),
            TapFormat::Csv => rows(output, Format::Csv),
            TapFormat::Json => rows(output, Format::Json),
            TapFormat::Dbn => {
                let (output, symbols) = (BufWriter::new(output), command.symbols.list());
                let file = match command.only_kind() {
                    Some(kind) => {
                        let names = instruments.names().iter().copied();
                        DbnFile::of_kind(output, &symbols, kind, names)
                    }
                    None => DbnFile::new(output, &symbols),
                };
                MergeTarget::Dbn { file: Box::new(file), bytes: Vec::new() }
            }
        };
        Self {
            names: names.iter().map(|name| &***name).collect(),
            target,
            publishers: vec![0; names.len()],
            instruments,
            midnight_ns: None,
            left_out: 0,
        }
    }

    /// Prints an event of a source. Returns whether the output has a place for it.
    pub(super) fn print(&mut self, source: usize, event: &Event<'_>) -> anyhow::Result<bool> {
        if let Event::Record(delivery) = event {
            self.midnight_ns = self.midnight_ns.or(delivery.midnight_ns);
            let publisher_id = match &delivery.record {
                Record::Notice(Notice::Start(start)) => start.publisher_id,
                Record::Notice(_) => 0,
                _ => Header::of(delivery.bytes).map_or(0, |header| header.publisher_id),
            };
            if publisher_id != 0 {
                self.publishers[source] = publisher_id;
            }
        }
        let publisher_id = self.publishers[source];
        match &mut self.target {
            MergeTarget::Rows(table) => {
                let publisher = dbn::Publisher::try_from(publisher_id).ok();
                let of = RowSource {
                    name: self.names[source],
                    width: self.names.iter().map(|name| name.len()).max().unwrap_or(0),
                    publisher_id,
                    dataset: publisher.map(|publisher| publisher.dataset().as_str()),
                };
                table.print_of(&of, event)?;
                Ok(true)
            }
            MergeTarget::Dbn { file, bytes } => {
                if let Event::Record(delivery) = event
                    && matches!(delivery.record, Record::Notice(Notice::Start(_) | Notice::Stop(_)))
                {
                    // A reader takes a start for the beginning of another run.
                    return Ok(false);
                }
                let has_room = file.has_room_for(event);
                if !has_room {
                    self.left_out += u64::from(is_loss(event));
                    if self.left_out <= LINES && is_loss(event) {
                        warn(format_args!(
                            "{}: {}",
                            self.names[source],
                            line_of(event).trim_start()
                        ));
                    }
                }
                let add = |event: &Event<'_>| file.add(event);
                self.instruments.renumbered(source, event, bytes, add)??;
                Ok(has_room)
            }
        }
    }

    /// Writes what a DBN file has so far.
    pub(super) fn write(&mut self, merged: &MergedSources) -> anyhow::Result<()> {
        self.names_of(merged)?;
        let names = self.merged_names();
        if let (MergeTarget::Dbn { file, .. }, names) = (&mut self.target, names) {
            file.write_merged(&names.as_names(&self.instruments))?;
        }
        Ok(())
    }

    /// Names the stocks that are known before the first record.
    fn names_of(&mut self, merged: &MergedSources) -> anyhow::Result<()> {
        if !matches!(self.target, MergeTarget::Dbn { .. }) || !self.instruments.names().is_empty() {
            return Ok(());
        }
        for (source, of) in merged.sources().iter().enumerate() {
            for (locate, symbol) in of.subscriber().symbols() {
                self.instruments.name(source, locate, symbol)?;
            }
        }
        Ok(())
    }

    fn merged_names(&self) -> FirstPublisher {
        let publisher_id = self.publishers.iter().copied().find(|&of| of != 0).unwrap_or(0);
        FirstPublisher { publisher_id, midnight_ns: self.midnight_ns.filter(|&ns| ns > 0) }
    }

    pub(super) fn flush(&mut self) -> anyhow::Result<()> {
        match &mut self.target {
            MergeTarget::Rows(table) => table.rows.flush()?,
            MergeTarget::Dbn { file, .. } => file.flush()?,
        }
        Ok(())
    }

    pub(super) fn finish(mut self, merged: &MergedSources) -> anyhow::Result<()> {
        self.names_of(merged)?;
        let names = self.merged_names();
        match self.target {
            MergeTarget::Rows(table) => table.rows.finish()?,
            MergeTarget::Dbn { file, .. } => {
                note_publishers(&self.publishers);
                let output = file.finish_merged(&names.as_names(&self.instruments))?;
                output.into_inner().map_err(std::io::IntoInnerError::into_error)?.finish()?;
            }
        }
        Ok(())
    }
}

/// What the metadata has of the sources.
#[derive(Clone, Copy)]
struct FirstPublisher {
    publisher_id: u16,
    midnight_ns: Option<u64>,
}

impl FirstPublisher {
    fn as_names(self, instruments: &MergedInstruments) -> MergedNames<'_> {
        let Self { publisher_id, midnight_ns } = self;
        MergedNames { names: instruments.names(), publisher_id, midnight_ns }
    }
}

/// Reports that the metadata names one data set, and the records several.
fn note_publishers(publishers: &[u16]) {
    let mut datasets: Vec<_> = publishers
        .iter()
        .filter_map(|&publisher_id| dbn::Publisher::try_from(publisher_id).ok())
        .map(|publisher| publisher.dataset().as_str())
        .collect();
    datasets.dedup();
    if let [first, others @ ..] = &datasets[..]
        && !others.is_empty()
    {
        note(format_args!(
            "the metadata of the DBN file names the data set {first}; the publishers of its records are \
             also of {}",
            others.join(", ")
        ));
    }
}

/// Whether an event is a loss.
fn is_loss(event: &Event<'_>) -> bool {
    match event {
        Event::Healed(_) => false,
        Event::Lost(_) | Event::Reported { .. } => true,
        Event::Record(delivery) => {
            matches!(delivery.record, Record::Notice(Notice::Gap(_) | Notice::SessionGap(_)))
        }
    }
}
