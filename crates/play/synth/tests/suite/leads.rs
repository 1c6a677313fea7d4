//! Followers follow their leaders by the known lead with the known correlation; others do not.

use nanotape_synth::{LeadPair, LeadSpec, LeadStream, QuoteUpdate};

const SECOND_NS: u64 = 1_000_000_000;
const HOUR_NS: u64 = 3_600 * SECOND_NS;

fn ticks(text: &str, seconds: u64) -> (Vec<LeadPair>, Vec<Vec<(u64, f64)>>) {
    let spec: LeadSpec = text.parse().unwrap();
    let stream = LeadStream::new(&spec, 5, 9 * HOUR_NS);
    let pairs = stream.pairs().to_vec();
    let mut ticks = vec![Vec::new(); usize::from(spec.instruments())];
    let until_ns = 9 * HOUR_NS + seconds * SECOND_NS;
    let mut last_ns = 9 * HOUR_NS;
    for QuoteUpdate { time_ns, stock, quote } in stream.take_while(|tick| tick.time_ns < until_ns) {
        assert!(time_ns >= last_ns);
        last_ns = time_ns;
        let mid = f64::from(quote.bid_price + quote.offer_price) / 2.0;
        ticks[usize::from(stock)].push((time_ns, mid));
    }
    (pairs, ticks)
}

/// The correlation of increments over a second on a grid, the second series read later by a lag.
fn correlation(first: &[(u64, f64)], second: &[(u64, f64)], lag_ns: u64, seconds: u64) -> f64 {
    let at = |series: &[(u64, f64)], time_ns| {
        series[series.partition_point(|tick| tick.0 <= time_ns).max(1) - 1].1
    };
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for second_number in 2..seconds - 3 {
        let time_ns = 9 * HOUR_NS + second_number * SECOND_NS;
        let x = at(first, time_ns + SECOND_NS) - at(first, time_ns);
        let y = at(second, time_ns + SECOND_NS + lag_ns) - at(second, time_ns + lag_ns);
        (xy, xx, yy) = (xy + x * y, xx + x * x, yy + y * y);
    }
    xy / (xx * yy).sqrt()
}

#[test]
fn pairs_have_their_lead_and_correlation_and_others_none() {
    let seconds = 3_000;
    let text = "pairs=2,lead=500ms..2s,rho=0.8,unrelated=2,ticks=100/s";
    let (pairs, ticks) = ticks(text, seconds);
    let of = |instrument: u16| ticks[usize::from(instrument)].as_slice();
    for series in &ticks {
        let rate = series.len() as f64 / seconds as f64;
        assert!((rate / 100.0 - 1.0).abs() < 0.02, "{rate}");
        let squares: f64 = series.windows(2).map(|w| (w[1].1 - w[0].1).powi(2)).sum();
        // Half a thousand in a second, and an error of rounding in each increment.
        let deviation = (squares / seconds as f64).sqrt();
        assert!((480.0..520.0).contains(&deviation), "{deviation}");
    }
    for &LeadPair { leader, follower, lead_ns, rho } in &pairs {
        assert!((500_000_000..=2_000_000_000).contains(&lead_ns) && rho == 0.8);
        let at_lead = correlation(of(leader), of(follower), lead_ns, seconds);
        assert!((at_lead - 0.8).abs() < 0.04, "{at_lead}");
        // A tenth of a second off loses a tenth of the overlap.
        for lag_ns in [lead_ns - 300_000_000, lead_ns + 300_000_000] {
            assert!(correlation(of(leader), of(follower), lag_ns, seconds) < at_lead - 0.1);
        }
    }
    let related = |a: u16, b: u16| {
        pairs.iter().any(|pair| [(a, b), (b, a)].contains(&(pair.leader, pair.follower)))
    };
    for (a, b) in (0..6).flat_map(|a| (0..a).map(move |b| (a, b))).filter(|(a, b)| !related(*a, *b))
    {
        for lag_ns in [0, SECOND_NS] {
            assert!(correlation(of(a), of(b), lag_ns, seconds).abs() < 0.08, "{a} {b}");
        }
    }
}

#[test]
fn no_instrument_is_in_two_pairs_and_equal_seeds_give_equal_ticks() {
    let (pairs, first) = ticks("pairs=30,unrelated=5,ticks=1/s,lead=137ms", 100);
    let mut members: Vec<_> = pairs.iter().flat_map(|pair| [pair.leader, pair.follower]).collect();
    members.sort_unstable();
    members.dedup();
    assert_eq!(members.len(), 60);
    assert!(pairs.iter().all(|pair| pair.lead_ns == 137_000_000));
    assert_eq!(ticks("pairs=30,unrelated=5,ticks=1/s,lead=137ms", 100), (pairs, first));
}

#[test]
fn texts_of_leads_print_and_parse() {
    for text in [
        "pairs=20,lead=50ms..500ms,rho=0.8,unrelated=20,ticks=3/s",
        "pairs=0,lead=137ms,rho=-0.25,unrelated=1,ticks=0.5/s",
    ] {
        assert_eq!(text.parse::<LeadSpec>().unwrap().to_string(), text);
    }
    assert_eq!("".parse::<LeadSpec>().unwrap(), LeadSpec::default());
    for (text, expected) in [
        ("pairs=-1", "pairs=-1: expected a number of instruments"),
        ("pairs=+1", "pairs=+1: expected a number of instruments"),
        ("lead=500ms..50ms", "lead=500ms..50ms: expected a time or a range"),
        ("lead=0", "lead=0: expected a time"),
        ("rho=1.1", "rho=1.1: expected a correlation"),
        ("rho=NaN", "rho=NaN: expected a correlation"),
        ("ticks=3", "ticks=3: expected a number in a second"),
        ("tick=3/s", "\"tick=3/s\": expected pairs, lead, rho"),
        ("pairs=0,unrelated=0", "pairs=0 and unrelated=0 leave no instrument"),
    ] {
        let error = text.parse::<LeadSpec>().unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}
