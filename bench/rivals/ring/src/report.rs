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
    /// From the first message to the last.
    pub(crate) seconds: f64,
    pub(crate) samples: u64,
    /// Round trips, with ping-pong.
    pub(crate) from_sent: Percentiles,
    pub(crate) from_intended: Percentiles,
}

/// Measurements of both sides of a run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) writer_seconds: f64,
    pub(crate) readings: Vec<Reading>,
}

pub(crate) fn line(rival: &Rival, options: &Options, run: &Run) -> String {
    let Reading { received, samples, from_sent, from_intended, .. } = &run.readings[0];
    let mut line = json!({
        "name": rival.name,
        "version": rival.version(),
        "mode": options.mode,
        "scope": rival.scope,
        "delivery": "lossless",
        "queue": rival.queue,
        "messages": options.messages,
        "message_bytes": 73,
        "pinned": "thread",
        "cpus": options.cpus.cpus,
    });
    match options.mode {
        Mode::Throughput => {
            let rate = |seconds: f64| (options.messages as f64 / seconds).round() as u64;
            let readers = run.readings.iter().map(|reading| {
                let (received, rate) = (reading.received, rate(reading.seconds));
                json!({ "received": received, "lost": 0, "laps": 0, "messages_per_second": rate })
            });
            // The rate of the slowest reader: a run is complete when every reader has all messages.
            let slowest = run.readings.iter().map(|reading| reading.seconds).fold(0.0, f64::max);
            line["messages_per_second"] = rate(slowest).into();
            line["writer_messages_per_second"] = rate(run.writer_seconds).into();
            line["readers"] = readers.collect();
        }
        Mode::Latency => {
            line["rate"] = options.rate.into();
            line["received"] = json!(received);
            line["lost"] = 0.into();
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
    use super::*;

    #[test]
    fn a_reading_survives_the_pipe() {
        let from_sent = Percentiles::of(&mut [1, 2, 3], |ticks| ticks);
        let reading = Reading { received: 10, seconds: 0.25, from_sent, ..Reading::default() };
        let line = serde_json::to_string(&reading).unwrap();
        assert_eq!(serde_json::from_str::<Reading>(&line).unwrap(), reading);
        assert!(serde_json::from_str::<Reading>("ready").is_err());
    }
}
