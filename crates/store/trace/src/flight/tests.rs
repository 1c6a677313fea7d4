//! Parts of the flight recorder on their own.

use nanotape_clock::Stamp;
use proptest::prelude::*;

use super::{bucket::Tokens, joined::Joined, kept::*};
use crate::spans::{Site, Sites, Span};

const SITE: Site = Sites::new(&["a"]).site("a");
const MINUTE: u64 = 60_000_000_000;

fn span(number: u64, from: u64, to: u64) -> Span {
    let [from, to] = [from, to].map(Stamp::from_ticks);
    Span { site: SITE, number, value: 0, from, to }
}

#[test]
fn the_last_spans_are_kept_in_order() {
    let mut kept = Kept::new(8);
    let mut copy = Vec::with_capacity(8);
    for number in 0..100 {
        kept.copy_to(&mut copy);
        let numbers: Vec<u64> = copy.iter().map(|kept| kept.number).collect();
        assert_eq!(numbers, (number.max(8) - 8..number).collect::<Vec<_>>());
        kept.push(KeptSpan::of(span(number, 0, 1), 0));
    }
    let more = KeptSpan::of(span(1, 0, 1), u64::MAX);
    assert_eq!((more.lost_before, copy.capacity()), (u32::MAX, 8));
}

#[test]
fn a_message_is_joined_until_another_takes_its_place() {
    let mut joined = Joined::new(64, 1_000);
    let mut add = |number, from, to| joined.add(span(number, from, to)).1;
    assert_eq!((add(1, 100, 110), add(1, 110, 150), add(1, 90, 95)), (10, 50, 60));
    // Neighbours and every 16th have places of their own.
    assert_eq!((add(2, 200, 201), add(17, 300, 302), add(33, 300, 303)), (1, 2, 3));
    assert_eq!(add(1, 1_000, 1_001), 911);
    // The number again, long afterwards, is another message.
    assert_eq!((add(1, 2_002, 2_003), add(1, 2_003, 2_004)), (1, 2));
    assert_eq!((add(0, 0, 0), add(0, 0, 7)), (0, 7));
    assert_eq!((add(5, u64::MAX, u64::MAX), add(5, 0, 1)), (0, u64::MAX));
    assert_eq!(joined.crowded(), 0);
    for number in 100..10_000 {
        joined.add(span(number, 0, 1));
    }
    joined.add(span(3, 0, 1));
    assert_eq!(joined.crowded(), 1);
}

#[test]
fn an_eighth_of_the_table_can_be_in_flight() {
    for (capacity, exponent) in
        [6, 8, 10, 12, 14].into_iter().flat_map(|c| (0..=20).map(move |e| (c, e)))
    {
        let places = 1 << capacity;
        let mut joined = Joined::new(places, u64::MAX / 2);
        for number in 0..2 * places as u64 {
            joined.add(span(number << exponent, number, number));
            let late = number.saturating_sub(places as u64 / 8);
            let (_, took) = joined.add(span(late << exponent, number, number));
            assert_eq!(took, number - late, "{number} of {places}, one in 2^{exponent}");
        }
        assert_eq!(joined.crowded(), 0);
    }
}

proptest! {
    /// However the time passes, copies stay below the limit, and a cause that rests has a token.
    #[test]
    fn tokens_limit_copies_and_are_shared(
        at_once in 0_u32..20,
        per_minute in 0_u32..200,
        steps in proptest::collection::vec((0_usize..4, 0_u64..MINUTE / 20), 1..300),
    ) {
        let causes = 3;
        let mut tokens = Tokens::new(causes, at_once, per_minute);
        let (mut now, mut taken, mut per_cause) = (1 << 50, 0, [0_u64; 3]);
        let begin = now;
        for (cause, passed) in steps {
            now += passed;
            tokens.refill(now);
            if cause < causes {
                while tokens.take(cause) {
                    taken += 1;
                    per_cause[cause] += 1;
                }
            }
            let new = u128::from(now - begin) * u128::from(per_minute) / u128::from(MINUTE);
            let most = u128::from(at_once.max(causes as u32)) + new;
            prop_assert!(taken <= most, "{taken} of {most}");
        }
        tokens.refill(now - 1);
        tokens.refill(u64::MAX);
        if per_minute > 0 {
            prop_assert!((0..causes).all(|cause| tokens.take(cause)));
        }
        prop_assert_eq!(u128::from(per_cause.iter().sum::<u64>()), taken);
    }
}

#[test]
fn two_storms_share_the_tokens_and_do_not_take_that_of_the_third() {
    let mut tokens = Tokens::new(3, 10, 60);
    let mut taken = [0; 3];
    for second in 0..1_000 {
        tokens.refill(second * 1_000_000_000);
        for _ in 0..100 {
            taken[0] += u32::from(tokens.take(0));
            taken[1] += u32::from(tokens.take(1));
        }
        if second % 10 == 9 {
            taken[2] += u32::from(tokens.take(2));
        }
    }
    assert_eq!(taken[2], 100);
    assert!(taken[0].abs_diff(taken[1]) < 10 && taken[0] + taken[1] > 890, "{taken:?}");
}
