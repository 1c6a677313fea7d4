//! A second feed shows what its specification says, and the truth about it is what it shows.

use nanotape_synth::{
    Delays, Fate, LeadSpec, LeadStream, Market, MarketConfig, Quote, QuoteConfig, QuoteStream,
    QuoteUpdate, SecondFeed, SecondFeedSpec, ShownUpdate, Truth,
};

const HOUR_NS: u64 = 3_600_000_000_000;
const NOISY: &str = "delay=350us,jitter=20us,conflate=10%,foreign=20%,lost=1%";

fn quotes(stocks: u16, updates_per_s: f64, seed: u64, count: usize) -> Vec<QuoteUpdate> {
    let config = QuoteConfig { stocks, updates_per_s, from_ns: 10 * HOUR_NS, seed };
    QuoteStream::new(config).take(count).collect()
}

fn second_feed(
    first: &[QuoteUpdate],
    spec: &SecondFeedSpec,
    seed: u64,
) -> (Vec<ShownUpdate>, Vec<Fate>) {
    let mut feed = SecondFeed::new(spec.clone(), seed, 10 * HOUR_NS);
    let mut shown = Vec::new();
    let fates = first.iter().map(|update| feed.push(update, &mut shown)).collect();
    feed.finish(&mut shown);
    (shown, fates)
}

fn share(fates: &[Fate], of: impl Fn(&Fate) -> bool) -> f64 {
    fates.iter().filter(|fate| of(fate)).count() as f64 / fates.len() as f64
}

#[test]
fn without_noise_every_update_is_later_by_the_delay() {
    for delay_ns in [350_000, 0, -2_000_000] {
        let first = quotes(3, 500.0, 1, 20_000);
        let spec = SecondFeedSpec { delay_ns, ..SecondFeedSpec::default() };
        // The feed starts long before the first update, so that it can be early.
        let mut feed = SecondFeed::new(spec, 1, 0);
        let mut shown = Vec::new();
        for update in &first {
            assert_eq!(
                feed.push(update, &mut shown),
                Fate::Shown { delay_ns, foreign_follows: false }
            );
        }
        for (own, update) in shown.iter().zip(&first) {
            let time_ns = update.time_ns.checked_add_signed(delay_ns).unwrap();
            assert_eq!(own.update, QuoteUpdate { time_ns, ..*update });
        }
        assert_eq!(shown.len(), first.len());
    }
}

/// Any specification, any rate: nothing is reordered, what is shown is what the fates say, and
/// equal seeds give equal feeds.
#[test]
fn fates_and_updates_agree_for_all_specifications() {
    let specs = [
        NOISY,
        "delay=-1ms,jitter=300us,foreign=90%",
        "delay=5ms,drift=-1ms/s,conflate=50%,lost=40%",
        "delay=1us,swing=20ms/7ms,jitter=1us,lost=90%",
    ];
    for (seed, text) in (1..).zip(specs) {
        let spec: SecondFeedSpec = text.parse().unwrap();
        for (stocks, rate) in [(1, 100.0), (40, 5_000.0)] {
            let first = quotes(stocks, rate, seed, 30_000);
            let (shown, fates) = second_feed(&first, &spec, seed);
            assert!(shown.is_sorted_by_key(|shown| shown.update.time_ns), "{text}");
            // The own updates are those of the first feed that are shown, each with its delay.
            let mut own = shown.iter().filter(|shown| shown.delay_ns.is_some());
            let mut foreign = 0;
            for (update, fate) in first.iter().zip(&fates) {
                let Fate::Shown { delay_ns, foreign_follows } = *fate else { continue };
                let time_ns = update.time_ns.checked_add_signed(delay_ns).unwrap();
                let expected = QuoteUpdate { time_ns, ..*update };
                let expected = ShownUpdate { update: expected, delay_ns: Some(delay_ns) };
                assert_eq!(own.next(), Some(&expected));
                foreign += usize::from(foreign_follows);
            }
            assert_eq!(own.next(), None);
            assert_eq!(shown.iter().filter(|shown| shown.delay_ns.is_none()).count(), foreign);
            for shown in &shown {
                let quote = shown.update.quote;
                assert!(quote.bid_price < quote.offer_price && quote.bid_shares > 0);
            }
            assert_eq!(second_feed(&first, &spec, seed), (shown, fates));
        }
    }
}

