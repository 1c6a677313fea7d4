//! Event sequences that real feeds never have and that could break structures.

use nanotape_types::{BookEvent, OrderReferenceNumber, Price, Shares, Side, StockLocate};

use super::lockstep::Lockstep;

const LOCATE: StockLocate = StockLocate::new(1);

/// The lowest and highest possible prices, and the lowest and highest prices of an order.
const ENDS: [u32; 4] = [0, 1, 1_999_999_900, u32::MAX];

fn add(reference: u64, side: Side, price: u32) -> BookEvent {
    BookEvent::Add {
        stock_locate: LOCATE,
        reference: OrderReferenceNumber::new(reference),
        side,
        shares: Shares::new(7),
        price: Price::new(price),
    }
}

fn cancel(reference: u64, shares: u32) -> BookEvent {
    BookEvent::Cancel {
        stock_locate: LOCATE,
        reference: OrderReferenceNumber::new(reference),
        shares: Shares::new(shares),
    }
}

fn delete(reference: u64) -> BookEvent {
    BookEvent::Delete { stock_locate: LOCATE, reference: OrderReferenceNumber::new(reference) }
}

fn replace(original: u64, replacement: u64, price: u32) -> BookEvent {
    BookEvent::Replace {
        stock_locate: LOCATE,
        original: OrderReferenceNumber::new(original),
        replacement: OrderReferenceNumber::new(replacement),
        shares: Shares::new(1 + replacement as u32 % 9),
        price: Price::new(price),
    }
}

fn agree(about: &str, every: u64, events: impl IntoIterator<Item = BookEvent>) {
    Lockstep::new(about, &[LOCATE]).run(events, every);
}

#[test]
fn structures_agree_on_descending_references() {
    let enter = (0..600).rev().map(|i| add(i, Side::Buy, 500 + 100 * (i as u32 % 7)));
    let leave = (0..300).map(|i| 2 * i).chain((0..300).rev().map(|i| 2 * i + 1)).map(delete);
    agree("descending references", 50, enter.chain(leave));
}

#[test]
fn structures_agree_on_one_price_only() {
    let enter = (0..600).map(|i| add(i, Side::Sell, 1_000_000));
    let less = (0..600).step_by(3).map(|i| cancel(i, 6));
    let leave = (0..600).map(|i| delete(i * 7 % 600));
    agree("one price only", 50, enter.chain(less).chain(leave));
}

/// Both sides at both ends at once, then one order that jumps between the ends: each jump makes or
/// removes a best price.
#[test]
fn structures_agree_on_prices_at_both_ends() {
    let enter = (0..64).map(|i| add(i, Side::BOTH[i as usize % 2], ENDS[i as usize / 2 % 4]));
    let leave = (0..64).map(|i| delete(i * 5 % 64));
    agree("both ends", 1, enter.chain(leave));

    let side = |i: u64| Side::BOTH[i as usize % 2];
    let stay = (0..40).map(|i| add(i, side(i), 1_000_000 + 100 * i as u32));
    let jumpers = (100..102).map(|i| add(i, side(i), 0));
    let jumps = (100..20_100).map(|i| replace(i, i + 2, ENDS[i as usize / 2 % 4]));
    agree("jumps from end to end", 500, stay.chain(jumpers).chain(jumps));

    // Ladders alternate between both ends: a window of ticks has to follow.
    let ladders = (0..40u64).flat_map(|round| {
        let foot = if round % 2 == 0 { 100 } else { 1_999_900_000 };
        let enter =
            move |i: u64| add(round * 1_000 + i, side(round / 2), foot + 100 * (i as u32 % 450));
        let leave = move |i: u64| delete(round * 1_000 + i);
        (0..900).map(enter).chain((0..900).filter(move |i| i % 64 != round % 64).map(leave))
    });
    agree("ladders at either end", 6_000, ladders);
}

/// One order, replaced 100,000 times: its price goes up and down again, among other orders.
#[test]
fn structures_agree_on_a_long_chain_of_replaces() {
    const LINKS: u64 = 100_000;
    for side in Side::BOTH {
        let others = (0..50).map(|i| add(LINKS * 2 + i, side, 1_000_000 + 30_000 * i as u32));
        let height = |link: u64| 20 * link.min(LINKS - link) as u32;
        let chain = (0..LINKS).map(|i| replace(i, i + 1, 900_000 + height(i)));
        let events = others.chain([add(0, side, 900_000)]).chain(chain);
        agree("a chain of replaces", 5_000, events);
    }
}

/// References whose hashes share their upper bits, so that the runs of open addressing grow long.
#[test]
fn structures_agree_on_references_that_collide() {
    // Multiplied by the multiplier of the hash, these are 0, 1, 2 and so on.
    const INVERSE: u64 = 0xf1de_83e1_9937_733d;
    let colliding = |i: u64| i.wrapping_mul(INVERSE);
    let enter = (0..400).map(move |i| add(colliding(i), Side::Buy, 700));
    let some = (0..400).step_by(3).map(move |i| delete(colliding(i)));
    let again = (0..400).step_by(6).map(move |i| add(colliding(i), Side::Sell, 900));
    // Homes at the end of the table, so that runs wrap around to its beginning.
    let wrapping = (0..100).map(move |i| add(colliding(u64::MAX - i), Side::Buy, 800));
    let leave = (0..400).map(move |i| delete(colliding(i * 7 % 400)));
    let events = enter.chain(some).chain(again).chain(wrapping).chain(leave);
    agree("colliding references", 40, events);
}

#[test]
fn structures_agree_on_references_near_the_greatest() {
    let enter = (0..600).map(|i| add(u64::MAX - i, Side::Sell, 500 + i as u32 % 3));
    let leave = (0..600).map(|i| delete(u64::MAX - i * 7 % 600));
    agree("references near 2^64", 50, enter.chain(leave));
}

/// Ranges of references that fill and empty repeatedly, far apart, reusing the same references.
#[test]
fn structures_agree_on_references_used_again_and_again() {
    let places = [0, 200, 1 << 20, (1 << 32) - 150, (1 << 40) + 77, u64::MAX - 400];
    let rounds = (0..120u64).flat_map(move |round| {
        let place = places[(round * 5 % 6) as usize];
        let enter = move |i: u64| add(place + i, Side::BOTH[round as usize % 2], 400 + i as u32);
        // Some rounds leave one order, which is a duplicate when its range returns.
        let leave = move |i: u64| delete(place + i * 11 % 300);
        (0..300).map(enter).chain((0..300 - round % 2).map(leave))
    });
    agree("references used again", 900, rounds);
}
