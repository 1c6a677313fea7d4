//! The switch of a site: whether it records, and which messages.
//!
//! A span begins with the stamp of the site before it. That site must stamp the messages of the
//! span, also if it records none or others. So a switch has two rates, and both are in one word: a
//! site that does nothing loads it and compares it with zero.

/// The word of a site that does nothing.
pub(super) const OFF: u64 = 0;

/// The largest rate: one message in 2^32.
const MOST_EXPONENT: u32 = 32;

/// Which messages a site records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rate {
    /// None.
    Off,
    /// One in 2^exponent: those whose number is a multiple of it. So all sites of all threads
    /// choose the same messages.
    OneIn {
        /// The logarithm of the number.
        exponent: u8,
    },
}

impl Rate {
    /// Every message.
    pub const ALL: Self = Self::OneIn { exponent: 0 };

    /// One message in `count`, rounded up to a power of two; `None` for 0 and above 2^32.
    pub fn one_in(count: u64) -> Option<Self> {
        let exponent = count.checked_next_power_of_two().filter(|_| count > 0)?.ilog2();
        (exponent <= MOST_EXPONENT).then_some(Self::OneIn { exponent: exponent as u8 })
    }

    /// The number of messages of which one is recorded; `None` if none is.
    pub fn count(self) -> Option<u64> {
        match self {
            Self::Off => None,
            Self::OneIn { exponent } => Some(1 << exponent),
        }
    }

    /// 0 for none, otherwise the exponent and one.
    pub(super) fn code(self) -> u64 {
        match self {
            Self::Off => 0,
            Self::OneIn { exponent } => u64::from(exponent) + 1,
        }
    }

    pub(super) fn of_code(code: u64) -> Option<Self> {
        match code {
            0 => Some(Self::Off),
            code if code <= u64::from(MOST_EXPONENT) + 1 => {
                Some(Self::OneIn { exponent: code as u8 - 1 })
            }
            _ => None,
        }
    }

    /// The one that has all messages of both.
    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Off, rate) | (rate, Self::Off) => rate,
            (Self::OneIn { exponent: one }, Self::OneIn { exponent: two }) => {
                Self::OneIn { exponent: one.min(two) }
            }
        }
    }
}

/// The words of all sites of a thread, from the requested rates.
pub(super) fn words(rates: &[Rate]) -> impl Iterator<Item = u64> + '_ {
    let next = rates.iter().skip(1).copied().chain([Rate::Off]);
    rates.iter().zip(next).map(|(rate, next)| rate.code() | rate.or(next).code() << 8)
}

/// The rate at which a site records, in its word; `None` if no tracer stores such a word.
pub(super) fn recorded(word: u64) -> Option<Rate> {
    let (record, stamp) = (Rate::of_code(word & 0xff)?, Rate::of_code(word >> 8)?);
    (record.or(stamp) == stamp).then_some(record)
}

/// Whether the site of this word records the message with this number.
#[inline(always)]
pub(super) fn records(word: u64, number: u64) -> bool {
    chooses(word & 0xff, number)
}

/// Whether it stamps the message.
#[inline(always)]
pub(super) fn stamps(word: u64, number: u64) -> bool {
    chooses(word >> 8 & 0xff, number)
}

#[inline(always)]
fn chooses(code: u64, number: u64) -> bool {
    // The exponent and one, or 0: then every bit of the mask is set, and no number but 0 is chosen.
    code != 0 && number & ((1 << (code - 1)) - 1) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_rounded_up_to_a_power_of_two() {
        let of = |count| Rate::one_in(count).and_then(Rate::count);
        for (count, rounded) in [(1, 1), (2, 2), (3, 4), (16, 16), (17, 32), (1 << 32, 1 << 32)] {
            assert_eq!(of(count), Some(rounded));
        }
        for refused in [0, (1 << 32) + 1, u64::MAX] {
            assert_eq!(of(refused), None);
        }
    }

    #[test]
    fn a_site_stamps_what_it_or_the_next_site_records() {
        let rates = [Rate::Off, Rate::ALL, Rate::one_in(4).unwrap(), Rate::Off];
        let words: Vec<u64> = words(&rates).collect();
        let all = |test: fn(u64, u64) -> bool| -> Vec<Vec<u64>> {
            words
                .iter()
                .map(|&word| (0..9).filter(|&number| test(word, number)).collect())
                .collect()
        };
        let every: Vec<u64> = (0..9).collect();
        assert_eq!(all(records), [vec![], every.clone(), vec![0, 4, 8], vec![]]);
        assert_eq!(all(stamps), [every.clone(), every, vec![0, 4, 8], vec![]]);
        assert_eq!(words[3], OFF);
        assert!(words.iter().zip(rates).all(|(&word, rate)| recorded(word) == Some(rate)));
    }

    #[test]
    fn a_word_that_no_tracer_stores_is_refused() {
        for word in [35, 35 << 8, 1, 1 | 2 << 8, 1 << 16, u64::MAX] {
            assert_eq!(recorded(word), None, "{word:#x}");
        }
    }

    #[test]
    fn every_rate_chooses_multiples_of_its_count() {
        for exponent in 0..=32 {
            let word = words(&[Rate::OneIn { exponent }]).next().unwrap();
            let count = 1_u64 << exponent;
            assert!(records(word, 3 * count) && stamps(word, 3 * count));
            assert!(exponent == 0 || !records(word, 3 * count + 1));
        }
    }
}
