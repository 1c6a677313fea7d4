//! Times of records while the machine's clock is adjusted.

use nanotape_clock::SET_BACK_NS;

use nanotape_ring::stream;

use super::*;

const SECOND_NS: i64 = 1_000_000_000;

fn publisher() -> Publisher<stream::Writer> {
    Publisher::on_heap(1 << 16, RecordKinds::ALL, 0).unwrap()
}

#[test]
fn the_time_of_a_record_does_not_go_back_when_the_clock_is_anchored_anew() {
    let mut publisher = publisher();
    let clock = *publisher.clock();
    let mut last = publisher.read_clock();
    for set_by in [-1, -48_000, -30_000_000, -(SET_BACK_NS as i64) / 2] {
        publisher.timeline.follow(clock.with_utc_set_by(set_by));
        for _ in 0..100 {
            let now = publisher.read_clock();
            assert!(now >= last, "{} ns back, set by {set_by} ns", last - now);
            assert_eq!(now, publisher.ts_recv);
            last = now;
        }
    }
}

#[test]
fn the_clock_is_anchored_again_although_it_was_set_back() {
    let mut publisher = publisher();
    let clock = *publisher.clock();
    let before = publisher.read_clock();
    publisher.timeline.follow(clock.with_utc_set_by(-3_600 * SECOND_NS));
    let set_back = publisher.read_clock();
    assert!(before - set_back > 3_500 * SECOND_NS as u64);
    // Longer ago than any interval between synchronisations, by the processor's clock.
    publisher.anchored = Stamp::from_ticks(0);
    publisher.show_life(set_back, ANCHOR_AT_WORK_NS);
    assert!(publisher.read_clock() >= before, "the kernel's clock was not set");
}
