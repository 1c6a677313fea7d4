//! `nanotape ring dump`: the messages of a ring, and what was lost.

use std::{
    fmt::Write as _,
    io::{self, BufWriter, Write as _},
    path::Path,
    time::Duration,
};

use clap::Args;
use nanotape_ring::{
    AnyReader, Gap, Read, ReadError, Received, Start, Subscribe as _, WaitStrategy, Waiter,
};
use nanotape_shm::OwnerState;

use crate::{
    hexdump::hexdump,
    interrupt::Interrupt,
    output::{Format, Output, OutputArguments},
    regions::{of_read, of_region, of_ring, place, state_sentence},
    status::{Status, tell},
};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  nanotape ring dump quotes                   all messages in the ring
  nanotape ring dump quotes --from newest --follow
  nanotape ring dump quotes --from 1000 --count 20 --format json
  nanotape ring dump quotes --follow -o quotes.csv.zst
  nanotape ring dump quotes --follow --through-restarts

Messages that were overwritten before they could be printed are one row with the first and the
last lost sequence number. With --follow the command continues until the writer closes the ring or
is gone, which it reports on standard error, or until Ctrl-C. With --through-restarts it waits for
the next writer instead, whose messages have the numbers that follow.

Exit status: 0 success; 1 the ring is damaged, or was truncated or removed while it was read; 2 it
cannot be opened.")]
pub(super) struct DumpCommand {
    /// Name or path of the ring
    #[arg(value_name = "NAME")]
    name: String,

    /// Where to start: oldest (or beginning), newest (or end), or a sequence number
    #[arg(long, value_name = "START", default_value = "oldest")]
    from: Start,

    /// Stop after N messages
    #[arg(long, value_name = "N")]
    count: Option<u64>,

    /// Wait for new messages
    #[arg(long)]
    follow: bool,

    /// When the writer ends, continue with the next writer that takes the ring over
    #[arg(long, requires = "follow")]
    through_restarts: bool,

    #[command(flatten)]
    output: OutputArguments,
}

/// Bytes of the first buffer; it grows to the longest message.
const BUFFER_BYTES: usize = 64 << 10;

/// How to wait for more: quick while messages come, and next to no processor while none do.
const WAIT: WaitStrategy = WaitStrategy::Backoff { looks: 200, sleep: Duration::from_millis(1) };

/// Looks without a message before it asks whether the writer is still there.
const LOOKS_BEFORE_ASKING: u32 = 420;

pub(super) fn run(command: &DumpCommand) -> anyhow::Result<Status> {
    let path = place(&command.name)?;
    let format = command.output.format_or(Format::Text)?;
    let interrupt = Interrupt::install()?;
    let newest = || AnyReader::open(&path, Start::Newest).map(|reader| reader.next_sequence());
    let reader = AnyReader::open(&path, command.from).map_err(|error| of_ring(&path, &error))?;
    // A writer may be quicker than this: without --follow it ends where the ring ended now.
    let end = match command.follow {
        true => u64::MAX,
        false => newest().map_err(|error| of_ring(&path, &error))?,
    };
    let output = BufWriter::with_capacity(64 << 10, command.output.open()?);
    let mut printer = Printer { output, format, line: String::new() };
    printer.begin()?;
    let mut dump = Dump {
        path: &path,
        reader,
        printer,
        buffer: vec![0; BUFFER_BYTES],
        through_restarts: command.through_restarts,
    };
    let status = dump.run(command.count.unwrap_or(u64::MAX), end, &interrupt);
    // What was printed stays, also in front of damage.
    let finished = dump.printer.output.into_inner().map_err(io::IntoInnerError::into_error);
    finished?.finish()?;
    status
}

struct Dump<'a> {
    path: &'a Path,
    reader: AnyReader,
    printer: Printer,
    buffer: Vec<u8>,
    through_restarts: bool,
}

