//! The command line of a run.

use clap::{Parser, ValueEnum, value_parser};
use rivals_measure::Cpus;
use serde::Serialize;

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mode {
    /// As fast as the queue takes messages.
    Throughput,
    /// At a fixed rate, even if the reader falls behind.
    Latency,
    /// A message goes to the other side and back before the next one is sent.
    PingPong,
}

/// Defaults of `messages` by mode.
const FEWER: [(&str, &str, &str); 2] =
    [("mode", "latency", "2000000"), ("mode", "ping-pong", "1000000")];

/// One run of one rival of the ring in one mode: prints one line of JSON.
#[derive(Clone, PartialEq, Eq, Debug, Parser)]
#[command(name = "rivals-ring")]
pub(crate) struct Options {
    /// The name of the rival; `list` prints those that were compiled in.
    pub(crate) rival: String,
    pub(crate) mode: Mode,
    /// Messages to send [default: 10000000, with latency 2000000, with ping-pong 1000000]
    #[arg(long, value_parser = value_parser!(u64).range(1..), hide_default_value = true)]
    #[arg(default_value = "10000000", default_value_ifs = FEWER)]
    pub(crate) messages: u64,
    /// More than one only with throughput.
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u64).range(1..))]
    pub(crate) readers: u64,
    /// Messages a second, with latency.
    #[arg(long, default_value_t = 1_000_000, value_parser = value_parser!(u64).range(1..))]
    pub(crate) rate: u64,
    #[command(flatten)]
    pub(crate) cpus: Cpus,
    /// Only in a reader's process: the number of the reader.
    #[arg(long, hide = true)]
    pub(crate) second: Option<usize>,
    /// Only in a reader's process: the name that both processes use.
    #[arg(long, hide = true, default_value = "")]
    pub(crate) queue: String,
}

impl Options {
    /// Fails if the rival, or the mode, does not support this number of readers.
    pub(crate) fn check_readers(&self, most: u64) -> Result<(), String> {
        let most = if self.mode == Mode::Throughput { most } else { 1 };
        match self.readers <= most {
            true => Ok(()),
            false => Err(format!("--readers {}: {most} at most in this mode", self.readers)),
        }
    }

    /// Whether two sides share a processor, so that a side that waits must yield.
    pub(crate) fn crowded(&self) -> bool {
        self.readers + 1 > self.cpus.cpus.len() as u64
    }

    /// The first tenth, which is not part of latencies.
    pub(crate) fn warm_up(&self) -> u64 {
        self.messages / 10
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &str) -> Result<Options, String> {
        let words = words.split_whitespace();
        Options::try_parse_from(["rivals-ring"].into_iter().chain(words)).map_err(|e| e.to_string())
    }

    #[test]
    fn the_default_is_one_reader_on_a_processor_of_its_own() {
        let mut options = parsed("rtrb latency").unwrap();
        assert_eq!((options.messages, options.rate, options.readers), (2_000_000, 1_000_000, 1));
        options.cpus.cpus = vec![0, 1];
        assert!(!options.crowded());
        options.readers = 2;
        assert!(options.crowded());
    }

    #[test]
    fn more_readers_need_a_rival_and_a_mode_that_have_them() {
        let check = |words, most| parsed(words).unwrap().check_readers(most);
        assert_eq!(check("disruptor throughput --readers 2", 2), Ok(()));
        assert!(check("disruptor latency --readers 2", 2).unwrap_err().contains("--readers 2"));
        assert!(check("rtrb throughput --readers 2", 1).unwrap_err().contains("1 at most"));
    }

    #[test]
    fn mistakes_are_named() {
        for (words, what) in [
            ("rtrb", "<MODE>"),
            ("rtrb speed", "speed"),
            ("rtrb latency --messages 0", "0 is not in 1.."),
            ("rtrb latency --messages", "a value is required"),
            ("rtrb latency --cpus 0,9999", "9999"),
            ("rtrb latency --speed 9", "--speed"),
        ] {
            let mistake = parsed(words).unwrap_err();
            assert!(mistake.contains(what), "{words}: {mistake}");
        }
    }
}
