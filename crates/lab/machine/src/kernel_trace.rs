//! The kernel's own events on the processors of a measurement, with the time stamp counter as their
//! clock.
//!
//! ```text
//!   kernel, one ring a processor --> a thread each: pages --> events in memory --> KernelEvents
//!                                    when half full, and when they are taken
//! ```
//!
//! Where: beside the measuring threads. An instance of tracefs is this process's alone, so other
//! traces on the machine are not touched. A tracefs that is mounted nowhere is opened by
//! `fsmount`, and vanishes with its descriptor.
//! Losses: what the kernel overwrote or dropped is counted, and the time of it is known: a gap in
//! it has no definite cause from the events that remain.
//! Failure: a kernel without tracing, a process without permission, a clock that is not the
//! counter: an error with the reason. If this process is killed, the instance stays until the next
//! one starts, which removes every instance of this program that no process has open.
//! Bounds: [`TraceOptions`] has the memory of the kernel and of this process.

mod buffer;
mod event;
mod format;
mod functions;
mod join;
mod page;

use std::{
    fs::{self, File},
    io::{self, PipeWriter, Write as _},
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::fs::OpenOptionsExt as _,
    },
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    thread::{self, JoinHandle},
};

use nanotape_clock::{Clock, Source, Stamp};
use rustix::{
    fs::OFlags,
    io::Errno,
    mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen},
};

use self::{
    buffer::{Buffer, read_on},
    format::{EVENTS, Formats},
    functions::Functions,
};
pub use self::{
    event::{Coverage, Event, KernelEvents, Left, Losses, Switch, What},
    join::Judged,
};
use crate::gaps::Gap;

/// Where a tracefs is usually mounted.
const MOUNTED: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The beginning of the name of every instance of this program.
const NAME: &str = "nanotape-";

/// Events of this time before a call of [`KernelTrace::take`] are in the next one too: a gap may
/// have begun before it.
const OVERLAP_NS: u64 = 1_000_000_000;

/// The memory of a trace, for each processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceOptions {
    /// Memory of the kernel for events, in KiB.
    pub buffer_kib: u32,
    /// Most events that this process keeps until they are taken.
    pub most_events: usize,
    /// Whether a thread reads the events while they come. Otherwise the kernel overwrites those
    /// that its memory does not hold until they are taken.
    pub is_read_meanwhile: bool,
}

impl TraceOptions {
    /// For so many processors: memory is shared between them.
    pub fn for_processors(count: usize) -> Self {
        let count = count.max(1);
        let kib = ((512 << 10) / count).clamp(1 << 10, 8 << 10);
        Self {
            buffer_kib: u32::try_from(kib).unwrap_or(8 << 10),
            most_events: ((1 << 22) / count).clamp(1 << 16, 1 << 20),
            is_read_meanwhile: true,
        }
    }

    /// Pages that a ring has at most, so that reading one ends.
    fn pages(&self) -> usize {
        2 * self.buffer_kib as usize / 4 + 16
    }
}

/// A running trace of some processors. Dropping it stops it and removes its instance.
#[derive(Debug)]
pub struct KernelTrace {
    instance: PathBuf,
    clock: Clock,
    cpus: Vec<u32>,
    options: TraceOptions,
    buffers: Vec<Arc<Mutex<Buffer>>>,
    threads: Vec<JoinHandle<()>>,
    /// Ends the threads when it is dropped.
    stop: Option<PipeWriter>,
    began: Stamp,
    /// The last time that events were taken.
    taken: Stamp,
    /// Of each processor, the kernel's counts of events that it had no place for.
    dropped: Vec<u64>,
    functions: Functions,
    /// Keeps other processes of this program from removing the instance.
    _held: File,
    /// The tracefs, if it is not mounted.
    _root: Option<OwnedFd>,
}

/// Why the kernel's events cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum TraceUnavailable {
    /// Stamps of this program and of the kernel could not be compared.
    #[error("the clock of this program is not the time stamp counter")]
    OtherClock,
    /// No tracefs.
    #[error("cannot open tracefs: {0} (it needs root)")]
    NoTracefs(Errno),
    /// This kernel has events that this program cannot read.
    #[error("the events of this kernel have another form")]
    NoFormat,
    /// A thread that reads the events could not be started, or ended early.
    #[error("cannot read the events of processor {cpu} while they come: {source}")]
    Reader {
        /// The processor.
        cpu: u32,
        /// The error of the system.
        source: io::Error,
    },
    /// This kernel cannot stamp its events with the counter.
    #[error("this kernel has no trace clock x86-tsc")]
    NoCounterClock,
    /// Another obstacle.
    #[error("cannot {what} {path}: {source}")]
    File {
        /// The operation.
        what: &'static str,
        /// The file of tracefs.
        path: String,
        /// The error of the kernel.
        source: io::Error,
    },
}

