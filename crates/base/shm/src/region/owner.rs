//! The owner of a region, human-readable. Whether the owner is alive is decided by the kernel
//! (`owner_lock.rs`).

use std::fmt;

/// The latest owner of a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Owner {
    /// Whether it is alive.
    pub state: OwnerState,
    /// Its process number in its own namespace; another process may have the same number in another
    /// container, or later. 0 if unknown.
    pub pid: u32,
    /// Its start time.
    pub started: Started,
    /// The number of the owner: 1 is the creator.
    pub epoch: u64,
}

/// Whether the owner of a region is alive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OwnerState {
    /// The owner holds the lock. It may be stopped or busy with other work.
    Alive,
    /// The owner closed the region, and released the lock.
    Closed,
    /// The owner exited without closing: killed, crashed, or panicked.
    Dead,
}

impl fmt::Display for OwnerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Alive => "alive",
            Self::Closed => "closed",
            Self::Dead => "dead",
        })
    }
}

/// The start time of a process, to the second: for output, never for decisions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Started(u64);

impl Started {
    /// Seconds since the UNIX epoch; 0 if unknown.
    pub fn at_unix_s(seconds: u64) -> Self {
        Self(seconds)
    }

    /// Seconds since the UNIX epoch; 0 if unknown.
    pub fn unix_s(self) -> u64 {
        self.0
    }

    /// Of this process: the kernel's boot time plus its start in hundredths of a second.
    #[cfg(not(nanotape_loom))]
    pub(crate) fn of_this_process() -> Self {
        Self(nanotape_host::process_start_unix_s().unwrap_or(0))
    }
}

impl fmt::Display for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SECONDS_PER_DAY: u64 = 86_400;
        let (day, second) = (self.0 / SECONDS_PER_DAY, self.0 % SECONDS_PER_DAY);
        // Only years with four digits; a hostile header may contain larger values.
        if self.0 == 0 || day > 2_932_896 {
            return f.write_str("at an unknown time");
        }
        let (year, month, day) = date_of(day);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
    }
}

/// Year, month and day of a day counted from 1970-01-01, in years that begin in March, so that the
/// leap day is the last of its year.
fn date_of(day: u64) -> (u64, u64, u64) {
    const DAYS_TO_1970: u64 = 719_468;
    const DAYS_PER_400_YEARS: u64 = 146_097;
    let day = day + DAYS_TO_1970;
    let (era, day) = (day / DAYS_PER_400_YEARS, day % DAYS_PER_400_YEARS);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next_year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next_year, month, day)
}

#[cfg(all(test, not(nanotape_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_start_reads_as_a_date() {
        for (unix_s, text) in [
            (0, "at an unknown time"),
            (1, "1970-01-01 00:00:01 UTC"),
            (951_827_696, "2000-02-29 12:34:56 UTC"),
            (1_704_067_199, "2023-12-31 23:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
            (253_402_300_799, "9999-12-31 23:59:59 UTC"),
            (253_402_300_800, "at an unknown time"),
            (u64::MAX, "at an unknown time"),
        ] {
            assert_eq!(Started::at_unix_s(unix_s).to_string(), text);
        }
    }

    #[test]
    fn the_start_of_this_process_is_known() {
        assert_ne!(Started::of_this_process().unix_s(), 0);
    }
}
