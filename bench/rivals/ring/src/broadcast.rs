//! A run of a ring in shared memory whose writer never waits: it overtakes a slow reader.
//!
//! At full speed the writer would overtake every reader, and the rate of a reader that loses
//! messages has no meaning. So in the mode `throughput` this module keeps the writer less than
//! half a ring in front of the slowest reader, as `nanotape lab bench ring` does for nanotape's
//! rings. In the other modes nothing delays the writer, and lost messages are counted.
//!
//! ```text
//! word 0     the writer: 1 after its last message
//! word 16    reader 0: the sequence number of the last message it has reported
//! word 32    reader 1, and so on, each in cache lines of its own
//! ```

use std::{
    fs::{File, OpenOptions},
    path::{Path, PathBuf},
    process::Stdio,
};

use nanotape_shm::{Word, WritableWords};
use rivals_measure::{
    Failure, message,
    scratch::{self, Scratch},
};

use crate::{
    options::{Mode, Options},
    processes::{self, Second},
    report::Run,
    work::{Idle, Message, Reader, Writer},
};

const FOLDER: &str = "/dev/shm";

/// Most messages between the writer and its slowest reader: half of 65,536 slots.
const WINDOW: u64 = 32_768;

/// Messages between two reports of a reader, as in `nanotape lab bench ring`.
const INTERVAL: u64 = 1_024;

/// Words from one party to the next: two cache lines, which processors fetch together.
const STRIDE: usize = 16;

/// Runs one mode over rings that `create` and `open` make at a path. Returns `None` in a reader's
/// process.
pub(crate) fn run<W: Writer, R: Reader>(
    options: &Options,
    create: impl Fn(&Path) -> Result<W, Failure>,
    open: impl Fn(&Path) -> Result<R, Failure>,
) -> Result<Option<Run>, Failure> {
    match options.second {
        None => first(options, create, open).map(Some),
        Some(number) => second(options, number, create, open).map(|()| None),
    }
}

fn first<W: Writer, R: Reader>(
    options: &Options,
    create: impl Fn(&Path) -> Result<W, Failure>,
    open: impl Fn(&Path) -> Result<R, Failure>,
) -> Result<Run, Failure> {
    let name = scratch::prefix();
    // The rings of a process that was killed, too.
    let _files = Scratch(vec![FOLDER.into()]);
    let writer = create(&path(&name, "there"))?;
    let pace = Pace::create(&path(&name, "pace"), options)?;
    let seconds = (0..options.readers).map(|number| Second::start(number, &name, Stdio::null()));
    let seconds = seconds.collect::<Result<Vec<_>, _>>()?;
    match options.mode {
        Mode::PingPong => {
            processes::first(options, seconds, writer, || open(&path(&name, "back")).map(Some))
        }
        _ => {
            let writer = PacedWriter::new(writer, pace, options);
            processes::first(options, seconds, writer, || Ok(None::<R>))
        }
    }
}

fn second<W: Writer, R: Reader>(
    options: &Options,
    number: usize,
    create: impl Fn(&Path) -> Result<W, Failure>,
    open: impl Fn(&Path) -> Result<R, Failure>,
) -> Result<(), Failure> {
    let name = &options.queue;
    let reader = open(&path(name, "there"))?;
    match options.mode {
        Mode::PingPong => {
            let back = create(&path(name, "back"))?;
            processes::second(options, number, reader, Some(back))
        }
        _ => {
            let pace = Pace::open(&path(name, "pace"), options)?;
            processes::second(options, number, PacedReader::new(reader, pace, number), None::<W>)
        }
    }
}

fn path(prefix: &str, name: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{prefix}{name}"))
}

/// The words that the writer and its readers share.
struct Pace(WritableWords);

impl Pace {
    fn create(path: &Path, options: &Options) -> Result<Self, Failure> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        Self::map(&file, options)
    }

    fn open(path: &Path, options: &Options) -> Result<Self, Failure> {
        Self::map(&OpenOptions::new().read(true).write(true).open(path)?, options)
    }

    fn map(file: &File, options: &Options) -> Result<Self, Failure> {
        let words = STRIDE * (1 + options.readers as usize);
        file.set_len(8 * words as u64)?;
        Ok(Self(WritableWords::map(file, words)?))
    }

    fn is_done(&self) -> &Word {
        &self.0.words()[0]
    }

    fn reader(&self, number: usize) -> &Word {
        &self.0.words()[STRIDE * (1 + number)]
    }

    /// The last message that every reader has reported.
    fn slowest(&self) -> u64 {
        let readers = self.0.words().len() / STRIDE - 1;
        (0..readers).map(|number| self.reader(number).load()).min().unwrap_or(0)
    }
}

