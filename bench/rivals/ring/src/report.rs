//! The result of a run, as the line of JSON that the harness reads.

use rivals_measure::Percentiles;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    options::{Mode, Options},
    rivals::Rival,
};

/// Measurements of one reader. With ping-pong they are those of the writer.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Reading {
    pub(crate) received: u64,
    /// How often the writer overtook the reader.
    pub(crate) laps: u64,
    /// From the first message to the last.
    pub(crate) seconds: f64,
    pub(crate) samples: u64,
    /// Round trips, with ping-pong.
    pub(crate) from_sent: Percentiles,
    pub(crate) from_intended: Percentiles,
}

impl Reading {
    /// Messages a second, of those that arrived.
    fn rate(&self) -> f64 {
        self.received as f64 / self.seconds
    }
}

/// Measurements of both sides of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) writer_seconds: f64,
    pub(crate) readings: Vec<Reading>,
}

pub(crate) fn line(rival: &Rival, options: &Options, run: &Run) -> String {
    let Reading { received, samples, from_sent, from_intended, .. } = &run.readings[0];
    let lost = |received: u64| options.messages - received;
    let mut line = json!({
        "name": rival.name,
        "version": rival.version(),
        "mode": options.mode,
        "scope": rival.scope,
        "delivery": rival.delivery,
        "queue": rival.queue,
        "messages": options.messages,
        "message_bytes": 73,
        "pinned": "thread",
        "cpus": options.cpus.cpus,
    });
    match options.mode {
        Mode::Throughput => {
            let readers = run.readings.iter().map(|reading| {
                json!({
                    "received": reading.received,
                    "lost": lost(reading.received),
                    "laps": reading.laps,
                    "messages_per_second": reading.rate().round() as u64,
                })
            });
            // The rate of the slowest reader: a run is complete when every reader has all messages.
            let slowest = run.readings.iter().map(Reading::rate).fold(f64::INFINITY, f64::min);
            let writer = options.messages as f64 / run.writer_seconds;
            line["messages_per_second"] = (slowest.round() as u64).into();
            line["writer_messages_per_second"] = (writer.round() as u64).into();
            line["readers"] = readers.collect();
        }
        Mode::Latency => {
            line["rate"] = options.rate.into();
            line["received"] = json!(received);
            line["lost"] = lost(*received).into();
            line["samples"] = json!(samples);
            line["from_send_ns"] = json!(from_sent);
            line["from_intended_ns"] = json!(from_intended);
        }
        Mode::PingPong => {
            line["samples"] = json!(samples);
            line["round_trip_ns"] = json!(from_sent);
        }
    }
    line.to_string()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn lost_messages_do_not_count_in_the_rate_of_the_slowest_reader() {
        let rival = Rival::new("queue", "processes", "8 slots", 2, |_| Ok(None)).lossy("queue");
        let words = ["rivals-ring", "queue", "throughput", "--messages", "100"];
        let options = Options::try_parse_from(words).unwrap();
        let fast = Reading { received: 100, seconds: 10.0, ..Reading::default() };
        let slow = Reading { received: 30, laps: 2, seconds: 10.0, ..Reading::default() };
        let run = Run { writer_seconds: 5.0, readings: vec![fast, slow] };
        let line: serde_json::Value = serde_json::from_str(&line(&rival, &options, &run)).unwrap();
        assert_eq!(line["delivery"], "lossy, paced here");
        assert_eq!(line["messages_per_second"], 3);
        assert_eq!(line["writer_messages_per_second"], 20);
        let slow = json!({ "received": 30, "lost": 70, "laps": 2, "messages_per_second": 3 });
        assert_eq!(line["readers"][1], slow);
    }

    #[test]
    fn a_reading_survives_the_pipe() {
        let from_sent = Percentiles::of(&mut [1, 2, 3], |ticks| ticks);
        let reading = Reading { received: 10, seconds: 0.25, from_sent, ..Reading::default() };
        let line = serde_json::to_string(&reading).unwrap();
        assert_eq!(serde_json::from_str::<Reading>(&line).unwrap(), reading);
        assert!(serde_json::from_str::<Reading>("ready").is_err());
    }
}
