//! What goes wrong at a gap server, as text and as values: `unavailable=10%,delay=5ms`.

use std::{fmt, str::FromStr};

use crate::{
    ParseServerFaultsError, ServerFaults,
    faults::{Chance, text::chance},
};

/// What goes wrong at a gap server. The default has no faults.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GapFaults {
    /// The faults of its connections.
    pub connections: ServerFaults,
    /// A request is refused, because the unit is not available.
    pub unavailable: Chance,
}

/// Why a text is not a list of the faults of a gap server.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ParseGapFaultsError {
    /// The value of `unavailable` is no probability.
    #[error("{0:?}: expected a probability, as in unavailable=10%")]
    Chance(Box<str>),
    /// Another part.
    #[error("{0} or unavailable=10%")]
    Other(ParseServerFaultsError),
}

impl FromStr for GapFaults {
    type Err = ParseGapFaultsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (mut unavailable, mut others) = (Chance::NEVER, Vec::new());
        for part in text.split(',').map(str::trim) {
            match part.split_once('=') {
                Some(("unavailable", value)) => {
                    let failed = |_| ParseGapFaultsError::Chance(part.into());
                    unavailable = chance(value, "unavailable=10%").map_err(failed)?;
                }
                _ => others.push(part),
            }
        }
        let connections = others.join(",").parse().map_err(ParseGapFaultsError::Other)?;
        Ok(Self { connections, unavailable })
    }
}

/// The text that is parsed as the same faults; empty if there are none.
impl fmt::Display for GapFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let connections = self.connections.to_string();
        let is_some = self.unavailable > Chance::NEVER;
        let unavailable = is_some.then(|| format!("unavailable={}", self.unavailable));
        let parts = [Some(connections).filter(|text| !text.is_empty()), unavailable];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_parsed_as_the_same_faults() {
        for text in ["", "dead", "drop=10%,delay=5ms,unavailable=0.5%", "unavailable=100%"] {
            assert_eq!(text.parse::<GapFaults>().unwrap().to_string(), text);
        }
        for (text, error) in [
            ("unavailable=x", "\"unavailable=x\": expected a probability, as in unavailable=10%"),
            ("bad", "\"bad\": expected dead, drop=10% or delay=5ms or unavailable=10%"),
        ] {
            assert_eq!(text.parse::<GapFaults>().unwrap_err().to_string(), error);
        }
    }
}
