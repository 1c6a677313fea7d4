//! An estimate allocates nothing, whatever the settings.

use nanotape_delay::{
    Estimator, MatchSequence, MatchValue, MatchValueSettings, Padding, Series, Signal, Window,
    Xcorr, XcorrSettings,
};
use nanotape_harness::{CountingAllocator, Random, allocations, check_the_counter};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

#[test]
fn estimates_allocate_nothing() {
    check_the_counter();
    let mut random = Random::new(3);
    let (mut first, mut second) = (Series::new(), Series::new());
    for at in 0..2_000 {
        let (time_ns, value) = (at * 40_000 + random.below(30_000) as i64, random.below(99) as i64);
        first.push(time_ns, value);
        second.push(time_ns + 123_456, value);
    }
    let count = |estimator: &mut dyn Estimator, what: &str| {
        let estimate = |estimator: &mut dyn Estimator, at: i64| {
            let window = Window::new(at * 1_000_000, XcorrSettings::default().window_ns);
            estimator.estimate(first.changes(), second.changes(), window).is_ok()
        };
        // The memory for matches grows to the size of a window once.
        (0..10).for_each(|at| _ = estimate(estimator, at));
        let before = allocations();
        let found = (0..10).filter(|&at| estimate(estimator, at)).count();
        assert_eq!(allocations(), before, "{what}");
        found
    };
    for signal in [Signal::Levels, Signal::Differences] {
        for padding in [Padding::Circular, Padding::Zero] {
            let settings = XcorrSettings { signal, padding, ..XcorrSettings::default() };
            let mut xcorr = Xcorr::new(settings).expect("good settings");
            let found = count(&mut xcorr, &format!("{settings:?}"));
            assert!(signal == Signal::Levels || found == 10, "{found} of {settings:?}");
        }
    }
    let mut matchers: [Box<dyn Estimator>; 2] = [
        Box::new(MatchValue::new(MatchValueSettings::default())),
        Box::new(MatchSequence::new(2_000_000)),
    ];
    for matcher in &mut matchers {
        let name = matcher.name();
        let found = count(&mut **matcher, name);
        assert!(found == 10 || name == MatchSequence::NAME, "{found} of {name}");
    }
}
