//! Reads and prints lists of faults. What is printed is parsed as the same faults.

use std::{fmt, str::FromStr};

use nanotape_types::{
    NanosSinceMidnight,
    units::{self, NanosText},
};

use super::{Chance, Faults, FaultsProblem, ParseFaultsError, Silence};

impl FromStr for Faults {
    type Err = ParseFaultsError;

    fn from_str(text: &str) -> Result<Self, ParseFaultsError> {
        let mut faults = Self::default();
        let mut seen: Vec<&str> = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let failed = |problem| ParseFaultsError { part: part.into(), problem };
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let (name, value) = (name.trim(), value.trim());
            // A session can be changed by chance and from a time on.
            let form = if name == "session" && value.starts_with('@') { "session@" } else { name };
            if seen.contains(&form) && name != "silence" {
                return Err(failed(FaultsProblem::Twice));
            }
            seen.push(form);
            faults.set(name, value).map_err(failed)?;
        }
        Ok(faults)
    }
}

impl Faults {
    fn set(&mut self, name: &str, value: &str) -> Result<(), FaultsProblem> {
        match name {
            "drop" => self.drop = chance(value, "drop=2%")?,
            "dup" => self.duplicate = chance(value, "dup=1%")?,
            "truncate" => self.truncate = chance(value, "truncate=0.01%")?,
            "corrupt" => self.corrupt = chance(value, "corrupt=0.01%")?,
            "flip" => self.flip = chance(value, "flip=0.01%")?,
            "burst" => {
                let range = FaultsProblem::Range("a burst of 1 to 1000, as in burst=0.1%x20");
                self.burst = counted(value, "burst=0.1%x20", Self::MOST_BURST, range)?;
            }
            "reorder" => {
                let range = FaultsProblem::Range("a depth of 1 to 1000, as in reorder=1%x4");
                self.reorder = counted(value, "reorder=1%x4", Self::MOST_REORDER, range)?;
            }
            "delay" => self.delay = delay(value)?,
            "session" => match value.strip_prefix('@') {
                Some(time) => self.session_from = Some(time_of(time, "session=@15:00")?),
                None => self.session = chance(value, "session=0.01% or session=@15:00")?,
            },
            "restart" => {
                const FORM: &str = "restart=@12:00";
                let time = value.strip_prefix('@').ok_or(FaultsProblem::Form(FORM))?;
                self.restart = Some(time_of(time, FORM)?);
            }
            "start" => {
                let form = FaultsProblem::Form("start=@09:31");
                self.start = Some(time_of(value.strip_prefix('@').ok_or(form)?, "start=@09:31")?);
            }
            "silence" => {
                if self.silences.len() == Self::MOST_SILENCES {
                    return Err(FaultsProblem::Range("at most 64 silences"));
                }
                self.silences.push(silence(value)?);
            }
            _ => return Err(FaultsProblem::Name),
        }
        Ok(())
    }
}

/// A probability: `2%`, `0.02`.
pub(crate) fn chance(text: &str, form: &'static str) -> Result<Chance, FaultsProblem> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(percent) => (percent, 1e4),
        None => (text, 1e6),
    };
    if !number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return Err(FaultsProblem::Form(form));
    }
    let number: f64 = number.parse().map_err(|_| FaultsProblem::Form(form))?;
    let millionths = (number * scale).round();
    let fits = (1.0..=1e6).contains(&millionths);
    fits.then_some(Chance::millionths(millionths as u32)).ok_or(FaultsProblem::Chance)
}

/// A probability and a count: `0.1%x20`.
fn counted(
    text: &str,
    form: &'static str,
    most: u32,
    range: FaultsProblem,
) -> Result<(Chance, u32), FaultsProblem> {
    let (probability, count) = text.split_once('x').ok_or(FaultsProblem::Form(form))?;
    let probability = chance(probability, form)?;
    let count = count.parse().map_err(|_| FaultsProblem::Form(form))?;
    if (1..=most).contains(&count) { Ok((probability, count)) } else { Err(range) }
}

