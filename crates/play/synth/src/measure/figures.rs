//! The figures that a synthetic day must meet, and the table that shows them.

use core::fmt;

use super::Measurement;

/// One property of a day: target, measured value and tolerance.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// What is measured, with its unit.
    pub name: &'static str,
    /// The target: the real market's figure, if one is published.
    pub target: f64,
    /// This day's figure.
    pub measured: f64,
    /// Minimum accepted value.
    pub low: f64,
    /// Maximum accepted value.
    pub high: f64,
}

impl Figure {
    /// Whether the measured value is accepted.
    pub fn is_ok(&self) -> bool {
        (self.low..=self.high).contains(&self.measured)
    }

    fn within(name: &'static str, target: f64, tolerance: f64, measured: f64) -> Self {
        Self { name, target, measured, low: target - tolerance, high: target + tolerance }
    }

    fn range(name: &'static str, target: f64, (low, high): (f64, f64), measured: f64) -> Self {
        Self { name, target, measured, low, high }
    }
}

impl Measurement {
    /// All figures, with tolerances for a day of at least five million messages and 8,000 stocks. A
    /// smaller day has a shorter peak and more announcements per message; with fewer stocks, the
    /// busiest one has a larger share.
    pub fn figures(&self) -> Vec<Figure> {
        let mut figures = self.mix();
        figures.extend(self.distances());
        figures.extend(self.pace());
        figures.extend(self.orders());
        figures.extend(self.announcements());
        figures
    }

    fn percent(&self, count: u64) -> f64 {
        100.0 * count as f64 / self.messages.max(1) as f64
    }

    fn mix(&self) -> Vec<Figure> {
        let share = |tag: u8| self.percent(self.of_type(tag));
        let busiest = self.by_locate[1..].iter().copied().max().unwrap_or(0);
        vec![
            Figure::within("A add order, % of messages", 43.6, 0.7, share(b'A')),
            Figure::within("D delete, %", 42.6, 0.7, share(b'D')),
            Figure::within("U replace, %", 8.1, 0.2, share(b'U')),
            Figure::within("E executed, %", 2.1, 0.06, share(b'E')),
            Figure::within("I imbalance, %", 1.5, 0.05, share(b'I')),
            Figure::within("X cancel, %", 1.0, 0.06, share(b'X')),
            Figure::within("F add order with MPID, %", 0.55, 0.02, share(b'F')),
            Figure::within("P hidden trade, %", 0.45, 0.02, share(b'P')),
            Figure::within("C executed with price, %", 0.037, 0.004, share(b'C')),
            Figure::within("L participant position, %", 0.08, 0.005, share(b'L')),
            Figure::within("busiest stock, % of messages", 1.3, 0.1, self.percent(busiest)),
        ]
    }

    fn distances(&self) -> Vec<Figure> {
        let quantile = |share| self.depth.quantile(share).unwrap_or(0) as f64;
        vec![
            Figure::within("depth p25, ticks from the inside", 0.0, 0.0, quantile(0.25)),
            Figure::within("depth p50", 1.0, 0.0, quantile(0.50)),
            Figure::within("depth p75", 6.0, 1.0, quantile(0.75)),
            Figure::within("depth p90", 14.0, 2.0, quantile(0.90)),
            Figure::within("depth p99", 203.0, 25.0, quantile(0.99)),
            Figure::within("depth p99.9", 2_135.0, 300.0, quantile(0.999)),
            Figure::range(
                "stub quotes, per million messages",
                50.0,
                (10.0, 200.0),
                self.stubs as f64 * 1e6 / self.messages.max(1) as f64,
            ),
        ]
    }

    fn pace(&self) -> Vec<Figure> {
        let short = 100.0 * self.short_gaps as f64 / self.gaps.max(1) as f64;
        let per_millisecond = self.per_millisecond.most as f64 / 1e-3 / 1e6;
        let half_hours = &self.per_half_hour;
        let before_open = half_hours[..19].iter().sum();
        let late = half_hours[33..].iter().sum();
        let busiest = half_hours.iter().copied().max().unwrap_or(0) as f64;
        let noon = half_hours[24].max(1) as f64;
        let per_ten = self.per_ten_milliseconds.most as f64 / 10e-3 / 1e6;
        vec![
            Figure::within("gaps below 300 ns, %", 1.0, 0.15, short),
            Figure::range("peak in a millisecond, M messages/s", 2.4, (2.0, 4.0), per_millisecond),
            Figure::range("peak in 10 milliseconds, M messages/s", 2.4, (2.0, 4.0), per_ten),
            Figure::range(
                "before 09:30, % of messages",
                4.5,
                (2.0, 7.0),
                self.percent(before_open),
            ),
            Figure::range("busiest half hour, times noon's", 3.0, (2.0, 6.0), busiest / noon),
            Figure::range("from 16:30, % of messages", 1.5, (0.5, 4.0), self.percent(late)),
        ]
    }

