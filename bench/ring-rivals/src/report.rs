//! What a run found, as the line of JSON that the script reads.

use crate::{
    Failure,
    options::{Mode, Options},
    percentiles::Percentiles,
    rivals::Rival,
};

/// What one reader found; for ping-pong what the first writer did.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Reading {
    pub(crate) received: u64,
    /// From the first message to the last.
    pub(crate) seconds: f64,
    pub(crate) samples: u64,
    /// Round trips, where messages go back.
    pub(crate) from_sent: Percentiles,
    pub(crate) from_intended: Percentiles,
}

/// What all of a run found.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) writer_seconds: f64,
    pub(crate) readings: Vec<Reading>,
}

impl Reading {
    /// Numbers with spaces between, for the process that started this one.
    pub(crate) fn encoded(&self) -> String {
        let mut numbers = vec![self.received as f64, self.seconds, self.samples as f64];
        for Percentiles { p50, p90, p99, p99_9, max } in [self.from_sent, self.from_intended] {
            numbers.extend([p50, p90, p99, p99_9, max]);
        }
        numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn decoded(line: &str) -> Result<Self, Failure> {
        let numbers: Result<Vec<f64>, _> = line.split_whitespace().map(str::parse).collect();
        let numbers = numbers?;
        let [received, seconds, samples, times @ ..] = numbers.as_slice() else {
            return Err("the reader's process said too little".into());
        };
        let percentiles = |times: &[f64]| match *times {
            [p50, p90, p99, p99_9, max] => Ok(Percentiles { p50, p90, p99, p99_9, max }),
            _ => Err("the reader's process said too little or too much"),
        };
        let (sent, intended) = times.split_at(times.len() / 2);
        Ok(Self {
            received: *received as u64,
            seconds: *seconds,
            samples: *samples as u64,
            from_sent: percentiles(sent)?,
            from_intended: percentiles(intended)?,
        })
    }
}

/// Everything in it is a number or a name of ours, so nothing needs escapes.
pub(crate) fn line(rival: &Rival, options: &Options, run: &Run) -> String {
    let mut fields = vec![
        format!("\"name\":\"{}\"", rival.name),
        format!("\"version\":\"{}\"", rival.version()),
        format!("\"mode\":\"{}\"", options.mode.name()),
        format!("\"scope\":\"{}\"", rival.scope),
        "\"delivery\":\"lossless\"".to_owned(),
        format!("\"queue\":\"{}\"", rival.queue),
        format!("\"messages\":{}", options.messages),
        "\"message_bytes\":73".to_owned(),
        "\"pinned\":\"thread\"".to_owned(),
        format!("\"cpus\":{:?}", options.cpus),
    ];
    match options.mode {
        Mode::Throughput => throughput(&mut fields, options, run),
        Mode::Latency => latency(&mut fields, options, run),
        Mode::PingPong => {
            fields.push(format!("\"samples\":{}", run.readings[0].samples));
            fields.push(format!("\"round_trip_ns\":{}", run.readings[0].from_sent.json()));
        }
    }
    format!("{{{}}}", fields.join(","))
}

/// The slowest reader is the one that counts: until it is done, not everyone knows.
fn throughput(fields: &mut Vec<String>, options: &Options, run: &Run) {
    let rate = |seconds: f64| options.messages as f64 / seconds;
    let slowest = run.readings.iter().map(|reading| reading.seconds).fold(0.0, f64::max);
    let readers = run.readings.iter().map(|reading| {
        let (received, rate) = (reading.received, rate(reading.seconds));
        format!(
            "{{\"received\":{received},\"lost\":0,\"laps\":0,\"messages_per_second\":{rate:.0}}}"
        )
    });
    let readers: Vec<_> = readers.collect();
    fields.push(format!("\"messages_per_second\":{:.0}", rate(slowest)));
    fields.push(format!("\"writer_messages_per_second\":{:.0}", rate(run.writer_seconds)));
    fields.push(format!("\"readers\":[{}]", readers.join(",")));
}

fn latency(fields: &mut Vec<String>, options: &Options, run: &Run) {
    let reading = &run.readings[0];
    fields.push(format!("\"rate\":{}", options.rate));
    fields.push(format!("\"received\":{},\"lost\":0", reading.received));
    fields.push(format!("\"samples\":{}", reading.samples));
    fields.push(format!("\"from_send_ns\":{}", reading.from_sent.json()));
    fields.push(format!("\"from_intended_ns\":{}", reading.from_intended.json()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_survives_the_pipe() {
        let percentiles = |from: f64| Percentiles {
            p50: from,
            p90: from + 0.5,
            p99: from + 1.25,
            p99_9: from + 2.0,
            max: from + 3.0,
        };
        let reading = Reading {
            received: 10,
            seconds: 0.25,
            samples: 9,
            from_sent: percentiles(100.0),
            from_intended: percentiles(200.0),
        };
        assert_eq!(Reading::decoded(&reading.encoded()).unwrap(), reading);
        assert!(Reading::decoded("1 2").is_err());
        assert!(Reading::decoded("1 2 3 4").is_err());
    }
}
