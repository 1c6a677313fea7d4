//! A day message by message, as a live feed gives it: nothing is loaded ahead, because nothing is
//! known of the messages that come next.
//!
//! Cost: two stamps a message, both fenced, so that a message begins when the one before is done;
//! what an empty pair reads is in every time, and is stated beside the times, never subtracted.

use nanotape_clock::Clock;
use nanotape_feed::{DaySource, SourceError, market_event};
use nanotape_lab::statistics::order::median;
use nanotape_market::{MarketEvent, Position};
use nanotape_trace::Histogram;
use nanotape_wire::itch50::Message;
use serde_json::{Map, Value, json};

use super::{
    limits::for_each_record,
    reading::{Answer, Published},
};

/// The quantiles of times, by name.
pub const QUANTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];

/// Runs one day, telling for each message its type, its time from bytes to `apply` done, and what it
/// did.
pub(super) fn run<T>(
    source: &mut DaySource,
    clock: &Clock,
    mut apply: impl FnMut(Position, &MarketEvent) -> T,
    mut tell: impl FnMut(u8, u64, T),
) -> Result<(), SourceError> {
    let mut number = 0;
    for_each_record(source, |record| {
        number += 1;
        let position = Position { number, offset: record.offset };
        let began = clock.stamp_start();
        let applied =
            Message::decode(record.bytes).map(|message| apply(position, &market_event(&message)));
        let ended = clock.stamp();
        // In a good day every message decodes; one that does not would be missed in the answer.
        if let (Ok(applied), Some(&tag)) = (applied, record.bytes.first()) {
            tell(tag, clock.nanos_between(began, ended), applied);
        }
    })
}

/// How the times of messages are distributed, over some runs of the day.
#[derive(Clone, PartialEq, Debug)]
pub struct MessageLatency {
    /// Messages of one run.
    pub count: u64,
    /// In the order of [`QUANTILES`]: the median over runs of each.
    pub quantiles_ns: [f64; QUANTILES.len()],
    /// The longest in any run.
    pub max_ns: u64,
    /// The part of every time that is the clock's own.
    pub clock_ns: f64,
    /// Which clock.
    pub clock: String,
}

impl MessageLatency {
    /// What a process tells of its run.
    pub(super) fn told(
        nanos: &Histogram,
        clock: &Clock,
        answer: Answer,
        published: Option<Published>,
    ) -> Value {
        let quantiles = QUANTILES.map(|(_, quantile)| nanos.quantile(quantile));
        json!({
            "count": nanos.count(),
            "quantiles_ns": quantiles,
            "max_ns": nanos.max(),
            "clock_ns": clock.costs().empty_nanos,
            "clock": clock.source().to_string(),
            "answer": answer.told(),
            "published": published.map(Published::to_json),
        })
    }

    /// The runs together.
    pub(super) fn of_runs(told: &[Value]) -> Option<Self> {
        let numbers = |place: &str| -> Option<Vec<f64>> {
            told.iter().map(|run| run.pointer(place)?.as_f64()).collect()
        };
        let mut quantiles_ns = [0.0; QUANTILES.len()];
        for (place, nanos) in quantiles_ns.iter_mut().enumerate() {
            *nanos = median(&numbers(&format!("/quantiles_ns/{place}"))?)?;
        }
        let max = told.iter().map(|run| run["max_ns"].as_u64()).collect::<Option<Vec<_>>>()?;
        Some(Self {
            count: told.first()?["count"].as_u64()?,
            quantiles_ns,
            max_ns: max.into_iter().max()?,
            clock_ns: median(&numbers("/clock_ns")?)?,
            clock: told.first()?["clock"].as_str()?.to_owned(),
        })
    }

    /// As it stands in results.
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("count".to_owned(), json!(self.count));
        for ((name, _), nanos) in QUANTILES.iter().zip(self.quantiles_ns) {
            object.insert(format!("{name}_ns"), json!(nanos));
        }
        object.insert("max_ns".to_owned(), json!(self.max_ns));
        object.insert("clock_ns".to_owned(), json!(self.clock_ns));
        object.insert("clock".to_owned(), json!(self.clock));
        Value::Object(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_together_are_the_median_of_each_quantile_and_the_longest_of_all() {
        let clock = Clock::monotonic();
        let told: Vec<Value> = [10, 30, 20]
            .into_iter()
            .map(|nanos| {
                let mut histogram = Histogram::fine();
                histogram.record(nanos);
                MessageLatency::told(&histogram, &clock, Answer::default(), None)
            })
            .collect();
        let together = MessageLatency::of_runs(&told).unwrap();
        assert_eq!((together.quantiles_ns, together.max_ns), ([20.0; 5], 30));
        assert_eq!((together.count, MessageLatency::of_runs(&[])), (1, None));
        assert_eq!(together.to_json()["p99.9_ns"], 20.0);
    }
}