    fn orders(&self) -> Vec<Figure> {
        let seconds = |share| self.lifetimes.quantile(share).unwrap_or(0) as f64 / 1e9;
        let completed = 100.0 * self.completions as f64 / self.executions.max(1) as f64;
        vec![
            Figure::range(
                "live orders at noon, % of messages",
                4.0,
                (3.0, 5.0),
                self.percent(self.live_at_noon),
            ),
            Figure::range(
                "live orders at most, % of messages",
                4.3,
                (3.0, 5.0),
                self.percent(self.live_peak),
            ),
            Figure::range("order lifetime p1, s", 1e-6, (1e-7, 1e-3), seconds(0.01)),
            Figure::range("order lifetime p10, s", 1e-3, (1e-6, 0.1), seconds(0.10)),
            Figure::range("order lifetime p50, s", 100.0, (1.0, 1_000.0), seconds(0.50)),
            Figure::range("order lifetime p99, s", 20_000.0, (3_600.0, 36_000.0), seconds(0.99)),
            Figure::range(
                "order lifetime at most, s",
                50_000.0,
                (23_400.0, 57_900.0),
                seconds(1.0),
            ),
            Figure::within("executions that complete an order, %", 73.3, 2.0, completed),
            Figure::within("orders live at the end", 0.0, 0.0, self.book.live() as f64),
        ]
    }

    fn announcements(&self) -> Vec<Figure> {
        let stocks = self.of_type(b'R') as f64;
        let of = |tag: u8| self.of_type(tag) as f64;
        let [opening, closing, halt] = self.crosses.map(|count| count as f64);
        vec![
            Figure::within("S system events", 6.0, 0.0, of(b'S')),
            Figure::range("R stocks", 8_906.0, (8_000.0, 11_000.0), stocks),
            Figure::within("Q opening crosses a stock", 1.0, 0.0, opening / stocks),
            Figure::within("Q closing crosses a stock", 1.0, 0.0, closing / stocks),
            Figure::range("Q halt crosses", 24.0, (8.0, 40.0), halt),
            Figure::range(
                "Q with shares, % of crosses",
                30.0,
                (10.0, 60.0),
                100.0 * self.crosses_with_shares as f64 / of(b'Q'),
            ),
            Figure::range("H other than trading", 40.0, (16.0, 80.0), self.interruptions as f64),
            Figure::range("Y short sale tests a stock", 1.012, (1.0, 1.03), of(b'Y') / stocks),
            Figure::range("J auction collars", 34.0, (10.0, 50.0), of(b'J')),
            Figure::within("K new issue updates", 3.0, 0.0, of(b'K')),
            Figure::within("h operational halts", 2.0, 0.0, of(b'h')),
            Figure::within("V circuit breaker levels", 1.0, 0.0, of(b'V')),
            Figure::range("B broken trades", 8.0, (2.0, 12.0), of(b'B')),
        ]
    }
}

pub(super) fn table(figures: &[Figure], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "{:<38} {:>10} {:>10} {:>21}  ok", "figure", "target", "measured", "accepted")?;
    for figure in figures {
        let Figure { name, target, measured, low, high } = figure;
        let accepted = format!("{}..{}", short(*low), short(*high));
        let (target, measured) = (short(*target), short(*measured));
        let ok = if figure.is_ok() { "yes" } else { "NO" };
        writeln!(f, "{name:<38} {target:>10} {measured:>10} {accepted:>21}  {ok}")?;
    }
    Ok(())
}

/// Four significant digits are enough for a table.
fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        v if v < 0.001 => format!("{value:.1e}"),
        v if v < 10.0 => format!("{value:.3}"),
        v if v < 1000.0 => format!("{value:.2}"),
        _ => format!("{value:.0}"),
    }
}
