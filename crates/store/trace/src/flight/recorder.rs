//! The recorder: a state machine that its owner polls.

use std::{path::PathBuf, sync::Arc};

use super::{
    Condition, Count, FlightError, Off, Options, Snapshot, ThreadStat,
    desk::Desk,
    joined::{Joined, MESSAGE_BYTES},
    kept::KEPT_BYTES,
    limit::Limit,
    thread::{IN_THREAD, Limits, Shared, Thread, horizon},
    trigger::{Cause, MAX_CONDITIONS, Trigger, When},
};

/// Reads the spans of all threads of a program, and copies the last ones at a trigger.
#[derive(Debug)]
pub struct Recorder {
    threads: Vec<Thread>,
    limits: Limits,
    joined: Joined,
    desk: Desk,
    limit: Limit,
    free: Vec<Snapshot>,
    conditions: Arc<[Condition]>,
    options: Options,
    copies: u64,
}

/// What a poll did.
#[derive(Default, Debug)]
pub struct Polled {
    /// Spans that were read. Poll again at once if there were many, and later if there were none.
    pub read: u64,
    /// A copy that is complete: write it, and give it back.
    pub snapshot: Option<Snapshot>,
}

/// What a recorder did so far.
#[derive(Clone, PartialEq, Debug)]
pub struct Summary {
    /// Each thread.
    pub threads: Vec<ThreadStat>,
    /// The triggers of each condition, in the order of the options.
    pub conditions: Vec<(Condition, Count)>,
    /// Requests.
    pub requests: Count,
    /// Losses.
    pub losses: Count,
    /// Copies that were made.
    pub copies: u64,
    /// Spans that came when a later message had the place of theirs. Their messages seem shorter
    /// than they were: increase [`Options::in_flight`]. Numbers that go back count too.
    pub crowded: u64,
    /// Memory of the recorder and its copies, in bytes.
    pub bytes: usize,
    /// Set if the recorder turned itself off.
    pub off: Option<Off>,
}

impl Recorder {
    /// Opens the threads whose regions are at these paths. `process` is the name of the program.
    pub fn open(process: &str, paths: &[PathBuf], options: Options) -> Result<Self, FlightError> {
        let options = checked(options)?;
        if paths.is_empty() || paths.len() > usize::from(u16::MAX) {
            return Err(FlightError::NoThreads);
        }
        let open = |path: &PathBuf| Thread::open(path, process, options.start);
        let mut threads = paths.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let nanos_per_tick = common_rate(&threads)?;
        check_sites(&threads, &options.conditions)?;
        for thread in &mut threads {
            thread.begin(options.spans, &options.conditions, nanos_per_tick);
        }
        let conditions: Arc<[Condition]> = options.conditions.as_slice().into();
        let of = (&conditions, nanos_per_tick);
        let free = (0..options.copies).map(|_| Snapshot::new(&threads, options.spans, of));
        Ok(Self {
            free: free.collect(),
            limits: Limits::of(&conditions, nanos_per_tick),
            joined: Joined::new(options.in_flight, horizon(nanos_per_tick)),
            desk: Desk::new(
                conditions.len(),
                options.at_once,
                options.per_minute,
                options.after_ns,
            ),
            limit: Limit::new(options.cpu_limit),
            threads,
            conditions,
            options,
            copies: 0,
        })
    }

    /// Memory of kept spans, copies and joined messages in bytes, all of it taken at the start.
    pub fn bytes(&self) -> usize {
        let spans = self.threads.len() * self.options.spans * KEPT_BYTES;
        let messages = self.options.in_flight + self.threads.len() * IN_THREAD;
        spans * (1 + self.options.copies) + messages * MESSAGE_BYTES
    }

    /// Reads what the threads wrote, at most an eighth of the kept spans of each, and ends the copy
    /// that is due. `now_ns` is of any monotonic clock; `cpu_ns` is the CPU time of this thread,
    /// called once a second.
    pub fn poll(&mut self, now_ns: u64, cpu_ns: impl FnOnce() -> u64) -> Polled {
        self.desk.begin_poll(now_ns);
        self.limit.check(now_ns, cpu_ns);
        if self.limit.off().is_some() {
            self.desk.has_memory = false;
            return Polled { read: 0, snapshot: self.finish() };
        }
        let before = self.read_so_far();
        let most = (self.options.spans / 8) as u64;
        let mut shared =
            Shared { limits: &self.limits, joined: &mut self.joined, desk: &mut self.desk };
        let mut is_read = true;
        for (at, thread) in self.threads.iter_mut().enumerate() {
            is_read &= thread.read(at, most, &mut shared);
        }
        let read = self.read_so_far() - before;
        let snapshot = if self.is_due(now_ns, is_read) { self.finish() } else { None };
        Polled { read, snapshot }
    }

    /// A trigger from outside, from `source`. The copy ends in a later poll, or with
    /// [`Recorder::finish`].
    pub fn request(&mut self, source: &'static str, utc_ns: u64) {
        let (cause, at) = (Cause::Request(source), When::UtcNs(utc_ns));
        self.desk.fire(Trigger { cause, thread: None, number: 0, took_ns: 0, at });
    }

