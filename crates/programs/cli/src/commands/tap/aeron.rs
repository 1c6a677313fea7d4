//! A tap of an Aeron stream.
//!
//! Protocol: a thread receives the stream onto a ring in private memory, which the tap reads as it
//! reads the ring of a plant. So a tap that is slow, or reads its journal, does not hold the
//! publisher back.

use std::{
    sync::mpsc::{self, Sender},
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context as _, bail};
use nanotape_aeron::{AeronAddress, AeronSource, Reception, ReceptionEvent};
use nanotape_answers::InputKind;
use nanotape_arguments::{errors::of_subscription, regions::state_sentence};
use nanotape_ring::{Publish as _, Start, stream};
use nanotape_tap::{ReceivedEnd, ReceivedRing};
use nanotape_tape::{Deadline, ShutdownFlag, Tape as _};

use super::{TapArguments, TapFormat, TapStart, join};
use crate::{
    aeron::{self, DriverArguments},
    status::{Status, note, warn},
};

/// Bytes of the private ring, as of the ring of a plant.
const CAPACITY_BYTES: usize = 32 << 20;

/// The shortest wait for a publisher: both sides of a stream need some time to find each other.
const SHORTEST_WAIT: Duration = Duration::from_secs(5);

/// Refused batches that get a line each.
const REPORTED: u64 = 10;

pub(super) fn run(
    command: &TapArguments,
    format: TapFormat,
    interrupt: &ShutdownFlag,
) -> anyhow::Result<Status> {
    let address: AeronAddress =
        command.input.parse().map_err(|error| anyhow::anyhow!("{}: {error}", command.input))?;
    check(command)?;
    // An output that cannot be opened is reported before the wait for the publisher.
    let output = command.open_output(format)?;
    let Some((_receiver, ring)) = Receiver::start(command, address, interrupt)? else {
        note(format_args!("{}: interrupted before a publisher sent anything", command.input));
        return Ok(Status::Good);
    };
    let mut subscription = join::subscription(command, interrupt);
    if let Some(start) = command.from.and_then(TapStart::start) {
        subscription = subscription.from(start);
    }
    let subscriber = subscription.open_received(ring).map_err(of_subscription)?;
    command.print_records(subscriber, InputKind::Ring, format, output, Vec::new())
}

/// Refuses the options that do not apply to a stream.
fn check(command: &TapArguments) -> anyhow::Result<()> {
    let TapArguments { input, heal, from, .. } = command;
    let is_time = matches!(from, Some(TapStart::Moment(_)));
    let of_files =
        command.run.is_some() || command.date.is_some() || !command.groups.choice().is_default();
    for (option, is_given) in [
        ("--name", command.name.is_some()),
        ("--until", command.until.is_some()),
        ("--from with a time", is_time),
        ("--run, --date or a choice in a capture", of_files),
    ] {
        if is_given {
            bail!("{input}: is an Aeron stream, to which {option} does not apply");
        }
    }
    let is_earlier = !matches!(from, None | Some(TapStart::Start(Start::Newest)));
    if (is_earlier || command.whole) && heal.is_none() {
        let option = if command.whole { "--whole" } else { "--from" };
        bail!(
            "{input}: an Aeron stream begins with what arrives: {option} needs the journal of the \
             ring: add --heal JOURNAL"
        );
    }
    Ok(())
}

/// The thread that receives; it ends with the value.
struct Receiver {
    stop: ShutdownFlag,
    thread: Option<JoinHandle<()>>,
}

/// What the thread has.
struct Task {
    address: AeronAddress,
    driver: DriverArguments,
    wait: Duration,
    through_restarts: bool,
    interrupt: ShutdownFlag,
    stop: ShutdownFlag,
}

type Begun = anyhow::Result<Option<ReceivedRing>>;

