//! Find out how far one feed is behind another: you will see the delay every ten seconds, as two
//! methods estimate it from values alone, and how fast it grows.
//!
//!     cargo run --release -p nanotape-examples --example 12_how_far_behind
//!
//! The quotes are synthetic, so the delay is known. The second feed has jitter, lacks some updates,
//! and shows others that the first feed does not have.

use std::error::Error;

use nanotape::{
    delay::{
        Estimate, Estimator, MatchValue, MatchValueSettings, NoEstimate, Series, Window, Xcorr,
        XcorrSettings, trend,
    },
    synth::{Fate, QuoteConfig, QuoteStream, QuoteUpdate, SecondFeed, SecondFeedSpec},
};

const SECOND_NS: i64 = 1_000_000_000;
const WINDOW_NS: i64 = 10 * SECOND_NS;
/// 09:30, in nanoseconds since midnight.
const BEGIN_NS: i64 = 34_200 * SECOND_NS;
const SPEC: &str = "delay=350us,drift=2us/s,jitter=20us,conflate=10%,foreign=20%";

fn main() -> Result<(), Box<dyn Error>> {
    let spec: SecondFeedSpec = SPEC.parse()?;
    let (begin, seed) = (BEGIN_NS as u64, 7);
    let config = QuoteConfig { stocks: 1, updates_per_s: 500.0, from_ns: begin, seed };
    let mut second_feed = SecondFeed::new(spec, seed, begin);
    let (mut shown, mut truth) = (Vec::new(), Vec::new());
    // One attribute of one stock is a series; any other is as good.
    let (mut first, mut second) = (Series::new(), Series::new());
    let shares = |series: &mut Series, update: &QuoteUpdate| {
        series.push(update.time_ns as i64, i64::from(update.quote.bid_shares));
    };
    for update in QuoteStream::new(config).take(60_000) {
        shares(&mut first, &update);
        if let Fate::Shown { delay_ns, .. } = second_feed.push(&update, &mut shown) {
            truth.push((update.time_ns as i64, delay_ns));
        }
    }
    second_feed.finish(&mut shown);
    shown.iter().for_each(|shown| shares(&mut second, &shown.update));
    println!("{} changes of the first feed, {} of the second", len(&first), len(&second));

    let mut match_value = MatchValue::new(MatchValueSettings::default());
    let settings = XcorrSettings { window_ns: WINDOW_NS, ..XcorrSettings::default() };
    let mut xcorr = Xcorr::new(settings)?;
    println!("{:>8}{:>12}  {:<34}xcorr", "from", "true", "match-value");
    let mut delays = Vec::new();
    for number in 0..10 {
        let window = Window::new(BEGIN_NS + number * WINDOW_NS, WINDOW_NS);
        let is_in = |time_ns: i64| (window.from_ns..window.until_ns).contains(&time_ns);
        let own = truth.iter().filter(|(time_ns, _)| is_in(*time_ns));
        let mut own: Vec<i64> = own.map(|(_, delay_ns)| *delay_ns).collect();
        own.sort_unstable();
        let median_us = own.get(own.len() / 2).map_or(0.0, |&delay_ns| delay_ns as f64 / 1e3);
        // No estimate is an answer too: the window says too little, or nothing certain.
        let by_value = match_value.estimate(first.changes(), second.changes(), window);
        let by_lag = xcorr.estimate(first.changes(), second.changes(), window);
        let (values, lags) = (text(by_value), text(by_lag));
        println!("{:>6} s{median_us:>9.1} us  {values:<34}{lags}", 10 * number);
        delays.extend(by_value.map(|found| (window.middle_ns(), found.delay_ns)));
    }
    match trend(&delays) {
        Some(found) => println!(
            "it grows by {:.1} us a second, from {:.1} to {:.1}",
            found.ns_per_s / 1e3,
            found.low_ns_per_s / 1e3,
            found.high_ns_per_s / 1e3
        ),
        None => println!("too few windows for a trend"),
    }
    Ok(())
}

fn len(series: &Series) -> usize {
    series.changes().len()
}

/// The estimate with its interval, in microseconds.
fn text(found: Result<Estimate, NoEstimate>) -> String {
    match found {
        Ok(Estimate { delay_ns, low_ns, high_ns, .. }) => {
            let [delay, low, high] = [delay_ns, low_ns, high_ns].map(|ns| ns / 1e3);
            format!("{delay:.1} us ({low:.1} to {high:.1})")
        }
        Err(reason) => reason.to_string(),
    }
}