/// A writer that waits for its readers at full speed, and reports when it has finished.
struct PacedWriter<W> {
    writer: W,
    pace: Pace,
    idle: Idle,
    sent: u64,
    /// The last message that may be sent before the readers are polled again.
    limit: u64,
}

impl<W> PacedWriter<W> {
    fn new(writer: W, pace: Pace, options: &Options) -> Self {
        let limit = if options.mode == Mode::Throughput { WINDOW } else { u64::MAX };
        Self { writer, pace, idle: Idle::new(options), sent: 0, limit }
    }

    #[cold]
    fn wait(&mut self) {
        while self.sent == self.limit {
            self.limit = self.pace.slowest() + WINDOW;
            self.idle.after(0);
        }
    }
}

impl<W: Writer> Writer for PacedWriter<W> {
    #[inline]
    fn send(&mut self, message: &Message) -> Result<(), Failure> {
        if self.sent == self.limit {
            self.wait();
        }
        self.sent += 1;
        self.writer.send(message)
    }

    fn finish(&mut self) {
        self.writer.finish();
        self.pace.is_done().store(1);
    }
}

/// A reader that reports what it has read.
struct PacedReader<R> {
    reader: R,
    pace: Pace,
    number: usize,
    /// The first message that makes it report again.
    due: u64,
}

impl<R> PacedReader<R> {
    fn new(reader: R, pace: Pace, number: usize) -> Self {
        Self { reader, pace, number, due: INTERVAL }
    }
}

impl<R: Reader> Reader for PacedReader<R> {
    const LOSSY: bool = true;

    #[inline]
    fn poll(&mut self, see: &mut impl FnMut(&Message)) -> Result<usize, Failure> {
        let mut last = 0;
        let count = self.reader.poll(&mut |message| {
            [last, ..] = message::head(message);
            see(message);
        })?;
        if last >= self.due {
            self.pace.reader(self.number).store(last);
            self.due = last + INTERVAL;
        }
        Ok(count)
    }

    fn laps(&self) -> u64 {
        self.reader.laps()
    }

    fn is_writer_done(&self) -> bool {
        self.pace.is_done().load() == 1
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn options(words: &str) -> Options {
        Options::try_parse_from(["rivals-ring", "queue"].into_iter().chain(words.split(' ')))
            .unwrap()
    }

    fn pace(name: &str, options: &Options) -> (Pace, Pace) {
        let path = path(&scratch::prefix(), name);
        let both = (Pace::create(&path, options).unwrap(), Pace::open(&path, options).unwrap());
        std::fs::remove_file(path).unwrap();
        both
    }

    /// A ring that keeps only the number of its messages.
    #[derive(Default)]
    struct Count(u64);

    impl Writer for Count {
        fn send(&mut self, _: &Message) -> Result<(), Failure> {
            self.0 += 1;
            Ok(())
        }
    }

    impl Reader for Count {
        fn poll(&mut self, see: &mut impl FnMut(&Message)) -> Result<usize, Failure> {
            self.0 += 1;
            let mut message = [0; 73];
            message::fill(&mut message, self.0);
            see(&message);
            Ok(1)
        }
    }

    #[test]
    fn at_full_speed_the_writer_stays_a_window_in_front_of_the_slowest_reader() {
        let options = options("throughput --readers 2");
        let (near, far) = pace("window", &options);
        let mut writer = PacedWriter::new(Count::default(), near, &options);
        for _ in 0..WINDOW {
            writer.send(&[0; 73]).unwrap();
        }
        far.reader(0).store(5_000);
        far.reader(1).store(1_024);
        writer.send(&[0; 73]).unwrap();
        assert_eq!((writer.writer.0, writer.limit), (WINDOW + 1, WINDOW + 1_024));
    }

    #[test]
    fn at_a_fixed_rate_the_writer_never_waits() {
        let options = options("latency");
        let (near, far) = pace("rate", &options);
        let mut writer = PacedWriter::new(Count::default(), near, &options);
        for _ in 0..2 * WINDOW {
            writer.send(&[0; 73]).unwrap();
        }
        let reader = PacedReader::new(Count::default(), far, 0);
        assert!(!reader.is_writer_done());
        writer.finish();
        assert!(reader.is_writer_done());
    }

    #[test]
    fn a_reader_reports_its_last_message_once_in_an_interval() {
        let options = options("throughput --readers 2");
        let (near, far) = pace("interval", &options);
        let mut reader = PacedReader::new(Count::default(), far, 1);
        let mut reported = vec![];
        for _ in 0..3_000 {
            assert_eq!(reader.poll(&mut |_| ()).unwrap(), 1);
            reported.push(near.reader(1).load());
        }
        reported.dedup();
        assert_eq!(reported, [0, 1_024, 2_048]);
    }
}