impl KernelTrace {
    /// Begins to record the events of these processors.
    pub fn start(clock: &Clock, cpus: &[u32]) -> Result<Self, TraceUnavailable> {
        Self::start_with(clock, cpus, TraceOptions::for_processors(cpus.len()))
    }

    /// The same, with other memory.
    pub fn start_with(
        clock: &Clock,
        cpus: &[u32],
        options: TraceOptions,
    ) -> Result<Self, TraceUnavailable> {
        const MOST: u32 = 20;
        for _ in 1..MOST {
            match Self::start_once(clock, cpus, options) {
                Err(error) if is_removed(&error) => {}
                started => return started,
            }
        }
        Self::start_once(clock, cpus, options)
    }

    fn start_once(
        clock: &Clock,
        cpus: &[u32],
        options: TraceOptions,
    ) -> Result<Self, TraceUnavailable> {
        if clock.source() != Source::TimeStampCounter {
            return Err(TraceUnavailable::OtherClock);
        }
        let (folder, root) = tracefs()?;
        let instances = folder.join("instances");
        remove_left_over(&instances);
        let (instance, held) = new_instance(&instances)?;
        let now = clock.stamp();
        let mut trace = Self {
            instance,
            clock: *clock,
            cpus: cpus.to_vec(),
            options,
            buffers: Vec::new(),
            threads: Vec::new(),
            stop: None,
            began: now,
            taken: now,
            dropped: vec![0; cpus.len()],
            functions: Functions::default(),
            _held: held,
            _root: root,
        };
        trace.configure()?;
        trace.read_meanwhile()?;
        Ok(trace)
    }

    fn configure(&mut self) -> Result<(), TraceUnavailable> {
        self.write("tracing_on", "0")?;
        self.write("trace_clock", "x86-tsc").map_err(|_| TraceUnavailable::NoCounterClock)?;
        self.write("buffer_size_kb", &self.options.buffer_kib.to_string())?;
        // A kernel without this file wakes the readers more often.
        let _ = self.write("buffer_percent", "50");
        let mask =
            self.cpus.iter().fold(0_u128, |mask, cpu| mask | 1_u128.checked_shl(*cpu).unwrap_or(0));
        // Processors beyond 127 cannot be distinguished here: all are traced.
        if self.cpus.iter().all(|&cpu| cpu < 128) {
            self.write("tracing_cpumask", &in_groups_of_32(mask))?;
        }
        let mut formats = Formats::default();
        for (event, kind, needed) in EVENTS {
            let folder = self.instance.join("events").join(event);
            // What a kernel does not have cannot be a cause on it.
            if let Ok(text) = fs::read_to_string(folder.join("format")) {
                formats.add(*kind, needed, &text);
                let _ = self.write(&format!("events/{event}/enable"), "1");
            }
        }
        if formats.is_empty() {
            return Err(TraceUnavailable::NoFormat);
        }
        for &cpu in &self.cpus {
            let path = self.instance.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
            let flags = OFlags::NONBLOCK.bits().cast_signed();
            let pipe = File::options().read(true).custom_flags(flags).open(&path);
            let pipe = pipe.map_err(file_error("open", &path))?;
            let most = self.options.most_events;
            let buffer = Buffer::new(cpu, pipe, formats.clone(), most, self.began);
            self.buffers.push(Arc::new(Mutex::new(buffer)));
        }
        self.write("tracing_on", "1")?;
        self.began = self.clock.stamp();
        self.taken = self.began;
        Ok(())
    }

    /// Starts a thread for each processor. They sleep until the kernel's memory is half full.
    fn read_meanwhile(&mut self) -> Result<(), TraceUnavailable> {
        if !self.options.is_read_meanwhile {
            return Ok(());
        }
        let all = self.cpus.first().copied().unwrap_or(0);
        let failed = |cpu| move |source| TraceUnavailable::Reader { cpu, source };
        let (stopped, stop) = io::pipe().map_err(failed(all))?;
        self.stop = Some(stop);
        for (&cpu, buffer) in self.cpus.iter().zip(&self.buffers) {
            let stopped = stopped.try_clone().map_err(failed(cpu))?;
            let path = self.instance.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
            let ready = File::open(&path).map_err(failed(cpu))?;
            let (buffer, pages) = (Arc::clone(buffer), self.options.pages());
            let read = move || read_on(&buffer, &ready, &stopped, pages);
            let thread = thread::Builder::new().name("kernel-events".to_owned()).spawn(read);
            self.threads.push(thread.map_err(failed(cpu))?);
        }
        Ok(())
    }

