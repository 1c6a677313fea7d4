//! What goes wrong at a server, as text and as values: `dead`, or `drop=10%,delay=5ms`.

use std::{fmt, str::FromStr};

use super::{
    Chance, FaultsProblem,
    text::{Nanos, chance, nanos},
};

/// What goes wrong at a server. The default has no faults.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ServerFaults {
    /// No request is answered; no connection gets a byte.
    pub is_dead: bool,
    /// A request is not answered; a connection is closed at once.
    pub drop: Chance,
    /// Answers are sent this much later, in real time; a connection is not read for this long.
    pub delay_ns: u64,
}

impl ServerFaults {
    /// The longest delay.
    pub const MOST_DELAY_NS: u64 = 60_000_000_000;
}

/// Why a text is not a list of the faults of a server.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{part:?}: expected {expected}")]
pub struct ParseServerFaultsError {
    /// The part of the text between two commas.
    pub part: Box<str>,
    /// What it could be.
    pub expected: &'static str,
}

impl FromStr for ServerFaults {
    type Err = ParseServerFaultsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut faults = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let failed = |expected| ParseServerFaultsError { part: part.into(), expected };
            match part.split_once('=') {
                None if part == "dead" => faults.is_dead = true,
                Some(("drop", value)) => {
                    let expected = "a probability, as in drop=10%";
                    faults.drop =
                        chance(value, "drop=10%").map_err(|_: FaultsProblem| failed(expected))?;
                }
                Some(("delay", value)) => {
                    let nanos = nanos(value).filter(|nanos| *nanos <= Self::MOST_DELAY_NS);
                    let expected = "a duration of up to 60s, as in delay=5ms";
                    faults.delay_ns = nanos.ok_or_else(|| failed(expected))?;
                }
                _ => return Err(failed("dead, drop=10% or delay=5ms")),
            }
        }
        Ok(faults)
    }
}

/// The text that is parsed as the same faults; empty if there are none.
impl fmt::Display for ServerFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.is_dead.then(|| "dead".to_owned()));
        parts.extend((self.drop > Chance::NEVER).then(|| format!("drop={}", self.drop)));
        parts.extend((self.delay_ns > 0).then(|| format!("delay={}", Nanos(self.delay_ns))));
        f.write_str(&parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_parsed_as_the_same_faults() {
        for text in ["", "dead", "drop=10%,delay=5ms", "dead,drop=0.5%,delay=1m"] {
            assert_eq!(text.parse::<ServerFaults>().unwrap().to_string(), text);
        }
        for (text, error) in [
            ("alive", "\"alive\": expected dead, drop=10% or delay=5ms"),
            ("dead=1", "\"dead=1\": expected dead, drop=10% or delay=5ms"),
            ("drop=11", "\"drop=11\": expected a probability, as in drop=10%"),
            ("delay=5", "\"delay=5\": expected a duration of up to 60s, as in delay=5ms"),
            ("delay=61s", "\"delay=61s\": expected a duration of up to 60s, as in delay=5ms"),
        ] {
            assert_eq!(text.parse::<ServerFaults>().unwrap_err().to_string(), error);
        }
    }
}
