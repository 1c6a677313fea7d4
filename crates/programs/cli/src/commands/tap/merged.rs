//! A tap of several INPUTs: their records in the order of their times.

mod printer;

use std::{ops::ControlFlow, time::Duration};

use anyhow::bail;
use nanotape_answers::{Given, Input, InputKind, InputOptions, RecordSpan, with_suggestions};
use nanotape_arguments::{
    errors::{of_input, of_subscription},
    records::{self, conclude_day},
    regions::state_sentence,
};
use nanotape_plant::TradeDate;
use nanotape_tap::{
    Event, MergeBy, MergeStep, MergedInstruments, MergedSources, SourceEnd, SubscribeError,
    Subscriber,
};
use nanotape_tape::{ShutdownFlag, WriterState};
use nanotape_types::Symbol;
use printer::MergePrinter;

use super::{By, TapArguments, TapFormat, TapStart, TsRecv, join, source};
use crate::{
    status::{BadData, Status, is_broken_pipe, note, warn},
    values::{counted, nanos_text},
};

/// Time between two polls of rings that have nothing.
const PAUSE: Duration = Duration::from_micros(200);

/// Polls without a record after which the output is flushed.
const QUIET_POLLS: u32 = 5;

/// Losses and bad records that get a line each.
const LINES: u64 = 10;

pub(super) fn run(
    command: &TapArguments,
    format: TapFormat,
    interrupt: &ShutdownFlag,
) -> anyhow::Result<Status> {
    check(command)?;
    let names: Vec<&Given> = std::iter::once(&command.input).chain(&command.more).collect();
    let mut inputs = Vec::new();
    for name in &names {
        let options = InputOptions { lenient: true, ..command.options(true) };
        let input = Input::open((*name).clone(), options).map_err(of_input)?;
        source::check(command, input.kind())?;
        input.require_date().map_err(of_input)?;
        inputs.push(input);
    }
    let kinds: Vec<_> = inputs.iter().map(Input::kind).collect();
    let mut instruments = MergedInstruments::default();
    if format == TapFormat::Dbn && command.only_kind().is_some() {
        for (source, input) in inputs.iter().enumerate() {
            for (locate, symbol) in input.stocks().map_err(of_input)? {
                instruments.name(source, locate, symbol)?;
            }
        }
    }
    let output = command.output.open()?;
    let mut subscribers = Vec::new();
    for (input, name) in inputs.into_iter().zip(&names) {
        let span = RecordSpan {
            start: command.from.and_then(TapStart::start),
            from: command.from.and_then(TapStart::moment),
            until: command.until,
        };
        let subscription = join::subscription_to(name, command, interrupt);
        let Some(subscriber) = records::join(input, subscription, span, command.wait)? else {
            note(format_args!("{name}: interrupted before a plant started"));
            return Ok(Status::Good);
        };
        join::warn_of_unpublished(&subscriber, command.records);
        subscribers.push(subscriber);
    }
    let is_live = |kind: &InputKind| *kind == InputKind::Ring;
    let by = match command.by {
        Some(By::TsRecv) => MergeBy::TsRecv,
        Some(By::TsEvent) => MergeBy::TsEvent,
        None if kinds.iter().any(is_live) => MergeBy::TsRecv,
        None => MergeBy::TsEvent,
    };
    if format == TapFormat::Dbn {
        require_one_date(&subscribers)?;
    }
    let printer = MergePrinter::new(command, format, output, &names, instruments);
    let sources = subscribers.into_iter().zip(kinds.iter().map(is_live));
    let merged = MergedSources::new(sources, by, command.wait_silent);
    MergedTap::new(command, &names, &kinds, merged, printer).run(interrupt)
}

/// Refuses the options of one INPUT.
fn check(command: &TapArguments) -> anyhow::Result<()> {
    let given = [
        ("--heal", command.heal.is_some()),
        ("--whole", command.whole),
        ("--name", command.name.is_some()),
        ("--rejoin", command.rejoin.is_some()),
        ("--through-restarts", command.through_restarts),
        ("--strict", command.strict),
        ("--check-digest", command.check_digest),
        ("--roll", command.roll.is_some()),
        ("--notices", command.notices),
        ("--ts-recv event", command.ts_recv == TsRecv::Event),
        ("--embedded-driver or --aeron-dir", command.driver.is_given()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => bail!("{option} does not apply to several INPUTs"),
        None => Ok(()),
    }
}

/// Refuses a DBN file of several trade dates: a stock number holds for one.
fn require_one_date(subscribers: &[Subscriber]) -> anyhow::Result<()> {
    let date = |subscriber: &Subscriber| subscriber.midnight_ns().and_then(TradeDate::of_time);
    let mut dated = subscribers.iter().filter_map(|of| Some((of.ring(), date(of)?)));
    let Some((first, date)) = dated.next() else { return Ok(()) };
    if let Some((other, other_date)) = dated.find(|(_, other)| *other != date) {
        bail!(
            "{} is of {date} and {} of {other_date}: a DBN file has one trade date",
            first.display(),
            other.display()
        );
    }
    Ok(())
}

/// The loop of a merge.
struct MergedTap<'a> {
    names: Vec<&'a Given>,
    kinds: Vec<InputKind>,
    symbols: Vec<Symbol>,
    fails_on_loss: bool,
    merged: MergedSources,
    printer: MergePrinter<'a>,
    left: u64,
    written: u64,
    /// Losses of each source, and the records that they lack.
    losses: Vec<(u64, u64)>,
    bad_records: u64,
}

