//! The options of a command that reads an INPUT, and its reading with a progress bar.

use std::path::{Path, PathBuf};

use clap::Args;
use nanotape_answers::{
    Breaks, Given, Input, InputOptions, InputReport, Opening, Reading, RunChoice, Session, Span,
    SymbolFilter, VenueSession, open_day, open_day_on_thread,
};
use nanotape_book::DefaultBooks;
use nanotape_console::{
    progress::Progress,
    status::{BadData, Status, note},
    values::counted,
};
use nanotape_engine::Observer;
use nanotape_feed::DaySource;
use nanotape_market::MarketEvent;
use nanotape_plant::{PlantConfig, TradeDate};
use nanotape_types::Symbol;

use crate::{
    errors::of_input,
    groups::GroupArguments,
    verdict::{conclude_session, conclude_venues},
};

/// An input of events.
#[derive(Args, Debug)]
pub struct InputArguments {
    /// Day file or capture (pcap, pcapng), plain, gzip or zstd; folder of a journal that recorded a
    /// plant; DBN file (plain or zstd; of tap or of Databento); or - for one of these files on
    /// standard input
    #[arg(value_name = "INPUT")]
    input: Given,

    /// Run of a plant in a journal or DBN file: a number from 1, or last [default: last]. In a DBN
    /// file of another writer, each trade date is a run
    #[arg(help_heading = "Input", long, value_name = "N")]
    run: Option<RunChoice>,

    /// Trade date of a day file, if its name has none or a wrong one, as in 2019-12-30
    #[arg(help_heading = "Input", long, value_name = "DATE")]
    date: Option<TradeDate>,

    #[command(flatten)]
    groups: GroupArguments,

    /// If a part of the input is missing, or a book is unreliable: status 1, and no output file
    #[arg(help_heading = "Input", long)]
    strict: bool,
}

/// An input of the exchange's own messages.
#[derive(Args, Debug)]
pub struct DayArguments {
    /// ITCH 5.0 day file, or capture (pcap, pcapng) of ITCH, IEX or Cboe PITCH; plain, gzip or
    /// zstd; - is standard input
    #[arg(value_name = "FILE")]
    file: Given,

    #[command(flatten)]
    groups: GroupArguments,
}

impl InputArguments {
    /// The input as it was given.
    pub fn name(&self) -> &Given {
        &self.input
    }

    /// Whether a second opening would not give its bytes again.
    pub fn is_read_once(&self) -> bool {
        self.input.is_read_once() && !self.input.path().is_dir()
    }

    /// Opens the input for a span. `symbols`: the stocks, empty for all of them.
    pub fn open(&self, span: Span, symbols: &[Symbol]) -> anyhow::Result<Opening> {
        let open = || Input::open(self.input.clone(), self.options())?.within(span, symbols);
        let opening = open().map_err(of_input)?;
        note_earlier_runs(&self.input, opening.earlier_runs);
        Ok(opening)
    }

    /// Opens one of several inputs, which can be a ring. The options apply to those that have what
    /// they choose.
    pub fn open_one_of_several(&self, name: &Given) -> anyhow::Result<Input> {
        let options = InputOptions { rings: true, lenient: true, ..self.options() };
        let mut input = Input::open(name.clone(), options).map_err(of_input)?;
        note_earlier_runs(name, input.earlier_runs().map_err(of_input)?);
        Ok(input)
    }

    fn options(&self) -> InputOptions {
        let (run, date, capture) = (self.run, self.date, self.groups.choice());
        InputOptions { run, date, capture, ..InputOptions::default() }
    }

    /// Runs the events of an open input through books; the observer gets those of the span.
    pub fn read(
        &self,
        opening: Opening,
        observer: &mut impl Observer<DefaultBooks>,
    ) -> anyhow::Result<Session> {
        opening.run(observer, bar()).map_err(of_input)
    }

    /// Reports what the input lacks, and which books of the selected stocks are unreliable. Returns
    /// the exit status, or an error if symbols are missing or `--strict` refuses the answer: call
    /// it before the output is finished.
    pub fn conclude(
        &self,
        session: &Session,
        selected: &mut SymbolFilter,
    ) -> anyhow::Result<Status> {
        conclude_session(session, selected, self.strict)
    }

