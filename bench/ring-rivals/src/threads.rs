//! A run whose writer and readers are threads of this process.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread::{self, ScopedJoinHandle},
};

use crate::{
    Failure, cpus,
    options::Options,
    report::{Reading, Run},
    work::{self, Reader, Writer},
};

/// One writer and all readers of its messages.
pub(crate) fn one_way<W: Writer + Send, R: Reader + Send>(
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
                    cpus::pin(options.reader_cpu(number))?;
                    ready.fetch_add(1, Ordering::Release);
                    work::read(&mut reader, options)
                })
            })
            .collect();
        let count = readers.len();
        let writer = scope.spawn(move || {
            cpus::pin(options.writer_cpu())?;
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

/// Two queues, one each way.
pub(crate) fn there_and_back<W: Writer + Send, R: Reader + Send>(
    options: &Options,
    there: (W, R),
    back: (W, R),
) -> Result<Run, Failure> {
    let (mut writer, mut reader_there) = there;
    let (mut writer_back, mut reader) = back;
    thread::scope(|scope| {
        let far = scope.spawn(move || -> Result<Reading, Failure> {
            cpus::pin(options.reader_cpu(0))?;
            work::pong(&mut reader_there, &mut writer_back, options)
        });
        let near = scope.spawn(move || {
            cpus::pin(options.writer_cpu())?;
            work::ping(&mut writer, &mut reader, options)
        });
        let readings = vec![finished(near)?];
        finished(far)?;
        Ok(Run { writer_seconds: 0.0, readings })
    })
}

fn finished<T>(thread: ScopedJoinHandle<'_, Result<T, Failure>>) -> Result<T, Failure> {
    thread.join().map_err(|_| "a thread of the run panicked")?
}