impl<'a> MergedTap<'a> {
    fn new(
        command: &TapArguments,
        names: &[&'a Given],
        kinds: &[InputKind],
        merged: MergedSources,
        printer: MergePrinter<'a>,
    ) -> Self {
        Self {
            names: names.to_vec(),
            kinds: kinds.to_vec(),
            symbols: command.symbols.list(),
            fails_on_loss: command.fail_on_loss,
            merged,
            printer,
            left: command.count.unwrap_or(u64::MAX),
            written: 0,
            losses: vec![(0, 0); names.len()],
            bad_records: 0,
        }
    }

    fn run(mut self, interrupt: &ShutdownFlag) -> anyhow::Result<Status> {
        match self.follow(interrupt) {
            Err(error) if is_broken_pipe(&error) => return Ok(Status::Good),
            followed => followed?,
        }
        let Self { names, kinds, symbols, fails_on_loss, mut merged, printer, .. } = self;
        let left_out = printer.left_out;
        printer.finish(&merged)?;
        let late = merged.late();
        let mut status = Status::Good;
        for (source, name) in names.iter().enumerate() {
            let of = &mut merged.sources_mut()[source];
            let (losses, lost) = self.losses[source];
            let read = counted(of.messages() - lost.min(of.messages()), "message");
            let line = format!("{name}: {read} read, {lost} lost in {}", counted(losses, "gap"));
            if losses > 0 {
                warn(line)
            } else {
                note(line)
            }
            let end = of.end();
            if let Some(ended) = of.subscriber_mut().finish_day()
                && end == Some(SourceEnd::Stopped)
            {
                status = status.max(conclude_day(of.subscriber(), ended)?);
            }
            if let Some(SourceEnd::Gone(state)) = end
                && kinds[source] == InputKind::Ring
            {
                warn(format_args!("{name}: {}", state_sentence(state)));
                if state == WriterState::Dead {
                    status = Status::Bad;
                }
            }
        }
        note(format_args!("{} written", counted(self.written, "record")));
        if late.count > 0 {
            warn(format_args!(
                "{} came after one of a later time, by up to {}: a longer --wait-silent waits for them",
                counted(late.count, "record"),
                nanos_text(late.most_ns)
            ));
        }
        let has_losses = self.losses.iter().any(|(losses, _)| *losses > 0);
        if fails_on_loss && has_losses || left_out > 0 || self.bad_records > 0 {
            status = Status::Bad;
        }
        if merged.sources().iter().all(|of| of.end().is_some_and(|end| end != SourceEnd::Shutdown))
        {
            require_symbols(&symbols, &merged)?;
        }
        Ok(status)
    }

    fn follow(&mut self, interrupt: &ShutdownFlag) -> anyhow::Result<()> {
        let mut quiet = 0;
        loop {
            let Self { merged, printer, left, written, losses, .. } = self;
            let mut failed = None;
            let step = merged.step(|source, event| {
                match event {
                    Event::Lost(gap) => {
                        losses[source] = (losses[source].0 + 1, losses[source].1 + gap.count());
                    }
                    Event::Reported { .. } => losses[source].0 += 1,
                    Event::Record(_) | Event::Healed(_) => {}
                }
                match printer.print(source, event) {
                    Ok(is_there) if matches!(event, Event::Record(_)) => {
                        *written += u64::from(is_there);
                        *left -= u64::from(is_there);
                    }
                    Ok(_) => {}
                    Err(error) => failed = Some(error),
                }
                let is_over = failed.is_some() || *left == 0;
                if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            if let Some(error) = failed {
                return Err(error);
            }
            printer.write(merged)?;
            match step {
                Ok(MergeStep::Read) => quiet = 0,
                Ok(MergeStep::Stopped | MergeStep::Over) => return Ok(()),
                Ok(MergeStep::Idle) => {
                    quiet += 1;
                    if quiet == QUIET_POLLS {
                        printer.flush()?;
                    }
                    std::thread::sleep(PAUSE);
                }
                // One record is invalid; the records around it are valid.
                Err((source, error)) if matches!(*error, SubscribeError::Record { .. }) => {
                    self.bad_records += 1;
                    if self.bad_records <= LINES {
                        warn(format_args!("{}: {error}", self.names[source]));
                    }
                }
                Err((_, error)) => return Err(of_subscription(*error)),
            }
            if interrupt.is_requested() {
                return Ok(());
            }
        }
    }
}

/// Returns an error if no source has a requested symbol.
fn require_symbols(symbols: &[Symbol], merged: &MergedSources) -> anyhow::Result<()> {
    let known = merged.sources().iter().flat_map(|of| of.subscriber().symbols());
    let known: Vec<_> = known.map(|(_, symbol)| symbol).collect();
    let is_missing = |wanted: &&Symbol| !known.iter().any(|symbol| wanted.selects(*symbol));
    let missing: Vec<_> = symbols.iter().filter(is_missing).copied().collect();
    if missing.is_empty() {
        return Ok(());
    }
    let missing = with_suggestions(&missing, &known);
    Err(BadData(format!("all inputs: symbols not found: {missing}")).into())
}