    /// Ends a copy that was started, without waiting: the program or the recorder ends.
    pub fn finish(&mut self) -> Option<Snapshot> {
        self.desk.pending()?;
        // The trigger was accepted while there was one.
        let mut snapshot = self.free.pop()?;
        self.desk.end(snapshot.fill(&self.threads));
        self.desk.has_memory = !self.free.is_empty() && self.limit.off().is_none();
        self.copies += 1;
        Some(snapshot)
    }

    /// Takes back the memory of a copy of this recorder; another one is refused.
    pub fn give_back(&mut self, snapshot: Snapshot) -> bool {
        let is_own = snapshot.is_of(&self.threads, self.options.spans);
        if is_own && self.free.len() < self.options.copies {
            self.free.push(snapshot);
            self.desk.has_memory = self.limit.off().is_none();
        }
        is_own
    }

    /// Whether every traced thread has ended: their last spans can be read, and no more will come.
    pub fn is_over(&self) -> bool {
        let state = |thread: &Thread| thread.reader.owner().state;
        let is_alive = |thread: &Thread| state(thread) == nanotape_shm::OwnerState::Alive;
        !self.threads.iter().any(is_alive)
    }

    /// Set if the recorder turned itself off.
    pub fn off(&self) -> Option<Off> {
        self.limit.off()
    }

    /// What it did so far.
    pub fn summary(&self) -> Summary {
        let (counts, own) = self.desk.counts().split_at(self.conditions.len());
        let crowded = self.threads.iter().map(Thread::crowded).sum::<u64>();
        Summary {
            threads: self.threads.iter().map(|thread| thread.stat.clone()).collect(),
            conditions: self.conditions.iter().cloned().zip(counts.iter().copied()).collect(),
            requests: own[0],
            losses: own[1],
            copies: self.copies,
            crowded: crowded + self.joined.crowded(),
            bytes: self.bytes(),
            off: self.limit.off(),
        }
    }

    fn read_so_far(&self) -> u64 {
        self.threads.iter().map(|thread| thread.stat.read).sum()
    }

    /// Whether the copy that was started ends now.
    fn is_due(&mut self, now_ns: u64, is_read: bool) -> bool {
        let Some(pending) = self.desk.pending() else { return false };
        if !std::mem::replace(&mut pending.is_marked, true) {
            self.threads.iter_mut().for_each(|thread| thread.mark = thread.stat.read);
        }
        let most = (self.options.spans / 4) as u64;
        let is_long = self.threads.iter().any(|thread| thread.stat.read - thread.mark >= most);
        is_long || is_read && now_ns >= pending.deadline_ns
    }
}

fn checked(options: Options) -> Result<Options, FlightError> {
    let wrong = |option, value, range| Err(FlightError::Option { option, value, range });
    const POWER: &str = "64 to 16777216";
    let is_power = |value: usize| (64..=1 << 24).contains(&value);
    if !is_power(options.spans) {
        return wrong("spans", options.spans as f64, POWER);
    }
    if !is_power(options.in_flight) {
        return wrong("in_flight", options.in_flight as f64, POWER);
    }
    if !(1..=64).contains(&options.copies) {
        return wrong("copies", options.copies as f64, "1 to 64");
    }
    if !(options.cpu_limit > 0.0 && options.cpu_limit <= 1.0) {
        return wrong("cpu_limit", options.cpu_limit, "above 0 and at most 1");
    }
    if options.conditions.len() > MAX_CONDITIONS {
        return wrong("conditions", options.conditions.len() as f64, "at most 30");
    }
    let spans = options.spans.next_power_of_two();
    let in_flight = options.in_flight.next_power_of_two();
    Ok(Options { spans, in_flight, ..options })
}

/// ns of a tick of the clock of all threads.
fn common_rate(threads: &[Thread]) -> Result<f64, FlightError> {
    let rate = threads[0].nanos_per_tick();
    // Clocks of one machine that were calibrated at different times differ by much less.
    let differs = |thread: &&Thread| {
        let other = thread.nanos_per_tick();
        (other - rate).abs() > rate * 0.01
    };
    if let Some(damaged) = threads.iter().find(|thread| thread.nanos_per_tick() == 0.0) {
        return Err(FlightError::NoClock { ring: damaged.reader.ring().to_owned() });
    }
    match threads.iter().find(differs) {
        None => Ok(rate),
        Some(other) => Err(FlightError::Clocks {
            one: threads[0].reader.ring().to_owned(),
            other: other.reader.ring().to_owned(),
        }),
    }
}

fn check_sites(threads: &[Thread], conditions: &[Condition]) -> Result<(), FlightError> {
    let all = || threads.iter().flat_map(|thread| &thread.name.sites);
    for condition in conditions {
        if let Condition::Site { site, .. } = condition
            && !all().any(|name| name == site)
        {
            let known = all().map(String::as_str).collect::<std::collections::BTreeSet<_>>();
            let known = known.into_iter().collect::<Vec<_>>().join(", ");
            return Err(FlightError::NoSite { site: site.clone(), known });
        }
    }
    Ok(())
}