#[test]
fn shares_of_noise_are_those_of_the_specification() {
    let first = quotes(20, 500.0, 3, 200_000);
    let (_, fates) = second_feed(&first, &NOISY.parse().unwrap(), 9);
    let is_foreign = |fate: &Fate| matches!(fate, Fate::Shown { foreign_follows: true, .. });
    let conflated = share(&fates, |fate| *fate == Fate::Conflated);
    let (lost, foreign) = (share(&fates, |fate| *fate == Fate::Lost), share(&fates, is_foreign));
    let kept = 1.0 - lost - conflated;
    for (got, expected) in [(conflated, 0.1), (lost, 0.01), (foreign / kept, 0.2)] {
        assert!((got / expected - 1.0).abs() < 0.1, "{got} for {expected}");
    }
    let runs = fates.windows(2).filter(|w| w[0] != Fate::Lost && w[1] == Fate::Lost).count();
    let mean_run = lost * fates.len() as f64 / runs as f64;
    assert!((6.5..9.5).contains(&mean_run), "{mean_run}");
}

/// Updates that are ten milliseconds apart never wait for each other.
#[test]
fn jitter_leaves_the_median_and_is_lognormal() {
    let apart = |(number, update): (u64, &QuoteUpdate)| QuoteUpdate {
        time_ns: 10 * HOUR_NS + number * 10_000_000,
        ..*update
    };
    let first: Vec<_> = (1..).zip(&quotes(1, 100.0, 5, 50_000)).map(apart).collect();
    let (shown, _) = second_feed(&first, &"delay=350us,jitter=20us".parse().unwrap(), 2);
    let mut delays: Vec<_> = shown.iter().filter_map(|shown| shown.delay_ns).collect();
    let quantiles = Delays::of(&mut delays).unwrap();
    // exp(1.645 / 2) = 2.276.
    assert!(quantiles.p05_ns.abs_diff(350_000 - 11_200) < 300, "{quantiles:?}");
    assert!(quantiles.median_ns.abs_diff(350_000) < 300, "{quantiles:?}");
    assert!(quantiles.p95_ns.abs_diff(350_000 + 25_500) < 1_000, "{quantiles:?}");
}

/// Where updates are dense they wait, and the truth has the time at which they are seen.
#[test]
fn delays_include_the_wait_for_the_update_before() {
    let first = quotes(200, 5_000.0, 6, 50_000);
    let (shown, _) = second_feed(&first, &"delay=350us,jitter=20us".parse().unwrap(), 2);
    let mut delays: Vec<_> = shown.iter().filter_map(|shown| shown.delay_ns).collect();
    let quantiles = Delays::of(&mut delays).unwrap();
    assert!(quantiles.median_ns > 360_000 && quantiles.p05_ns > 345_000, "{quantiles:?}");
}

#[test]
fn drift_and_swing_are_straight_lines() {
    let at = |text: &str, seconds: u64| {
        let feed = SecondFeed::new(text.parse().unwrap(), 1, 5_000_000_000);
        feed.steady_delay_at((5 + seconds) * 1_000_000_000)
    };
    assert_eq!(at("delay=350us,drift=20us/s", 10), 550_000);
    assert_eq!(at("delay=350us,drift=-20us/s", 10), 150_000);
    assert_eq!(at("delay=1ms,drift=1ms/h", 1_800), 1_500_000);
    let swing = [0, 1, 2, 3, 4, 5].map(|second| at("delay=1us,swing=100us/4s", second));
    assert_eq!(swing, [1_000, 51_000, 101_000, 51_000, 1_000, 51_000]);
}

/// The windows of the truth against a plain count over the fates.
#[test]
fn truth_is_the_quantiles_of_what_is_shown() {
    let first = quotes(4, 200.0, 8, 20_000);
    let (_, fates) = second_feed(&first, &NOISY.parse().unwrap(), 8);
    let window_ns = 250_000_000;
    let (mut truth, mut rows) = (Truth::new(window_ns, true), Vec::new());
    for (update, fate) in first.iter().zip(&fates) {
        truth.add(update.time_ns, update.stock, *fate, &mut rows);
    }
    truth.finish(&mut rows);
    assert_eq!(rows.iter().filter(|r| r.stock.is_none()).map(|r| r.updates).sum::<u64>(), 20_000);
    assert!(rows.iter().filter(|row| row.stock.is_some()).count() > 100);
    for row in rows {
        let of_row = || {
            first.iter().zip(&fates).filter(|(update, _)| {
                (row.from_ns..row.until_ns).contains(&update.time_ns)
                    && row.stock.is_none_or(|stock| stock == update.stock)
            })
        };
        let count = |of: Fate| of_row().filter(|(_, fate)| **fate == of).count() as u64;
        assert_eq!((row.conflated, row.lost), (count(Fate::Conflated), count(Fate::Lost)));
        let mut delays: Vec<_> = of_row()
            .filter_map(|(_, fate)| match fate {
                Fate::Shown { delay_ns, .. } => Some(*delay_ns),
                _ => None,
            })
            .collect();
        assert_eq!(row.shown, delays.len() as u64);
        assert_eq!(row.updates, of_row().count() as u64);
        delays.sort_unstable();
        let median = (!delays.is_empty()).then(|| delays[(delays.len() - 1) / 2]);
        assert_eq!(row.delays.map(|delays| delays.median_ns), median);
    }
}

