//! Round trips over Aeron: of messages of two rings, each published on a stream, and of as many
//! bytes without rings.
//!
//! Where: both processes use one media driver, a thread of the first one. Messages go over UDP on
//! loopback. Each process has one thread, which writes its ring, publishes it and takes what
//! arrives.

use std::{net::SocketAddr, ops::ControlFlow, thread};

use nanotape_aeron::{
    AeronAddress, AeronSink, AeronSource, BATCH_HEADER_BYTES, DriverChoice, DriverPace, Inlet as _,
    MediaClient, MediaDriver, Offered, Outlet as _, Publication, RECORD_HEADER_BYTES, Subscription,
};
use nanotape_clock::UtcNanos;
use nanotape_ring::{Publish as _, RingSource, Start, stream};
use nanotape_shm::RegionOptions;
use nanotape_tape::{Item, Sink as _, Source as _};

use super::{Replicate, limits::STOP, links};
use crate::{
    engine::{
        Reading, Taken, Timeout, Wait, Worker,
        message::{MESSAGE, fill, is_sound, sequence},
        run_on,
        sample::repeat,
    },
    error::Error,
};

/// The size of a ring.
const RING_BYTES: usize = 1 << 20;

/// Messages before those that are timed: they wait for the connection.
const FIRST: u64 = 2;

/// The streams of the two processes.
const STREAMS: [i32; 2] = [1, 2];

/// A way to the other process and back.
trait Way {
    /// Bytes of a message.
    fn bytes(&self) -> usize;

    fn send(&mut self, message: &[u8], timeout: &mut Timeout) -> Result<(), Error>;

    fn receive(&mut self, message: &mut [u8], timeout: &mut Timeout) -> Result<(), Error>;
}

fn failed(error: impl ToString) -> Error {
    Error::found("Aeron", error)
}

/// Runs the side of a process.
pub(super) fn run(worker: &mut Worker<Replicate>, has_rings: bool) -> Result<Reading, Error> {
    let bytes = worker.job.options.bytes();
    let (_driver, publication, subscription) = connect(worker)?;
    if has_rings {
        let name = format!("ring-{}", worker.job.process);
        let options = RegionOptions::default();
        let ring = stream::Writer::create(&worker.path(&name), RING_BYTES, &options)?.0;
        let source = RingSource::open(&worker.path(&name), Start::Oldest)?;
        let sink = AeronSink::new(publication, 1, 1);
        return side(
            worker,
            &mut Rings { ring, source, sink, arrivals: AeronSource::new(subscription), bytes },
        );
    }
    // The bytes that a batch of one message has.
    let bytes = BATCH_HEADER_BYTES + (RECORD_HEADER_BYTES + bytes).next_multiple_of(8);
    side(worker, &mut Bare { publication, subscription, bytes })
}

/// The publication to the other process and the subscription to what it publishes.
fn connect(
    worker: &Worker<Replicate>,
) -> Result<(Option<MediaDriver>, Publication, Subscription), Error> {
    let options = &worker.job.options;
    let dir = worker.path("driver");
    let (driver, endpoint) = match worker.reader() {
        None => {
            let pace = match options.has_processors_for(worker.row.work) {
                true => DriverPace::Spin,
                false => DriverPace::Yield,
            };
            let processors = options.processors_of_links();
            let start = || {
                run_on(processors);
                MediaDriver::start(Some(&dir), pace)
            };
            let started = thread::scope(|scope| scope.spawn(start).join());
            let driver = started.map_err(|_| failed("the start of the driver panicked"))?;
            let driver = driver.map_err(failed)?;
            // A number that is free for TCP now is hardly used for UDP.
            let listener = links::listen(worker)?;
            let endpoint = listener.local_addr().map_err(Error::system("read an address"))?;
            (Some(driver), endpoint)
        }
        Some(_) => (None, links::address_of(worker, 0)?),
    };
    let client = || MediaClient::connect(&DriverChoice::Running(Some(dir.clone())));
    let own = STREAMS[worker.job.process];
    let other = STREAMS[1 - worker.job.process];
    let subscription =
        Subscription::add(client().map_err(failed)?, &address(endpoint, other)?).map_err(failed)?;
    let publication =
        Publication::add(client().map_err(failed)?, &address(endpoint, own)?).map_err(failed)?;
    Ok((driver, publication, subscription))
}

fn address(endpoint: SocketAddr, stream: i32) -> Result<AeronAddress, Error> {
    AeronAddress::new(&format!("aeron:udp?endpoint={endpoint}"), stream).map_err(failed)
}

fn side(worker: &mut Worker<Replicate>, way: &mut impl Way) -> Result<Reading, Error> {
    let is_short = !worker.job.options.has_processors_for(worker.row.work);
    let timeout = &mut worker.timeout(if is_short { Wait::Yield } else { Wait::Busy });
    match worker.reader() {
        None => ping(worker, way, timeout),
        Some(_) => pong(worker, way, timeout),
    }
}

