//! What the process of one variant gives back, and whether all variants agree.

use serde_json::{Value, json};

/// What the file did to the books: the same for all of them, or one is wrong. What a variant does
/// not find out is None.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Answer {
    /// Messages, all repetitions together.
    pub messages: Option<u64>,
    /// Of those, the ones that changed a best price or its size.
    pub inside_changes: Option<u64>,
    /// Live orders at the end.
    pub orders_left: Option<u64>,
    /// Messages that did not fit their book.
    pub anomalies: Option<u64>,
    /// Order records that were published.
    pub order_records: Option<u64>,
}

/// What a plant put on its ring, and what became of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Published {
    /// Records, our own ones included.
    pub records: u64,
    /// Processes that read the ring.
    pub taps: u64,
    /// Records that they read, all together, wanted or not.
    pub read: u64,
    /// Records that were overwritten before they read them.
    pub lost: u64,
    /// Records that they wanted.
    pub wanted: u64,
}

/// One run of one variant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reading {
    /// Making the tables, before the first byte.
    pub startup_nanos: u64,
    /// From the first byte to the last message.
    pub wall_nanos: u64,
    /// The same, on processors.
    pub processor_nanos: u64,
    /// Loads, where loads are what is measured.
    pub accesses: Option<u64>,
    /// What was found out about the day.
    pub answer: Answer,
    /// What it published, where it publishes.
    pub published: Option<Published>,
    /// The most memory the process ever had.
    pub peak_memory_bytes: Option<u64>,
    /// The most of it that was seen to be of no file.
    pub peak_anonymous_bytes: Option<u64>,
}

impl Answer {
    const NOUNS: [&str; 5] =
        ["messages", "inside changes", "orders left", "anomalies", "order records"];

    fn numbers(&self) -> [Option<u64>; 5] {
        let &Self { messages, inside_changes, orders_left, anomalies, order_records } = self;
        [messages, inside_changes, orders_left, anomalies, order_records]
    }

    /// What a process tells.
    pub(super) fn told(&self) -> Value {
        let mut value = self.to_json();
        value["order_records"] = json!(self.order_records);
        value
    }

    /// As it stands in results of books, which publish nothing.
    pub fn to_json(&self) -> Value {
        json!({
            "messages": self.messages,
            "inside_changes": self.inside_changes,
            "orders_left": self.orders_left,
            "anomalies": self.anomalies,
        })
    }

    pub(super) fn of_json(value: &Value) -> Self {
        Self {
            messages: value["messages"].as_u64(),
            inside_changes: value["inside_changes"].as_u64(),
            orders_left: value["orders_left"].as_u64(),
            anomalies: value["anomalies"].as_u64(),
            order_records: value["order_records"].as_u64(),
        }
    }
}

impl Published {
    /// Whether every tap read every record, or knows that it lost it; else what is missing.
    pub(super) fn complaint(&self) -> Option<String> {
        let (expected, found) = (self.taps * self.records, self.read + self.lost);
        (found != expected).then(|| format!("its taps account for {found} of {expected} records"))
    }

    pub(super) fn to_json(self) -> Value {
        json!({
            "records": self.records,
            "taps": self.taps,
            "read": self.read,
            "lost": self.lost,
            "wanted": self.wanted,
        })
    }

    pub(super) fn of_json(value: &Value) -> Option<Self> {
        Some(Self {
            records: value["records"].as_u64()?,
            taps: value["taps"].as_u64()?,
            read: value["read"].as_u64()?,
            lost: value["lost"].as_u64()?,
            wanted: value["wanted"].as_u64()?,
        })
    }
}

impl Reading {
    pub(super) fn to_json(self) -> Value {
        json!({
            "startup_nanos": self.startup_nanos,
            "wall_nanos": self.wall_nanos,
            "processor_nanos": self.processor_nanos,
            "accesses": self.accesses,
            "answer": self.answer.told(),
            "published": self.published.map(Published::to_json),
            "peak_memory_bytes": self.peak_memory_bytes,
            "peak_anonymous_bytes": self.peak_anonymous_bytes,
        })
    }

    pub(super) fn of_json(value: &Value) -> Option<Self> {
        Some(Self {
            startup_nanos: value["startup_nanos"].as_u64()?,
            wall_nanos: value["wall_nanos"].as_u64()?,
            processor_nanos: value["processor_nanos"].as_u64()?,
            accesses: value["accesses"].as_u64(),
            answer: Answer::of_json(&value["answer"]),
            published: Published::of_json(&value["published"]),
            peak_memory_bytes: value["peak_memory_bytes"].as_u64(),
            peak_anonymous_bytes: value["peak_anonymous_bytes"].as_u64(),
        })
    }
}

/// Who differs from the first that knows, number by number; None if all agree.
pub fn disagreement<'a>(
    answers: impl IntoIterator<Item = (&'a str, Answer)> + Clone,
) -> Option<String> {
    let mut differences: Vec<String> = Vec::new();
    for (place, noun) in Answer::NOUNS.into_iter().enumerate() {
        let known = answers.clone().into_iter();
        let mut known = known.filter_map(|(name, answer)| Some((name, answer.numbers()[place]?)));
        let Some((first, expected)) = known.next() else { continue };
        for (name, number) in known.filter(|&(_, number)| number != expected) {
            let difference = format!("{name} has {number} {noun} where {first} has {expected}");
            // The same variant differs in the same way in every round.
            if !differences.contains(&difference) {
                differences.push(difference);
            }
        }
    }
    (!differences.is_empty()).then(|| differences.join("; "))
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

    const PUBLISHED: Published = Published { records: 12, taps: 2, read: 20, lost: 4, wanted: 3 };

    #[test]
    fn every_tap_accounts_for_every_record() {
        assert_eq!(PUBLISHED.complaint(), None);
        let short = Published { lost: 3, ..PUBLISHED };
        let expected = "its taps account for 23 of 24 records";
        assert_eq!(short.complaint().as_deref(), Some(expected));
    }

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
        let expected = "levels/x has 21 inside changes where default has 20; \
                        levels/x has 1 anomalies where default has 0";
        assert_eq!(disagreement(answers).as_deref(), Some(expected));
        let short = Answer { messages: Some(99), ..Answer::default() };
        let difference = disagreement([("default", ANSWER), ("decode", short)]).unwrap();
        assert_eq!(difference, "decode has 99 messages where default has 100");
    }

    #[test]
    fn a_reading_is_the_same_after_it_was_told() {
        let reading = Reading {
            startup_nanos: 1,
            wall_nanos: 2,
            processor_nanos: 3,
            accesses: Some(4),
            answer: ANSWER,
            published: Some(PUBLISHED),
            peak_memory_bytes: None,
            peak_anonymous_bytes: Some(5),
        };
        assert_eq!(Reading::of_json(&reading.to_json()), Some(reading));
        assert_eq!(Reading::of_json(&json!({ "wall_nanos": 1 })), None);
    }
}