    /// The events since the last call, and those of some time before it. Recording goes on.
    pub fn take(&mut self) -> Result<KernelEvents, TraceUnavailable> {
        let now = self.clock.stamp();
        let overlap = (OVERLAP_NS as f64 * self.clock.rate().ticks_per_second / 1e9) as u64;
        let before =
            |stamp: Stamp| Stamp::from_ticks(stamp.ticks().saturating_sub(overlap)).max(self.began);
        let (from, kept_from, pages) = (before(self.taken), before(now), self.options.pages());
        let (mut processors, mut losses) = (Vec::new(), Losses::default());
        for (place, &cpu) in self.cpus.iter().enumerate() {
            let folder = self.instance.join(format!("per_cpu/cpu{cpu}"));
            let ended = || io::Error::other("a thread that reads them ended early");
            let failed = |source| TraceUnavailable::Reader { cpu, source };
            let mut buffer = self.buffers[place].lock().map_err(|_| failed(ended()))?;
            if !buffer.drain(pages).map_err(failed)? {
                let last = buffer.last();
                buffer.lost(last, now);
            }
            let (overwritten, dropped) = counts_in(&folder.join("stats"));
            if dropped != core::mem::replace(&mut self.dropped[place], dropped) {
                buffer.lost(self.taken, now);
            }
            let own = buffer.losses();
            losses.read += own.read;
            losses.overwritten += overwritten;
            losses.dropped += dropped;
            losses.missing += own.missing;
            losses.not_kept += own.not_kept;
            processors.push(buffer.take(now, kept_from));
        }
        self.taken = now;
        Ok(KernelEvents {
            functions: self.functions.of(&processors),
            processors,
            whole: Gap { from, to: now },
            began: self.began,
            nanos_per_tick: 1e9 / self.clock.rate().ticks_per_second,
            losses,
        })
    }

    fn write(&self, name: &str, text: &str) -> Result<(), TraceUnavailable> {
        let path = self.instance.join(name);
        let written = File::options()
            .write(true)
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(file_error("write", &path))
    }
}

impl Drop for KernelTrace {
    fn drop(&mut self) {
        let _ = self.write("tracing_on", "0");
        self.stop = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        self.buffers.clear();
        // The descriptor that holds the instance is closed after this, so the folder cannot go yet.
        if let Ok(other) = File::open("/dev/null") {
            self._held = other;
        }
        let _ = fs::remove_dir(&self.instance);
    }
}

/// A tracefs: a mounted one, or one that only this process has.
fn tracefs() -> Result<(PathBuf, Option<OwnedFd>), TraceUnavailable> {
    if let Some(mounted) =
        MOUNTED.iter().map(Path::new).find(|path| path.join("instances").is_dir())
    {
        return Ok((mounted.to_owned(), None));
    }
    let open = || {
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
    };
    let root = open().map_err(TraceUnavailable::NoTracefs)?;
    Ok((PathBuf::from(format!("/proc/self/fd/{}", root.as_raw_fd())), Some(root)))
}

/// An instance, and a file of it that holds it.
fn new_instance(instances: &Path) -> Result<(PathBuf, File), TraceUnavailable> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let instance = instances.join(format!("{NAME}{}-{count}", std::process::id()));
    fs::create_dir(&instance).map_err(file_error("make", &instance))?;
    match File::open(instance.join("trace_options")) {
        Ok(held) => Ok((instance, held)),
        Err(source) => {
            let _ = fs::remove_dir(&instance);
            Err(file_error("open", &instance)(source))
        }
    }
}

/// Whether another process took a new instance for one that was left, and removed it.
fn is_removed(error: &TraceUnavailable) -> bool {
    let TraceUnavailable::File { source, .. } = error else { return false };
    matches!(Errno::from_io_error(source), Some(Errno::NODEV | Errno::NOENT))
}

