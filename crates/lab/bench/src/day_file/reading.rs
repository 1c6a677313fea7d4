//! The reading of one variant's process, and the check that all variants agree.

use nanotape_console::values::grouped;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Day;
use crate::{
    engine::{Benchmark, Figure, Measured, Run, Spread, figures, table},
    error::Error,
};

/// What the file did to the books. All variants must agree. None: the variant does not count it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// Messages of all repetitions together.
    pub(super) messages: Option<u64>,
    /// Messages that changed a best price or its size.
    pub(super) inside_changes: Option<u64>,
    /// Live orders at the end.
    pub(super) orders_left: Option<u64>,
    /// Messages that could not be applied to the book.
    pub(super) anomalies: Option<u64>,
    /// Order records published.
    pub(super) order_records: Option<u64>,
}

/// One run of a day.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct DayReading {
    /// Time to make the tables, before the first byte.
    pub(super) startup_nanos: u64,
    /// Wall time from the first byte to the last message.
    pub(super) wall_nanos: u64,
    /// The same, in processor time.
    pub(super) processor_nanos: u64,
    /// Messages, or loads if loads are measured.
    pub(super) operations: u64,
    /// The answer about the day.
    pub(super) answer: Answer,
    /// Peak memory of the process.
    pub(super) peak_memory_bytes: Option<u64>,
    /// Highest observed part of it that belongs to no file.
    pub(super) peak_anonymous_bytes: Option<u64>,
}

impl DayReading {
    /// Processor time per operation, in ns.
    pub(super) fn processor_ns(&self) -> f64 {
        self.processor_nanos as f64 / self.operations as f64
    }

    /// Wall time per operation, in ns.
    pub(super) fn wall_ns(&self) -> f64 {
        self.wall_nanos as f64 / self.operations as f64
    }

    /// `things` per second of wall time.
    pub(super) fn per_second(&self, things: u64) -> f64 {
        things as f64 * 1e9 / self.wall_nanos as f64
    }
}

impl Answer {
    const NOUNS: [&str; 5] =
        ["messages", "inside changes", "orders left", "anomalies", "order records"];

    fn numbers(&self) -> [Option<u64>; 5] {
        let &Self { messages, inside_changes, orders_left, anomalies, order_records } = self;
        [messages, inside_changes, orders_left, anomalies, order_records]
    }

    /// JSON for plants.
    pub(super) fn of_plant(self) -> Value {
        json!(self)
    }

    /// JSON for the table of books, which publish nothing.
    pub(super) fn to_json(self) -> Value {
        let mut answer = self.of_plant();
        answer.as_object_mut().and_then(|members| members.remove("order_records"));
        answer
    }
}

/// The rows that differ from the first row with a number; None if all agree.
pub(super) fn disagreement<'a>(
    answers: impl IntoIterator<Item = (&'a str, Answer)> + Clone,
) -> Option<String> {
    let mut differences: Vec<String> = Vec::new();
    for (place, noun) in Answer::NOUNS.into_iter().enumerate() {
        let known = answers.clone().into_iter();
        let mut known = known.filter_map(|(name, answer)| Some((name, answer.numbers()[place]?)));
        let Some((first, expected)) = known.next() else { continue };
        for (name, number) in known.filter(|&(_, number)| number != expected) {
            let difference = format!("{name} has {number} {noun}, but {first} has {expected}");
            // A variant differs in the same way in every round.
            if !differences.contains(&difference) {
                differences.push(difference);
            }
        }
    }
    (!differences.is_empty()).then(|| differences.join("; "))
}

impl<B: Benchmark> Measured<B> {
    /// Wall time per operation, in ns: the median over rounds.
    pub(super) fn wall_ns(&self) -> Option<f64> {
        table::median(self.spread(|reading| Some(reading.day.wall_ns())))
    }

    /// Time to make the tables, in ms: the median over rounds.
    pub(super) fn startup_ms(&self) -> Option<f64> {
        table::median(self.spread(|reading| Some(reading.day.startup_nanos as f64 / 1e6)))
    }