/// Sends a message when the previous one has come back.
fn ping(
    worker: &mut Worker<Replicate>,
    way: &mut impl Way,
    timeout: &mut Timeout,
) -> Result<Reading, Error> {
    let progress = worker.join_readers(1)?;
    let clock = worker.clock;
    let message = &mut vec![0; way.bytes()][..];
    let answer = &mut message.to_vec()[..];
    for number in 0..FIRST {
        fill(message, number);
        way.send(message, timeout)?;
        way.receive(answer, timeout)?;
    }
    worker.begin(&progress)?;
    let until = worker.until(worker.job.options.timed.amount());
    let (written, times) = repeat(clock, &until, |done| {
        fill(message, done);
        let sent = clock.stamp_start();
        way.send(message, timeout)?;
        way.receive(answer, timeout)?;
        let back = clock.stamp();
        match is_sound(answer, done) {
            true => Ok((sent, back)),
            false => Err(Error::Wrong { sequence: done, length: answer.len() }),
        }
    })?;
    fill(message, STOP);
    way.send(message, timeout)?;
    way.receive(answer, timeout)?;
    Ok(Reading { times: Some(times), ..written.into() })
}

/// Sends every message back, including the last one.
fn pong(
    worker: &mut Worker<Replicate>,
    way: &mut impl Way,
    timeout: &mut Timeout,
) -> Result<Reading, Error> {
    let progress = worker.own_progress(0)?;
    worker.ready()?;
    let message = &mut vec![0; way.bytes()][..];
    progress.words()[0].store(1);
    let mut taken = Taken::default();
    loop {
        way.receive(message, timeout)?;
        way.send(message, timeout)?;
        if sequence(message) == STOP {
            taken.messages -= FIRST;
            return Ok(taken.into());
        }
        taken.messages += 1;
    }
}

/// Messages as they are.
struct Bare {
    publication: Publication,
    subscription: Subscription,
    bytes: usize,
}

impl Way for Bare {
    fn bytes(&self) -> usize {
        self.bytes
    }

    #[inline(always)]
    fn send(&mut self, message: &[u8], timeout: &mut Timeout) -> Result<(), Error> {
        while self.publication.offer(message).map_err(failed)? != Offered::Sent {
            timeout.idle(0)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn receive(&mut self, message: &mut [u8], timeout: &mut Timeout) -> Result<(), Error> {
        let mut length = message.len();
        let mut take = |batch: &[u8]| {
            length = batch.len();
            if length == message.len() {
                message.copy_from_slice(batch);
            }
        };
        while !self.subscription.poll(&mut take).map_err(failed)? {
            timeout.idle(0)?;
        }
        match length == self.bytes {
            true => Ok(()),
            false => Err(Error::Wrong { sequence: 0, length }),
        }
    }
}

/// Messages of a ring.
struct Rings {
    ring: stream::Writer,
    source: RingSource,
    sink: AeronSink<Publication>,
    arrivals: AeronSource<Subscription>,
    bytes: usize,
}

impl Way for Rings {
    fn bytes(&self) -> usize {
        self.bytes
    }

    #[inline(always)]
    fn send(&mut self, message: &[u8], timeout: &mut Timeout) -> Result<(), Error> {
        self.ring.publish(MESSAGE, message)?;
        let Self { source, sink, .. } = self;
        let mut outcome = Ok(());
        let _ = source.poll(|item| {
            if let Item::Message(message) = item {
                let none = UtcNanos::of_unix_ns(0);
                outcome = sink.append_at(message.sequence, MESSAGE, none, message.payload);
            }
            ControlFlow::Continue(())
        })?;
        outcome.map_err(failed)?;
        while !sink.flush().map_err(failed)? {
            timeout.idle(0)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn receive(&mut self, message: &mut [u8], timeout: &mut Timeout) -> Result<(), Error> {
        let mut found = None;
        loop {
            let _ = self
                .arrivals
                .poll(|item| {
                    found = Some(match item {
                        Item::Message(arrived) if arrived.payload.len() == message.len() => {
                            message.copy_from_slice(arrived.payload);
                            Ok(())
                        }
                        Item::Message(arrived) => Err(Error::Wrong {
                            sequence: arrived.sequence,
                            length: arrived.payload.len(),
                        }),
                        Item::Gap(gap) => Err(Error::Lost { count: gap.count() }),
                        Item::Reused(_) => Err(failed("numbers came again")),
                    });
                    ControlFlow::Break(())
                })
                .map_err(failed)?;
            match found {
                Some(outcome) => return outcome,
                None => timeout.idle(0)?,
            }
        }
    }
}
