//! Processes that read the ring of a plant while it is measured: this program, started once more by
//! the process that takes the reading.
//!
//! Protocol: a tap is started before the ring is there, and waits for it. It writes the line [`READY`]
//! when it has opened it, reads until the plant's last record, and answers with one line of JSON.
//! Bounds: a tap ends when the process that started it does, and when nothing comes for 30 s.

use core::hint::black_box;
use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    time::Duration,
};

use nanotape_clock::Clock;
use nanotape_plant::{
    Event, Subscription,
    records::{Notice, Record, RecordKind},
};
use nanotape_ring::Start;
use rustix::process::{Signal, set_parent_process_death_signal};
use serde_json::{Value, json};

use super::{
    error::DayFileError,
    job::{Job, Role},
    reading::Published,
    worker::ROLE,
};
use crate::wait::{Patience, Wait};

/// What a tap says when it has opened the ring.
const READY: &str = "ready";

/// How long a tap waits for the ring: the plant makes its tables meanwhile.
const LONGEST_START: Duration = Duration::from_secs(60);

/// Running taps; ended when this is dropped, whatever happened.
pub(super) struct Tapping(Vec<Tap>);

struct Tap {
    process: Child,
    output: BufReader<ChildStdout>,
}

impl Tapping {
    /// Starts so many taps of the ring that will be at this path.
    pub(super) fn start(job: &Job, taps: usize, ring: &Path) -> Result<Self, DayFileError> {
        let mut tapping = Self(Vec::new());
        for index in 0..taps {
            tapping.0.push(Tap::start(job, (index, taps), ring)?);
        }
        Ok(tapping)
    }

    /// Waits until all of them have opened the ring.
    pub(super) fn meet(&mut self) -> Result<(), DayFileError> {
        for tap in &mut self.0 {
            let mut said = String::new();
            // What cannot be read is not what it should say.
            let _ = tap.output.read_line(&mut said);
            if said.trim() != READY {
                return Err(tap.complaint(&said));
            }
        }
        Ok(())
    }

    /// Waits until all of them have seen the last record, and adds up what they say.
    pub(super) fn end(mut self) -> Result<Published, DayFileError> {
        let mut sum = Published { taps: self.0.len() as u64, ..Published::default() };
        for tap in &mut self.0 {
            let mut said = String::new();
            let _ = tap.output.read_line(&mut said);
            let told: Value = serde_json::from_str(&said).unwrap_or_default();
            let numbers = ["read", "lost", "wanted"].map(|name| told[name].as_u64());
            let [Some(read), Some(lost), Some(wanted)] = numbers else {
                return Err(tap.complaint(&said));
            };
            sum.read += read;
            sum.lost += lost;
            sum.wanted += wanted;
        }
        Ok(sum)
    }
}

impl Drop for Tapping {
    fn drop(&mut self) {
        for tap in &mut self.0 {
            // Those that ended by themselves refuse, and that is fine.
            let _ = tap.process.kill();
            let _ = tap.process.wait();
        }
    }
}

impl Tap {
    fn start(job: &Job, (index, taps): (usize, usize), ring: &Path) -> Result<Self, DayFileError> {
        let failed = |source| DayFileError::System { what: "start a tap", source };
        let (cpu, shares) = job.settings.tap_place(index, taps);
        let mut own = job.clone();
        own.role = Role::Tap { shares };
        own.settings.cpu = cpu;
        let mut process = Command::new(std::env::current_exe().map_err(failed)?)
            .env(ROLE, own.to_text())
            .arg(ring)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        match process.stdout.take() {
            Some(output) => Ok(Self { process, output: BufReader::new(output) }),
            None => Err(failed(io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// It said something else than it should: why, as far as it tells.
    fn complaint(&mut self, said: &str) -> DayFileError {
        let _ = self.process.kill();
        let status = self.process.wait().map_or_else(|error| error.to_string(), |s| s.to_string());
        let mut errors = String::new();
        if let Some(mut stderr) = self.process.stderr.take() {
            let _ = stderr.read_to_string(&mut errors);
        }
        let said = format!("{said} {errors}");
        DayFileError::Tap { status, said: said.trim().replace('\n', " ") }
    }
}

/// In a tap: reads the ring that the job names, until the plant ends.
pub(super) fn read(job: &Job, shares: bool) -> Result<Value, DayFileError> {
    let system = |what| move |source: io::Error| DayFileError::System { what, source };
    // Nobody is left to wait for the answer.
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|errno| system("ask for a signal")(errno.into()))?;
    let _placement = job.place();
    let mut subscriber = Subscription::to(&job.settings.path.display().to_string())
        .symbols(job.settings.taps.symbol)
        .records([RecordKind::Bbo])
        .from(Start::Oldest)
        .wait(LONGEST_START)
        .open()?;
    let mut output = io::stdout().lock();
    let said = writeln!(output, "{READY}").and_then(|()| output.flush());
    said.map_err(system("say that it is ready"))?;

    let wait = if shares { Wait::Yield } else { Wait::Pause };
    let mut patience = Patience::new(Clock::monotonic(), wait);
    let (mut passed, mut lost, mut wanted, mut prices) = (0, 0, 0_u64, 0_i64);
    let mut is_over = false;
    while !is_over {
        let polled = subscriber.poll(|event| match event {
            Event::Record(delivery) => match delivery.record {
                Record::Bbo(bbo) => {
                    wanted += 1;
                    prices ^= bbo.levels[0].bid_px ^ bbo.levels[0].ask_px;
                }
                Record::Notice(Notice::Stop(_)) => is_over = true,
                _ => {}
            },
            Event::Lost(lapped) => lost += lapped.count(),
        })?;
        passed += polled;
        if polled == 0 {
            patience.idle(passed)?;
        }
    }
    black_box(prices);
    Ok(json!({ "read": passed - lost, "lost": lost, "wanted": wanted }))
}