    /// The same for several inputs that were read together. A requested symbol must be in one of
    /// them.
    pub fn conclude_together(&self, venues: &mut [VenueSession]) -> anyhow::Result<Status> {
        conclude_venues(venues, self.strict)
    }

    /// Further files of the capture.
    pub fn pieces(&self) -> &[PathBuf] {
        &self.groups.pieces
    }

    /// Whether `--strict` is given.
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    /// Refuses an input of which a part is missing, if `--strict` is given.
    pub fn require_whole(&self, status: Status) -> anyhow::Result<()> {
        if self.strict && status != Status::Good {
            let line = format!("{}: refused by --strict: a part is missing", self.input);
            return Err(BadData(line).into());
        }
        Ok(())
    }

    /// The configuration of a plant of this input, which is a day file or a capture.
    pub fn plant_config(&self) -> PlantConfig {
        let mut config = PlantConfig::default();
        config.input.file = self.input.path().to_owned();
        config.input.date = self.date;
        config.input.groups.clone_from(&self.groups.groups);
        config.input.session = self.groups.read_session;
        config.input.pieces.clone_from(&self.groups.pieces);
        config
    }

    /// Opens a file once more; `None` for a folder, and for what is read only once: standard input
    /// and pipes.
    pub fn open_day_again(&self) -> anyhow::Result<Option<DaySource>> {
        nanotape_answers::day_again(&self.input, &self.groups.choice()).map_err(of_input)
    }
}

/// The match numbers of the broken trades of an open input; see [`Opening::breaks`].
pub fn breaks_of(opening: &Opening) -> anyhow::Result<Option<Breaks>> {
    opening.breaks(bar()).map_err(of_input)
}

/// Reads the events of an open input; see [`Opening::read_events`].
pub fn read_events(
    opening: Opening,
    event: impl FnMut(&MarketEvent, Option<u64>, &[u8]) -> std::ops::ControlFlow<()>,
) -> anyhow::Result<InputReport> {
    opening.read_events(event, bar()).map_err(of_input)
}

/// Reports the runs that are not read although no run was chosen.
pub fn note_earlier_runs(name: &str, earlier: u64) {
    if earlier > 0 {
        let earlier = counted(earlier, "earlier run");
        note(format_args!("{name}: reading the last run; {earlier} can be read with --run N"));
    }
}

/// A progress bar of a reading, which appears with its first call.
pub fn bar() -> impl FnMut(Reading) {
    let mut bar = None;
    move |reading| {
        let done = match reading {
            Reading::Bytes(done, _) | Reading::Messages(done, _) => done,
        };
        let new = || match reading {
            Reading::Bytes(_, total) => Progress::with_total(total),
            Reading::Messages(_, total) => Progress::with_steps("messages", total),
        };
        bar.get_or_insert_with(new).set(done);
    }
}

impl DayArguments {
    /// Opens the file.
    pub fn open(&self) -> anyhow::Result<DaySource> {
        open_day(&self.file, &self.groups.choice()).map_err(of_input)
    }

    /// Opens the file with further pieces of its capture.
    pub fn open_with(&self, more: &[PathBuf]) -> anyhow::Result<DaySource> {
        let mut choice = self.groups.choice();
        choice.pieces.extend_from_slice(more);
        open_day(&self.file, &choice).map_err(of_input)
    }

    /// [`DayArguments::open`] with a second thread that reads the file, for a day that takes hours.
    pub fn open_on_thread(&self) -> anyhow::Result<DaySource> {
        open_day_on_thread(&self.file, &self.groups.choice()).map_err(of_input)
    }

    /// Runs the events of the file through books.
    pub fn read(&self, observer: &mut impl Observer<DefaultBooks>) -> anyhow::Result<Session> {
        let opening = Opening::of_messages(&self.file, &self.groups.choice());
        opening.and_then(|opening| opening.run(observer, bar())).map_err(of_input)
    }

    /// The file as it was given.
    pub fn name(&self) -> &Given {
        &self.file
    }

    /// The path of the file; `None` for standard input.
    pub fn path(&self) -> Option<&Path> {
        (!self.file.is_standard()).then(|| self.file.path())
    }
}
