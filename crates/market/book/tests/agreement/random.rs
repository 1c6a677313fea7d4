//! Random events: short lists that shrink when they fail, and one long list from a seed.

use nanotape_harness::Random;
use nanotape_types::{
    BookEvent, Modified, OrderReferenceNumber, Price, Priority, Shares, Side, StockLocate,
};
use proptest::prelude::*;

use super::{lockstep::Lockstep, operations, seed};

const LOCATES: [StockLocate; 4] =
    [StockLocate::new(0), StockLocate::new(1), StockLocate::new(2), StockLocate::new(u16::MAX)];

/// Few references, locates and prices, so that events collide; the ends of every range included.
fn any_event() -> impl Strategy<Value = BookEvent> {
    let locate = (0usize..LOCATES.len()).prop_map(|index| LOCATES[index]);
    let reference = || {
        prop_oneof![8 => 0u64..48, 1 => Just(u64::MAX), 1 => (0u64..4).prop_map(|i| i << 60)]
            .prop_map(OrderReferenceNumber::new)
    };
    let shares = prop_oneof![1 => Just(0u32), 8 => 1u32..5, 2 => 100u32..300, 1 => Just(u32::MAX)]
        .prop_map(Shares::new);
    let price = prop_oneof![
        12 => (0u32..40).prop_map(|tick| 1_000_000 + tick * 100),
        1 => Just(0), 1 => Just(1), 1 => Just(1_999_999_900), 1 => Just(u32::MAX),
    ]
    .prop_map(Price::new);
    let side = prop_oneof![Just(Side::Buy), Just(Side::Sell)];
    let all = (0u8..10, locate, reference(), reference(), shares, price, side);
    all.prop_map(|(kind, stock_locate, reference, replacement, shares, price, side)| match kind {
        0..=3 => BookEvent::Add { stock_locate, reference, side, shares, price },
        4 => BookEvent::Execute { stock_locate, reference, shares },
        5 => BookEvent::Cancel { stock_locate, reference, shares },
        6 | 7 => BookEvent::Delete { stock_locate, reference },
        _ => BookEvent::Replace { stock_locate, original: reference, replacement, shares, price },
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn structures_agree_with_the_naive_model_on_random_events(
        events in prop::collection::vec(any_event(), 1..160)
    ) {
        Lockstep::new("random events", &LOCATES).run(events, 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Each event is a clear of its stock, a modification of its order, or itself.
    #[test]
    fn structures_agree_with_the_naive_model_on_clears_and_modifications(
        events in prop::collection::vec((any_event(), 0u8..14), 1..160)
    ) {
        let mut lockstep = Lockstep::new("clears and modifications", &LOCATES);
        for (event, choice) in events {
            match (choice, event) {
                (0, BookEvent::Add { stock_locate, .. }) => lockstep.clear(stock_locate),
                (1..9, BookEvent::Add { stock_locate, reference, side, shares, price }) => {
                    let priorities = [Priority::Kept, Priority::Lost, Priority::KeptIfLess];
                    let priority = priorities[usize::from(choice) % 3];
                    // The order's own side, whichever it is.
                    let side = (choice < 7).then_some(side);
                    let shares = if choice == 8 { Shares::new(0) } else { shares };
                    let change = Modified { reference, side, shares, price, priority };
                    lockstep.modify(stock_locate, change);
                }
                _ => lockstep.apply(event),
            }
            lockstep.compare_everything();
        }
    }
}

#[test]
fn structures_agree_with_the_naive_model_on_many_random_events() {
    let (operations, seed) = (operations(), seed());
    let mut lockstep = Lockstep::new(format!("random, seed {seed}"), &LOCATES);
    let events = RandomEvents::new(seed).take(operations as usize);
    lockstep.run(events, (operations / 250).max(1));
    lockstep.report();
}

/// An endless stream of events around prices that drift and sometimes jump.
struct RandomEvents {
    random: Random,
    /// The middle of each stock's prices.
    middles: [u32; LOCATES.len()],
}

impl RandomEvents {
    fn new(seed: u64) -> Self {
        Self { random: Random::new(seed), middles: [1_000_000; LOCATES.len()] }
    }

    fn reference(&mut self) -> OrderReferenceNumber {
        let random = &mut self.random;
        OrderReferenceNumber::new(match random.below(16) {
            0 => u64::MAX - random.below(4),
            1 => random.below(4) << 60,
            // On both sides of the end of the directory of pages.
            2 => (1 << 32) - 2 + random.below(4),
            3 => random.below(64) * 256,
            _ => random.below(160),
        })
    }

    fn price(&mut self, stock: usize) -> Price {
        let (random, middle) = (&mut self.random, self.middles[stock]);
        let around =
            |ticks: u64, tick: u64| middle.saturating_add(ticks as u32).saturating_sub(tick as u32);
        Price::new(match random.below(64) {
            0 => [0, 1, 99, 100, 1_999_999_900, 4_294_967_200, u32::MAX - 1, u32::MAX]
                [random.below(8) as usize],
            1..4 => around(random.below(200), 100),
            4..10 => around(random.below(1_200) * 100, 60_000),
            _ => around(random.below(40) * 100, 2_000),
        })
    }
}

impl Iterator for RandomEvents {
    type Item = BookEvent;

    fn next(&mut self) -> Option<BookEvent> {
        let stock = self.random.below(LOCATES.len() as u64) as usize;
        match self.random.below(20_000) {
            0 => self.middles[stock] = self.random.below(20_000_000) as u32 * 100,
            1..200 => self.middles[stock] = self.middles[stock].saturating_add(1_000),
            200..400 => self.middles[stock] = self.middles[stock].saturating_sub(1_000),
            _ => {}
        }
        let (stock_locate, reference) = (LOCATES[stock], self.reference());
        let shares = Shares::new(match self.random.below(32) {
            0 => 0,
            1 => u32::MAX,
            2..8 => 100 + self.random.below(200) as u32,
            _ => 1 + self.random.below(4) as u32,
        });
        let side = Side::BOTH[self.random.below(2) as usize];
        Some(match self.random.below(10) {
            0..4 => {
                BookEvent::Add { stock_locate, reference, side, shares, price: self.price(stock) }
            }
            4 => BookEvent::Execute { stock_locate, reference, shares },
            5 => BookEvent::Cancel { stock_locate, reference, shares },
            6 => BookEvent::Delete { stock_locate, reference },
            _ => BookEvent::Replace {
                stock_locate,
                original: reference,
                replacement: self.reference(),
                shares,
                price: self.price(stock),
            },
        })
    }
}
