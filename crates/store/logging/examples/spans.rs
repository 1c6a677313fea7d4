//! Records the `tracing` spans of a program in rings of shared memory, and measures what a span
//! costs the program: without a subscriber, with a registry alone, with the layer off, and on.
//!
//!     cargo run --release -p nanotape-logging --example spans [NAME [SECONDS]]
//!
//! After the measurement it works for SECONDS (default 0), so that another terminal can run
//! `nanotape trace on NAME`, `trace stat NAME --watch`, `trace record NAME --above 1us -o x.json`
//! and so on. A message is two spans, one within the other, with a field that numbers the message.
//! Figures are medians over rounds of all kinds in turn, in nanoseconds for each span.

use std::{error::Error, thread, time::Duration};

use nanotape_clock::Clock;
use nanotape_journal::Start;
use nanotape_logging::SpanLayer;
use nanotape_trace::spans::{Rate, Request, SpanReader};
use tracing::{Dispatch, dispatcher, info_span};
use tracing_subscriber::layer::SubscriberExt as _;

/// Messages of a measurement, and rounds of measurements.
const MESSAGES: u64 = 50_000;
const ROUNDS: usize = 15;

/// The thread that works, whose region is `NAME.trace.worker`.
const WORKER: &str = "worker";

fn message(sequence: u64) {
    let handle = info_span!("handle", sequence).entered();
    info_span!("parse", value = sequence % 7).in_scope(|| std::hint::black_box(sequence));
    drop(handle);
}

/// Nanoseconds for each span.
fn measure(clock: &Clock, dispatch: &Dispatch) -> f64 {
    dispatcher::with_default(dispatch, || {
        let began = clock.stamp();
        (1..=MESSAGES).for_each(message);
        clock.nanos_between(began, clock.stamp()) as f64 / (2 * MESSAGES) as f64
    })
}

/// Switches all sites of the worker.
fn switch(name: &str, rate: Rate) -> Result<(), Box<dyn Error + Send + Sync>> {
    let path = nanotape_shm::beside(&nanotape_shm::named(name)?, &format!(".trace.{WORKER}"));
    let reader = SpanReader::open(&path, Start::Newest)?;
    let rates = vec![rate; reader.rates().len()];
    Ok(Request::send(&reader, &rates)?.wait()?)
}

fn work(name: &str, seconds: u64) -> Result<(), Box<dyn Error + Send + Sync>> {
    let clock = Clock::calibrate();
    let layer = SpanLayer::open(name)?;
    let counts = layer.counts();
    let traced: Dispatch = tracing_subscriber::registry().with(layer).into();
    let registry: Dispatch = tracing_subscriber::registry().into();
    // The files of the thread appear with its first span.
    dispatcher::with_default(&traced, || message(0));

    let kinds = [
        ("no subscriber", &Dispatch::none(), None),
        ("registry alone", &registry, None),
        ("layer, all off", &traced, Some(Rate::Off)),
        ("layer, all on", &traced, Some(Rate::ALL)),
    ];
    let mut found = vec![Vec::new(); kinds.len()];
    for _ in 0..ROUNDS {
        for ((_, dispatch, rate), found) in kinds.iter().zip(&mut found) {
            if let Some(rate) = rate {
                switch(name, *rate)?;
            }
            found.push(measure(&clock, dispatch));
        }
    }
    for ((kind, ..), mut found) in kinds.into_iter().zip(found) {
        found.sort_by(f64::total_cmp);
        println!("{kind:<16}{:8.1} ns for each span", found[ROUNDS / 2]);
    }
    println!("left out: {:?}", counts.left_out());
    switch(name, Rate::Off)?;

    let began = clock.stamp();
    dispatcher::with_default(&traced, || {
        for sequence in 1.. {
            message(sequence);
            thread::sleep(Duration::from_micros(50));
            if clock.nanos_between(began, clock.stamp()) >= seconds * 1_000_000_000 {
                break;
            }
        }
    });
    Ok(())
}

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| format!("spans-{}", std::process::id()));
    let seconds = arguments.next().map_or(Ok(0), |text| text.parse())?;
    let worker = thread::Builder::new().name(WORKER.to_owned());
    let worked = worker.spawn({
        let name = name.clone();
        move || work(&name, seconds)
    })?;
    worked.join().map_err(|_| "the worker panicked")??;
    let path = nanotape_shm::beside(&nanotape_shm::named(&name)?, &format!(".trace.{WORKER}"));
    if seconds == 0 {
        // Another program could read the last spans, but this one has only measured.
        nanotape_shm::remove(&path)?;
        nanotape_shm::remove(&nanotape_trace::spans::spans_path(&path))?;
    }
    Ok(())
}