#[test]
fn specifications_print_and_parse() {
    for text in [
        "delay=0",
        "delay=350us,drift=20us/s,jitter=20us,conflate=10%,foreign=20%,lost=1%",
        "delay=-3ms,drift=-1us/h,swing=100us/10s,symbols=ABC:XY.A",
        "delay=1500ns,shape=copy",
    ] {
        assert_eq!(text.parse::<SecondFeedSpec>().unwrap().to_string(), text);
    }
    let spelled: SecondFeedSpec = " jitter = 0.02ms , delay=0.35ms,shape=inside,".parse().unwrap();
    assert_eq!(spelled.to_string(), "delay=350us,jitter=20us");
}

#[test]
fn wrong_specifications_are_refused_with_the_key_and_what_is_expected() {
    for (text, expected) in [
        ("delay=350", "delay=350: expected a time such as 350us or 1.5ms, of at most 60s"),
        ("delay=61s", "delay=61s: expected a time such as"),
        ("350us", "\"350us\": expected delay, drift,"),
        ("late=1us", "\"late=1us\": expected delay, drift,"),
        ("delay=1us,delay=2us", "delay is given twice"),
        ("drift=20us", "drift=20us: expected a time per s or h"),
        ("drift=2ms/s", "drift=2ms/s: expected a time per s or h"),
        ("swing=1us/0", "swing=1us/0: expected a time and its period"),
        ("jitter=-1us", "jitter=-1us: expected a time"),
        ("lost=10", "lost=10: expected a share such as 10%"),
        ("lost=91%", "lost=91%: expected a share"),
        ("lost=50%,conflate=50%", "conflate and lost leave less than 5%"),
        ("shape=orders", "shape=orders: expected inside or copy"),
        ("symbols=", "symbols=: expected symbols with a colon"),
        ("shape=copy,lost=1%", "shape=copy has all messages"),
    ] {
        let error = text.parse::<SecondFeedSpec>().unwrap_err().to_string();
        assert!(error.starts_with(expected) && !error.contains('\n'), "{text}: {error}");
    }
}

#[test]
fn a_copy_has_the_same_messages_later() {
    let config = MarketConfig { messages: 20_000, symbols: 50, ..MarketConfig::default() };
    let mut day = Vec::new();
    Market::new(config).unwrap().write_to(&mut day).unwrap();
    for (text, is_noisy) in [("delay=350us,shape=copy", false), ("delay=-1s,jitter=1ms", true)] {
        let mut feed = SecondFeed::new(text.parse().unwrap(), 1, 0);
        let (mut copy, mut last_ns, mut count) = (day.clone(), 0, 0);
        let is_whole = feed.delay_records(&mut copy, |_, time_ns, delay_ns| {
            assert!(is_noisy || delay_ns == 350_000);
            let at_ns = time_ns.checked_add_signed(delay_ns).unwrap();
            assert!(at_ns >= last_ns);
            (last_ns, count) = (at_ns, count + 1);
        });
        assert!(is_whole && count == 20_000 && copy.len() == day.len());
        let differing = copy.iter().zip(&day).filter(|(own, first)| own != first).count();
        assert!((20_000..=120_000).contains(&differing), "only the six bytes of each time");
    }
    let mut feed = SecondFeed::new(SecondFeedSpec::default(), 1, 0);
    let end = day.len() - 1;
    assert!(!feed.delay_records(&mut day[..end], |_, _, _| ()));
    assert!(!feed.delay_records(&mut [0, 3, 1, 2, 3], |_, _, _| ()));
}

/// If this fails on one machine only, that machine computes differently.
#[test]
fn quotes_delays_and_leads_are_the_same_on_every_machine() {
    let (shown, _) = second_feed(&quotes(5, 500.0, 1, 20_000), &NOISY.parse().unwrap(), 1);
    let leads = LeadStream::new(&LeadSpec::default(), 1, 10 * HOUR_NS).take(20_000);
    let all = shown.iter().map(|shown| shown.update).chain(leads);
    let hash = all.fold(0xcbf2_9ce4_8422_2325, |hash: u64, update| {
        let Quote { bid_price, bid_shares, offer_price, offer_shares } = update.quote;
        [bid_price, bid_shares, offer_price, offer_shares, u32::from(update.stock)]
            .into_iter()
            .map(u64::from)
            .chain([update.time_ns])
            .fold(hash, |hash, value| (hash ^ value).wrapping_mul(0x0000_0100_0000_01b3))
    });
    assert_eq!(hash, 14_471_155_916_942_616_957);
}
