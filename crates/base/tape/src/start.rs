//! Where a reader starts, in the same form for all streams and commands.

use std::{fmt, str::FromStr};

use nanotape_clock::UtcNanos;

/// Where a reader starts.
///
/// ```
/// use nanotape_tape::Start;
///
/// assert_eq!("oldest".parse(), Ok(Start::Oldest));
/// assert_eq!("17".parse(), Ok(Start::Sequence(17)));
/// let start: Start = "2026-11-20T14:30:00Z".parse()?;
/// assert_eq!(start.to_string(), "2026-11-20T14:30:00.000000000Z");
/// # Ok::<(), nanotape_tape::ParseStartError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// At the oldest remaining message. In text: `oldest`, also `beginning`.
    Oldest,
    /// After the newest message, at the next one that is written. In text: `newest`, also `end`.
    Newest,
    /// At the message with this number. If it no longer exists, the first item is a
    /// [`Gap`](crate::Gap). In text: the number, from 1 on.
    Sequence(u64),
    /// At the first message of this time or a later one; if there is none, at the next one that is
    /// written. In text: an RFC 3339 time, or `@` and nanoseconds since the UNIX epoch.
    Time(UtcNanos),
}

/// Text that is not a start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "expected oldest, newest, a sequence number from 1, or a time such as 2026-11-20T14:30:00.5Z or \
     @1763649000500000000 (nanoseconds)"
)]
pub struct ParseStartError;

impl FromStr for Start {
    type Err = ParseStartError;

    fn from_str(text: &str) -> Result<Self, ParseStartError> {
        match text {
            "oldest" | "beginning" => return Ok(Self::Oldest),
            "newest" | "end" => return Ok(Self::Newest),
            _ => {}
        }
        let time = match text.strip_prefix('@') {
            Some(nanos) => nanos.parse().ok().map(UtcNanos::of_unix_ns),
            None => match text.parse() {
                Ok(0) => None,
                Ok(sequence) => return Ok(Self::Sequence(sequence)),
                Err(_) => text.parse().ok(),
            },
        };
        time.filter(|time| time.get() >= 0).map(Self::Time).ok_or(ParseStartError)
    }
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Oldest => f.write_str("oldest"),
            Self::Newest => f.write_str("newest"),
            Self::Sequence(sequence) => write!(f, "{sequence}"),
            Self::Time(time) => write!(f, "{time}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_words_and_their_aliases_are_understood() {
        let at = |nanos| Start::Time(UtcNanos::new(nanos));
        for (text, start) in [
            ("oldest", Start::Oldest),
            ("beginning", Start::Oldest),
            ("newest", Start::Newest),
            ("end", Start::Newest),
            ("17", Start::Sequence(17)),
            ("@5", at(5)),
            ("1970-01-01T00:00:01.5Z", at(1_500_000_000)),
            ("1970-01-01T01:00:00+01:00", at(0)),
        ] {
            assert_eq!(text.parse(), Ok(start), "{text}");
        }
        for text in ["", "0", "-1", "first", "@", "@x", "1969-12-31T23:59:59Z", "yesterday"] {
            assert_eq!(text.parse::<Start>(), Err(ParseStartError), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_is_parsed_as_the_same_start(
            start in prop_oneof![
                Just(Start::Oldest),
                Just(Start::Newest),
                (1..=u64::MAX).prop_map(Start::Sequence),
                (0..=i64::MAX).prop_map(|nanos| Start::Time(UtcNanos::new(nanos))),
            ],
        ) {
            prop_assert_eq!(start.to_string().parse(), Ok(start));
        }
    }
}