impl Receiver {
    /// Begins to receive. `None` if it was interrupted before anything arrived.
    fn start(
        command: &TapArguments,
        address: AeronAddress,
        interrupt: &ShutdownFlag,
    ) -> anyhow::Result<Option<(Self, ReceivedRing)>> {
        let stop = ShutdownFlag::new();
        let task = Task {
            address,
            driver: command.driver.clone(),
            wait: command.wait.max(SHORTEST_WAIT),
            through_restarts: command.through_restarts,
            interrupt: interrupt.clone(),
            stop: stop.clone(),
        };
        let (begun, begin) = mpsc::channel();
        let thread = thread::Builder::new().name("receiver".to_owned());
        let thread = thread.spawn(move || task.run(&begun)).context("cannot start a thread")?;
        let receiver = Self { stop, thread: Some(thread) };
        let ring = begin.recv().context("the receiver has ended")??;
        Ok(ring.map(|ring| (receiver, ring)))
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.stop.request();
        if let Some(thread) = self.thread.take() {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}

impl Task {
    fn run(self, begun: &Sender<Begun>) {
        if let Err(error) = self.receive(begun) {
            // The other side has gone only if it has had an answer.
            let _ = begun.send(Err(error));
        }
    }

    /// An error is one of the beginning. Later ones are the end of the ring.
    fn receive(&self, begun: &Sender<Begun>) -> anyhow::Result<()> {
        let Self { address, interrupt, stop, .. } = self;
        let mut source = AeronSource::new(aeron::subscription(&self.driver, address)?);
        let deadline = Deadline::after(self.wait);
        while !source.begin().map_err(|error| anyhow::anyhow!("{address}: {error}"))? {
            if interrupt.is_requested() || stop.is_requested() {
                let _ = begun.send(Ok(None));
                return Ok(());
            }
            if deadline.is_over() {
                bail!("{address}: {}", nothing_came(&source, self.wait));
            }
            source.check().map_err(|error| anyhow::anyhow!("{address}: {error}"))?;
            thread::sleep(Duration::from_millis(1));
        }
        let mut writer = stream::Writer::on_heap(CAPACITY_BYTES)?;
        writer.skip_to(source.next_sequence())?;
        let end = ReceivedEnd::default();
        let reader = writer.reader(Start::Newest)?;
        let created_ns = source.created_ns().unwrap_or(0);
        let _ = begun.send(Ok(Some(ReceivedRing { reader, created_ns, end: end.clone() })));
        let report = |event| self.report(event);
        match Reception::new(source, self.through_restarts, stop).run(&mut writer, report) {
            Ok(Some(state)) => end.end(state),
            Ok(None) => {}
            Err(error) => end.fail(error),
        }
        Ok(())
    }

    /// A loss is a row of the tap, or is healed.
    fn report(&self, event: ReceptionEvent) {
        let address = &self.address;
        match event {
            ReceptionEvent::Refused { batches, error } if batches <= REPORTED => {
                warn(format_args!("{address}: batch refused, {batches} so far: {error}"));
            }
            ReceptionEvent::OtherRing { batches } if batches <= REPORTED => warn(format_args!(
                "{address}: batch of an earlier ring skipped, {batches} so far: end its publisher"
            )),
            ReceptionEvent::NoPublisher => {
                warn(format_args!("{address}: the publisher is gone; waiting for the next one"));
            }
            ReceptionEvent::Publisher => {
                note(format_args!("{address}: a publisher is connected again"));
            }
            ReceptionEvent::WriterGone(state) => {
                note(format_args!(
                    "{address}: {}; waiting for the next one",
                    state_sentence(state)
                ));
            }
            _ => {}
        }
    }
}

/// Why a stream has not begun.
fn nothing_came<I: nanotape_aeron::Inlet>(source: &AeronSource<I>, wait: Duration) -> String {
    let seconds = wait.as_secs_f64();
    match (source.refusal(), source.is_connected()) {
        (Some(error), _) => {
            let refused = source.counts().refused;
            format!("no valid batch within {seconds} s; {refused} were refused: {error}")
        }
        (None, true) => format!("a publisher is connected, but sent nothing within {seconds} s"),
        (None, false) => format!(
            "no publisher was found within {seconds} s; start one with nanotape ring publish-aeron, \
             or wait for it with --wait SECONDS"
        ),
    }
}
