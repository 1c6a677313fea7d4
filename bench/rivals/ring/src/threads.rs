//! A run whose writer and readers are threads of this process.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread::{self, ScopedJoinHandle},
};

use rivals_measure::Failure;

use crate::{
    options::{Mode, Options},
    report::Run,
    work::{self, Reader, Writer},
};

/// Runs over one queue of the rival, or two with ping-pong. `queue` makes one for a number of
/// readers.
pub(crate) fn run<W: Writer + Send, R: Reader + Send>(
    options: &Options,
    queue: impl Fn(usize) -> (W, Vec<R>),
) -> Result<Option<Run>, Failure> {
    let (writer, readers) = queue(options.readers as usize);
    let run = match options.mode {
        Mode::PingPong => there_and_back(options, (writer, readers), queue(1)),
        _ => one_way(options, writer, readers),
    };
    run.map(Some)
}

fn one_way<W: Writer + Send, R: Reader + Send>(
    options: &Options,
    mut writer: W,
    readers: Vec<R>,
) -> Result<Run, Failure> {
    let ready = &AtomicUsize::new(0);
    thread::scope(|scope| {
        let readers: Vec<_> = readers
            .into_iter()
            .enumerate()
            .map(|(number, mut reader)| {
                scope.spawn(move || {
                    options.cpus.pin_reader(number)?;
                    ready.fetch_add(1, Ordering::Release);
                    work::read(&mut reader, options)
                })
            })
            .collect();
        let count = readers.len();
        let writer = scope.spawn(move || {
            options.cpus.pin_writer()?;
            while ready.load(Ordering::Acquire) < count {
                thread::yield_now();
            }
            work::write(&mut writer, options)
        });
        let writer_seconds = finished(writer)?;
        let readings = readers.into_iter().map(finished).collect::<Result<_, _>>()?;
        Ok(Run { writer_seconds, readings })
    })
}

/// Two queues with one reader each, one for each direction.
fn there_and_back<W: Writer + Send, R: Reader + Send>(
    options: &Options,
    (mut writer, mut there): (W, Vec<R>),
    (mut writer_back, mut back): (W, Vec<R>),
) -> Result<Run, Failure> {
    thread::scope(|scope| {
        let far = scope.spawn(move || {
            options.cpus.pin_reader(0)?;
            work::pong(&mut there[0], &mut writer_back, options)
        });
        let near = scope.spawn(move || {
            options.cpus.pin_writer()?;
            work::ping(&mut writer, &mut back[0], options)
        });
        let readings = vec![finished(near)?];
        finished(far)?;
        Ok(Run { writer_seconds: 0.0, readings })
    })
}

fn finished<T>(thread: ScopedJoinHandle<'_, Result<T, Failure>>) -> Result<T, Failure> {
    thread.join().map_err(|_| "a thread of the run panicked")?
}
