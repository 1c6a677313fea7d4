//! The command line of a run.

use std::path::PathBuf;

use clap::{Parser, ValueEnum, value_parser};
use rivals_measure::Cpus;

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Mode {
    /// Updates at full speed.
    Throughput,
    /// Updates at a fixed rate, even if one is late.
    Latency,
    /// A process that updates is killed, and another one must update every key.
    Kill,
}

impl Mode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Latency => "latency",
            Self::Kill => "kill",
        }
    }
}

/// What another process of a run does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Role {
    /// Its half of the updates.
    Side,
    /// Updates until it is killed.
    Victim,
    /// One update of every key.
    Survivor,
}

impl Role {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Side => "side",
            Self::Victim => "victim",
            Self::Survivor => "survivor",
        }
    }
}

/// One run of one map in one mode: prints one line of JSON.
#[derive(Clone, PartialEq, Eq, Debug, Parser)]
#[command(name = "rivals-map")]
pub(crate) struct Options {
    /// The name of the map; `list` prints those that were compiled in.
    pub(crate) rival: String,
    pub(crate) mode: Mode,
    /// Keys of the map, all of them in it before anything is measured.
    #[arg(long, default_value_t = 1_000_000, value_parser = value_parser!(u64).range(100..))]
    pub(crate) entries: u64,
    /// Updates of all sides together.
    #[arg(long, default_value_t = 4_000_000, value_parser = value_parser!(u64).range(100..))]
    pub(crate) updates: u64,
    /// Threads or processes that update at the same time, with throughput.
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u64).range(1..=2))]
    pub(crate) sides: u64,
    /// Updates a second, with latency.
    #[arg(long, default_value_t = 1_000_000, value_parser = value_parser!(u64).range(1..))]
    pub(crate) rate: u64,
    /// Processes to kill, one after the other, with kill.
    #[arg(long, default_value_t = 200, value_parser = value_parser!(u64).range(1..))]
    pub(crate) kills: u64,
    #[command(flatten)]
    pub(crate) cpus: Cpus,
    /// Where maps of several processes are created.
    #[arg(long, default_value = "/dev/shm")]
    pub(crate) folder: PathBuf,
    /// Only in another process of the run: what it does.
    #[arg(long, hide = true, requires = "map")]
    pub(crate) second: Option<Role>,
    /// Only in another process of the run: the map.
    #[arg(long, hide = true, requires = "second")]
    pub(crate) map: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &str) -> Result<Options, String> {
        let words = words.split_whitespace();
        Options::try_parse_from(["rivals-map"].into_iter().chain(words)).map_err(|e| e.to_string())
    }

    #[test]
    fn the_default_is_one_side_and_a_million_keys() {
        let options = parsed("scc throughput").unwrap();
        assert_eq!((options.entries, options.sides, options.second), (1_000_000, 1, None));
    }

    #[test]
    fn mistakes_are_named() {
        for (words, what) in [
            ("scc", "<MODE>"),
            ("scc speed", "speed"),
            ("scc throughput --sides 3", "3 is not in 1..=2"),
            ("scc throughput --entries 0", "0 is not in 100.."),
            ("scc latency --cpus 0,9999", "9999"),
        ] {
            let mistake = parsed(words).unwrap_err();
            assert!(mistake.contains(what), "{words}: {mistake}");
        }
    }
}
