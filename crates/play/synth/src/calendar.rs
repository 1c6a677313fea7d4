//! The day's milestones, its activity between them, and the number of resting orders.
//!
//! All curves are straight lines between knots: easy to read, easy to change, exact to compute.

/// Nanoseconds in a second.
pub(super) const SECOND: u64 = 1_000_000_000;

const fn at(hour: u64, minute: u64, second: u64) -> u64 {
    (hour * 3600 + minute * 60 + second) * SECOND
}

/// First message of the day.
pub(super) const START_OF_MESSAGES: u64 = at(3, 0, 0);
/// The directory and the spin of trading states begin.
pub(super) const SPIN: u64 = at(3, 5, 0);
/// Order entry opens.
pub(super) const START_OF_SYSTEM_HOURS: u64 = at(4, 0, 0);
/// Imbalances before the opening cross are published from here to the open.
pub(super) const OPENING_IMBALANCES: u64 = at(9, 25, 0);
/// Regular trading opens.
pub(super) const OPEN: u64 = at(9, 30, 0);
/// Imbalances before the closing cross are published from here to the close.
pub(super) const CLOSING_IMBALANCES: u64 = at(15, 50, 0);
/// Regular trading closes.
pub(super) const CLOSE: u64 = at(16, 0, 0);
/// Order entry closes; only deletes follow.
pub(super) const END_OF_SYSTEM_HOURS: u64 = at(20, 0, 0);
/// Last message of the day.
pub(super) const END_OF_MESSAGES: u64 = at(20, 5, 0);

/// A curve: times since midnight in seconds, each with a value.
type Knots = &'static [(f64, f64)];

const fn clock(hour: u32, minute: u32, second: u32) -> f64 {
    (hour * 3600 + minute * 60 + second) as f64
}

/// Activity of the day: messages a second, up to a common factor. The sum over the day is a little
/// over 3 million, so these are messages a second in a day of that size.
const ACTIVITY: Knots = &[
    (clock(4, 0, 0), 2.0),
    (clock(7, 0, 0), 3.0),
    (clock(8, 0, 0), 8.0),
    (clock(9, 0, 0), 14.0),
    (clock(9, 25, 0), 25.0),
    // The imbalances are added to the orders.
    (clock(9, 25, 1), 80.0),
    (clock(9, 30, 0), 100.0),
    (clock(9, 30, 1), 700.0),
    (clock(9, 31, 0), 420.0),
    (clock(9, 35, 0), 260.0),
    (clock(10, 0, 0), 170.0),
    (clock(11, 0, 0), 110.0),
    (clock(12, 30, 0), 75.0),
    (clock(14, 0, 0), 85.0),
    (clock(15, 0, 0), 110.0),
    (clock(15, 30, 0), 140.0),
    (clock(15, 50, 0), 190.0),
    (clock(15, 50, 1), 240.0),
    (clock(15, 59, 0), 370.0),
    (clock(16, 0, 0), 550.0),
    // After the close nearly all orders are deleted, most of them at once.
    (clock(16, 0, 1), 3200.0),
    (clock(16, 0, 30), 300.0),
    (clock(16, 2, 0), 100.0),
    (clock(16, 5, 0), 50.0),
    (clock(16, 30, 0), 8.0),
    (clock(18, 0, 0), 2.0),
    (clock(20, 0, 0), 1.5),
    (clock(20, 0, 1), 60.0),
    (clock(20, 5, 0), 1.0),
];

/// The target number of resting orders in all books, as a share of the day's messages.
const LIVE_ORDERS: Knots = &[
    (clock(4, 0, 0), 0.0),
    (clock(8, 0, 0), 0.005),
    (clock(9, 30, 0), 0.017),
    (clock(9, 45, 0), 0.024),
    (clock(10, 30, 0), 0.033),
    (clock(12, 0, 0), 0.040),
    (clock(15, 50, 0), 0.043),
    (clock(16, 0, 0), 0.041),
    (clock(16, 0, 30), 0.028),
    (clock(16, 2, 0), 0.023),
    (clock(16, 5, 0), 0.019),
    (clock(16, 30, 0), 0.009),
    (clock(18, 0, 0), 0.004),
    (clock(20, 0, 0), 0.003),
];

/// The activity in the second that begins at `second` since midnight.
pub(super) fn activity(second: u64) -> f64 {
    interpolate(ACTIVITY, second as f64 + 0.5)
}

/// The target number of resting orders at `time`, as a share of the day's messages.
pub(super) fn live_orders(time: u64) -> f64 {
    interpolate(LIVE_ORDERS, time as f64 / SECOND as f64)
}

fn interpolate(knots: Knots, x: f64) -> f64 {
    let after = knots.partition_point(|&(knot, _)| knot <= x);
    match (after.checked_sub(1).map(|before| knots[before]), knots.get(after)) {
        (Some((x0, y0)), Some(&(x1, y1))) => y0 + (y1 - y0) * (x - x0) / (x1 - x0),
        (Some((_, y)), None) | (None, Some(&(_, y))) => y,
        (None, None) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_pass_through_their_knots_and_are_straight_between() {
        assert_eq!(interpolate(LIVE_ORDERS, clock(12, 0, 0)), 0.040);
        assert_eq!(interpolate(LIVE_ORDERS, clock(2, 0, 0)), 0.0);
        assert_eq!(interpolate(LIVE_ORDERS, clock(23, 0, 0)), 0.003);
        assert_eq!(interpolate(ACTIVITY, clock(7, 30, 0)), 5.5);
    }

    #[test]
    fn knots_are_in_order() {
        for knots in [ACTIVITY, LIVE_ORDERS] {
            assert!(knots.windows(2).all(|pair| pair[0].0 < pair[1].0));
        }
    }
}