/// Removes the instances of this program that processes have left. The kernel refuses to remove one
/// that a process has open.
fn remove_left_over(instances: &Path) {
    let Ok(entries) = fs::read_dir(instances) else { return };
    for entry in entries.flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(NAME.as_bytes()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn file_error<'a>(
    what: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> TraceUnavailable + 'a {
    move |source| TraceUnavailable::File { what, path: path.display().to_string(), source }
}

/// `00000003`, `00000001,00000000`: the form in which the kernel reads masks.
fn in_groups_of_32(mask: u128) -> String {
    let groups = (0..4).rev().map(|group| (mask >> (32 * group)) as u32);
    let mut text: Vec<String> = groups.map(|group| format!("{group:08x}")).collect();
    while text.len() > 1 && text[0] == "00000000" {
        text.remove(0);
    }
    text.join(",")
}

/// Events that the kernel overwrote, and those that it had no place for, from the file `stats` of a
/// processor.
fn counts_in(path: &Path) -> (u64, u64) {
    let stats = fs::read_to_string(path).unwrap_or_default();
    let count = |wanted: &str| {
        let value = stats.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == wanted).then(|| value.trim().parse::<u64>().ok()).flatten()
        });
        value.unwrap_or(0)
    };
    (count("overrun"), count("commit overrun").saturating_add(count("dropped events")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_groups_of_32() {
        assert_eq!(in_groups_of_32(0b11), "00000003");
        assert_eq!(in_groups_of_32(1 << 33 | 1), "00000002,00000001");
        assert_eq!(in_groups_of_32(0), "00000000");
    }

    #[test]
    fn the_counts_of_the_kernel_are_of_two_kinds() {
        let folder = nanotape_harness::Scratch::folder("stats");
        let path = folder.path().join("stats");
        let counts = |text: &str| {
            fs::write(&path, text).unwrap();
            counts_in(&path)
        };
        let stats = "entries: 12\noverrun: 3\ncommit overrun: 1\nbytes: 99\ndropped events: 2\n";
        assert_eq!(counts(stats), (3, 3));
        assert_eq!(counts("overrun: x\n:::"), (0, 0));
    }

    fn started(options: TraceOptions) -> Option<(Clock, KernelTrace)> {
        let clock = Clock::calibrate();
        match KernelTrace::start_with(&clock, &[0], options) {
            Ok(trace) => Some((clock, trace)),
            Err(reason) => {
                nanotape_harness::skipped(reason.to_string());
                None
            }
        }
    }

    /// Until there are events of the kernel since this moment.
    fn busy_until(clock: &Clock, nanos: u64) -> Stamp {
        let from = clock.stamp();
        loop {
            let now = clock.stamp();
            if clock.nanos_between(from, now) > nanos {
                return now;
            }
            thread::yield_now();
        }
    }

    #[test]
    fn events_of_the_kernel_have_the_counter_as_their_clock_and_reading_them_pauses_nothing() {
        let Some((clock, mut trace)) = started(TraceOptions::for_processors(1)) else { return };
        let instance = trace.instance.clone();
        let mut from = clock.stamp();
        for _ in 0..4 {
            let to = busy_until(&clock, 50_000_000);
            let events = trace.take().unwrap();
            let gap = Gap { from, to };
            assert!(!events.between(0, from, to).is_empty(), "{:?}", events.losses());
            assert_eq!(events.coverage(&gap, 0), Coverage::Kept, "{:?}", events.losses());
            assert_eq!(events.coverage(&gap, 1), Coverage::Outside);
            from = to;
        }
        drop(trace);
        assert!(!instance.exists());
    }

    #[test]
    fn events_that_the_kernel_overwrites_are_counted_and_their_time_is_lost() {
        let options =
            TraceOptions { buffer_kib: 8, most_events: 1 << 16, is_read_meanwhile: false };
        let Some((clock, mut trace)) = started(options) else { return };
        let from = clock.stamp();
        // Each yield is a system call in which another thread may run; each start of one is events.
        let mut to = from;
        for _ in 0..4_000 {
            thread::spawn(|| ()).join().unwrap();
            to = clock.stamp();
        }
        let events = trace.take().unwrap();
        let losses = events.losses();
        // Beside other work some of them run on other processors. The buffer has less than 400.
        if losses.read + losses.overwritten < 400 {
            return nanotape_harness::skipped("the threads ran on another processor");
        }
        assert!(losses.overwritten > 0 && losses.missing > 0 && losses.lost() > 0, "{losses:?}");
        assert_eq!(events.coverage(&Gap { from, to }, 0), Coverage::Lost);
    }
}