impl Dump<'_> {
    fn run(&mut self, count: u64, end: u64, interrupt: &Interrupt) -> anyhow::Result<Status> {
        let (mut printed, mut waiter) = (0, Waiter::new(WAIT));
        // What a writer that is gone has left is read before anybody is told that it is gone, once.
        let (mut gone, mut told) = (None, 0);
        while printed < count && self.reader.next_sequence() < end && !interrupt.is_asked() {
            match self.reader.try_read(&mut self.buffer) {
                Ok(Read::Message(received)) => {
                    let payload = &self.buffer[..received.length as usize];
                    self.printer.message(received, payload)?;
                    printed += 1;
                    waiter.reset();
                }
                Ok(Read::Lapped(lapped)) => {
                    self.printer.lost(lapped)?;
                    waiter.reset();
                }
                Ok(Read::Empty) => {
                    if waiter.idles() == 0 {
                        self.printer.output.flush()?;
                    }
                    let epoch = self.reader.region().epoch();
                    if let Some(state) = gone.take().filter(|_| told != epoch) {
                        tell(format_args!("{}: {}", self.path.display(), state_sentence(state)));
                        if !self.through_restarts {
                            break;
                        }
                        told = epoch;
                    }
                    if waiter.idles() >= LOOKS_BEFORE_ASKING {
                        gone = self.who_is_gone()?;
                        waiter.reset();
                    }
                    waiter.idle();
                }
                Err(ReadError::BufferTooSmall { needed, .. }) => self.buffer.resize(needed, 0),
                Err(error) => return Err(of_read(self.path, &error)),
            }
        }
        Ok(Status::Good)
    }

    /// The state of a writer that will not publish any more; an error if the file is not what it was.
    fn who_is_gone(&self) -> anyhow::Result<Option<OwnerState>> {
        let region = self.reader.region();
        let state = region.owner().state;
        if state == OwnerState::Alive || self.through_restarts {
            // Removed or replaced, a ring has no writer that anybody could follow.
            region.check().map_err(|error| {
                anyhow::Error::from(crate::status::BadData(of_region(&error).to_string()))
            })?;
            return Ok((state != OwnerState::Alive).then_some(state));
        }
        if region.is_lost() {
            region.check().map_err(|error| of_region(&error))?;
        }
        Ok(Some(state))
    }
}

struct Printer {
    output: BufWriter<Output>,
    format: Format,
    line: String,
}

impl Printer {
    fn begin(&mut self) -> io::Result<()> {
        if self.format == Format::Csv {
            writeln!(self.output, "sequence,type_id,length,payload,lost_from,lost_to")?;
        }
        Ok(())
    }

    fn message(&mut self, received: Received, payload: &[u8]) -> io::Result<()> {
        let Received { sequence, type_id, length } = received;
        let line = &mut self.line;
        line.clear();
        // Writing to a string cannot fail.
        let _ = match self.format {
            Format::Text => writeln!(line, "{sequence}  type {type_id}  {length} bytes"),
            Format::Json => write!(
                line,
                "{{\"sequence\":{sequence},\"type_id\":{type_id},\"length\":{length},\"payload\":\""
            ),
            Format::Csv => write!(line, "{sequence},{type_id},{length},"),
        };
        match self.format {
            Format::Text => hexdump(line, payload),
            Format::Json | Format::Csv => {
                payload.iter().for_each(|byte| _ = write!(line, "{byte:02x}"));
                line.push_str(if self.format == Format::Json { "\"}\n" } else { ",,\n" });
            }
        }
        self.output.write_all(line.as_bytes())
    }

    fn lost(&mut self, lapped: Gap) -> io::Result<()> {
        let Gap { from, to } = lapped;
        match self.format {
            Format::Text => writeln!(self.output, "{from}  {lapped}"),
            Format::Json => {
                writeln!(self.output, "{{\"lost\":{{\"from\":{from},\"to\":{to}}}}}")
            }
            Format::Csv => writeln!(self.output, ",,,,{from},{to}"),
        }
    }
}
