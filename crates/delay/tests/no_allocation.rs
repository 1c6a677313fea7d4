//! An estimate allocates nothing, whatever the settings.

use nanotape_delay::{
    Estimator as _, Padding, Series, Signal, Weighting, Window, Xcorr, XcorrSettings,
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
    for signal in [Signal::Levels, Signal::Differences] {
        for padding in [Padding::Circular, Padding::Zero] {
            for weighting in [Weighting::None, Weighting::Phat] {
                let settings =
                    XcorrSettings { signal, padding, weighting, ..XcorrSettings::default() };
                let mut xcorr = Xcorr::new(settings).expect("good settings");
                let before = allocations();
                let mut found = 0;
                for at in 0..10 {
                    let window = Window::new(at * 1_000_000, settings.window_ns);
                    let answer = xcorr.estimate(first.changes(), second.changes(), window);
                    found += usize::from(answer.is_ok());
                }
                assert_eq!(allocations(), before, "{settings:?}");
                assert!(signal == Signal::Levels || found == 10, "{found} of {settings:?}");
            }
        }
    }
}