/// `1%x2ms`, or `2ms` for every packet.
fn delay(text: &str) -> Result<(Chance, u64), FaultsProblem> {
    const FORM: &str = "delay=1%x2ms, or delay=2ms for every packet";
    let (probability, time) = match text.split_once('x') {
        Some((probability, time)) => (chance(probability, FORM)?, time),
        None => (Chance::ALWAYS, text),
    };
    let nanos = nanos(time).ok_or(FaultsProblem::Form(FORM))?;
    let fits = (1..=Faults::MOST_DELAY_NS).contains(&nanos);
    let range = FaultsProblem::Range("a delay of 1ns to 60s, as in delay=1%x2ms");
    fits.then_some((probability, nanos)).ok_or(range)
}

/// `@10:00+50ms`.
fn silence(text: &str) -> Result<Silence, FaultsProblem> {
    const FORM: &str = "silence=@10:00+50ms";
    let form = FaultsProblem::Form(FORM);
    let (from, length) =
        text.strip_prefix('@').and_then(|text| text.split_once('+')).ok_or(form)?;
    let for_ns = nanos(length).ok_or(form)?;
    if for_ns == 0 {
        return Err(FaultsProblem::Range("a silence longer than 0, as in silence=@10:00+50ms"));
    }
    Ok(Silence { from: time_of(from, FORM)?, for_ns })
}

fn time_of(text: &str, form: &'static str) -> Result<NanosSinceMidnight, FaultsProblem> {
    text.parse().map_err(|_| FaultsProblem::Form(form))
}

/// A duration: `250us`, `50ms`, `1.5s`.
pub(crate) fn nanos(text: &str) -> Option<u64> {
    units::nanos(text).and_then(|nanos| u64::try_from(nanos).ok())
}

/// Prints a duration in the largest unit that gives a whole number.
pub(crate) struct Nanos(pub(crate) u64);

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        NanosText(i64::try_from(self.0).unwrap_or(i64::MAX)).fmt(f)
    }
}

/// A time of day without needless decimals.
fn time_text(time: NanosSinceMidnight) -> String {
    let text = time.to_string();
    text.trim_end_matches('0').strip_suffix('.').map_or(text.clone(), str::to_owned)
}

/// In percent, with the digits that are needed.
impl fmt::Display for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.get() / 10_000, self.get() % 10_000);
        let digits = format!("{rest:04}");
        match digits.trim_end_matches('0') {
            "" => write!(f, "{whole}%"),
            digits => write!(f, "{whole}.{digits}%"),
        }
    }
}

