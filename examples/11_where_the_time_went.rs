//! Find out where the time of your messages goes, while the program runs: you will see the times of
//! two stages of a loop, from another thread that switches the spans on and off.
//!
//!     cargo run --release -p nanotape-examples --example 11_where_the_time_went
//!
//! The reader opens files, so it could be another process, and could read them after a crash. The
//! stamps of spans do not wait for memory: a load that no instruction needs counts where it ends.

use std::{
    error::Error,
    hint::black_box,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use nanotape::{
    clock::Clock,
    ring::Start,
    trace::{
        Histogram,
        spans::{Polled, Rate, Site, Sites, SpanReader, Tracer, TracerOptions},
    },
};

const SITES: Sites = Sites::new(&["work.parse", "work.store"]);
const PARSE: Site = SITES.site("work.parse");
const STORE: Site = SITES.site("work.store");

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("nanotape-spans-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    let path = folder.join("work");
    let tracer = Tracer::create(&path, SITES, Clock::calibrate(), &TracerOptions::default())?;
    let switches = tracer.switches();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| work(tracer, &is_over));
        let mut reader = SpanReader::open(&path, Start::Newest)?;
        for (what, rate) in [
            ("off", Rate::Off),
            ("one message in 64", Rate::OneIn { exponent: 6 }),
            ("every message", Rate::ALL),
        ] {
            switches.set(&[rate; 2]);
            thread::sleep(Duration::from_millis(200));
            switches.set(&[]);
            print(what, &mut reader)?;
        }
        is_over.store(true, Ordering::Relaxed);
        Ok::<(), Box<dyn Error>>(())
    })?;
    std::fs::remove_dir_all(folder)?;
    Ok(())
}

/// The traced loop. Each stage is one call, whether its spans are on or off.
fn work(mut tracer: Tracer, is_over: &AtomicBool) {
    let mut store = vec![0_u64; 1 << 22];
    let mut number = 0_u64;
    while !is_over.load(Ordering::Relaxed) {
        number += 1;
        tracer.begin(PARSE, number);
        let parsed = black_box(number.to_string()).parse::<u64>().unwrap_or(0);
        tracer.end(PARSE, number, 0);
        let place = parsed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 42;
        store[place as usize] += 1;
        tracer.end(STORE, number, place);
    }
    black_box(&store);
}

/// Prints the times of the spans that are in the ring.
fn print(what: &str, reader: &mut SpanReader) -> Result<(), Box<dyn Error>> {
    let mut times = [Histogram::fine(), Histogram::fine()];
    let mut lost = 0;
    loop {
        match reader.try_next()? {
            Polled::Span(span) => {
                let nanos = reader.nanos_between(span.from, span.to);
                times[span.site.index()].record(nanos as u64);
            }
            Polled::Lost(gap) => lost += gap.count(),
            Polled::Empty => break,
            Polled::Damaged { sequence } => eprintln!("span {sequence} is damaged"),
        }
    }
    println!("{what}: {lost} spans overwritten before they were read");
    for (site, times) in reader.sites().iter().zip(&times) {
        let name = site.name.map_or(String::new(), |name| name.to_string());
        let quantile = |q| times.quantile(q).unwrap_or(0);
        let (count, p50, p99) = (times.count(), quantile(0.5), quantile(0.99));
        println!("  {name:<12} {count:>8} spans, p50 {p50:>4} ns, p99 {p99:>6} ns");
    }
    Ok(())
}