    /// Messages per second of wall time.
    pub(super) fn messages_per_second(&self) -> Option<Spread> {
        self.spread(|reading| Some(reading.day.per_second(reading.day.operations)))
    }

    /// The maximum of a number over rounds.
    pub(super) fn most(&self, of: impl Fn(&DayReading) -> Option<u64>) -> Option<u64> {
        self.readings.iter().filter_map(|reading| of(&reading.day)).max()
    }

    /// The answer about the day.
    pub(super) fn answer(&self) -> Answer {
        self.readings.first().map_or(Answer::default(), |reading| reading.day.answer)
    }
}

impl<B: Benchmark> Figure<Measured<B>, Run<B>> {
    /// Those of both tables of days.
    pub(super) const OF_DAYS: &'static [Self] = figures! {
        /// The main number of the row, round by round
        "ns_by_round": "list of numbers" = |row, _| row.by_round();
        /// Time to make tables, and the ring and the board of a plant, before the first byte; the
        /// median over rounds
        "startup_ms": "number" ["start-up" 9 millis] = |row, _| row.startup_ms();
        /// The memory peak of the process over all rounds (`VmHWM`), with the ring of a plant
        "peak_memory_bytes": "number or null" ["peak" 9 megabytes] = |row, _| {
            row.most(|day| day.peak_memory_bytes)
        };
    };
}

/// The line above both tables of days.
pub(super) fn heading<B: Benchmark>(run: &Run<B>, day: &Day) -> String {
    let times = match day.repeat {
        1 => String::new(),
        repeat => format!(", {repeat} times through the same books"),
    };
    format!(
        "{}: {} messages, {:.1} MB{times}; room for {} live orders; {}",
        day.path().display(),
        grouped(day.messages),
        day.bytes as f64 / 1e6,
        grouped(day.orders() as u64),
        table::rounds(run),
    )
}

/// Compares the answers of all readings of a day, also with the number of messages in its file.
pub(crate) fn compare<B: Benchmark>(run: &Run<B>, day: &Day) -> Result<(), Error> {
    let counted = Answer { messages: Some(day.operations()), ..Answer::default() };
    let mut answers = vec![("the file", counted)];
    let is_of_day =
        |row: &&Measured<B>| run.options.day_of(row.row).is_some_and(|of| core::ptr::eq(of, day));
    for row in run.measured.iter().filter(is_of_day) {
        let readings = row.readings.iter().chain(&row.others);
        answers.extend(readings.map(|reading| (row.row.name, reading.day.answer)));
    }
    let found = |difference| Err(Error::found("the answers differ", difference));
    disagreement(answers).map_or(Ok(()), found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: Answer = Answer {
        messages: Some(100),
        inside_changes: Some(20),
        orders_left: Some(0),
        anomalies: Some(0),
        order_records: Some(90),
    };

    #[test]
    fn answers_that_agree_as_far_as_they_go_are_accepted() {
        let framing = Answer { messages: Some(100), ..Answer::default() };
        let answers = [("default", ANSWER), ("framing", framing), ("bytes", Answer::default())];
        assert_eq!(disagreement(answers), None);
        assert_eq!(disagreement([]), None);
    }

    #[test]
    fn answers_that_differ_are_refused_by_name_and_number() {
        let wrong = Answer { inside_changes: Some(21), anomalies: Some(1), ..ANSWER };
        let answers = [("default", ANSWER), ("levels/x", wrong), ("levels/x", wrong)];
        let expected = "levels/x has 21 inside changes, but default has 20; \
                        levels/x has 1 anomalies, but default has 0";
        assert_eq!(disagreement(answers).as_deref(), Some(expected));
        let short = Answer { messages: Some(99), ..Answer::default() };
        let difference = disagreement([("default", ANSWER), ("decode", short)]).unwrap();
        assert_eq!(difference, "decode has 99 messages, but default has 100");
    }
}