/// The text that is parsed as the same faults; empty if there are none.
impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        let mut chance = |name: &str, chance: Chance, more: String| {
            if chance > Chance::NEVER {
                parts.push(format!("{name}={chance}{more}"));
            }
        };
        chance("drop", self.drop, String::new());
        chance("burst", self.burst.0, format!("x{}", self.burst.1));
        chance("dup", self.duplicate, String::new());
        chance("reorder", self.reorder.0, format!("x{}", self.reorder.1));
        chance("delay", self.delay.0, format!("x{}", Nanos(self.delay.1)));
        chance("truncate", self.truncate, String::new());
        chance("corrupt", self.corrupt, String::new());
        chance("flip", self.flip, String::new());
        chance("session", self.session, String::new());
        parts.extend(self.session_from.map(|time| format!("session=@{}", time_text(time))));
        parts.extend(self.restart.map(|time| format!("restart=@{}", time_text(time))));
        parts.extend(self.start.map(|time| format!("start=@{}", time_text(time))));
        let silence = |s: &Silence| format!("silence=@{}+{}", time_text(s.from), Nanos(s.for_ns));
        parts.extend(self.silences.iter().map(silence));
        f.write_str(&parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_parsed_as_the_same_faults() {
        let all = "drop=2%,burst=0.1%x20,dup=1%,reorder=1%x4,delay=1%x2ms,truncate=0.01%,\
                   corrupt=0.0001%,flip=100%,session=0.5%,session=@15:00:00,restart=@12:00:00,start=@09:31:00,\
                   silence=@10:00:00+50ms,silence=@11:00:00.000000001+1500us,\
                   silence=@12:00:00+2m";
        for text in ["", "drop=2%", "delay=100%x3s", all] {
            let faults: Faults = text.parse().unwrap();
            assert_eq!(faults.to_string(), text);
            assert_eq!(faults.to_string().parse(), Ok(faults.clone()));
            assert_eq!(faults.is_none(), text.is_empty());
        }
        let text = " drop=0.02, delay=2ms ,silence=@10:00+2000ms,session=@15:00";
        let short: Faults = text.parse().unwrap();
        assert_eq!(short.drop, Chance::millionths(20_000));
        assert_eq!(short.delay, (Chance::ALWAYS, 2_000_000));
        assert_eq!(short.silences[0].for_ns, 2_000_000_000);
        assert_eq!(short.session_from, Some(NanosSinceMidnight::from_hms(15, 0, 0)));
        assert_eq!(short.not_of_both(), Some("delay"));
    }

    #[test]
    fn any_text_is_refused_or_printed_and_parsed_again() {
        use crate::rng::Rng;

        let pieces = [
            "drop",
            "burst",
            "dup",
            "delay",
            "reorder",
            "start",
            "restart",
            "silence",
            "session",
            "flip",
            "=",
            "=",
            "=",
            "%",
            "%",
            "x",
            "@",
            ",",
            ",",
            "+",
            "10:00",
            "09:30:00.5",
            "0",
            "1",
            "2",
            ".",
            "ms",
            "s",
            "us",
            "-",
            " ",
        ];
        let (mut rng, mut accepted) = (Rng::new(1, 2), 0);
        for _ in 0..200_000 {
            let length = rng.between(1, 9);
            let text: String =
                (0..length).map(|_| pieces[rng.below(pieces.len() as u64) as usize]).collect();
            if let Ok(faults) = text.parse::<Faults>() {
                assert_eq!(faults.to_string().parse(), Ok(faults), "{text:?}");
                accepted += 1;
            }
        }
        assert!(accepted > 500, "{accepted}");
    }

    #[test]
    fn a_mistake_is_named_with_its_part_and_an_example() {
        for (text, error) in [
            ("dorp=2%", "\"dorp=2%\": unknown fault: use drop, burst, dup, "),
            ("drop", "\"drop\": expected a value as in drop=2%"),
            ("dup=1%,drop=-2%", "\"drop=-2%\": expected a value as in drop=2%"),
            ("drop=1e-3", "\"drop=1e-3\": expected a value as in drop=2%"),
            ("drop=200%", "\"drop=200%\": expected a probability from 0.0001% to 100%"),
            ("drop=0", "\"drop=0\": expected a probability from 0.0001% to 100%"),
            ("drop=1%,drop=2%", "\"drop=2%\": given twice"),
            ("burst=1%", "\"burst=1%\": expected a value as in burst=0.1%x20"),
            ("burst=1%x0", "\"burst=1%x0\": expected a burst of 1 to 1000"),
            ("reorder=1%x1001", "\"reorder=1%x1001\": expected a depth of 1 to 1000"),
            ("delay=1%x5", "\"delay=1%x5\": expected a value as in delay=1%x2ms, or "),
            ("delay=61s", "\"delay=61s\": expected a delay of 1ns to 60s"),
            ("restart", "\"restart\": expected a value as in restart=@12:00"),
            ("start=09:31", "\"start=09:31\": expected a value as in start=@09:31"),
            ("silence=@10:00", "\"silence=@10:00\": expected a value as in silence=@10:00+50ms"),
            ("silence=@25:00:61+1s", "\"silence=@25:00:61+1s\": expected a value as in silence="),
            ("silence=@10:00+0s", "\"silence=@10:00+0s\": expected a silence longer than 0"),
        ] {
            let found = text.parse::<Faults>().unwrap_err().to_string();
            assert!(found.starts_with(error), "{text}: {found}");
        }
        let many = vec!["silence=@10:00+1s"; 65].join(",");
        assert!(many.parse::<Faults>().unwrap_err().to_string().ends_with("at most 64 silences"));
    }
}
